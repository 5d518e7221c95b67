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
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.latest import is_given_up
from holdfast.snapshot.repo.paths import sequence_of
from holdfast.snapshot.resolve import LATEST
from holdfast.vault.restriction import ReadOnly

ANOTHER_VAULT = "set HOLDFAST_VAULT to another place: what is in this one stays."
IDENTITY = ("--identity", "FILE")
_LOOKED_AT = 10  # manifests; each is a request to the vault


def way_back(context: SnapshotContext, cause: Fault) -> str:
    """The one command, or the one thing to do, that brings the memory back from the vault of the settings."""
    if isinstance(cause, SnapshotUntrusted):
        signer = cause.details.get("signer")
        if isinstance(signer, str):
            said = f"If these snapshots are yours, trust the key that signed them{_and_identity(context)}"
            return f"{said}: {_restoring(context, LATEST, '--trust', signer)}"
        return f"If these snapshots are yours, accept them unsigned: {_restoring(context, LATEST, '--allow-unsigned')}"
    if isinstance(cause, SnapshotOlder):
        return f"If this is the newest one left, restore it: {_restoring(context, LATEST, '--allow-older')}"
    if isinstance(cause, IdentityNeeded | InvalidRequest):
        said = "" if isinstance(cause, IdentityNeeded) else f"{cause.message}. "
        return (
            f"{said}{_without_identity(context)}Set HOLDFAST_SNAPSHOT_IDENTITY to the file with the age "
            f"identity that decrypts it, or pass the file once: {_restoring(context, LATEST, *IDENTITY)}"
        )
    if "missing" in cause.details:
        return f"Restore what comes before it: {_restoring(context, LATEST, '--partial')}"
    if isinstance(cause, SnapshotDamaged | DataDamaged):
        return older(context, _latest_id(context))
    return cause.hint


def _restoring(context: SnapshotContext, name: str, *words: str) -> str:
    """The command with all that this snapshot needs."""
    manifest = _manifest_of(context, name)
    needed = [word for word in needs(context, manifest) if word not in words] if manifest is not None else []
    return " ".join(("holdfast snapshot restore", name, *words, *needed, "--yes"))


def needs(context: SnapshotContext, manifest: Manifest) -> list[str]:
    """The options without which a restore of that snapshot would be refused."""
    words: list[str] = []
    if manifest.signer is not None and not context.keyring.accepts(manifest.signer):
        words += ["--trust", manifest.signer]
    elif manifest.signer is None and context.keyring.demands():
        words.append("--allow-unsigned")
    if manifest.encrypted and not context.settings.snapshot_identity:
        words += IDENTITY
    return words


def _and_identity(context: SnapshotContext) -> str:
    manifest = _manifest_of(context, LATEST)
    needed = manifest is not None and IDENTITY[0] in needs(context, manifest)
    return ", and pass the file with the age identity that decrypts them" if needed else ""


def _without_identity(context: SnapshotContext) -> str:
    """Which one can be opened without it, if there is one."""
    found = next((one for one in _manifests(context) if not one.encrypted and not is_given_up(one.identity)), None)
    if found is None:
        return ""
    return (
        f"Without the identity, {found.identity.id} of {iso(found.identity.created_at)} is the newest one that "
        "can be restored: use its id instead of latest, without --identity. "
    )


def older(context: SnapshotContext, damaged: str | None) -> str:
    """One in the vault of the settings is damaged: which older one to use instead."""
    number = sequence_of(damaged) if damaged is not None else None
    before = [one for one in _manifests(context) if number is None or one.identity.sequence < number]
    found = next((one for one in before if not is_given_up(one.identity)), next(iter(before), None))
    said = f"Snapshot {damaged} in the vault is damaged" if damaged else "The newest snapshot in the vault is damaged"
    if found is None:
        return f"{said}, and there is no older one. To begin with an empty memory, {ANOTHER_VAULT}"
    made = iso(found.identity.created_at)
    return f"{said}. Restore the previous one, of {made}: {_restoring(context, found.identity.id)}"


def _vault(context: SnapshotContext) -> Vault | None:
    place = context.settings.vault
    return None if not place or is_colony(place) else ReadOnly(context.vault(place))


def _latest_id(context: SnapshotContext) -> str | None:
    vault = _vault(context)
    try:
        return latest_in(vault, context.tenant, context.agent).id if vault is not None else None
    except Fault:
        return None


def _manifest_of(context: SnapshotContext, name: str) -> Manifest | None:
    vault, id = _vault(context), _latest_id(context) if name == LATEST else name
    return _read(context, vault, id) if vault is not None and id is not None else None


def _manifests(context: SnapshotContext) -> Iterator[Manifest]:
    """The manifests of the snapshots in the vault that are whole by their names, newest first."""
    vault = _vault(context)
    try:
        found = list_vault(vault, context.tenant, context.agent) if vault is not None else []
    except Fault:
        return
    for one in found[:_LOOKED_AT]:
        if not one.damaged and vault is not None and (manifest := _read(context, vault, one.id)) is not None:
            yield manifest


def _read(context: SnapshotContext, vault: Vault, id: str) -> Manifest | None:
    try:
        return vaulted_manifest(vault, context.tenant, context.agent, id)
    except Fault:
        return None
