"""Pairs a command that failed with the other one that then worked: the cheapest lesson a session gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.core.model import Observation
from holdfast.learn.sessions.steps import command_of, error_of, failed, only_looks, program_of
from holdfast.text.excerpt import clip

_AHEAD = 6


@dataclass(frozen=True, slots=True)
class Recovery:
    failed: str
    reason: str
    worked: str
    steps: tuple[str, str] = ("", "")  # ids of the two observations

    def __str__(self) -> str:
        reason = f" ({clip(self.reason, 60)})" if self.reason else ""
        return f"`{clip(self.failed, 60)}` failed{reason}; `{clip(self.worked, 60)}` worked"


def recoveries(steps: Sequence[Observation]) -> list[Recovery]:
    """In order, each pair once. A command that later worked unchanged was fixed, not replaced."""
    runs = [(command, step) for step in steps if (command := command_of(step)) and not only_looks(command)]
    good = {command for command, step in runs if not failed(step)}
    found: dict[tuple[str, str], Recovery] = {}
    for place, (command, step) in enumerate(runs):
        if not failed(step) or command in good:
            continue
        for later, after in runs[place + 1 : place + 1 + _AHEAD]:
            if not failed(after) and later != command and program_of(later) == program_of(command):
                found.setdefault((command, later), Recovery(command, error_of(step), later, (step.id, after.id)))
                break
    return list(found.values())
