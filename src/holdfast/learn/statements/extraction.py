"""Sentences worth knowing later, drawn from one turn, word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.core.errors import EmbedderUnavailable, UpstreamFailed
from holdfast.core.model import CleanText, Observation
from holdfast.core.ports import Embedder, Vectors
from holdfast.learn.sessions.steps import said_of
from holdfast.learn.statements.edits import names_what_was_put, setting_text
from holdfast.learn.statements.sentence_features import SentencePosition
from holdfast.learn.statements.session_turns import Turn
from holdfast.learn.statements.stems import subject_of
from holdfast.learn.statements.worth import SentenceWorth, weigh
from holdfast.redact.result import PRIVATE_MARK, SECRET_MARK
from holdfast.text.sentences import Sentence, sentences

LEAST_WORTH = 0.12  # below it three of four sentences are filler (docs/benchmarks/agent_day.md)
SET_WORTH = 0.35
MOST_OF_ONE = 16  # of one message
MOST_SETTINGS = 4  # of one turn
FEWEST_SUBJECTS = 2  # words of a sentence about a setting that show which one it is
FEWEST_LETTERS = 8
LEAD_CHARS = 80
_REFERS = re.compile(
    r"^(?:(?:and|but|so|also|then)[, ]+)?(?:it|this|that|these|those|they|both|he|she|there|instead|besides)\b", re.I
)
# A user's wish for another value of what the sentence before is about.
_BIDS = re.compile(
    r"^(?:(?:so|please|then|better)[, ]+)?(?:make|set|put|change|raise|lower|cut|turn) (?:it|that|them|those)\b.*\d",
    re.I,
)
_INSERTED = re.compile(r"<(?:system-reminder|command-|local-command|ide_)|^\[Request interrupted|^Caveat:")
# What a client itself writes above the summary of a conversation that it shortened.
_PREAMBLE = re.compile(
    r"^This session is being continued from a previous conversation|^The summary below covers the earlier", re.I
)
# Lines of a log that were pasted: an event at a moment, which is no fact in force.
_LOGGED = re.compile(
    r"\b\d\d:\d\d:\d\d\b.{0,80}\b(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE)\b|(?:\b\d\d:\d\d:\d\d\b.{0,200}){2}",
    re.DOTALL,
)
# What was redacted, and what stands before it where it was what the clause is about: "my key is …", "TOKEN=…".
_REDACTED = re.compile("|".join(map(re.escape, (SECRET_MARK, PRIVATE_MARK))))
_NAMED_AS = re.compile(r"(?:\b(?:is|are|was|were|be|to|as|with|ist|sind|war|auf|mit)\b|[=:])[^\w;,]*$", re.I)
_CLAUSE = re.compile(r"[;,]|\b(?:and|but|und|aber)\b", re.I)
FEWEST_LEFT = 3  # words of a sentence from which a redaction took nothing that it needs


@dataclass(frozen=True, slots=True)
class ExtractedStatement:
    """A sentence of a turn, who said it where, and what it amounts to."""

    source: Observation
    place: int
    text: str
    kind: str
    worth: float


def draw(turn: Turn, embedder: Embedder | None) -> list[ExtractedStatement]:
    """The sentences of a turn that may be worth keeping, in the order in which they were said."""
    asked = turn.asked
    rows: list[tuple[Observation, Sentence, SentencePosition]] = []
    if turn.prompt is not None and not _INSERTED.search(asked):
        rows += _rows(turn.prompt, asked, asked, in_prompt=True)
    for message in turn.said:
        rows += _rows(message, said_of(message), asked, in_prompt=False)
    weighed = _weighed([(sentence, setting) for _, sentence, setting in rows], embedder)
    drawn = [
        ExtractedStatement(source, sentence.place, _text(sentence), one.kind, _worth(one.worth, sentence.text, turn))
        for (source, sentence, _), one in zip(rows, weighed, strict=True)
    ]
    kept = [one for one in _with_referents(drawn, rows) if one.worth >= LEAST_WORTH]
    return [*kept, *_settings(turn, kept)]


def _settings(turn: Turn, said: Sequence[ExtractedStatement]) -> list[ExtractedStatement]:
    """Settings that the turn gave another value, if its answer does not say so: "28 % set." does not say of what."""
    last = max((one.at for one in turn.said), default=0)
    telling = [one.text for one in said if len(subject_of(one.text)) >= FEWEST_SUBJECTS]
    found: dict[str, ExtractedStatement] = {}
    for row, edit in turn.edited:
        text = setting_text(edit)
        if (
            text
            and not _is_hollow(text)
            and row.at <= last
            and not any(names_what_was_put(one, [edit]) for one in telling)
        ):
            found[edit.file] = ExtractedStatement(row, 0, text, "change", SET_WORTH)
    return list(found.values())[:MOST_SETTINGS]


def _worth(worth: float, text: str, turn: Turn) -> float:
    """What the sentence is worth; one that names a value which the turn set is worth a line at least, one whose point
    was redacted nothing."""
    if _is_hollow(text):
        return 0.0
    return max(worth, SET_WORTH) if worth < SET_WORTH and names_what_was_put(text, turn.edits) else worth


def _is_hollow(text: str) -> bool:
    """Whether the point of a sentence was redacted: without the clauses that only named it, nothing is told."""
    *before, rest = _REDACTED.split(text)
    if not before:
        return False
    return len(subject_of(" ".join([*map(_without_naming, before), rest]))) < FEWEST_LEFT


def _without_naming(before: str) -> str:
    """What stands before a redaction, without the clause whose value it was."""
    if not _NAMED_AS.search(before):
        return before
    ends = [one.start() for one in _CLAUSE.finditer(before)]
    return before[: ends[-1]] if ends else ""


def _rows(
    source: Observation, text: str, asked: str, *, in_prompt: bool
) -> list[tuple[Observation, Sentence, SentencePosition]]:
    said = [one for one in sentences(text) if sum(map(str.isalnum, one.text)) >= FEWEST_LETTERS]
    found = [one for one in said if not _PREAMBLE.match(one.text) and not _LOGGED.search(one.text)]
    setting = SentencePosition(asked, in_prompt, len(found))
    return [(source, one, setting) for one in found]


def _weighed(said: Sequence[tuple[Sentence, SentencePosition]], embedder: Embedder | None) -> list[SentenceWorth]:
    vectors: Vectors | None = None
    if embedder is not None and said:
        try:
            vectors = embedder.embed([CleanText(sentence.text) for sentence, _ in said])
        except (EmbedderUnavailable, UpstreamFailed):
            vectors = None  # features alone serve, a little less well
    return weigh(said, vectors, embedder.name if embedder is not None else "")


def _text(sentence: Sentence) -> str:
    """The sentence as it is shown alone: an item of a list with the line that introduces the list."""
    lead = sentence.lead.rstrip(":").strip()
    if not lead or len(lead) > LEAD_CHARS:
        return sentence.text
    return f"{lead}: {sentence.text}"


def _with_referents(
    drawn: Sequence[ExtractedStatement], rows: Sequence[tuple[Observation, Sentence, SentencePosition]]
) -> list[ExtractedStatement]:
    """A sentence that begins with "it" means little without the one before; that one is kept with it, as one text."""
    kept: list[ExtractedStatement] = []
    for place, one in enumerate(drawn):
        before = drawn[place - 1] if place else None
        refers = (
            before is not None
            and before.source.id == one.source.id
            and not rows[place][1].listed
            and (
                (one.worth >= LEAST_WORTH and _REFERS.match(one.text) is not None) or _BIDS.match(one.text) is not None
            )
        )
        if refers and before is not None and kept and kept[-1].source.id == one.source.id:
            last = kept[-1] if kept[-1].text.endswith(before.text) else before
            joined = f"{last.text} {one.text}"
            if last.worth >= LEAST_WORTH and last is kept[-1] and len(joined) <= 400:
                kept[-1] = replace(last, text=joined, worth=max(last.worth, one.worth))
                continue
        kept.append(one)
    return kept
