"""What to use instead of a snapshot that is damaged or gone: the vault's copy of it, or the newest that is whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from shlex import quote

from holdfast.core.errors import Fault, NotFound, SnapshotDamaged, SnapshotOlder
from holdfast.snapshot.journal.journal_layout import is_line
from holdfast.snapshot.journal.journal_moment import has_journal
from holdfast.snapshot.recovery.restore_hints import older
from holdfast.snapshot.remote.colony import ColonySnapshots, is_colony
from holdfast.snapshot.remote.transfer import VaultEntry, is_missing, latest_in, list_vault, must_be_there, with_packs
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.entries import SnapshotEntry
from holdfast.snapshot.repo.paths import is_id_prefix, sequence_of
from holdfast.snapshot.resolve import LATEST, SnapshotSelector
from holdfast.vault.restriction import ReadOnly

RESTORE_COMMAND = "holdfast snapshot restore {} --yes"


def also_in_vault(context: SnapshotContext, named: SnapshotSelector) -> SnapshotSelector:
    """The same snapshot, in the vault of the settings if it is not here, or if the newest here is damaged or gone and
    the vault has it. So a command that brings a memory back needs no address."""
    place = context.settings.vault
    if named.vault or not place or not (named.name == LATEST or is_id_prefix(named.name) or is_line(named.name)):
        return named
    if is_line(named.name):
        return replace(named, vault=place)
    try:
        context.repo.find(named.name)
    except NotFound:
        return replace(named, vault=place)
    if named.name == LATEST and not is_colony(place) and _is_newer(context, place):
        return replace(named, vault=place)
    return named


def _is_newer(context: SnapshotContext, place: str) -> bool:
    """Whether the repository lacks the vault's latest. An unreachable vault has nothing to
    offer."""
    here = context.repo.latest()
    number = here.sequence if here is not None else 0
    if here is not None and context.repo.is_complete() and not damaged_after(context, number):
        return False
    try:
        vault = ReadOnly(context.vault(place))
        return not is_missing(vault) and sequence_of(latest_in(vault, context.tenant, context.agent).id) > number
    except Fault:
        return False


def journal_place(context: SnapshotContext) -> str | None:
    """The vault of the settings if its journal goes on after the newest snapshot that is known here, so that restoring
    `latest` from there brings the most. None if it has no journal, or lacks a snapshot that the repository has.

    Raises:
        Fault: the vault cannot be reached; what it has may be more than is here.
    """
    place = context.settings.vault
    if not place or is_colony(place):
        return None
    vault = ReadOnly(context.vault(place))
    must_be_there(vault)
    if not has_journal(vault, context.tenant, context.agent):
        return None
    here = context.repo.newest()
    try:
        there = sequence_of(latest_in(vault, context.tenant, context.agent).id)
    except NotFound:
        there = 0
    return place if here is None or there >= here.sequence else None


def restorable(context: SnapshotContext) -> str | None:
    """The snapshot that restoring `latest` would take; None if there is none.

    Raises:
        Fault: the vault cannot be reached, and nothing is in the repository.
    """
    named = also_in_vault(context, SnapshotSelector(LATEST))
    if not named.vault:
        here = context.repo.latest() or context.repo.newest()
        return here.id if here is not None else None
    if is_colony(named.vault):
        newest = ColonySnapshots(context, named.vault).newest()
        return newest.snapshot_id if newest is not None else None
    vault = ReadOnly(context.vault(named.vault))
    must_be_there(vault)
    try:
        return latest_in(vault, context.tenant, context.agent).id
    except NotFound:
        return None


def damaged_after(context: SnapshotContext, number: int) -> list[SnapshotEntry]:
    """Damaged snapshots in the repository that are newer than that number, newest first."""
    return [one for one in context.repo.each() if one.damaged and one.sequence > number]


@contextmanager
def offered(context: SnapshotContext, named: SnapshotSelector, command: str) -> Iterator[None]:
    """Let a refusal of a snapshot in the repository name the one to use instead; `command` has a place for its name."""
    try:
        yield
    except SnapshotDamaged as fault:
        id = fault.details.get("snapshot")
        if isinstance(id, str) and not named.vault:
            fault.hint = instead(context, id, command) or fault.hint
        elif isinstance(id, str) and named.vault == context.settings.vault and command == RESTORE_COMMAND:
            fault.hint = older(context, id)
        raise
    except SnapshotOlder as fault:
        id = fault.details.get("snapshot")
        if not named.vault and named.name == LATEST and isinstance(id, str):
            fault.hint = (
                "The newest snapshot is missing from this data folder. If this is the newest one left, "
                f"restore it: {command.format(id)}"
            )
        raise
    except NotFound as fault:
        if not named.vault and not context.settings.vault and not context.repo.count():
            fault.hint = (
                "This data folder has no snapshots. List those in a vault with holdfast vault list VAULT, "
                f"then restore one: {command.format(f'{_word(named.name)} --from VAULT')}"
            )
        raise


def _word(name: str) -> str:
    return name if name == LATEST or is_id_prefix(name) else "ID"


def instead(context: SnapshotContext, id: str, command: str) -> str | None:
    """A sentence with the command that uses another one than that damaged one; None if there is none."""
    there: list[VaultEntry] = []
    place = context.settings.vault
    with suppress(Fault):  # without the vault's answer the repository alone is looked at
        there = _whole_in(context, place) if place else []
    if any(one.id == id for one in there):
        return f"The vault has a copy: {command.format(f'{id} --from {quote(place)}')}"
    here = next((one.id for one in context.repo.each() if not one.damaged and one.id != id), None)
    if here is not None:
        latest = context.repo.latest()
        other = latest.id if latest is not None and latest.id != id else here
        return f"Restore the newest intact one: {command.format(other)}"
    if there:
        return f"Restore the newest one in the vault: {command.format(f'{there[0].id} --from {quote(place)}')}"
    return None


def _whole_in(context: SnapshotContext, place: str) -> list[VaultEntry]:
    if is_colony(place):
        return []
    vault = ReadOnly(context.vault(place))
    if is_missing(vault):
        return []
    found = list_vault(vault, context.tenant, context.agent)
    return [one for one in with_packs(vault, context.tenant, context.agent, found) if not one.damaged]
