"""Vectors in the store: near ones are found, those of records that are gone never are, and damage is noticed."""

from __future__ import annotations

import dataclasses
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from patience import WAIT_SECONDS
from rows import each
from sample_records import OTHER, SILENT, TENANT, add, sample
from store_places import Place

from holdfast.core.errors import DataDamaged, Fault
from holdfast.store import quantization
from holdfast.store.port import MadeVector, Missing, Store, Tx, WordCount
from holdfast.store.quantization import CodeTable, code_of
from holdfast.store.sqlite.database import open_reader
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.sqlite.vectors import nearest
from holdfast.store.sqlite.vectors.codes import CHUNK, CodeChange, VectorCodes
from holdfast.store.tables import MEMORIES, NOTES, OBSERVATIONS, PASSAGE_CHARS
from holdfast.store.vector_values import PARTS_SPREAD, luck, text_hash

MODEL, DIMS = "model-1", 70


def random_units(count: int, seed: int = 1, dims: int = DIMS) -> Any:
    rows = np.random.default_rng(seed).standard_normal((count, dims)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def vector_of(seq: int) -> Any:
    return random_units(1, seq)[0]


def passage(record: Any) -> str:
    table = MEMORIES if isinstance(record, MEMORIES.record) else OBSERVATIONS
    assert table.passage is not None
    return table.passage(record)


def follow(store: Store, model: str = MODEL, numbers: Any = vector_of) -> int:
    """Give every record that waits a vector, as the follower does; how many got one."""
    reader, made = store.read(), []
    for one in reader.index_work(10_000):
        table = {"memories": MEMORIES, "observations": OBSERVATIONS}[one.source]
        record = next(record for record in reader.find(table, one.tenant) if record.seq == one.seq)
        made.append(MadeVector(one, text_hash(one.tenant, model, passage(record)), np.atleast_2d(numbers(one.seq))))
    return store.write(lambda tx: tx.put_vectors(model, made))


def found(store: Store, near: int, limit: int = 10, allowed: Sequence[int] | None = None, **more: Any) -> list[int]:
    """What is nearest to the vector of a record."""
    only = None if allowed is None else np.array(allowed, dtype=np.int64)
    tenant, model = more.get("tenant", TENANT), more.get("model", MODEL)
    return [hit.seq for hit in store.read().nearest(tenant, model, vector_of(near), limit, only)]


@pytest.fixture
def few(store: Store) -> list[int]:
    """Eight memories with vectors."""
    seqs = [add(store, MEMORIES, f"m{number}").seq for number in range(8)]
    assert follow(store) == 8
    return seqs


def put_many(store: Store, rows: Any, first: int = 1, tenant: str = TENANT) -> None:
    """Vectors without records: only their number matters."""

    def job(tx: Tx) -> None:
        seqs = range(first, first + len(rows))
        tx.queue(MODEL, Missing("memories", 0, tuple((seq, tenant) for seq in seqs)))
        waiting = {one.seq: one for one in tx.index_work(len(rows))}
        tx.put_vectors(
            MODEL,
            [
                MadeVector(waiting[seq], seq.to_bytes(16, "big"), np.atleast_2d(row))
                for seq, row in zip(seqs, rows, strict=True)
            ],
        )

    store.write(job)


# Searching


def test_the_nearest_record_is_found_with_its_cosine(store: Store, few: list[int]) -> None:
    for seq in few:
        first = store.read().nearest(TENANT, MODEL, vector_of(seq), 3)[0]
        assert first.seq == seq
        assert first.cosine == pytest.approx(1, abs=2e-3)
    assert len(found(store, few[0], limit=3)) == 3
    assert found(store, few[0], limit=0) == []


def test_everything_is_scored_as_exact_numbers_would(store: Store, few: list[int]) -> None:
    query = random_units(1, 99)[0]
    exact = {seq: float(vector_of(seq) @ query) for seq in few}
    hits = store.read().nearest(TENANT, MODEL, query, 8)
    assert [hit.seq for hit in hits] == sorted(exact, key=lambda seq: -exact[seq])
    assert store.read().vectors(TENANT, MODEL, len(query), [few[2], 999, few[5]]).cosines(query) == pytest.approx(
        {few[2]: exact[few[2]], few[5]: exact[few[5]]}, abs=2e-3
    )


def test_only_allowed_records_are_found(store: Store, few: list[int]) -> None:
    assert found(store, few[0], allowed=[few[3], few[5], 999]) in ([few[3], few[5]], [few[5], few[3]])
    assert found(store, few[0], allowed=[]) == []


def test_tenants_and_models_are_kept_apart(store: Store, few: list[int]) -> None:
    other = add(store, MEMORIES, "theirs", tenant=OTHER).seq
    follow(store)
    assert sorted(found(store, few[0])) == few
    assert found(store, other, tenant=OTHER) == [other]
    assert found(store, few[0], model="model-2") == []
    assert store.read().vectors(OTHER, MODEL, DIMS, few[-1:]).cosines(vector_of(few[0])) == {}


def test_a_query_of_another_length_meets_no_vectors(store: Store, few: list[int]) -> None:
    query = random_units(1, 1, DIMS + 1)[0]
    assert store.read().nearest(TENANT, MODEL, query, 5) == []
    assert store.read().vectors(TENANT, MODEL, len(query), few).cosines(query) == {}


def test_among_many_the_true_nearest_are_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough vectors that codes sift and rank before vectors are read."""
    rows = random_units(3_000, 5)
    near = rows[:100] + 0.35 * random_units(100, 6)
    rows = np.concatenate([rows, near / np.linalg.norm(near, axis=1, keepdims=True)])
    put_many(store, rows)
    monkeypatch.setattr(nearest, "FEW", 10)
    monkeypatch.setattr(nearest, "RESCORED", 50)
    monkeypatch.setattr("holdfast.store.quantization.LEAST", 500)
    for number in range(100):
        hits = store.read().nearest(TENANT, MODEL, rows[number], 2)
        assert [hit.seq for hit in hits] == [number + 1, 3_001 + number]
        only = np.arange(3_001, 3_101) if number % 2 else np.arange(50, 3_101)
        allowed = store.read().nearest(TENANT, MODEL, rows[number], 1, only)
        want = 3_001 + number if number % 2 or number + 1 < 50 else number + 1
        assert [hit.seq for hit in allowed] == [want]


@settings(max_examples=60)
@given(
    st.integers(0, 2**32), st.integers(1, 300), st.integers(1, 200), st.integers(1, 60), st.booleans(), st.booleans()
)
def test_when_all_codes_are_ranked_none_is_lost(
    seed: int, rows: int, dims: int, count: int, some: bool, ascending: bool
) -> None:
    numbers = random_units(rows, seed, dims)
    seqs = np.random.default_rng(seed).permutation(rows * 3)[:rows].astype(np.int64)
    if ascending:
        seqs.sort()
    table = CodeTable(dims)
    for part in np.array_split(np.arange(rows), 3):
        table.append(seqs[part], code_of(numbers[part]))
    allowed = seqs[::2] if some else None
    got = table.nearest(numbers[0], count, allowed).tolist()
    assert len(set(got)) == len(got) == min(count, len(seqs[::2]) if some else rows)
    assert set(got) <= set(seqs[::2].tolist() if some else seqs.tolist())


@pytest.mark.parametrize("rows", [1, 2, 999, 2_600])
def test_two_threads_find_what_one_does(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    numbers = random_units(rows, 8)
    table = CodeTable(DIMS)
    table.append(np.arange(1, rows + 1), code_of(numbers))
    alone = [table.nearest(one, 40).tolist() for one in numbers[:50]]
    monkeypatch.setattr("holdfast.store.quantization.SHARED_FROM", 0)
    assert [table.nearest(one, 40).tolist() for one in numbers[:50]] == alone


def test_each_of_two_threads_sifts_its_own_half(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = random_units(2_600, 9)
    table = CodeTable(DIMS)
    table.append(np.arange(1, 2_601), code_of(numbers))
    for name, value in (("SHARED_FROM", 0), ("LEAST", 50), ("SIFTED", 0.01)):
        monkeypatch.setattr(quantization, name, value)
    assert [int(table.nearest(one, 2)[0]) for one in numbers] == list(range(1, 2_601))


@given(st.lists(st.integers(0, 200), min_size=1), st.lists(st.integers(-5, 400)), st.booleans())
def test_the_allowed_are_found_where_they_stand(held: list[int], allowed: list[int], ascending: bool) -> None:
    seqs = np.array(sorted(held) if ascending else held, dtype=np.int64)
    wanted = np.array(allowed, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(quantization, "FEW_ALLOWED", 1_000.0)
        got = quantization._places(seqs, wanted, ascending)
    assert got.tolist() == [place for place, seq in enumerate(seqs.tolist()) if seq in allowed]


@given(st.lists(st.integers(0, 255), min_size=1, max_size=400), st.integers(1, 400))
def test_the_smallest_are_picked_and_of_equals_the_newer(apart: list[int], count: int) -> None:
    got = quantization._smallest(np.arange(len(apart)), np.array(apart, dtype=np.uint16), min(count, len(apart)))
    want = sorted(range(len(apart)), key=lambda place: (apart[place], -place))[:count]
    assert sorted(got.tolist()) == sorted(want)


def test_a_question_about_something_else_altogether_finds_what_is_least_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is near, so the signs differ nearly as often everywhere: those of small numbers must not count."""
    monkeypatch.setattr(quantization, "LEAST", 1)
    rows, queries = random_units(20_000, 5, 384), random_units(20, 6, 384)
    table = CodeTable(384)
    table.append(np.arange(len(rows)), code_of(rows))
    found = 0
    for query in queries:
        cosines = rows @ query
        near = table.nearest(query, 150)
        found += len(set(near[np.argsort(-cosines[near])[:10]].tolist()) & set(np.argsort(-cosines)[:10].tolist()))
    assert found >= 0.97 * 10 * len(queries)


def test_codes_rank_nearly_as_vectors_do() -> None:
    """Four bits a number: of 2,000 vectors the nearest by code are the nearest but for a few hundredths."""
    rows, query = random_units(2_000, 3, 384), random_units(1, 4, 384)[0]
    table = CodeTable(384)
    table.append(np.arange(2_000), code_of(rows))
    cosines = rows @ query
    got = cosines[table.nearest(query, 100)]
    best = np.sort(cosines)[::-1][:100]
    assert got.mean() > best.mean() - 0.005
    assert got.min() > best.min() - 0.03


@dataclass(frozen=True)
class EachOf:
    """Candidates of which one in so many meets the conditions."""

    number: int

    def counted(self, seqs: Sequence[int]) -> dict[int, WordCount]:
        return {seq: WordCount(0, {}) for seq in seqs}

    def meeting(self, seqs: Sequence[int]) -> set[int]:
        return {seq for seq in seqs if seq % self.number == 0}

    def complete(self, longest: int, most: int) -> list[int]:
        return []


def test_only_what_meets_the_conditions_is_found_however_near_the_others_are(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "RESCORED", 4)
    rows = random_units(400, 5)
    put_many(store, rows)

    hits = store.read().nearest(TENANT, MODEL, rows[0], 10, among=EachOf(3))
    best = [seq for seq in (np.argsort(-(rows @ rows[0])) + 1).tolist() if seq % 3 == 0][:10]
    assert [hit.seq for hit in hits][:5] == best[:5]
    assert all(hit.seq % 3 == 0 for hit in hits)
    assert len(hits) == 10


# Records in several parts


def parts_of(seq: int) -> Any:
    """One to seven rows, by the number of the record."""
    return random_units(1 + seq % 7, seq)


def nearest_part(seqs: Sequence[int], query: Any) -> dict[int, float]:
    rounded = {seq: parts_of(seq).astype("<f2").astype(float) for seq in seqs}
    return {seq: float((rows @ query).max() - luck(np.array(len(rows)))) for seq, rows in rounded.items()}


def test_many_parts_are_no_advantage_by_their_number_alone() -> None:
    """Of parts that have nothing to do with the question, the nearest is no nearer than a single one."""
    spread = np.random.default_rng(3).standard_normal((2_000, 32)) * PARTS_SPREAD
    single = spread[:, 0].mean()
    for parts in (2, 5, 32):
        assert (spread[:, :parts].max(axis=1) - luck(np.array(parts))).mean() == pytest.approx(single, abs=0.04)
    assert luck(np.array([1])).tolist() == [0]


@pytest.fixture
def in_parts(store: Store) -> list[int]:
    seqs = [add(store, MEMORIES, f"m{number}", content=f"{number}").seq for number in range(60)]
    assert follow(store, numbers=parts_of) == 60
    return seqs


@pytest.mark.parametrize("few", [0, 1_000], ids=["by codes", "one by one"])
def test_a_record_is_as_near_as_its_nearest_part(
    store: Store, in_parts: list[int], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "FEW", few)
    some = in_parts[::3]
    for query in random_units(20, 99):
        for allowed in (None, some):
            exact = nearest_part(allowed or in_parts, query)
            only = None if allowed is None else np.array(allowed)
            hits = store.read().nearest(TENANT, MODEL, query, 12, only)
            assert [hit.seq for hit in hits] == sorted(exact, key=lambda seq: -exact[seq])[:12]
            assert [hit.cosine for hit in hits] == pytest.approx(sorted(exact.values(), reverse=True)[:12])


def test_every_part_leads_to_its_record_and_none_after_it_is_gone(place: Place) -> None:
    store = place.open()
    seqs = [add(store, MEMORIES, f"m{number}", content=f"{number}").seq for number in range(30)]
    follow(store, numbers=parts_of)
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "m4"))
    for _ in range(2):
        for seq in seqs:
            firsts = [store.read().nearest(TENANT, MODEL, part, 1)[0].seq for part in parts_of(seq)]
            assert all(first != seq if seq == seqs[4] else first == seq for first in firsts)
        assert store.read().with_vector(TENANT, MODEL) == 29
        assert store.verify() == []
        store = place.reopen()


def test_a_record_of_many_near_parts_leaves_room_for_the_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "RESCORED", 10)
    centre = random_units(1, 777)[0]
    seqs = [add(store, MEMORIES, f"m{number}", content=f"{number}").seq for number in range(20)]

    def numbers(seq: int) -> Any:
        near = centre + (0.01 if seq == seqs[0] else 1.5) * random_units(150 if seq == seqs[0] else 1, seq)
        return near / np.linalg.norm(near, axis=1, keepdims=True)

    follow(store, numbers=numbers)
    hits = store.read().nearest(TENANT, MODEL, centre, 8)
    assert hits[0].seq == seqs[0]
    assert len({hit.seq for hit in hits}) == 8
    assert [hit.seq for hit in store.read().nearest(TENANT, MODEL, centre, 8, among=EachOf(1))] == [
        hit.seq for hit in hits
    ]


def test_a_text_that_changes_loses_all_its_parts(store: Store, in_parts: list[int]) -> None:
    record = store.read().get(MEMORIES, TENANT, "m5")
    store.write(lambda tx: tx.replace(MEMORIES, dataclasses.replace(record, content="another text")))
    for part in parts_of(in_parts[5]):
        assert in_parts[5] not in [hit.seq for hit in store.read().nearest(TENANT, MODEL, part, 60)]
    assert follow(store, numbers=lambda seq: parts_of(seq + 1_000)) == 1
    hits = [store.read().nearest(TENANT, MODEL, part, 1)[0].seq for part in parts_of(in_parts[5] + 1_000)]
    assert set(hits) == {in_parts[5]}
    assert store.verify() == []


def changed_behind_its_back(place: Place, sql: str) -> Store:
    """A store of eight records in parts, opened after the change."""
    store = place.open()
    for number in range(8):
        add(store, MEMORIES, f"m{number}", content=f"{number}")
    follow(store, numbers=parts_of)
    place.close()
    db = apsw.Connection(str(place.path))
    db.execute(sql)
    db.close()
    return place.open()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE vectors SET vector = substr(vector, 1, length(vector) - 140) WHERE seq = 6",
        "UPDATE vectors SET vector = CAST(vector || substr(vector, 1, 140) AS BLOB) WHERE seq = 6",
        "UPDATE vectors SET vector = x'' WHERE seq = 6",
        "UPDATE vector_spaces SET dims = 35",
        "UPDATE vector_spaces SET dims = 0",
        "UPDATE vector_spaces SET dims = -1",
    ],
    ids=["a part less", "a part more", "no part", "parts of another length", "of no length", "of less than none"],
)
@pytest.mark.embedded
def test_a_lost_or_added_part_is_found_and_mended(place: Place, sql: str) -> None:
    store = changed_behind_its_back(place, sql)
    assert store.verify() != []
    store.repair_index()
    assert store.verify() == []
    store.write(lambda tx: tx.follow_model(MODEL))
    while (missing := store.read().missing(MODEL, 100)) is not None:
        store.write(lambda tx, missing=missing: tx.queue(MODEL, missing))
    follow(store, numbers=parts_of)
    assert [store.read().nearest(TENANT, MODEL, parts_of(seq)[-1], 1)[0].seq for seq in range(1, 9)] == [*range(1, 9)]
    assert store.verify() == []


@pytest.mark.parametrize("change", ["substr(vector, 3)", "x''", "CAST(vector || x'00' AS BLOB)"])
@pytest.mark.embedded
def test_a_search_that_meets_a_damaged_vector_says_so(place: Place, change: str) -> None:
    store = changed_behind_its_back(place, f"UPDATE vectors SET vector = {change} WHERE seq = 6")
    with pytest.raises(DataDamaged):
        found(store, 2)


@pytest.mark.embedded
def test_codes_of_long_records_that_are_gone_leave_the_memory_in_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.store.sqlite.vectors.codes.GONE", 2)
    records = [add(store, MEMORIES, f"m{number}", content=f"{number}") for number in range(20)]
    held, parts = store._codes, 30  # type: ignore[attr-defined]
    for time in range(6):
        for one in records:
            new = dataclasses.replace(one, content=f"{one.content} {time}")
            store.write(lambda tx, new=new: tx.replace(MEMORIES, new))
        follow(store, numbers=lambda seq: random_units(parts, seq))
        found(store, records[0].seq)  # this one notices how many are gone
        found(store, records[0].seq)
        assert len(held.of(1, DIMS)) == parts * len(records)


# Following the rows


def test_a_deleted_record_is_never_found_again(store: Store, few: list[int]) -> None:
    assert few[0] in found(store, few[0])
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "m0"))
    assert few[0] not in found(store, few[0], limit=8)
    assert len(found(store, few[0], limit=8)) == 7
    assert store.read().pending() == 0
    assert store.verify() == []


def test_when_most_nearest_codes_are_of_records_that_are_gone_more_are_looked_at(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "RESCORED", 8)
    seqs = [add(store, MEMORIES, f"m{number}").seq for number in range(60)]
    centre = random_units(1, 7)[0]

    def numbers(seq: int) -> Any:
        near = centre + (0.01 if seq < seqs[40] else 0.6) * vector_of(seq)
        return near / np.linalg.norm(near)

    follow(store, numbers=numbers)
    store.read().nearest(TENANT, MODEL, centre, 2)  # the codes are in memory from here on
    for number in range(40):
        store.write(lambda tx, number=number: tx.delete(MEMORIES, TENANT, f"m{number}"))
    hits = store.read().nearest(TENANT, MODEL, centre, 2)
    assert len(hits) == 2
    assert all(hit.seq >= seqs[40] for hit in hits)


@pytest.mark.embedded
def test_codes_of_records_that_are_gone_leave_the_memory_in_time(
    store: Store, few: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.store.sqlite.vectors.codes.GONE", 2)
    held = store._codes  # type: ignore[attr-defined]
    assert len(found(store, few[0], limit=8)) == len(held.of(1, DIMS)) == 8
    for number in range(4):
        store.write(lambda tx, number=number: tx.delete(MEMORIES, TENANT, f"m{number}"))
        assert sorted(found(store, few[0], limit=8)) == few[number + 1 :]
    assert len(held.of(1, DIMS)) < 8


def test_a_write_that_is_rolled_back_changes_no_search(store: Store, few: list[int]) -> None:
    class Refused(Exception): ...

    before = found(store, few[0], limit=9)

    def job(tx: Tx) -> None:
        tx.delete(MEMORIES, TENANT, "m0")
        tx.add(MEMORIES, sample(MEMORIES, "new", tx.next_seq(TENANT)))
        waiting = tx.index_work(5)
        tx.put_vectors(MODEL, [MadeVector(one, b"0" * 16, vector_of(few[0])[None]) for one in waiting])
        raise Refused

    with pytest.raises(Refused):
        store.write(job)
    assert found(store, few[0], limit=9) == before
    assert store.verify() == []


def test_the_same_text_keeps_its_vector_and_another_loses_it(store: Store) -> None:
    kept, changed = add(store, MEMORIES, "kept"), add(store, MEMORIES, "changed")
    follow(store)
    store.write(lambda tx: tx.replace(MEMORIES, dataclasses.replace(kept, latest=False, strength=0.9)))
    store.write(lambda tx: tx.replace(MEMORIES, dataclasses.replace(changed, content="another text")))
    assert found(store, changed.seq) == [kept.seq]
    assert [one.seq for one in store.read().index_work(5)] == [changed.seq]
    assert follow(store) == 1
    assert sorted(found(store, changed.seq)) == [kept.seq, changed.seq]
    assert store.verify() == []


def test_a_vector_of_a_text_that_changed_meanwhile_is_not_taken(store: Store) -> None:
    record = add(store, MEMORIES)
    (waiting,) = store.read().index_work(5)
    made = MadeVector(waiting, text_hash(TENANT, MODEL, passage(record)), vector_of(1)[None])
    store.write(lambda tx: tx.replace(MEMORIES, dataclasses.replace(record, content="newer")))
    assert store.write(lambda tx: tx.put_vectors(MODEL, [made])) == 0
    assert store.read().pending() == 1
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "one"))
    assert store.write(lambda tx: tx.put_vectors(MODEL, [made])) == 0
    assert store.read().pending() == 0
    assert store.verify() == []


def test_a_vector_made_before_is_known_by_its_text(store: Store, few: list[int]) -> None:
    record = store.read().get(MEMORIES, TENANT, "m3")
    hash, strange = text_hash(TENANT, MODEL, passage(record)), text_hash(OTHER, MODEL, passage(record))
    known = store.read().known_vectors([hash, strange, hash])
    assert list(known) == [hash]
    assert known[hash] == pytest.approx(vector_of(few[3])[None], abs=1e-3)


def test_everything_is_found_after_reopening(place: Place) -> None:
    store = place.open()
    seqs = [add(store, MEMORIES, f"m{number}").seq for number in range(5)]
    follow(store)
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "m1"))
    waiting = add(store, OBSERVATIONS, "waits").seq
    store = place.reopen()
    assert sorted(found(store, seqs[0])) == [seqs[0], *seqs[2:]]
    assert [one.seq for one in store.read().index_work(5)] == [waiting]
    assert follow(store) == 1
    assert found(store, waiting, limit=1) == [waiting]
    assert store.verify() == []


def test_a_moment_that_is_held_still_shows_its_own_records(store: Store, few: list[int]) -> None:
    with store.snapshot() as then:
        late = add(store, MEMORIES, "late").seq
        follow(store)
        hits = [hit.seq for hit in then.nearest(TENANT, MODEL, vector_of(late), 20)]
        assert sorted(hits) == few
    assert late in found(store, late)


def test_readers_find_whole_answers_while_vectors_are_added_and_removed(store: Store) -> None:
    """The first search reads the codes while they change; none is lost between."""
    rows = random_units(40 * CHUNK // 8, 3)
    put_many(store, rows[:CHUNK])
    wrong: list[Any] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            hits = store.read().nearest(TENANT, MODEL, rows[5], 1)
            if [hit.seq for hit in hits] != [6]:
                wrong.append(hits)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for start in range(CHUNK, len(rows), 100):
        put_many(store, rows[start : start + 100], start + 1)
        if start % 500 == 0:
            store._codes.forget()  # type: ignore[attr-defined]
    done.set()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert wrong == []
    for number in range(0, len(rows), 97):
        assert [hit.seq for hit in store.read().nearest(TENANT, MODEL, rows[number], 1)] == [number + 1]


# Which rows have none


def test_rows_without_a_vector_of_the_model_are_found_by_ranges(store: Store) -> None:
    records = [add(store, (MEMORIES, OBSERVATIONS)[number % 2], f"r{number}") for number in range(9)]
    add(store, NOTES)
    follow(store)
    assert store.read().missing(MODEL, 2) is None
    assert store.read().followed_model() is None
    store.write(lambda tx: tx.follow_model("model-2"))
    assert store.read().followed_model() == "model-2"
    seen, ranges = [], 0
    while (missing := store.read().missing("model-2", 2)) is not None:
        ranges += 1
        seen += [seq for seq, _ in missing.rows]
        assert len(missing.rows) <= 2
        store.write(lambda tx, missing=missing: tx.queue("model-2", missing))
    assert sorted(seen) == [record.seq for record in records]
    assert ranges >= 5
    assert store.read().pending() == 9
    assert follow(store, "model-2") == 9
    assert found(store, records[0].seq) == []
    assert sorted(found(store, records[0].seq, model="model-2")) == [record.seq for record in records]
    assert (store.read().with_vector(TENANT, MODEL), store.read().with_vector(TENANT, "model-2")) == (0, 9)
    assert store.verify() == []
    store.write(lambda tx: tx.follow_model(None))
    assert store.read().followed_model() is None


def test_how_many_have_their_vector_is_told(store: Store, few: list[int]) -> None:
    add(store, MEMORIES, "waits")
    assert store.read().with_vector(TENANT, MODEL) == 8
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "m4"))
    assert store.read().with_vector(TENANT, MODEL) == 7
    assert store.read().with_vector(OTHER, MODEL) == 0


# What is embedded


@each(
    "title, content, text",
    [
        ("Use tabs", "Use tabs in Go", "Use tabs in Go"),
        ("Use…", "Use tabs in Go", "Use tabs in Go"),
        ("Style", "Use tabs in Go", "Style\nUse tabs in Go"),
        ("", "Use tabs", "Use tabs"),
        ("a", "a" * (PASSAGE_CHARS + 1), "a" * PASSAGE_CHARS),
    ],
)
def test_a_memorys_title_is_embedded_only_where_it_adds_something(title: str, content: str, text: str) -> None:
    assert passage(sample(MEMORIES, title=title, content=content, **SILENT)) == text


def test_what_says_when_to_recall_a_memory_is_embedded_with_it() -> None:
    about = {**SILENT, "disclosure": "when writing Go", "entities": ("Go",), "topics": ("style", "tabs")}
    assert (
        passage(sample(MEMORIES, title="", content="Use tabs", **about)) == "Use tabs\nwhen writing Go\nGo, style, tabs"
    )


def test_an_observation_is_embedded_with_its_narrative_and_facts() -> None:
    seen = sample(OBSERVATIONS, title="Ran tests", narrative="All passed", facts=("12 tests", "3 s"))
    assert passage(seen) == "Ran tests\nAll passed\n12 tests\n3 s"


# Damage


@pytest.fixture
def damaged(place: Place) -> Any:
    """A store with vectors; damage(sql) changes it behind its back and opens it again."""
    store = place.open()
    for number in range(6):
        add(store, MEMORIES, f"m{number}")
    follow(store)
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "m5"))
    place.close()

    def damage(sql: str) -> Store:
        db = apsw.Connection(str(place.path))
        db.execute(sql)
        db.close()
        return place.open()

    return damage


DAMAGES = {
    "a vector without a row": "INSERT INTO vectors SELECT 900, space, hash, vector, checksum FROM vectors LIMIT 1",
    "a changed vector": "UPDATE vectors SET vector = CAST(x'00' || substr(vector, 2) AS BLOB) WHERE seq = 2",
    "a shortened vector": "UPDATE vectors SET vector = substr(vector, 3) WHERE seq = 2",
    "another text's hash": "UPDATE vectors SET hash = zeroblob(16) WHERE seq = 2",
    "exchanged vectors": "UPDATE vectors SET vector = (SELECT vector FROM vectors WHERE seq = 3) WHERE seq = 2",
    "a vector of no space": "UPDATE vectors SET space = 7 WHERE seq = 2",
    "another model's name": "UPDATE vector_spaces SET model = 'model-2'",
    "another tenant's name": "UPDATE vector_spaces SET tenant = 'acme2'",
    "another length": "UPDATE vector_spaces SET dims = 71",
    "a changed code": "UPDATE vector_codes SET codes = CAST(x'ff' || substr(codes, 2) AS BLOB)",
    "a changed number": "UPDATE vector_codes SET seqs = CAST(x'09' || substr(seqs, 2) AS BLOB)",
    "codes of another chunk": "UPDATE vector_codes SET chunk = 3",
    "a cut code": "UPDATE vector_codes SET codes = substr(codes, 2)",
    "codes of another size": "UPDATE vector_codes SET codes = zeroblob(length(seqs) / 8 * 32)",
    "a cut number": "UPDATE vector_codes SET seqs = substr(seqs, 2)",
    "no numbers": "UPDATE vector_codes SET seqs = x''",
    "a wrong count": "UPDATE vector_codes SET live = live + 1",
    "lost codes": "DELETE FROM vector_codes",
    "codes of no space": "INSERT INTO vector_codes SELECT 7, chunk, live, seqs, codes FROM vector_codes",
    "a lost vector": "DELETE FROM vectors WHERE seq = 2",
}


@pytest.mark.parametrize("sql", DAMAGES.values(), ids=list(DAMAGES))
@pytest.mark.embedded
def test_damage_to_vectors_is_found_and_mended(damaged: Any, sql: str) -> None:
    store = damaged(sql)
    findings = store.verify()
    assert findings != []
    assert {one.table for one in findings} <= {"vectors", "vector_codes"}
    store.repair_index()
    assert store.verify() == []
    store.write(lambda tx: tx.follow_model(MODEL))
    while (missing := store.read().missing(MODEL, 100)) is not None:
        store.write(lambda tx, missing=missing: tx.queue(MODEL, missing))
    follow(store)
    assert sorted(found(store, 2)) == [1, 2, 3, 4, 5]
    assert store.verify() == []


@pytest.mark.embedded
def test_a_row_that_was_looked_through_and_lost_its_vector_is_found(place: Place) -> None:
    store = place.open()
    store.write(lambda tx: tx.follow_model(MODEL))
    while (missing := store.read().missing(MODEL, 100)) is not None:
        store.write(lambda tx, missing=missing: tx.queue(MODEL, missing))
    add(store, MEMORIES)
    assert store.verify() == []
    place.close()
    db = apsw.Connection(str(place.path))
    db.execute("DELETE FROM outbox")
    db.close()
    assert [one.table for one in place.open().verify()] == ["memories"]


@pytest.mark.parametrize("name", ["a cut code", "codes of another size"])
@pytest.mark.embedded
def test_a_search_over_damaged_codes_says_so(damaged: Any, name: str) -> None:
    store = damaged(DAMAGES[name])
    with pytest.raises(DataDamaged):
        found(store, 2)
    assert store.read().vectors(TENANT, MODEL, DIMS, [2]).cosines(vector_of(2)) == {2: pytest.approx(1, abs=2e-3)}


@pytest.mark.embedded
def test_what_is_forgotten_leaves_no_trace_of_its_vector(place: Place) -> None:
    store = place.open()
    add(store, MEMORIES, "kept")
    gone = add(store, MEMORIES, "gone").seq
    follow(store)
    half = vector_of(gone).astype("<f2").tobytes()
    code = code_of(np.frombuffer(half, dtype="<f2")[None, :]).astype("<u8").tobytes()
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "gone"))
    place.close()
    data = Path(place.path).read_bytes()
    assert half not in data
    assert code not in data


def answers(store: Store) -> list[Any]:
    """Everything that vectors say."""
    reader = store.read()
    said: list[Any] = [reader.with_vector(TENANT, MODEL), reader.followed_model()]
    for seq in range(1, 40):
        said += [
            reader.nearest(TENANT, MODEL, vector_of(seq), 50),
            reader.vectors(TENANT, MODEL, DIMS, [seq]).cosines(vector_of(seq)),
        ]
    return said


@pytest.mark.embedded
def test_a_changed_bit_of_vectors_or_codes_is_found_or_changes_nothing(place: Place) -> None:
    store = place.open()
    store.write(lambda tx: tx.follow_model(MODEL))
    for number in range(30):
        add(store, MEMORIES, f"m{number}", content=f"{number}")
    follow(store)
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "m7"))
    stored = store._writer.execute("SELECT codes FROM vector_codes").get  # type: ignore[attr-defined]
    truth = answers(store)
    place.close()
    data = place.path.read_bytes()
    chance = random.Random(8)
    first, begin = data.index(vector_of(1).astype("<f2").tobytes()), data.index(stored[:200])
    flips = [chance.randrange(at // 4096 * 4096, at // 4096 * 4096 + 4096) for at in (first, begin) for _ in range(50)]
    unnoticed = []
    for at in flips:
        damaged = bytearray(data)
        damaged[at] ^= 1 << chance.randrange(8)
        place.path.write_bytes(damaged)
        try:
            store = place.open()
            if not store.verify() and answers(store) != truth:
                unnoticed.append(at)
        except Fault:
            pass
        place.close()
    assert unnoticed == []


def test_codes_of_a_space_that_was_empty_follow_without_being_read_again(quick_folder: Path) -> None:
    store = SqliteStore(quick_folder / "memory.db", lambda event: None)
    opened = list[int]()

    def connect() -> Any:
        opened.append(1)
        return open_reader(quick_folder / "memory.db")

    held = VectorCodes(connect)
    assert len(held.of(1, 16)) == 0
    held.follow([CodeChange(1, np.array([7]), np.ones((1, 2), np.uint64))])
    assert len(held.of(1, 16)) == 1
    assert len(opened) == 1
    store.close()
