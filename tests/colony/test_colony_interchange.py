"""What colony-memory 0.1.1 writes is read here, and what is written here it reads: over the real SDK, both ways."""

from __future__ import annotations

import random
from typing import Any

import colony_memory
import pytest
from colony_sdk import ColonyClient
from colony_server import KEY, Colony
from hypothesis import given, settings, strategies as st
from mem_vault import MemVault
from rows import each

from holdfast.colony import ColonyMemory, Ed25519Signer

SEED = bytes(range(32))
DOCUMENTS: dict[str, dict[str, str]] = {
    "plain": {"MEMORY.md": "# facts\n", "soul.txt": ""},
    "unicode": {
        "日本語.txt": "記憶 🧠",
        "～": "BMP",
        "🧠": "astral",
        "": "no name",
        "a/../b": "\x00\x1f\x7f\u2028\ufeff",
    },
    "parts": {"big": random.Random(7).randbytes(900_000).hex(), "small": "x"},
}
each_kind = pytest.mark.parametrize("kind", DOCUMENTS)
signed_or_not = pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])


def _ours(colony: Colony, signed: bool) -> ColonyMemory:
    return ColonyMemory(KEY, base_url=colony.url, signer=Ed25519Signer(SEED) if signed else None)


def _theirs(colony: Colony, signed: bool) -> Any:
    signer = colony_memory.Ed25519Signer(SEED) if signed else None
    return colony_memory.ColonyMemory(KEY, base_url=colony.url, signer=signer)


@each_kind
@signed_or_not
def test_what_colony_memory_wrote_is_restored(colony: Colony, kind: str, signed: bool) -> None:
    written = _theirs(colony, signed).backup(DOCUMENTS[kind], label="Nightly Backup!")
    ours = _ours(colony, signed)

    assert ours.restore(label="Nightly Backup!") == DOCUMENTS[kind]
    [listed] = ours.list_snapshots()
    assert vars(listed) == vars(written) == vars(ours.latest(label="Nightly Backup!"))


@each_kind
@signed_or_not
def test_colony_memory_restores_what_was_written_here(colony: Colony, kind: str, signed: bool) -> None:
    written = _ours(colony, signed).backup(DOCUMENTS[kind], label="Nightly Backup!")
    theirs = _theirs(colony, signed)

    assert theirs.restore(label="Nightly Backup!") == DOCUMENTS[kind]
    [listed] = theirs.list_snapshots()
    assert vars(listed) == vars(written) == vars(theirs.latest(label="Nightly Backup!"))


def test_both_write_to_one_label_in_turn(colony: Colony) -> None:
    ours, theirs = _ours(colony, True), _theirs(colony, True)
    for turn in range(6):
        (ours, theirs)[turn % 2].backup({"turn": str(turn)}, prune_keep=3)

        assert ours.restore() == theirs.restore() == {"turn": str(turn)}

    assert [one.snapshot_id for one in ours.list_snapshots()] == [one.snapshot_id for one in theirs.list_snapshots()]
    assert len(ours.list_snapshots()) == 3
    assert ours.prune(label="default", keep=1) == 2
    assert theirs.restore() == {"turn": "5"}


def test_after_the_latest_is_deleted_colony_memory_finds_the_one_before(colony: Colony) -> None:
    ours, theirs = _ours(colony, False), _theirs(colony, False)
    ours.backup({"turn": "1"})
    last = ours.backup({"turn": "2"})

    ours.delete_snapshot(label="default", snapshot_id=last.snapshot_id)
    assert ours.restore() == theirs.restore() == {"turn": "1"}

    ours.delete_snapshot(label="default", snapshot_id=ours.list_snapshots()[0].snapshot_id)
    assert colony.files == {}
    with pytest.raises(colony_memory.SnapshotNotFound):
        theirs.restore()


def test_the_unchanged_client_of_the_sdk_serves_as_backend(colony: Colony) -> None:
    memory = ColonyMemory(backend=ColonyClient(KEY, base_url=colony.url))

    memory.backup(DOCUMENTS["parts"], prune_keep=1)
    memory.backup(DOCUMENTS["unicode"], prune_keep=1)

    assert memory.restore() == DOCUMENTS["unicode"]
    assert len(memory.list_snapshots()) == 1
    assert memory.status() == _theirs(colony, False).status()


def test_keys_are_the_same_on_both_sides() -> None:
    ours, theirs = Ed25519Signer(SEED), colony_memory.Ed25519Signer(SEED)

    assert ours.did_key == theirs.did_key == "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd"
    assert ours.sign(b"x") == theirs.sign(b"x")
    assert ours.seed == SEED
    assert Ed25519Signer.generate().did_key != Ed25519Signer.generate().did_key
    assert SEED.hex() not in repr(ours)


def test_their_signer_signs_here(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault, signer=colony_memory.Ed25519Signer(SEED))
    memory.backup({"a": "1"})

    assert ColonyMemory(backend=vault, signer=Ed25519Signer(SEED)).restore() == {"a": "1"}


def test_the_names_of_the_original_are_here() -> None:
    import holdfast.colony

    ours = set(dir(holdfast.colony))
    assert {name for name in colony_memory.__all__ if name != "__version__"} <= ours
    assert holdfast.colony.FORMAT == colony_memory.FORMAT


def test_the_export_for_progenly_is_the_same_and_has_an_inverse(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    export = memory.to_progenly_export(DOCUMENTS["unicode"])

    assert export == colony_memory.ColonyMemory(backend=vault).to_progenly_export(DOCUMENTS["unicode"])
    assert memory.from_progenly_export(export) == DOCUMENTS["unicode"]


@each(
    "export", [{}, {"memory": {}}, {"memory": {"a": 1}, "memory_format": "colony-memory/1"}, {"memory": [], "memory_format": "colony-memory/1"}, None]
)  # fmt: skip
def test_what_is_no_export_is_refused(export: Any) -> None:
    with pytest.raises(ValueError, match="export"):
        ColonyMemory.from_progenly_export(export)


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(documents=st.dictionaries(text, text, min_size=1, max_size=6), signed=st.booleans())
@settings(max_examples=60)
def test_any_documents_go_both_ways(documents: dict[str, str], signed: bool) -> None:
    vault = MemVault()
    ours = ColonyMemory(backend=vault, signer=Ed25519Signer(SEED) if signed else None)
    theirs = colony_memory.ColonyMemory(backend=vault, signer=colony_memory.Ed25519Signer(SEED) if signed else None)

    ours.backup(documents)
    assert theirs.restore() == ours.restore() == documents
    there = theirs.backup(documents)
    assert ours.restore(snapshot_id=there.snapshot_id) == documents
