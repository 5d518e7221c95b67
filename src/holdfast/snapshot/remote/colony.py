"""Compact snapshots of one memory in a Colony vault: sent, listed, and fetched as ordinary bundles.

Signed with this folder's own key if there is one, encrypted if the settings name recipients, and taken only from keys
that are trusted here. Quota and the changes of an hour are planned by `holdfast.colony` before anything is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.colony import ColonyMemory, SnapshotInfo, SnapshotNotFound
from holdfast.core.errors import ColonyInvalid, InvalidSettings, NotFound, SnapshotForeign, SnapshotUntrusted
from holdfast.core.model import DEFAULT_TENANT
from holdfast.core.version import VERSION
from holdfast.snapshot.bundle import canonical
from holdfast.snapshot.bundle.encryption import read_identities
from holdfast.snapshot.bundle.manifest import bundle_name, manifest_bytes
from holdfast.snapshot.bundle.types import (
    FORMAT_VERSION,
    Capture,
    Identity,
    Manifest,
    Redaction,
    SkippedItem,
    StagedFile,
)
from holdfast.snapshot.bundle.writer import pack
from holdfast.snapshot.keys.keyring import Keyring
from holdfast.snapshot.remote.colony_format import about_of, documents_of, fill, is_compact
from holdfast.snapshot.repo.context import DEFAULT_AGENT, SnapshotContext
from holdfast.snapshot.repo.entries import SnapshotEntry
from holdfast.snapshot.repo.paths import parse_id
from holdfast.snapshot.repo.repository import SnapshotRepository
from holdfast.snapshot.sources.capture import STATE, STORE
from holdfast.store.port import Reader
from holdfast.store.portable import open_file, runtime_state, store_schema
from holdfast.vault.credentials import with_credentials

SCHEME = "colony:"
USUAL_LABEL = "holdfast"
_SENT = "sent"  # in place of a signer: what was sent from here, as opposed to what was seen there
_LABEL = re.compile(r"[a-z0-9_-]{1,150}")
# So that a new one is complete before an old one is removed.
_SHARE = 0.45
_FIRST_ROOM = 10 * 1024 * 1024
# The estimate of a document's size leaves out how parts are cut and named.
_MARGIN = 0.97


def is_colony(text: str) -> bool:
    """Whether the text names a Colony vault."""
    return text.strip().lower().startswith(SCHEME)


@dataclass(frozen=True, slots=True)
class _Signer:
    """The folder's own key, as the Colony's snapshots are signed with it."""

    keyring: Keyring
    did_key: str

    def sign(self, message: bytes) -> bytes:
        return self.keyring.sign_raw(message)


@dataclass(frozen=True, slots=True)
class SentToColony:
    """What was stored, and how many records of each kind were left out."""

    id: str
    size: int
    left: dict[str, int]


class ColonySnapshots:
    """The compact snapshots of a memory under one label of a Colony vault."""

    def __init__(self, context: SnapshotContext, text: str, identity: str | None = None):
        """No request is made to the vault yet.

        Raises:
            InvalidSettings: that is no label, or there is no key.
        """
        self._context = context
        self.label = _label_of(context, text)
        settings = with_credentials(context.settings)
        if not settings.colony_key:
            raise InvalidSettings(
                "vault: colony: requires the agent's API key",
                hint="Set COLONY_API_KEY, or add it to the file in HOLDFAST_VAULT_CREDENTIALS.",
            )
        file = identity or settings.snapshot_identity
        keyring, own = context.keyring, context.keyring.own()
        try:
            self._memory = ColonyMemory(
                settings.colony_key,
                base_url=settings.colony_url or None,
                signer=_Signer(keyring, own) if own else None,
                trusted=list(keyring.trusted()) if keyring.demands() else None,
                recipients=settings.snapshot_recipients,
                identities=read_identities(file) if file else (),
                clock=context.clock,
                entropy=context.entropy,
            )
        except ColonyInvalid as fault:
            raise InvalidSettings(f"vault: {fault.message}", hint=fault.hint) from None

    @property
    def place(self) -> str:
        """Where it is, without credentials."""
        url = self._context.settings.colony_url
        return f"{SCHEME}{self.label}" + (f" at {url}" if url else "")

    def state(self) -> tuple[int, int]:
        """Bytes that are free and that are used."""
        status = self._memory.status()
        quota, used = (int(status.get(name) or 0) for name in ("quota_bytes", "used_bytes"))
        return max((quota or _FIRST_ROOM) - used, 0), used

    def each(self) -> list[SnapshotInfo]:
        """Those that could be restored, newest first."""
        return self._memory.list_snapshots(label=self.label)

    def refused(self) -> list[tuple[str, str]]:
        """Those that could not, with the reason; newest first."""
        return [(one.snapshot_id, one.reason) for one in self._memory.refused_snapshots(label=self.label)]

    def newest(self) -> SnapshotInfo | None:
        """The one that would be restored; None if the vault answered and has none.

        Raises:
            ColonyMemoryError: what is there must not be used, or the vault failed.
        """
        return self._memory.latest(label=self.label)

    def send(self, reader: Reader, identity: Identity) -> SentToColony:
        """Store the compact memory under a new id; as many as the settings define stay.

        Raises:
            VaultFull, QuotaExceeded: it does not fit; nothing was changed.
            ColonyRateLimited: this hour's changes do not suffice; nothing was changed.
        """
        free, _ = self.state()
        room = free + sum(map(_stored, self.each()))
        compact = documents_of(reader, identity, int(room * _MARGIN), int(room * _SHARE))
        keep = self._context.settings.colony_keep
        made = self._memory.backup(compact.documents, label=self.label, prune_keep=keep)
        self._context.keyring.raise_mark(_SENT, self.place, identity.sequence)
        return SentToColony(made.snapshot_id, made.byte_size, compact.left)

    def is_sent(self, identity: Identity) -> bool:
        """Whether this one, or a newer one, was sent from here."""
        return self._context.keyring.mark(_SENT, self.place) >= identity.sequence

    def remove(self, id: str) -> None:
        self._memory.delete_snapshot(label=self.label, snapshot_id=id)

    def tidy(self) -> None:
        """Remove what interrupted writers left; no snapshot that can be restored."""
        self._memory.prune(label=self.label, keep=1_000_000)

    def fetch(self, id: str | None, into: SnapshotRepository) -> SnapshotEntry:
        """A compact snapshot, the newest if no id is given, as a bundle with a store in the repository.

        Its signature was checked with the documents; the bundle that is made of them has none.

        Raises:
            NotFound: there is none.
            ColonyMemoryError: it must not be used, or the vault failed.
            SnapshotForeign: it is of another memory, or no memory of Holdfast.
        """
        try:
            documents = self._memory.restore(label=self.label, snapshot_id=id)
        except SnapshotNotFound as fault:
            raise NotFound(f"vault: {fault.message.removeprefix('restore: ')}") from fault
        if not is_compact(documents):
            raise SnapshotForeign(
                f"vault: {self.place} contains documents that Holdfast did not write",
                hint="Write them to a file with to_progenly_export() of holdfast.colony, then import it with "
                "holdfast import.",
            )
        about = about_of(documents)
        self._check_owner(about.identity)
        with into.staging() as staging:
            return _bundled(staging, documents, about.identity, about.left, into)

    def _check_owner(self, identity: Identity) -> None:
        if (identity.tenant, identity.agent) != (self._context.tenant, self._context.agent):
            raise SnapshotForeign(f"vault: {self.place} belongs to another memory")
        if parse_id(identity.id).sequence != identity.sequence:
            raise SnapshotUntrusted("vault: the compact snapshot is inconsistent")


def _stored(info: SnapshotInfo) -> int:
    """About how many bytes a snapshot takes: parts are full but for the last, so that this is one too few at most."""
    return max(info.part_count - 1, 0) * 700_000


def _label_of(context: SnapshotContext, text: str) -> str:
    """The label that is named, or the usual one; with the tenant in it, so that no tenant writes over another."""
    given = text.strip()[len(SCHEME) :].strip("/")
    if given and not _LABEL.fullmatch(given):
        raise InvalidSettings("vault: colony: must be followed by a label of a-z, 0-9, _ and - only")
    label = given or (USUAL_LABEL if context.agent == DEFAULT_AGENT else f"{USUAL_LABEL}-{context.agent.lower()}")
    return label if context.tenant == DEFAULT_TENANT else f"{label}-{context.tenant.lower()}"


def _bundled(
    staging: Path, documents: dict[str, str], identity: Identity, left: dict[str, int], repo: SnapshotRepository
) -> SnapshotEntry:
    """The documents as a bundle in the repository."""
    database, state = staging / STORE, staging / STATE
    for path in (database, state):
        path.parent.mkdir(mode=0o700, exist_ok=True)
    store = open_file(database)
    try:
        fill(store, documents, identity.tenant)
        store.compact_words()
    finally:
        store.close()
    state.write_bytes(canonical.dumps(runtime_state(database, identity.tenant)))
    staged = (StagedFile(STORE, "store", database), StagedFile(STATE, "state", state))
    place = staging / bundle_name(identity.id, encrypted=False)
    bundle = pack(Capture(staged, store_schema=store_schema()), place, identity.id)
    manifest = Manifest(
        identity=replace(identity, parent=None),
        bundle_name=bundle.name,
        bundle_size=bundle.size,
        bundle_sha256=bundle.sha256,
        schema=(("manifest", FORMAT_VERSION), ("store", store_schema())),
        artifacts=bundle.artifacts,
        redaction=Redaction(applied=True),
        left=tuple(SkippedItem(name, f"{count} not in a compact snapshot") for name, count in sorted(left.items())),
        recipients=(),
        tools=(("holdfast", VERSION),),
    )
    repo.put(staging / bundle.name, manifest, manifest_bytes(manifest))
    return repo.find(identity.id)
