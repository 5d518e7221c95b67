"""A memory that was begun apart from the one in its vault, as by a process that did not know of the vault.

It is never replaced and never merged without being asked: two hosts may share a vault by mistake. It says so until the
other memory was merged, restored, or the vault is another one.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from holdfast.disk import disk_faults, make_folder, write_durably
from holdfast.errors import RestorePending
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.compacts import is_colony
from holdfast.snapshot.lines import held_by
from holdfast.snapshot.manifest import is_id
from holdfast.snapshot.vaulting import is_missing, list_vault
from holdfast.vault.readonly import ReadOnly

_NOTE = "apart"  # beside the snapshots: the newest in the vault when this was noticed, and the vault
_MOST_BYTES = 4_096


def begun_apart(archive: Archive) -> RestorePending | None:
    """What to say about it, and how to bring the other memory in; None if there is none.

    Only a memory without a snapshot of its own is compared with the vault, so this asks a vault at the first starts
    alone. What was found is noted: once there are snapshots of both in the vault, names do not tell any more.

    Raises:
        Fault: the vault cannot be asked.
    """
    place = archive.settings.vault
    if not place or is_colony(place):
        return None
    noted = _noted(archive)
    if noted is None and not archive.shelf.newest_expected():
        noted = _look(archive, place)
    if noted is None:
        return None
    if noted in held_by(archive):
        with disk_faults(f"remove {_NOTE}"):
            _path(archive).unlink(missing_ok=True)
        return None
    return RestorePending(
        f"the vault holds a memory that was never restored here; its newest snapshot is {noted}",
        hint=f"Merge it into this one: holdfast snapshot merge {noted} now --yes",
    )


def _look(archive: Archive, place: str) -> str | None:
    vault = ReadOnly(archive.vault(place))
    found = [] if is_missing(vault) else list_vault(vault, archive.tenant, archive.agent)
    whole = next((one.id for one in found if not one.damaged), None)
    if whole is None or not held_by(archive).isdisjoint(one.id for one in found):
        return None
    with disk_faults(f"write {_NOTE}"):
        make_folder(archive.shelf.root)
    write_durably(_path(archive), f"{whole}\n{place}\n".encode())
    return whole


def _noted(archive: Archive) -> str | None:
    with suppress(OSError, ValueError):
        with _path(archive).open("rb") as file:
            id, place, _ = file.read(_MOST_BYTES).decode().split("\n")
        if is_id(id) and place == archive.settings.vault:
            return id
    return None


def _path(archive: Archive) -> Path:
    return archive.shelf.root / _NOTE
