"""The start of an empty data folder: the vault's memory is restored before anything is written.

Until it is, nothing is read and nothing is written. A memory that began empty in its place would look like the
newest one, would answer "nothing found", and its first write would keep the vault's memory from coming back by itself.
What hooks send meanwhile is refused for now and spooled by them.

A folder is empty without a generation, whatever keys, locks, logs or spooled events lie in it, and also with one that
holds no memory and never had a snapshot: a process that did not know the vault began that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from holdfast.core.errors import Fault, InvalidSettings, RestorePending, VaultRefused
from holdfast.snapshot.journal.journal_moment import has_journal
from holdfast.snapshot.recovery.pending_restore import BEGIN_EMPTY, begin_waiting, is_waiting
from holdfast.snapshot.recovery.restore_hints import way_back
from holdfast.snapshot.remote.colony import ColonySnapshots, is_colony
from holdfast.snapshot.remote.transfer import is_missing, list_vault
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.resolve import LATEST, SnapshotSelector
from holdfast.snapshot.restore import RestoreResult, plant, restore
from holdfast.snapshot.sources.capture import folders_of
from holdfast.snapshot.switch import ORIGIN
from holdfast.store.data_folder import DataFolder
from holdfast.store.port import Reader
from holdfast.store.tables import AUDIT, NOT_MEMORY

# What is done to a folder before there is any memory in it.
_PREPARING = frozenset({"token_create", "token_revoke", "key_new", "key_trust", "key_untrust", "key_follow"})
_LOOKED_AT = 100
_MOUNT = (
    "Mount its disk, or set HOLDFAST_VAULT to its new location; the memory is then restored automatically. "
    f"Only if this vault was never used, start with an empty memory: {BEGIN_EMPTY}"
)


def begin_from_vault(context: SnapshotContext, folder: DataFolder) -> RestoreResult | None:
    """Restore what the vault has of this memory into a folder without a generation; None if the vault holds none.

    Raises:
        RestorePending: it could not be restored; the hint names the next step.
        InvalidSettings: the settings name no vault.
    """
    with pending_restore(context):
        if not has_any(context):
            return None
        return plant(context, SnapshotSelector(LATEST, vault=context.settings.vault), folder)


def fill_from_vault(context: SnapshotContext) -> RestoreResult | None:
    """The same for a live memory with nothing in it. Its tokens stay. Faults as of `begin_from_vault`."""
    with pending_restore(context):
        if not has_any(context):
            return None
        return restore(context, SnapshotSelector(LATEST, vault=context.settings.vault))


def is_blank(context: SnapshotContext, reader: Reader) -> bool:
    """Whether a memory was begun here and nothing was ever put into it: no record, no snapshot, no restore."""
    folder = DataFolder(context.home)
    if context.repo.newest_expected() or (context.home / folder.current() / ORIGIN).exists():
        return False
    stored = set(reader.sizes()) - NOT_MEMORY
    if stored or any(one.path.exists() for one in folders_of(context)):
        return False
    done = reader.find(AUDIT, context.tenant, limit=_LOOKED_AT)
    return len(done) < _LOOKED_AT and all(one.operation in _PREPARING for one in done)


def has_any(context: SnapshotContext) -> bool:
    """Whether the vault holds a snapshot of this memory. An unreachable one is not empty, nor is one that was
    waited for before: an empty folder may be where its disk is to be mounted."""
    place = context.settings.vault
    if is_colony(place):
        found = ColonySnapshots(context, place).newest() is not None
        if not found and is_waiting(context.home):
            raise VaultRefused("vault: it has no snapshot of this memory, which is waiting to be restored", hint=_MOUNT)
        return found
    vault = context.vault(place)
    if is_missing(vault):
        raise VaultRefused(
            f"vault: {vault.place} does not exist, and this memory may be in it",
            hint=_MOUNT,
        )
    found = bool(list_vault(vault, context.tenant, context.agent)) or has_journal(vault, context.tenant, context.agent)
    if not found and is_waiting(context.home):
        raise VaultRefused(f"vault: {vault.place} has no snapshot of this memory, but may have held one", hint=_MOUNT)
    return found


@contextmanager
def pending_restore(context: SnapshotContext) -> Iterator[None]:
    """Faults of the block as `RestorePending`, with the next step."""
    try:
        yield
    except InvalidSettings:  # no vault that could be tried again
        raise
    except Fault as cause:
        with suppress(Fault):  # a full disk: the fault itself is what matters
            begin_waiting(context.home)
        pending = RestorePending(
            f"the memory in the vault has not been restored yet: {_plain(cause.message)}",
            hint=way_back(context, cause),
            details={"cause": cause.code},
        )
        pending.exit_code = cause.exit_code
        raise pending from cause


def _plain(message: str) -> str:
    return message.removeprefix("snapshot: ").removeprefix("vault: ")
