"""What the store holds after the days, read from its export: the records as text, and what replaced what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent_day.machine import CannotPlay, Machine
from agent_day.play.mcp_stdio import flat
from agent_day.score import Record, marked

_TEXTS = ("text", "content", "narrative", "title")


@dataclass(frozen=True, slots=True)
class Kept:
    """Every record, and the pairs of old and new texts."""

    records: tuple[Record, ...]
    replaced: tuple[tuple[str, str], ...]


def kept(machine: Machine) -> Kept:
    """Read the store of the machine's server."""
    try:
        rows = list(_rows(machine.get("/export", timeout=300)))
    except OSError as why:
        raise CannotPlay(f"the store could not be exported: {why}") from None
    by_id = {row["id"]: row for row in rows if isinstance(row.get("id"), str)}
    newer: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for old in _replaced(row):
            newer[old].append(_text(by_id.get(row.get("sourceId", row.get("id")))))
    texts = [(row.get("id", ""), flat(row)) for row in rows]
    records = tuple(Record(text, marked(text) or id in newer, tuple(newer.get(id, ()))) for id, text in texts)
    return Kept(records, tuple((_text(by_id.get(old)), new) for old, news in newer.items() for new in news))


def _replaced(row: dict[str, Any]) -> list[str]:
    """The ids that this record replaces: a relation's target, or what a memory lists."""
    if row.get("type") == "supersedes":
        return [row["targetId"]] if isinstance(row.get("targetId"), str) else []
    listed = row.get("supersedes")
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def _text(row: dict[str, Any] | None) -> str:
    found = (row[name] for name in _TEXTS if row and isinstance(row.get(name), str))
    return next(found, "?")


def _rows(value: object) -> Iterator[dict[str, Any]]:
    """Every object that stands in a list of the export, also below a session's name."""
    if isinstance(value, dict):
        for inner in value.values():
            if isinstance(inner, list):
                yield from (one for one in inner if isinstance(one, dict))
            yield from _rows(inner)
