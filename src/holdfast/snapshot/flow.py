"""Making a snapshot: memory ─capture→ ─redact→ ─pack→ body ─seal→ manifest ─put→ shelf, and on to the vault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import apsw
import zstandard

from holdfast.snapshot.age import fingerprint
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.changes import note_seen, seen_now
from holdfast.snapshot.depots import depot_of
from holdfast.snapshot.finding import made_here
from holdfast.snapshot.manifest import manifest_bytes, signed_bytes
from holdfast.snapshot.memory import capture_memory
from holdfast.snapshot.pack import pack
from holdfast.snapshot.places import new_id
from holdfast.snapshot.shapes import shelved_shape
from holdfast.snapshot.shelf import Shelf
from holdfast.snapshot.shelved import Shelved
from holdfast.snapshot.values import FORMAT_VERSION, Body, Capture, Identity, Maker, Manifest, Redaction
from holdfast.version import VERSION

T = TypeVar("T")

CHANCE_CHARS = 6


@dataclass(frozen=True, slots=True)
class Wish:
    """How a snapshot is to be made; what is not said comes from the settings."""

    label: str = ""
    made_by: Maker = "hand"
    sign: bool | None = None
    recipients: Sequence[str] | None = None
    redact: bool | None = None
    vault: str | None = None


def create(archive: Archive, wish: Wish) -> Shelved:
    """A snapshot of the memory as it is now, on the shelf and, where one is set, in the vault.

    Raises:
        SnapshotsBusy: another process makes, restores or removes snapshots.
        DataDamaged: the memory is damaged; what cannot be trusted is not sealed.
        StorageFull, StorageFailed: it could not be written; no snapshot was made.
    """
    with archive.locked("create"):
        made = create_locked(archive, wish)
    put_in_vault(archive, made.id, wish.vault)
    return made


def create_locked(archive: Archive, wish: Wish) -> Shelved:
    """The same for whoever holds the lock already; the vault does not get it."""
    shelf = archive.shelf
    shelf.sweep()
    seen = seen_now(archive)
    identity = _identity(archive, shelf, wish)
    with shelf.staging() as staging:
        capture = capture_memory(archive, staging, redact=_said(wish.redact, archive.settings.snapshot_redact))
        recipients = tuple(_said(wish.recipients, archive.settings.snapshot_recipients))
        body = pack(capture, _body_path(staging, identity, recipients), identity.id, recipients)
        manifest = _sealed(archive, wish, identity, capture, body, recipients)
        shelf.put(staging / body.name, manifest, manifest_bytes(manifest))
    note_seen(archive, seen)
    archive.keyring.raise_mark(manifest.signer, made_here(archive), identity.sequence)
    made = shelf.find(identity.id)
    archive.moved("create", body.size)
    archive.tell("created", shelved_shape(made))
    return made


def put_in_vault(archive: Archive, id: str, named: str | None) -> None:
    """Copy a snapshot to the vault that is named, or to the one in the settings; to none if there is none."""
    vault = _said(named, archive.settings.vault)
    if vault:
        depot_of(archive, vault).send(id)


def _said(asked: T | None, usual: T) -> T:
    return usual if asked is None else asked


def _body_path(staging: Path, identity: Identity, recipients: Sequence[str]) -> Path:
    return staging / f"{identity.id}.tar.zst{'.age' if recipients else ''}"


def _identity(archive: Archive, shelf: Shelf, wish: Wish) -> Identity:
    sequence, now = shelf.next_sequence(), archive.clock.now_ms()
    before = next((one for one in shelf.each() if not one.damaged), None)
    return Identity(
        id=new_id(sequence, now, archive.entropy.hex(CHANCE_CHARS)),
        tenant=archive.tenant,
        agent=archive.agent,
        label=wish.label,
        sequence=sequence,
        parent=before.id if before else None,
        created_at=now,
        created_by=wish.made_by,
    )


def _sealed(
    archive: Archive, wish: Wish, identity: Identity, capture: Capture, body: Body, recipients: Sequence[str]
) -> Manifest:
    manifest = Manifest(
        identity=identity,
        body_name=body.name,
        body_size=body.size,
        body_sha256=body.sha256,
        schema=(("manifest", FORMAT_VERSION), ("store", capture.store_schema)),
        artifacts=None if recipients else body.artifacts,
        redaction=_hidden(capture.redaction) if recipients else capture.redaction,
        left=() if recipients else capture.left,
        hidden_left=len(capture.left) if recipients else 0,
        recipients=tuple(fingerprint(one) for one in recipients),
        tools=tuple(sorted(_tools().items())),
    )
    keyring = archive.keyring
    # Where there is a key, what is not signed is not trusted: then all is signed unless that is not wanted.
    if not _said(wish.sign, archive.settings.snapshot_sign or keyring.own() is not None):
        return manifest
    claimed = replace(manifest, signer=keyring.own() or keyring.new())
    return replace(claimed, signature=keyring.sign(signed_bytes(claimed)))


def _hidden(redaction: Redaction) -> Redaction:
    """Without the names of files, which stand inside an encrypted body."""
    return replace(redaction, files=(), hidden=len(redaction.files))


def _tools() -> dict[str, str]:
    return {
        "holdfast": VERSION,
        "sqlite": apsw.sqlite_lib_version(),
        "zstd": ".".join(map(str, zstandard.ZSTD_VERSION)),
    }
