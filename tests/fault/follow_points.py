"""Breaking a copy that follows, or takes over, at one exact system call, and looking at what it left."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from follow_steps import HOUR, Copy
from journal_points import JOURNAL_SYSCALLS
from journal_steps import Journaled
from kill_points import Outcome
from tracing import fired, run_broken, was_killed

from holdfast.snapshot.follow.follow_note import read_follow

WORK = Path(__file__).with_name("follow_work.py")
FOLLOW_SYSCALLS = JOURNAL_SYSCALLS
NEW = {f"New fact {number}." for number in range(3)}
OLD = {"Old fact."}


def _template(folder: Path) -> Path:
    """A copy of one fact, whose vault has more by now. The copy's note names the vault by its path, so that is the
    same in each run."""
    made = folder / "template"
    if not made.exists():
        building = folder / "place"
        building.mkdir()
        home = Journaled(building / "home", building / "vault")
        home.remember("Old fact.")
        home.piece()
        copy = Copy(building / "copy", building / "vault")
        copy.look()
        copy.close()
        for text in sorted(NEW):
            home.remember(text)
            home.piece()
        home.close()
        building.rename(made)
    return made


def break_copy(
    folder: Path, syscall: str, when: int, *, action: str, how: str = "signal=KILL", onward: bool = False
) -> Outcome:
    """The work broken at that call; then the copy and the vault are examined.

    Raises:
        AssertionError: something is broken, or was lost.
    """
    place, log = folder / "place", folder / "strace.log"
    template = _template(folder)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(template, place)
    inject = ["-e", f"trace={syscall}", "-e", f"inject={syscall}:{how}:when={when}{'+' if onward else ''}"]
    done = run_broken(["-o", str(log), *inject], (action, str(place)), WORK)
    broken = was_killed(log) if "KILL" in how else fired(log) > 0
    return Outcome(broken, done.returncode == 0, _examine(place, set(done.stdout.split())))


def _examine(place: Path, said: set[str]) -> bool:
    """The copy goes on from what it had, or has taken over; nothing it stored is lost. Whether it took over."""
    note = read_follow(place / "copy")
    assert note is not None
    assert note.ended or "promoted" not in said
    copy = Copy(place / "copy", place / "vault", 650_000) if not note.ended else _opened(place)
    copy.clock.now += 2 * HOUR
    if not note.ended:
        copy.look()
        assert copy.texts() == OLD | NEW
        copy.call("promote", yes=True)
    stored = {"Written by the copy."} if said & {"stored", "sent"} else set()
    found = copy.texts()
    assert found >= OLD | NEW | stored
    assert copy.engine.store.verify() == []
    copy.call("remember", content="A last fact.")
    for _ in range(2):  # the first may find that the line is to begin anew
        copy.piece()
    copy.close()
    other = Journaled(place / "other", place / "vault", 40_000)
    assert other.texts() == found | {"A last fact."}
    other.close()
    return bool(note.ended)


def _opened(place: Path) -> Copy:
    """A copy that took over: nothing is begun anew."""
    copy = Copy.__new__(Copy)
    copy.open_again(place / "copy", 650_000)
    return copy


FOLLOW_SCENARIOS = {
    "follow": partial(break_copy, action="follow"),
    "follow, EIO once": partial(break_copy, action="follow", how="error=EIO"),
    "follow, ENOSPC onward": partial(break_copy, action="follow", how="error=ENOSPC", onward=True),
    "promote": partial(break_copy, action="promote"),
    "promote, EIO once": partial(break_copy, action="promote", how="error=EIO"),
}
