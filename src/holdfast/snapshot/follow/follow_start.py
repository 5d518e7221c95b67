"""The start of a copy: the folder is checked and noted before anything is copied, then filled from the vault."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from shlex import quote

from holdfast.core.errors import Conflict, InvalidRequest, NotFound
from holdfast.core.model import DEFAULT_TENANT
from holdfast.core.ports import Clock, Entropy
from holdfast.settings import Settings
from holdfast.snapshot.bundle.encryption import read_identities
from holdfast.snapshot.follow.follow_note import FollowNote, read_follow, write_follow
from holdfast.snapshot.journal.journal_moment import has_journal
from holdfast.snapshot.recovery.bootstrap import is_blank, pending_restore
from holdfast.snapshot.remote.colony import is_colony
from holdfast.snapshot.remote.transfer import list_vault, must_be_there
from holdfast.snapshot.repo.context import SnapshotContext, no_listener
from holdfast.snapshot.resolve import LATEST, SnapshotSelector
from holdfast.snapshot.restore import RestoreResult, plant, restore
from holdfast.store.data_folder import DataFolder, FolderLock
from holdfast.store.engines import EMBEDDED
from holdfast.store.port import Store
from holdfast.store.portable import open_file
from holdfast.vault.restriction import ReadOnly

NEW_FOLDER = "Choose a folder that does not exist yet, with --data."


def begin_following(settings: Settings, clock: Clock, entropy: Entropy, vault: str, identity: str = "") -> FollowNote:
    """Let a data folder be a copy of what a vault has, from the next time it is opened on.

    Raises:
        InvalidRequest: this vault has no journal, or another one is configured.
        Conflict: the folder has a memory of its own, or follows another vault.
        NotFound: the vault has nothing of this memory.
        DataLocked: a process has the folder open.
    """
    if settings.store != EMBEDDED:
        raise InvalidRequest("follow: PostgreSQL has no journal in a vault; use the replication of the database")
    if settings.vault not in ("", vault):
        raise InvalidRequest(
            "follow: HOLDFAST_VAULT names another vault", hint="Unset HOLDFAST_VAULT, or give it the same value."
        )
    if identity:
        read_identities(identity)
    folder = DataFolder(settings.folder)
    folder.make()
    noted = read_follow(folder.home)
    if noted is not None and not noted.ended and noted.vault == vault:
        if identity not in ("", noted.identity):
            noted = replace(noted, identity=identity)
            write_follow(folder.home, noted)
        return noted
    context = SnapshotContext(folder.home, settings, clock, entropy, DEFAULT_TENANT)
    _check_vault(context, vault)
    with FolderLock(folder.home):
        if noted is not None or not _is_blank(context, folder):
            what = "follows another vault" if noted and not noted.ended else "has a memory of its own"
            raise Conflict(f"follow: the data folder {what}", hint=NEW_FOLDER)
        note = FollowNote(vault, identity)
        write_follow(folder.home, note)
    return note


def _is_blank(context: SnapshotContext, folder: DataFolder) -> bool:
    """Whether nothing is in the folder but keys and tokens."""
    if not folder.generations():
        return True
    with closing(open_file(folder.database_of(folder.current()))) as store:
        return is_blank(context, store.read())


def _check_vault(context: SnapshotContext, text: str) -> None:
    if is_colony(text):
        raise _no_journal("a Colony vault")
    vault = context.vault(text)
    if not vault.can.increments:
        raise _no_journal("this vault")
    must_be_there(vault)
    if not _has_any(context, text):
        raise NotFound(
            f"follow: {vault.place} has nothing of this memory yet",
            hint=f"Start the server of the other host with HOLDFAST_VAULT={quote(text)} first.",
        )


def _no_journal(what: str) -> InvalidRequest:
    return InvalidRequest(
        f"follow: {what} has no journal to follow", hint="Use a folder, or object storage: s3://, gs:// or az://."
    )


def _has_any(context: SnapshotContext, text: str) -> bool:
    vault = ReadOnly(context.vault(text))
    place = (context.tenant, context.agent)
    return has_journal(vault, *place) or bool(list_vault(vault, *place))


def copy_of(note: FollowNote) -> SnapshotSelector:
    """All that the vault has, to go on from there."""
    return SnapshotSelector(LATEST, note.vault, note.identity or None, follows=True)


def first_copy(context: SnapshotContext, note: FollowNote, folder: DataFolder) -> RestoreResult:
    """Fill an empty folder from the vault that it follows.

    Raises:
        RestorePending: it could not be filled; it is tried again.
    """
    with pending_restore(context):
        if not _has_any(context, note.vault):
            raise NotFound(f"follow: {context.vault(note.vault).place} has nothing of this memory")
        return plant(context, copy_of(note), folder)


def fill_copy(context: SnapshotContext, note: FollowNote, store: Store) -> RestoreResult | None:
    """The same for a folder in which only keys and tokens were made; None if the copy was begun before. Faults as of
    `first_copy`."""
    if not is_blank(context, store.read()):
        return None
    with pending_restore(context):
        return restore(replace(context, publish=no_listener), copy_of(note))
