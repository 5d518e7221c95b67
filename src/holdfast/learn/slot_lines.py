"""Writes what a session taught into slots, and remembers from which observations each line came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from holdfast.context import CallContext
from holdfast.core.model import Note, Slot, Statement
from holdfast.learn.reflection import reflect
from holdfast.learn.sessions.results import SlotChange
from holdfast.learn.sessions.summarize import session_with
from holdfast.learn.slots import change_slot, list_slots
from holdfast.learn.statements.keywords import normal
from holdfast.store.port import Tx, where
from holdfast.store.tables import NOTES, STATEMENTS, reflected_from_key, reflected_key

COMPARED = 800  # of a project's newest statements
SURE = 0.5  # what is worth less may be no wish at all; a slot is shown before everything else


@dataclass(frozen=True, slots=True)
class ReflectionResult:
    applied: tuple[Slot, ...]
    reviewed: int


def reflect_session(
    ctx: CallContext, session_id: str, max_observations: int, holding: Callable[[str], Sequence[Statement]]
) -> ReflectionResult:
    """Write what a session taught into its project's slots: wishes, unfinished work, habits; never the same twice.

    `holding` gives the statements of a project that hold. Lines of those that hold no more are removed. Only a
    session without a project writes into the slots that all projects share.

    Raises:
        NotFound: no such session, or not the caller's to see.
    """
    session, seen = session_with(ctx, session_id, max_observations)
    project = session.project or None
    slots = [slot for slot in list_slots(ctx, project) if slot.project == project]
    held = holding(session.project) if project else ()
    said, gone = _said(ctx, session.project, session.id, held) if project else (None, [])
    changes = reflect(seen, slots, said, gone=gone, own=project is not None)

    def store(tx: Tx) -> tuple[Slot, ...]:
        by_id = {slot.id: slot for slot in slots}
        done = []
        for change in changes:
            done.append(change_slot(ctx, tx, by_id[change.slot_id], change.content, "slot_reflect"))
            _note_lines(ctx, tx, session.id, change)
        return tuple(done)

    return ReflectionResult(ctx.store.write(store) if changes else (), len(seen))


def _said(
    ctx: CallContext, project: str, session_id: str, held: Sequence[Statement]
) -> tuple[list[Statement] | None, list[str]]:
    """What of the session holds, None if nothing was drawn from it; and the project's statements that hold no more."""
    every = ctx.store.read().find(
        STATEMENTS, ctx.tenant, *ctx.sees(), *where(project=project), order="-at", limit=COMPARED
    )
    ids = {one.id for one in held}
    told = {normal(one.text) for one in held}
    gone = [one.text for one in every if one.id not in ids and normal(one.text) not in told]
    drawn = any(one.session_id == session_id for one in every)
    own = [one for one in held if one.session_id == session_id and one.worth >= SURE]
    return (own if drawn else None), gone


def _note_lines(ctx: CallContext, tx: Tx, session_id: str, change: SlotChange) -> None:
    """Remember where the lines came from: they go when that is forgotten."""

    def lines(known: Any) -> Any:
        old = known.get(change.slot_id, [])
        return known | {change.slot_id: list(dict.fromkeys([*old, *change.sources]))}

    def sources(known: Any) -> Any:
        return known | {line: [*known.get(line, []), *map(list, groups)] for line, groups in change.sources.items()}

    _change_note(ctx, tx, reflected_key(session_id), "reflected", lines)
    _change_note(ctx, tx, reflected_from_key(session_id), "reflected-from", sources)


def _change_note(ctx: CallContext, tx: Tx, id: str, kind: str, change: Callable[[Any], Any]) -> None:
    known = tx.get(NOTES, ctx.tenant, id)
    content = orjson.dumps(change(orjson.loads(known.content) if known else {})).decode()
    seq = known.seq if known else tx.next_seq(ctx.tenant)
    tx.replace(NOTES, Note(ctx.tenant, id, seq, kind, content, ctx.clock.now_ms()))
