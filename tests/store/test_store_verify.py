"""Verification finds whatever was changed behind the store's back, and changes nothing itself."""

from __future__ import annotations

import hashlib
import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import apsw
import pytest
from hypothesis import assume, given, settings, strategies as st
from sample_records import OTHER, TENANT, TEXTS, add, columns_of, sample, table_named

from holdfast.core.errors import DataDamaged, DataReadOnly, Fault
from holdfast.store.data_folder import DAMAGED
from holdfast.store.port import Condition, Finding, Store, Table
from holdfast.store.rows import shape_of
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import INSIGHTS, LESSONS, MEMORIES, OBSERVATIONS, TABLES
from holdfast.store.tokenizer import query

every_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
COLUMNS = [(table.name, column) for table in TABLES for column in [*columns_of(table), "checksum"]]


def fill_tables(store: Store) -> None:
    """Three records in every table, of two tenants."""
    for table in TABLES:
        add(store, table, "one")
        add(store, table, "two")
        add(store, table, "one", tenant=OTHER)


def fill(store: Store) -> None:
    """The same, and enough words for an index of several pages."""
    fill_tables(store)

    def more(tx: Any) -> None:
        for number in range(60):
            text = " ".join(f"word{number * at % 211}" for at in range(1, 12))
            tx.add(
                MEMORIES,
                sample(MEMORIES, f"m{number}", tx.next_seq(TENANT), content=f"{text} cafe", latest=number % 5 > 0),
            )
            tx.add(OBSERVATIONS, sample(OBSERVATIONS, f"o{number}", tx.next_seq(TENANT), narrative=text))

    store.write(more)


def _sound(path: Path, fill: Callable[[Store], None]) -> Path:
    store = SqliteStore(path, lambda event: None)
    fill(store)
    assert store.verify() == []
    store.close()
    return path


@pytest.fixture(scope="module")
def large_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _sound(tmp_path_factory.mktemp("sound") / "large.db", fill)


@pytest.fixture(scope="module")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _sound(tmp_path_factory.mktemp("sound") / "small.db", fill_tables)


@pytest.fixture
def path(large_file: Path, quick_folder: Path) -> Path:
    return Path(shutil.copy(large_file, quick_folder / "memory.db"))


@pytest.fixture
def small(small_file: Path, quick_folder: Path) -> Path:
    return Path(shutil.copy(small_file, quick_folder / "memory.db"))


@contextmanager
def opened(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path, lambda event: None)
    try:
        yield store
    finally:
        store.close()


def raw(path: Path, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
    """Run a statement behind the store's back."""
    db = apsw.Connection(str(path))
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.close()


def verify(path: Path) -> list[Finding]:
    with opened(path) as store:
        return store.verify()


def kinds(found: list[Finding]) -> set[str]:
    return {one.kind for one in found}


def another(value: Any) -> Any:
    """The smallest change of a value."""
    if value is None:
        return 0
    if isinstance(value, str):
        return value + " "
    return math.nextafter(value, 2e9) if isinstance(value, float) else value ^ 1


@every_table
def test_a_changed_value_of_any_column_is_found(small: Path, table: Table[Any]) -> None:
    """Each column, by the smallest change there is, and back."""
    missed = []
    for column in [*columns_of(table), "checksum"]:
        for seq, value in raw(small, f"SELECT seq, {column} FROM {table.name} LIMIT 1"):
            changed = another(value) if column != "seq" else 1_000_000
            raw(small, f"UPDATE {table.name} SET {column} = ? WHERE seq = ?", (changed, seq))
            found = {one.table for one in verify(small) if one.kind == "row_changed"}
            at = changed if column == "seq" else seq
            raw(small, f"UPDATE {table.name} SET {column} = ? WHERE seq = ?", (value, at))
            if table.name not in found:
                missed.append((column, seq))
    assert missed == []
    assert verify(small) == []


@every_table
def test_an_emptied_value_is_found(small: Path, table: Table[Any]) -> None:
    for column, (_, optional) in columns_of(table).items():
        if optional:
            before = raw(small, f"SELECT seq, {column} FROM {table.name} ORDER BY seq LIMIT 1")[0]
            raw(small, f"UPDATE {table.name} SET {column} = NULL WHERE seq = ?", (before[0],))
            assert "row_changed" in kinds(verify(small)), column
            raw(small, f"UPDATE {table.name} SET {column} = ? WHERE seq = ?", (before[1], before[0]))


@given(data=st.data())
@settings(max_examples=40)
def test_any_other_value_is_found(small: Path, data: st.DataObject) -> None:
    name, column = data.draw(st.sampled_from([pair for pair in COLUMNS if pair[1] not in ("seq", "checksum")]))
    plain, _ = columns_of(table_named(name))[column]
    (seq, before), *_ = raw(small, f"SELECT seq, {column} FROM {name} ORDER BY seq")
    numbers = st.integers(-(2**63), 2**63 - 1)
    drawn = {float: st.floats(allow_nan=False), int: numbers, bool: numbers}.get(plain, TEXTS)
    changed = data.draw(drawn)
    assume(changed != before)
    raw(small, f"UPDATE {name} SET {column} = ? WHERE seq = ?", (changed, seq))
    found = verify(small)
    raw(small, f"UPDATE {name} SET {column} = ? WHERE seq = ?", (before, seq))
    assert "row_changed" in kinds(found)


def test_a_zero_below_zero_is_no_damage(store: Store) -> None:
    add(store, LESSONS, confidence=-0.0)

    assert store.verify() == []


def test_an_endless_number_that_changes_its_sign_is_found(small: Path) -> None:
    with opened(small) as store:
        add(store, LESSONS, "endless", confidence=math.inf)
        assert store.verify() == []
    raw(small, "UPDATE lessons SET confidence = ? WHERE id = 'endless'", (-math.inf,))
    assert kinds(verify(small)) == {"row_changed"}


@every_table
def test_a_removed_row_is_found(small: Path, table: Table[Any]) -> None:
    raw(small, f"DELETE FROM {table.name} WHERE id = 'two'")
    assert ("row_missing", table.name) in {(one.kind, one.table) for one in verify(small)}


@every_table
def test_a_table_that_was_emptied_is_found(small: Path, table: Table[Any]) -> None:
    raw(small, f"DELETE FROM {table.name}")
    assert ("row_missing", table.name) in {(one.kind, one.table) for one in verify(small)}


@every_table
def test_an_inserted_row_is_found_even_with_a_right_checksum(small: Path, table: Table[Any]) -> None:
    insert(small, table, sample(table, "smuggled", 1_000_000))
    assert ("row_added", table.name) in {(one.kind, one.table) for one in verify(small)}


def insert(path: Path, table: Table[Any], record: Any) -> None:
    shape = shape_of(table)
    values = shape.encode(record)
    marks = ", ".join("?" * (len(values) + 1))
    raw(path, f"INSERT INTO {table.name} VALUES ({marks})", (*values, shape.checksum(values)))


@every_table
def test_a_row_put_in_the_place_of_another_is_found(small: Path, table: Table[Any]) -> None:
    """The number of rows stays right, and so does every single checksum."""
    raw(small, f"DELETE FROM {table.name} WHERE id = 'two'")
    insert(small, table, sample(table, "smuggled", 1_000_000))
    assert ("row_changed", table.name) in {(one.kind, one.table) for one in verify(small)}


@every_table
def test_two_rows_that_exchange_their_contents_and_checksums_are_found(small: Path, table: Table[Any]) -> None:
    columns = [name for name in [*columns_of(table), "checksum"] if name not in ("tenant", "id", "seq")]
    one, two = raw(small, f"SELECT seq, {', '.join(columns)} FROM {table.name} WHERE tenant = ? LIMIT 2", (TENANT,))
    places = ", ".join(f"{name} = ?" for name in columns)
    for target, source in ((one, two), (two, one)):
        raw(small, f"UPDATE {table.name} SET {places} WHERE seq = ?", (*source[1:], target[0]))
    found = [found for found in verify(small) if (found.kind, found.table) == ("row_changed", table.name)]
    assert len(found) == 2


@every_table
def test_two_rows_that_exchange_their_names_are_found(small: Path, table: Table[Any]) -> None:
    raw(small, f"UPDATE {table.name} SET id = 'three' WHERE id = 'one' AND tenant = ?", (TENANT,))
    raw(small, f"UPDATE {table.name} SET id = 'one' WHERE id = 'two' AND tenant = ?", (TENANT,))
    raw(small, f"UPDATE {table.name} SET id = 'two' WHERE id = 'three' AND tenant = ?", (TENANT,))
    assert "row_changed" in kinds(verify(small))


@every_table
def test_a_row_moved_to_another_tenant_is_found(small: Path, table: Table[Any]) -> None:
    raw(small, f"UPDATE {table.name} SET tenant = 'thief' WHERE id = 'two'")
    assert ("row_changed", table.name) in {(one.kind, one.table) for one in verify(small)}


def test_an_older_state_of_a_row_is_found(path: Path) -> None:
    """As after a page that was written and came back old: the row and its checksum agree, and are yesterday's."""
    (before,) = raw(path, "SELECT * FROM memories WHERE id = 'two'")
    with opened(path) as store:
        old = store.read().get(MEMORIES, TENANT, "two")
        assert old is not None
        store.write(lambda tx: tx.replace(MEMORIES, sample(MEMORIES, "two", old.seq, content="newer")))
        assert store.verify() == []
    raw(path, "DELETE FROM memories WHERE id = 'two'")
    raw(path, f"INSERT INTO memories VALUES ({', '.join('?' * len(before))})", before)
    assert "row_changed" in kinds(verify(path))


def test_every_changed_row_is_named(path: Path) -> None:
    raw(path, "UPDATE observations SET title = 'x' WHERE id IN ('o1', 'o2', 'o3')")
    assert {one.id for one in verify(path) if one.kind == "row_changed"} == {"o1", "o2", "o3"}


def test_bytes_that_are_no_text_are_found_and_named(path: Path) -> None:
    raw(path, "UPDATE memories SET content = CAST(x'66ff66' AS TEXT) WHERE id = 'two'")
    found = verify(path)
    assert ("memories", "two") in {(one.table, one.id) for one in found}


@every_table
def test_bytes_that_are_no_text_in_any_column_are_found(small: Path, table: Table[Any]) -> None:
    for column, (plain, _) in columns_of(table).items():
        if plain in (str, tuple, dict) and column not in ("tenant", "id"):
            ((seq, before),) = raw(small, f"SELECT seq, {column} FROM {table.name} ORDER BY seq LIMIT 1")
            raw(small, f"UPDATE {table.name} SET {column} = CAST(x'ff' AS TEXT) WHERE seq = ?", (seq,))
            assert verify(small) != [], column
            raw(small, f"UPDATE {table.name} SET {column} = ? WHERE seq = ?", (before, seq))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE memories SET content = CAST(x'66ff66' AS TEXT) WHERE id = 'two'",
        "UPDATE memories SET concepts = 'not a list' WHERE id = 'two'",
        "UPDATE memories SET metadata = '{' WHERE id = 'two'",
    ],
)
def test_reading_a_record_that_cannot_be_read_says_that_data_is_damaged(path: Path, damage: str) -> None:
    raw(path, damage)
    with opened(path) as store:
        with pytest.raises(DataDamaged):
            store.read().get(MEMORIES, TENANT, "two")
        with suppress(DataDamaged):  # bytes that are no text end the list; any other change only costs the row
            assert "two" not in {one.id for one in store.read().find(MEMORIES, TENANT)}
        assert store.read().get(MEMORIES, TENANT, "one") is not None
        with pytest.raises(DataReadOnly):
            add(store, MEMORIES, "after")


def test_a_list_that_cannot_be_read_does_not_stop_later_writes(path: Path) -> None:
    """Forgetting looks into lists of other records: a damaged one must not be taken for a failing disk."""
    raw(path, "UPDATE insights SET source_ids = '[\"x' WHERE id = 'two'")
    with opened(path) as store:
        with pytest.raises(Fault):
            store.write(lambda tx: tx.find(INSIGHTS, TENANT, Condition("source_ids", "has", "x")))
        assert store.failure() is None
        assert add(store, MEMORIES, "after").id == "after"


@pytest.mark.parametrize("change", ["rows = rows + 1", "sum = sum + 1"])
def test_a_changed_tally_is_found(path: Path, change: str) -> None:
    raw(path, f"UPDATE tallies SET {change} WHERE source = 'memories'")
    assert "memories" in {one.table for one in verify(path)}


def test_a_lost_tally_is_found(path: Path) -> None:
    raw(path, "DELETE FROM tallies WHERE source = 'memories'")
    assert "memories" in {one.table for one in verify(path)}


def test_a_counter_that_was_set_back_is_found(path: Path) -> None:
    """Otherwise the next writes get numbers that other records have."""
    raw(path, "UPDATE tallies SET rows = 3 WHERE source = 'seq'")
    try:
        found = verify(path)
    except DataDamaged:
        return
    assert found != []


def test_a_lost_counter_is_damage(path: Path) -> None:
    raw(path, "DELETE FROM tallies WHERE source = 'seq'")
    with pytest.raises(DataDamaged):
        verify(path)


INDEX_DAMAGE = {
    "the words of one record removed": "DELETE FROM word_rows WHERE seq = (SELECT seq FROM memories WHERE id = 'two')",
    "the words of all removed": "DELETE FROM word_rows",
    "words of no record added": "INSERT INTO word_rows VALUES ('acme', 999999, 999999, 0, 1, 'ghost', x'0200')",
    "a word added to a record": "UPDATE word_rows SET terms = terms || char(10) || 'zz', weights = CAST(weights || x'0200' AS BLOB)",
    "a word exchanged": "UPDATE word_rows SET terms = replace(terms, 'word', 'wort')",
    "a word heavier than it is": "UPDATE word_rows SET weights = CAST(x'ffff' || substr(weights, 3) AS BLOB) WHERE doc = 5",
    "a length changed": "UPDATE word_rows SET length = 1 WHERE doc = 5",
    "a time changed": "UPDATE word_rows SET at = 1 WHERE doc = 5",
    "words given to another tenant": "UPDATE word_rows SET tenant = 'thief' WHERE doc = 5",
    "words given to another record": "UPDATE word_rows SET seq = 999999 WHERE doc = 5",
    "words led astray": "INSERT INTO word_again VALUES (5, 6)",
    "words of no record led astray": "INSERT INTO word_again VALUES (999999, 6)",
    "a sketch removed": "DELETE FROM sketches WHERE seq = (SELECT min(seq) FROM sketches)",
    "all sketches removed": "DELETE FROM sketches",
    "a sketch added": "INSERT INTO sketches VALUES (999999, 'acme', x'01020304')",
    "a sketch changed": "UPDATE sketches SET hashes = x'01020304' WHERE seq = (SELECT min(seq) FROM sketches)",
    "a sketch of another tenant": "UPDATE sketches SET tenant = 'thief' WHERE seq = (SELECT max(seq) FROM sketches)",
    "a sketch of a superseded memory": (
        "INSERT INTO sketches SELECT seq, tenant, x'01020304' FROM memories WHERE latest = 0 LIMIT 1"
    ),
}


@pytest.mark.parametrize("damage", INDEX_DAMAGE.values(), ids=INDEX_DAMAGE.keys())
def test_an_index_out_of_step_is_found_and_mended_from_the_rows(path: Path, damage: str) -> None:
    raw(path, damage)
    with opened(path) as store:
        before = {table.name: store.read().find(table, TENANT) for table in TABLES}
        assert kinds(store.verify()) == {"index_out_of_step"}
        assert store.repair_index() == 2 * 63
        assert store.verify() == []
        assert {table.name: store.read().find(table, TENANT) for table in TABLES} == before
        assert answers(store) == answers_of_sound(path)


SEGMENT_DAMAGE = {
    "what is folded forgotten": "DELETE FROM word_states WHERE tenant = 'acme'",
    "more said to be folded than is": "UPDATE word_states SET folded = 999999",
    "less said to be folded than is": "UPDATE word_states SET folded = 1",
    "a segment removed": "DELETE FROM word_segments WHERE tenant = 'acme'",
    "a segment given to another tenant": "UPDATE word_segments SET tenant = 'thief' WHERE tenant = 'acme'",
    "a segment's docs changed": "UPDATE word_segments SET docs = zeroblob(length(docs))",
    "a segment's docs cut": "UPDATE word_segments SET docs = substr(docs, 9)",
    "a segment's seqs changed": "UPDATE word_segments SET seqs = zeroblob(length(seqs))",
    "a segment's times changed": "UPDATE word_segments SET ats = zeroblob(length(ats))",
    "a segment's lengths changed": "UPDATE word_segments SET lengths = zeroblob(length(lengths))",
    "a posting removed": "DELETE FROM word_postings WHERE term = 'word1'",
    "a scope removed": "DELETE FROM word_postings WHERE term LIKE char(1) || 'memories.latest%'",
    "a posting added": "INSERT INTO word_postings SELECT tenant, segment, 'zz', x'0000', x'0200' FROM word_segments",
    "a posting's places changed": "UPDATE word_postings SET places = zeroblob(length(places)) WHERE term = 'word1'",
    "a posting's weights changed": "UPDATE word_postings SET weights = zeroblob(length(weights)) WHERE term = 'word1'",
    "a live record called gone": "INSERT INTO word_gone SELECT tenant, 999999, min(doc) FROM word_rows GROUP BY tenant",
}


@pytest.mark.parametrize("damage", SEGMENT_DAMAGE.values(), ids=SEGMENT_DAMAGE.keys())
def test_damage_inside_a_segment_is_found_and_mended(path: Path, damage: str) -> None:
    true = answers_of_sound(path)
    with opened(path) as store:
        store.compact_words(least=1)
        assert store.verify() == []
        assert answers(store) == true
    raw(path, damage)
    with opened(path) as store:
        assert kinds(store.verify()) == {"index_out_of_step"}
        assert store.repair_index() == 2 * 63
        assert store.verify() == []
        assert answers(store) == true
        store.compact_words(least=1)
        assert store.verify() == []
        assert answers(store) == true


def answers(store: Store) -> list[Any]:
    """What searches answer, with order and score."""
    asked = ["word1", "word7 word30", "content of one", "café", "title two narrative"]
    return [
        [(hit.seq, round(hit.score, 6)) for hit in store.read().words(table, tenant, query(question), (), 200).hits]
        for table in (MEMORIES, OBSERVATIONS)
        for tenant in (TENANT, OTHER)
        for question in asked
    ]


def answers_of_sound(path: Path) -> list[Any]:
    """The answers of a store with the same rows whose index was built by writing them."""
    other = path.with_name("true.db")
    if not other.exists():
        with opened(other) as store:
            fill(store)
    with opened(other) as store:
        return answers(store)


def test_mending_the_index_does_not_hide_a_changed_row(path: Path) -> None:
    raw(path, "UPDATE memories SET content = 'forged words' WHERE id = 'two'")
    with opened(path) as store:
        assert "row_changed" in kinds(store.verify())
        store.repair_index()
        assert kinds(store.verify()) == {"row_changed"}


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        ("DELETE FROM memories WHERE id = 'two'", "row_missing"),
        ("UPDATE memories SET concepts = '[' WHERE id = 'two'", "row_changed"),
        ("UPDATE memories SET content = CAST(x'ff' AS TEXT) WHERE id = 'two'", "row_changed"),
    ],
)
def test_mending_the_index_of_a_store_with_a_damaged_row_leaves_the_damage_told(
    path: Path, damage: str, kind: str
) -> None:
    raw(path, damage)
    with opened(path) as store:
        store.repair_index()
        assert kind in kinds(store.verify())
        assert len(answers(store)[0]) > 0


def test_writing_goes_on_after_the_index_was_mended(path: Path) -> None:
    raw(path, "DELETE FROM word_rows WHERE doc = 5")
    with opened(path) as store:
        store.repair_index()
        add(store, MEMORIES, "after", content="selenite")
        assert store.verify() == []
        assert len(store.read().words(MEMORIES, TENANT, query("selenite"), (), 5).hits) == 1


SCHEMA_DAMAGE = {
    "an index dropped": "DROP INDEX memories_by_project",
    "a table dropped": "DROP TABLE notes",
    "a column added": "ALTER TABLE notes ADD COLUMN extra TEXT",
    "a trigger added": "CREATE TRIGGER eats AFTER INSERT ON notes BEGIN DELETE FROM notes; END",
}


@pytest.mark.parametrize("damage", SCHEMA_DAMAGE.values(), ids=SCHEMA_DAMAGE.keys())
def test_a_changed_schema_is_found(path: Path, damage: str) -> None:
    raw(path, damage)
    try:
        found = verify(path)
    except Fault:
        return
    assert found != []


def test_verification_changes_no_byte(path: Path) -> None:
    raw(path, "UPDATE memories SET content = 'forged' WHERE id = 'two'")
    raw(path, "DELETE FROM word_rows WHERE doc = 5")
    raw(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    assert verify(path) != []
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert {one.name for one in path.parent.iterdir()} == {"memory.db", DAMAGED}  # what was found is noted beside it


def test_damage_that_happens_while_the_store_is_open_is_found(path: Path) -> None:
    with opened(path) as store:
        assert store.verify() == []
        raw(path, "UPDATE memories SET title = 'forged' WHERE id = 'two'")
        assert "row_changed" in kinds(store.verify())


def test_writers_are_not_kept_waiting_by_a_verification(path: Path) -> None:
    """It reads one moment; what is written meanwhile is neither waited for nor taken for damage."""
    with opened(path) as store:
        seen: list[list[Finding]] = []
        thread = Thread(target=lambda: seen.extend(store.verify() for _ in range(2)))
        thread.start()
        number = 0
        while thread.is_alive():
            number += 1
            add(store, MEMORIES, f"during{number}")
        thread.join()
        assert seen == [[]] * 2
        assert number > 0


def test_a_thousand_findings_are_enough(path: Path) -> None:
    with opened(path) as store:

        def many(tx: Any) -> None:
            for number in range(1_200):
                tx.add(LESSONS, sample(LESSONS, f"many{number}", tx.next_seq(TENANT)))

        store.write(many)
    raw(path, "UPDATE lessons SET content = 'x'")
    assert len(verify(path)) == 1_000


@pytest.mark.parametrize("strength", [0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, 100.0, 1e21])
def test_numbers_that_sqlite_writes_otherwise_are_sound_and_their_last_bit_counts(small: Path, strength: float) -> None:
    """The quick check goes by what SQLite writes; where that is rounded, the row is looked at value by value."""
    with opened(small) as store:
        store.write(
            lambda tx: tx.add(MEMORIES, replace(sample(MEMORIES, "odd", tx.next_seq(TENANT)), strength=strength))
        )
    assert verify(small) == []

    raw(small, "UPDATE memories SET strength = ? WHERE id = 'odd'", (math.nextafter(strength, 0.0),))
    assert ("row_changed", "memories", "odd") in {(one.kind, one.table, one.id) for one in verify(small)}
