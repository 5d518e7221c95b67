"""The values that learning returns. Frozen; the caller decides what to store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class SessionDigest:
    """What happened in one session."""

    title: str
    narrative: str
    decisions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """Knowledge drawn from many records. `key` names its subject: found again, it has the same key."""

    kind: str
    key: str
    title: str
    content: str
    concepts: tuple[str, ...]
    files: tuple[str, ...]
    source_ids: tuple[str, ...]
    strength: float
    project: str | None = None
    agent: str | None = None


Sources = tuple[tuple[str, ...], ...]
"""The observations that a line was drawn from: groups, each of which alone would give the line."""


@dataclass(frozen=True, slots=True)
class SlotLine:
    """A line for a slot, and where it came from."""

    text: str
    sources: Sources


@dataclass(frozen=True, slots=True)
class SlotChange:
    """Lines to append to a slot. `content` is the whole slot afterwards, within its limit."""

    label: str
    text: str
    content: str
    slot_id: str
    dropped: tuple[str, ...] = ()
    """Old lines that are settled or had to make room."""
    sources: Mapping[str, Sources] = field(default_factory=dict)
    """Where each new line came from."""


@dataclass(frozen=True, slots=True)
class ProfileDigest:
    """What a project is about, by frequency."""

    top_concepts: tuple[tuple[str, int], ...]
    top_files: tuple[tuple[str, int], ...]
    conventions: tuple[str, ...]
    common_errors: tuple[str, ...]
    session_count: int


def subject_key(kind: str, *subject: str | None) -> str:
    """The same for the same subject, on every machine and in every run."""
    text = "\x1f".join([kind, *(part or "" for part in subject)])
    return f"{kind}_{sha256(text.encode('utf-8', 'replace')).hexdigest()[:24]}"
