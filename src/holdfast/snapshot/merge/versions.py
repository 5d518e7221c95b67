"""Two lines of versions of one memory become one line: every version stays, one is the latest. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from holdfast.core.model import Memory
from holdfast.snapshot.merge.conflict_rules import Prefer, Side, unite

# The content of a version; all else about it is how it is kept.
SAID = (
    "content", "title", "type", "concepts", "files", "importance", "metadata", "disclosure", "subject", "entities",
    "topics", "scope", "visibility", "umo", "owners",
)  # fmt: skip

Gone = Mapping[str, int]  # ids that a side removed on purpose, and when


@dataclass(frozen=True, slots=True)
class DivergedVersions:
    """The versions in which two lines ended, and which of them is the latest now."""

    base: Memory
    other: Memory
    winner: Side


@dataclass(frozen=True, slots=True)
class MergedVersions:
    """A line that has been made one."""

    versions: tuple[Memory, ...]  # the oldest first; the latest, if there is one, last
    removed: tuple[str, ...]  # removed on purpose by one side, after the other changed it last
    apart: DivergedVersions | None


def merge_line(
    base: Sequence[Memory], other: Sequence[Memory], gone_base: Gone, gone_other: Gone, prefer: Prefer
) -> MergedVersions:
    """All versions of both, without those that one side removed on purpose since."""
    mine, removed_mine = _surviving(base, other, gone_other)
    theirs, removed_theirs = _surviving(other, base, gone_base)
    versions, apart = _united(mine, theirs, prefer)
    head, heads = _head(mine, theirs, versions, prefer)
    return MergedVersions(_ordered(versions, head, heads), (*removed_mine, *removed_theirs), heads or apart)


def _surviving(line: Sequence[Memory], facing: Sequence[Memory], gone: Gone) -> tuple[dict[str, Memory], list[str]]:
    """The versions of a line that the other side did not remove after they were last changed.

    Forgetting a memory forgets its line: a version that was not known there goes too if it is older.
    """
    there = {one.id for one in facing}
    whole = 0 if facing else max((gone.get(id, 0) for one in line for id in (one.id, one.root)), default=0)
    left = [one for one in line if one.id in there or one.updated_at > max(gone.get(one.id, 0), whole)]
    kept = {one.id: one for one in left}
    return kept, [one.id for one in line if one.id not in kept]


def _united(
    mine: Mapping[str, Memory], theirs: Mapping[str, Memory], prefer: Prefer
) -> tuple[dict[str, Memory], DivergedVersions | None]:
    """Every version by its id. One whose content differs between the sides becomes two."""
    versions = {**mine, **theirs}
    apart: DivergedVersions | None = None
    for id in mine.keys() & theirs.keys():
        winner: Side = _newer(mine[id], theirs[id], prefer)
        kept, lost = (mine[id], theirs[id]) if winner == "base" else (theirs[id], mine[id])
        versions[id] = dataclasses.replace(
            kept,
            supersedes=unite(kept.supersedes, lost.supersedes),
            session_ids=unite(kept.session_ids, lost.session_ids),
            source_ids=unite(kept.source_ids, lost.source_ids),
            strength=max(kept.strength, lost.strength),
        )
        if any(getattr(kept, name) != getattr(lost, name) for name in SAID):
            second = _second(lost)
            versions.setdefault(second.id, second)
            apart = DivergedVersions(mine[id], theirs[id], winner)
    return versions, apart


def _newer(mine: Memory, theirs: Memory, prefer: Prefer) -> Side:
    if prefer != "newest":
        return prefer
    return "other" if _age(theirs) > _age(mine) else "base"


def _age(memory: Memory) -> tuple[int, int, int, str, str]:
    """By when it was written; of the same moment it must not matter which side comes first."""
    return memory.updated_at, memory.valid_from, memory.version, memory.id, memory.content


def _second(lost: Memory) -> Memory:
    """The content of a version on the losing side, as an earlier version; the same each time it is made."""
    digest = sha256(repr([getattr(lost, name) for name in SAID]).encode()).hexdigest()[:12]
    return dataclasses.replace(lost, id=f"{lost.id}-{digest}", parent_id=lost.parent_id or lost.root, latest=False)


def _head(
    mine: Mapping[str, Memory], theirs: Mapping[str, Memory], versions: Mapping[str, Memory], prefer: Prefer
) -> tuple[str | None, DivergedVersions | None]:
    """The latest version, and both ends if each side went on by itself."""
    base, other = _latest(mine), _latest(theirs)
    if base is None or other is None or base.id == other.id:
        found = base or other
        return (None if found is None else found.id), None
    if other.id in mine and base.id not in theirs:
        return base.id, None  # this side went on from where the other stands
    if base.id in theirs and other.id not in mine:
        return other.id, None
    winner = _newer(versions[base.id], versions[other.id], prefer)
    return (base.id if winner == "base" else other.id), DivergedVersions(base, other, winner)


def _latest(line: Mapping[str, Memory]) -> Memory | None:
    return max((one for one in line.values() if one.latest), key=_age, default=None)


def _ordered(versions: Mapping[str, Memory], head: str | None, heads: DivergedVersions | None) -> tuple[Memory, ...]:
    """By when they began to hold, the latest last; numbers grow along the line, and only the latest still holds."""
    line = sorted(versions.values(), key=lambda one: (one.id == head, one.valid_from, one.version, one.id))
    number, ordered = 0, list[Memory]()
    for at, one in enumerate(line):
        number = max(number + 1, one.version)
        is_head = one.id == head
        valid_to = None if is_head else one.valid_to
        if not is_head and valid_to is None and at + 1 < len(line):
            valid_to = max(one.valid_from, line[at + 1].valid_from)
        supersedes = one.supersedes
        if is_head and heads is not None:
            loser = heads.other if heads.winner == "base" else heads.base
            supersedes = unite(supersedes, (loser.id,))
        ordered.append(
            dataclasses.replace(one, version=number, latest=is_head, valid_to=valid_to, supersedes=supersedes)
        )
    return tuple(ordered)
