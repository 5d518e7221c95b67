"""Fits the weights of whole turns (src/holdfast/recall/turn_hits.py) and tells how well they do on a project left out.

    python bench/agent_day/fit_turns.py KEPT           # report on a folder that --play wrote
    python bench/agent_day/fit_turns.py KEPT --play    # play the projects first; ten minutes

The projects are those of the dev half and of data/projects_ranking.json, whose questions share few words with what was
said. What puts replaced facts behind newer ones comes after the weights and is left out here. Nothing of the half held
out is read.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agent_day.days import play
from agent_day.filler import filled
from agent_day.gold import question, says
from agent_day.machine import Machine
from agent_day.noise import matches, source, tests
from agent_day.scenarios import load
from agent_day.scenarios.dev.routine import ROUTINE
from agent_day.script import Read, Run, Scenario, Search, Step, session, turn
from holdfast.context import CallContext
from holdfast.core.model import Caller, Observation
from holdfast.engine import Engine
from holdfast.recall.flow import search
from holdfast.recall.hits import Hit, Question
from holdfast.recall.turn_hits import NEAR, NEWER, WORTH
from holdfast.settings import load as settings
from holdfast.store.tables import OBSERVATIONS

DATA = Path(__file__).parent / "data" / "projects_ranking.json"
FEATURES = ("row", "turn", "worth", "newer")
RIDGE = 1.0
LOOKED_AT = 12  # turns of a question, the best by their rows
STEPS = 12  # of Newton's method
Array = Any


def projects() -> list[Scenario]:
    """The projects of the dev half, and those that were written for the ranking."""
    return [*load("dev"), *(_scenario(one) for one in json.loads(DATA.read_text(encoding="utf-8")))]


def _scenario(row: dict[str, Any]) -> Scenario:
    dice = random.Random(zlib.crc32(row["name"].encode()))  # noqa: S311 - noise, no secret
    sessions = [
        session(*(turn(prompt, *_noise(dice, row), *said) for prompt, *said in turns)) for turns in row["sessions"]
    ]
    asked = [
        question(one["text"], one["answer"], *map(tuple, one["any_of"]), was=tuple(map(tuple, one["was"])))
        for one in row["questions"]
    ]
    made = Scenario(
        name=row["name"], client=row["client"], place=f"own/{row['name']}", words=row["words"], ending=row["ending"],
        remote=f"git@git.example.org:own/{row['name']}.git", sessions=tuple(sessions), facts=(), questions=tuple(asked),
    )  # fmt: skip
    return filled(made, ROUTINE)


def _noise(dice: random.Random, row: dict[str, Any]) -> list[Step]:
    """What tools showed before an answer; none of it answers a question."""
    words, ending = row["words"], row["ending"]
    steps: list[Step] = []
    for _ in range(dice.randint(0, 2)):
        word, size = dice.choice(words.split()), dice.randint(10, 90)
        path = f"src/{word}.{ending}"
        shown = (
            Read(path, source(path, size, words)),
            Run(f"make test ONLY={word}", tests(size, words, f"{size} passed")),
            Search(word, matches(size // 6, ending, words, f"{word}(x)")),
        )
        steps.append(dice.choice(shown))
    return steps


def play_into(folder: Path, scenarios: Sequence[Scenario]) -> None:
    """Play the days and keep the data folder."""
    with Machine.new() as machine:
        for client in sorted({one.client for one in scenarios}):
            machine.connect(client)
        machine.serve()
        play(machine, scenarios)
        machine.stop()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(machine.home / ".holdfast", folder, ignore=shutil.ignore_patterns("*.sock"))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: the features of the turns found for it, and which of them answer."""

    project: str
    rows: Array
    answers: Array


def features(ctx: CallContext, scenarios: Sequence[Scenario]) -> list[Asked]:
    """What the search says of each turn, in the parts that are added to the row's own score."""
    every = ctx.store.read().find(OBSERVATIONS, ctx.tenant)
    found = []
    for scenario in scenarios:
        project = _project(every, scenario)
        for one in scenario.questions:
            hits = search(ctx, Question(one.text, limit=40, project=project, kinds=("observation",)))
            turns = sorted((hit for hit in hits if hit.turn), key=lambda hit: -_row_score(hit))[:LOOKED_AT]
            answers = np.array([says("\n".join(row.narrative for row in hit.turn), one.any_of) for hit in turns], bool)
            rows = np.array([_features(hit) for hit in turns]).reshape(-1, len(FEATURES))
            found.append(Asked(scenario.name, rows, answers))
    return found


def _row_score(hit: Hit) -> float:
    return hit.score - hit.parts.turn - hit.parts.worth - hit.parts.newer


def _features(hit: Hit) -> tuple[float, ...]:
    return _row_score(hit), hit.parts.turn / NEAR, hit.parts.worth / WORTH, hit.parts.newer / NEWER


def _project(every: Sequence[Observation], scenario: Scenario) -> str:
    first = next(scenario.turns()).prompt[:60]
    return next(row.project for row in every if first in row.narrative)


def fitted(asked: Sequence[Asked], columns: Sequence[int]) -> Array:
    """Weights under which the answering turns are likely, each question one choice among its turns."""
    spread = np.vstack([one.rows[:, columns] for one in asked]).std(0) + 1e-9
    weights = np.zeros(len(columns))
    for _ in range(STEPS):
        slope, curve = RIDGE * weights, RIDGE * np.eye(len(columns))
        for one in asked:
            if one.answers.any():
                rows = one.rows[:, columns] / spread
                chance = _chances(rows @ weights)
                right = chance * one.answers
                slope = slope + rows.T @ (chance - right / right.sum())
                mean = rows.T @ chance
                curve = curve + (rows * chance[:, None]).T @ rows - np.outer(mean, mean)
        weights = weights - np.linalg.solve(curve, slope)
    return weights / spread


def _chances(scores: Array) -> Array:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def left_out(asked: Sequence[Asked], columns: Sequence[int]) -> tuple[float, float]:
    """Answers in the first turn and in five, each project weighed by a fit on the others."""
    first = five = 0
    for project in {one.project for one in asked}:
        weights = fitted([one for one in asked if one.project != project], columns)
        for one in (one for one in asked if one.project == project):
            best = one.answers[np.argsort(-(one.rows[:, columns] @ weights), kind="stable")[:5]]
            first += int(best[:1].any())
            five += int(best.any())
    return first / len(asked), five / len(asked)


def report(asked: Sequence[Asked]) -> None:
    """Each feature added in turn, with the weights of a fit on all, the row's own score as 1."""
    for count in range(1, len(FEATURES) + 1):
        columns = list(range(count))
        weights = fitted(asked, columns)
        first, five = left_out(asked, columns)
        named = ", ".join(f"{name} {weight / weights[0]:.2f}" for name, weight in zip(FEATURES, weights, strict=False))
        sys.stdout.write(f"first {first:.3f}  five {five:.3f}  weights {named}\n")
    sys.stdout.write(f"in use: turn {NEAR}, worth {WORTH}, newer {NEWER}; {len(asked)} questions\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kept", type=Path, help="the data folder of the played projects")
    parser.add_argument("--play", action="store_true", help="play the projects into it first")
    given = parser.parse_args()
    scenarios = projects()
    if given.play:
        play_into(given.kept, scenarios)
    engine = Engine(settings({"home": str(given.kept)}))
    try:
        report(features(engine.context(Caller()), scenarios))
    finally:
        engine.close()


if __name__ == "__main__":
    main()
