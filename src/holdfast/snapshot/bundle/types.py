"""Frozen values of the snapshot flow: what each step takes and gives.

memory ─capture→ Capture ─pack→ BundleFile ─seal→ Manifest   and back: files ─verify→ Report ─open→ files ─plan→ Plan
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from holdfast.core.bundle_names import AGE, CHUNK_INDEXES

FORMAT = "holdfast-snapshot"
FORMAT_VERSION = 1
CHUNKS_VERSION = 2  # the bundle is a chunk index, which readers of version 1 do not know

Kind = Literal["store", "state", "file", "git_bundle", "folder"]
"""store: the database. state: runtime state as JSON. file: a file of a memory folder. git_bundle: its history.
folder: what a memory folder is, as JSON (name, plain or git, head, files changed against it)."""

Maker = Literal["hand", "schedule", "before-restore", "before-consolidate", "before-import", "before-forget"]
"""Why a snapshot was made. Those that nobody asked for are removed by retention."""
ASKED_FOR: Maker = "hand"


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file that is captured and waits to be packed, under the path it has in the bundle."""

    path: str  # in the bundle: store/memory.db, state/runtime.json, folders/<name>/…
    kind: Kind
    source: Path  # in the staging folder


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """Something that was not captured, and why. Reported, never silent."""

    path: str
    reason: str  # symlink, too large, not a regular file, unreadable, changed while it was read, secret in history


@dataclass(frozen=True, slots=True)
class Redaction:
    """What redaction did to the captured text."""

    applied: bool
    rules: tuple[tuple[str, int], ...] = ()  # rule and matches, by rule
    files: tuple[str, ...] = ()  # paths in the bundle that were changed
    hidden: int = 0  # how many more were, whose names an encrypted bundle does not reveal


@dataclass(frozen=True, slots=True)
class Capture:
    """One consistent moment of a memory, in a staging folder."""

    staged: tuple[StagedFile, ...]
    left: tuple[SkippedItem, ...] = ()
    redaction: Redaction = field(default_factory=lambda: Redaction(applied=False))
    store_schema: int = 0
    journal: str = ""  # up to where the vault had the journal then


@dataclass(frozen=True, slots=True)
class Artifact:
    """A member of the bundle."""

    path: str
    kind: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BundleFile:
    """The packed and perhaps encrypted bytes, as they lie on disk."""

    name: str  # <id>.tar.zst or <id>.tar.zst.age
    size: int
    sha256: str  # over the raw bytes
    artifacts: tuple[Artifact, ...]  # in the order of the bundle


@dataclass(frozen=True, slots=True)
class Identity:
    """Which memory a snapshot is of, and its place among the others."""

    id: str  # <sequence>-<time>-<random>
    tenant: str
    agent: str
    label: str
    sequence: int
    parent: str | None
    created_at: int
    created_by: Maker


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a snapshot records about itself, in plaintext beside its bundle. The signature covers all the rest."""

    identity: Identity
    bundle_name: str
    bundle_size: int
    bundle_sha256: str
    schema: tuple[tuple[str, int], ...]  # by name: manifest, store
    artifacts: tuple[Artifact, ...] | None  # None if encrypted: then they are in the bundle's last member
    redaction: Redaction
    left: tuple[SkippedItem, ...]
    recipients: tuple[str, ...]  # fingerprints of who can decrypt it; none if it is plain
    tools: tuple[tuple[str, str], ...]
    signer: str | None = None  # did:key
    signature: str | None = None  # base64url over the canonical bytes of all other fields
    hidden_left: int = 0  # how many more were left, whose names an encrypted bundle does not reveal

    @property
    def encrypted(self) -> bool:
        return self.bundle_name.endswith(AGE)

    @property
    def chunked(self) -> bool:
        """Whether the bundle is a chunk index whose chunks are in packs."""
        return self.bundle_name.endswith(CHUNK_INDEXES)


Code = Literal["damaged", "untrusted", "older", "too_new", "foreign", "locked"]
"""locked: encrypted, and the identity given does not open it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a snapshot that its user must know. A note alone does not refuse it."""

    code: Code
    message: str
    note: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What verification looked at and found."""

    place: str  # the id or path as given
    manifest: Manifest | None  # None if it cannot be read
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]  # files, bytes, signature, sequence, owner, members
    unchecked: tuple[str, ...] = ()  # with the reason, as "members: encrypted, no identity given"
    digest: str | None = None  # SHA-256 of the manifest's file
    packs: tuple[str, ...] = ()  # that are damaged; other snapshots may need them too

    @property
    def sound(self) -> bool:
        return not any(not one.note for one in self.findings)
