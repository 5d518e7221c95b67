"""Whether kept questions are still answered as they were: after an upgrade, another embedder, a rebuild, a restore.

What was stored since an answer may stand before it, and what was forgotten since is no answer any more; neither counts.
What counts is another first hit, another set of hits, or a record that is gone without having been forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from holdfast.context import CallContext
from holdfast.core.background import AnsweredRecord
from holdfast.recall.check.kept_questions import MOST_HITS, KeptQuestion
from holdfast.recall.check.replay import ReplayedRecord, as_answer, replay
from holdfast.store.port import Reader, where
from holdfast.store.queries.removals import removed_ids
from holdfast.store.tables import MEMORIES, OBSERVATIONS


@dataclass(frozen=True, slots=True)
class ChangedAnswer:
    """A question that would now be answered differently."""

    question: KeptQuestion
    now: tuple[str, ...]  # the ids of its hits
    missing: tuple[str, ...]  # ids of earlier hits that are in this memory no more, and were not forgotten

    @property
    def before(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.question.answer)


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """What came of asking all kept questions again."""

    asked: int
    changed: tuple[ChangedAnswer, ...]
    forgotten: int  # questions that were forgotten, with the record that held them or with their answer
    kept: tuple[KeptQuestion, ...]  # those that are left: answered anew, but for those whose answer changed
    accepted: tuple[KeptQuestion, ...]  # the same, all of them answered anew

    @property
    def same(self) -> int:
        return self.asked - len(self.changed)


def check_answers(
    ctx: CallContext, questions: Sequence[KeptQuestion], stop: Callable[[], bool] = lambda: False
) -> AnswerCheck | None:
    """Ask all of them again; None if it was stopped."""
    seq, known = ctx.store.last_seq(ctx.tenant), _Records(ctx.store.read(), ctx.tenant)
    changed: list[ChangedAnswer] = []
    kept: list[KeptQuestion] = []
    accepted: list[KeptQuestion] = []
    for question in questions:
        if stop():
            return None
        found = replay(ctx, question, most=question.limit)
        if found is None or (question.text and any(map(known.was_forgotten, question.answer))):
            continue
        anew = question.answered(as_answer(found)[:MOST_HITS], seq)
        accepted.append(anew)
        difference = _difference(question, found, known)
        kept.append(question if difference else anew)
        if difference:
            changed.append(difference)
    asked = len(kept)
    return AnswerCheck(asked, tuple(changed), len(questions) - asked, tuple(kept), tuple(accepted))


@dataclass
class _Records:
    """What became of records, looked up when one is not among the hits."""

    reader: Reader
    tenant: str
    _there: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def _removed(self) -> Mapping[str, int]:
        return removed_ids(self.reader, self.tenant)

    def is_there(self, one: AnsweredRecord) -> bool:
        """Whether the record is in the memory, or a version of the same line."""
        if one.line not in self._there:
            seen = self.reader.get(OBSERVATIONS, self.tenant, one.id) is not None
            line = where(root=one.line)
            self._there[one.line] = seen or bool(self.reader.find(MEMORIES, self.tenant, *line, limit=1))
        return self._there[one.line]

    def was_forgotten(self, one: AnsweredRecord) -> bool:
        return not self.is_there(one) and (one.id in self._removed or one.line in self._removed)


def _difference(question: KeptQuestion, found: Sequence[ReplayedRecord], known: _Records) -> ChangedAnswer | None:
    before = [one for one in question.answer if not known.was_forgotten(one)]
    lines = {one.line for one in before}
    old = [one.record for one in found if one.seq <= question.seq or one.record.line in lines]
    missing = tuple(one.id for one in before if not known.is_there(one))
    if not missing and _is_same([one.line for one in before], [one.line for one in old], len(found) >= question.limit):
        return None
    return ChangedAnswer(question, tuple(one.record.id for one in found[: len(question.answer)]), missing)


def _is_same(before: Sequence[str], now: Sequence[str], is_full: bool) -> bool:
    """Whether the first is the same, and the set of all. Those at the end may have made room for newer ones; of a full
    answer one may be exchanged, as the last is often as good as the next."""
    most = min(len(before), len(now))
    if len(now) < len(before) and not is_full:
        return False
    gone = set(before[:most]) - set(now[:most])
    return not most or (before[0] == now[0] and len(gone) <= (most == MOST_HITS))
