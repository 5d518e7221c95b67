"""The compact form of a memory: what fits, what is left out, and that nothing but records comes back from it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings, strategies as st
from rows import each
from world import World

from holdfast.core.errors import Fault, SnapshotDamaged, SnapshotTooNew, VaultFull
from holdfast.snapshot.bundle.types import Identity
from holdfast.snapshot.remote.colony_format import ABOUT, about_of, documents_of, fill, records_in
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import MEMORIES

WHOSE = Identity("000007-20260921T133320Z-00000a", "default", "default", "", 7, None, 1_790_000_000_000, "hand")
PLENTY = 10_000_000


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = World(tmp_path_factory.mktemp("compact"))
    first = made.call("remember", content="The amber cabinet holds the spare fuses", concepts=["fuses"])
    for number in range(30):
        made.clock.now += 1000
        first = made.call("evolve", memoryId=first["memory"]["id"], newContent=f"Wording {number} of the cabinet")
    made.call("slot_create", label="harbour", content="tide tables", scope="global")
    made.call("lesson_save", content="Check the tide first")
    return made


def test_everything_comes_back_as_it_was(world: World, tmp_path: Path) -> None:
    reader = world.engine.store.read()
    made = documents_of(reader, WHOSE, PLENTY, PLENTY)
    store = SqliteStore(tmp_path / "back.db", lambda event: None)
    fill(store, made.documents, "default")

    def plain(side: SqliteStore) -> list[tuple[str, str, int, bool, int | None, str, tuple[str, ...]]]:
        found = side.read().each(MEMORIES, "default", order="version")
        return [(m.id, m.content, m.version, m.latest, m.valid_to, m.content_hash, m.audience) for m in found]

    assert plain(store) == plain(world.engine.store)
    assert made.left == {}
    assert store.verify() == []
    store.close()


def test_earlier_versions_are_the_first_to_be_left_out(world: World) -> None:
    made = documents_of(world.engine.store.read(), WHOSE, PLENTY, 1)

    assert made.left["versions"] == 30
    assert orjson.loads(made.documents[ABOUT])["left"] == made.left
    assert any(name.startswith("memories/") for name in made.documents)


def test_what_cannot_fit_at_all_is_refused(world: World) -> None:
    with pytest.raises(VaultFull):
        documents_of(world.engine.store.read(), WHOSE, 4_100, 4_100)


def test_a_newer_form_is_told_from_a_damaged_one() -> None:
    with pytest.raises(SnapshotTooNew):
        about_of({ABOUT: '{"format": "holdfast-compact/2"}'})
    with pytest.raises(SnapshotDamaged):
        about_of({ABOUT: '{"format": "holdfast-compact/1", "id": 7}'})
    with pytest.raises(SnapshotDamaged):
        about_of({ABOUT: "nothing"})


@each(
    "line",
    [
        "not json",
        "[]",
        "{}",
        '{"id": 7}',
        '{"id": "mem_1", "content": ["x"]}',
        '{"id": "mem_1", "content": "x", "version": "one"}',
        '{"id": "mem_1", "content": "x", "concepts": [1]}',
        '{"id": "mem_1", "content": "\\u0000"}',
        '{"id": "mem_1", "content": "x", "scope": "nowhere"}',
    ],
)
def test_what_is_no_record_is_refused_without_being_shown(line: str) -> None:
    with pytest.raises(SnapshotDamaged) as caught:
        list(records_in({"memories/0001.jsonl": line}, "default"))
    assert "mem_1" not in caught.value.message
    assert caught.value.__cause__ is None


def test_a_secret_in_the_documents_is_taken_out_as_it_comes_in() -> None:
    secret = "ghp_" + "R4nd0mT0kenXyZ9qW8eR7tY6uI5oP4aS3dF2"
    line = orjson.dumps({"id": "mem_1", "root": "mem_1", "content": f"token {secret}", "scope": "global"}).decode()
    ((_, memory),) = records_in({"memories/0001.jsonl": line}, "default")

    assert secret not in memory.content


def test_the_tenant_and_the_audience_are_not_the_documents_to_say() -> None:
    line = '{"id": "m", "root": "m", "content": "x", "tenant": "acme", "audience": ["nobody"], "latest": false}'
    ((_, memory),) = records_in({"memories/0001.jsonl": line}, "default")

    assert (memory.tenant, memory.audience, memory.latest) == ("default", ("all", "chats"), True)


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from([ABOUT, "memories/0001.jsonl", "slots/0001.jsonl", "removals/0001.jsonl"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["id", "content", "root", "label", "format", "left"]), inner, max_size=4
                )
            ),
        ).map(lambda value: orjson.dumps(value).decode() if _fits(value) else "x"),
    )
)
def test_whatever_the_documents_are_only_faults_come_of_them(documents: dict[str, str]) -> None:
    for read in (about_of, lambda some: list(records_in(some, "default"))):
        try:
            read(documents)  # type: ignore[operator]
        except Fault:
            continue


def _fits(value: object) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True
