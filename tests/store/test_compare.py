"""What changed between two stores: exact counts, readable titles, in the order of writes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from sample_records import TENANT, add, sample
from two_tenants import OURS, THEIRS, fill, token, world_at
from world import World

from holdfast.core.errors import DataTooNew
from holdfast.store.port import Store, Tx
from holdfast.store.sqlite import database
from holdfast.store.sqlite.database import migration_steps
from holdfast.store.sqlite.files.capture import capture_store
from holdfast.store.sqlite.files.compare import TITLES, RowDiff, TableDiff, compare_stores
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import ADDRESSES, AUDIT, LESSONS, MEMORIES, PLACE, SLOTS, TABLES


@pytest.fixture
def world(quick_folder: Path) -> Iterator[World]:
    made = world_at(quick_folder / "memory")
    yield made
    made.close()


@pytest.fixture
def before(world: World, quick_folder: Path) -> Path:
    fill(world, OURS, "amber")
    return taken(world, quick_folder / "before.db")


def taken(world: World, into: Path) -> Path:
    capture_store(world.engine.store.path, into, OURS.tenant)
    return into


def by_table(found: list[TableDiff]) -> dict[str, tuple[int, int, int]]:
    return {one.table: (one.added, one.removed, one.changed) for one in found}


def test_every_table_of_memory_is_compared(world: World) -> None:
    assert {*TITLES, AUDIT, *PLACE} == set(TABLES)


def test_nothing_changed_is_an_empty_list(world: World, before: Path) -> None:
    token(world, OURS, "no memory")
    assert compare_stores(before, world.engine.store.path, OURS.tenant) == []


def test_what_came_went_and_changed_is_told_with_its_title(world: World, before: Path, quick_folder: Path) -> None:
    kept = world.engine.store.read().find(MEMORIES, OURS.tenant, order="seq")
    world.call("remember", OURS, content="the dolomite shelf carries the maps\nof the harbour", agentId="ada")
    world.call("forget", OURS, memoryId=kept[2].id)
    world.call("slot_append", OURS, label="persona", text="careful")
    changed = dataclasses.replace(kept[3], title="", content="\n  a changed text  \nof two lines" + "x" * 200)
    world.engine.store.write(lambda tx: tx.replace(MEMORIES, changed))
    for now in (world.engine.store.path, taken(world, quick_folder / "after.db")):
        found = compare_stores(before, now, OURS.tenant)
        assert by_table(found) == {"memories": (1, 1, 1), "slots": (1, 0, 0)}
        memories = next(one for one in found if one.table == "memories")
        new = world.engine.store.read().find(MEMORIES, OURS.tenant, order="-seq", limit=1)[0]
        assert memories.rows == (
            RowDiff(kept[2].id, "removed", kept[2].title, None),
            RowDiff(kept[3].id, "changed", "a changed text", None),
            RowDiff(new.id, "added", "the dolomite shelf carries the maps", "ada"),
        )
    back = compare_stores(world.engine.store.path, before, OURS.tenant)
    assert by_table(back) == {"memories": (1, 1, 1), "slots": (0, 1, 0)}


def test_a_long_title_is_cut(world: World, before: Path) -> None:
    add(world.engine.store, LESSONS, tenant=OURS.tenant, content="word " * 100)
    title = compare_stores(before, world.engine.store.path, OURS.tenant)[0].rows[0].title
    assert len(title) <= 80
    assert title.endswith("…")


def test_a_record_of_each_table_has_a_title(world: World, before: Path) -> None:
    for table in TITLES:
        add(world.engine.store, table, "new", tenant=OURS.tenant, **({"root": "new"} if table is ADDRESSES else {}))
    found = compare_stores(before, world.engine.store.path, OURS.tenant)
    assert by_table(found) == {table.name: (1, 0, 0) for table in TITLES}
    assert all(one.rows[0].title for one in found)
    assert {one.table: one.rows[0].title for one in found}["slots"] == sample(SLOTS, "new").label


def test_what_not_everybody_may_see_is_counted_and_not_shown(world: World, before: Path) -> None:
    add(world.engine.store, MEMORIES, "hidden", tenant=OURS.tenant, audience=("person/tg/A",))
    add(world.engine.store, ADDRESSES, "facts://hidden", tenant=OURS.tenant, root="hidden")

    found = compare_stores(before, world.engine.store.path, OURS.tenant)

    assert by_table(found) == {"memories": (1, 0, 0), "addresses": (1, 0, 0)}
    assert all(one.rows == () for one in found)


def test_other_tenants_are_not_looked_at(world: World, before: Path) -> None:
    fill(world, THEIRS, "basalt")
    assert compare_stores(before, world.engine.store.path, OURS.tenant) == []


def test_only_so_many_rows_are_shown_and_all_are_counted(world: World, before: Path) -> None:
    for number in range(30):
        add(world.engine.store, MEMORIES, f"x{number}", tenant=OURS.tenant)
    found = compare_stores(before, world.engine.store.path, OURS.tenant, limit=7)
    assert by_table(found) == {"memories": (30, 0, 0)}
    assert [one.id for one in found[0].rows] == [f"x{number}" for number in range(7)]


def test_a_file_of_somebody_else_is_refused(before: Path, tmp_path: Path) -> None:
    before.with_name("foreign.db").write_bytes(before.read_bytes()[:68] + bytes(4) + before.read_bytes()[72:])
    with pytest.raises(DataTooNew):
        compare_stores(before, before.with_name("foreign.db"), OURS.tenant)


def test_a_file_of_an_older_schema_can_be_compared(
    world: World, before: Path, quick_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(world.engine.store, MEMORIES, "new", tenant=OURS.tenant)
    after = taken(world, quick_folder / "after.db")
    first = migration_steps()
    monkeypatch.setattr(database, "migration_steps", lambda: [*first, "CREATE TABLE second (a TEXT) STRICT"])
    assert by_table(compare_stores(before, after, OURS.tenant)) == {"memories": (1, 0, 0)}


STEPS = st.lists(st.tuples(st.sampled_from(["add", "change", "move", "delete"]), st.integers(0, 7)), max_size=12)


@settings(max_examples=40)
@given(first=STEPS, second=STEPS)
def test_the_counts_are_those_of_two_dictionaries(
    quick_folder: Path, first: list[tuple[str, int]], second: list[tuple[str, int]]
) -> None:
    """Whatever was done between two captures, also under other numbers, the difference is that of what there is."""
    live, old = quick_folder / "live.db", quick_folder / "old.db"
    for path in quick_folder.iterdir():
        path.unlink()
    store = SqliteStore(live, lambda event: None)
    try:
        _do(store, first)
        then = {one.id: one for one in store.read().find(MEMORIES, TENANT)}
        capture_store(live, old, TENANT)
        _do(store, second)
        now = {one.id: one for one in store.read().find(MEMORIES, TENANT)}
        found = by_table(compare_stores(old, live, TENANT)).get("memories", (0, 0, 0))
    finally:
        store.close()
    both = then.keys() & now.keys()
    assert found == (len(now) - len(both), len(then) - len(both), sum(then[id] != now[id] for id in both))


def _do(store: Store, steps: list[tuple[str, int]]) -> None:
    def one(tx: Tx, what: str, number: int) -> None:
        id = f"m{number}"
        known = tx.get(MEMORIES, TENANT, id)
        if what == "delete":
            tx.delete(MEMORIES, TENANT, id)
        elif known is None:
            tx.add(MEMORIES, sample(MEMORIES, id, tx.next_seq(TENANT)))
        elif what == "change":
            tx.replace(MEMORIES, dataclasses.replace(known, content=known.content + "!"))
        elif what == "move":
            tx.replace(MEMORIES, dataclasses.replace(known, seq=tx.next_seq(TENANT)))

    for what, number in steps:
        store.write(lambda tx, what=what, number=number: one(tx, what, number))  # type: ignore[misc]
