"""A memory that writes its journal, as a program: whoever breaks it at a system call sees what it leaves."""

from __future__ import annotations

from pathlib import Path

from journal_steps import Journaled

from holdfast.core.errors import Fault
from holdfast.snapshot.journal import journal_compaction

FAULT = 3  # the exit code of work that ended with a fault of ours
LATER = 10 * 60_000


def write(home: Journaled) -> None:
    """Facts, and what was stored and what was sent as lines."""
    for number in range(2):
        home.remember(f"New fact {number}.")
        print("stored", number, flush=True)
        home.piece()
        print("sent", number, flush=True)


def keep(home: Journaled) -> None:
    """Small objects become one, and what a snapshot covers goes."""
    journal_compaction.TOGETHER = 2
    home.compaction().put_together(home.line)
    home.compaction().expire(home.line, home.clock.now, home.clock.now)


ACTIONS = {"write": write, "keep": keep}


def main(words: list[str]) -> int:
    action, folder = words[0], Path(words[1])
    try:
        memory = Journaled(folder / "home", folder / "vault", 5_000)
        memory.clock.now += LATER
        ACTIONS[action](memory)
        memory.close()
    except Fault:
        return FAULT
    return 0
