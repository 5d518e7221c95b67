"""The same hooks on a store of 100,000 memories: what the start of a session and a prompt cost by the clock.

A twentieth of the memories belongs to the measured project. They have no vectors, so the server runs without an
embedder; what a prompt costs with one is in the figures of the days.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import scale

from agent_day.days import PLAYERS
from agent_day.hooks import Cost, HookRun
from agent_day.machine import CannotPlay, Machine
from agent_day.script import Scenario
from holdfast.engine import Engine
from holdfast.settings import load
from holdfast.store.tables import MEMORIES

ROWS, SHARE, ROUNDS = 100_000, 20, 25
EVENTS = ("SessionStart", "UserPromptSubmit")


def measure_large(scenario: Scenario, rows: int = ROWS) -> list[Cost]:
    """Play a project, fill the store, and start sessions in that project."""
    with Machine.new() as machine:
        machine.env["HOLDFAST_EMBEDDER"] = "none"
        machine.connect(scenario.client)
        machine.serve()
        folder = machine.project(scenario.place, scenario.remote)
        for session in scenario.sessions:
            player = PLAYERS[scenario.client](machine, folder)
            player.start()
            for turn in session.turns:
                player.turn(turn)
            player.end()
        machine.settle()
        project = _project(machine)
        machine.stop()
        _fill(machine.home / ".holdfast", rows, project)
        machine.serve()
        return _costs(_start_often(machine, scenario, folder))


def _project(machine: Machine) -> str:
    """The name under which the server keeps the project."""
    sessions = machine.get("/sessions").get("sessions", [])
    if not sessions:
        raise CannotPlay("the server knows no session after a day of work")
    return str(sessions[0]["project"])


def _fill(home: Path, rows: int, project: str) -> None:
    engine = Engine(load({"home": str(home), "embedder": "none", "snapshot_every": "off"}, {}))
    contents = iter(scale.texts(rows, 1))
    while batch := list(islice(contents, scale.BATCH)):
        engine.store.write(partial(_write, batch, project))
    engine.store.compact_words()
    engine.close()


def _write(batch: Sequence[str], project: str, tx: Any) -> None:
    for content in batch:
        seq = tx.next_seq("default")
        tx.add(MEMORIES, scale.memory(seq, content, project if seq % SHARE == 0 else f"other-{seq % SHARE}"))


def _start_often(machine: Machine, scenario: Scenario, folder: Path) -> list[HookRun]:
    machine.runs.clear()
    turns = [turn for session in scenario.sessions for turn in session.turns]
    for turn in turns[:ROUNDS]:
        player = PLAYERS[scenario.client](machine, folder)
        player.start()
        player.turn(turn)
    return machine.runs


def _costs(runs: Sequence[HookRun]) -> list[Cost]:
    costs = []
    for event in EVENTS:
        own = [run for run in runs if run.event == event]
        if own:
            clock = [run.clock_ms for run in own]
            cpu = statistics.median(run.cpu_ms for run in own)
            costs.append(Cost(event, len(own), cpu, statistics.median(clock), max(clock)))
    return costs
