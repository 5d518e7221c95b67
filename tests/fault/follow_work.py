"""A copy that follows, and takes over, as a program: whoever breaks it at a system call sees what it leaves."""

from __future__ import annotations

from pathlib import Path

from follow_steps import HOUR, Copy

from holdfast.core.errors import Fault

FAULT = 3  # the exit code of work that ended with a fault of ours


def follow(copy: Copy) -> None:
    """Take what came."""
    copy.look()


def promote(copy: Copy) -> None:
    """Take over, and what was stored and what was sent since as lines."""
    copy.clock.now += HOUR
    copy.call("promote", yes=True)
    print("promoted", flush=True)
    copy.call("remember", content="Written by the copy.")
    print("stored", flush=True)
    copy.piece()
    print("sent", flush=True)


ACTIONS = {"follow": follow, "promote": promote}


def main(words: list[str]) -> int:
    action, folder = words[0], Path(words[1])
    try:
        memory = Copy(folder / "copy", folder / "vault", 600_000)
        ACTIONS[action](memory)
        memory.close()
    except Fault:
        return FAULT
    return 0
