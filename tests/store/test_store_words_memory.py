"""What is remembered of the words never differs from what is stored, whoever writes, folds or mends meanwhile."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sample_records import OTHER, TENANT, add, sample
from test_store_segments import asked, opened, put, same_as_fts5, text

from holdfast.store.port import Condition
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.sqlite.wordindex import MASKS
from holdfast.store.tables import MEMORIES
from holdfast.store.words import query


@pytest.fixture
def store(quick_folder: Path) -> Iterator[SqliteStore]:
    made = opened(quick_folder)
    yield made
    made.close()


def drop(store: SqliteStore, *ids: str) -> None:
    for id in ids:
        store.write(lambda tx, id=id: tx.delete(MEMORIES, TENANT, id))


def test_a_filter_finds_its_records_after_many_other_filters_were_asked_for(store: SqliteStore) -> None:
    projects = [f"project{number}" for number in range(2 * MASKS)]
    for project in projects:
        put(store, project, "granite", project=project)
    store.fold_words(least=1)
    for project in projects:
        found = asked(store, "granite", Condition("project", "=", project), Condition("latest", "=", True))
        assert len(found) == 1, project


@pytest.mark.parametrize("folded", [False, True])
def test_a_record_that_was_stored_again_still_tells_its_words(store: SqliteStore, folded: bool) -> None:
    put(store, "one", "granite")
    put(store, "two", "granite")
    assert len(asked(store, "granite")) == 2
    put(store, "one", "granite and gneiss", latest=False)
    if folded:
        store.fold_words(least=1)
    words = store.read().words(MEMORIES, TENANT, query("gneiss"), (), 5)
    (hit,) = words.hits
    assert words.counted([hit.seq])[hit.seq].weights == {"gneiss": 1.0}


def test_segments_whose_ranges_cross_are_merged_in_order(store: SqliteStore) -> None:
    chance = random.Random(5)
    for number in range(60):  # a large segment between small ones
        put(store, f"m{number}", text(chance))
        if number in (3, 55, 59):
            store.fold_words(least=1)
    drop(store, *(f"m{number}" for number in range(6, 54)))
    for number in range(60, 90):
        put(store, f"m{number}", text(chance))
        if number % 2:
            store.fold_words(least=1)
            assert store.verify() == []
    drop(store, "m1", "m5", "m54", "m58", "m70")
    same_as_fts5(store, "kabin lodor mifex")
