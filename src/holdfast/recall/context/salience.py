"""Which memories matter at the start of a session: those of its project and of none, and what it is about.

A memory counts by its importance, by how well it answers what the session has said so far, and a little by its
strength, its freshness and by being the project's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from holdfast.context import CallContext
from holdfast.core.model import Lesson, Memory
from holdfast.core.times import DAY_MS
from holdfast.projects import of_project, project_names
from holdfast.protocol.lifecycle import LifecycleRules, MemoryLifetime, strength
from holdfast.recall.flow import search
from holdfast.recall.hits import Hit, Question
from holdfast.recall.links import current
from holdfast.store.port import Condition, where
from holdfast.store.tables import MEMORIES, OBSERVATIONS, SESSIONS

MEMORIES_SHOWN = 20
LESSONS_SHOWN = 10
NEWEST = 200
RELEVANT = 40
MOST_HITS = 100
IMPORTANT = 4  # of 5
# How many writes back important memories are searched: no index has them, so that many rows are read at worst.
IMPORTANT_WITHIN = 50_000
TOPIC_OBSERVATIONS = 8
TOPIC_CHARS = 4_000
PROMPT_CHARS = 1_500

HALF_LIFE_MS = 30 * DAY_MS
# An importance of one more outweighs being old and of no project; what answers the session outweighs all of it.
BY_RELEVANCE, BY_IMPORTANCE, BY_STRENGTH, BY_FRESHNESS, BY_PROJECT = 0.6, 0.6, 0.05, 0.05, 0.05
# In chats memories fade with time since their last use, and what was recalled often fades less.
BY_LIFE, RULES = 0.8, LifecycleRules()


def topic(ctx: CallContext, session_id: str | None, agent: str | None) -> str:
    """What a session is about: its title, its first prompt and what happened in it lately; empty if unknown."""
    if not session_id:
        return ""
    reader = ctx.store.read()
    key = ctx.session_key(reader, session_id)
    session = reader.get(SESSIONS, ctx.tenant, key)
    if session is None or not ctx.may_see(session, agent):
        return ""
    bounds = (*ctx.sees(agent), *where(session_id=key))
    seen = reader.find(OBSERVATIONS, ctx.tenant, *bounds, order="-at", limit=TOPIC_OBSERVATIONS)
    parts = (session.title, session.first_prompt[:PROMPT_CHARS], *(one.title for one in seen))
    return " ".join(dict.fromkeys(part for part in parts if part))[:TOPIC_CHARS]


def hits_here(ctx: CallContext, question: Question) -> list[Hit]:
    """Answers from the question's project and memories of no project, best first; nothing that has expired."""
    hits = search(ctx, question)
    if question.project and "memory" in question.kinds:
        wide = replace(question, project=None, kinds=("memory",), limit=min(5 * question.limit, MOST_HITS))
        hits += [hit for hit in search(ctx, wide) if hit.record.project is None]
    now = ctx.clock.now_ms()
    lasting = [hit for hit in hits if not (isinstance(hit.record, Memory) and has_ended(hit.record, now))]
    return sorted(lasting, key=lambda hit: (-hit.score, -hit.record.seq))[: question.limit]


def has_ended(memory: Memory, now: int) -> bool:
    """Whether a memory was superseded, or its time is over though nothing has removed it yet."""
    ends = [end for end in (memory.forget_after, memory.valid_to) if end is not None]
    return not memory.latest or any(end <= now for end in ends)


def ranked_memories(
    ctx: CallContext, project: str | None, agent: str | None, about: str = ""
) -> tuple[tuple[Memory, ...], int]:
    """The memories that matter most, best first, and how many others were considered."""
    relevance: dict[str, float] = {}
    found = {memory.id: memory for memory in _candidates(ctx, project, agent)}
    for memory, share in _relevant(ctx, project, agent, about):
        found[memory.id] = memory
        relevance[memory.id] = share
    now = ctx.clock.now_ms()
    worth = {id: _worth(memory, relevance.get(id, 0.0), now) for id, memory in found.items()}
    if ctx.in_chat:
        strong = _strengths(ctx, list(found.values()), now)
        worth = {id: BY_RELEVANCE * relevance.get(id, 0.0) + BY_LIFE * strong[id] for id in found}
    best = sorted(
        (one for one in found.values() if ctx.may_see(one, agent)), key=lambda memory: (-worth[memory.id], -memory.seq)
    )
    # Twice as many as are shown: some are no longer so.
    told = current(ctx, ctx.store.read(), best[: 2 * MEMORIES_SHOWN], agent)
    shown = tuple(told[:MEMORIES_SHOWN])
    gone = min(len(best), 2 * MEMORIES_SHOWN) - len(told)
    return shown, len(best) - gone - len(shown)


def _strengths(ctx: CallContext, memories: Sequence[Memory], now: int) -> dict[str, float]:
    """How much each memory of a chat matters by its importance, by how often it was recalled and how long ago."""
    used = ctx.store.read().last_recalls(ctx.tenant, [memory.seq for memory in memories])
    strong: dict[str, float] = {}
    for memory in memories:
        recalls, at = used.get(memory.seq, (0, 0))
        life = MemoryLifetime(
            memory.id, memory.updated_at, at or None, recalls, memory.importance, memory.memory_type, memory.scope
        )
        strong[memory.id] = strength(life, RULES, now)
    return strong


def _worth(memory: Memory, relevance: float, now: int) -> float:
    freshness: float = 0.5 ** (max(0, now - memory.updated_at) / HALF_LIFE_MS)
    return (
        BY_RELEVANCE * relevance
        + BY_IMPORTANCE * (memory.importance - 1) / 4
        + BY_STRENGTH * min(1.0, max(0.0, memory.strength / 10))
        + BY_FRESHNESS * freshness
        + BY_PROJECT * (memory.project is not None)
    )


def _candidates(ctx: CallContext, project: str | None, agent: str | None) -> Iterable[Memory]:
    """The newest memories and the newest important ones, of no project and of this one."""
    now = ctx.clock.now_ms()
    reader = ctx.store.read()
    lasting = (Condition("forget_after", "until", now), Condition("valid_to", "until", now))
    bounds = (*ctx.sees_memories(agent), *where(latest=True), *lasting)
    places = [Condition("project", "is null"), *of_project(ctx, project)]
    for place in places:
        newest = reader.find(MEMORIES, ctx.tenant, *bounds, place, limit=NEWEST)
        yield from newest
        if len(newest) == NEWEST:
            back = Condition("seq", ">", newest[0].seq - IMPORTANT_WITHIN)
            weighty = Condition("importance", ">=", IMPORTANT)
            yield from reader.find(MEMORIES, ctx.tenant, *bounds, place, weighty, back, limit=NEWEST)


def _relevant(ctx: CallContext, project: str | None, agent: str | None, about: str) -> Iterable[tuple[Memory, float]]:
    """Memories that answer what the session is about, each with its share of the best one's score."""
    if not any(char.isalnum() for char in about):
        return
    question = Question(about, limit=RELEVANT, project=project or None, agent=agent, kinds=("memory",))
    own = (None, *project_names(ctx, project))
    hits = [hit for hit in hits_here(ctx, question) if hit.record.project in own]
    best = max((hit.score for hit in hits), default=0.0)
    for hit in hits:
        if isinstance(hit.record, Memory) and hit.score > 0:
            yield hit.record, hit.score / best


def ranked_lessons(lessons: Sequence[Lesson]) -> tuple[Lesson, ...]:
    """The surest lessons first; a project's own count half as much again as those of none."""
    weight = {lesson.id: lesson.confidence * (1.5 if lesson.project else 1.0) for lesson in lessons}
    return tuple(sorted(lessons, key=lambda lesson: (-weight[lesson.id], lesson.seq))[:LESSONS_SHOWN])
