"""Capture: one moment of one tenant's memory, whole, and nothing of anybody else's."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from sample_records import sample
from two_tenants import EMBEDDER, OURS, THEIRS, assert_sound, contents, fill, nearest, opened, token, world_at
from world import World

from holdfast.core.errors import DataDamaged, StorageFailed
from holdfast.store.port import Tx
from holdfast.store.sqlite.files import copy_rows
from holdfast.store.sqlite.files.capture import capture_store, check_store
from holdfast.store.tables import ANSWERS, MEMORIES, TOKENS

pytestmark = pytest.mark.quick

TABLE_NAMES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"


@pytest.fixture
def world(quick_folder: Path) -> Iterator[World]:
    made = world_at(quick_folder / "memory")
    yield made
    made.close()


@pytest.fixture
def into(quick_folder: Path) -> Path:
    return quick_folder / "captured.db"


def live(world: World) -> Path:
    return world.engine.folder.database()


def test_every_table_of_the_schema_is_known_to_travel(world: World) -> None:
    """A new table must be said to be memory, derived or of the place; else it would be lost, or would leak."""
    rows = apsw.Connection(str(live(world))).execute(TABLE_NAMES).fetchall()
    known = {*copy_rows.PLACE, *copy_rows.RECORDS, *copy_rows.DERIVED, *copy_rows.BELONGING, *copy_rows.COMMON}
    assert {name for (name,) in rows} - known == set()
    assert known - {name for (name,) in rows} <= {"events"}


@pytest.mark.parametrize("alone", [True, False], ids=["by pages", "by rows"])
def test_a_captured_store_is_sound_and_holds_what_the_tenant_remembers(world: World, into: Path, alone: bool) -> None:
    fill(world, OURS, "amber")
    if not alone:
        fill(world, THEIRS, "basalt")
    captured = capture_store(live(world), into, OURS.tenant)
    assert_sound(shutil.copy(into, into.with_suffix(".copy")))
    assert captured.last_seq == world.engine.store.last_seq()
    assert captured.schema == world.engine.store.schema
    want = contents(live(world), OURS.tenant)
    assert contents(into, OURS.tenant) == want
    assert dict(captured.rows)["memories"] == len(want)
    assert nearest(into, OURS.tenant, "amber3 lies in harbour") == nearest(
        live(world), OURS.tenant, "amber3 lies in harbour"
    )


def test_nothing_of_another_tenant_is_in_the_file_not_even_in_free_pages(world: World, into: Path) -> None:
    for more in "xyz":
        fill(world, THEIRS, f"basalt{more}", 40)
    fill(world, OURS, "amber")
    token(world, THEIRS, "basaltkey")
    capture_store(live(world), into, OURS.tenant)
    data = into.read_bytes()
    assert b"amber" in data
    assert b"basalt" not in data
    assert THEIRS.tenant.encode() not in data


@pytest.mark.parametrize("alone", [True, False], ids=["by pages", "by rows"])
def test_what_belongs_to_the_place_is_left_out(world: World, into: Path, alone: bool) -> None:
    fill(world, OURS, "amber")
    if not alone:
        fill(world, THEIRS, "basalt")
    token(world, OURS, "doorkey")
    capture_store(live(world), into, OURS.tenant)
    data = into.read_bytes()
    assert b"doorkey" not in data
    assert b"was answered" not in data
    store = opened(into)
    assert store.read().count(TOKENS, OURS.tenant) == store.read().count(ANSWERS, OURS.tenant) == 0
    store.close()


@pytest.mark.parametrize("alone", [True, False], ids=["by pages", "by rows"])
def test_the_same_store_gives_the_same_bytes(world: World, quick_folder: Path, alone: bool) -> None:
    fill(world, OURS, "amber")
    if not alone:
        fill(world, THEIRS, "basalt")
    files = [quick_folder / f"{number}.db" for number in range(2)]
    for file in files:
        capture_store(live(world), file, OURS.tenant)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sorted(one.name for one in quick_folder.iterdir()) == ["0.db", "1.db", "memory"]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_a_capture_takes_the_place_of_what_an_earlier_one_left(world: World, into: Path) -> None:
    fill(world, OURS, "amber")
    into.write_bytes(b"half of something")
    capture_store(live(world), into, OURS.tenant)
    assert_sound(into)


@pytest.mark.parametrize("alone", [True, False], ids=["by pages", "by rows"])
def test_a_capture_is_one_moment_while_writers_go_on(world: World, into: Path, alone: bool) -> None:
    """Each write stores a pair; every capture has both of each pair or none."""
    if not alone:
        fill(world, THEIRS, "basalt")
    stop, store, written = threading.Event(), world.engine.store, []

    def pairs(thread: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1

            def pair(tx: Tx, number: int = number) -> None:
                for side in ("left", "right"):
                    tx.add(
                        MEMORIES,
                        sample(MEMORIES, f"{side}-{thread}-{number}", tx.next_seq(OURS.tenant), tenant=OURS.tenant),
                    )

            store.write(pair)
            written.append(number)

    threads = [threading.Thread(target=pairs, args=(thread,)) for thread in range(3)]
    for thread in threads:
        thread.start()
    try:
        counts = []
        for _ in range(8):
            before = len(written)
            capture_store(live(world), into, OURS.tenant)
            taken = opened(into)
            ids = {one.id for one in taken.read().find(MEMORIES, OURS.tenant)}
            taken.close()
            assert {id.removeprefix("left") for id in ids if id.startswith("left")} == {
                id.removeprefix("right") for id in ids if id.startswith("right")
            }
            assert len(ids) >= 2 * before  # nothing that was acknowledged before is missing
            counts.append(len(ids))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]
    assert_sound(into)


def test_an_empty_memory_can_be_captured(world: World, into: Path) -> None:
    assert capture_store(live(world), into, OURS.tenant).rows == ()
    assert_sound(into)


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM memories WHERE seq = (SELECT min(seq) FROM memories)", "UPDATE lessons SET checksum = checksum + 1"],
)
def test_a_store_whose_rows_do_not_add_up_is_not_captured_as_sound(world: World, into: Path, damage: str) -> None:
    fill(world, OURS, "amber")
    with apsw.Connection(str(live(world))) as db:
        db.execute(damage)
    with pytest.raises(DataDamaged):
        capture_store(live(world), into, OURS.tenant)


def test_a_broken_page_is_found_before_anything_is_packed(world: World, into: Path) -> None:
    fill(world, OURS, "amber", 60)
    capture_store(live(world), into, OURS.tenant)
    check_store(into)
    data = bytearray(into.read_bytes())
    root = apsw.Connection(str(into)).execute("SELECT rootpage FROM sqlite_schema WHERE name = 'memories'").get
    data[(root - 1) * 4096 : (root - 1) * 4096 + 12] = bytes(12)
    into.write_bytes(data)
    with pytest.raises(DataDamaged):
        check_store(into)


def test_a_place_that_cannot_be_written_is_told(world: World, quick_folder: Path) -> None:
    with pytest.raises(StorageFailed):
        capture_store(live(world), quick_folder / "missing" / "captured.db", OURS.tenant)


def test_vectors_of_the_tenant_come_along_and_no_others(world: World, into: Path) -> None:
    fill(world, THEIRS, "basalt")
    fill(world, OURS, "amber")
    capture_store(live(world), into, OURS.tenant)
    store = opened(into)
    assert (
        store.read().with_vector(OURS.tenant, EMBEDDER.name)
        == world.engine.store.read().with_vector(OURS.tenant, EMBEDDER.name)
        > 0
    )
    assert store.read().with_vector(THEIRS.tenant, EMBEDDER.name) == 0
    store.close()


def test_an_index_that_does_not_say_what_the_rows_say_is_found_before_anything_is_packed(
    world: World, into: Path
) -> None:
    """Pages and counts are right; only comparing the index with the rows shows it."""
    fill(world, OURS, "amber")
    capture_store(live(world), into, OURS.tenant)
    indexes = "type = 'index' AND tbl_name = 'memories' AND sql IS NOT NULL"
    hidden = behind(into, f"SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema WHERE {indexes}")
    behind(into, f"DELETE FROM sqlite_schema WHERE {indexes}")
    behind(into, "UPDATE memories SET project = 'elsewhere'")
    for row in hidden:
        behind(into, "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)", row)

    assert behind(into, "PRAGMA quick_check") == [("ok",)]
    with pytest.raises(DataDamaged):
        check_store(into)


def behind(path: Path, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
    """Run a statement that may change the schema by hand; each on a connection that knows what is there now."""
    db = apsw.Connection(str(path))
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    db.execute("PRAGMA writable_schema = ON").fetchall()
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.close()
