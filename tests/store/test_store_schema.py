"""The database's shape: as declared, changed by whole steps only, and never forced on another's file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from sample_records import TENANT, add, columns_of

from holdfast.core.errors import DataDamaged, DataTooNew, Fault
from holdfast.store.port import Table
from holdfast.store.sqlite import database, group_commit
from holdfast.store.sqlite.database import APPLICATION_ID, migration_steps
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import MEMORIES, NOTES, STATEMENTS, TABLES

SQL_TYPE = {str: "TEXT", int: "INTEGER", float: "REAL", bool: "INTEGER", tuple: "TEXT", dict: "TEXT"}


def open_store(path: Path) -> SqliteStore:
    return SqliteStore(path, lambda event: None)


def rows(path: Path, sql: str) -> list[Any]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


@pytest.fixture
def path(quick_folder: Path) -> Path:
    return quick_folder / "memory.db"


@pytest.fixture
def fresh(path: Path) -> Path:
    open_store(path).close()
    return path


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_fresh_table_has_exactly_the_declared_columns(fresh: Path, table: Table[Any]) -> None:
    have = {
        name: (kind, not required and not key)
        for _, name, kind, required, _, key in rows(fresh, f"PRAGMA table_info({table.name})")
    }
    declared = {name: (SQL_TYPE[plain], optional) for name, (plain, optional) in columns_of(table).items()}
    assert have == {**declared, "checksum": ("INTEGER", False)}
    assert list(have) == [*declared, "checksum"]


def test_every_table_of_the_schema_is_declared_or_known(fresh: Path) -> None:
    have = {name for (name,) in rows(fresh, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    own = {
        "changes",
        "journal",
        "sketches",
        "outbox",
        "events",
        "tallies",
        "recalls",
        "vectors",
        "vector_codes",
        "vector_spaces",
        "followed",
    }
    words = {"word_rows", "word_again", "word_gone", "word_states", "word_segments", "word_postings"}
    assert have - own - words == {table.name for table in TABLES}


def test_every_key_begins_with_the_tenant(fresh: Path) -> None:
    for table in TABLES:
        keys = [name for _, name, unique, *_ in rows(fresh, f"PRAGMA index_list({table.name})") if unique]
        columns = [[row[2] for row in rows(fresh, f"PRAGMA index_info({key})")] for key in keys]
        assert columns == [["tenant", "id"]]


def test_the_file_says_whose_it_is_and_of_which_version(fresh: Path) -> None:
    assert rows(fresh, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert rows(fresh, "PRAGMA user_version") == [(len(migration_steps()),)]
    assert rows(fresh, "PRAGMA journal_mode") == [("wal",)]


def test_writes_are_synced_in_full(path: Path) -> None:
    """NORMAL lost acknowledged rows in most replayed power cuts."""
    store = open_store(path)
    try:
        assert store._writer.pragma("synchronous") == 2
        assert store._writer.pragma("journal_mode") == "wal"
    finally:
        store.close()


def test_opening_again_changes_nothing(fresh: Path) -> None:
    before = fresh.read_bytes()
    open_store(fresh).close()
    assert fresh.read_bytes() == before


def test_closing_leaves_one_file(fresh: Path) -> None:
    store = open_store(fresh)
    add(store, MEMORIES)
    store.close()
    assert [one.name for one in fresh.parent.iterdir()] == ["memory.db"]


def _foreign(setup: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        db = apsw.Connection(str(path))
        for statement in setup.split(";"):
            db.execute(statement).fetchall()
        db.close()

    return make


FOREIGN = {
    "another program's, without a version": _foreign("CREATE TABLE cookies (host TEXT)"),
    "another program's, with a version": _foreign("CREATE TABLE cookies (host TEXT); PRAGMA user_version = 1"),
    "another program's, with its own mark": _foreign(
        "CREATE TABLE cookies (host TEXT); PRAGMA application_id = 252006675; PRAGMA user_version = 1"
    ),
    "another program's, with a mark and no version": _foreign(
        "CREATE TABLE cookies (host TEXT); PRAGMA application_id = 252006675"
    ),
    "another program's, with a table of our name": _foreign("CREATE TABLE sessions (id TEXT)"),
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN.keys())
def test_another_programs_database_is_refused_and_left_as_it_was(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    before = path.read_bytes()
    with pytest.raises(DataTooNew):
        open_store(path)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["memory.db"]


def test_a_newer_holdfasts_database_is_refused_and_left_as_it_was(fresh: Path) -> None:
    db = apsw.Connection(str(fresh))
    db.execute("PRAGMA user_version = 99").fetchall()
    db.close()
    before = fresh.read_bytes()
    with pytest.raises(DataTooNew, match="99"):
        open_store(fresh)
    assert fresh.read_bytes() == before


def test_a_file_that_is_no_database_is_damage_and_left_as_it_was(path: Path) -> None:
    path.write_bytes(b"these are my holiday notes, do not touch\n" * 200)
    before = path.read_bytes()
    with pytest.raises(DataDamaged):
        open_store(path)
    assert path.read_bytes() == before


def test_a_database_cut_off_in_the_middle_is_found_and_left_as_it_was(fresh: Path) -> None:
    store = open_store(fresh)
    for id in range(50):
        add(store, MEMORIES, f"m{id}")
    store.close()
    fresh.write_bytes(fresh.read_bytes()[:-20_000])
    before = hashlib.sha256(fresh.read_bytes()).hexdigest()
    try:
        store = open_store(fresh)
    except DataDamaged:
        pass
    else:
        assert store.verify() != []
        store.close()
    assert hashlib.sha256(fresh.read_bytes()).hexdigest() == before


def steps(monkeypatch: pytest.MonkeyPatch, *more: str) -> None:
    first = migration_steps()
    monkeypatch.setattr(database, "migration_steps", lambda: [*first, *more])


GOOD = "CREATE TABLE second (a TEXT) STRICT; INSERT INTO second VALUES ('x')"
BAD = "CREATE TABLE third (a TEXT) STRICT; INSERT INTO third VALUES ('x'); SELECT killed FROM here"


def test_a_step_that_is_cut_short_leaves_the_step_before_it_whole(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(fresh)
    kept = add(store, NOTES)
    store.close()
    version = len(migration_steps())
    with monkeypatch.context() as patched:
        steps(patched, GOOD, BAD)
        with pytest.raises(Fault):
            open_store(fresh)
    tables = {name for (name,) in rows(fresh, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert rows(fresh, "PRAGMA user_version") == [(version + 1,)]
    assert rows(fresh, "SELECT * FROM second") == [("x",)]
    assert "third" not in tables
    with monkeypatch.context() as patched:
        steps(patched, GOOD, "CREATE TABLE third (a TEXT) STRICT")
        store = open_store(fresh)
        assert store.read().find(NOTES, TENANT) == [kept]
        assert store.verify() == []
        store.close()
    assert rows(fresh, "PRAGMA user_version") == [(version + 2,)]


@pytest.mark.parametrize("keep", range(0, 60, 3))
def test_a_first_opening_that_is_cut_short_anywhere_can_be_repeated(
    path: Path, monkeypatch: pytest.MonkeyPatch, keep: int
) -> None:
    """The first step has some fifty statements: cut after any of them, nothing of it stays."""
    whole = database._statements(migration_steps()[0])
    short = ";\n".join([*whole[:keep], "SELECT killed FROM here"])
    with monkeypatch.context() as patched:
        patched.setattr(database, "migration_steps", lambda: [short])
        with pytest.raises(Fault):
            open_store(path)
    assert rows(path, "SELECT count(*) FROM sqlite_schema") == [(0,)]
    store = open_store(path)
    add(store, MEMORIES)
    assert store.verify() == []
    store.close()


def test_each_step_is_split_into_whole_statements() -> None:
    for step in migration_steps():
        for statement in database._statements(step):
            assert statement.split()[0] in {"CREATE", "INSERT", "ALTER", "DROP", "UPDATE", "DELETE"}
            assert statement.count("(") == statement.count(")")


def test_steps_have_numbers_without_gaps() -> None:
    folder = Path(database.__file__).parent / "migrations"
    names = sorted(one.name for one in folder.glob("*.sql"))
    assert [name[:4] for name in names] == [f"{number:04}" for number in range(1, len(names) + 1)]


@contextmanager
def version(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[None]:
    """Files are made as that version of the schema had them, which kept no journal."""
    steps = migration_steps()[:number]
    with monkeypatch.context() as before:
        before.setattr(database, "migration_steps", lambda: steps)
        before.setattr(group_commit, "is_recording", lambda db: False)
        yield


def test_a_file_that_was_written_before_there_was_a_journal_opens_and_begins_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with version(monkeypatch, 2):
        store = open_store(path)
        kept = add(store, MEMORIES)
        store.close()
    store = open_store(path)
    assert store.read().get(MEMORIES, TENANT, kept.id) == kept
    changes = store.change_log()
    assert changes is not None
    assert not changes.is_on()
    begun = changes.begin(TENANT, "line", 10)
    found = changes.take(TENANT, begun.place - 1)
    assert found is not None
    assert [row[1] for row in found.put["memories"]] == [kept.id]
    assert store.verify() == []
    store.close()


def test_a_file_that_was_written_before_there_were_statements_opens_with_all_it_holds(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with version(monkeypatch, 1):
        store = open_store(path)
        assert rows(path, "PRAGMA user_version") == [(1,)]
        kept = add(store, MEMORIES)
        store.close()
    store = open_store(path)
    assert store.read().get(MEMORIES, TENANT, kept.id) == kept
    assert store.read().find(STATEMENTS, TENANT) == []
    add(store, STATEMENTS)
    assert len(store.read().find(STATEMENTS, TENANT)) == 1
    store.close()
