"""The days of all projects on one machine, one session of each project a day, and the questions of the next morning."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agent_day import plain
from agent_day.hooks import HookRun
from agent_day.kept import kept
from agent_day.machine import Machine
from agent_day.play.claude import ClaudeSession
from agent_day.play.codex import CodexSession
from agent_day.play.gemini import GeminiSession
from agent_day.play.mcp_stdio import McpClient
from agent_day.score import (
    Asked,
    ContextScore,
    Record,
    marked,
    noticed,
    score_context,
    score_question,
    wrongly_superseded,
)
from agent_day.script import Scenario, Turn
from holdfast.text.tokens import estimate

BUDGET = 2000  # TOKEN_BUDGET's default; the plain way gets the same


class Player(Protocol):
    """A client's session: it fires events and writes its transcript."""

    prompt_contexts: list[str]

    def start(self, source: str = "startup") -> str: ...

    def turn(self, turn: Turn) -> None: ...

    def end(self) -> None: ...


PLAYERS: dict[str, Callable[[Machine, Path], Player]] = {
    "claude": ClaudeSession,
    "codex": CodexSession,
    "gemini": GeminiSession,
}


@dataclass(frozen=True, slots=True)
class Answers:
    """What one way hands over in the morning and answers to the questions."""

    context: ContextScore
    tokens: int
    asked: tuple[Asked, ...]
    chars: float  # of five hits, on average

    @property
    def first(self) -> float:
        return _share(one.rank == 1 for one in self.asked)

    @property
    def in_five(self) -> float:
        return _share(one.rank > 0 for one in self.asked)

    @property
    def current(self) -> tuple[int, int]:
        changed = [one for one in self.asked if one.question.was]
        return sum(one.current for one in changed), len(changed)


@dataclass(frozen=True, slots=True)
class Project:
    """One scenario, measured."""

    scenario: Scenario
    holdfast: Answers
    plain: Answers
    superseded: tuple[str, ...]  # facts in force that are marked as superseded
    in_force: int
    noticed: tuple[str, ...]  # changed facts whose earlier value the store marks as superseded
    prompted: tuple[int, ...]  # tokens that each prompt brought, 0 for none
    older_client: float  # share of the hook's lines that an agentmemory client is told too


@dataclass
class Morning:
    """All projects of one run, and what the hooks cost."""

    projects: list[Project] = field(default_factory=list)
    runs: list[HookRun] = field(default_factory=list)
    events: tuple[str, ...] = ()
    tools: tuple[int, int] = (0, 0)
    replaced: tuple[tuple[str, str], ...] = ()  # texts that the store calls superseded, and what replaced them

    def hook_ms(self, event: str | None = None) -> tuple[float, float]:
        """Median processor time and clock time of the hooks, in milliseconds."""
        runs = [run for run in self.runs if event in (None, run.event)]
        if not runs:
            return 0.0, 0.0
        return statistics.median(run.cpu_ms for run in runs), statistics.median(run.clock_ms for run in runs)


def measure(scenarios: Sequence[Scenario], keep: Path | None = None) -> Morning:
    """Play everything on a fresh machine and ask on the next morning."""
    with Machine.new() as machine:
        for client in sorted({one.client for one in scenarios}):
            machine.connect(client)
        machine.serve()
        prompted = play(machine, scenarios)
        morning = Morning(runs=list(machine.runs), events=tuple(sorted({run.event for run in machine.runs})))
        store = kept(machine)
        morning.replaced = store.replaced
        shown: dict[str, Any] = {"replaced": store.replaced}
        for scenario in scenarios:
            project, shown[scenario.name] = _morning(machine, scenario, store.records, prompted[scenario.name], morning)
            morning.projects.append(project)
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / "agent_day.json").write_text(json.dumps(shown, indent=1, ensure_ascii=False), encoding="utf-8")
        return morning


def play(machine: Machine, scenarios: Sequence[Scenario]) -> dict[str, tuple[int, ...]]:
    """The first session of every project, then the second. The tokens that each project's prompts brought."""
    played: dict[str, list[Player]] = {one.name: [] for one in scenarios}
    for day in range(max(len(one.sessions) for one in scenarios)):
        began = time.monotonic()
        for scenario in scenarios:
            if day < len(scenario.sessions):
                _play_session(machine, scenario, day, played[scenario.name])
        waiting = machine.settle()
        late = f", {waiting} still waiting" if waiting else ""
        sys.stderr.write(f"day {day + 1}: {time.monotonic() - began:.0f} s{late}\n")
    return {
        name: tuple(
            estimate(text) if text else 0 for player in dict.fromkeys(players) for text in player.prompt_contexts
        )
        for name, players in played.items()
    }


def _play_session(machine: Machine, scenario: Scenario, day: int, played: list[Player]) -> None:
    session = scenario.sessions[day]
    if session.resumes is None:
        player: Player = PLAYERS[scenario.client](machine, machine.project(scenario.place, scenario.remote))
        player.start()
    else:
        player = played[session.resumes]
        player.start("resume")
    for turn in session.turns:
        player.turn(turn)
    if session.ends:
        player.end()
    played.append(player)


def _morning(
    machine: Machine, scenario: Scenario, records: Sequence[Record], prompted: tuple[int, ...], morning: Morning
) -> tuple[Project, dict[str, Any]]:
    folder = machine.project(scenario.place, scenario.remote)
    context = PLAYERS[scenario.client](machine, folder).start()
    found: list[tuple[list[str], int]] = []
    with McpClient(machine, scenario.client, folder) as mcp:
        morning.tools = mcp.tools()
        found = [mcp.recall(one.text) for one in scenario.questions]
    answers = _answers(scenario, context, found)
    turns = plain.Turns(scenario)
    plainly = [(hits, sum(map(len, hits))) for hits in (turns.recall(one.text) for one in scenario.questions)]
    own = [*records, *(Record(hit, marked(hit)) for hits, _ in found for hit in hits)]
    project = Project(
        scenario,
        answers,
        _answers(scenario, plain.context(scenario, BUDGET), plainly),
        tuple(wrongly_superseded(scenario, own)),
        len(scenario.facts) + len(scenario.stands),
        tuple(noticed(scenario, own)),
        prompted,
        _older_client(machine, folder, context),
    )
    return project, {
        "context": context,
        "hits": {one.text: hits for one, (hits, _) in zip(scenario.questions, found, strict=True)},
    }


def _answers(scenario: Scenario, context: str, found: Sequence[tuple[list[str], int]]) -> Answers:
    asked = tuple(score_question(one, hits) for one, (hits, _) in zip(scenario.questions, found, strict=True))
    chars = statistics.fmean(count for _, count in found)
    return Answers(score_context(scenario, context), estimate(context) if context else 0, asked, chars)


def _older_client(machine: Machine, folder: Path, context: str) -> float:
    """How much of the hook's context a client gets that names the project by its bare folder name."""
    body = {"sessionId": f"older-{time.time_ns()}", "project": folder.name, "cwd": str(folder)}
    told = machine.post("/session/start", body).get("context") or ""
    ours, theirs = _lines(context), _lines(told)
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 1.0


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines() if line.strip()}


def _share(values: Iterator[bool]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0
