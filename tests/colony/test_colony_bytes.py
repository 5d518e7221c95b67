"""What is written here is byte for byte what colony-memory 0.1.1 writes: parts, manifest and pointer."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import colony_memory
import colony_memory.client
import colony_memory.snapshot
import pytest
from hypothesis import given, settings, strategies as st
from mem_vault import MemVault
from world import CountingEntropy, StillClock

from holdfast.colony import ColonyMemory, Ed25519Signer

SEED = bytes(range(32))
NOW_MS = 1_781_846_203_894
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


@pytest.fixture
def same_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """colony-memory takes time and chance from the system; both are held still."""
    now = datetime.fromtimestamp(NOW_MS // 1000, UTC) + timedelta(milliseconds=NOW_MS % 1000)
    id = f"{now:%Y%m%dT%H%M%S}{now.microsecond:06}Z-000001"
    monkeypatch.setattr(colony_memory.client, "_new_snapshot_id", lambda: id)
    monkeypatch.setattr(colony_memory.client, "_now_iso", lambda: f"{now:%Y-%m-%dT%H:%M:%SZ}")


def both(documents: dict[str, str], label: str, signed: bool) -> tuple[dict[str, str], dict[str, str]]:
    """The files that each of the two writes."""
    ours, theirs = MemVault(), MemVault()
    ColonyMemory(
        backend=ours,
        signer=Ed25519Signer(SEED) if signed else None,
        clock=StillClock(NOW_MS),
        entropy=CountingEntropy(),
    ).backup(documents, label=label)
    colony_memory.ColonyMemory(backend=theirs, signer=colony_memory.Ed25519Signer(SEED) if signed else None).backup(
        documents, label=label
    )
    return ours.files, theirs.files


@pytest.mark.usefixtures("same_moment")
@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("label", ["default", "Nightly Backup!", "a.b"])
@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
def test_both_write_the_same_files(kind: str, label: str, signed: bool) -> None:
    ours, theirs = both(DOCUMENTS[kind], label, signed)

    assert ours == theirs
    assert len(ours) >= 3


text = st.text(st.characters(exclude_categories=["Cs"]))


@settings(max_examples=60)
@given(st.dictionaries(text, text, min_size=1))
def test_any_documents_become_the_same_parts_and_manifest(documents: dict[str, str]) -> None:
    from holdfast.colony.file_names import series_of
    from holdfast.colony.manifest import build
    from holdfast.colony.payload import pack

    id, when = "20260619T051643894211Z-74ec50", "2026-06-19T05:16:43Z"
    mine = build(pack(documents, []), series_of("x"), id, when, Ed25519Signer(SEED))
    theirs = colony_memory.snapshot.build(
        documents, label="x", snapshot_id=id, created_at=when, signer=colony_memory.Ed25519Signer(SEED)
    )

    assert dict(mine.files()) == dict(theirs.files)
