"""Keys that would be missed: told while there is still time to do something about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from holdfast.errors import DataDamaged, InvalidRequest
from holdfast.snapshot.age import fingerprint, read_identities, recipients_of
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.values import Manifest

NOT_HERE = (
    "Snapshots are encrypted, and the identity that opens them is not on this machine and was never tested here: "
    "try it with holdfast snapshot verify latest --identity FILE."
)
NOT_READ = "HOLDFAST_SNAPSHOT_IDENTITY names a file that cannot be read: encrypted snapshots could not be opened."
OTHER = "Snapshots are encrypted for others than the identity of HOLDFAST_SNAPSHOT_IDENTITY: it does not open them."
UNTESTED = (
    "Whether the identity here opens the snapshots was never tested: try it with holdfast snapshot verify latest."
)
ONE_COPY = "The key that signs snapshots has no copy: write its words down with holdfast key words."


def note_opened(archive: Archive, manifest: Manifest, identities: Sequence[str]) -> None:
    """Remember that an encrypted snapshot was opened, so that its identity is known to exist and to fit."""
    if not manifest.encrypted:
        return
    own = {fingerprint(one) for one in recipients_of(identities)}
    # An SSH key does not tell its own recipient: then any of them may have been it.
    archive.keyring.note_kept(*(own & set(manifest.recipients) or manifest.recipients))


def key_warnings(archive: Archive) -> list[str]:
    """What is to be said about keys before one of them is lost; nothing if all is well."""
    try:
        return [*_identity_warnings(archive), *_signing_warnings(archive)]
    except DataDamaged as fault:  # a file of keys; whoever asks how the memory is must be told that too
        return [fault.message]


def needs_keys(archive: Archive) -> bool:
    """There is a key that could be missed: one that signs, or one that opens what is made here."""
    return archive.keyring.own() is not None or bool(_recipients(archive))


def _signing_warnings(archive: Archive) -> Iterator[str]:
    own = archive.keyring.own()
    if own is not None and own not in archive.keyring.kept():
        yield ONE_COPY


def _identity_warnings(archive: Archive) -> Iterator[str]:
    needed = _recipients(archive)
    if not needed:
        return
    tested = bool(needed & archive.keyring.kept())
    file = archive.settings.snapshot_identity
    if not file:
        if not tested:
            yield NOT_HERE
        return
    try:
        own = {fingerprint(one) for one in recipients_of(read_identities(Path(file).expanduser()))}
    except InvalidRequest:
        yield NOT_READ
        return
    if own and not own & needed:
        yield OTHER
    elif not tested:
        yield UNTESTED


def _recipients(archive: Archive) -> set[str]:
    """Who can open what is made here: as the settings say, or else as the newest snapshot was made."""
    if archive.settings.snapshot_recipients:
        return {fingerprint(one) for one in archive.settings.snapshot_recipients}
    newest = next((one.manifest for one in archive.shelf.each() if one.manifest is not None and not one.damaged), None)
    return set(newest.recipients) if newest is not None else set()
