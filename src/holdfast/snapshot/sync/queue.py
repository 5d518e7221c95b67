"""Snapshots on their way to the vault of the settings: at once, or later if it is unreachable.

A snapshot once made stays, whatever the vault does. No request to the memory fails because a vault is unreachable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from holdfast.core.errors import Conflict, Fault, InvalidSettings, StorageFailed, StorageFull, UpstreamFailed
from holdfast.snapshot.remote.layout import StagedMemory
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.send_marks import note_sent, unsent
from holdfast.snapshot.sync.send_backlog import waiting
from holdfast.snapshot.sync.vault_target import target_of

AWAY: tuple[type[Fault], ...] = (UpstreamFailed, StorageFull, StorageFailed, Conflict, InvalidSettings)
NOTHING: Mapping[str, StagedMemory] = MappingProxyType({})
MADE = "The snapshot itself was created."
LATER = f"{MADE} The server uploads it when the vault is available; so does holdfast vault sync."


def put_in_vault(context: SnapshotContext, id: str, named: str | None, fresh: StagedMemory | None = None) -> None:
    """Copy a snapshot to the vault that is named, or to the one in the settings; to none if there is none.

    `fresh` is what it was packed from, if that is still there.

    Raises:
        Fault: the vault did not take it; the snapshot stays in the repository, and the fault reports that.
    """
    place = named or context.settings.vault
    if not place:
        return
    try:
        target_of(context, place).send(id, fresh)
    except AWAY as fault:
        fault.details = {**fault.details, "id": id}
        # The server knows the vault of the settings only.
        later = LATER if place == context.settings.vault else f"{MADE} Upload it with: holdfast vault sync {place}"
        fault.hint = f"{fault.hint} {later}"
        raise
    if place == context.settings.vault:
        note_sent(context.repo.root, id)


def send_waiting(context: SnapshotContext, fresh: Mapping[str, StagedMemory] = NOTHING) -> None:
    """Copy what waits, and the newest snapshot if the vault has not got it, however that came.

    `fresh` is what some were packed from, if that is still there.

    Raises:
        Fault: some could not be sent; the others were.
    """
    place, repo = context.settings.vault, context.repo
    if not place:
        return
    newest = repo.newest()
    if newest is None:
        return
    wanted = dict.fromkeys((newest.id, *unsent(repo.root)))
    target = target_of(context, place)
    lacking = target.lacking(wanted)
    faults: list[Fault] = []
    for id in wanted:
        try:
            if id in lacking:
                target.send(id, fresh.get(id))
            note_sent(repo.root, id)
        except Fault as fault:
            faults.append(fault)
    if faults:
        raise faults[0]


def offer_waiting(context: SnapshotContext, fresh: Mapping[str, StagedMemory] = NOTHING) -> str | None:
    """The same in one try, for work that must not fail for it: why the vault has not got it, or None."""
    if not waiting(context):
        return None
    once = dataclasses.replace(context.settings, vault_attempts=1)
    try:
        send_waiting(dataclasses.replace(context, settings=once), fresh)
    except AWAY as fault:
        return fault.message
    return None
