"""Composing a context, an enrichment and a profile from what recall and learn give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from holdfast.context import CallContext
from holdfast.core.model import Json, Memory
from holdfast.core.times import iso
from holdfast.learn.lessons import lessons_for
from holdfast.learn.profile import profile
from holdfast.learn.slots import pinned_slots
from holdfast.learn.statements.learner import is_learnt
from holdfast.local.project_key import is_path
from holdfast.projects import of_project, project_names
from holdfast.recall.context.build import ContextBlock, ContextSources, build, past_sessions
from holdfast.recall.context.current_statements import standing
from holdfast.recall.context.escape import line
from holdfast.recall.context.salience import hits_here, ranked_lessons, ranked_memories, topic
from holdfast.recall.hits import Hit, Question
from holdfast.recall.passage import passage
from holdfast.store.port import Condition, where
from holdfast.store.tables import MEMORIES, OBSERVATIONS, SESSIONS

LEARNING_SECONDS = 1.5
PROFILED_OBSERVATIONS = 500
PROFILED_MEMORIES = 200
LESSONS_RANKED = 200
FILES_SHOWN = 8
SURE_ENOUGH = 0.1
ENRICH_LINE = 400
ENRICH_CHARS = 4_000
NOTE_CHARS = 30
ENRICH_FILES = 5
ENRICH_PER_FILE = 5
ENRICH_RELEVANT = 5
ENRICH_ERRORS = 3
IMPORTANT = 4


def context_for(ctx: CallContext, project: str, session_id: str | None, budget: int, agent: str | None) -> ContextBlock:
    """What an agent should know when it starts on a project."""
    key = ctx.session_key(ctx.store.read(), session_id) if session_id else None
    memories, others = ranked_memories(ctx, project, agent, topic(ctx, session_id, agent))
    names = project_names(ctx, project)
    # A session that starts right after another one ended is told what was said in it.
    ctx.learning.wait_until(lambda: is_learnt(ctx, names), LEARNING_SECONDS)
    statements = standing(ctx, names, agent)
    sources = ContextSources(
        slots=tuple(pinned_slots(ctx, project)),
        lessons=ranked_lessons(lessons_for(ctx, project, SURE_ENOUGH, LESSONS_RANKED)),
        memories=memories,
        other_memories=others,
        statements=tuple(statements),
        sessions=past_sessions(ctx, names, key, agent, statements) if names else (),
        files=_files(ctx, project),
    )
    return build(sources, budget)


def _files(ctx: CallContext, project: str) -> tuple[str, ...]:
    """The files that were changed most often lately."""
    if not project:
        return ()
    changed = (*ctx.sees(), *of_project(ctx, project), Condition("type", "in", ("file_edit", "file_write")))
    seen = ctx.store.read().find(OBSERVATIONS, ctx.tenant, *changed, order="-at", limit=PROFILED_OBSERVATIONS)
    roots = _roots(ctx, project, {one.session_id for one in seen})
    counts = Counter(path for one in seen for path in dict.fromkeys(relative(file, roots) for file in one.files))
    return tuple(path for path, _ in counts.most_common(FILES_SHOWN))


def _roots(ctx: CallContext, project: str, session_ids: Collection[str]) -> list[str]:
    """The folders that a project's sessions worked in, the outermost first."""
    some = Condition("id", "in", list(session_ids))
    folders = {one.cwd for one in ctx.store.read().find(SESSIONS, ctx.tenant, *ctx.sees(), some) if one.cwd}
    own = {project} if is_path(project) else set()
    return sorted(folders | own, key=len)


def relative(path: str, roots: Sequence[str]) -> str:
    """A path as seen from the outermost of the folders that it lies in."""
    for root in (one.rstrip("/\\") for one in roots):
        if root and path.startswith((f"{root}/", f"{root}\\")):
            return path[len(root) + 1 :]
    return path


def profile_shape(ctx: CallContext, project: str) -> Json:
    """A project's profile, computed from its newest records."""
    reader = ctx.store.read()
    bounds = (*ctx.sees(), *of_project(ctx, project))
    seen = reader.find(OBSERVATIONS, ctx.tenant, *bounds, order="-at", limit=PROFILED_OBSERVATIONS)
    known = (*ctx.sees_memories(), *of_project(ctx, project), *where(latest=True))
    kept = [one for one in reader.find(MEMORIES, ctx.tenant, *known, limit=PROFILED_MEMORIES) if ctx.may_see(one)]
    made = profile(seen, kept, 0)
    times = [one.at for one in seen[:1]] + [one.updated_at for one in kept[:1]]
    return {
        "success": True,
        "project": project,
        "topConcepts": [{"concept": name, "frequency": count} for name, count in made.top_concepts],
        "topFiles": [{"file": name, "frequency": count} for name, count in made.top_files],
        "conventions": list(made.conventions),
        "commonErrors": list(made.common_errors),
        "sessionCount": reader.count(SESSIONS, ctx.tenant, *bounds),
        "updatedAt": iso(max(times)) if times else None,
    }


def enrichment(
    ctx: CallContext,
    files: Sequence[str],
    terms: Sequence[str],
    project: str | None,
    session_id: str | None,
    agent: str | None,
) -> str:
    """What is known about files and terms, as a block of at most 4,000 characters."""
    shown: set[str] = set()
    question = Question(_query(files, terms), project=project, agent=agent, strict=True)
    sections = [
        ("file-context", _about_files(ctx, files, project, agent, shown)),
        ("relevant-context", _about_terms(ctx, replace(question, limit=ENRICH_RELEVANT), shown)),
        ("past-errors", _about_terms(ctx, replace(question, limit=ENRICH_ERRORS), shown, "bug", "error")),
    ]
    text, left_out = "", 0
    for name, lines in sections:
        fitting = _fitting(name, lines, ENRICH_CHARS - NOTE_CHARS - len(text))
        left_out += len(lines) - len(fitting)
        text += _section(name, fitting)
    return text + f"Left out for space: {left_out}." if left_out else text.rstrip("\n")


def _fitting(name: str, lines: Sequence[str], room: int) -> list[str]:
    room -= len(_section(name, [""])) - 1
    fitting: list[str] = []
    for one in lines:
        if len(one) + 1 <= room:
            room -= len(one) + 1
            fitting.append(one)
    return fitting


def _section(name: str, lines: Sequence[str]) -> str:
    return f"<{name}>\n" + "\n".join(lines) + f"\n</{name}>\n" if lines else ""


def _about_files(
    ctx: CallContext, files: Sequence[str], project: str | None, agent: str | None, shown: set[str]
) -> list[str]:
    lines: list[str] = []
    for file in files[:ENRICH_FILES]:
        # Searched by its words first: looking for the name in every record's list would read them all.
        question = Question(query=file, limit=2 * ENRICH_PER_FILE, project=project, agent=agent, files=(file,))
        found = hits_here(ctx, question)
        fitting = [hit for hit in found if isinstance(hit.record, Memory) or hit.record.importance >= IMPORTANT]
        lines += _lines(shown, fitting, file)
    return lines


def _about_terms(ctx: CallContext, question: Question, shown: set[str], *types: str) -> list[str]:
    if not question.query:
        return []
    asked = [replace(question, type=one) for one in types] or [question]
    hits = [hit for one in asked for hit in hits_here(ctx, one)]
    return _lines(shown, hits[: question.limit], question.query)


def _query(files: Sequence[str], terms: Sequence[str]) -> str:
    names = [PurePosixPath(file).name for file in files[:ENRICH_FILES]]
    return " ".join([*names, *terms[:20]])


def _lines(shown: set[str], hits: Sequence[Hit], query: str) -> list[str]:
    """The hits as lines, of a long one the passage that matched; no record and no text twice."""
    lines = [f"- {line(_said(hit, query), ENRICH_LINE)}" for hit in hits]
    fresh = [one for one in dict.fromkeys(lines) if one not in shown]
    shown.update(fresh)
    return fresh


def _said(hit: Hit, query: str) -> str:
    record = hit.record
    head, body = ("", record.content) if isinstance(record, Memory) else (f"{record.title}: ", record.narrative)
    room = max(ENRICH_LINE // 2, ENRICH_LINE - len(head))
    return head + (body if len(body) <= room else passage(body, query, room))
