"""Operations that query: search, smart search, context, enrich, profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, NotRequired, cast

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.core.model import Json, Memory, Observation
from holdfast.core.wire import shape
from holdfast.intake.addresses import is_address, memory_named
from holdfast.learn.lessons import search_lessons
from holdfast.ops.framework.answers import LessonShape
from holdfast.ops.framework.fields import Name, Names, Query, When, limit, moment
from holdfast.ops.framework.operation import ChatRequest, Operation, Request
from holdfast.ops.query.context import context_for, enrichment, profile_shape
from holdfast.ops.query.hit_shapes import (
    CONFIDENCE_DIGITS,
    HitShape,
    body_of,
    compact_shape,
    full_shape,
    passage_shape,
    record_shape,
    session_of,
    text_of,
)
from holdfast.ops.query.past_context import SnapshotShape, past_ctx
from holdfast.projects import is_known, project_of_event
from holdfast.recall.check.question_intake import note_question
from holdfast.recall.confidence import ANSWERABLE
from holdfast.recall.context.chat import chat_context
from holdfast.recall.context.reminders import note_shown, reminder
from holdfast.recall.explain import why
from holdfast.recall.flow import search as search_records
from holdfast.recall.hits import Hit, Question
from holdfast.recall.project_first import search_here
from holdfast.store.port import Reader
from holdfast.store.tables import OBSERVATIONS, SESSIONS
from holdfast.text.tokens import estimate

NEAREST = "Nothing here clearly answers the question; these are the nearest."
SHOWN = 600  # characters of a record in the short form


class Search(ChatRequest):
    query: Query
    limit: int = limit(10, 100)
    project: Name | None = None
    session_id: Name | None = None
    type: Name | None = None
    concepts: Names = Field(default=(), description="Only records with all of these concepts (exact match).")
    files: Names = Field(default=(), description="Only records with all of these paths (exact match).")
    before: When | None = None
    after: When | None = None
    as_of: When | None = None
    kind: Literal["memory", "observation"] | None = None
    format: Literal["full", "compact", "narrative", "passages"] = Field(
        default="full", description="passages: return only the matching text of each hit."
    )
    full: bool = Field(default=False, description="Return the complete record of each hit.")
    here: Name | None = Field(
        default=None,
        description="Current project. Hits of other projects are returned only if this one has none.",
    )
    token_budget: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        alias="token_budget",
        description="Maximum size of the response in tokens. Hits that do not fit are left out.",
    )
    per_session: int | None = Field(
        default=None,
        ge=1,
        le=100,
        description="Maximum number of hits of one session ahead of those of other sessions.",
    )
    min_confidence: float | None = Field(
        default=None,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Only hits whose probability to answer is at least this; no hit reaches 0.5. Without it the "
        "nearest are returned, however unlikely.",
    )
    explain: bool = Field(default=False, description="Explain the score of each hit.")
    at: When | None = Field(
        default=None,
        description="Search a snapshot instead: its id, or a time. A time is that moment in the vault's journal, or "
        "else the newest snapshot before it.",
    )
    identity: Name | None = Field(default=None, description="File with the age identity that decrypts the snapshot.")


class SearchAnswer(TypedDict):
    format: str
    results: list[HitShape]
    answerable: bool  # false: nothing that was searched is likely to answer
    confidence: float  # the probability that anything that was searched answers
    tokens_used: int
    tokens_budget: int | None
    truncated: bool
    hint: NotRequired[str]  # passages: that nothing clearly answers; or that no hit is as sure as was asked for
    text: NotRequired[str]
    snapshot: NotRequired[SnapshotShape]  # that was searched, where it was not the live memory


def _question(ctx: CallContext, ask: Search | SmartSearch, query: str, **more: Any) -> Question:
    """The arguments of both searches, and those of this one."""
    return Question(
        query=query,
        limit=ask.limit,
        project=ask.project,
        agent=ask.agent_id,
        session_id=ask.session_id,
        before=moment(ctx, ask.before, "before"),
        after=moment(ctx, ask.after, "after"),
        as_of=moment(ctx, ask.as_of, "asOf"),
        reread=True,
        **more,
    )


def search(ctx: CallContext, ask: Search) -> SearchAnswer:
    """Find memories and observations that answer a question, best first.

    Use it before answering anything that earlier sessions may have settled: decisions, preferences, causes of bugs, how
    things are done here. Ask with the words you would expect in the answer. With explain each hit has the reasons for
    its score. perSession limits how many hits of one session come first. Each hit has the probability that it answers
    (confidence); answerable is false where nothing is likely to, and then the nearest are returned all the same.
    """
    if ask.at is not None:
        with past_ctx(ctx, ask.at, ask.identity) as (then, snapshot):
            return {**search(then, ask.model_copy(update={"at": None})), "snapshot": snapshot}
    question = _question(
        ctx,
        ask,
        ask.query,
        type=ask.type,
        concepts=ask.concepts,
        files=ask.files,
        kinds=(ask.kind,) if ask.kind else ("memory", "observation"),
        per_session=ask.per_session,
        here=ask.here,
    )
    found = search_here(ctx, question)
    note_question(ctx, question, found)
    sure = max((hit.confidence.memory for hit in found), default=0.0)
    hits = [hit for hit in found if ask.min_confidence is None or hit.confidence.hit >= ask.min_confidence]
    if ask.full and ask.format == "passages":
        ask = ask.model_copy(update={"format": "full"})
    form = _form(ctx, ask)
    chosen, used = _fitting(hits, ask)
    _count(ctx, chosen)
    answer: SearchAnswer = {
        "format": ask.format,
        "results": cast(
            list[HitShape],
            [{**form(hit), "why": why(hit, ask.query)} if ask.explain else form(hit) for hit in chosen],
        ),
        "answerable": sure >= ANSWERABLE,
        "confidence": round(sure, CONFIDENCE_DIGITS),
        "tokens_used": used,
        "tokens_budget": ask.token_budget,
        "truncated": len(chosen) < len(hits),
    }
    if found and not hits:
        surest = max(hit.confidence.hit for hit in found)
        answer["hint"] = f"No hit is that sure: the best one has a confidence of {surest:.2f}."
    if ask.format == "passages" and chosen and not answer["answerable"]:
        answer["hint"] = NEAREST
    if ask.format == "narrative":
        answer["text"] = "\n\n".join(text_of(hit) for hit in chosen)
    return answer


def _form(ctx: CallContext, ask: Search) -> Callable[[Hit], Json]:
    if ask.format == "passages":
        reader = ctx.store.read()
        return lambda hit: passage_shape(ctx, reader, hit, ask.query, ask.here)
    form = full_shape if ask.format == "full" else compact_shape
    return lambda hit: form(hit, ask.query)


def _fitting(hits: Sequence[Hit], ask: Search) -> tuple[list[Hit], int]:
    """The hits that fit into the budget of tokens, and how many they take: one that is too long must not displace
    the others."""
    shown: list[Hit] = []
    used = 0
    for hit in hits:
        cost = estimate(hit.record.title if ask.format == "compact" else text_of(hit))
        if ask.token_budget is None or used + cost <= ask.token_budget:
            used += cost
            shown.append(hit)
    return shown, used


def _count(ctx: CallContext, hits: Sequence[Hit]) -> None:
    """Count the hits as recalled: among equals, what is recalled often comes first. An admin who looks through all
    chats does not count."""
    if ctx.viewer.admin:
        return
    ctx.recalls.add(ctx.tenant, (hit.record.seq for hit in hits))


class SmartSearch(ChatRequest):
    query: Query | None = None
    limit: int = limit(10, 100)
    project: Name | None = None
    session_id: Name | None = None
    before: When | None = None
    after: When | None = None
    as_of: When | None = None
    expand_ids: Names = ()


class SmartSearchAnswer(TypedDict):
    mode: str
    results: list[Json]
    lessons: NotRequired[list[LessonShape]]
    truncated: NotRequired[bool]


def smart_search(ctx: CallContext, ask: SmartSearch) -> SmartSearchAnswer:
    """Find memories in a short form, with matching lessons; then expand the ones you need.

    Call it with a query for titles and scores, and again with expandIds for the full records.
    """
    if ask.expand_ids:
        return _expand(ctx, ask)
    if ask.query is None:
        raise InvalidRequest("smart_search: query is required")
    question = _question(ctx, ask, ask.query)
    hits = search_records(ctx, question)
    note_question(ctx, question, hits)
    _count(ctx, hits)
    lessons = [] if ctx.in_chat else search_lessons(ctx, ask.query, ask.project, 0.1, 5)
    return {
        "mode": "compact",
        "results": [
            {**compact_shape(hit, ask.query), "content": text_of(hit)[:600], "narrative": body_of(hit)[:600]}
            for hit in hits
        ],
        "lessons": [{**shape(lesson), "score": score} for score, lesson in lessons],
    }


def _expand(ctx: CallContext, ask: SmartSearch) -> SmartSearchAnswer:
    reader = ctx.store.read()
    wanted = ask.expand_ids[:100]
    results: list[Json] = []
    for id in wanted:
        record = _named(ctx, reader, id, ask.agent_id)
        if record is not None:
            results.append({"obsId": id, "sessionId": session_of(record), "observation": record_shape(record)})
    return {"mode": "expanded", "results": results, "truncated": len(wanted) < len(ask.expand_ids)}


def _named(ctx: CallContext, reader: Reader, name: str, agent: str | None) -> Memory | Observation | None:
    """The record of an id, or the memory at an address, if the caller may see it."""
    seen = None if is_address(name) else reader.get(OBSERVATIONS, ctx.tenant, name)
    if seen is not None:
        return seen if ctx.may_see(seen, agent) else None
    with suppress(NotFound):
        return memory_named(ctx, reader, name, agent)
    return None


class Context(ChatRequest):
    session_id: Name | None = None
    project: str = Field(max_length=512)
    budget: int | None = Field(default=None, ge=50, le=200_000)
    query: Query | None = Field(default=None, description="In a chat: the latest message, used as the search query.")
    locale: Literal["en", "zh"] = Field(
        default="en", description="In a chat: language of the text around the memories."
    )
    explain: bool = Field(default=False, description="Return the reason and the source records of each line.")

    @model_validator(mode="before")
    @classmethod
    def _chats_have_no_project(cls, data: Any) -> Any:
        return {"project": "", **data} if isinstance(data, dict) and data.get("umo") else data


class ContextAnswer(TypedDict):
    context: str
    blocks: int
    tokens: int
    omitted: dict[str, int]
    shortened: dict[str, int]
    lines: NotRequired[list[Json]]
    project: NotRequired[str]
    known: NotRequired[bool]  # whether there are records of the project; the rest holds everywhere


def context(ctx: CallContext, ask: Context) -> ContextAnswer:
    """Get what an agent should know before it works on a project, within a budget of tokens.

    Contains, in this order: the user's wishes and rules, current decisions and facts, findings, open work, the last
    sessions and the important files. With sessionId, memories relevant to that session come first. What was left out or
    shortened is counted by section. With umo, only what the caller may see in that chat: memories by scope, each with
    its source, owner and date.
    """
    budget = ask.budget or ctx.settings.token_budget
    if ctx.in_chat:
        text, shown = chat_context(ctx, ask.project, ask.query or "", budget, ask.locale, ask.agent_id)
        return {"context": text, "blocks": shown, "tokens": estimate(text), "omitted": {}, "shortened": {}}
    made = context_for(ctx, ask.project, ask.session_id, budget, ask.agent_id)
    answer: ContextAnswer = {
        "context": made.text,
        "blocks": made.blocks,
        "tokens": made.tokens,
        "omitted": made.omitted,
        "shortened": made.shortened,
    }
    if ask.explain:
        answer["lines"] = [
            {"section": one.section, "text": one.text, "reason": one.reason, "ids": list(one.ids)} for one in made.told
        ]
        answer["project"], answer["known"] = ask.project, is_known(ctx, ask.project)
    return answer


class ContextPrompt(Request):
    session_id: Name
    prompt: Query
    project: Name | None = None
    cwd: Name | None = None


class ContextPromptAnswer(TypedDict):
    context: str
    ids: list[str]


def context_prompt(ctx: CallContext, ask: ContextPrompt) -> ContextPromptAnswer:
    """Get up to three memories that are clearly relevant to a prompt and new to this session, or nothing.

    For hooks that run when the user submits a prompt; at most 300 tokens.
    """
    reader = ctx.store.read()
    key = ctx.session_key(reader, ask.session_id)
    session = reader.get(SESSIONS, ctx.tenant, key)
    named = session.project if session is not None and ctx.may_see(session) else ask.project or ""
    found = reminder(ctx, ask.session_id, project_of_event(ctx, named, ask.cwd or ""), ask.prompt, ask.agent_id)
    note_shown(ctx, key, found.told)
    return {"context": found.text, "ids": list(found.ids)}


class Enrich(Request):
    session_id: Name | None = None
    files: Names = ()
    terms: Names = ()
    project: Name | None = None
    tool_name: Name | None = None


class EnrichAnswer(TypedDict):
    context: str


def enrich(ctx: CallContext, ask: Enrich) -> EnrichAnswer:
    """Get what is known about the files and terms that a tool is about to use, at most 4,000 characters."""
    text = enrichment(ctx, ask.files, ask.terms, ask.project, ask.session_id, ask.agent_id)
    return {"context": text}


class Profile(Request):
    project: Name | None = None


def profile(ctx: CallContext, ask: Profile) -> Json:
    """Show what a project is about: its concepts, files, conventions and common errors.

    Without a project, lists the known projects.
    """
    if ask.project:
        return profile_shape(ctx, ask.project)
    found = ctx.store.read().find(SESSIONS, ctx.tenant, *ctx.sees(), order="-started_at", limit=1_000)
    projects = dict.fromkeys(session.project for session in found if session.project)
    return {"success": True, "projects": list(projects)}


RECALL = (
    Operation(
        search,
        "POST",
        "/search",
        tool="memory_recall",
        brief={"format": "passages"},
        cli="recall",
        by_meaning=True,
        positional=("query",),
        paths=("identity",),
    ),
    Operation(
        smart_search,
        "POST",
        "/smart-search",
        tool="memory_smart_search",
        tool_required=("query",),
        cli="smart-search",
        by_meaning=True,
        positional=("query",),
    ),
    Operation(context, "POST", "/context", cli="context", positional=("project",), brief={"explain": True}),
    Operation(context_prompt, "POST", "/context/prompt", effect="write", cli="context-prompt", positional=("prompt",)),
    Operation(enrich, "POST", "/enrich", cli="enrich"),
    Operation(
        profile,
        "GET",
        "/profile",
        tool="memory_profile",
        tool_required=("project",),
        cli="profile",
        positional=("project",),
    ),
)
