"""Counts of recalls in the store: they follow their record and are never a finding."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import apsw
import pytest
from sample_records import OTHER, TENANT, add

from holdfast.store.port import Table, Tx
from holdfast.store.sqlite.recall_counts import MOST
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import LESSONS, MEMORIES, OBSERVATIONS

searched = pytest.mark.parametrize("table", [MEMORIES, OBSERVATIONS], ids=lambda table: table.name)


@pytest.fixture
def path(quick_folder: Path) -> Path:
    return quick_folder / "memory.db"


def open_store(path: Path) -> SqliteStore:
    return SqliteStore(path, lambda event: None)


def counted(store: SqliteStore, *seqs: int, tenant: str = TENANT) -> dict[int, int]:
    return store.read().recalls(tenant, seqs)


def count(store: SqliteStore, record: Any, times: int = 1) -> None:
    store.write(lambda tx: tx.add_recalls({(record.tenant, record.seq): times}))


@searched
def test_counts_add_up_and_belong_to_one_tenant(path: Path, table: Table[Any]) -> None:
    store = open_store(path)
    mine, theirs = add(store, table), add(store, table, tenant=OTHER)
    count(store, mine, 2)
    count(store, mine, 3)
    count(store, theirs)
    assert counted(store, mine.seq, theirs.seq) == {mine.seq: 5}
    assert counted(store, mine.seq, theirs.seq, tenant=OTHER) == {theirs.seq: 1}
    assert counted(store) == {}
    store.close()


@searched
def test_a_count_stays_with_a_replaced_record_and_goes_with_a_deleted_one(path: Path, table: Table[Any]) -> None:
    store = open_store(path)
    record = add(store, table)
    count(store, record, 4)
    store.write(lambda tx: tx.replace(table, dataclasses.replace(record, title="changed")))
    assert counted(store, record.seq) == {record.seq: 4}

    def renumber(tx: Tx) -> int:
        seq = tx.next_seq(TENANT)
        tx.replace(table, dataclasses.replace(record, seq=seq))
        return seq

    moved = store.write(renumber)
    assert counted(store, record.seq, moved) == {moved: 4}
    store.write(lambda tx: tx.delete(table, TENANT, record.id))
    assert counted(store, record.seq, moved) == {}
    assert store.verify() == []
    store.close()


def test_a_deletion_that_is_rolled_back_keeps_the_count(path: Path) -> None:
    store = open_store(path)
    record = add(store, MEMORIES)
    count(store, record)

    def fail(tx: Tx) -> None:
        tx.delete(MEMORIES, TENANT, record.id)
        raise KeyError("stop")

    with pytest.raises(KeyError):
        store.write(fail)
    assert counted(store, record.seq) == {record.seq: 1}
    store.close()


def test_only_records_that_searches_return_are_counted(path: Path) -> None:
    store = open_store(path)
    lesson = add(store, LESSONS)
    count(store, lesson)
    store.write(lambda tx: tx.add_recalls({(TENANT, 999): 1}))
    assert counted(store, lesson.seq, 999) == {}
    store.close()


def test_a_count_of_nothing_is_no_finding_and_is_swept(path: Path) -> None:
    store = open_store(path)
    record = add(store, MEMORIES)
    count(store, record)
    store.close()
    db = apsw.Connection(str(path))
    db.execute("INSERT INTO recalls VALUES (12345, ?, 7, 0)", (TENANT,)).fetchall()
    db.close()
    store = open_store(path)
    assert store.verify() == []
    assert counted(store, 12345, record.seq) == {12345: 7, record.seq: 1}
    store.repair_index()
    assert counted(store, 12345, record.seq) == {record.seq: 1}
    store.close()


@pytest.mark.parametrize("damaged", [2**63 - 1, -(2**63)])
def test_a_damaged_count_stops_nothing(path: Path, damaged: int) -> None:
    store = open_store(path)
    record = add(store, MEMORIES)
    count(store, record)
    store.close()
    db = apsw.Connection(str(path))
    db.execute("UPDATE recalls SET count = ?", (damaged,)).fetchall()
    db.close()
    store = open_store(path)
    count(store, record, 10**12)
    assert counted(store, record.seq)[record.seq] <= MOST
    store.close()
