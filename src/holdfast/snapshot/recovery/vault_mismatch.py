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
from holdfast.snapshot.repo.context import Archive
from holdfast.snapshot.repo.paths import sequence_of
from holdfast.vault.read_only import ReadOnly

_NOTE = "apart"  # beside the snapshots: the newest in the vault when this was noticed, the vault, and the signer
_MOST_BYTES = 4_096


def vault_mismatch(archive: Archive) -> RestorePending | None:
    """What to report about it, and how to bring the other memory in; None if there is none.

    Only a memory that has all snapshots that it ever made is compared with the vault: of others it may have forgotten
    those that the vault still has. What was found is noted: once there are snapshots of both in the vault, names do
    not distinguish them any more.

    Raises:
        Fault: the vault cannot be reached.
    """
    place = archive.settings.vault
    if not place or is_colony(place):
        return None
    noted = _noted(archive)
    if noted is None and _has_all(archive):
        noted = _compare_with_vault(archive, place)
    if noted is None:
        return None
    if noted.id in held_by(archive):
        with disk_faults(f"remove {_NOTE}"):
            _path(archive).unlink(missing_ok=True)
        return None
    return RestorePending(
        f"the vault has a memory that was never restored here; its newest snapshot is {noted.id}",
        hint=f"Merge it into this one: holdfast snapshot merge {noted.id} now {_trust(archive, noted)}--yes",
    )


@dataclass(frozen=True, slots=True)
class _OtherMemory:
    """The newest snapshot of the other memory, and who signed it."""

    id: str
    signer: str


def _has_all(archive: Archive) -> bool:
    numbers = {sequence_of(one.id) for one in archive.repo.each()}
    return len(numbers) == archive.repo.newest_expected() == max(numbers, default=0)


def _trust(archive: Archive, noted: _OtherMemory) -> str:
    """What a merge needs as further options."""
    if noted.signer:
        return "" if archive.keyring.accepts(noted.signer) else f"--trust {noted.signer} "
    return "--allow-unsigned " if archive.keyring.demands() else ""


def _compare_with_vault(archive: Archive, place: str) -> _OtherMemory | None:
    vault = ReadOnly(archive.vault(place))
    found = [] if is_missing(vault) else list_vault(vault, archive.tenant, archive.agent)
    whole = next((one.id for one in found if not one.damaged), None)
    if whole is None or not held_by(archive).isdisjoint(one.id for one in found):
        return None
    with disk_faults(f"write {_NOTE}"):
        make_folder(archive.repo.root)
    signer = vaulted_manifest(vault, archive.tenant, archive.agent, whole).signer or ""
    write_durably(_path(archive), f"{whole}\n{place}\n{signer}\n".encode())
    return _OtherMemory(whole, signer)


def _noted(archive: Archive) -> _OtherMemory | None:
    with suppress(OSError, ValueError):
        with _path(archive).open("rb") as file:
            id, place, *more = file.read(_MOST_BYTES).decode().split("\n")
        if is_id(id) and place == archive.settings.vault:
            return _OtherMemory(id, more[0] if more else "")
    return None


def _path(archive: Archive) -> Path:
    return archive.repo.root / _NOTE
