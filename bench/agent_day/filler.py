"""Makes days as long as real ones: turns that leave nothing worth knowing, narration before tools, wrapped answers."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, replace
from typing import Literal

from agent_day.noise import diff, log, matches, source
from agent_day.script import Compact, Read, Run, Say, Scenario, Search, Session, Step, Turn

TURNS = (8, 11)  # of a session
NARRATED, OPENED, CLOSED, EXPLAINED = 0.5, 0.5, 0.55, 0.6  # shares of turns
EXPLANATIONS = (1, 3)  # paragraphs that follow the answer to a chore

Shown = Literal["file", "search", "log", "diff", "nothing"]


@dataclass(frozen=True, slots=True)
class Chore:
    """A turn that leaves nothing worth knowing; {a}, {b} and {c} are words of the project."""

    prompt: str
    shown: Shown
    answer: str


@dataclass(frozen=True, slots=True)
class Routine:
    """A half's own chores and phrases, so that nothing can be fitted to those of the other."""

    chores: tuple[Chore, ...]
    narration: tuple[str, ...]
    openings: tuple[str, ...]
    closings: tuple[str, ...]
    explanations: tuple[str, ...]


def filled(scenario: Scenario, routine: Routine) -> Scenario:
    """The scenario with sessions of full length. Deterministic: the dice are seeded by its name."""
    sessions = tuple(_session(scenario, one, number, routine) for number, one in enumerate(scenario.sessions))
    return replace(scenario, sessions=sessions)


def _session(scenario: Scenario, session: Session, number: int, routine: Routine) -> Session:
    dice = random.Random(zlib.crc32(f"{scenario.name}/{number}".encode()))  # noqa: S311 - noise, no secret
    words = scenario.words.split()
    turns = [_wrapped(turn, dice, words, routine) for turn in session.turns]
    wanted = dice.randint(*TURNS) - len(turns)
    chores = dice.sample(routine.chores, min(len(routine.chores), max(0, wanted)))
    for chore in chores:
        turns.insert(dice.randint(1, len(turns)), _chore(chore, dice, scenario, routine))
    return replace(session, turns=tuple(turns))


def _wrapped(turn: Turn, dice: random.Random, words: list[str], routine: Routine) -> Turn:
    steps: list[Step] = list(turn.steps)
    last = steps[-1]
    if isinstance(last, Say):
        opening = _filled(dice.choice(routine.openings), dice, words) if dice.random() < OPENED else ""
        closing = _filled(dice.choice(routine.closings), dice, words) if dice.random() < CLOSED else ""
        explained = _explained(dice, words, routine, 1) if dice.random() < EXPLAINED else ""
        steps[-1] = Say(opening + last.text + explained + closing)
    if not isinstance(steps[0], Say | Compact) and dice.random() < NARRATED:
        steps.insert(0, Say(_filled(dice.choice(routine.narration), dice, words)))
    return Turn(turn.prompt, tuple(steps))


def _chore(chore: Chore, dice: random.Random, scenario: Scenario, routine: Routine) -> Turn:
    words = scenario.words.split()
    a, b, c = dice.sample(words, 3)
    named = {"a": a, "b": b, "c": c, "A": a.title(), "B": b.title()}
    steps: list[Step] = []
    if chore.shown == "file":
        path = f"src/{a}/{b}.{scenario.ending}"
        steps.append(Read(path, source(path, dice.randint(60, 180), scenario.words)))
    elif chore.shown == "search":
        steps.append(Search(a, matches(dice.randint(4, 25), scenario.ending, scenario.words, f"{a}.{b}({c})")))
    elif chore.shown == "log":
        steps.append(Run(f"./tools/check {a}", log(dice.randint(20, 120), scenario.words)))
    elif chore.shown == "diff":
        steps.append(Run("git diff", diff(f"src/{a}/{b}.{scenario.ending}", scenario.words, dice.randint(15, 60))))
    if steps and dice.random() < NARRATED:
        steps.insert(0, Say(_filled(dice.choice(routine.narration), dice, words)))
    explained = _explained(dice, words, routine, dice.randint(*EXPLANATIONS))
    return Turn(chore.prompt.format(**named), (*steps, Say(chore.answer.format(**named) + explained)))


def _explained(dice: random.Random, words: list[str], routine: Routine, count: int) -> str:
    """Paragraphs as assistants like to add them; they say nothing that is worth knowing tomorrow."""
    return "".join("\n\n" + _filled(text, dice, words) for text in dice.sample(routine.explanations, count))


def _filled(text: str, dice: random.Random, words: list[str]) -> str:
    a, b, c = dice.sample(words, 3)
    return text.format(a=a, b=b, c=c)
