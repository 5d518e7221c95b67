"""The switch to another generation, as a restore, an undo and a merge do it: what is live is kept in a snapshot first.

That snapshot is encrypted if what replaces the memory, or the newest snapshot, is: a user who encrypts snapshots does
not want the same memory beside them in the clear.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from holdfast.core.errors import Conflict, DataDamaged, Fault, IdentityNeeded
from holdfast.snapshot.bundle.encryption import recipient_beside, recipients_of
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.create import CreateOptions, create_locked
from holdfast.snapshot.repo.context import SnapshotContext, no_listener
from holdfast.snapshot.repo.latest import BY_RESTORE, RESTORE_LABEL
from holdfast.snapshot.resolve import SnapshotSelector, identities_of
from holdfast.snapshot.sources.capture import folders_of
from holdfast.snapshot.sources.change_check import is_changed
from holdfast.snapshot.sources.restore_plan import settle_folders
from holdfast.store.data_folder import DataFolder
from holdfast.store.engine_port import Build, OpenMemory
from holdfast.store.port import is_damaged
from holdfast.store.tables import NOT_MEMORY, TABLES

BEFORE_RESTORE = CreateOptions(label=RESTORE_LABEL, made_by=BY_RESTORE)
ORIGIN = "origin"  # in a generation that was restored or merged: whose memory was


def live_of(context: SnapshotContext) -> OpenMemory:
    """The memory that is live here.

    Raises:
        Conflict: none is.
    """
    if context.live is None:
        raise Conflict("restore: no memory is open here")
    return context.live


def safety_options(
    context: SnapshotContext, options: CreateOptions, named: SnapshotSelector, manifest: Manifest | None
) -> CreateOptions:
    """How what is live is to be kept; if nothing will be, no recipients need to be known."""
    return encrypted_like_newest(context, options, named, manifest) if _will_be_kept(context) else options


def _will_be_kept(context: SnapshotContext) -> bool:
    """Nothing is kept of a memory with nothing in it: as the newest snapshot it would only be taken for the memory."""
    live = live_of(context)
    if "restore" not in context.settings.snapshot_before or not live.is_open():
        return False
    if is_damaged(live.store, context.tenant):  # that is not sealed: its files are kept instead
        return False
    return not _is_empty(context, live)


def _is_empty(context: SnapshotContext, live: OpenMemory) -> bool:
    """Whether nothing is stored; tokens, kept answers and the audit log are no memory. Folders are."""
    try:
        reader = live.store.read()
        stored = any(reader.count(table, context.tenant) for table in TABLES if table.name not in NOT_MEMORY)
    except DataDamaged:
        return False
    return not stored and not any(folder.path.exists() for folder in folders_of(context))


def keep(context: SnapshotContext, options: CreateOptions) -> str | None:
    """A snapshot of what is live, unless the settings want none or it cannot be opened; then its files stay."""
    if not _will_be_kept(context):
        return None
    try:
        return create_locked(context, options).id
    except DataDamaged:  # it opens, and is damaged inside: that is what a restore is for, and its files are kept
        if _is_sound(
            context
        ):  # what is damaged is the repository or a key, and a sound memory is not given up for that
            raise
        return None


def keep_last(context: SnapshotContext, options: CreateOptions) -> str | None:
    """A snapshot of what the newest one does not hold, while no process writes: what was acknowledged a moment ago must
    not be in the old generation alone, which the next restore removes. It is not published: that would be a write."""
    try:
        changed = is_changed(context)
    except DataDamaged:  # then `keep` decides, as it does for what it cannot read
        changed = True
    return keep(replace(context, publish=no_listener), options) if changed else None


def _is_sound(context: SnapshotContext) -> bool:
    try:
        return not live_of(context).store.verify()
    except DataDamaged:
        return False


def give_up(folder: DataFolder, building: Path) -> None:
    """Remove what was begun; if the disk refuses, the next start does it."""
    with suppress(Fault):
        folder.abandon(building)


def switched(context: SnapshotContext, live: OpenMemory, build: Build) -> str:
    """Go over to the generation that `build` names, then let the folders follow, or take back what they were to do."""
    folder = DataFolder(context.home)
    try:
        return live.exchange(build, context.tenant)
    finally:
        settle_folders(folder)


def encrypted_like_newest(
    context: SnapshotContext, options: CreateOptions, named: SnapshotSelector, manifest: Manifest | None
) -> CreateOptions:
    """The options as the settings have them, but encrypted if need be, for the holders of the current identities.

    Raises:
        IdentityNeeded: what is restored is encrypted, and no identity was given that could open it.
        Conflict: no recipient is configured.
    """
    if manifest is not None and manifest.encrypted and not identities_of(context, named):
        raise IdentityNeeded("snapshot: it is encrypted, and no identity was given")
    usual = context.settings.snapshot_recipients
    if usual or named.plain_before or not _must_be_encrypted(context, manifest):
        return replace(options, recipients=usual)
    found = _known_recipients(context, named)
    if not found:
        raise Conflict(
            f"{options.label}: snapshots of this memory are encrypted, and no recipient is configured",
            hint="Set HOLDFAST_SNAPSHOT_RECIPIENTS, pass an age identity with --identity, or put the public key "
            "next to an SSH identity (id_ed25519.pub). To store it unencrypted, pass --plain-before.",
        )
    return replace(options, recipients=found)


def _must_be_encrypted(context: SnapshotContext, manifest: Manifest | None) -> bool:
    if manifest is not None and manifest.encrypted:
        return True
    newest = context.repo.newest()
    return newest is not None and newest.manifest is not None and newest.manifest.encrypted


def _known_recipients(context: SnapshotContext, named: SnapshotSelector) -> tuple[str, ...]:
    """Of the identities at hand; an SSH key does not contain its public one, which is then in a file beside it."""
    identities = identities_of(context, named)
    file = named.identity or context.settings.snapshot_identity
    return recipients_of(identities) or (recipient_beside(file, identities) if file else ())
