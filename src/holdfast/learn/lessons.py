"""Lessons: what an agent learnt, by fingerprint; repetition strengthens, time weakens."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from hashlib import sha256

from holdfast.context import CallContext
from holdfast.core.errors import NotFound
from holdfast.core.model import CleanText, Event, Lesson
from holdfast.core.times import DAY_MS
from holdfast.projects import of_project, project_names
from holdfast.store.minhash import distinct_words
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.tables import LESSONS

START_CONFIDENCE = 0.5
DECAY_RATE = 0.05
STRENGTHEN = 0.1
FLOOR = 0.05
FADED = 0.1  # at or below this, a lesson that was never reinforced is put away
WEEK_MS = 7 * DAY_MS
LOOKED_AT = 5_000
PREFIX_CHARS = 4  # shorter words would match the beginnings of too many others


@dataclass(frozen=True, slots=True)
class LessonDraft:
    content: CleanText
    context: CleanText
    project: CleanText | None
    confidence: float | None
    source: CleanText
    source_ids: tuple[CleanText, ...]
    tags: tuple[CleanText, ...]


def lesson_id(content: str, project: str | None, agent: str | None) -> str:
    """The same for the same lesson of the same project and agent, whatever its case and outer space."""
    key = content.strip().lower()
    if project or agent:
        key = "\x1f".join((key, project or "", agent or ""))
    return f"lsn_{sha256(key.encode()).hexdigest()[:16]}"


def save_lesson(ctx: CallContext, draft: LessonDraft) -> tuple[Lesson, bool]:
    """The lesson, and whether it is new; a known one is strengthened, a put-away one comes back."""
    agent = ctx.shared_agent()
    id = lesson_id(draft.content, draft.project, agent)

    def store(tx: Tx) -> tuple[Lesson, bool]:
        known = tx.get(LESSONS, ctx.tenant, id)
        if known is not None and not known.deleted:
            return _strengthened(ctx, tx, known), False
        now = ctx.clock.now_ms()
        confidence = START_CONFIDENCE if draft.confidence is None else draft.confidence
        lesson = Lesson(
            tenant=ctx.tenant,
            id=id,
            seq=known.seq if known else tx.next_seq(ctx.tenant),
            content=draft.content,
            context=draft.context,
            project=draft.project,
            agent=agent,
            confidence=confidence,
            reinforcements=0,
            source=draft.source,
            source_ids=draft.source_ids,
            tags=draft.tags,
            decay_rate=DECAY_RATE,
            created_at=now,
            updated_at=now,
            last_reinforced_at=None,
            last_decayed_at=None,
            deleted=False,
        )
        tx.replace(LESSONS, lesson)
        ctx.audit(tx, "lesson_save", (id,))
        ctx.publish(tx, "lesson", lesson)
        return lesson, True

    return ctx.store.write(store)


def strengthen_lesson(ctx: CallContext, id: str) -> Lesson:
    """The lesson with more confidence.

    Raises:
        NotFound: no such lesson, or not the caller's to see.
    """
    return ctx.store.write(lambda tx: _strengthened(ctx, tx, _known(ctx, tx, id)))


def delete_lesson(ctx: CallContext, id: str) -> Lesson:
    """The lesson, put away: it is no longer recalled, and saving it again brings it back.

    Raises:
        NotFound: no such lesson, or not the caller's to see.
    """

    def store(tx: Tx) -> Lesson:
        lesson = dataclasses.replace(_known(ctx, tx, id), deleted=True, updated_at=ctx.clock.now_ms())
        tx.replace(LESSONS, lesson)
        ctx.audit(tx, "lesson_delete", (id,))
        ctx.publish(tx, "lesson", lesson)
        return lesson

    return ctx.store.write(store)


def _known(ctx: CallContext, tx: Tx, id: str) -> Lesson:
    lesson = tx.get(LESSONS, ctx.tenant, id)
    if lesson is None or lesson.deleted or not ctx.may_see(lesson):
        raise NotFound("lesson: no lesson has that id")
    return lesson


def _strengthened(ctx: CallContext, tx: Tx, lesson: Lesson) -> Lesson:
    now = ctx.clock.now_ms()
    lesson = dataclasses.replace(
        lesson,
        confidence=round(min(1.0, lesson.confidence + STRENGTHEN * (1 - lesson.confidence)), 6),
        reinforcements=lesson.reinforcements + 1,
        last_reinforced_at=now,
        updated_at=now,
    )
    tx.replace(LESSONS, lesson)
    ctx.audit(tx, "lesson_strengthen", (lesson.id,))
    ctx.publish(tx, "lesson", lesson)
    return lesson


def list_lessons(
    ctx: CallContext, project: str | None, source: str | None, min_confidence: float, limit: int, offset: int = 0
) -> list[Lesson]:
    """Lessons by confidence."""
    bounds = _fitting(ctx, project, source, min_confidence)
    return ctx.store.read().find(LESSONS, ctx.tenant, *bounds, order="-confidence", limit=limit, offset=offset)


def count_lessons(ctx: CallContext, project: str | None, source: str | None, min_confidence: float) -> int:
    """How many lessons `list_lessons` has in all."""
    return ctx.store.read().count(LESSONS, ctx.tenant, *_fitting(ctx, project, source, min_confidence))


def _fitting(ctx: CallContext, project: str | None, source: str | None, min_confidence: float) -> tuple[Condition, ...]:
    conditions = (*ctx.sees_shared(), *of_project(ctx, project), *where(deleted=False, source=source))
    return (*conditions, Condition("confidence", ">=", min_confidence))


def lessons_for(ctx: CallContext, project: str, min_confidence: float, limit: int) -> list[Lesson]:
    """The surest lessons of a project and of no project, as many of each at most."""
    bounds = (*ctx.sees_shared(), *where(deleted=False), Condition("confidence", ">=", min_confidence))
    reader = ctx.store.read()
    places = [Condition("project", "is null"), *of_project(ctx, project)]
    return [
        lesson
        for place in places
        for lesson in reader.find(LESSONS, ctx.tenant, *bounds, place, order="-confidence", limit=limit)
    ]


def search_lessons(
    ctx: CallContext, query: str, project: str | None, min_confidence: float, limit: int
) -> list[tuple[float, Lesson]]:
    """Lessons that share words with the query: confidence × share of words × recency, best first.

    Searches lessons of the project and those of no project.
    """
    terms = {word for word in distinct_words(query) if len(word) > 1 or not word.isascii()}
    now, names = ctx.clock.now_ms(), project_names(ctx, project)
    found = []
    for lesson in list_lessons(ctx, None, None, min_confidence, LOOKED_AT):
        if names and lesson.project and lesson.project not in names:
            continue
        share = _share(terms, lesson)
        if share:
            age = max(0, now - (lesson.last_reinforced_at or lesson.created_at)) / DAY_MS
            found.append((lesson.confidence * share / (1 + 0.01 * age), lesson))
    return sorted(found, key=lambda pair: (-pair[0], pair[1].seq))[:limit]


def _share(terms: set[str], lesson: Lesson) -> float:
    if not terms:
        return 0.0
    words = distinct_words(" ".join((lesson.content, lesson.context, *lesson.tags)))
    held = sum(1 for term in terms if term in words or _begins_one(term, words))
    return held / len(terms)


def _begins_one(term: str, words: frozenset[str]) -> bool:
    return len(term) >= PREFIX_CHARS and any(word.startswith(term) for word in words)


def decay_lessons(ctx: CallContext) -> int:
    """Weaken what was not reinforced for a week, by the whole weeks that passed; how many changed."""
    now = ctx.clock.now_ms()

    def due(reader: Reader) -> list[Lesson]:
        weaker = ((lesson, decayed(lesson, now)) for lesson in reader.find(LESSONS, ctx.tenant, *where(deleted=False)))
        return [after for before, after in weaker if after != before]

    def store(tx: Tx) -> int:
        changed = 0
        for weaker in due(tx):
            tx.replace(LESSONS, weaker)
            changed += 1
        if changed:
            ctx.audit(tx, "lesson_decay", (), lessons=changed)
            # One for all of them: a reader that gets thousands at once is dropped as too slow.
            tx.publish(Event(ctx.tenant, "lesson_decay", {"lessons": changed}))
        return changed

    return ctx.store.write(store) if due(ctx.store.read()) else 0  # mostly nothing is due, and no writer waits


def decayed(lesson: Lesson, now: int) -> Lesson:
    """The lesson as it is after the time that passed; put away once faded and never reinforced.

    Repeating it within the week changes nothing: the weeks already counted are remembered.
    """
    marks = [lesson.created_at, lesson.last_reinforced_at or 0, lesson.last_decayed_at or 0]
    since = max(marks)
    weeks = (now - since) // WEEK_MS
    if weeks < 1:
        return lesson
    confidence = round(max(FLOOR, lesson.confidence - lesson.decay_rate * weeks), 6)
    gone = confidence <= FADED and lesson.reinforcements == 0
    return dataclasses.replace(
        lesson, confidence=confidence, last_decayed_at=since + weeks * WEEK_MS, updated_at=now, deleted=gone
    )
