"""A hit as it is read: the passage that matched, once, with the prompt and what came since."""

from __future__ import annotations

from holdfast.context import CallContext
from holdfast.core.model import Memory, Statement
from holdfast.core.times import iso
from holdfast.recall.hits import Hit
from holdfast.recall.passage import passage
from holdfast.store.port import Condition, Reader
from holdfast.store.queries.turns import MESSAGE_HOOK, PROMPT_HOOKS
from holdfast.store.tables import STATEMENTS

ASKED_CHARS = 110  # of the prompt; more where the answer leaves room
ASKED, ANSWERED = "User: ", " → "
LEAST_ASKED = 60  # characters left for the answer if the question is shown too


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
    prompt = next((row.narrative for row in hit.turn if row.hook in PROMPT_HOOKS), "")
    answer = "\n\n".join(row.narrative for row in hit.turn if row.hook == MESSAGE_HOOK)
    stated = [one.text for one in said]
    kept = len(ASKED) + min(len(prompt), ASKED_CHARS) if prompt else 0
    told = passage(answer, query, room - kept, stated) if answer else ""
    left = max(ASKED_CHARS, room - len(told) - len(ASKED))
    asked = ASKED + passage(prompt, query, left, stated) if prompt else ""
    return ANSWERED.join(filter(None, (asked, told))) + since


def statements_of(ctx: CallContext, reader: Reader, hit: Hit) -> list[Statement]:
    """The statements of a hit's turn, in the order in which they were said."""
    sources = [one.id for one in hit.turn] or [hit.record.id]
    return reader.find(STATEMENTS, ctx.tenant, *ctx.sees(), Condition("source_id", "in", sources), order="seq")


def _since(hit: Hit) -> str:
    if hit.outdated is None:
        return ""
    word = "Outdated since" if hit.outdated.sure else "Perhaps outdated; said anew on"
    return f" [{word} {iso(hit.outdated.at)[:10]}: {passage(hit.outdated.text, '', 200)}]"
