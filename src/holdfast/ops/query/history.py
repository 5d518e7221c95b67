"""Operations on what was observed: about files, again and again, and around pictures."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Json, Observation
from holdfast.core.session_keys import session_name
from holdfast.core.times import iso
from holdfast.learn.patterns import find_patterns
from holdfast.ops.framework.fields import Name, Names, Query
from holdfast.ops.framework.operation import Operation, Request
from holdfast.projects import of_project
from holdfast.recall.context.escape import line
from holdfast.recall.context.salience import IMPORTANT
from holdfast.recall.flow import search
from holdfast.recall.hits import Hit, Question
from holdfast.store.port import Condition
from holdfast.store.tables import OBSERVATIONS
from holdfast.store.tokenizer import query

PER_FILE, LOOKED_AT = 5, 500
READ = 5_000  # observations in which patterns are looked for
PICTURES = re.compile(r"\[image\]|data:image/|'image_?data': '", re.IGNORECASE)  # in what was recorded of an event


class FileHistory(Request):
    files: Names = Field(min_length=1, max_length=20, description="Paths, or the last parts of paths.")
    session_id: Name | None = Field(default=None, description="Session to leave out: the one that asks.")
    project: Name | None = None


class FileHistoryAnswer(TypedDict):
    context: str
    files: list[Json]


def file_history(ctx: CallContext, ask: FileHistory) -> FileHistoryAnswer:
    """Show what earlier sessions observed about files: changes, errors, findings; the most important first."""
    own = ctx.session_key(ctx.store.read(), ask.session_id) if ask.session_id else None
    histories = {file: _observed(ctx, file, ask.project, own) for file in dict.fromkeys(ask.files)}
    lines: list[str] = []
    for file, seen in histories.items():
        if seen:
            said = (f"- [{line(one.type)}] {line(one.title)}: {line(one.narrative)}" for one in seen)
            lines += [f"## {line(file)}", *said]
    context = "\n".join(("<file-history>", *lines, "</file-history>")) if lines else ""
    shown = [{"file": file, "observations": [_brief(one) for one in seen]} for file, seen in histories.items() if seen]
    return {"context": context, "files": shown}


def _observed(ctx: CallContext, file: str, project: str | None, own: str | None) -> list[Observation]:
    reader, bounds = ctx.store.read(), (*ctx.sees(), *of_project(ctx, project))
    # By its words first: looking for the name in every record's list would read them all.
    hits = reader.words(OBSERVATIONS, ctx.tenant, query(PurePosixPath(file).name), bounds, LOOKED_AT).hits
    records = reader.find(OBSERVATIONS, ctx.tenant, *bounds, Condition("seq", "in", [hit.seq for hit in hits]))
    about = [
        one
        for one in records
        if one.session_id != own and one.importance >= IMPORTANT and any(_is_same(name, file) for name in one.files)
    ]
    return sorted(about, key=lambda one: (-one.importance, -one.at))[:PER_FILE]


def _is_same(name: str, asked: str) -> bool:
    """Whether one is the other, or its end."""
    name, asked = name.removeprefix("./"), asked.removeprefix("./")
    return name == asked or name.endswith(f"/{asked}") or asked.endswith(f"/{name}")


def _brief(one: Observation) -> Json:
    return {
        "obsId": one.id,
        "sessionId": session_name(one.session_id),
        "type": one.type,
        "title": one.title,
        "narrative": one.narrative,
        "importance": one.importance,
        "timestamp": iso(one.at),
    }


class Patterns(Request):
    project: Name | None = None


class PatternsAnswer(TypedDict):
    patterns: list[Json]


def patterns(ctx: CallContext, ask: Patterns) -> PatternsAnswer:
    """Find what recurs over sessions: files that are worked on together, and errors that come back."""
    bounds = (*ctx.sees(), *of_project(ctx, ask.project))
    seen = ctx.store.read().find(OBSERVATIONS, ctx.tenant, *bounds, order="-at", limit=READ)
    found: list[Json] = [
        {
            "type": one.type,
            "description": one.description,
            "files": list(one.files),
            "frequency": one.frequency,
            "sessions": [session_name(session) for session in one.sessions],
        }
        for one in find_patterns(seen)
    ]
    return {"patterns": found}


class VisionSearch(Request):
    query_text: Query | None = Field(default=None, description="Words that were said or written around the picture.")
    query_image_ref: Name | None = None
    query_image_base64: str | None = Field(default=None, max_length=10_000_000)
    top_k: int = Field(default=10, ge=1, le=50)
    session_id: Name | None = None


class VisionSearchAnswer(TypedDict):
    success: bool
    results: list[Json]
    total: int
    searched: str


def vision_search(ctx: CallContext, ask: VisionSearch) -> VisionSearchAnswer:
    """Find observations with a picture by the words around it. Pictures themselves are not looked at.

    A picture cannot be searched by another picture: describe it in words.
    """
    if ask.query_text is None:
        raise InvalidRequest(
            "queryText: pictures are not compared with each other",
            hint="Describe the picture in queryText: the words around pictures are searched.",
        )
    question = Question(ask.query_text, LOOKED_AT, session_id=ask.session_id, kinds=("observation",))
    shown = [(one, hit.score) for hit in search(ctx, question) if (one := _with_picture(hit)) is not None]
    results: list[Json] = [{**_brief(one), "score": round(score, 4)} for one, score in shown[: ask.top_k]]
    return {
        "success": True,
        "results": results,
        "total": len(shown),
        "searched": "the words around pictures; pictures are not looked at",
    }


def _with_picture(hit: Hit) -> Observation | None:
    """The observation with a picture that a hit is, or stands for."""
    turn = (hit.record, *hit.turn)
    return next((one for one in turn if isinstance(one, Observation) and PICTURES.search(str(one.raw))), None)


HISTORY = (
    Operation(
        file_history,
        "POST",
        "/file-context",
        tool="memory_file_history",
        cli="file-history",
    ),
    Operation(patterns, "POST", "/patterns", tool="memory_patterns", cli="patterns"),
    Operation(
        vision_search,
        "POST",
        "/vision-search",
        tool="memory_vision_search",
        cli="vision-search",
        positional=("queryText",),
        by_meaning=True,
    ),
)
