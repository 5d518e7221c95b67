"""A store that is found damaged takes no writes any more, says so after a restart too, and is read as far as it can be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from harm import break_page, change_text
from sample_records import TENANT, add

from holdfast.core.errors import DataDamaged, DataReadOnly
from holdfast.store.damage import Damage, damage_of, read_damage
from holdfast.store.data_folder import DAMAGED
from holdfast.store.port import Finding
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import MEMORIES
from holdfast.store.tokenizer import query

ROWS = 120


def opened(path: Path) -> SqliteStore:
    return SqliteStore(path, lambda event: None)


@pytest.fixture
def path(quick_folder: Path) -> Path:
    """A closed store with pages enough that some can be lost."""
    path = quick_folder / "memory.db"
    store = opened(path)
    for number in range(ROWS):
        add(store, MEMORIES, f"m{number}", content=f"harbour{number} " + f"word{number} " * 60)
    store.close()
    return path


def memories_page(path: Path) -> None:
    break_page(path, "memories", 3)


def words_page(path: Path) -> None:
    break_page(path, "word_rows", 3)


def row(path: Path) -> None:
    change_text(path, "harbour40 ")


@pytest.mark.parametrize("harm", [memories_page, row])
def test_damage_that_a_read_meets_ends_all_writing(path: Path, harm: Callable[[Path], None]) -> None:
    harm(path)
    for _ in range(2):  # also in the next process
        store = opened(path)
        try:
            if read_damage(path.parent) is None:
                with pytest.raises(DataDamaged):
                    list(store.read().each(MEMORIES, TENANT))
            with pytest.raises(DataReadOnly) as said:
                add(store, MEMORIES, "later")
            assert "holdfast recover" in said.value.hint
            assert isinstance(store.failure(), DataReadOnly)
            assert store.read().get(MEMORIES, TENANT, "m119") is not None
        finally:
            store.close()


def test_a_list_goes_on_without_a_row_that_was_changed(path: Path) -> None:
    row(path)
    store = opened(path)
    try:
        found = {one.id for one in store.read().find(MEMORIES, TENANT)}
        assert found == {f"m{number}" for number in range(ROWS)} - {"m40"}
        with pytest.raises(DataDamaged):
            store.read().get(MEMORIES, TENANT, "m40")
        assert isinstance(store.failure(), DataReadOnly)
    finally:
        store.close()


def test_damage_that_a_write_meets_ends_writing(path: Path) -> None:
    break_page(path, "word_rows")  # where the words of the next record go
    store = opened(path)
    try:
        with pytest.raises(DataDamaged):
            add(store, MEMORIES, "later", content="more words")
        with pytest.raises(DataReadOnly):
            add(store, MEMORIES, "later still")
        assert read_damage(path.parent) is not None
    finally:
        store.close()


def test_looking_at_the_pages_meets_damage_before_anyone_else(path: Path) -> None:
    store = opened(path)
    try:
        assert store.check_pages()
    finally:
        store.close()
    words_page(path)
    store = opened(path)
    try:
        assert not store.check_pages()
        assert isinstance(store.failure(), DataReadOnly)
    finally:
        store.close()


@pytest.mark.parametrize(("harm", "extent"), [(memories_page, "records"), (row, "records"), (words_page, "index")])
def test_verification_tells_what_is_damaged(path: Path, harm: Callable[[Path], None], extent: str) -> None:
    harm(path)
    store = opened(path)
    try:
        assert store.verify()
        noted = read_damage(path.parent)
        assert noted is not None
        assert noted.extent == extent
        assert "holdfast recover" in getattr(store.failure(), "hint", "")
    finally:
        store.close()


def test_a_suspicion_ends_when_the_store_is_verified_and_sound(path: Path) -> None:
    (path.parent / DAMAGED).write_bytes(b"not what was written")
    store = opened(path)
    try:
        with pytest.raises(DataReadOnly):
            add(store, MEMORIES, "later")
        assert store.verify() == []
        add(store, MEMORIES, "later")
        assert not (path.parent / DAMAGED).exists()
    finally:
        store.close()


def test_text_that_a_caller_sends_is_no_damage(path: Path) -> None:
    """A word that is no UTF-8 must not be able to stop all writes."""
    store = opened(path)
    try:
        with pytest.raises(Exception, match=r".*"):
            store.read().get(MEMORIES, TENANT, "\ud800")
        store.read().words(MEMORIES, TENANT, query("harbour3"), (), 5)
        assert store.failure() is None
        add(store, MEMORIES, "later")
    finally:
        store.close()


def test_an_index_that_is_only_out_of_step_is_no_damage() -> None:
    assert damage_of([Finding("index_out_of_step", "words", "1", "differs")]) is None
    found = damage_of([Finding("page_damaged", "database", "", "Tree 9: btreeInitPage() returns error code 11")])
    assert found == Damage("index", "pages of the database file are damaged")
    both = [Finding("page_damaged", "database", "", "a page"), Finding("row_missing", "memories", "", "3 rows")]
    assert damage_of(both) == Damage("records", "memories: 3 rows")
