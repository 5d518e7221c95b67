"""Every condition means in the store what it means in plain Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings, strategies as st
from sample_records import OTHER, TENANT, TEXTS, add, sample

from holdfast.core.model import Memory
from holdfast.store.port import Condition, Op, Store, Tx, where
from holdfast.store.tables import MEMORIES, NOTES

pytestmark = pytest.mark.quick

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

# Values that meet each other often, so that every condition is both true and false of some records.
WORDS = st.sampled_from(["", "a", "A", "ab", "b", "ß", "日本", "%", "_", "null", "0", "a'b", "🙂"])
NUMBERS = st.sampled_from([-(2**63), -1, 0, 1, 2, 1_700_000_000_000, 2**63 - 1])
REALS = st.sampled_from([-1e300, -0.5, 0.0, 0.1, 1.0, 7.0, 1e300])


def holds(record: Any, condition: Condition) -> bool:
    """The meaning of a condition, as the port's words have it."""
    have, value = getattr(record, condition.column), condition.value
    match condition.op:
        case "=":
            return have is not None and have == value
        case "!=":
            return bool(have != value)
        case "in":
            return have is not None and have in value
        case "is null":
            return have is None
        case "not null":
            return have is not None
        case "has":
            return value in have
        case "any":
            return any(one in have for one in value)
        case "until":
            return have is None or have > value
        case other:
            return have is not None and COMPARE[other](have, value)


def test_the_model_knows_every_operator() -> None:
    known = {"=", "!=", "in", "is null", "not null", "has", "any", "until", *COMPARE}
    assert set(get_args(Op)) == known


COLUMNS: list[tuple[str, st.SearchStrategy[Any]]] = [
    ("id", WORDS),
    ("project", WORDS),
    ("title", WORDS),
    ("valid_to", NUMBERS),
    ("created_at", NUMBERS),
    ("strength", REALS),
    ("latest", st.booleans()),
    ("concepts", WORDS),
    ("seq", st.integers(0, 12)),
]


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    column, values = draw(st.sampled_from(COLUMNS))
    if column == "concepts":
        return draw(
            st.builds(lambda value: Condition(column, "has", value), values)
            | st.builds(lambda some: Condition(column, "any", some), st.lists(values, max_size=3))
        )
    ops = ["=", "!=", "in", "is null", "not null"]
    if column != "latest":
        ops += [*COMPARE, "until"]
    op = draw(st.sampled_from(ops))
    if op in ("is null", "not null"):
        return Condition(column, op)
    return Condition(column, op, draw(st.lists(values, max_size=4)) if op == "in" else draw(values))


@st.composite
def memories(draw: st.DrawFn) -> list[Memory]:
    def one(number: int) -> Memory:
        return sample(
            MEMORIES,
            draw(WORDS) + str(number),
            number + 1,
            project=draw(st.none() | WORDS),
            title=draw(WORDS),
            valid_to=draw(st.none() | NUMBERS),
            created_at=draw(NUMBERS),
            strength=draw(REALS),
            latest=draw(st.booleans()),
            concepts=tuple(draw(st.lists(WORDS, max_size=3))),
        )

    return [one(number) for number in range(draw(st.integers(0, 8)))]


def _moved(condition: Condition, seqs: list[int]) -> Condition:
    """A condition on the place of a record among these, as one on its seq: no seq is ever given twice."""
    if condition.column != "seq" or condition.op in ("is null", "not null"):
        return condition

    def seq(place: int) -> int:
        return seqs[place - 1] if 0 < place <= len(seqs) else place + max(seqs, default=0) if place else 0

    value = [seq(one) for one in condition.value] if condition.op == "in" else seq(condition.value)
    return replace(condition, value=value)


@given(records=memories(), asked=st.lists(conditions(), max_size=3))
@settings(max_examples=150)
def test_find_each_and_count_agree_with_plain_python(
    store: Store, records: list[Memory], asked: list[Condition]
) -> None:
    def refill(tx: Tx) -> list[Memory]:
        for old in tx.find(MEMORIES, TENANT):
            tx.delete(MEMORIES, TENANT, old.id)
        stored = [replace(record, seq=tx.next_seq(TENANT)) for record in records]
        for record in stored:
            tx.add(MEMORIES, record)
        return stored

    records = store.write(refill)
    asked = [_moved(one, [record.seq for record in records]) for one in asked]
    reader = store.read()
    wanted = [one for one in records if all(holds(one, condition) for condition in asked)]
    assert reader.find(MEMORIES, TENANT, *asked, order="seq") == wanted
    assert list(reader.each(MEMORIES, TENANT, *asked)) == wanted
    assert reader.count(MEMORIES, TENANT, *asked) == len(wanted)
    assert reader.find(MEMORIES, TENANT, *asked, order="-seq", limit=3, offset=1) == wanted[::-1][1:4]
    assert store.write(lambda tx: tx.find(MEMORIES, TENANT, *asked, order="seq")) == wanted


@given(text=TEXTS, other=TEXTS)
@settings(max_examples=100)
def test_equal_and_has_compare_texts_exactly(store: Store, text: str, other: str) -> None:
    record = sample(MEMORIES, title=text, concepts=("x", text))
    store.write(lambda tx: tx.replace(MEMORIES, record))
    reader = store.read()
    assert reader.count(MEMORIES, TENANT, Condition("title", "=", text)) == 1
    assert reader.count(MEMORIES, TENANT, Condition("concepts", "has", text)) == 1
    assert reader.count(MEMORIES, TENANT, Condition("title", "=", other)) == (text == other)
    assert reader.count(MEMORIES, TENANT, Condition("concepts", "has", other)) == (other in ("x", text))


def test_conditions_bound_a_word_search_before_its_limit(store: Store) -> None:
    for number in range(30):
        add(store, MEMORIES, f"m{number}", title="slate " * (1 + number % 3), project="even" if number % 2 else "odd")
    bound = (Condition("project", "=", "odd"),)
    hits = store.read().words(MEMORIES, TENANT, ("slate",), bound, 15).hits
    assert len(hits) == 15
    assert {hit.seq for hit in hits} == {one.seq for one in store.read().find(MEMORIES, TENANT, *bound)}


def test_several_values_of_a_column_bound_every_kind_of_search(store: Store) -> None:
    for number in range(30):
        add(store, MEMORIES, f"m{number}", title="slate", project=("a", "b", "c")[number % 3])
    bound = (Condition("project", "in", ("a", "b")),)
    reader = store.read()
    wanted = sorted(one.seq for one in reader.find(MEMORIES, TENANT, *bound))
    hits = reader.words(MEMORIES, TENANT, ("slate",), bound, 100)
    within = reader.within(MEMORIES, TENANT, bound, 100)
    assert len(wanted) == 20
    assert sorted(hit.seq for hit in hits.hits) == wanted
    assert hits.among.meeting(range(1, 100)) == set(wanted)
    assert within is not None
    assert within.tolist() == wanted
    assert reader.newest(MEMORIES, TENANT, 7, *bound).tolist() == wanted[-7:]
    every = [one.seq for one in reader.find(MEMORIES, TENANT)]
    assert sorted(seq for (seq,) in reader.values(MEMORIES, TENANT, ("seq",), every, *bound)) == wanted


def test_where_leaves_out_what_is_not_asked_for(store: Store) -> None:
    add(store, NOTES, "a", kind="x")
    add(store, NOTES, "b", kind="y")
    assert store.read().count(NOTES, TENANT, *where(kind="x", id=None)) == 1
    assert store.read().count(NOTES, TENANT, *where(kind=None)) == 2
    assert where(kind="") == (Condition("kind", "=", ""),)


def test_in_takes_many_thousand_values(store: Store) -> None:
    record = add(store, NOTES)
    asked = Condition("seq", "in", [record.seq, *range(1_000, 21_000)])
    assert store.read().find(NOTES, TENANT, asked) == [record]


def test_a_question_the_store_cannot_carry_out_does_not_stop_later_writes(store: Store) -> None:
    """One bad argument in one job must not be taken for a failing disk."""
    unanswerable = Condition("id", "=", object())  # nothing that can be bound

    def job(tx: Tx) -> None:
        tx.find(NOTES, TENANT, unanswerable)

    add(store, NOTES)
    with pytest.raises(Exception):  # noqa: B017, PT011 - which one is not the point here
        store.write(job)
    assert store.failure() is None
    assert add(store, NOTES, "two").id == "two"


@pytest.mark.parametrize("by", [TENANT, OTHER])
def test_naming_records_by_their_place_stays_inside_the_tenant(store: Store, by: str) -> None:
    mine, theirs = add(store, NOTES), add(store, NOTES, tenant=OTHER)
    found = store.read().find(NOTES, by, Condition("seq", "in", [mine.seq, theirs.seq]))
    assert [one.tenant for one in found] == [by]
