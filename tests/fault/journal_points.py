"""Breaking the journal at one exact system call, and looking at what is on the disk and in the vault."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path

from journal_steps import Journaled
from journal_work import LATER
from kill_points import Outcome
from tracing import fired, run_broken, was_killed

WORK = Path(__file__).with_name("journal_work.py")
JOURNAL_SYSCALLS = ("write", "pwrite64", "fsync", "fdatasync", "rename", "unlink", "ftruncate", "link", "mkdir")
OLD = {f"Old fact {number}." for number in range(5)}


def _template(folder: Path) -> Path:
    """A memory of some pieces, with a snapshot of the first of them in the vault."""
    made = folder / "template"
    if not made.exists():
        building = folder / "building"
        home = Journaled(building / "home", _made(building / "vault"))
        for number in range(5):
            home.remember(f"Old fact {number}.")
            home.piece()
            if number == 1:
                home.snapshot()
        home.close()
        building.rename(made)
    return made


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _run(folder: Path, action: str, syscall: str, how: str, when: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    place, log = folder / "place", folder / "strace.log"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(_template(folder), place)
    _point_to(place)
    inject = ["-e", f"trace={syscall}", "-e", f"inject={syscall}:{how}:when={when}"]
    return run_broken(["-o", str(log), *inject], (action, str(place)), WORK), log


def _point_to(place: Path) -> None:
    """Nothing in the folder names its place; what a process would have left open is not there."""
    (place / "home" / "server.json").unlink(missing_ok=True)


def kill_journal(folder: Path, syscall: str, when: int, *, action: str) -> Outcome:
    """The work killed at that call; then the memory and its vault are examined.

    Raises:
        AssertionError: something is broken, or was lost.
    """
    done, log = _run(folder, action, syscall, "signal=KILL", str(when))
    killed = was_killed(log)
    assert killed == (done.returncode != 0), done.stdout + done.stderr
    return _outcome(folder, done, killed)


def fail_journal(folder: Path, syscall: str, when: int, *, action: str, error: str, onward: bool) -> Outcome:
    """The same with an error of the disk in place of that call, and of all that follow if `onward`."""
    done, log = _run(folder, action, syscall, f"error={error}", f"{when}{'+' if onward else ''}")
    return _outcome(folder, done, fired(log) > 0)


def _outcome(folder: Path, done: subprocess.CompletedProcess[str], broken: bool) -> Outcome:
    changed = examine(folder / "place", done.stdout)
    return Outcome(broken, done.returncode == 0, changed)


def examine(place: Path, said: str) -> bool:
    """What was stored is on the disk, what was sent is in the vault, and both go on together. Whether anything was
    stored."""
    lines = [line.split() for line in said.splitlines()]
    stored = {f"New fact {words[1]}." for words in lines if words[:1] == ["stored"] and len(words) == 2}
    sent = {f"New fact {words[1]}." for words in lines if words[:1] == ["sent"] and len(words) == 2}
    assert _from_vault(place, "lost") >= OLD | sent, "the machine is lost now"
    home = Journaled(place / "home", place / "vault", 20_000)
    home.clock.now += 2 * LATER
    found = home.texts()
    assert found >= OLD | stored
    assert home.engine.store.verify() == []
    for _ in range(2):  # the first may find that the line is to begin anew
        home.piece()
    home.remember("A last fact.")
    home.piece()
    home.close()
    assert _from_vault(place, "later") == found | {"A last fact."}
    assert list((place / "home" / "journal").rglob("*.new")) == []
    return bool(found - OLD)


def _from_vault(place: Path, name: str) -> set[str]:
    other = Journaled(place / name, place / "vault", 40_000)
    try:
        assert other.engine.store.verify() == []
        return other.texts()
    finally:
        other.close()


JOURNAL_SCENARIOS = {
    "journal": partial(kill_journal, action="write"),
    "journal, EIO once": partial(fail_journal, action="write", error="EIO", onward=False),
    "journal, ENOSPC onward": partial(fail_journal, action="write", error="ENOSPC", onward=True),
    "journal put together": partial(kill_journal, action="keep"),
    "journal put together, EIO once": partial(fail_journal, action="keep", error="EIO", onward=False),
}
