"""Making a snapshot: memory ─capture→ ─redact→ ─pack or cut→ bundle ─seal→ manifest ─put→ repository, and on to the
vault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

import zstandard

from holdfast.context import HOUR_MS
from holdfast.core.errors import DataDamaged, DataReadOnly, RateLimited
from holdfast.core.version import VERSION
from holdfast.snapshot.bundle.encryption import fingerprint
from holdfast.snapshot.bundle.manifest import bundle_name, manifest_bytes, signed_bytes
from holdfast.snapshot.bundle.types import (
    ASKED_FOR,
    FORMAT_VERSION,
    BundleFile,
    Capture,
    Identity,
    Maker,
    Manifest,
    Redaction,
)
from holdfast.snapshot.bundle.writer import pack
from holdfast.snapshot.journal.journal_lines import POSITION
from holdfast.snapshot.remote.layout import StagedMemory
from holdfast.snapshot.remote.local_chunks import cut, guarded_bytes, lies_in_chunks, staged_bytes
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.entries import SnapshotEntry
from holdfast.snapshot.repo.paths import new_id
from holdfast.snapshot.repo.repository import SnapshotRepository
from holdfast.snapshot.repo.send_marks import note_unsent
from holdfast.snapshot.resolve import made_here
from holdfast.snapshot.sources.capture import capture_memory
from holdfast.snapshot.sources.change_check import note_seen, seen_now
from holdfast.snapshot.sync.queue import put_in_vault
from holdfast.snapshot.wire import entry_wire
from holdfast.store.portable import check_store, sqlite_version

T = TypeVar("T")

CHANCE_CHARS = 6


@dataclass(frozen=True, slots=True)
class CreateOptions:
    """How a snapshot is to be made; what is not given comes from the settings."""

    label: str = ""
    made_by: Maker = ASKED_FOR
    sign: bool | None = None
    recipients: Sequence[str] | None = None
    redact: bool | None = None
    vault: str | None = None
    most_per_hour: int | None = None  # of those made by hand, for callers with a limit


def create(context: SnapshotContext, options: CreateOptions) -> SnapshotEntry:
    """A snapshot of the memory as it is now, in the repository and, where one is set, in the vault.

    Raises:
        SnapshotsBusy: another process makes, restores or removes snapshots.
        DataDamaged: the memory is damaged; what cannot be trusted is not sealed.
        StorageFull, StorageFailed: it could not be written; no snapshot was made.
        RateLimited: as many were made in the last hour as the options allow.
    """
    with making(context, options) as made:
        put_in_vault(context, made.stored.id, options.vault, made.fresh)
    return made.stored


@dataclass(frozen=True, slots=True)
class CreatedSnapshot:
    """A snapshot in the repository, and what it was packed from as long as that is staged."""

    stored: SnapshotEntry
    fresh: StagedMemory


@contextmanager
def making(context: SnapshotContext, options: CreateOptions) -> Iterator[CreatedSnapshot]:
    """A new snapshot in the repository. Within the block its plain bytes are still at hand, so that an encrypted one
    can go to a vault as chunks though no key here could open it; others may make snapshots meanwhile. Faults as of
    `create`.
    """
    with context.repo.staging() as staging:
        with context.locked("create") as result:
            _check_pace(context, options.most_per_hour)
            made = _make(context, options, staging)
            result.about = made.stored.id
        yield made


def _check_pace(context: SnapshotContext, most: int | None) -> None:
    """Counted in the repository, so that neither a restart nor a second token resets it."""
    if most is None:
        return
    now = context.clock.now_ms()
    newest = (one.manifest.identity for one in context.repo.each() if one.manifest and not one.damaged)
    last_hour = takewhile(lambda one: now - one.created_at < HOUR_MS, newest)
    recent = [one for one in last_hour if one.created_by == ASKED_FOR and one.created_at <= now]
    if len(recent) < most:
        return
    wait = (recent[most - 1].created_at + HOUR_MS - now + 999) // 1000 if most else HOUR_MS // 1000
    raise RateLimited(
        f"snapshot_create: {len(recent)} manual snapshots were created in the last hour; the limit is {most}",
        hint="Wait, use a token with the scope admin, or raise HOLDFAST_SNAPSHOT_HAND_PER_HOUR.",
        details={"retryAfter": wait},
    )


def create_locked(context: SnapshotContext, options: CreateOptions) -> SnapshotEntry:
    """The same for a caller that holds the lock; the vault gets it later (`sync/queue.py`)."""
    with context.repo.staging() as staging:
        return _make(context, options, staging).stored


def _make(context: SnapshotContext, options: CreateOptions, staging: Path) -> CreatedSnapshot:
    repo = context.repo
    repo.sweep()
    _check_undamaged(context)
    seen = seen_now(context)
    identity = _identity(context, repo, options)
    if context.settings.vault:
        note_unsent(repo.root, identity.id)
    recipients = tuple(_said(options.recipients, context.settings.snapshot_recipients))
    capture, bundle = _packed(context, options, staging, identity.id, recipients)
    manifest = _sealed(context, options, identity, capture, bundle, recipients)
    repo.put(staging / bundle.name, manifest, manifest_bytes(manifest))
    note_seen(context, seen)
    context.keyring.raise_mark(manifest.signer, made_here(context), identity.sequence)
    made = repo.find(identity.id)
    context.moved("create", bundle.size)
    context.publish("created", entry_wire(made))
    return CreatedSnapshot(made, StagedMemory(capture, bundle, recipients))


def _check_undamaged(context: SnapshotContext) -> None:
    """What is known to be damaged is not sealed: as the newest snapshot it would be taken for the memory."""
    fault = context.live.store.failure(context.tenant) if context.live is not None else None
    if isinstance(fault, DataReadOnly):
        raise fault


def _packed(
    context: SnapshotContext, options: CreateOptions, staging: Path, id: str, recipients: tuple[str, ...]
) -> tuple[Capture, BundleFile]:
    """The memory as it is now, found sound, and the same as a bundle: one file, or chunks that the repository partly
    has."""
    redact = _said(options.redact, context.settings.snapshot_redact)
    vaults = (options.vault, context.settings.vault)
    capture = capture_memory(context, staging, redact=redact, check=False)
    # Not beside the packing: that keeps two processors busy by itself, and writers would wait longer meanwhile.
    try:
        check_store(_store_of(capture))
    except DataDamaged:
        _note_damage(context)
        raise
    if lies_in_chunks(context, vaults, staged_bytes(capture), guarded_bytes(capture)):
        return capture, cut(context, capture, staging, id, recipients)
    return capture, pack(capture, staging / bundle_name(id, bool(recipients)), id, recipients)


def _note_damage(context: SnapshotContext) -> None:
    """Let the memory know that it is damaged, as a read that met it would, with what helps."""
    if context.live is not None:
        context.live.store.verify()
    _check_undamaged(context)


def _said(asked: T | None, usual: T) -> T:
    return usual if asked is None else asked


def _store_of(capture: Capture) -> Path:
    return next(one.source for one in capture.staged if one.kind == "store")


def _next_sequence(context: SnapshotContext, repo: SnapshotRepository) -> int:
    """A number above that of every snapshot here, and of those that other servers of this memory made: what they send
    to one vault has one order, and the newest is the newest of all."""
    own = repo.next_sequence()
    if context.live is None:
        return own
    sequence = context.live.fleet.take_number(f"snapshot/{context.tenant}/{context.agent}", own)
    repo.begin_after(sequence)
    return sequence


def _identity(context: SnapshotContext, repo: SnapshotRepository, options: CreateOptions) -> Identity:
    sequence, now = _next_sequence(context, repo), context.clock.now_ms()
    before = repo.newest()
    return Identity(
        id=new_id(sequence, now, context.entropy.hex(CHANCE_CHARS)),
        tenant=context.tenant,
        agent=context.agent,
        label=options.label,
        sequence=sequence,
        parent=before.id if before else None,
        created_at=now,
        created_by=options.made_by,
    )


def _sealed(
    context: SnapshotContext,
    options: CreateOptions,
    identity: Identity,
    capture: Capture,
    bundle: BundleFile,
    recipients: Sequence[str],
) -> Manifest:
    manifest = Manifest(
        identity=identity,
        bundle_name=bundle.name,
        bundle_size=bundle.size,
        bundle_sha256=bundle.sha256,
        schema=(("manifest", FORMAT_VERSION), ("store", capture.store_schema)),
        artifacts=None if recipients else bundle.artifacts,
        redaction=_hidden(capture.redaction) if recipients else capture.redaction,
        left=() if recipients else capture.left,
        hidden_left=len(capture.left) if recipients else 0,
        recipients=tuple(fingerprint(one) for one in recipients),
        tools=tuple(sorted((_tools() | ({POSITION: capture.journal} if capture.journal else {})).items())),
    )
    keyring = context.keyring
    # Where there is a key, what is not signed is not trusted: then all is signed unless that is not wanted. A memory
    # that came back with a trusted key and none of its own gets one, or it could not restore what it makes.
    if not _said(options.sign, context.settings.snapshot_sign or keyring.demands()):
        return manifest
    claimed = replace(manifest, signer=keyring.own() or keyring.new())
    return replace(claimed, signature=keyring.sign(signed_bytes(claimed)))


def _hidden(redaction: Redaction) -> Redaction:
    """Without the names of files, which are inside an encrypted bundle."""
    return replace(redaction, files=(), hidden=len(redaction.files))


def _tools() -> dict[str, str]:
    return {
        "holdfast": VERSION,
        "sqlite": sqlite_version(),
        "zstd": ".".join(map(str, zstandard.ZSTD_VERSION)),
    }
