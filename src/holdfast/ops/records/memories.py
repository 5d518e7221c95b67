"""Operations on memories: remember, evolve, list, show."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import Field, field_validator
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import Fault, QuotaReached
from holdfast.core.model import CleanText, Json
from holdfast.core.times import iso
from holdfast.core.wire import shape
from holdfast.intake.addresses import address_shape, memory_named, names_of
from holdfast.intake.remember import (
    MemoryDraft,
    Remembered,
    evolve as evolve_memory,
    line_of,
    remember as remember_fact,
)
from holdfast.ops.framework.answers import MemoryShape
from holdfast.ops.framework.fields import (
    CleanBody,
    CleanLine,
    CleanList,
    CleanName,
    Name,
    Names,
    Offset,
    Time,
    When,
    limit,
    moment,
)
from holdfast.ops.framework.operation import ChatRequest, Operation
from holdfast.projects import of_project, written_project
from holdfast.protocol.address import check_address
from holdfast.protocol.ownership import owned
from holdfast.recall.context.chat import ListPage, chat_list
from holdfast.store.port import Condition, where
from holdfast.store.tables import MEMORIES

BATCH = 1_000
DOMAIN_CHARS = 80


class Remember(ChatRequest):
    content: CleanBody
    type: CleanName = CleanText("fact")
    title: CleanLine | None = None
    concepts: CleanList = ()
    files: CleanList = ()
    project: CleanName | None = None
    session_id: CleanName | None = None
    source_observation_ids: CleanList = ()
    created_at: Time | None = None
    ttl_days: float | None = Field(default=None, gt=0, le=36_500, allow_inf_nan=False)
    importance: int = Field(default=3, ge=1, le=5)
    scope: Literal["global", "personal", "group", "conversation"] | None = Field(
        default=None, description="Who may see it. Default: personal in a chat, otherwise global."
    )
    visibility: Literal["private", "group"] | None = Field(
        default=None, description="Personal memories only: visible to the owner alone, or to all owners."
    )
    owners: Names = Field(default=(), description="Sender ids of additional owners.")
    share_into_groups: bool = Field(
        default=False,
        description="Allow a memory from a private chat to be recalled in groups where its owner is present.",
    )
    memory_type: Literal["normal", "permanent"] = "normal"
    uri: CleanName | None = Field(
        default=None, description="Address, domain://path. If a memory exists there, this becomes its new version."
    )
    domain: CleanLine = Field(default=CleanText(""), max_length=DOMAIN_CHARS)
    disclosure: CleanLine = Field(default=CleanText(""), description="When the memory should be recalled.")
    subject: CleanLine = CleanText("")
    entities: CleanList = ()
    topics: CleanList = ()

    @field_validator("type", mode="before")
    @classmethod
    def _fact(cls, value: Any) -> Any:
        return "fact" if value is None or value == "" else value


class SimilarShape(TypedDict):
    id: str
    title: str
    similarity: float


class RememberAnswer(TypedDict):
    success: bool
    memory: MemoryShape
    similarTo: NotRequired[list[SimilarShape]]
    deduplicated: NotRequired[bool]
    redacted: NotRequired[list[str]]


def _draft(ctx: CallContext, ask: Remember) -> MemoryDraft:
    return MemoryDraft(
        content=ask.content,
        type=ask.type,
        title=ask.title or None,
        concepts=ask.concepts,
        files=ask.files,
        project=written_project(ctx, ask.project),
        agent=ask.agent_id,
        session_id=ask.session_id,
        source_ids=ask.source_observation_ids,
        created_at=ask.created_at,
        ttl_days=ask.ttl_days,
        importance=ask.importance,
        facts=owned(
            ask.umo,
            ask.sender_id,
            scope=ask.scope,
            visibility=ask.visibility,
            owners=ask.owners,
            share_into_groups=ask.share_into_groups,
        ),
        uri=str(check_address(ask.uri)) if ask.uri else "",
        domain=ask.domain,
        memory_type=ask.memory_type,
        disclosure=ask.disclosure,
        subject=ask.subject,
        entities=ask.entities,
        topics=ask.topics,
    )


def _remembered(ctx: CallContext, kept: Remembered) -> RememberAnswer:
    answer: RememberAnswer = {"success": True, "memory": shape(kept.memory)}
    if kept.similar:
        answer["similarTo"] = [{"id": one.id, "title": one.title, "similarity": one.similarity} for one in kept.similar]
    if not kept.first:
        answer["deduplicated"] = True
    if ctx.redacted:
        answer["redacted"] = list(ctx.redacted)
    return answer


def remember(ctx: CallContext, ask: Remember) -> RememberAnswer:
    """Save a fact, decision, preference or pattern permanently, so that later sessions find it.

    One fact per call, in a full sentence. Saying the same again, perhaps with words added, makes a new version of the
    old memory; with words exchanged or taken away it is a memory of its own.
    `similarTo` names memories that may need to be forgotten or evolved instead.
    """
    return _remembered(ctx, remember_fact(ctx, _draft(ctx, ask)))


def agent_remember(ctx: CallContext, ask: Remember) -> RememberAnswer:
    """Save a fact for a named agent and project; otherwise the same as memory_save."""
    return remember(ctx, ask)


class RememberBatch(ChatRequest):
    """The chat and the sender are those of all memories that name no chat of their own."""

    memories: list[Json] = Field(max_length=BATCH)


class BatchItem(TypedDict):
    success: bool
    memory: NotRequired[MemoryShape]
    deduplicated: NotRequired[bool]
    error: NotRequired[str]
    code: NotRequired[str]


class BatchAnswer(TypedDict):
    success: bool
    results: list[BatchItem]
    saved: int
    failed: int


def remember_batch(ctx: CallContext, ask: RememberBatch) -> BatchAnswer:
    """Save up to 1,000 facts. Returns one result per item in the same order; an invalid item does not stop the rest."""
    operation = Operation(remember, "POST", "/remember", effect="write")
    results = [_one_of_batch(ctx, operation, _told_in(ask, item)) for item in ask.memories]
    saved = sum(1 for one in results if one["success"])
    return {
        "success": saved == len(results),
        "results": results,
        "saved": saved,
        "failed": len(results) - saved,
    }


def _told_in(ask: RememberBatch, item: Json) -> Json:
    """The item, from the chat that the whole batch comes from."""
    if item.get("umo") is not None:
        return item
    chat = {"umo": ask.umo, "senderId": ask.sender_id, "allChats": ask.all_chats or None}
    given = {name: one for name, one in item.items() if one is not None}
    return {name: one for name, one in chat.items() if one is not None} | given


def _one_of_batch(ctx: CallContext, operation: Operation, item: Json) -> BatchItem:
    try:
        answer: RememberAnswer = operation.call(ctx, item)
    except Fault as fault:
        if fault.http_status >= 500 and not isinstance(fault, QuotaReached):
            raise  # the store failed: every later item would fail too
        return {"success": False, "error": fault.message, "code": fault.code}
    kept: BatchItem = {"success": True, "memory": answer["memory"]}
    if "deduplicated" in answer:
        kept["deduplicated"] = True
    return kept


class Evolve(ChatRequest):
    memory_id: Name = Field(description="Id or address of the memory.")
    new_content: CleanBody
    new_title: CleanLine | None = None
    share_into_groups: bool = Field(
        default=False, description="Allow this text from a private chat to be recalled in groups, as the memory is."
    )


class EvolveAnswer(TypedDict):
    success: bool
    memory: MemoryShape


def evolve(ctx: CallContext, ask: Evolve) -> EvolveAnswer:
    """Replace a memory's content with a new version. The old version is kept in the history but no longer found."""
    memory = evolve_memory(
        ctx,
        ask.memory_id,
        ask.new_content,
        ask.new_title,
        ask.agent_id,
        share_into_groups=ask.share_into_groups,
    )
    return {"success": True, "memory": shape(memory)}


class Memories(ChatRequest):
    latest: bool = True
    count: bool = False
    project: Name | None = None
    type: Name | None = None
    session_id: Name | None = None
    as_of: When | None = None
    limit: int = limit(500, 1000)
    offset: Offset = 0
    format: Literal["full", "text"] = Field(default="full", description="text: also return a list in readable form.")
    locale: Literal["en", "zh"] = Field(default="en", description="Language of that list.")


class MemoriesAnswer(TypedDict):
    memories: list[MemoryShape]
    total: int
    text: NotRequired[str]


def memories(ctx: CallContext, ask: Memories) -> MemoriesAnswer:
    """List memories, newest first; with asOf, those that were known at that moment."""
    reader = ctx.store.read()
    bounds = [*ctx.sees_memories(ask.agent_id), *of_project(ctx, ask.project), *where(type=ask.type)]
    if ask.session_id:
        bounds.append(Condition("session_ids", "has", ctx.session_key(reader, ask.session_id)))
    as_of = moment(ctx, ask.as_of, "asOf")
    if as_of is not None:
        bounds += [Condition("valid_from", "<=", as_of), Condition("valid_to", "until", as_of)]
    elif ask.latest:
        bounds += where(latest=True)
    total = reader.count(MEMORIES, ctx.tenant, *bounds)
    if ask.count:
        return {"memories": [], "total": total}
    rows = reader.find(MEMORIES, ctx.tenant, *bounds, limit=ask.limit, offset=ask.offset)
    found = [one for one in rows if ctx.may_see(one, ask.agent_id)]
    answer: MemoriesAnswer = {"memories": [shape(one) for one in found], "total": total}
    if ask.format == "text":
        answer["text"] = chat_list(ctx, found, ListPage(ask.offset, ask.limit, total), ask.locale)
    return answer


class MemoryAsk(ChatRequest):
    id: Name = Field(description="Id or address of the memory.")


class MemoryAnswer(TypedDict):
    memory: MemoryShape
    versions: list[MemoryShape]
    addresses: NotRequired[list[Json]]
    recallCount: NotRequired[int]
    lastRecalledAt: NotRequired[str]


def memory(ctx: CallContext, ask: MemoryAsk) -> MemoryAnswer:
    """Show one memory by id or address: all its versions, newest first, and how often it was recalled."""
    reader = ctx.store.read()
    found = memory_named(ctx, reader, ask.id, ask.agent_id)
    line = [one for one in line_of(reader, found) if ctx.may_see(one, ask.agent_id)]
    answer: MemoryAnswer = {"memory": shape(found), "versions": [shape(one) for one in line]}
    if names := names_of(reader, found):
        answer["addresses"] = [address_shape(one) for one in names]
    recalls, at = reader.last_recalls(ctx.tenant, [found.seq]).get(found.seq, (0, 0))
    if recalls:
        answer["recallCount"] = recalls
    if at:
        answer["lastRecalledAt"] = iso(at)
    return answer


MEMORY_OPERATIONS = (
    Operation(
        remember,
        "POST",
        "/remember",
        effect="write",
        short=True,
        status=201,
        tool="memory_save",
        cli="remember",
        positional=("content",),
    ),
    Operation(
        agent_remember,
        "POST",
        "/agent/remember",
        effect="write",
        short=True,
        status=201,
        tool="agent_remember",
        tool_required=("project",),
    ),
    Operation(remember_batch, "POST", "/remember/batch", effect="write", status=201, bulk=True),
    Operation(
        evolve,
        "POST",
        "/evolve",
        effect="write",
        tool="memory_evolve",
        cli="evolve",
        positional=("memoryId", "newContent"),
    ),
    Operation(memories, "GET", "/memories", cli="memories"),
    Operation(memory, "GET", "/memories/{id}", tool="memory_get", cli="memory", positional=("id",)),
)
