"""Every system call, one after the other: `make faults`, some minutes. Words given choose scenarios by their names.

Each scenario is run again and again, killed or failed at the first, second, third … call of one kind, until a run has
no such call left: then every point has been tried. What is left behind is examined after each.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from follow_points import FOLLOW_SCENARIOS, FOLLOW_SYSCALLS
from generation_points import RESTORE_SYSCALLS, fail_restore, kill_restore
from journal_points import JOURNAL_SCENARIOS, JOURNAL_SYSCALLS
from kill_points import SYSCALLS, Outcome, fail_remember, kill_remember, kill_serve
from repo_points import SHELF_SCENARIOS
from snapshot_points import SNAPSHOT_SCENARIOS, SNAPSHOT_SYSCALLS

WORKERS = 2
MOST_POINTS = 1_000

Scenario = Callable[[Path, str, int], Outcome]

SCENARIOS: dict[str, Scenario] = {
    "remember on a folder": partial(kill_remember, fresh=False),
    "remember on no folder": partial(kill_remember, fresh=True),
    "first start of a server": kill_serve,
    "remember, EIO once": partial(fail_remember, fresh=False, error="EIO", onward=False),
    "remember, EIO onward": partial(fail_remember, fresh=False, error="EIO", onward=True),
    "remember, ENOSPC onward": partial(fail_remember, fresh=False, error="ENOSPC", onward=True),
    "remember on no folder, EIO once": partial(fail_remember, fresh=True, error="EIO", onward=False),
    **SHELF_SCENARIOS,
}
RESTORES: dict[str, Scenario] = {
    "restore and undo": kill_restore,
    "restore and undo, EIO once": partial(fail_restore, error="EIO", onward=False),
    "restore and undo, ENOSPC onward": partial(fail_restore, error="ENOSPC", onward=True),
}


@dataclass(frozen=True)
class Line:
    """What one kind of call in one scenario came to."""

    points: int
    old: int
    new: int
    broken: tuple[str, ...]


def sweep(name: str, syscall: str) -> Line:
    """Break the scenario at every call of this kind."""
    old = new = 0
    broken: list[str] = []
    with tempfile.TemporaryDirectory(prefix="holdfast-sweep-") as folder:
        for when in range(1, MOST_POINTS):
            try:
                outcome = {**SCENARIOS, **RESTORES, **SNAPSHOT_SCENARIOS, **JOURNAL_SCENARIOS, **FOLLOW_SCENARIOS}[
                    name
                ](Path(folder), syscall, when)
            except Exception as error:  # noqa: BLE001 - every kind of breakage is what is looked for
                broken.append(f"{syscall} {when}: {type(error).__name__}: {str(error)[:300]}")
                continue
            if not outcome.fired:
                return Line(when - 1, old, new, tuple(broken))
            old, new = old + (not outcome.new_there), new + outcome.new_there
    raise AssertionError(f"{name}: {syscall} has no end")


def main() -> int:
    begin = time.monotonic()
    wanted = [(name, syscall) for name in SCENARIOS for syscall in SYSCALLS]
    wanted += [(name, syscall) for name in RESTORES for syscall in RESTORE_SYSCALLS]
    wanted += [(name, syscall) for name in SNAPSHOT_SCENARIOS for syscall in SNAPSHOT_SYSCALLS]
    wanted += [(name, syscall) for name in JOURNAL_SCENARIOS for syscall in JOURNAL_SYSCALLS]
    wanted += [(name, syscall) for name in FOLLOW_SCENARIOS for syscall in FOLLOW_SYSCALLS]
    wanted = [one for one in wanted if all(word in one[0] for word in sys.argv[1:])]
    points = faults = 0
    with ThreadPoolExecutor(WORKERS) as pool:
        for (name, syscall), line in zip(wanted, pool.map(lambda pair: sweep(*pair), wanted), strict=True):
            points += line.points
            faults += len(line.broken)
            print(f"{name}, {syscall}: {line.points} points, {line.old} old, {line.new} new", flush=True)
            for one in line.broken:
                print(f"  BROKEN {one}", flush=True)
    print(f"{points} faults in {time.monotonic() - begin:.0f} s, {faults} broken")
    if not points:
        print("no fault fired: strace does not inject here")
    return 1 if faults or not points else 0


if __name__ == "__main__":
    sys.exit(main())
