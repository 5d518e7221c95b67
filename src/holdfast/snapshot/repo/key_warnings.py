"""Keys whose loss would hurt: reported while there is still time to do something about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.core.errors import DataDamaged, InvalidRequest
from holdfast.snapshot.bundle.encryption import fingerprint, read_identities, recipients_of
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.repo.context import SnapshotContext


@dataclass(frozen=True, slots=True)
class KeyWarning:
    """A warning about a key, and what to do; the code lets a page translate it."""

    code: str
    message: str
    hint: str

    @property
    def text(self) -> str:
        return f"{self.message}. {self.hint}."


NOT_HERE = KeyWarning(
    "identity_away",
    "Snapshots are encrypted, and their identity is not on this machine and was never tested here",
    "Test it: holdfast snapshot verify latest --identity FILE",
)
NOT_READ = KeyWarning(
    "identity_unread",
    "HOLDFAST_SNAPSHOT_IDENTITY names a file that cannot be read, so encrypted snapshots cannot be decrypted",
    "Correct the setting, or restore the file",
)
OTHER = KeyWarning(
    "identity_other",
    "HOLDFAST_SNAPSHOT_IDENTITY cannot decrypt the snapshots: they are encrypted for other recipients",
    "Set it to the right file, or add the recipient of this identity to HOLDFAST_SNAPSHOT_RECIPIENTS",
)
UNTESTED = KeyWarning(
    "identity_untested",
    "The identity for encrypted snapshots was never tested",
    "Test it: holdfast snapshot verify latest",
)
ONE_COPY = KeyWarning(
    "key_one_copy",
    "The signing key has no backup",
    "Write down its words (holdfast key words), or back it up with holdfast key backup FILE --encrypt age1…",
)


KEYS_DAMAGED = "keys_damaged"
KEY_CODES = (KEYS_DAMAGED, *(one.code for one in (NOT_HERE, NOT_READ, OTHER, UNTESTED, ONE_COPY)))


def note_opened(context: SnapshotContext, manifest: Manifest, identities: Sequence[str]) -> None:
    """Remember that an encrypted snapshot was opened, so that its identity is known to exist and to fit."""
    if not manifest.encrypted:
        return
    own = {fingerprint(one) for one in recipients_of(identities)}
    # An SSH key does not contain its own recipient: then any of them may have been it.
    context.keyring.note_kept(*(own & set(manifest.recipients) or manifest.recipients))


def key_warnings(context: SnapshotContext) -> list[KeyWarning]:
    """Warnings about keys before one of them is lost; nothing if all is well."""
    try:
        return [*_identity_warnings(context), *_signing_warnings(context)]
    except DataDamaged as fault:  # a file of keys; status must report that too
        return [KeyWarning(KEYS_DAMAGED, fault.message, fault.hint.rstrip("."))]


def key_texts(context: SnapshotContext) -> list[str]:
    """The same as sentences."""
    return [one.text for one in key_warnings(context)]


def needs_keys(context: SnapshotContext) -> bool:
    """Whether there is a key whose loss would hurt: one that signs, or one that opens what is made here."""
    return context.keyring.own() is not None or bool(_recipients(context))


def _signing_warnings(context: SnapshotContext) -> Iterator[KeyWarning]:
    own = context.keyring.own()
    if own is not None and own not in context.keyring.kept():
        yield ONE_COPY


def _identity_warnings(context: SnapshotContext) -> Iterator[KeyWarning]:
    needed = _recipients(context)
    if not needed:
        return
    tested = bool(needed & context.keyring.kept())
    file = context.settings.snapshot_identity
    if not file:
        if not tested:
            yield NOT_HERE
        return
    try:
        own = {fingerprint(one) for one in recipients_of(read_identities(file))}
    except InvalidRequest:
        yield NOT_READ
        return
    if own and not own & needed:
        yield OTHER
    elif not tested:
        yield UNTESTED


def _recipients(context: SnapshotContext) -> set[str]:
    """Who can open what is made here: by the settings, or else as the newest snapshot was made."""
    if context.settings.snapshot_recipients:
        return {fingerprint(one) for one in context.settings.snapshot_recipients}
    newest = context.repo.newest()
    return set(newest.manifest.recipients) if newest is not None and newest.manifest is not None else set()
