"""Encrypted snapshots: who can open them, and what others are told."""

from __future__ import annotations

import json

import colony_memory
import pyrage
import pytest
from mem_vault import MemVault
from rows import each

from holdfast.colony import (
    ColonyDamaged,
    ColonyInvalid,
    ColonyLocked,
    ColonyMemory,
    ColonyUntrusted,
    Ed25519Signer,
)

IDENTITY = pyrage.x25519.Identity.generate()
MINE, PUBLIC = str(IDENTITY), str(IDENTITY.to_public())
DOCUMENTS = {"secret.md": "the text", "b": "é" * 5}
ME = Ed25519Signer(bytes(range(32)))


def test_whoever_has_the_identity_restores_it(vault: MemVault) -> None:
    info = ColonyMemory(backend=vault, recipients=[PUBLIC], signer=ME).backup(DOCUMENTS)

    reader = ColonyMemory(backend=vault, identities=[MINE], trusted=[ME.did_key])

    assert reader.restore() == DOCUMENTS
    assert (info.doc_names, info.plaintext_sha256, info.signed) == ([], "", True)
    assert reader.list_snapshots() == [info]


def test_any_of_several_recipients_restores_it(vault: MemVault) -> None:
    other = pyrage.x25519.Identity.generate()
    ColonyMemory(backend=vault, recipients=[PUBLIC, str(other.to_public())]).backup(DOCUMENTS)

    assert ColonyMemory(backend=vault, identities=[str(other)]).restore() == DOCUMENTS


def test_without_the_identity_it_stays_locked(vault: MemVault) -> None:
    ColonyMemory(backend=vault, recipients=[PUBLIC]).backup(DOCUMENTS)
    stranger = str(pyrage.x25519.Identity.generate())

    for identities in ([], [stranger]):
        with pytest.raises(ColonyLocked):
            ColonyMemory(backend=vault, identities=identities).restore()


def test_a_reader_that_does_not_know_encryption_says_so(vault: MemVault) -> None:
    ColonyMemory(backend=vault, recipients=[PUBLIC]).backup(DOCUMENTS)

    with pytest.raises(ValueError, match="unsupported snapshot format"):
        colony_memory.ColonyMemory(backend=vault).restore()


def test_many_names_make_no_large_manifest(vault: MemVault) -> None:
    documents = {f"{number:040}.md": "" for number in range(30_000)}
    memory = ColonyMemory(backend=vault, recipients=[PUBLIC], identities=[MINE])

    memory.backup(documents)

    assert memory.restore() == documents


def test_encrypted_bytes_are_bound_by_the_signature(vault: MemVault) -> None:
    """Anyone can encrypt for a public key; only the signer can say that it is the memory."""
    ColonyMemory(backend=vault, recipients=[PUBLIC], signer=ME).backup({"a": "1"})
    evil = MemVault()
    ColonyMemory(backend=evil, recipients=[PUBLIC]).backup({"a": "EVIL"})
    mine, forged = json.loads(vault.files[vault.one(".p0.")]), json.loads(evil.files[evil.one(".p0.")])
    mine["b64"] = forged["b64"]
    vault.files[vault.one(".p0.")] = json.dumps(mine)
    reader = ColonyMemory(backend=vault, identities=[MINE], trusted=[ME.did_key])

    with pytest.raises(ColonyDamaged):
        reader.restore()
    with pytest.raises(ColonyUntrusted):
        ColonyMemory(backend=evil, identities=[MINE], trusted=[ME.did_key]).restore()


def test_an_encrypted_snapshot_is_not_taken_for_a_plain_one(vault: MemVault) -> None:
    ColonyMemory(backend=vault, recipients=[PUBLIC]).backup(DOCUMENTS)
    name = vault.one("manifest")
    vault.files[name] = vault.files[name].replace("colony-memory/1+age", "colony-memory/1")

    with pytest.raises(ValueError, match="unknown"):
        ColonyMemory(backend=vault, identities=[MINE]).restore()


@each("key", ["", "age1", "ssh-rsa x", MINE])
def test_a_recipient_must_be_a_public_key(key: str) -> None:
    with pytest.raises(ColonyInvalid) as caught:
        ColonyMemory(backend=MemVault(), recipients=[key])

    assert MINE not in str(caught.value)


def test_an_identity_is_never_quoted() -> None:
    wrong = MINE[:-1] + ("A" if MINE[-1] != "A" else "B")
    with pytest.raises(ColonyInvalid) as caught:
        ColonyMemory(backend=MemVault(), identities=[wrong])

    assert wrong not in repr(caught.value) + repr(caught.value.__context__)


def test_one_text_is_not_several() -> None:
    for name in ("recipients", "identities", "trusted"):
        with pytest.raises(ColonyInvalid):
            ColonyMemory(backend=MemVault(), **{name: PUBLIC})
