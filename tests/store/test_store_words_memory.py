"""What is remembered of the words never differs from what is stored, whoever writes, folds or mends meanwhile."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sample_records import TENANT, add
from test_store_segments import asked, by_fts5, opened, put, same_as_fts5, text

from holdfast.store.fulltext import word_search
from holdfast.store.fulltext.parts import MASKS
from holdfast.store.fulltext.segments import Compactor
from holdfast.store.port import Condition
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import MEMORIES
from holdfast.store.tokenizer import query


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
    store.compact_words(least=1)
    for project in projects:
        found = asked(store, "granite", Condition("project", "=", project), Condition("latest", "=", True))
        assert len(found) == 1, project


def test_what_lies_in_bounds_follows_every_write(store: SqliteStore) -> None:
    bounds = [[Condition("project", "=", f"p{number}"), Condition("latest", "=", True)] for number in range(10)]
    for number in range(5 * len(bounds)):
        put(store, f"m{number}", "granite", project=f"p{number % len(bounds)}")
    store.compact_words(least=1)

    def inside() -> list[int]:
        return [store.read().words(MEMORIES, TENANT, ["granite"], some, 20).inside for some in bounds]

    assert inside() == inside() == [5] * len(bounds)
    drop(store, "m0")  # of the first project
    put(store, "m1", "granite", project="p0")  # from the second to the first
    put(store, "new", "granite", project="p2")
    assert inside() == inside() == [5, 4, 6, *[5] * (len(bounds) - 3)]
    assert len(asked(store, "granite", *bounds[1])) == 4
    store.compact_words(least=1)
    assert inside() == [5, 4, 6, *[5] * (len(bounds) - 3)]


def test_answers_are_those_of_fts5_while_words_are_written_dropped_and_compacted(store: SqliteStore) -> None:
    chance = random.Random(40)
    for number in range(120):
        put(store, f"m{chance.randrange(60)}", text(chance))
        if number % 10 == 0:
            drop(store, f"m{chance.randrange(60)}")
            store.compact_words()
        for question in ("kabin lodor mifex", "segam tohul vufex") if number % 5 == 0 else ():
            hits = {hit.seq: round(hit.score, 9) for hit in asked(store, question, limit=100)}
            assert hits == dict(by_fts5(store, question, limit=100))


def test_the_few_that_a_filter_leaves_are_scored_as_among_all(store: SqliteStore) -> None:
    store._compactor = Compactor(store._readers.mine, store._write_words, rows=400, merge=3)
    chance = random.Random(4)
    for number in range(400):
        put(store, f"m{number}", text(chance), project="few" if number % 80 == 0 else "many")
    store.compact_words(least=1)
    drop(store, "m0", "m1")
    every = {hit.seq: hit.score for hit in asked(store, "kabin lodor mifex", limit=400)}
    few = [one.seq for one in store.read().find(MEMORIES, TENANT, Condition("project", "=", "few"))]
    hits = asked(store, "kabin lodor mifex", Condition("project", "=", "few"))
    assert {hit.seq: hit.score for hit in hits} == {seq: every[seq] for seq in few if seq in every}


def test_it_is_told_which_records_meet_the_conditions(store: SqliteStore) -> None:
    for number in range(40):
        put(store, f"m{number}", "granite", project="few" if number % 10 == 0 else "many")
    store.compact_words(least=1)
    put(store, "late", "granite", project="few")
    drop(store, "m10")
    bounds = (Condition("project", "=", "few"), Condition("title", "=", ""))  # one is no scope: rows are looked at
    met = {one.seq for one in store.read().find(MEMORIES, TENANT, bounds[0])}
    for some in (bounds[:1], bounds):
        words = store.read().words(MEMORIES, TENANT, query("granite"), some, 5)
        assert words.among.meeting(range(200)) == met


@pytest.mark.parametrize("folded", [False, True])
def test_a_record_that_was_stored_again_still_tells_its_words(store: SqliteStore, folded: bool) -> None:
    put(store, "one", "granite")
    put(store, "two", "granite")
    assert len(asked(store, "granite")) == 2
    put(store, "one", "granite and gneiss", latest=False)
    if folded:
        store.compact_words(least=1)
    words = store.read().words(MEMORIES, TENANT, query("gneiss"), (), 5)
    (hit,) = words.hits
    assert words.among.counted([hit.seq])[hit.seq].weights == {"gneiss": 1.0}


def test_segments_whose_ranges_cross_are_merged_in_order(store: SqliteStore) -> None:
    chance = random.Random(5)

    def more(first: int, count: int) -> None:
        for number in range(first, first + count):
            put(store, f"m{number}", text(chance))
        store.compact_words(least=1)

    more(0, 96)  # two large segments
    drop(store, *(f"m{number}" for number in range(4, 48)))
    store.compact_words()  # the first is small now
    more(100, 2)
    more(110, 2)  # three small ones, two of them behind the large one, become one
    drop(store, *(f"m{number}" for number in range(52, 96)))
    store.compact_words()  # the large one is small now, and lies within the range of the merged one
    more(120, 2)
    assert store.verify() == []
    drop(store, "m1", "m49", "m101", "m111")
    same_as_fts5(store, "kabin lodor mifex")


def test_a_tenant_that_forgot_everything_is_searched_after_the_index_was_mended(store: SqliteStore) -> None:
    put(store, "one", "granite")
    store.compact_words(least=1)
    assert len(asked(store, "granite")) == 1
    drop(store, "one")
    assert asked(store, "granite") == []  # all that held the word is gone
    version = "SELECT version FROM word_states WHERE tenant = ?"
    before: Any = store._writer.execute(version, (TENANT,)).get
    store.repair_index()
    # A version that went back would let a search wait for ever.
    after: Any = store._writer.execute(version, (TENANT,)).get
    assert after is not None
    assert after > before
    assert asked(store, "granite") == []
    put(store, "two", "granite")
    assert len(asked(store, "granite")) == 1
    assert store.verify() == []


def test_an_index_that_is_mended_while_words_are_compacted_is_whole(store: SqliteStore) -> None:
    chance = random.Random(2)
    for number in [*range(40), *range(20)]:  # the first ones are stored again, under later numbers
        put(store, f"m{number}", text(chance))
    mending = threading.Thread(target=store.repair_index)

    def write(tenant: str, job: Any) -> Any:
        if mending.ident is None:
            mending.start()
            mending.join(timeout=1)  # it ends at once if it does not wait for the compaction
        return store._write_words(tenant, job)

    store._compactor = Compactor(store._readers.mine, write, rows=16, merge=3)
    store.compact_words(least=1)
    mending.join()
    assert store.verify() == []
    same_as_fts5(store, "kabin lodor mifex")


@pytest.mark.parametrize("folded", [False, True])
def test_an_answer_stays_what_it_was_while_others_go_on(store: SqliteStore, folded: bool) -> None:
    put(store, "one", "granite")
    put(store, "two", "granite")
    if folded:
        store.compact_words(least=1)
    earlier = store.read().words(MEMORIES, TENANT, query("granite"), (), 5)
    put(store, "one", "granite again")
    drop(store, "two")
    assert len(asked(store, "granite")) == 1  # another question, which hears of what is gone
    counted = earlier.among.counted([hit.seq for hit in earlier.hits])
    assert [counted[hit.seq].length for hit in earlier.hits] == [1, 1]


def count(store: SqliteStore, table: str) -> int:
    return int(store._writer.execute(f"SELECT count(*) FROM {table}").get)  # type: ignore[arg-type]


def test_records_that_come_and_go_leave_nothing_behind(store: SqliteStore) -> None:
    put(store, "stays", "granite")
    for number in range(100):
        put(store, f"m{number}", "granite")
        assert len(asked(store, "granite")) == 2
        drop(store, f"m{number}")
        store.compact_words()
    assert len(asked(store, "granite")) == 1
    assert count(store, "word_gone") <= 16
    assert len(store._index._tenants[TENANT].tail.docs) <= 17
    assert store.verify() == []


def test_of_a_tenant_that_forgot_everything_no_word_is_left(store: SqliteStore) -> None:
    for number in range(40):
        put(store, f"m{number}", f"granite number{number}")
    store.compact_words(least=1)
    drop(store, *(f"m{number}" for number in range(40)))
    store.compact_words()
    assert {table: count(store, table) for table in ("word_rows", "word_segments", "word_postings", "word_gone")} == {
        "word_rows": 0,
        "word_segments": 0,
        "word_postings": 0,
        "word_gone": 0,
    }
    assert asked(store, "granite") == []
    assert store.verify() == []


def test_only_the_tenants_that_were_asked_last_are_remembered(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenants = [f"tenant{number}" for number in range(10)]
    for tenant in tenants:
        for number in range(20):
            add(store, MEMORIES, f"m{number}", tenant=tenant, content="granite")
    assert len(store.read().words(MEMORIES, tenants[0], query("granite"), (), 50).hits) == 20
    monkeypatch.setattr(word_search, "HELD", int(2.5 * store._index._held))
    for _ in range(2):
        for tenant in tenants:
            assert len(store.read().words(MEMORIES, tenant, query("granite"), (), 50).hits) == 20
    assert list(store._index._tenants) == tenants[-2:]
    store.read().words(MEMORIES, tenants[-2], query("granite"), (), 50)
    store.read().words(MEMORIES, tenants[0], query("granite"), (), 50)
    assert list(store._index._tenants) == [tenants[-2], tenants[0]]


def test_words_are_not_looked_through_again_before_something_was_written(store: SqliteStore) -> None:
    put(store, "one", "granite")
    looks = list[int]()

    def read() -> Any:
        looks.append(1)
        return store._readers.mine()

    folder = Compactor(read, store._write_words, rows=2, merge=3)
    folder.compact_all()
    looks.clear()
    assert folder.compact_all() == 0
    assert len(looks) == 1
    put(store, "two", "granite")
    assert folder.compact_all() == 1
