"""Single bits of the file change. Whatever they hit, it is found, or provably nothing came of it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from sample_records import OTHER, TENANT, add, sample

from holdfast.core.errors import Fault
from holdfast.store.port import Store
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import MEMORIES, OBSERVATIONS, TABLES
from holdfast.store.tokenizer import query

HEADER_BYTES = 100
PAGE = 4096
QUESTIONS = ["content", "word1 word2", "café", "naïve", "日本", "getUserName", "title", "facts first second", "zzz"]


def fill(store: Store) -> None:
    for table in TABLES:
        add(store, table, "one")
        add(store, table, "one", tenant=OTHER)

    def more(tx: Any) -> None:
        for number in range(12):
            text = f"word{number} word{number * 7 % 5} cafe naive 日本語 getUserName"
            tx.add(MEMORIES, sample(MEMORIES, f"m{number}", tx.next_seq(TENANT), content=text, latest=number % 3 > 0))
            tx.add(OBSERVATIONS, sample(OBSERVATIONS, f"o{number}", tx.next_seq(TENANT), narrative=text))
        tx.add_recalls({(TENANT, memory.seq): 3 for memory in tx.find(MEMORIES, TENANT)})

    store.write(more)
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "m4"))


def state(store: Store) -> list[Any]:
    """Every row, every answer of a search with its score, and who is alike."""
    reader = store.read()
    everything: list[Any] = [reader.tenants(), reader.tokens_by_id("one")]
    for tenant in (TENANT, OTHER):
        everything += [reader.find(table, tenant) for table in TABLES]
        everything += [list(reader.each(table, tenant)) for table in TABLES]
        for table in (MEMORIES, OBSERVATIONS):
            everything += [reader.words(table, tenant, query(question), (), 50).hits for question in QUESTIONS]
    for memory in reader.find(MEMORIES, TENANT):
        assert MEMORIES.index is not None
        hashes = MEMORIES.index(memory).sketch
        everything.append(store.write(lambda tx, hashes=hashes: tx.near(TENANT, hashes, 10)))
    return everything


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[Any]]:
    """The bytes of a small closed store, and what it answers."""
    path = tmp_path_factory.mktemp("flips") / "memory.db"
    store = SqliteStore(path, lambda event: None)
    fill(store)
    store.close()
    store = SqliteStore(path, lambda event: None)
    truth = state(store)
    store.close()
    return path.read_bytes(), truth


def outcome(path: Path, truth: list[Any]) -> str | None:
    """What is wrong with how a damaged file was met; None if nothing is."""
    try:
        store = SqliteStore(path, lambda event: None)
    except Fault:
        return None
    except Exception as error:  # noqa: BLE001 - told by name and place below
        return f"opening: {type(error).__name__}: {error}"
    try:
        if store.verify():
            return None
        if state(store) != truth:
            return "answers changed unnoticed"
        add(store, MEMORIES, "after the flip", content="turquoise")
        if store.verify():
            return "a write broke it"
        if len(store.read().words(MEMORIES, TENANT, query("turquoise"), (), 5).hits) != 1:
            return "a new record is not found"
    except Fault as fault:
        return f"called sound, then {fault.code}"
    except Exception as error:  # noqa: BLE001 - told by name and place below
        return f"{type(error).__name__}: {error}"
    finally:
        store.close()
    return None


def trial(folder: Path, sound: tuple[bytes, list[Any]], flips: Iterable[tuple[int, int]]) -> list[str]:
    data, truth = sound
    wrong = []
    path = folder / "memory.db"
    for at, bit in flips:
        damaged = bytearray(data)
        damaged[at] ^= 1 << bit
        path.write_bytes(damaged)
        why = outcome(path, truth)
        for one in folder.iterdir():
            one.unlink()
        if why:
            wrong.append(f"byte {at} (page {at // PAGE + 1}) bit {bit}: {why}")
    return wrong


def test_a_changed_bit_of_the_header_is_met(quick_folder: Path, sound: tuple[bytes, list[Any]]) -> None:
    chance = random.Random(1)
    assert trial(quick_folder, sound, [(at, chance.randrange(8)) for at in range(HEADER_BYTES)]) == []


def test_a_changed_bit_of_the_schema_is_met(quick_folder: Path, sound: tuple[bytes, list[Any]]) -> None:
    data, chance = sound[0], random.Random(2)
    begins = data.index(b"CREATE TABLE word_rows") - 40
    some = [*range(begins, begins + 240, 4), *chance.sample(range(HEADER_BYTES, PAGE), 15)]
    assert trial(quick_folder, sound, [(at, chance.randrange(8)) for at in some]) == []


def test_a_value_that_changes_its_type_is_met(quick_folder: Path, sound: tuple[bytes, list[Any]]) -> None:
    """The lowest bit of a column's type in the row's head makes bytes of a text."""
    data = sound[0]
    row, rule = data.index(b"acmeo8"), data.index(b"tablesummaries")
    heads = [*range(row - 24, row), *range(rule - 8, rule)]
    assert trial(quick_folder, sound, [(at, 0) for at in heads]) == []


@pytest.mark.parametrize("part", range(4))
def test_a_changed_bit_of_what_is_stored_is_met(quick_folder: Path, sound: tuple[bytes, list[Any]], part: int) -> None:
    """Bytes that say something: a page of a small store is mostly empty, and most flips would hit nothing."""
    data, chance = sound[0], random.Random(10 + part)
    used = [at for at in range(PAGE, len(data)) if data[at]]
    some = chance.sample(used, 50)
    assert trial(quick_folder, sound, [(at, chance.randrange(8)) for at in some]) == []


def test_a_changed_bit_anywhere_is_met(quick_folder: Path, sound: tuple[bytes, list[Any]]) -> None:
    chance = random.Random(3)
    some = chance.sample(range(len(sound[0])), 30)
    assert trial(quick_folder, sound, [(at, chance.randrange(8)) for at in some]) == []


def test_a_lost_page_is_met(quick_folder: Path, sound: tuple[bytes, list[Any]]) -> None:
    """A page of zeros, and a page that holds another page's bytes."""
    data, truth = sound
    pages, wrong, path = len(data) // PAGE, [], quick_folder / "memory.db"
    for page in range(pages):
        for other in (bytes(PAGE), data[(page + 1) % pages * PAGE :][:PAGE]):
            path.write_bytes(data[: page * PAGE] + other + data[(page + 1) * PAGE :])
            why = outcome(path, truth)
            for one in quick_folder.iterdir():
                one.unlink()
            if why:
                wrong.append(f"page {page + 1}: {why}")
    assert wrong == []


def test_verification_of_a_damaged_file_changes_no_byte(quick_folder: Path, sound: tuple[bytes, list[Any]]) -> None:
    data, chance = sound[0], random.Random(4)
    used = [at for at in range(len(data)) if data[at]]
    path = quick_folder / "memory.db"
    for at in chance.sample(used, 40):
        damaged = bytearray(data)
        damaged[at] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            store = SqliteStore(path, lambda event: None)
        except Fault:
            assert path.read_bytes() == damaged
            continue
        try:
            store.verify()
        except ValueError:
            pass
        finally:
            store.close()
        assert path.read_bytes() == damaged
