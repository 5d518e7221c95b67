"""What brings a memory back from the vault that did not come back by itself: one command, with all that it needs."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.errors import (
    DataDamaged,
    Fault,
    IdentityNeeded,
    InvalidRequest,
    SnapshotDamaged,
    SnapshotOlder,
    SnapshotUntrusted,
)
from holdfast.core.ports import Vault
from holdfast.core.times import iso
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.remote.colony import is_colony
from holdfast.snapshot.remote.transfer import latest_in, list_vault, vaulted_manifest
from holdfast.snapshot.repo.context import Archive
from holdfast.snapshot.repo.latest import is_given_up
from holdfast.snapshot.repo.paths import sequence_of
from holdfast.snapshot.resolve import LATEST
from holdfast.vault.read_only import ReadOnly

IDENTITY = ("--identity", "FILE")
_LOOKED_AT = 10  # manifests; each is a request to the vault


def way_back(archive: Archive, cause: Fault) -> str:
    """The one command, or the one thing to do, that brings the memory back from the vault of the settings."""
    if isinstance(cause, SnapshotUntrusted):
        signer = cause.details.get("signer")
        if isinstance(signer, str):
            said = f"If these snapshots are yours, trust the key that signed them{_and_identity(archive)}"
            return f"{said}: {_restoring(archive, LATEST, '--trust', signer)}"
        return f"If these snapshots are yours, accept them unsigned: {_restoring(archive, LATEST, '--allow-unsigned')}"
    if isinstance(cause, SnapshotOlder):
        return f"If this is the newest one left, restore it: {_restoring(archive, LATEST, '--allow-older')}"
    if isinstance(cause, IdentityNeeded | InvalidRequest):
        said = "" if isinstance(cause, IdentityNeeded) else f"{cause.message}. "
        return (
            f"{said}{_without_identity(archive)}Set HOLDFAST_SNAPSHOT_IDENTITY to the file with the age "
            f"identity that decrypts it, or pass the file once: {_restoring(archive, LATEST, *IDENTITY)}"
        )
    if isinstance(cause, SnapshotDamaged | DataDamaged):
        return older(archive, _latest_id(archive))
    return cause.hint


def _restoring(archive: Archive, name: str, *words: str) -> str:
    """The command with all that this snapshot needs."""
    manifest = _manifest_of(archive, name)
    needed = [word for word in needs(archive, manifest) if word not in words] if manifest is not None else []
    return " ".join(("holdfast snapshot restore", name, *words, *needed, "--yes"))


def needs(archive: Archive, manifest: Manifest) -> list[str]:
    """The options without which a restore of that snapshot would be refused."""
    words: list[str] = []
    if manifest.signer is not None and not archive.keyring.accepts(manifest.signer):
        words += ["--trust", manifest.signer]
    elif manifest.signer is None and archive.keyring.demands():
        words.append("--allow-unsigned")
    if manifest.encrypted and not archive.settings.snapshot_identity:
        words += IDENTITY
    return words


def _and_identity(archive: Archive) -> str:
    manifest = _manifest_of(archive, LATEST)
    needed = manifest is not None and IDENTITY[0] in needs(archive, manifest)
    return ", and pass the file with the age identity that decrypts them" if needed else ""


def _without_identity(archive: Archive) -> str:
    """Which one can be opened without it, if there is one."""
    found = next((one for one in _manifests(archive) if not one.encrypted and not is_given_up(one.identity)), None)
    if found is None:
        return ""
    return (
        f"Without the identity, {found.identity.id} of {iso(found.identity.created_at)} is the newest one that "
        "can be restored: use its id instead of latest, without --identity. "
    )


def older(archive: Archive, damaged: str | None) -> str:
    """One in the vault of the settings is damaged: which older one to use instead."""
    number = sequence_of(damaged) if damaged is not None else None
    before = [one for one in _manifests(archive) if number is None or one.identity.sequence < number]
    found = next((one for one in before if not is_given_up(one.identity)), next(iter(before), None))
    said = f"Snapshot {damaged} in the vault is damaged" if damaged else "The newest snapshot in the vault is damaged"
    if found is None:
        return f"{said}, and there is no older one. Run: holdfast vault verify"
    made = iso(found.identity.created_at)
    return f"{said}. Restore the previous one, of {made}: {_restoring(archive, found.identity.id)}"


def _vault(archive: Archive) -> Vault | None:
    place = archive.settings.vault
    return None if not place or is_colony(place) else ReadOnly(archive.vault(place))


def _latest_id(archive: Archive) -> str | None:
    vault = _vault(archive)
    try:
        return latest_in(vault, archive.tenant, archive.agent).id if vault is not None else None
    except Fault:
        return None


def _manifest_of(archive: Archive, name: str) -> Manifest | None:
    vault, id = _vault(archive), _latest_id(archive) if name == LATEST else name
    return _read(archive, vault, id) if vault is not None and id is not None else None


def _manifests(archive: Archive) -> Iterator[Manifest]:
    """The manifests of the snapshots in the vault that are whole by their names, newest first."""
    vault = _vault(archive)
    try:
        found = list_vault(vault, archive.tenant, archive.agent) if vault is not None else []
    except Fault:
        return
    for one in found[:_LOOKED_AT]:
        if not one.damaged and vault is not None and (manifest := _read(archive, vault, one.id)) is not None:
            yield manifest


def _read(archive: Archive, vault: Vault, id: str) -> Manifest | None:
    try:
        return vaulted_manifest(vault, archive.tenant, archive.agent, id)
    except Fault:
        return None
