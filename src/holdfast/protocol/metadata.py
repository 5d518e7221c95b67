"""What is kept beside a memory's text: thirty fields, read from whatever an older system stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from holdfast.core.system import SystemClock
from holdfast.core.times import iso
from holdfast.protocol.origin import PRIVATE, chat_type
from holdfast.protocol.terms import (
    USUAL_IMPORTANCE,
    MemoryScope,
    MemoryType,
    MemoryVisibility,
    normalize_importance,
    normalize_memory_scope,
    normalize_type,
    normalize_visibility,
    whole,
)

LISTED = 8  # entities and topics: more of them are noise to a search
LISTED_CHARS = 80
MOST_JSON_CHARS = 1_000_000

# Beyond 2001 in milliseconds and beyond the year 5000 in seconds: a number above it counts milliseconds.
_MILLISECONDS = 100_000_000_000
_LATEST_MS = 253_402_300_799_999


def _now() -> str:
    return datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC).isoformat()


@dataclass(slots=True)
class MemoryMetadata:
    """The fields of one memory. Not frozen: programs written for the earlier protocol fill it step by step."""

    user_id: str = ""
    platform_id: str = ""
    sender_id: str = ""
    umo: str = ""
    session_type: str = PRIVATE
    session_id: str = ""
    domain: str = ""
    uri: str = ""
    version: int = 1
    deprecated: bool = False
    memory_type: str = MemoryType.NORMAL
    disclosure: str = ""
    created_at: str = field(default_factory=_now)
    last_recalled_at: str = field(default_factory=_now)
    recall_count: int = 0
    importance: int = USUAL_IMPORTANCE
    compressed: bool = False
    memory_scope: str = MemoryScope.PERSONAL
    owner_user_id: str = ""
    owner_user_ids: list[str] = field(default_factory=list)
    owner_session_id: str = ""
    visibility: str = MemoryVisibility.PRIVATE
    speaker_id: str = ""
    subject: str = ""
    entities: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    memory_content: str = ""
    impression: str | None = None
    migrated_from: str | None = None
    migrated_to: str | None = None

    @classmethod
    def from_dict(cls, data: object) -> MemoryMetadata:
        """The fields that the data has, each as its own type; never raises.

        Data may be the text of a JSON object. What is unknown is dropped, what is missing or of a wrong type takes
        its default. A time that was not recorded stays empty: "now" would make an old memory new at every reading.
        """
        given = _mapping(data)
        values = {name: read(given[name]) for name, read in _READERS.items() if name in given}
        made = cls(**{"created_at": "", "last_recalled_at": "", **values})
        made.owner_user_id = made.owner_user_id or made.user_id
        made.speaker_id = made.speaker_id or made.sender_id
        return made

    def to_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return dataclasses.asdict(self)


def _mapping(data: object) -> Mapping[str, Any]:
    if isinstance(data, MemoryMetadata):
        return data.to_dict()
    if isinstance(data, str) and len(data) <= MOST_JSON_CHARS:
        try:
            data = orjson.loads(data)
        except ValueError:  # no JSON, or text that is no UTF-8
            return {}
    return data if isinstance(data, Mapping) else {}


def strings(value: object) -> list[str]:
    """The names in a list, all of them and whole, without blanks. Numbers are names too: many ids are."""
    if not isinstance(value, list | tuple):
        return []
    return [name for one in value if (name := _text(one).strip())]


def _short_list(value: object) -> list[str]:
    return [name[:LISTED_CHARS] for name in strings(value)[:LISTED]]


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    # An integer beyond 64 bits is no valid id, and Python refuses to print one of some thousand digits.
    return str(value) if isinstance(value, float) or whole(value) is not None else ""


def _optional(value: object) -> str | None:
    return _text(value) if value is not None else None


def _flag(value: object) -> bool:
    """True for true, 1 and their texts."""
    return value is True or (not isinstance(value, bool) and _text(value).strip().lower() in ("true", "1", "yes"))


def _count(value: object) -> int:
    return max(whole(value) or 0, 0)


def _version(value: object) -> int:
    return max(whole(value) or 1, 1)


def _time(value: object) -> str:
    """ISO text as it stands; a number of seconds or milliseconds since 1970 as ISO text."""
    if isinstance(value, str):
        return value
    number = whole(value)
    if number is None or number < 0:
        return ""
    ms = number if number > _MILLISECONDS else number * 1000
    return iso(ms) if ms <= _LATEST_MS else ""


_READERS: dict[str, Callable[[object], Any]] = {
    **{one.name: _text for one in dataclasses.fields(MemoryMetadata)},
    "session_type": lambda value: chat_type(_text(value)),
    "version": _version,
    "deprecated": _flag,
    "memory_type": normalize_type,
    "created_at": _time,
    "last_recalled_at": _time,
    "recall_count": _count,
    "importance": normalize_importance,
    "compressed": _flag,
    "memory_scope": normalize_memory_scope,
    "owner_user_ids": strings,
    "visibility": normalize_visibility,
    "entities": _short_list,
    "topics": _short_list,
    "impression": _optional,
    "migrated_from": _optional,
    "migrated_to": _optional,
}
