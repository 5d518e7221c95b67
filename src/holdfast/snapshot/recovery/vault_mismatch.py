"""A memory that was begun apart from the one in its vault, as by a process that had no vault configured.

It is never replaced and never merged without a request: two hosts may share a vault by mistake. It is reported until
the other memory was merged or restored, or the vault is another one.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.disk import disk_faults, make_folder, write_durably
from holdfast.core.errors import RestorePending
from holdfast.snapshot.bundle.manifest import is_id
from holdfast.snapshot.remote.colony import is_colony
from holdfast.snapshot.remote.forks import held_by
from holdfast.snapshot.remote.transfer import is_missing, list_vault, vaulted_manifest
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.paths import sequence_of
from holdfast.vault.restriction import ReadOnly

_NOTE = "apart"  # beside the snapshots: the newest in the vault when this was noticed, the vault, and the signer
_MOST_BYTES = 4_096


def vault_mismatch(context: SnapshotContext) -> RestorePending | None:
    """What to report about it, and how to bring the other memory in; None if there is none.

    Only a memory that has all snapshots that it ever made is compared with the vault: of others it may have forgotten
    those that the vault still has. What was found is noted: once there are snapshots of both in the vault, names do
    not distinguish them any more.

    Raises:
        Fault: the vault cannot be reached.
    """
    place = context.settings.vault
    if not place or is_colony(place):
        return None
    noted = _noted(context)
    if noted is None and _has_all(context):
        noted = _compare_with_vault(context, place)
    if noted is None:
        return None
    if noted.id in held_by(context):
        with disk_faults(f"remove {_NOTE}"):
            _path(context).unlink(missing_ok=True)
        return None
    return RestorePending(
        f"the vault has a memory that was never restored here; its newest snapshot is {noted.id}",
        hint=f"Merge it into this one: holdfast snapshot merge {noted.id} now {_trust(context, noted)}--yes",
    )


@dataclass(frozen=True, slots=True)
class _OtherMemory:
    """The newest snapshot of the other memory, and who signed it."""

    id: str
    signer: str


def _has_all(context: SnapshotContext) -> bool:
    numbers = {sequence_of(one.id) for one in context.repo.each()}
    return len(numbers) == context.repo.newest_expected() == max(numbers, default=0)


def _trust(context: SnapshotContext, noted: _OtherMemory) -> str:
    """What a merge needs as further options."""
    if noted.signer:
        return "" if context.keyring.accepts(noted.signer) else f"--trust {noted.signer} "
    return "--allow-unsigned " if context.keyring.demands() else ""


def _compare_with_vault(context: SnapshotContext, place: str) -> _OtherMemory | None:
    vault = ReadOnly(context.vault(place))
    found = [] if is_missing(vault) else list_vault(vault, context.tenant, context.agent)
    whole = next((one.id for one in found if not one.damaged), None)
    if whole is None or not held_by(context).isdisjoint(one.id for one in found):
        return None
    with disk_faults(f"write {_NOTE}"):
        make_folder(context.repo.root)
    signer = vaulted_manifest(vault, context.tenant, context.agent, whole).signer or ""
    write_durably(_path(context), f"{whole}\n{place}\n{signer}\n".encode())
    return _OtherMemory(whole, signer)


def _noted(context: SnapshotContext) -> _OtherMemory | None:
    with suppress(OSError, ValueError):
        with _path(context).open("rb") as file:
            id, place, *more = file.read(_MOST_BYTES).decode().split("\n")
        if is_id(id) and place == context.settings.vault:
            return _OtherMemory(id, more[0] if more else "")
    return None


def _path(context: SnapshotContext) -> Path:
    return context.repo.root / _NOTE
