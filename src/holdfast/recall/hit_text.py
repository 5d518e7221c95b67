"""A hit as it is read: the passage that matched, once, with the prompt and what came since."""

from __future__ import annotations

from holdfast.context import CallContext
from holdfast.core.model import Memory, Statement
from holdfast.core.times import iso
from holdfast.recall.hits import Hit
from holdfast.recall.passage import passage, stems
from holdfast.store.port import Condition, Reader
from holdfast.store.queries.turns import MESSAGE_HOOK, PROMPT_HOOKS
from holdfast.store.tables import STATEMENTS

ASKED_CHARS = 110
LEAST_ASKED = 60  # characters left for the answer if the question is shown too
SAID_WORTH = 0.3


def shown(ctx: CallContext, reader: Reader, hit: Hit, query: str, chars: int) -> str:
    """The part of a hit that answers the question, in at most about so many characters."""
    since = _since(hit)
    room = max(LEAST_ASKED, chars - len(since))
    record = hit.record
    if isinstance(record, Memory):
        return passage(record.content, query, room) + since
    said = statements_of(ctx, reader, hit)
    if not hit.turn:
        return passage(f"{record.title}\n{record.narrative}", query, room, [one.text for one in said]) + since
    asked = _asked(hit, said, query)
    answer = "\n\n".join(row.narrative for row in hit.turn if row.hook == MESSAGE_HOOK)
    stated = [one.text for one in said]
    told = passage(answer, query, room - len(asked), stated) if answer else ""
    return asked + told + since


def statements_of(ctx: CallContext, reader: Reader, hit: Hit) -> list[Statement]:
    """The statements of a hit's turn, in the order in which they were said."""
    sources = [one.id for one in hit.turn] or [hit.record.id]
    return reader.find(STATEMENTS, ctx.tenant, *ctx.sees(), Condition("source_id", "in", sources), order="seq")


def _asked(hit: Hit, said: list[Statement], query: str) -> str:
    """The user's words: the statement, if it bears on the question, else the prompt, in short."""
    prompt = next((row for row in hit.turn if row.hook in PROMPT_HOOKS), None)
    if prompt is None:
        return ""
    own = [one for one in said if one.source_id == prompt.id and one.worth >= SAID_WORTH]
    bearing = [one.text for one in own if stems(one.text) & stems(query)]
    text = passage(" ".join(bearing), query, 2 * ASKED_CHARS) if bearing else ""
    if not text:
        flat = " ".join(prompt.narrative.split())
        text = flat if len(flat) <= ASKED_CHARS else flat[: ASKED_CHARS - 1].rstrip() + "…"
    return f"User: {text} → " if len(hit.turn) > 1 else f"User: {text}"


def _since(hit: Hit) -> str:
    if hit.outdated is None:
        return ""
    word = "Outdated since" if hit.outdated.sure else "Perhaps outdated; said anew on"
    return f" [{word} {iso(hit.outdated.at)[:10]}: {passage(hit.outdated.text, '', 200)}]"
