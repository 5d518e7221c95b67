"""The scenarios: `dev` to build on, `held_out` looked at only for the figures, `strangers` by other authors, and
`changes` (no questions) and `voices`, to fit on beside `dev`."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Literal

from agent_day.filler import Routine, filled
from agent_day.script import Scenario

Half = Literal["dev", "held-out", "strangers", "changes", "voices"]
HALVES: tuple[Half, ...] = ("dev", "held-out")  # what the documentation's page shows
SETS: tuple[Half, ...] = (*HALVES, "strangers", "voices")  # that can be played
_PACKAGES = {
    "dev": "agent_day.scenarios.dev",
    "held-out": "agent_day.scenarios.held_out",
    "strangers": "agent_day.scenarios.strangers",
    "changes": "agent_day.scenarios.changes",
    "voices": "agent_day.scenarios.voices",
}
QUICK = 2


def unfilled(scenario: Scenario) -> Scenario:
    """The scenario without chores and phrases, as it was written."""
    for package in _PACKAGES.values():
        if scenario.name in {found.name for found in pkgutil.iter_modules(importlib.import_module(package).__path__)}:
            written: Scenario = importlib.import_module(f"{package}.{scenario.name}").SCENARIO
            return written
    raise KeyError(scenario.name)


def load(half: Half, quick: bool = False) -> list[Scenario]:
    """The scenarios of a half, at full length; with `quick` only the first two that share a folder name."""
    package = importlib.import_module(_PACKAGES[half])
    names = [found.name for found in pkgutil.iter_modules(package.__path__) if found.name != "routine"]
    routine: Routine = importlib.import_module(f"{_PACKAGES[half]}.routine").ROUTINE
    modules = [importlib.import_module(f"{_PACKAGES[half]}.{name}") for name in sorted(names)]
    scenarios = [filled(module.SCENARIO, getattr(module, "ROUTINE", routine)) for module in modules]
    return sorted(scenarios, key=lambda one: "quick" not in one.tags)[:QUICK] if quick else scenarios
