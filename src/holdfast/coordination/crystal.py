"""A chain of actions that are done, as one note: what was done, in their order, and what came of each."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from holdfast.context import CallContext
from holdfast.coordination.readiness import CLOSED, action_named, outcomes
from holdfast.core.errors import Conflict
from holdfast.core.model import CleanText, Insight
from holdfast.learn.sessions.results import Finding
from holdfast.learn.sessions.summarize import EXTRACTIVE, keep_finding
from holdfast.projects import written_project
from holdfast.store.port import Tx
from holdfast.text.excerpt import clip

TITLE_CHARS, LINE_CHARS = 80, 400


def crystallize_actions(ctx: CallContext, ids: Sequence[str], project: CleanText | None) -> Insight:
    """The note on these actions, stored. Of the same actions it is one note, however often it is made.

    Raises:
        NotFound: one of them does not exist.
        Conflict: one of them is not done yet.
    """
    ids = list(dict.fromkeys(ids))

    def store(tx: Tx) -> Insight:
        actions = sorted((action_named(ctx, tx, id) for id in ids), key=lambda one: one.seq)
        unfinished = [one.id for one in actions if one.status not in CLOSED]
        if unfinished:
            raise Conflict(f"actionIds: {unfinished[0]} is not done", hint="Name actions that are done or cancelled.")
        said = outcomes(ctx, tx, ids)
        lines = []
        for one in actions:
            of_it = " (cancelled)" if one.status == "cancelled" else ""
            result = f": {said[one.id]}" if one.id in said else ""
            lines.append(f"- {clip(f'{one.title}{of_it}{result}', LINE_CHARS)}")
        finding = Finding(
            kind="crystal",
            key=f"actions/{sha256(chr(31).join(sorted(ids)).encode()).hexdigest()[:20]}",
            title=CleanText(clip("; ".join(one.title for one in actions), TITLE_CHARS)),
            content=CleanText("\n".join(lines)),
            concepts=tuple(dict.fromkeys(tag for one in actions for tag in one.tags)),
            files=(),
            source_ids=tuple(ids),
            project=written_project(ctx, project) or next((one.project for one in actions if one.project), None),
            agent=ctx.writes_as(None),
            strength=1.0,
        )
        insight, _ = keep_finding(ctx, tx, finding, EXTRACTIVE)
        ctx.audit(tx, "crystallize", (insight.id,), insight.agent, actions=len(ids))
        return insight

    return ctx.store.write(store)
