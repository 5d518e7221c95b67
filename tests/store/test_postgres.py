"""What only PostgreSQL has: spaces, many writers in one order, the bridge between engines, and what it refuses."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import psycopg
import pytest
from patience import until
from postgres_server import as_admin, empty_schema
from sample_records import TENANT, add, sample
from world import World, running

from holdfast.cli.main import main
from holdfast.core.errors import Fault, InvalidSettings, Restoring, StoreForeign, StoreUnreachable
from holdfast.core.system import SystemClock
from holdfast.store.port import Condition, Store, Tx
from holdfast.store.portable import FileWriter, open_file
from holdfast.store.postgres import pool
from holdfast.store.postgres.store import FOLD_ROWS, PostgresStore
from holdfast.store.tables import MEMORIES, NOTES

OLD, NEW = "the amber cabinet holds the spare keys", "deploys happen on Tuesday"


@pytest.fixture
def worlds(quick_folder: Path) -> Iterator[Callable[..., World]]:
    """Engines in folders of their own."""
    with ExitStack() as stack:

        def make(name: str, **settings: Any) -> World:
            chance = sum(name.encode()) * 100_000  # ids of two servers differ, as they do with real chance
            world = World(quick_folder / name, chance, **settings)
            stack.callback(world.close)
            return world

        yield make


def texts(world: World) -> set[str]:
    return {one["content"] for one in world.call("memories")["memories"]}


# Order


def _write_notes(url: str, name: str, count: int) -> None:
    store = PostgresStore(url, lambda event: None)
    try:
        for number in range(count):
            store.write(lambda tx, id=f"{name}-{number}": tx.add(NOTES, sample(NOTES, id, tx.next_seq(TENANT))))
    finally:
        store.close()


def test_a_reader_that_catches_up_by_number_misses_nothing_of_four_processes(
    url: str, opened: Callable[[], PostgresStore]
) -> None:
    store, each = opened(), 40
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["test_postgres"])
    writers = [context.Process(target=_write_notes, args=(url, f"w{number}", each)) for number in range(4)]
    for one in writers:
        one.start()
    seen: list[str] = []
    last = 0
    while (writing := [one.sentinel for one in writers if one.is_alive()]) or store.last_seq(TENANT) > last:
        wait(writing, 0.005)  # what is read in between makes no difference, and takes a processor
        fresh = store.read().find(NOTES, TENANT, Condition("seq", ">", last), order="seq")
        seen += [note.id for note in fresh]
        last = fresh[-1].seq if fresh else last
    for one in writers:
        one.join()
    assert [one.exitcode for one in writers] == [0, 0, 0, 0]
    assert len(seen) == len(set(seen)) == 4 * each


def test_an_event_that_is_committed_after_a_later_one_is_still_sent(url: str) -> None:
    with ExitStack() as stack:
        one, other = (PostgresStore(url, lambda event: None, SystemClock()) for _ in range(2))
        stack.callback(one.close)
        stack.callback(other.close)

        def early(tx: Tx) -> None:
            tx.add(MEMORIES, sample(MEMORIES, "early", tx.next_seq("guest"), tenant="guest"))
            add(other, MEMORIES, "late")
            sent = other.read().dispatches(10)
            other.write(lambda inner: inner.dispatched(sent))
            assert ["late" in event.body for event in sent] == [True]

        one.write(early)
        assert ["early" in event.body for event in other.read().dispatches(10)] == [True]


def test_two_servers_see_what_the_other_wrote_at_once(opened: Callable[[], PostgresStore]) -> None:
    one, other = opened(), opened()
    add(one, MEMORIES, "first", content="amber cabinet")
    assert [hit.seq for hit in other.read().words(MEMORIES, TENANT, ["amber"], (), 5).hits] == [1]
    add(other, MEMORIES, "second", content="amber drawer")
    assert len(one.read().words(MEMORIES, TENANT, ["amber"], (), 5).hits) == 2
    one.write(lambda tx: tx.delete(MEMORIES, TENANT, "first"))
    assert len(other.read().words(MEMORIES, TENANT, ["amber"], (), 5).hits) == 1


def test_folding_changes_no_answer(opened: Callable[[], PostgresStore]) -> None:
    store, cold = opened(), opened()
    for number in range(30):
        add(store, MEMORIES, f"m{number}", content=f"amber basalt number{number % 7}")

    def hits(of: Store) -> list[tuple[int, float]]:
        return [tuple(hit) for hit in of.read().words(MEMORIES, TENANT, ["basalt", "number3"], (), 50).hits]

    before = hits(store)
    assert store.compact_words(least=10) == 1
    assert hits(store) == hits(cold) == before
    assert store.verify() == []


def test_each_server_compacts_what_it_wrote_and_all_when_it_is_thorough(opened: Callable[[], PostgresStore]) -> None:
    one, other = opened(), opened()
    assert [one.compact_words(), other.compact_words()] == [0, 0]  # the first look is at all
    for number in range(FOLD_ROWS):
        add(one, MEMORIES, f"m{number}", content="amber")
    assert other.compact_words() == 0
    assert one.compact_words() == 1
    for number in range(FOLD_ROWS):
        add(one, MEMORIES, f"n{number}", content="amber")
    assert other.compact_words(thorough=True) == 1


def test_compaction_asks_the_database_nothing_while_little_is_written(
    opened: Callable[[], PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened()
    store.compact_words()
    add(store, MEMORIES, "m1", content="amber")
    monkeypatch.setattr(store.pool, "connection", lambda *_: pytest.fail("it asked"))
    assert store.compact_words() == 0
    assert TENANT in store.last_seqs(own=True)


# Verification


def test_a_row_changed_by_hand_is_found(url: str, opened: Callable[[], PostgresStore]) -> None:
    store = opened()
    add(store, MEMORIES, "m1", content="amber")
    assert store.verify() == []
    with psycopg.connect(as_admin(url)) as db:
        db.execute("UPDATE memories SET content = 'forged'")
    assert ("row_changed", "memories", "m1") in {(one.kind, one.table, one.id) for one in store.verify()}


def test_a_row_removed_by_hand_is_found(url: str, opened: Callable[[], PostgresStore]) -> None:
    store = opened()
    add(store, MEMORIES, "m1", content="amber")
    with psycopg.connect(as_admin(url)) as db:
        db.execute("DELETE FROM memories")
    assert "row_missing" in {one.kind for one in store.verify()}


def test_a_lost_index_is_found_and_repaired(url: str, opened: Callable[[], PostgresStore]) -> None:
    store = opened()
    add(store, MEMORIES, "m1", content="amber cabinet")
    with psycopg.connect(as_admin(url)) as db:
        db.execute("DELETE FROM word_rows")
    assert {one.kind for one in store.verify()} == {"index_out_of_step"}
    assert store.repair_index() == 1
    assert store.verify() == []
    assert len(store.read().words(MEMORIES, TENANT, ["amber"], (), 5).hits) == 1


def test_lost_connections_are_made_anew(url: str, opened: Callable[[], PostgresStore]) -> None:
    store = opened()
    add(store, MEMORIES, "before", content="amber")
    with psycopg.connect(url, autocommit=True) as db:
        ended = [pid for (pid,) in db.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast'")]
        for pid in ended:
            db.execute("SELECT pg_terminate_backend(%s, 60000)", (pid,))  # waits until it is gone
    assert ended
    add(store, MEMORIES, "after", content="basalt")
    assert {one.id for one in store.read().find(MEMORIES, TENANT)} == {"before", "after"}


# The life of a memory


def test_a_restore_brings_back_the_past_and_undo_the_present(url: str, worlds: Callable[..., World]) -> None:
    world = worlds("here", store=url)
    world.call("remember", content=OLD)
    id = world.call("snapshot_create")["id"]
    world.call("remember", content=NEW)
    world.call("token_create", name="kept")
    world.call("snapshot_restore", id=id, yes=True)
    assert texts(world) == {OLD}
    assert [one["name"] for one in world.call("token_list")["tokens"]] == ["kept"]
    assert world.call("search", query="amber cabinet")["results"]
    assert not world.call("search", query="deploys Tuesday")["results"]
    assert world.call("verify")["sound"]
    world.call("snapshot_undo", yes=True)
    assert texts(world) == {OLD, NEW}
    assert world.call("verify")["sound"]


def test_a_snapshot_goes_from_one_engine_to_the_other_and_back(
    url: str, worlds: Callable[..., World], quick_folder: Path
) -> None:
    (quick_folder / "vault").mkdir()
    vault = str(quick_folder / "vault")
    embedded = worlds("embedded", vault=vault)
    embedded.call("remember", content=OLD)
    embedded.call("snapshot_create", vault=vault)
    served = worlds("served", store=url, vault=vault)
    assert texts(served) == {OLD}
    assert served.call("search", query="amber cabinet")["results"]
    served.call("remember", content=NEW)
    served.call("snapshot_create", vault=vault)
    again = worlds("again", vault=vault)
    assert texts(again) == {OLD, NEW}
    assert again.call("verify")["sound"]


def test_another_server_reads_the_restored_memory(url: str, worlds: Callable[..., World]) -> None:
    one, other = worlds("one", store=url), worlds("other", store=url)
    one.call("remember", content=OLD)
    id = one.call("snapshot_create")["id"]
    other.call("remember", content=NEW)
    assert texts(one) == {OLD, NEW}
    one.call("snapshot_restore", id=id, yes=True)
    assert texts(other) == {OLD}


def test_who_writes_during_an_exchange_is_told_to_come_back(url: str, worlds: Callable[..., World]) -> None:
    one, other = worlds("one", store=url), worlds("other", store=url)
    one.call("remember", content=OLD)

    def build(old: Any) -> str:
        with pytest.raises(Restoring):
            other.call("remember", content=NEW)
        raise Fault("not this time")

    with pytest.raises(Fault, match="not this time"):
        one.engine.exchange(build, "default")
    other.call("remember", content=NEW)
    assert texts(one) == {OLD, NEW}


def test_a_capture_is_of_one_moment_and_keeps_no_writer_waiting(
    url: str, worlds: Callable[..., World], quick_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = worlds("one", store=url), worlds("other", store=url)
    one.call("remember", content=OLD)
    insert = FileWriter.insert
    written: list[str] = []

    def meanwhile(self: FileWriter, table: str, *given: Any) -> None:
        if not written:
            written.append(other.call("remember", content=NEW)["memory"]["id"])
        insert(self, table, *given)

    monkeypatch.setattr(FileWriter, "insert", meanwhile)
    one.engine.capture(quick_folder / "captured.db", "default")
    assert texts(one) == {OLD, NEW}
    captured = open_file(quick_folder / "captured.db")
    try:
        assert [memory.content for memory in captured.read().find(MEMORIES, "default")] == [OLD]
        assert captured.verify() == []
    finally:
        captured.close()


# Bad input


def test_a_database_that_does_not_answer_is_told(quick_folder: Path) -> None:
    with pytest.raises(StoreUnreachable):
        PostgresStore("postgresql://nobody@127.0.0.1:1/none?connect_timeout=2", lambda event: None)


def test_an_address_may_allow_more_time_for_a_connection(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WAIT_SECONDS", 0.0)
    assert "connect_timeout" in url
    PostgresStore(url, lambda event: None).close()


def test_a_database_of_something_else_is_refused_and_left_alone() -> None:
    other = empty_schema()
    with psycopg.connect(other) as db:
        db.execute("CREATE TABLE customers (id bigint)")
    with pytest.raises(StoreForeign, match="not Holdfast's"):
        PostgresStore(other, lambda event: None)
    with psycopg.connect(other) as db:
        names = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
    assert names == [("customers",)]


def test_a_job_that_fails_leaves_the_others_of_its_batch(opened: Callable[[], PostgresStore]) -> None:
    store = opened()

    def outer(tx: Tx) -> None:
        tx.add(NOTES, sample(NOTES, "kept", tx.next_seq(TENANT)))
        with pytest.raises(ZeroDivisionError):
            store.write(lambda inner: inner.add(NOTES, sample(NOTES, "lost", inner.next_seq(TENANT))) or 1 / 0)

    store.write(outer)
    assert [one.id for one in store.read().find(NOTES, TENANT)] == ["kept"]
    assert store.verify() == []


# Served


def test_two_servers_serve_one_memory(url: str, quick_folder: Path) -> None:
    with running(quick_folder / "one", store=url) as one, running(quick_folder / "other", store=url) as other:
        assert one.post("/agentmemory/remember", json={"content": OLD}).is_success
        found = other.post("/agentmemory/search", json={"query": "amber cabinet"}).json()["results"]
        assert [hit["title"] for hit in found] == [OLD]
        assert other.get("/agentmemory/health").json()["database"] == "postgresql"


@pytest.mark.parametrize(
    ("address", "code"),
    [("postgresql://nobody@127.0.0.1:1/none?connect_timeout=2", StoreUnreachable), ("mysql://db", InvalidSettings)],
)
def test_serving_from_a_wrong_address_ends_with_its_own_exit_code(
    quick_folder: Path, capsys: pytest.CaptureFixture[str], address: str, code: type[Fault]
) -> None:
    assert main(["serve", "--data", str(quick_folder), "--port", "0", "--store", address]) == code.exit_code
    assert capsys.readouterr().err


# Locks of several servers


def _add_note(tx: Tx, tenant: str, id: str) -> None:
    tx.add(NOTES, replace(sample(NOTES, id, tx.next_seq(tenant)), tenant=tenant))


def test_servers_that_need_the_same_memories_in_another_order_both_store(
    opened: Callable[[], PostgresStore],
) -> None:
    one, other = opened(), opened()
    for tenant in ("acme", "borealis"):
        one.write(lambda tx, tenant=tenant: _add_note(tx, tenant, "first"))  # type: ignore[misc]
    holds, again, runs = threading.Event(), threading.Event(), list[str]()

    def ascending(tx: Tx) -> None:
        _add_note(tx, "acme", "ascending")
        holds.set()
        assert again.wait(60)
        _add_note(tx, "borealis", "ascending")

    def descending(tx: Tx) -> None:
        runs.append("descending")
        _add_note(tx, "borealis", "descending")
        assert holds.wait(60)
        if len(runs) == 2:
            again.set()
        _add_note(tx, "acme", "descending")

    with ThreadPoolExecutor(2) as threads:
        for job in [threads.submit(one.write, ascending), threads.submit(other.write, descending)]:
            job.result()
    for tenant in ("acme", "borealis"):
        assert {note.id for note in one.read().find(NOTES, tenant)} == {"first", "ascending", "descending"}
    assert one.verify() == []


def test_a_write_that_came_out_of_turn_is_carried_out_after_the_others(
    opened: Callable[[], PostgresStore],
) -> None:
    one, other = opened(), opened()
    for tenant in ("acme", "borealis"):
        one.write(lambda tx, tenant=tenant: _add_note(tx, tenant, "first"))  # type: ignore[misc]
    held, tried, runs = threading.Event(), threading.Event(), list[str]()

    def hold(tx: Tx) -> None:
        _add_note(tx, "acme", "held")
        held.set()
        assert tried.wait(60)

    def second(tx: Tx) -> None:
        runs.append("second")
        if len(runs) == 2:
            tried.set()
        _add_note(tx, "acme", "together")

    with ThreadPoolExecutor(4) as threads:
        jobs = [threads.submit(one.write, hold)]
        assert held.wait(60)
        gate = threading.Event()
        jobs.append(threads.submit(other.write, lambda tx: gate.wait(60)))  # so that the next two go together
        until(lambda: other._commits._turn.locked(), "it has begun")
        jobs.append(threads.submit(other.write, lambda tx: _add_note(tx, "borealis", "together")))
        until(lambda: len(other._commits._queue) == 1, "it waits")
        jobs.append(threads.submit(other.write, second))
        until(lambda: len(other._commits._queue) == 2, "both wait")
        gate.set()
        for job in jobs:
            job.result()
    assert runs == ["second", "second"]
    assert {note.id for note in one.read().find(NOTES, "acme")} == {"first", "held", "together"}
    assert {note.id for note in one.read().find(NOTES, "borealis")} == {"first", "together"}
    assert one.verify() == []


def test_lists_of_numbers_and_of_words_arrive_as_they_are(opened: Callable[[], PostgresStore]) -> None:
    lists: list[list[Any]] = [[1, -2, 2**62], [], [None, 3], ["a", 'b,"c"', "{}"], [1.5], [True, False]]
    with opened().pool.connection() as db:
        for numbers in lists[:3]:
            assert db.execute("SELECT %s::bigint[]", (numbers,)).fetchone() == (numbers,)
        assert db.execute("SELECT %s::text[]", (lists[3],)).fetchone() == (lists[3],)
        assert db.execute("SELECT %s::float8[]", (lists[4],)).fetchone() == (lists[4],)
        assert db.execute("SELECT %s::boolean[]", (lists[5],)).fetchone() == (lists[5],)
