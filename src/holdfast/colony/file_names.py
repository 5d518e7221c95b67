"""Labels, snapshot ids and the names of files in a vault. Other names are not ours and stay untouched.

    cmem.<label>.<id>.p<seq>.json       a part
    cmem.<label>.<id>.manifest.json     the manifest
    cmem.<label>.latest.json            the pointer

An id is the UTC time to the microsecond, and six hexadecimal digits: 20260619T051643894211Z-74ec50.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from holdfast.core.errors import ColonyInvalid, ColonyMemoryError

_UNSAFE = re.compile(r"[^a-z0-9_-]+")
# The server takes names of 255 characters; a part's name has 43 beside the label.
_MOST_LABEL = 200

_ID = "[0-9A-Za-z_-]{1,64}"
_OF_SNAPSHOT = re.compile(rf"cmem\.([a-z0-9_-]{{1,255}})\.({_ID})\.(?:manifest|p(0|[1-9][0-9]{{0,4}}))\.json")
_STAMP = "%Y%m%dT%H%M%S%fZ"
_DATED = re.compile(r"([0-9]{8}T[0-9]{12}Z)-[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Series:
    """The snapshots of one label."""

    label: str  # as it stands in the names of files
    given: str | None = None  # what the caller wrote, where characters were lost on the way to `label`

    def manifest(self, id: str) -> str:
        return f"cmem.{self.label}.{id}.manifest.json"

    def part(self, id: str, seq: int) -> str:
        return f"cmem.{self.label}.{id}.p{seq}.json"

    @property
    def pointer(self) -> str:
        return f"cmem.{self.label}.latest.json"


def series_of(label: str) -> Series:
    """The series that a label names: lower case, and everything but letters, digits, `_` and `-` becomes `-`.

    Raises:
        ColonyInvalid: nothing is left of it, so it would share a series with every other such label; or it is too long.
    """
    if not isinstance(label, str) and label is not None:
        raise ColonyInvalid("label: not text")
    folded = (label or "default").strip().lower()
    plain = _UNSAFE.sub("-", folded).strip("-")
    if not plain:
        raise ColonyInvalid("label: has no letter from a to z and no digit", hint="Use a label of a-z, 0-9, _ and -.")
    if len(plain) > _MOST_LABEL:
        raise ColonyInvalid(f"label: longer than {_MOST_LABEL} characters")
    return Series(plain, None if folded == plain else folded)


@dataclass(frozen=True, slots=True)
class ParsedName:
    """The fields in the name of a file."""

    label: str
    id: str
    seq: int | None  # None: the manifest


def read_name(name: str) -> ParsedName | None:
    """Which snapshot the file belongs to; None if the name is not one of ours."""
    match = _OF_SNAPSHOT.fullmatch(name)
    if not match:
        return None
    label, id, seq = match.groups()
    return ParsedName(label, id, None if seq is None else int(seq))


def age_order(id: str) -> tuple[bool, str]:
    """Sorts ids by age. An id that is no time is older than any that is: no writer can make one that comes after it."""
    return began(id) is not None, id


def began(id: str) -> datetime | None:
    """When the snapshot was begun, by its writer's clock."""
    match = _DATED.fullmatch(id)
    if not match:
        return None
    try:
        return datetime.strptime(match[1], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def next_id(present: Iterable[str], now_ms: int, chance: str) -> str:
    """An id for now that sorts after all that are there, even if this clock is behind the one they were made by.

    Raises:
        ColonyMemoryError: one of them is of the last microsecond that can be written.
    """
    now = datetime.fromtimestamp(now_ms // 1000, UTC) + timedelta(milliseconds=now_ms % 1000)
    last = max((time for id in present if (time := began(id))), default=None)
    if last is not None and last >= now:
        try:
            now = last + timedelta(microseconds=1)
        except OverflowError:
            raise ColonyMemoryError(
                "backup: the vault holds a snapshot of the end of the year 9999, and none can come after it",
                hint="Delete it with delete_snapshot().",
            ) from None
    return f"{now:%Y%m%dT%H%M%S}{now.microsecond:06}Z-{chance}"
