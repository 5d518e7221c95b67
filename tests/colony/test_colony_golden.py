"""Vaults that colony-memory 0.1.1 wrote are restored; tampered ones are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mem_vault import MemVault, golden
from rows import each
from world import CountingEntropy, StillClock

from holdfast.colony import ColonyMemory, ColonyMemoryError, Ed25519Signer
from holdfast.colony.file_names import series_of
from holdfast.colony.manifest import build, pointer_text
from holdfast.colony.payload import canonical, pack

pytestmark = pytest.mark.quick

GOLDEN = Path(__file__).parent / "golden"
SOUND = sorted(path.name for path in GOLDEN.glob("0*"))
TAMPERED = sorted(path.name for path in GOLDEN.glob("neg_*"))


def _case(folder: Path) -> dict:
    return json.loads((folder / "case.json").read_text(encoding="utf-8"))


@each("name", SOUND)
def test_a_golden_vault_is_restored(name: str) -> None:
    vault, folder = golden(name)
    case = _case(folder)
    trusted = [case["did_key"]] if case["did_key"] else None

    memory = ColonyMemory(backend=vault, trusted=trusted)

    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert memory.restore(label=case["backups"][0]["label"]) == expected


@each("name", TAMPERED)
def test_a_tampered_vault_is_refused(name: str) -> None:
    vault, folder = golden(name)
    case = _case(folder)
    memory = ColonyMemory(backend=vault, trusted=[case["trusted_did"]])

    with pytest.raises(ColonyMemoryError) as caught:
        memory.restore(label=case["label"])

    assert isinstance(caught.value, ValueError), "code that catches ValueError keeps working"


@each("name", SOUND)
def test_every_file_is_written_byte_for_byte(name: str) -> None:
    """The golden files are of Python 3.11; other versions write another byte for the system into gzip's header."""
    vault, folder = golden(name)
    case = _case(folder)
    [backup] = case["backups"]
    series = series_of(backup["label"])
    signer = Ed25519Signer(bytes.fromhex(case["signer_seed_hex"])) if case["signer_seed_hex"] else None
    documents = json.loads((folder / "expected.json").read_text(encoding="utf-8"))

    built = build(pack(documents, []), series, backup["snapshot_id"], backup["created_at"], signer)

    written = dict(built.files())
    written[series.pointer] = pointer_text(series, backup["snapshot_id"], backup["updated_at"])
    assert written == vault.files


@each("name", [name for name in SOUND if "signed" in name and "unsigned" not in name])
def test_the_signature_of_the_golden_manifest_is_made_again(name: str) -> None:
    vault, folder = golden(name)
    case = _case(folder)
    [(manifest_file, signed)] = case["signed_bytes_utf8"].items()
    manifest = json.loads(vault.files[manifest_file])
    signature = manifest.pop("signature")

    assert canonical(manifest) == signed.encode()

    signer = Ed25519Signer(bytes.fromhex(case["signer_seed_hex"]))
    assert signer.did_key == case["did_key"] == signature["key_id"]


def test_a_backup_after_golden_ones_comes_after_them() -> None:
    vault, _ = golden("01_unsigned")
    behind = StillClock(0)  # 1970
    memory = ColonyMemory(backend=vault, clock=behind, entropy=CountingEntropy())

    info = memory.backup({"new": "one"})

    assert info.snapshot_id == "20260619T051643894212Z-000001"
    assert memory.restore() == {"new": "one"}
    assert isinstance(vault, MemVault)
