"""A store as it was: searched like the live one, never written, and no trace left beside it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from two_tenants import EMBEDDER, OURS, fill, world_at
from world import World

from holdfast.core.errors import DataDamaged, DataTooNew, Fault, Forbidden
from holdfast.core.model import CleanText
from holdfast.ops.registry import BY_NAME
from holdfast.store.port import Store
from holdfast.store.sqlite import database
from holdfast.store.sqlite.database import migration_steps
from holdfast.store.sqlite.files.capture import capture_store
from holdfast.store.sqlite.files.past_store import PastStore, open_past
from holdfast.store.tables import LESSONS, MEMORIES


@pytest.fixture
def world(quick_folder: Path) -> Iterator[World]:
    made = world_at(quick_folder / "memory")
    yield made
    made.close()


@pytest.fixture
def captured(world: World, quick_folder: Path) -> Path:
    fill(world, OURS, "amber")
    into = quick_folder / "extracted" / "memory.db"
    into.parent.mkdir()
    capture_store(world.engine.store.path, into, OURS.tenant)
    return into


@pytest.fixture
def past(captured: Path) -> Iterator[PastStore]:
    store = open_past(captured)
    yield store
    store.close()


def test_the_past_answers_as_the_store_did_then(world: World, past: PastStore) -> None:
    query = EMBEDDER.embed_query(CleanText("amber3 lies in harbour 21"))

    def answers(store: Store) -> list[object]:
        reader = store.read()
        return [
            reader.find(MEMORIES, OURS.tenant),
            list(reader.each(LESSONS, OURS.tenant)),
            reader.words(MEMORIES, OURS.tenant, ["harbour", "amber4"], (), 10).hits,
            reader.nearest(OURS.tenant, EMBEDDER.name, query, 5),
            reader.recalls(OURS.tenant, [1]),
            store.last_seq(),
            store.verify(),
        ]

    before = answers(world.engine.store)
    assert answers(past) == before
    fill(world, OURS, "basalt")
    assert answers(past) == before


def test_a_search_runs_on_the_past_as_it_runs_on_the_live_store(world: World, past: PastStore) -> None:
    found = world.found("amber3 harbour", OURS)
    fill(world, OURS, "amber3 harbour and")
    assert world.found("amber3 harbour", OURS) != found
    ctx = replace(world.context(OURS), store=past)
    answer = BY_NAME["search"].call(ctx, {"query": "amber3 harbour"})
    assert [one["id"] for one in answer["results"]] == found


def test_threads_share_the_past(past: PastStore) -> None:
    want = past.read().find(MEMORIES, OURS.tenant)
    found: list[object] = []

    def look() -> None:
        with past.snapshot() as reader:
            found.append(reader.find(MEMORIES, OURS.tenant))

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want] * 6


def test_nothing_can_be_written_into_the_past(past: PastStore, captured: Path) -> None:
    before = captured.read_bytes()
    for attempt in (lambda: past.write(lambda tx: tx.next_seq(OURS.tenant)), past.repair_index):
        with pytest.raises(Forbidden):
            attempt()
    with pytest.raises(apsw.ReadOnlyError):
        past._open().execute("DELETE FROM memories")
    assert past.compact_words() == 0
    assert past.failure() is None
    assert captured.read_bytes() == before


def test_the_past_leaves_no_file_beside_it_and_can_be_closed_twice(past: PastStore, captured: Path) -> None:
    past.read().words(MEMORIES, OURS.tenant, ["harbour"], (), 10)
    assert [one.name for one in captured.parent.iterdir()] == ["memory.db"]
    past.close()
    past.close()
    assert [one.name for one in captured.parent.iterdir()] == ["memory.db"]


def test_a_file_that_was_left_with_its_log_switched_on_is_read_too(captured: Path) -> None:
    db = apsw.Connection(str(captured))
    db.execute("PRAGMA journal_mode = WAL").fetchall()
    db.close()
    past = open_past(captured)
    assert past.read().count(MEMORIES, OURS.tenant) > 0
    past.close()


def test_a_file_of_an_older_schema_is_brought_to_this_one(captured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = migration_steps()
    monkeypatch.setattr(database, "migration_steps", lambda: [*first, "CREATE TABLE second (a TEXT) STRICT"])
    past = open_past(captured)
    assert past.schema == len(first) + 1
    assert past.verify() == []
    past.close()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("PRAGMA user_version = 99", DataTooNew),
        ("PRAGMA application_id = 5", DataTooNew),
        ("CREATE VIEW more AS SELECT * FROM memories", DataDamaged),
        ("CREATE TRIGGER more AFTER DELETE ON memories BEGIN SELECT 1; END", DataDamaged),
    ],
)
def test_a_file_that_is_no_store_of_ours_is_refused(captured: Path, change: str, fault: type[Fault]) -> None:
    db = apsw.Connection(str(captured))
    db.execute(change).fetchall()
    db.close()
    with pytest.raises(fault):
        open_past(captured)


@pytest.mark.parametrize("data", [b"", b"nothing like a database" * 500])
def test_bytes_that_are_no_database_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "memory.db").write_bytes(data)
    with pytest.raises(DataDamaged):
        open_past(tmp_path / "memory.db")
