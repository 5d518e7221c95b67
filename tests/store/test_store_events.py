"""Events for the broker: one for each write of memory, in its transaction, and never a word of what was written."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from rows import each
from sample_records import OTHER, TENANT, add, any_record, sample
from store_places import Place
from world import NOON, StillClock

from holdfast.core.errors import Conflict
from holdfast.core.times import iso
from holdfast.store.envelope import MOST_BYTES
from holdfast.store.port import Store, Table, Tx
from holdfast.store.rows import KEYS, shape_of
from holdfast.store.tables import (
    AUDIT,
    INSIGHTS,
    LESSONS,
    MEMORIES,
    OBSERVATIONS,
    SESSIONS,
    SLOTS,
    SUMMARIES,
    TABLES,
    TOKENS,
)

TOLD = (MEMORIES, OBSERVATIONS, LESSONS, SLOTS, INSIGHTS, SUMMARIES)
WHEN = iso(NOON)

each_told = pytest.mark.parametrize("table", TOLD, ids=lambda table: table.name)


@pytest.fixture
def telling(place: Place) -> Iterator[Store]:
    """A store whose writes are kept for a broker."""
    place.telling = StillClock(NOON)
    return place.open()


def bodies(store: Store) -> list[dict[str, Any]]:
    return [json.loads(one.body) for one in store.read().dispatches(1_000)]


def changed(record: Any, **changes: Any) -> Any:
    return dataclasses.replace(record, **changes)


def test_the_tables_of_memory_are_told_and_no_others() -> None:
    assert {table.name for table in TABLES if table.told} == {table.name for table in TOLD}


@each("table", TABLES)
def test_every_record_begins_with_its_keys(table: Table[Any]) -> None:
    assert shape_of(table).columns[: len(KEYS)] == KEYS


@each_told
def test_a_new_record_is_told_by_its_key_and_hash(telling: Store, table: Table[Any]) -> None:
    record = add(telling, table, "one")

    (event,) = telling.read().dispatches(10)
    assert (event.tenant, event.agent, event.kind) == (TENANT, record.agent, "mutated")
    body = json.loads(event.body)
    assert len(body["newHash"]) == 64
    assert body == {
        "kind": "mutated",
        "tenant": TENANT,
        "agent": record.agent,
        "scope": table.name,
        "op": "insert",
        "key": "one",
        "oldHash": None,
        "newHash": body["newHash"],
        "seq": record.seq + 1,
        "ts": WHEN,
    }


@each_told
def test_the_hashes_of_one_record_form_a_chain(telling: Store, table: Table[Any]) -> None:
    record = add(telling, table, "one")
    telling.write(lambda tx: tx.replace(table, changed(record, agent="another")))
    telling.write(lambda tx: tx.delete(table, TENANT, "one"))

    made, changed_to, gone = bodies(telling)
    assert [one["op"] for one in (made, changed_to, gone)] == ["insert", "update", "delete"]
    assert made["newHash"] == changed_to["oldHash"] != changed_to["newHash"]
    assert (gone["oldHash"], gone["newHash"]) == (changed_to["newHash"], None)
    assert made["seq"] < changed_to["seq"] < gone["seq"]


@each_told
@settings(max_examples=15)
@given(data=st.data())
def test_what_was_stored_has_the_hash_it_was_told_with(data: st.DataObject, place: Place, table: Table[Any]) -> None:
    """The old hash is made from the row that was read, the new one from the record that was handed in."""
    record = data.draw(any_record(table))  # before a store opens, whose threads may take chances meanwhile
    place.telling = StillClock(NOON)
    store = place.reopen()
    store.write(lambda tx: tx.delete(table, TENANT, "one"))
    store.write(lambda tx: tx.replace(table, changed(record, seq=tx.next_seq(TENANT))))
    store.write(lambda tx: tx.delete(table, TENANT, "one"))

    made, gone = bodies(store)[-2:]
    assert made["newHash"] == gone["oldHash"]


def test_a_record_that_is_stored_again_under_another_number_has_the_same_hash(telling: Store) -> None:
    record = add(telling, LESSONS)
    telling.write(lambda tx: tx.replace(LESSONS, changed(record, seq=tx.next_seq(TENANT))))

    (_, again) = bodies(telling)
    assert again["oldHash"] == again["newHash"]


def test_replacing_what_is_not_there_is_told_as_new(telling: Store) -> None:
    telling.write(lambda tx: tx.replace(SLOTS, sample(SLOTS, "one", tx.next_seq(TENANT))))

    assert [one["op"] for one in bodies(telling)] == ["insert"]


def test_deleting_what_is_not_there_is_not_told(telling: Store) -> None:
    telling.write(lambda tx: tx.delete(MEMORIES, TENANT, "nobody"))

    assert bodies(telling) == []


@pytest.mark.parametrize("table", [SESSIONS, AUDIT, TOKENS], ids=lambda table: table.name)
def test_other_tables_are_not_told(telling: Store, table: Table[Any]) -> None:
    record = add(telling, table)
    telling.write(lambda tx: tx.replace(table, record))
    telling.write(lambda tx: tx.delete(table, TENANT, "one"))

    assert bodies(telling) == []


@each_told
def test_no_text_of_a_record_is_told(telling: Store, table: Table[Any]) -> None:
    add(telling, table, "one")
    telling.write(lambda tx: tx.delete(table, TENANT, "one"))

    told = " ".join(one.body for one in telling.read().dispatches(10))
    record = sample(table, "one")
    shown = {"tenant", "id", "agent"}
    texts = [
        getattr(record, field.name)
        for field in dataclasses.fields(record)
        if field.name not in shown and isinstance(getattr(record, field.name), str)
    ]
    assert len(texts) >= 3
    assert [text for text in texts if text in told] == []


def test_without_a_broker_nothing_is_kept(place: Place) -> None:
    store = place.open()
    add(store, MEMORIES)
    store.write(lambda tx: tx.dispatch("created", TENANT, None, {}))

    assert store.read().dispatches(10) == []
    assert store.read().undispatched() == 0


def test_an_event_goes_with_the_write_that_failed(telling: Store) -> None:
    def job(tx: Tx) -> None:
        tx.add(MEMORIES, sample(MEMORIES, "one", tx.next_seq(TENANT)))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        telling.write(job)

    assert bodies(telling) == []


def test_a_refused_replacement_is_not_told(telling: Store) -> None:
    """Its seq is another record's: the old record stays, and so does what was told of it."""
    first = add(telling, LESSONS, "one")
    second = add(telling, LESSONS, "two")

    with pytest.raises(Conflict):
        telling.write(lambda tx: tx.replace(LESSONS, changed(first, seq=second.seq)))

    assert [one["key"] for one in bodies(telling)] == ["one", "two"]


def test_a_write_that_failed_inside_another_is_not_told(telling: Store) -> None:
    """Whether or not the write around it may be run again."""

    def failing(tx: Tx) -> None:
        tx.add(MEMORIES, sample(MEMORIES, "failed", tx.next_seq(TENANT)))
        raise ZeroDivisionError

    for again in (False, True):

        def outer(tx: Tx, name: str = f"kept-{again}") -> None:
            add(telling, MEMORIES, name)
            with pytest.raises(ZeroDivisionError):
                telling.write(failing)

        telling.write(outer, again=again)

    assert [one["key"] for one in bodies(telling)] == ["kept-False", "kept-True"]


def test_events_of_all_tenants_wait_in_the_order_of_writes(telling: Store) -> None:
    def work(number: int) -> None:
        for turn in range(20):
            add(telling, OBSERVATIONS, f"{number}-{turn}", tenant=TENANT if number % 2 else OTHER)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    told = bodies(telling)
    assert len(told) == 80
    for tenant in (TENANT, OTHER):
        seqs = [one["seq"] for one in told if one["tenant"] == tenant]
        assert seqs == sorted(seqs)
        assert len(seqs) == 40
    counts = [telling.read().undispatched(tenant) for tenant in (TENANT, OTHER, "nobody", None)]
    assert counts == [40, 40, 0, 80]


def test_what_was_sent_is_dropped_from_the_front(telling: Store) -> None:
    for number in range(5):
        add(telling, MEMORIES, str(number))
    waiting, later = telling.read().dispatches(2), telling.read().dispatches(10)[2:]

    telling.write(lambda tx: tx.dispatched(waiting))

    assert [one["key"] for one in bodies(telling)] == ["2", "3", "4"]
    assert telling.read().undispatched() == 3
    assert telling.read().dispatches(10, after=later[0].place) == later[1:]


def test_events_wait_until_the_store_is_opened_again(place: Place, telling: Store) -> None:
    add(telling, MEMORIES)
    place.telling = None

    assert [one["key"] for one in bodies(place.reopen())] == ["one"]


def test_waiting_events_are_no_damage(telling: Store) -> None:
    add(telling, MEMORIES)

    assert telling.verify() == []


def test_an_event_too_large_for_a_broker_says_only_that_it_happened(telling: Store) -> None:
    telling.write(lambda tx: tx.dispatch("pruned", TENANT, "a", {"removed": ["x" * 100] * 1_000}))
    telling.write(lambda tx: tx.dispatch("pruned", TENANT, "a", {"removed": ["x"]}))

    large, small = telling.read().dispatches(10)
    assert json.loads(large.body) == {"kind": "pruned", "tenant": TENANT, "agent": "a", "ts": WHEN, "cut": True}
    assert json.loads(small.body)["removed"] == ["x"]
    assert len(large.body) < MOST_BYTES


def test_a_body_does_not_say_whose_it_is(telling: Store) -> None:
    telling.write(lambda tx: tx.dispatch("created", TENANT, "a", {"tenant": OTHER, "kind": "x", "agent": "b"}))

    assert bodies(telling) == [{"kind": "created", "tenant": TENANT, "agent": "a", "ts": WHEN}]


def test_another_store_takes_over_what_waits(place: Place, telling: Store, tmp_path_factory: Any) -> None:
    for number in range(3):
        add(telling, MEMORIES, str(number))
    waiting = telling.read().dispatches(10)
    other = Place(place.engine, tmp_path_factory.mktemp("other"))
    heir = other.open()

    heir.write(lambda tx: tx.take_over(waiting))

    assert [changed(one, place=0) for one in heir.read().dispatches(10)] == [changed(one, place=0) for one in waiting]
    other.remove()


def test_the_sizes_of_all_tables_are_known(telling: Store) -> None:
    add(telling, MEMORIES, "one")
    add(telling, MEMORIES, "one", tenant=OTHER)
    add(telling, SLOTS, "two")
    telling.write(lambda tx: tx.delete(SLOTS, TENANT, "two"))

    assert telling.read().sizes() == {"memories": 2}
