"""Operations on lessons."""

from __future__ import annotations

from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.model import CleanText
from holdfast.core.wire import shape
from holdfast.learn.lessons import (
    LessonDraft,
    count_lessons,
    delete_lesson,
    list_lessons,
    save_lesson,
    search_lessons,
    strengthen_lesson,
)
from holdfast.ops.framework.answers import LessonShape, Success
from holdfast.ops.framework.fields import CleanBody, CleanLine, CleanList, CleanName, Name, Offset, Query, Share, limit
from holdfast.ops.framework.operation import Operation, Request
from holdfast.projects import written_project


class Lessons(Request):
    project: Name | None = None
    source: Name | None = None
    min_confidence: Share = 0.0
    limit: int = limit(50, 500)
    offset: Offset = 0


class LessonsAnswer(TypedDict):
    success: bool
    lessons: list[LessonShape]
    total: int  # that fit, on all pages


def lessons(ctx: CallContext, ask: Lessons) -> LessonsAnswer:
    """List lessons, highest confidence first."""
    found = list_lessons(ctx, ask.project, ask.source, ask.min_confidence, ask.limit, ask.offset)
    total = count_lessons(ctx, ask.project, ask.source, ask.min_confidence)
    return {"success": True, "lessons": [shape(one) for one in found], "total": total}


class LessonSave(Request):
    content: CleanBody
    context: CleanLine = CleanText("")
    project: CleanName | None = None
    confidence: Share | None = None
    tags: CleanList = ()
    source: CleanLine = CleanText("manual")
    source_ids: CleanList = ()


class LessonSaveAnswer(TypedDict):
    success: bool
    action: str
    lesson: LessonShape


def lesson_save(ctx: CallContext, ask: LessonSave) -> LessonSaveAnswer:
    """Save a lesson: a rule learnt from experience that should guide later work.

    Saving it again raises its confidence; without confirmation the confidence falls every week. `context` describes
    when it applies.
    """
    draft = LessonDraft(
        content=ask.content,
        context=ask.context,
        project=written_project(ctx, ask.project),
        confidence=ask.confidence,
        source=ask.source or CleanText("manual"),
        source_ids=ask.source_ids,
        tags=ask.tags,
    )
    lesson, created = save_lesson(ctx, draft)
    return {"success": True, "action": "created" if created else "strengthened", "lesson": shape(lesson)}


class LessonSearch(Request):
    query: Query
    project: Name | None = None
    min_confidence: Share = 0.1
    limit: int = limit(10, 100)


def lesson_search(ctx: CallContext, ask: LessonSearch) -> LessonsAnswer:
    """Find lessons relevant to a task, ranked by keywords and confidence.

    Use it before a task that may have failed before.
    """
    found = search_lessons(ctx, ask.query, ask.project, ask.min_confidence, ask.limit)
    hits = [{**shape(lesson), "score": score} for score, lesson in found]
    return {"success": True, "lessons": hits, "total": len(hits)}


class LessonNamed(Request):
    lesson_id: Name


class LessonAnswer(TypedDict):
    success: bool
    lesson: LessonShape


def lesson_strengthen(ctx: CallContext, ask: LessonNamed) -> LessonAnswer:
    """Confirm a lesson that proved right again."""
    return {"success": True, "lesson": shape(strengthen_lesson(ctx, ask.lesson_id))}


def lesson_delete(ctx: CallContext, ask: LessonNamed) -> Success:
    """Remove a lesson that proved wrong. Saving it again restores it."""
    delete_lesson(ctx, ask.lesson_id)
    return {"success": True}


LESSON_OPERATIONS = (
    Operation(lessons, "GET", "/lessons", tool="memory_lessons", cli="lessons"),
    Operation(
        lesson_save,
        "POST",
        "/lessons",
        effect="write",
        status=201,
        status_for=lambda answer: 201 if answer["action"] == "created" else 200,
        tool="memory_lesson_save",
        cli="lesson save",
        positional=("content",),
    ),
    Operation(
        lesson_search,
        "POST",
        "/lessons/search",
        tool="memory_lesson_recall",
        tool_also=("memory_lesson_search",),
        cli="lesson search",
        positional=("query",),
    ),
    Operation(
        lesson_strengthen,
        "POST",
        "/lessons/strengthen",
        effect="write",
        cli="lesson strengthen",
        positional=("lessonId",),
    ),
    Operation(
        lesson_delete,
        "DELETE",
        "/lessons",
        effect="destroy",
        also=(("POST", "/lessons/delete"),),
        tool="memory_lesson_delete",
        cli="lesson delete",
        positional=("lessonId",),
    ),
)
