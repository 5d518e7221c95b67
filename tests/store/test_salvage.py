"""What is saved from a damaged file is exactly what was stored, and as much of it as its pages hold."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from harm import PAGE, break_header, break_page, break_pages, cut_in_half
from hypothesis import given, settings, strategies as st
from sample_records import OTHER, TENANT, add, sample

from holdfast.core.errors import DataDamaged
from holdfast.store.sqlite.files.page_reader import Pages
from holdfast.store.sqlite.files.salvage_rows import salvage, unreadable
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import MEMORIES, PLACE, TABLES
from holdfast.store.tokenizer import query

Truth = dict[tuple[str, str, str], Any]


def opened(path: Path) -> SqliteStore:
    return SqliteStore(path, lambda event: None)


def fill(store: SqliteStore) -> None:
    for table in TABLES:
        add(store, table, "one")
        add(store, table, "one", tenant=OTHER)
    for number in range(80):
        text = f"word{number} " * (5 if number % 7 else 2_000)  # some are longer than a page
        add(store, MEMORIES, f"m{number}", content=text, strength=float(number % 3))
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "m5"))
    store.write(lambda tx: tx.replace(MEMORIES, sample(MEMORIES, "m6", tx.next_seq(TENANT), content="said anew")))


def records(store: SqliteStore) -> Truth:
    reader = store.read()
    return {
        (table.name, tenant, one.id): one for table in TABLES for tenant in (TENANT, OTHER) for one in reader.find(table, tenant)
    }  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Truth]:
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    store = opened(path)
    fill(store)
    truth = records(store)
    store.close()
    return path, truth


@pytest.fixture
def path(quick_folder: Path, whole: tuple[Path, Truth]) -> Path:
    return Path(shutil.copy(whole[0], quick_folder / "memory.db"))


@pytest.fixture
def truth(whole: tuple[Path, Truth]) -> Truth:
    return whole[1]


def saved(path: Path, tenant: str | None = None) -> tuple[Truth, Any]:
    """What is in the new file, which has to be sound."""
    into = path.with_name("saved.db")
    into.unlink(missing_ok=True)
    read = salvage(path, into, tenant)
    store = opened(into)
    try:
        assert store.verify() == []
        return records(store), read
    finally:
        store.close()


def test_a_sound_file_is_saved_whole(path: Path, truth: Truth) -> None:
    found, read = saved(path)
    assert found == truth
    assert read.whole
    assert read.lost == {}
    assert sum(read.rows.values()) == len(truth)


def test_what_only_the_log_holds_is_saved_as_well(quick_folder: Path) -> None:
    path = quick_folder / "memory.db"
    store = opened(path)
    try:
        fill(store)
        copy = quick_folder / "copy"
        copy.mkdir()
        for one in quick_folder.glob("memory.db*"):
            shutil.copy(one, copy)
        assert (copy / "memory.db-wal").stat().st_size
        assert saved(copy / "memory.db")[0] == records(store)
    finally:
        store.close()


def test_a_tenants_memory_is_saved_without_tokens_and_without_others(path: Path, truth: Truth) -> None:
    found, _ = saved(path, TENANT)
    place = {table.name for table in PLACE}
    assert found == {key: one for key, one in truth.items() if key[1] == TENANT and key[0] not in place}


def test_every_row_that_is_not_on_a_broken_page_is_saved_and_found(path: Path, truth: Truth) -> None:
    break_page(path, "memories", 2)
    found, read = saved(path)
    assert found.items() < truth.items()
    lost = truth.keys() - found.keys()
    assert read.lost == {"memories": len(lost)}
    assert not read.whole
    assert {table for table, _, _ in lost} == {"memories"}
    store = opened(path.with_name("saved.db"))
    try:
        kept = next(one for key, one in found.items() if key[0] == "memories" and one.content.startswith("word7"))
        hits = store.read().words(MEMORIES, TENANT, query(kept.content.split()[0]), (), 5).hits
        assert [hit.seq for hit in hits] == [kept.seq]
    finally:
        store.close()


@pytest.mark.parametrize("tree", ["word_rows", "sqlite_autoindex_memories_1", "memories_by_project", "sketches"])
def test_broken_pages_of_an_index_cost_no_record(path: Path, truth: Truth, tree: str) -> None:
    break_pages(path, tree)
    found, read = saved(path)
    assert found == truth
    assert read.whole


def test_a_broken_header_costs_no_record(path: Path, truth: Truth) -> None:
    break_header(path)
    assert unreadable(path)
    found, read = saved(path)
    assert found == truth
    assert read.lost is None  # the file does not say how much there was


def test_of_a_file_that_was_cut_the_rest_is_saved(path: Path, truth: Truth) -> None:
    cut_in_half(path)
    found, _ = saved(path)
    assert found
    assert found.items() < truth.items()


def test_a_file_of_something_else_gives_nothing(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(40 * PAGE))
    assert saved(path)[0] == {}
    path.unlink()
    with pytest.raises(DataDamaged):
        salvage(path, path.with_name("saved.db"))


@pytest.mark.parametrize("part", range(4))
def test_whatever_is_damaged_nothing_is_saved_that_was_not_stored(path: Path, truth: Truth, part: int) -> None:
    chance, data = random.Random(part), path.read_bytes()
    used = [at for at in range(len(data)) if data[at]]
    for _ in range(12):
        damaged = bytearray(data)
        for at in chance.sample(used, 40):
            damaged[at] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        assert saved(path)[0].items() <= truth.items()


@settings(max_examples=100)
@given(head=st.binary(max_size=200), seed=st.integers(0, 2**32))
def test_pages_of_any_bytes_are_taken_apart_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, head: bytes, seed: int
) -> None:
    path = tmp_path_factory.mktemp("pages") / "any.db"
    noise = random.Random(seed).randbytes(2 * PAGE)
    path.write_bytes(bytes(PAGE) + (b"\x0d" + head + noise)[:PAGE] + noise)
    with Pages(path) as pages:
        for _, fields in pages.rows():
            assert len(fields) >= 5


def test_a_long_row_whose_chain_leads_in_circles_ends(path: Path) -> None:
    """The length of a payload bounds the walk, whatever the pages say of each other."""
    data = bytearray(path.read_bytes())
    with Pages(path) as pages:
        chained = [number for number in range(2, len(pages) + 1) if pages.page(number)[0] == 0]
    for number in chained:
        data[(number - 1) * PAGE : (number - 1) * PAGE + 4] = number.to_bytes(4, "big")
    path.write_bytes(data)
    found, _ = saved(path)
    assert found
