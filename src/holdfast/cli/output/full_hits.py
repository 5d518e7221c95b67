"""The complete records of a search, for a person: what the short form leaves out is what they were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from holdfast.cli.output.summary import reasons

if TYPE_CHECKING:
    from holdfast.core.model import Json


def full_hits(answer: Json) -> Iterator[str]:
    """Each hit with all its text, and with what came of it since."""
    if answer.get("hint"):
        yield answer["hint"]
    if not answer["results"]:
        yield "No results."
    for number, hit in enumerate(answer["results"], 1):
        record = hit["observation"]
        project = f", {record['project']}" if record.get("project") else ""
        yield f"{number}. {hit['timestamp'][:10]}{project}  {hit['type']}"
        for line in _text(hit, record):
            yield f"   {line}"
        if newer := hit.get("supersededBy") or hit.get("newer"):
            yield f"   {'Outdated' if hit.get('outdated') else 'Perhaps outdated'}; said anew: {newer['text']}"
        if hit["files"]:
            yield f"   files: {', '.join(hit['files'])}"
        keep = f"; if it still holds: holdfast still-true {hit['marked']}" if hit.get("marked") else ""
        yield f"   {hit['id']}{keep}"
        if "why" in hit:
            yield f"   {reasons(hit['why'])}"


def _text(hit: Json, record: Json) -> Iterator[str]:
    """What was said; of a tool's run what it was given and what it gave, as they were."""
    if record.get("toolInput") or record.get("toolOutput"):
        yield hit["title"]
        for value in (record.get("toolInput"), record.get("toolOutput")):
            yield from _values(value)
    else:
        if record.get("hookType") == "assistant_message" and record.get("subtitle"):
            yield f"User: {record['subtitle']}"
        yield from str(hit["content"]).splitlines()


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            if one not in (None, "", [], {}):
                first, *rest = _lines(one)
                yield f"{name}: {first}"
                yield from rest
    elif value not in (None, ""):
        yield from _lines(value)


def _lines(value: Any) -> list[str]:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text.splitlines() or [""]
