"""Statements as the lines of a context: those of one message together, what was said earlier below what is newer."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.core.model import Statement
from holdfast.recall.context.current_statements import CurrentStatement
from holdfast.text.sentences import sentences

RULES, IN_FORCE, FOUND, OPEN = (
    "The user's wishes and rules", "Decisions and facts in force", "Found out", "Open work",
)  # fmt: skip
# Where a statement of each kind stands.
SECTION_OF = {
    "preference": RULES, "decision": IN_FORCE, "fact": IN_FORCE, "change": IN_FORCE, "finding": FOUND,
    "rejected": FOUND, "open": OPEN,
}  # fmt: skip
TOGETHER_CHARS = 420  # sentences of one message that share a line
EARLIER_CHARS = 160  # of what was said earlier, unless its first sentence is longer
MOST_EARLIER = 2  # on one line; more stand on lines of their own
LEAST_WORTH = 0.12
# Half as much after so many sessions of the project: what was said last matters most. Wishes do not fade.
FADES_IN = 12
EARLIER, OUTDATED = "Earlier", "Earlier, perhaps outdated"
_WORDS = re.compile(r"\w+")
_ENDS = tuple(".!?:;…。！？")
# One sentence that asks. What it asked for is no wish that stands; open work may be put as a question.
_ASKS = re.compile(r"(?:(?:can|could|would|will) (?:you|we|i)\b[^.!;:]*[.!?]?|[^.!;:]+\?)", re.IGNORECASE)


def sentence_key(text: str) -> str:
    """The same for texts that differ in case, space and punctuation only."""
    return " ".join(_WORDS.findall(text.casefold())) or text.strip()


@dataclass(slots=True)
class StatementLine:
    """What one message said for one section, and what was said earlier on the same subjects."""

    head: str
    said: list[CurrentStatement] = field(default_factory=list)
    earlier: list[CurrentStatement] = field(default_factory=list)

    @property
    def best(self) -> Statement:
        return max((one.statement for one in self.said), key=lambda one: one.worth)

    @property
    def all(self) -> list[CurrentStatement]:
        return [*self.said, *self.earlier]

    @property
    def text(self) -> str:
        # What is marked stands last, as a mark seems to hold for all that follows it.
        own = sorted(self.said, key=lambda one: (one.earlier, one.statement.seq))
        *first, last = [*map(_marked, own), *map(_below, self.earlier)]
        return " ".join([*(text if text.endswith(_ENDS) else f"{text}." for text in first), last])


def _marked(one: CurrentStatement) -> str:
    """The statement, with a mark if something is newer, which stands elsewhere or is not shown."""
    return _below(one) if one.earlier else one.statement.text


def _below(one: CurrentStatement) -> str:
    return f"{_mark(one)}: {_briefly(one.statement.text)}"


def _briefly(text: str) -> str:
    """The first sentences of what was said earlier: those far from the mark would read as what holds now."""
    kept = ""
    for sentence in sentences(text):
        if kept and len(kept) + len(sentence.text) > EARLIER_CHARS:
            break
        kept = f"{kept} {sentence.text}".lstrip()
    return kept or text


def _mark(one: CurrentStatement) -> str:
    return OUTDATED if one.doubtful else EARLIER


def statement_lines(statements: Sequence[CurrentStatement], told: Collection[str] = ()) -> list[StatementLine]:
    """The lines, what matters most first. `told` are the keys of sentences that stand in slots."""
    sessions = dict.fromkeys(one.statement.session_id for one in statements)
    age = {session: place for place, session in enumerate(sessions)}
    kept = _once(statements, told)
    newer = _shown_newer(kept)
    alone = {*newer, *newer.values()}
    lines: dict[tuple[str, str, object], StatementLine] = {}
    of: dict[str, StatementLine] = {}
    for one in kept:
        below = of.get(newer.get(one.statement.id, ""))
        if below is not None and len(below.earlier) < MOST_EARLIER:
            below.earlier.append(one)
        else:
            below = _join(lines, one, alone=one.earlier or one.statement.id in alone)
        of[one.statement.id] = below
    return sorted(lines.values(), key=lambda one: -_matters(one, age))


def _once(statements: Sequence[CurrentStatement], told: Collection[str]) -> list[CurrentStatement]:
    """What is worth showing, newest first, each sentence as it was said last."""
    said, kept = set(told), []
    for one in sorted(statements, key=lambda one: (-one.statement.at, -one.statement.seq)):
        if one.statement.kind != "open" and _ASKS.fullmatch(one.statement.text):
            continue
        if one.statement.worth >= LEAST_WORTH and (key := sentence_key(one.statement.text)) not in said:
            said.add(key)
            kept.append(one)
    return kept


def _shown_newer(kept: Sequence[CurrentStatement]) -> Mapping[str, str]:
    """Of each statement that may stand below a newer one, that one, if it is shown."""
    shown = {one.statement.id for one in kept}
    return {one.statement.id: one.newer_id for one in kept if one.related and one.newer_id in shown}


def _join(lines: dict[tuple[str, str, object], StatementLine], one: CurrentStatement, *, alone: bool) -> StatementLine:
    """Add it to the line of its message and section, or begin another line if that one is full.

    One that is newer or older than another stands alone: an "Earlier" below several would seem to be about them all.
    """
    head, source, number = SECTION_OF[one.statement.kind], one.statement.source_id, 0
    if alone:
        return lines.setdefault((head, source, one.statement.id), StatementLine(head, [one]))
    while line := lines.get((head, source, number)):
        if sum(len(other.statement.text) + 1 for other in line.said) + len(one.statement.text) <= TOGETHER_CHARS:
            break
        number += 1
    line = lines.setdefault((head, source, number), StatementLine(head))
    line.said.append(one)
    return line


def _matters(line: StatementLine, age: Mapping[str, int]) -> float:
    worth = max(one.statement.worth for one in line.all)
    return worth if line.head == RULES else float(worth * 0.5 ** (age[line.best.session_id] / FADES_IN))
