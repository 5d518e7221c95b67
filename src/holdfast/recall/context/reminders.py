"""What a session was shown already, so that nothing is shown twice, and reminders that fit a prompt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import orjson

from holdfast.context import CallContext
from holdfast.core.model import Memory, Note, Statement
from holdfast.core.session_keys import key_of
from holdfast.core.times import iso
from holdfast.projects import project_names
from holdfast.recall.check.question_intake import note_question
from holdfast.recall.context.build import CLOSING, OPENING
from holdfast.recall.context.current_statements import newest_statements
from holdfast.recall.context.escape import line
from holdfast.recall.context.stock_phrases import stock_phrases
from holdfast.recall.flow import search
from holdfast.recall.hit_text import shown, statements_of
from holdfast.recall.hits import Hit, Question
from holdfast.recall.passage import answering, stems
from holdfast.store.port import Reader, Tx
from holdfast.store.tables import NOTES
from holdfast.text.tokens import estimate

KIND = "told"
MOST_TOLD = 3
MOST_TOKENS = 290
MOST_KEPT = 400  # ids that are remembered of one session
FEWEST_WORDS = 3  # of a prompt that shows what it is about
LOOKED_AT = 8
PASSAGE_CHARS = 280
# Clearly relevant: near in meaning, or near enough and of the same words. In a project of six scenarios of the half to
# build on, 36 of 67 questions bring their answer so, and 8 of 60 chores bring something; without leaving out stock
# phrases 13 of 60 (with 0.45, 0.3 and 0.3: 29 of 67, and 5 of 60).
NEAR, NEAR_WITH_WORDS, WORDS = 0.5, 0.25, 0.25
WORTH_TELLING = 0.4


@dataclass(frozen=True, slots=True)
class Reminder:
    """Reminders for a prompt; empty if nothing clearly bears on it."""

    text: str = ""
    ids: tuple[str, ...] = ()
    told: tuple[str, ...] = ()  # the ids of all that need not be shown again


def reminder(ctx: CallContext, session_id: str, project: str, prompt: str, agent: str | None) -> Reminder:
    """Up to three memories of the project that clearly bear on a prompt and were not shown in this session."""
    if len(stems(prompt)) < FEWEST_WORDS or not project:
        return Reminder()
    reader = ctx.store.read()
    key = ctx.session_key(reader, session_id)
    told = shown_ids(ctx, reader, key)
    question = Question(prompt, limit=LOOKED_AT, project=project, agent=agent)
    hits = search(ctx, question)
    note_question(ctx, question, hits, key)
    bearing = [hit for hit in hits if _bears(hit) and not _of_session(hit, key)]
    stock = stock_phrases(newest_statements(ctx, reader, project_names(ctx, project), agent)) if bearing else set()
    said = {id(hit): [one for one in statements_of(ctx, reader, hit) if one.id not in stock] for hit in bearing}
    fresh = [hit for hit in bearing if _tells_more(hit, said[id(hit)], prompt, told)]
    lines: list[str] = []
    ids: list[str] = []
    stated: list[str] = []
    for hit in fresh[:MOST_TOLD]:
        one = f"- {_day(hit)}: {line(shown(ctx, reader, hit, prompt, PASSAGE_CHARS), 2 * PASSAGE_CHARS)}"
        if estimate("\n".join([OPENING, *lines, one, CLOSING])) > MOST_TOKENS:
            break
        lines.append(one)
        ids += _ids(hit)
        stated += [one.id for one in said[id(hit)]]
    return Reminder("\n".join([OPENING, *lines, CLOSING]), tuple(ids), (*ids, *stated)) if lines else Reminder()


def _bears(hit: Hit) -> bool:
    near = hit.cosine or 0.0
    if hit.outdated is not None and hit.outdated.sure:
        return False
    return near >= NEAR or (near >= NEAR_WITH_WORDS and hit.parts.words >= WORDS)


def _tells_more(hit: Hit, said: Sequence[Statement], prompt: str, told: Collection[str]) -> bool:
    """Whether it has something worth keeping that the session was not shown: an earlier chore like this one has not.

    A context shows the best sentences of a turn; the prompt may be about another sentence of it.
    """
    if isinstance(hit.record, Memory):
        return hit.record.id not in told
    worthy = [one for one in said if one.worth >= WORTH_TELLING]
    best = answering([one.text for one in worthy], prompt) or range(len(worthy))
    return any(worthy[at].id not in told for at in best)


def _of_session(hit: Hit, key: str) -> bool:
    record = hit.record
    return key in record.session_ids if isinstance(record, Memory) else record.session_id == key


def _ids(hit: Hit) -> set[str]:
    return {hit.record.id, *(row.id for row in hit.turn)}


def _day(hit: Hit) -> str:
    record = hit.record
    return iso(record.created_at if isinstance(record, Memory) else record.at)[:10]


def shown_ids(ctx: CallContext, reader: Reader, session_key: str) -> set[str]:
    """The records that a session was shown."""
    note = reader.get(NOTES, ctx.tenant, _note_id(session_key))
    return set(orjson.loads(note.content)) if note is not None else set()


def note_shown(ctx: CallContext, session_key: str, ids: Iterable[str], *, anew: bool = False) -> None:
    """Record that a session was shown these records; `anew`: and has nothing left of what it was shown before."""
    new = tuple(dict.fromkeys(ids))
    if not new and not anew:
        return

    def store(tx: Tx) -> None:
        known = tx.get(NOTES, ctx.tenant, _note_id(session_key))
        before = orjson.loads(known.content) if known and not anew else []
        kept = list(dict.fromkeys([*before, *new]))[-MOST_KEPT:]
        seq = known.seq if known else tx.next_seq(ctx.tenant)
        content = orjson.dumps(kept).decode()
        tx.replace(NOTES, Note(ctx.tenant, _note_id(session_key), seq, KIND, content, ctx.clock.now_ms()))

    ctx.store.write(store)


def _note_id(session_key: str) -> str:
    return key_of(KIND, session_key)
