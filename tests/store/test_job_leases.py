"""Jobs of several servers on one database: each is done by one of them at a time, and a dead server's by another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from hashing_embedder import HashingEmbedder
from patience import until
from postgres_server import as_admin, empty_schema
from sample_records import TENANT, add
from world import World, running

from holdfast.core.errors import Fault
from holdfast.core.model import Caller, Event
from holdfast.core.system import SystemClock
from holdfast.intake.embed_queue import EmbedQueue
from holdfast.learn.statements.learner import TURNS
from holdfast.serve.background import learning_thread
from holdfast.serve.background.drill_schedule import DrillSchedule
from holdfast.serve.background.learning_thread import LearningThread
from holdfast.serve.background.maintenance import Maintenance
from holdfast.serve.background.schedule import SnapshotSchedule
from holdfast.store.fleet.fleet_port import claimed
from holdfast.store.fleet.single_server import SingleServer
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.tables import MEMORIES, STATEMENTS

JOB = "sweep"


@pytest.fixture
def pair(opened: Callable[[], PostgresStore]) -> tuple[PostgresStore, PostgresStore]:
    one, other = opened(), opened()
    add(one, MEMORIES, "m1", content="amber")
    return one, other


class NoNews:
    """A server that keeps nothing in memory."""

    def happened(self, event: Event) -> None: ...

    def missed(self, tenant: str) -> None: ...

    def token_changed(self, id: str | None) -> None: ...

    def switched(self, tenant: str | None) -> None: ...


def expire(url: str) -> None:
    """What happens to the leases of a server that died, without the wait."""
    with psycopg.connect(as_admin(url)) as db:
        assert db.execute("UPDATE leases SET expires = clock_timestamp() - interval '1 second'").rowcount


def test_two_servers_never_have_the_same_job(pair: tuple[PostgresStore, PostgresStore]) -> None:
    one, other = pair
    assert one.fleet.claim(JOB, TENANT)
    assert not other.fleet.claim(JOB, TENANT)
    assert one.fleet.claim(JOB, TENANT)
    assert other.fleet.claim("another job", TENANT)
    one.fleet.release(JOB, TENANT)
    assert other.fleet.claim(JOB, TENANT)
    assert not one.fleet.claim(JOB, TENANT)


def test_a_job_of_no_tenant_is_one_for_all(pair: tuple[PostgresStore, PostgresStore]) -> None:
    one, other = pair
    assert one.fleet.claim(JOB)
    assert not other.fleet.claim(JOB)
    assert other.fleet.claim(JOB, TENANT)


def test_a_tenant_without_a_memory_has_no_jobs(pair: tuple[PostgresStore, PostgresStore]) -> None:
    assert not pair[0].fleet.claim(JOB, "nobody")


def test_a_job_that_was_finished_lately_is_not_done_again(pair: tuple[PostgresStore, PostgresStore]) -> None:
    one, other = pair
    with claimed(one.fleet, JOB, TENANT, every=3_600) as granted:
        assert granted
    assert not other.fleet.claim(JOB, TENANT, every=3_600)
    assert other.fleet.claim(JOB, TENANT)


def test_a_job_that_failed_is_free_at_once(pair: tuple[PostgresStore, PostgresStore]) -> None:
    one, other = pair
    with pytest.raises(Fault), claimed(one.fleet, JOB, TENANT):
        raise Fault("not this time")
    assert other.fleet.claim(JOB, TENANT, every=3_600)


def test_an_expired_lease_is_taken_over_and_its_late_holder_notices(
    url: str, pair: tuple[PostgresStore, PostgresStore]
) -> None:
    one, other = pair
    assert one.fleet.claim(JOB, TENANT)
    expire(url)
    assert other.fleet.claim(JOB, TENANT)
    assert not one.fleet.claim(JOB, TENANT)
    one.fleet.release(JOB, TENANT)  # of what it has no more
    assert not one.fleet.claim(JOB, TENANT)


def test_a_row_that_another_transaction_claims_is_not_waited_for(
    url: str, pair: tuple[PostgresStore, PostgresStore]
) -> None:
    one, other = pair
    assert one.fleet.claim(JOB, TENANT)
    one.fleet.release(JOB, TENANT)
    with psycopg.connect(as_admin(url)) as db:
        db.execute("SELECT 1 FROM leases FOR UPDATE")
        assert not other.fleet.claim(JOB, TENANT)
    assert other.fleet.claim(JOB, TENANT)


def test_a_running_server_keeps_its_leases(url: str, pair: tuple[PostgresStore, PostgresStore]) -> None:
    one, _ = pair
    one.fleet.start(NoNews())
    assert one.fleet.claim(JOB, TENANT)
    expire(url)

    def is_renewed() -> bool:
        with psycopg.connect(as_admin(url)) as db:
            return db.execute("SELECT expires > clock_timestamp() FROM leases").fetchone() == (True,)

    until(is_renewed, "the lease is renewed")


def test_one_server_alone_has_every_job() -> None:
    alone = SingleServer()
    assert alone.claim(JOB, TENANT)
    with claimed(alone, JOB, TENANT, every=3_600) as granted:
        assert granted


# What runs in the background


@pytest.fixture
def worlds(url: str, quick_folder: Path) -> Iterator[tuple[World, World]]:
    with ExitStack() as stack:

        def make(name: str) -> World:
            world = World(quick_folder / name, sum(name.encode()) * 100_000, store=url, snapshot_every="1h")
            stack.callback(world.close)
            return world

        yield make("one"), make("other")


def test_retention_is_done_by_one_server(worlds: tuple[World, World]) -> None:
    one, other = worlds
    id = one.call("remember", content="the code is 4711", ttlDays=1)["memory"]["id"]
    assert one.engine.fleet.claim("maintenance", "default")
    other.clock.now += 2 * 86_400_000
    Maintenance(other.engine).sweep_all()
    assert [memory["id"] for memory in other.call("memories")["memories"]] == [id]
    one.engine.fleet.release("maintenance", "default", done=False)
    Maintenance(other.engine).sweep_all()
    assert other.call("memories")["memories"] == []


def test_a_sweep_in_which_nothing_is_due_waits_for_no_writer(url: str, worlds: tuple[World, World]) -> None:
    one, _ = worlds
    one.call("remember", content="the code is 4711")
    one.call("lesson_save", content="Ask before the release.")
    with psycopg.connect(as_admin(url)) as writer:
        writer.execute("SELECT 1 FROM spaces FOR UPDATE")  # as one that has begun and not ended
        Maintenance(one.engine).sweep_all()


def test_learning_waits_for_the_server_that_learns(worlds: tuple[World, World]) -> None:
    one, other = worlds
    other.observe(hook="prompt_submit", prompt="Remember: always deploy the billing service on Tuesday.")
    thread = LearningThread(other.engine)
    assert one.engine.fleet.claim("learning", "default")
    before = other.engine.store.last_seq()
    thread.learn()
    assert other.engine.store.last_seq() == before
    one.engine.fleet.release("learning", "default")
    thread.learn()
    assert other.engine.store.last_seq() > before


def test_what_another_server_left_unlearnt_is_learnt_within_a_minute(worlds: tuple[World, World]) -> None:
    one, other = worlds
    thread = LearningThread(other.engine)
    thread.learn()  # it looks at all tenants, and again in a minute
    one.observe(hook="prompt_submit", prompt="Remember: always deploy the billing service on Tuesday.")
    thread.learn()
    assert other.engine.store.read().find(STATEMENTS, "default") == []
    other.clock.now += 61_000
    thread.learn()
    assert len(other.engine.store.read().find(STATEMENTS, "default")) == 1


def test_a_server_that_starts_looks_at_many_tenants_little_by_little(
    worlds: tuple[World, World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning_thread, "FIRST_LOOKS", 2)
    one, other = worlds
    for number in range(5):
        one.call(
            "observe", Caller(tenant=f"t{number}"), sessionId="s", hookType="prompt_submit", timestamp=one.clock.now,
            data={"prompt": "Remember: always deploy the billing service on Tuesday."}, project="proj", cwd="/w",
        )  # fmt: skip
    thread, learnt = LearningThread(other.engine), []
    for _ in range(3):
        thread.learn()
        learnt.append(sum(bool(other.engine.store.read().find(STATEMENTS, f"t{number}")) for number in range(5)))
        other.clock.now += 61_000
    assert learnt == [2, 4, 5]


def test_vectors_of_a_tenant_are_made_by_one_server(url: str, quick_folder: Path) -> None:
    with ExitStack() as stack:
        worlds = [World(quick_folder / name, at, HashingEmbedder(), store=url) for at, name in ((0, "a"), (9_999, "b"))]
        for world in worlds:
            stack.callback(world.close)
        one, other = (world.engine for world in worlds)
        worlds[0].call("remember", content="deploys happen on Tuesday")
        worlds[0].call("remember", Caller(tenant="guest"), content="lunch is at noon")
        queue = EmbedQueue(other.store, other.embedder, SystemClock(), fleet=other.fleet)

        def pending() -> list[int]:
            while queue.step():
                pass
            return [other.store.read().pending(tenant) for tenant in ("default", "guest")]

        assert one.fleet.claim("vectors", "default")
        assert pending() == [1, 0]
        one.fleet.release("vectors", "default")
        assert pending() == [0, 0]
        assert one.fleet.claim("vectors", "default")  # what is done is let go


def test_a_snapshot_is_made_by_one_server_in_each_period(worlds: tuple[World, World]) -> None:
    one, other = worlds
    one.call("remember", content="deploys happen on Tuesday")
    SnapshotSchedule(one.engine).run_once()
    SnapshotSchedule(other.engine).run_once()
    assert [len(world.call("snapshot_list")["snapshots"]) for world in worlds] == [1, 0]


def test_a_restore_does_not_free_what_a_server_does(worlds: tuple[World, World]) -> None:
    one, other = worlds
    one.call("remember", content="deploys happen on Tuesday")
    id = one.call("snapshot_create")["id"]
    assert other.engine.fleet.claim(JOB, "default")
    one.call("snapshot_restore", id=id, yes=True)
    assert not one.engine.fleet.claim(JOB, "default")
    assert other.engine.fleet.claim(JOB, "default")
    other.engine.fleet.release(JOB, "default")
    assert one.engine.fleet.claim(JOB, "default")


def test_servers_learn_of_one_memory_together(url: str, quick_folder: Path) -> None:
    with running(quick_folder / "one", store=url) as one, running(quick_folder / "other", store=url) as other:
        for number, client in enumerate((one, other)):
            text = f"Remember: always deploy service number {number} on Tuesday."
            body = {
                "sessionId": f"s{number}", "hookType": "prompt_submit", "timestamp": "2026-11-15T20:41:34Z",
                "project": "quarry", "data": {"prompt": text},
            }  # fmt: skip
            assert client.post("/agentmemory/observe", json=body).is_success

        def are_read() -> bool:
            sql = "SELECT content::bigint >= (SELECT max(seq) FROM observations) FROM notes WHERE id = %s"
            with psycopg.connect(as_admin(url)) as db:
                return db.execute(sql, (TURNS,)).fetchone() == (True,)

        until(are_read, "both were read")


def test_one_server_of_a_fleet_drills_and_the_others_do_not(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    url, vault = empty_schema(), f"file://{tmp_path}/vault"
    one, other = (World(tmp_path / name, store=url, vault=vault) for name in ("one", "other"))
    one.call("remember", content="The lamp oil is in the cellar.")
    one.call("snapshot_create")

    for world in (one, other, one):
        DrillSchedule(world.engine).run_once()

    assert [len(world.call("drill_list")["drills"]) for world in (one, other)] == [1, 0]
    assert other.call("drill")["sound"], "on request it does"
    one.close()
    other.close()
