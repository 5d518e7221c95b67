"""PostgreSQL fails: connections are lost, the server restarts, a standby takes over. What was acknowledged is there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from lossy_socket import LossySocket
from patience import until
from postgres_cluster import Cluster, cluster, standby
from sample_records import TENANT, sample
from world import running

from holdfast.core.errors import Fault, StoreUnreachable
from holdfast.store.port import Store
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.tables import NOTES

WRITERS = 4


@pytest.fixture
def server() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


def note(store: Store, id: str, *, again: bool = False) -> None:
    store.write(lambda tx: tx.add(NOTES, sample(NOTES, id, tx.next_seq(TENANT))), again=again)


def notes(store: Store) -> set[str]:
    return {one.id for one in store.read().find(NOTES, TENANT)}


class Load:
    """Writers that note what was acknowledged and what was refused, and how."""

    def __init__(self, store: Store):
        self._store = store
        self._ended = threading.Event()
        self.acknowledged: list[str] = []
        self.refused: list[Fault] = []

    def _write(self, writer: int) -> None:
        number = 0
        while not self._ended.is_set():
            id, number = f"w{writer}-{number}", number + 1
            try:
                note(self._store, id)
                self.acknowledged.append(id)
            except Fault as fault:
                self.refused.append(fault)

    def goes_on(self) -> None:
        """Wait until more was acknowledged than now."""
        had = len(self.acknowledged)
        until(lambda: len(self.acknowledged) > had + WRITERS, "writes are acknowledged")

    @contextmanager
    def running(self) -> Iterator[None]:
        with ThreadPoolExecutor(WRITERS) as threads:
            writers = [threads.submit(self._write, number) for number in range(WRITERS)]
            try:
                self.goes_on()
                yield
                self.goes_on()
            finally:
                self._ended.set()
            for writer in writers:
                writer.result()


@contextmanager
def opened(url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(url, lambda event: None)
    try:
        yield store
    finally:
        store.close()


def assert_kept(load: Load, store: Store) -> None:
    assert set(load.acknowledged) <= notes(store)
    assert {type(fault) for fault in load.refused} <= {StoreUnreachable}
    assert store.verify() == []


def end_connections(server: Cluster) -> None:
    server.execute("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'holdfast'")


def test_connections_that_are_ended_under_load_lose_nothing(server: Cluster) -> None:
    with opened(server.url()) as store:
        load = Load(store)
        with load.running():
            for _ in range(5):
                end_connections(server)
                load.goes_on()
        assert_kept(load, store)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_under_load_loses_nothing(server: Cluster, mode: str) -> None:
    with opened(server.url()) as store:
        load = Load(store)
        with load.running():
            server.stop(mode)
            server.start()
        assert_kept(load, store)


def test_a_promoted_standby_has_every_acknowledged_write(server: Cluster) -> None:
    with standby(server) as second:
        until(lambda: is_synchronous(server), "the standby follows")
        with opened(f"postgresql://holdfast@/memory?host={server.folder},{second.folder}") as store:
            load = Load(store)
            with load.running():
                server.stop("immediate")
                second.promote()
                second.execute("ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()")
            assert_kept(load, store)


def is_synchronous(server: Cluster) -> bool:
    with psycopg.connect(server.url("postgres")) as db:
        return db.execute("SELECT sync_state FROM pg_stat_replication").fetchall() == [("sync",)]


@pytest.fixture
def lossy(server: Cluster) -> Iterator[LossySocket]:
    folder = server.folder / "lossy"
    folder.mkdir()
    made = LossySocket(folder, server.folder)
    yield made
    made.close()


def test_a_commit_whose_answer_is_lost_is_acknowledged_once(server: Cluster, lossy: LossySocket) -> None:
    runs: list[int] = []

    def job(tx):  # type: ignore[no-untyped-def]
        runs.append(1)
        tx.add(NOTES, sample(NOTES, "n1", tx.next_seq(TENANT)))

    with opened(f"postgresql://holdfast@/memory?host={server.folder / 'lossy'}") as store:
        lossy.losing.set()
        store.write(job, again=True)
        assert (len(runs), lossy.lost, notes(store)) == (1, 1, {"n1"})
        assert store.verify() == []


ENDS_AT_COMMIT = """
CREATE SEQUENCE commit_count;
CREATE FUNCTION end_first() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF nextval('commit_count') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER end_first AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION end_first()
"""


@pytest.mark.parametrize("again", [True, False])
def test_a_commit_that_did_not_happen_is_run_again_or_refused(server: Cluster, again: bool) -> None:
    with opened(server.url()) as store:
        server.execute(ENDS_AT_COMMIT)
        if again:
            note(store, "n1", again=True)
            assert notes(store) == {"n1"}
        else:
            with pytest.raises(StoreUnreachable):
                note(store, "n1")
            assert notes(store) == set()
        note(store, "n2")
        assert store.verify() == []


def test_a_refused_job_beside_one_that_is_run_again_is_not_acknowledged(server: Cluster) -> None:
    """Both share a transaction that is lost; only one of them may be run a second time."""
    with opened(server.url()) as store:
        note(store, "before")
        server.execute(ENDS_AT_COMMIT)
        inside = threading.Event()
        go_on = threading.Event()

        def hold(tx: object) -> None:
            inside.set()
            assert go_on.wait(60)

        with ThreadPoolExecutor(3) as threads:
            first = threads.submit(store.write, hold)  # so that the next two wait, and go together
            assert inside.wait(60)
            both = [threads.submit(note, store, id, again=again) for id, again in (("yes", True), ("no", False))]
            until(lambda: len(store._commits._queue) == 2, "both wait")
            go_on.set()
            first.result()
            outcomes = [one.exception() for one in both]
        assert [type(one) for one in outcomes] == [type(None), StoreUnreachable]
        assert notes(store) == {"before", "yes"}


def test_a_server_says_what_is_wrong_and_recovers(server: Cluster, tmp_path: Path) -> None:
    with running(tmp_path / "home", store=server.url()) as client:

        def remember() -> int:
            return client.post("/agentmemory/remember", json={"content": "the amber cabinet"}).status_code

        assert remember() == 201
        server.stop()
        refused = client.post("/agentmemory/remember", json={"content": "the basalt drawer"})
        assert (refused.status_code, refused.json()["code"]) == (503, "store_unreachable")
        assert int(refused.headers["Retry-After"]) > 0
        health = client.get("/agentmemory/health").json()
        assert health["status"] == "degraded"
        assert "does not answer" in health["databaseStatus"]
        server.start()
        until(lambda: remember() == 201, "it writes again")
        assert client.get("/agentmemory/health").json()["status"] == "healthy"
