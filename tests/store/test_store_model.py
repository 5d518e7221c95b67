"""A store and a plain dictionary are given the same commands; they never disagree."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sample_records import OTHER, TENANT, sample
from store_places import SHARED_MEMORY, Place

from holdfast.core.errors import Conflict
from holdfast.store.port import Condition, Table, Tx
from holdfast.store.tables import MEMORIES, NOTES, OBSERVATIONS
from holdfast.store.tokenizer import query

TENANTS = st.sampled_from([TENANT, OTHER])
IDS = st.sampled_from(["a", "b", "c", "d"])
TABLES_USED = st.sampled_from([MEMORIES, OBSERVATIONS, NOTES])
WORDS = ["amber", "basalt", "cobalt", "dolomite", "emerald", "日本", "getUserName"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
Key = tuple[str, str, str]


class Undone(Exception):
    """Raised by a job to be rolled back."""


def record_of(table: Table[Any], tenant: str, id: str, seq: int, text: str) -> Any:
    column = {"memories": "content", "observations": "narrative", "notes": "content"}[table.name]
    blank: dict[str, Any] = {"title": "", "concepts": (), "files": (), "type": "", "subtitle": "", "facts": ()}
    columns = table.record.__dataclass_fields__
    changes = {name: value for name, value in blank.items() if name in columns}
    return sample(table, id, seq, tenant=tenant, **{**changes, column: text})


class StoreAgainstDict(RuleBasedStateMachine):
    engine = "sqlite"

    @initialize()
    def start(self) -> None:
        where = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        self.folder = Path(tempfile.mkdtemp(dir=where, prefix="holdfast-test-"))
        self.place = Place(self.engine, self.folder)
        self.store = self.place.open()
        self.model: dict[Key, Any] = {}
        self.texts: dict[Key, str] = {}
        self.last = 0

    def _took(self, seq: int) -> None:
        assert seq > self.last
        self.last = seq

    @rule(table=TABLES_USED, tenant=TENANTS, id=IDS, text=TEXTS)
    def add(self, table: Table[Any], tenant: str, id: str, text: str) -> None:
        key = (table.name, tenant, id)

        def job(tx: Tx) -> Any:
            record = record_of(table, tenant, id, tx.next_seq(tenant), text)
            tx.add(table, record)
            return record

        try:
            record = self.store.write(job)
        except Conflict:
            assert key in self.model
            return
        assert key not in self.model
        self._took(record.seq)
        self.model[key], self.texts[key] = record, text

    @rule(table=TABLES_USED, tenant=TENANTS, id=IDS, text=TEXTS)
    def replace(self, table: Table[Any], tenant: str, id: str, text: str) -> None:
        key = (table.name, tenant, id)

        def job(tx: Tx) -> Any:
            known = self.model.get(key)
            record = record_of(table, tenant, id, known.seq if known else tx.next_seq(tenant), text)
            tx.replace(table, record)
            return record

        record = self.store.write(job)
        if key not in self.model:
            self._took(record.seq)
        self.model[key], self.texts[key] = record, text

    @rule(table=TABLES_USED, tenant=TENANTS, id=IDS)
    def delete(self, table: Table[Any], tenant: str, id: str) -> None:
        key = (table.name, tenant, id)
        assert self.store.write(lambda tx: tx.delete(table, tenant, id)) == (key in self.model)
        self.model.pop(key, None)
        self.texts.pop(key, None)

    @rule(table=TABLES_USED, tenant=TENANTS, id=IDS)
    def undo(self, table: Table[Any], tenant: str, id: str) -> None:
        def job(tx: Tx) -> None:
            tx.replace(table, record_of(table, tenant, id, tx.next_seq(tenant), "amber undone"))
            tx.delete(table, tenant, "a")
            raise Undone

        try:
            self.store.write(job)
        except Undone:
            return
        raise AssertionError("the job's error was lost")

    @rule()
    def reopen(self) -> None:
        self.store = self.place.reopen()

    @rule(table=st.sampled_from([MEMORIES, OBSERVATIONS]), tenant=TENANTS, word=st.sampled_from(WORDS))
    def search(self, table: Table[Any], tenant: str, word: str) -> None:
        hits = self.store.read().words(table, tenant, query(word), (), 100).hits
        wanted = {
            record.seq
            for key, record in self.model.items()
            if key[:2] == (table.name, tenant) and word in self.texts[key].split()
        }
        assert {hit.seq for hit in hits} == wanted

    @rule(tenant=TENANTS)
    def near(self, tenant: str) -> None:
        """Whoever has the same words is among those named."""
        for key, record in self.model.items():
            if key[:2] == ("memories", tenant) and self.texts[key]:
                assert MEMORIES.index is not None
                hashes = MEMORIES.index(record).sketch
                assert record.seq in self.store.write(lambda tx, hashes=hashes: tx.near(tenant, hashes, 100))

    @rule(table=TABLES_USED, tenant=TENANTS, seq=st.integers(0, 20))
    def find(self, table: Table[Any], tenant: str, seq: int) -> None:
        mine = [one for key, one in self.model.items() if key[:2] == (table.name, tenant) and one.seq > seq]
        wanted = sorted(mine, key=lambda one: one.seq)
        reader = self.store.read()
        assert reader.find(table, tenant, Condition("seq", ">", seq), order="seq") == wanted
        assert reader.count(table, tenant, Condition("seq", ">", seq)) == len(wanted)

    @rule()
    def check(self) -> None:
        assert self.store.verify() == []

    @invariant()
    def every_record_is_as_it_was_given(self) -> None:
        for (name, tenant, id), record in self.model.items():
            table = {"memories": MEMORIES, "observations": OBSERVATIONS, "notes": NOTES}[name]
            assert self.store.read().get(table, tenant, id) == record

    def teardown(self) -> None:
        self.place.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def test_a_store_and_a_dictionary_never_disagree() -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        StoreAgainstDict, settings=settings(max_examples=70, stateful_step_count=30)
    )
