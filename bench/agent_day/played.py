"""Sentences of the scenarios to fit on with what their gold says of them, for the tables of holdfast.learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent_day.gold import as_current, says
from agent_day.scenarios import load, unfilled
from agent_day.script import Edit, Scenario
from holdfast.learn.statements.edits import Claim
from holdfast.learn.statements.edits import Edit as Changed
from holdfast.learn.statements.sentence_features import SentencePosition
from holdfast.text.sentences import Sentence, sentences

FEWEST_LETTERS = 8


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, where it stands, and whether the scenario itself has it: those of chores are made up."""

    turn: int
    sentence: Sentence
    setting: SentencePosition
    edits: tuple[Changed, ...]
    is_own: bool
    is_gold: bool

    @property
    def claim(self) -> Claim:
        lead = self.sentence.lead.rstrip(":").strip()
        text = f"{lead}: {self.sentence.text}" if lead else self.sentence.text
        return Claim(text, self.setting.prompt, self.edits)


def said(scenario: Scenario) -> list[Said]:
    """Every sentence of a scenario, in order."""
    texts = (text for turn in unfilled(scenario).turns() for text in (turn.prompt, *turn.said))
    own = {one.text for text in texts for one in sentences(text)}
    gold = [one.any_of for one in (*scenario.facts, *scenario.questions, *scenario.stands)]
    gold += [one.was for one in scenario.facts if one.was]
    found: list[Said] = []
    for number, turn in enumerate(scenario.turns()):
        edits = tuple(Changed(step.path, step.old, step.new) for step in turn.steps if isinstance(step, Edit))
        for text, in_prompt in ((turn.prompt, True), *((answer, False) for answer in turn.said)):
            kept = [one for one in sentences(text) if sum(map(str.isalnum, one.text)) >= FEWEST_LETTERS]
            for one in kept:
                is_own = one.text in own
                is_gold = is_own and any(says(one.text, any_of) for any_of in gold)
                found.append(
                    Said(number, one, SentencePosition(turn.prompt, in_prompt, len(kept)), edits, is_own, is_gold)
                )
    return found


def dev_sentences() -> Iterator[tuple[Sentence, SentencePosition, bool]]:
    """Sentences that state gold, and those of chores and questions, which do not; the others are not labelled."""
    for scenario in load("dev"):
        for one in said(scenario):
            asks = one.sentence.text.rstrip().endswith("?")
            if one.is_gold or asks or not one.is_own:
                yield one.sentence, one.setting, one.is_gold and not asks


def dev_pairs() -> Iterator[tuple[str, Claim, Claim, bool]]:
    """Older and newer sentences of different turns, and whether the newer gives the new value of a changed fact."""
    for scenario in (*load("dev"), *load("changes")):
        changed = [one for one in scenario.facts if one.was]
        rows = [
            (
                one.turn,
                claim := one.claim,
                {fact.name for fact in changed if as_current(claim.text, fact.was, fact.any_of)},
                {fact.name for fact in changed if says(claim.text, fact.any_of)},
            )
            for one in said(scenario)
            if one.is_own
        ]
        for at, (turn, new, _, gives) in enumerate(rows):
            for earlier, old, gave, _ in rows[:at]:
                if earlier < turn:
                    yield scenario.name, Claim(old.text, "", old.edits), new, bool(gave & gives)
