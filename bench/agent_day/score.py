"""What a context or a list of hits is worth, held against a scenario's gold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_day.gold import Alternative, Question, as_current, says
from agent_day.script import Scenario

# A hit that says of itself that it no longer holds: fields of a record, or the words of a printed hit.
_MARKED = re.compile(
    r"^(superseded_?by: \S|superseded_?at: \S|superseded: true|is_?latest: false|latest: false|is_?current: false"
    r"|current: false|outdated: true|stale: true|status: (superseded|outdated|replaced)|valid_?(to|until): \S"
    r"|until: \S)"
    r"|\b(superseded (by|on|since)|no longer current|outdated since|held until|until \d{4}-\d\d-\d\d)\b",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class ContextScore:
    """The context of one project at the start of a session."""

    known: tuple[str, ...]
    missed: tuple[str, ...]
    outdated: tuple[str, ...]
    foreign: tuple[str, ...]

    @property
    def coverage(self) -> float:
        return len(self.known) / max(1, len(self.known) + len(self.missed))


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and the rank of its answer, 0 when it is not among the hits."""

    question: Question
    rank: int
    current: bool  # of a changed fact: the new value, and no hit above it that states the old one
    best: str


@dataclass(frozen=True, slots=True)
class Record:
    """A record of the store or a hit: its text, whether it is superseded, and the texts that replaced it if known."""

    text: str
    superseded: bool
    replaced_by: tuple[str, ...] = ()


def marked(hit: str) -> bool:
    """Whether a hit says of itself that it is superseded."""
    return _MARKED.search(hit) is not None


def score_context(scenario: Scenario, context: str) -> ContextScore:
    known = tuple(fact.name for fact in scenario.facts if says(context, fact.any_of))
    missed = tuple(fact.name for fact in scenario.facts if fact.name not in known)
    outdated = tuple(
        f"{fact.name}: {line}" for fact in scenario.facts if (line := as_current(context, fact.was, fact.any_of))
    )
    foreign = tuple(other.name for other in scenario.foreign if says(context, other.any_of))
    return ContextScore(known, missed, outdated, foreign)


def rank(hits: Sequence[str], any_of: Sequence[Alternative]) -> int:
    return next((place for place, hit in enumerate(hits, 1) if says(hit, any_of)), 0)


def score_question(asked: Question, hits: Sequence[str]) -> Asked:
    found = rank(hits, asked.any_of)
    above = [hit for hit in hits[: max(0, found - 1)] if not marked(hit)]
    current = found > 0 and not any(as_current(hit, asked.was, asked.any_of) for hit in above)
    return Asked(asked, found, current, hits[0] if hits else "")


def in_force(scenario: Scenario) -> dict[str, tuple[Alternative, ...]]:
    """Everything that holds on the next morning, by name."""
    held = {fact.name: fact.any_of for fact in scenario.facts}
    held |= {one.name: one.any_of for one in scenario.stands}
    return held


def wrongly_superseded(scenario: Scenario, records: Sequence[Record]) -> list[str]:
    """Facts in force that the store calls superseded.

    One counts when a record that states it, and none of the old values, is replaced by one that does not state it; or
    when every record that states it is replaced.
    """
    olds = [one for fact in scenario.facts for one in fact.was]
    olds += [one for asked in scenario.questions for one in asked.was]
    wrong = []
    for name, any_of in in_force(scenario).items():
        stating = [record for record in records if says(record.text, any_of)]
        hidden = [one for one in stating if one.superseded and not any(says(new, any_of) for new in one.replaced_by)]
        alone = [record for record in hidden if not says(record.text, olds)]
        if alone or (hidden and len(hidden) == len(stating)):
            wrong.append(name)
    return wrong


def noticed(scenario: Scenario, records: Sequence[Record]) -> list[str]:
    """Changed facts of which a record with the earlier value is marked as superseded."""
    gone = [record.text for record in records if record.superseded]
    return [fact.name for fact in scenario.facts if fact.was and any(says(text, fact.was) for text in gone)]
