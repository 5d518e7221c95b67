"""What every store owes its callers: records come back as they were given, to their own tenant, in order."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from sample_records import OTHER, TENANT, add, any_record, columns_of, sample, table_named

from holdfast.core.errors import Conflict
from holdfast.store.port import Condition, Store, Table, where
from holdfast.store.tables import MEMORIES, NOTES, OBSERVATIONS, SESSIONS, TABLES, TOKENS

pytestmark = pytest.mark.quick

every_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
same_store = settings(max_examples=15)


@every_table
def test_a_record_comes_back_as_it_was_added(store: Store, table: Table[Any]) -> None:
    record = add(store, table)
    assert store.read().get(table, TENANT, "one") == record


@every_table
@given(data=st.data())
@same_store
def test_any_value_of_a_columns_type_comes_back_unchanged(store: Store, table: Table[Any], data: st.DataObject) -> None:
    record = data.draw(any_record(table))
    store.write(lambda tx: tx.replace(table, record))
    assert store.read().get(table, TENANT, "one") == record
    assert store.read().find(table, TENANT) == [record]
    assert list(store.read().each(table, TENANT)) == [record]


@every_table
def test_an_optional_column_keeps_being_empty(store: Store, table: Table[Any]) -> None:
    empty = {name: None for name, (_, optional) in columns_of(table).items() if optional}
    record = add(store, table, **empty)
    assert store.read().get(table, TENANT, "one") == record


@every_table
def test_an_id_can_be_taken_once_per_tenant(store: Store, table: Table[Any]) -> None:
    first = add(store, table)
    with pytest.raises(Conflict):
        add(store, table)
    assert add(store, table, tenant=OTHER).tenant == OTHER
    assert store.read().find(table, TENANT) == [first]


def test_a_place_in_the_order_can_be_taken_once(store: Store) -> None:
    first = add(store, NOTES)
    with pytest.raises(Conflict):
        store.write(lambda tx: tx.add(NOTES, sample(NOTES, "two", first.seq)))
    assert store.read().count(NOTES, TENANT) == 1


@every_table
def test_replace_stores_over_the_record_of_that_id(store: Store, table: Table[Any]) -> None:
    first = add(store, table)
    changed = sample(table, "one", first.seq, **{name: "changed" for name in _plain_texts(table)[:1]})
    store.write(lambda tx: tx.replace(table, changed))
    assert store.read().find(table, TENANT) == [changed]


def _plain_texts(table: Table[Any]) -> list[str]:
    return [name for name, (plain, _) in columns_of(table).items() if plain is str and name not in ("tenant", "id")]


def test_replace_stores_a_record_that_was_not_there(store: Store) -> None:
    record = sample(NOTES)
    store.write(lambda tx: tx.replace(NOTES, record))
    assert store.read().get(NOTES, TENANT, "one") == record


def test_replace_may_give_a_record_a_new_place_in_the_order(store: Store) -> None:
    first = add(store, MEMORIES, content="quartz")
    later = store.write(lambda tx: tx.next_seq(TENANT))
    moved = dataclasses.replace(first, seq=later, content="feldspar")
    store.write(lambda tx: tx.replace(MEMORIES, moved))
    assert store.read().find(MEMORIES, TENANT) == [moved]
    assert store.read().words(MEMORIES, TENANT, ("quartz",), (), 10).hits == []
    assert [hit.seq for hit in store.read().words(MEMORIES, TENANT, ("feldspar",), (), 10).hits] == [later]


@every_table
def test_delete_says_whether_there_was_anything(store: Store, table: Table[Any]) -> None:
    add(store, table)
    assert store.write(lambda tx: tx.delete(table, TENANT, "one")) is True
    assert store.write(lambda tx: tx.delete(table, TENANT, "one")) is False
    assert store.read().get(table, TENANT, "one") is None
    assert store.read().count(table, TENANT) == 0


@pytest.mark.parametrize("table", [MEMORIES, OBSERVATIONS], ids=lambda table: table.name)
def test_a_deleted_records_words_are_gone_too(store: Store, table: Table[Any]) -> None:
    add(store, table, title="obsidian")
    store.write(lambda tx: tx.delete(table, TENANT, "one"))
    assert store.read().words(table, TENANT, ("obsidian",), (), 10).hits == []


@every_table
def test_no_call_of_one_tenant_sees_another_tenants_record(store: Store, table: Table[Any]) -> None:
    add(store, table, **({"title": "granite"} if table.index else {}))
    reader = store.read()
    assert reader.get(table, OTHER, "one") is None
    assert reader.find(table, OTHER) == []
    assert list(reader.each(table, OTHER)) == []
    assert reader.count(table, OTHER) == 0
    assert reader.find(table, OTHER, Condition("seq", "in", list(range(10)))) == []
    assert reader.find(table, OTHER, Condition("id", "=", "one")) == []
    if table.index:
        assert reader.words(table, TENANT, ("granite",), (), 10).hits != []
        assert reader.words(table, OTHER, ("granite",), (), 10).hits == []
        assert reader.words(table, OTHER, ("granite",), (Condition("seq", "in", [1]),), 10).hits == []


@every_table
def test_a_write_of_one_tenant_does_not_touch_anothers_record_of_the_same_id(store: Store, table: Table[Any]) -> None:
    mine, theirs = add(store, table), add(store, table, tenant=OTHER)
    store.write(lambda tx: tx.replace(table, sample(table, "one", theirs.seq, tenant=OTHER)))
    assert store.write(lambda tx: tx.delete(table, OTHER, "one")) is True
    assert store.read().find(table, TENANT) == [mine]


@pytest.mark.parametrize("tenant", ["", "%", "_", "acm", "acme ", "ACME", "' OR 1=1 --", "acme\u200b"])
def test_a_tenant_whose_name_looks_alike_sees_nothing(store: Store, tenant: str) -> None:
    add(store, MEMORIES, title="basalt")
    reader = store.read()
    assert reader.find(MEMORIES, tenant) == []
    assert reader.count(MEMORIES, tenant) == 0
    assert reader.words(MEMORIES, tenant, ("basalt",), (), 10).hits == []


def test_near_duplicates_of_one_tenant_are_not_named_to_another(store: Store) -> None:
    sketch = tuple(range(100, 108))
    table = dataclasses.replace(
        MEMORIES, index=lambda memory: dataclasses.replace(_index(MEMORIES, memory), sketch=sketch)
    )
    first = add(store, table)
    assert store.write(lambda tx: tx.near(TENANT, sketch, 10)) == [first.seq]
    assert store.write(lambda tx: tx.near(OTHER, sketch, 10)) == []


def _index(table: Table[Any], record: Any) -> Any:
    assert table.index is not None
    return table.index(record)


def test_a_token_is_found_by_its_id_whatever_its_tenant(store: Store) -> None:
    add(store, TOKENS, tenant=TENANT)
    add(store, TOKENS, tenant=OTHER)
    add(store, TOKENS, "two", tenant=OTHER)
    assert sorted(token.tenant for token in store.read().tokens_by_id("one")) == [TENANT, OTHER]
    assert store.read().tokens_by_id("three") == []


def test_a_tenant_is_listed_whatever_kind_of_record_it_has(store: Store) -> None:
    for table in TABLES:
        add(store, table, tenant=f"only-{table.name}")
    assert store.read().tenants() == sorted(f"only-{table.name}" for table in TABLES)


def test_every_tenant_is_listed_once(store: Store) -> None:
    assert store.read().tenants() == []
    for tenant in (OTHER, TENANT):
        add(store, SESSIONS, tenant=tenant)
        add(store, MEMORIES, tenant=tenant)
    assert store.read().tenants() == [TENANT, OTHER]


def test_sequence_numbers_only_grow_also_over_a_reopening(place: Any) -> None:
    store = place.open()
    seen = [store.write(lambda tx: [tx.next_seq(TENANT) for _ in range(3)]) for _ in range(3)]
    store.write(lambda tx: tx.delete(NOTES, TENANT, "none"))
    store = place.reopen()
    seen.append(store.write(lambda tx: [tx.next_seq(TENANT)]))
    flat = [one for some in seen for one in some]
    assert flat == sorted(set(flat))


def test_a_number_whose_record_was_deleted_is_not_given_again(place: Any) -> None:
    store = place.open()
    gone = add(store, NOTES)
    store.write(lambda tx: tx.delete(NOTES, TENANT, "one"))
    store = place.reopen()
    assert store.write(lambda tx: tx.next_seq(TENANT)) > gone.seq


def test_records_come_newest_first_unless_asked_otherwise(store: Store) -> None:
    for id in "abc":
        add(store, NOTES, id)
    reader = store.read()
    assert [one.id for one in reader.find(NOTES, TENANT)] == ["c", "b", "a"]
    assert [one.id for one in reader.each(NOTES, TENANT)] == ["a", "b", "c"]
    assert [one.id for one in reader.find(NOTES, TENANT, order="id")] == ["a", "b", "c"]
    assert [one.id for one in reader.find(NOTES, TENANT, order="-id")] == ["c", "b", "a"]


@pytest.mark.parametrize("order", ["updated_at", "-updated_at", "kind", "-kind", "seq", "-seq"])
def test_pages_neither_repeat_nor_skip_a_record_when_many_are_equal(store: Store, order: str) -> None:
    def fill(tx: Any) -> None:
        for number in range(50):
            tx.add(NOTES, sample(NOTES, f"n{number}", tx.next_seq(TENANT), updated_at=number // 20, kind="same"))

    store.write(fill)
    reader = store.read()
    whole = reader.find(NOTES, TENANT, order=order)
    pages = [reader.find(NOTES, TENANT, order=order, limit=7, offset=start) for start in range(0, 56, 7)]
    assert [one for page in pages for one in page] == whole
    assert len({one.id for one in whole}) == 50
    assert list(reader.each(NOTES, TENANT, order=order)) == whole


def test_an_offset_without_a_limit_is_honoured(store: Store) -> None:
    for id in "abc":
        add(store, NOTES, id)
    assert [one.id for one in store.read().find(NOTES, TENANT, order="seq", offset=1)] == ["b", "c"]


def test_a_limit_of_nothing_gives_nothing(store: Store) -> None:
    add(store, NOTES)
    assert store.read().find(NOTES, TENANT, limit=0) == []


@pytest.mark.parametrize("name", ["nothing", "seq; DROP TABLE notes", "checksum", "rowid", "-"])
def test_only_declared_columns_can_be_asked_or_sorted_by(store: Store, name: str) -> None:
    add(store, NOTES)
    with pytest.raises(KeyError):
        store.read().find(NOTES, TENANT, Condition(name, "=", 1))
    with pytest.raises(KeyError):
        store.read().find(NOTES, TENANT, order=name)
    assert store.read().count(NOTES, TENANT) == 1


def test_text_that_looks_like_sql_is_only_text(store: Store) -> None:
    nasty = "'); DROP TABLE memories; --"
    record = add(store, MEMORIES, nasty, content=nasty, project=nasty)
    assert store.read().get(MEMORIES, TENANT, nasty) == record
    assert store.read().find(MEMORIES, TENANT, *where(project=nasty)) == [record]


def test_a_text_of_a_million_characters_comes_back_whole(store: Store) -> None:
    long = "0123456789" * 100_000
    record = add(store, MEMORIES, content=long)
    assert store.read().get(MEMORIES, TENANT, "one") == record


def test_everything_is_there_after_reopening(place: Any) -> None:
    store = place.open()
    kept = {table.name: [add(store, table, id) for id in "ab"] for table in TABLES}
    pending = store.read().pending()
    store = place.reopen()
    for name, records in kept.items():
        assert store.read().find(table_named(name), TENANT, order="seq") == records
    assert store.read().pending() == pending
    assert [hit.seq for hit in store.read().words(MEMORIES, TENANT, ("content",), (), 10).hits] != []
    assert store.verify() == []
