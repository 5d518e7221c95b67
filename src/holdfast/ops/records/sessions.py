"""Operations that record the work of agents: sessions, observations, commits."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field, field_validator, model_validator
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.core.model import CleanText, Json, Summary
from holdfast.core.wire import shape
from holdfast.intake.event.event import CleanEvent
from holdfast.intake.observe import Duplicate, Stored, observe as observe_event
from holdfast.intake.sessions import CommitDraft, end_session, link_commit, start_session
from holdfast.intake.transcripts.transcript_store import SessionFolder, take_slice
from holdfast.ops.framework.answers import CommitShape, ObservationShape, SessionShape
from holdfast.ops.framework.fields import (
    CleanJson,
    CleanLine,
    CleanList,
    CleanLoose,
    CleanName,
    Name,
    Offset,
    Time,
    limit,
)
from holdfast.ops.framework.operation import Operation, Request
from holdfast.ops.query.context import context_for
from holdfast.projects import of_project, project_for_write, project_of_event
from holdfast.recall.context.reminders import note_shown
from holdfast.recall.context.summaries import summaries_of
from holdfast.snapshot.drill.drill_status import DrillStatus, drill_status
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.store.port import Condition, where
from holdfast.store.tables import COMMITS, OBSERVATIONS, SESSIONS

_NO_TEXT = CleanText("")
FORGETTING = ("compact", "clear")  # starts after which the agent no longer has what it was told before
SLICE_CHARS = 6_000_000  # hooks send up to 4 MB of lines at a time


class Observe(Request):
    session_id: CleanName
    hook_type: CleanName
    timestamp: Time
    data: CleanJson = Field(default_factory=dict)
    project: CleanLine = _NO_TEXT
    cwd: CleanLine = _NO_TEXT

    @field_validator("data", mode="before")
    @classmethod
    def _object(cls, value: Any) -> Any:
        """Hooks send an object; a bare text or list is kept under `content`."""
        if value is None:
            return {}
        return value if isinstance(value, dict) else {"content": value}


class ObserveAnswer(TypedDict):
    observationId: str
    sessionId: str
    deduplicated: NotRequired[bool]
    redacted: NotRequired[list[str]]


def observe(ctx: CallContext, ask: Observe) -> ObserveAnswer:
    """Record one event of an agent's session: a prompt, a tool call, a failure.

    The event is redacted, compressed into title, narrative, facts, concepts and files, and can be searched at once. A
    repeat of the same event within five minutes returns the first one.
    """
    event = CleanEvent(
        session_id=ask.session_id,
        hook=ask.hook_type,
        data=ask.data,
        at=ask.timestamp,
        project=CleanText(project_of_event(ctx, ask.project, ask.cwd)),
        cwd=ask.cwd,
        agent=ask.agent_id,
    )
    return _observed(ctx, event)


def _observed(ctx: CallContext, event: CleanEvent) -> ObserveAnswer:
    outcome = observe_event(ctx, event)
    answer: ObserveAnswer = {
        "observationId": outcome.observation.id,
        "sessionId": outcome.observation.session_id,
    }
    if isinstance(outcome, Duplicate):
        answer["deduplicated"] = True
    if ctx.redacted:
        answer["redacted"] = list(ctx.redacted)
    return answer


class AgentObserve(Request):
    session_id: CleanName
    project: CleanName
    text: CleanLoose | None = Field(default=None, description="Another name for content.")
    content: CleanLoose | None = None
    type: CleanName | None = None
    title: CleanLine | None = None
    cwd: CleanLine = _NO_TEXT
    image_data: CleanLoose | None = None

    @model_validator(mode="after")
    def _says_something(self) -> AgentObserve:
        if not (self.text or self.content or "").strip() and not self.image_data:
            raise ValueError("text or content is required")
        return self


def agent_observe(ctx: CallContext, ask: AgentObserve) -> ObserveAnswer:
    """Record something you noticed in this session, in your own words.

    Use it for passing observations worth finding again, and memory_save for facts to keep for good.
    """
    data: Json = {"content": ask.text or ask.content or ""}
    if ask.image_data:
        data["image_data"] = ask.image_data
    event = CleanEvent(
        session_id=ask.session_id,
        hook=CleanText("agent_note"),
        data=data,
        at=ctx.clock.now_ms(),
        project=CleanText(_note_project(ctx, ask)),
        cwd=ask.cwd,
        agent=ask.agent_id,
        type=ask.type,
        title=ask.title,
    )
    return _observed(ctx, event)


def _note_project(ctx: CallContext, ask: AgentObserve) -> str:
    return project_of_event(ctx, ask.project, ask.cwd) if ask.cwd else project_for_write(ctx, ask.project)


class SessionStart(Request):
    session_id: CleanName
    project: CleanLine
    cwd: CleanLine
    title: CleanLine | None = None
    timestamp: Time | None = Field(default=None, description="Start time. Default: now.")
    context: bool = Field(default=True, description="Return the context for the session.")
    source: CleanName | None = Field(
        default=None, description="Why it starts, as hooks report it. After compact or clear, nothing counts as told."
    )


class SessionStartAnswer(TypedDict):
    session: SessionShape
    context: str
    alarm: NotRequired[str]  # what the user has to know: a restore drill failed


def session_start(ctx: CallContext, ask: SessionStart) -> SessionStartAnswer:
    """Start or resume a session and get its context. Other sessions are not affected."""
    event = CleanEvent(
        session_id=ask.session_id,
        hook=CleanText("session_start"),
        data={},
        at=ctx.clock.now_ms() if ask.timestamp is None else ask.timestamp,
        project=CleanText(project_of_event(ctx, ask.project, ask.cwd)),
        cwd=ask.cwd,
        agent=ask.agent_id,
    )
    session = start_session(ctx, event, ask.title)
    summary = summaries_of(ctx.store.read(), ctx.tenant, [session.id]).get(session.id)
    text = ""
    if ask.context:
        made = context_for(ctx, session.project, ask.session_id, ctx.settings.token_budget, ask.agent_id)
        told = (id for one in made.told for id in one.ids)
        note_shown(ctx, session.id, told, anew=ask.source in FORGETTING)
        text = made.text
    answer: SessionStartAnswer = {"session": _with_summary(shape(session), summary), "context": text}
    drill = drill_status(snapshot_context(ctx)) if ctx.live is not None else DrillStatus()
    return {**answer, "alarm": f"{drill.alarm}. {drill.remedy}"} if drill.alarm else answer


class SessionTranscript(Request):
    session_id: CleanName
    project: CleanLine = _NO_TEXT
    cwd: CleanLine = _NO_TEXT
    text: Annotated[str, Field(max_length=SLICE_CHARS)] = Field(
        default="", description="Complete lines of the transcript, starting where the last response ended."
    )
    first_line: int = Field(default=1, ge=1, le=1_000_000_000, description="Number of the first line in the file.")
    last_message: CleanLoose = Field(
        default=_NO_TEXT, description="Last message of the agent, which may not be in the file yet."
    )
    timestamp: Time | None = None


class SessionTranscriptAnswer(TypedDict):
    stored: int
    duplicates: int
    skippedLines: int
    consumed: int
    consumedLines: int


def session_transcript(ctx: CallContext, ask: SessionTranscript) -> SessionTranscriptAnswer:
    """Import a part of a session's transcript (Claude Code or Codex): messages, prompts and tool calls, each once.

    `consumed` is the number of bytes that need not be sent again. It excludes a half-written line and a tool call
    without a result. Repeating a part, or importing the whole file later, adds no duplicates.
    """
    at = ctx.clock.now_ms() if ask.timestamp is None else ask.timestamp
    place = SessionFolder(ask.session_id, CleanText(project_of_event(ctx, ask.project, ask.cwd)), ask.cwd)
    report = take_slice(ctx, place, ask.text, ask.first_line, at)
    stored, duplicates = report.stored, report.duplicates
    if ask.last_message.strip():
        data: Json = {"message": ask.last_message}
        hook = CleanText("assistant_message")
        event = CleanEvent(ask.session_id, hook, data, at, place.project, ask.cwd, ask.agent_id)
        is_new = isinstance(observe_event(ctx, event, capped=False), Stored)
        stored, duplicates = stored + is_new, duplicates + (not is_new)
    return {
        "stored": stored,
        "duplicates": duplicates,
        "skippedLines": report.skipped,
        "consumed": report.consumed,
        "consumedLines": report.consumed_lines,
    }


class SessionEnd(Request):
    session_id: Name
    timestamp: Time | None = Field(default=None, description="End time. Default: now.")


class SessionEndAnswer(TypedDict):
    success: bool
    known: bool


def session_end(ctx: CallContext, ask: SessionEnd) -> SessionEndAnswer:
    """Mark a session as completed. A later event reopens it.

    Ending an unknown session is not an error; `known` is then false.
    """
    return {"success": True, "known": end_session(ctx, ask.session_id, ask.timestamp) is not None}


class SessionCommit(Request):
    sha: CleanName
    session_id: CleanName | None = None
    branch: CleanLine = _NO_TEXT
    repo: CleanLine = _NO_TEXT
    message: CleanLoose = _NO_TEXT
    author: CleanLine = _NO_TEXT
    authored_at: CleanLine = _NO_TEXT
    files: CleanList = ()

    @field_validator("branch", "repo", "message", "author", "authored_at", mode="before")
    @classmethod
    def _none_is_empty(cls, value: Any) -> Any:
        return "" if value is None else value


class SessionCommitAnswer(TypedDict):
    success: bool
    commit: CommitShape


def session_commit(ctx: CallContext, ask: SessionCommit) -> SessionCommitAnswer:
    """Link a git commit to the session in which it was made."""
    draft = CommitDraft(
        sha=ask.sha,
        session_id=ask.session_id,
        branch=ask.branch,
        repo=ask.repo,
        message=ask.message,
        author=ask.author,
        authored_at=ask.authored_at,
        files=ask.files,
    )
    return {"success": True, "commit": shape(link_commit(ctx, draft))}


class ByCommit(Request):
    sha: Name


class ByCommitAnswer(TypedDict):
    commit: CommitShape
    sessions: list[SessionShape]


def session_by_commit(ctx: CallContext, ask: ByCommit) -> ByCommitAnswer:
    """Find the sessions in which a git commit was made, by its sha or a prefix of it."""
    if len(ask.sha) < 4:
        raise InvalidRequest("sha: must have at least four characters")
    reader = ctx.store.read()
    upper = Condition("sha", "<", ask.sha + "\U0010ffff")
    bounds = (*ctx.sees(), Condition("sha", ">=", ask.sha), upper)
    found = reader.find(COMMITS, ctx.tenant, *bounds, order="-linked_at", limit=1)
    if not found:
        raise NotFound("commit: no session is linked to that commit")
    sessions = [reader.get(SESSIONS, ctx.tenant, id) for id in found[0].session_ids]
    visible = [shape(one) for one in sessions if one is not None and ctx.may_see(one)]
    return {"commit": shape(found[0]), "sessions": visible}


class Commits(Request):
    branch: Name | None = None
    repo: Name | None = None
    session_id: Name | None = None
    limit: int = limit(100, 500)
    offset: Offset = 0


class CommitsAnswer(TypedDict):
    commits: list[CommitShape]


def commits(ctx: CallContext, ask: Commits) -> CommitsAnswer:
    """List the git commits linked to sessions, newest first."""
    reader = ctx.store.read()
    bounds = [*ctx.sees(), *where(branch=ask.branch, repo=ask.repo)]
    if ask.session_id:
        bounds.append(Condition("session_ids", "has", ctx.session_key(reader, ask.session_id)))
    found = reader.find(COMMITS, ctx.tenant, *bounds, order="-linked_at", limit=ask.limit, offset=ask.offset)
    return {"commits": [shape(one) for one in found]}


class Sessions(Request):
    project: Name | None = None
    status: Name | None = None
    session_id: Name | None = None
    limit: int = limit(100, 500)
    offset: Offset = 0


class SessionsAnswer(TypedDict):
    sessions: list[SessionShape]
    total: int


def sessions(ctx: CallContext, ask: Sessions) -> SessionsAnswer:
    """List sessions, newest first, with their titles and summaries.

    Use it to see what was worked on lately before asking for details of one session.
    """
    reader = ctx.store.read()
    id = ctx.session_key(reader, ask.session_id) if ask.session_id else None
    bounds = (*ctx.sees(ask.agent_id), *of_project(ctx, ask.project), *where(status=ask.status, id=id))
    found = reader.find(SESSIONS, ctx.tenant, *bounds, order="-started_at", limit=ask.limit, offset=ask.offset)
    summaries = summaries_of(reader, ctx.tenant, (one.id for one in found))
    shapes = [_with_summary(shape(one), summaries.get(one.id)) for one in found]
    return {"sessions": shapes, "total": reader.count(SESSIONS, ctx.tenant, *bounds)}


def _with_summary(session: Json, summary: Summary | None) -> Json:
    if summary is None:
        return {**session, "title": session["title"] or session["firstPrompt"][:80]}
    return {**session, "title": session["title"] or summary.title, "summary": summary.narrative}


class Observations(Request):
    session_id: Name
    limit: int = limit(500, 1000)
    offset: Offset = 0


class ObservationsAnswer(TypedDict):
    observations: list[ObservationShape]
    total: int


def observations(ctx: CallContext, ask: Observations) -> ObservationsAnswer:
    """List the observations of one session, oldest first."""
    reader = ctx.store.read()
    bounds = (*ctx.sees(ask.agent_id), *where(session_id=ctx.session_key(reader, ask.session_id)))
    found = reader.find(OBSERVATIONS, ctx.tenant, *bounds, order="at", limit=ask.limit, offset=ask.offset)
    return {
        "observations": [shape(one) for one in found],
        "total": reader.count(OBSERVATIONS, ctx.tenant, *bounds),
    }


INTAKE = (
    Operation(observe, "POST", "/observe", effect="write", short=True, status=201, cli="observe"),
    Operation(
        agent_observe,
        "POST",
        "/agent/observe",
        effect="write",
        short=True,
        status=201,
        tool="agent_observe",
        cli="note",
        positional=("text",),
    ),
    Operation(session_start, "POST", "/session/start", effect="write", cli="session start"),
    Operation(session_transcript, "POST", "/session/transcript", effect="write"),
    Operation(session_end, "POST", "/session/end", effect="write", cli="session end", positional=("sessionId",)),
    Operation(session_commit, "POST", "/session/commit", effect="write", cli="session commit", positional=("sha",)),
    Operation(
        session_by_commit,
        "GET",
        "/session/by-commit",
        tool="memory_commit_lookup",
        cli="session by-commit",
        positional=("sha",),
    ),
    Operation(commits, "GET", "/commits", tool="memory_commits", cli="commits"),
    Operation(
        sessions,
        "GET",
        "/sessions",
        tool="memory_sessions",
        tool_also=("memory_sessions_list",),
        cli="sessions",
    ),
    Operation(
        observations,
        "GET",
        "/observations",
        tool="memory_observations",
        cli="observations",
        positional=("sessionId",),
    ),
)
