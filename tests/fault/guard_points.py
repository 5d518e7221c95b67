"""Breaking `holdfast guard scan`, `restore` and `undo` at one exact system call, and looking at what is left."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

from kill_points import Outcome
from tracing import fired, run_broken, was_killed

from holdfast.core.model import Caller
from holdfast.engine import Engine
from holdfast.ops.registry import BY_NAME
from holdfast.settings import load

GUARD_SYSCALLS = (
    "write", "pwrite64", "fsync", "fdatasync", "rename", "renameat", "unlink", "unlinkat", "ftruncate", "mkdir",
    "mkdirat", "rmdir", "fchmod", "utimensat",
)  # fmt: skip
LINE = '{"type": "user", "text": "the ferry leaves at noon"}\n'
TAKEN = {"a.md": "one\n", "deep/s.jsonl": LINE * 200, "gone.md": "will go\n"}  # the first version of each
LATER = {"a.md": "two\n", "deep/s.jsonl": LINE * 300, "new.md": "new\n"}  # what is there when the command runs
BACK = {**LATER, **TAKEN}  # after a restore of the first versions
ACTIONS = {
    "scan": ("guard", "scan"),
    "restore": ("guard", "restore", "PLACE", "--yes"),
    "undo": ("guard", "undo", "--yes"),
}


def _write(place: Path, files: dict[str, str]) -> None:
    shutil.rmtree(place, ignore_errors=True)
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)


def tree(place: Path) -> dict[str, str]:
    return {str(one.relative_to(place)): one.read_text() for one in place.rglob("*") if one.is_file()}


def _engine(home: Path) -> Engine:
    return Engine(load({"home": str(home), "embedder": "none"}, {}))


def _call(engine: Engine, operation: str, **arguments: Any) -> Any:
    return BY_NAME[operation].call(engine.context(Caller()), arguments)


def _prepare(folder: Path, action: str) -> tuple[Path, Path]:
    """A memory that guards a place, which has gone on since; both are made anew."""
    home, place = folder / "memory", folder / "place"
    shutil.rmtree(home, ignore_errors=True)
    _write(place, TAKEN)
    engine = _engine(home)
    try:
        _call(engine, "guard_add", place=str(place))
        _write(place, LATER)
        if action == "undo":
            _call(engine, "guard_restore", place=str(place), yes=True)
    finally:
        engine.close()
    return home, place


def break_guard(
    folder: Path, syscall: str, when: int, *, action: str, error: str = "", onward: bool = False
) -> Outcome:
    """The command killed at that call, or with an error of the disk in its place; then what is left is examined.

    Raises:
        AssertionError: something is broken, or was lost.
    """
    home, place = _prepare(folder, action)
    log = folder / "strace.log"
    how = f"error={error}" if error else "signal=KILL"
    inject = f"inject={syscall}:{how}:when={when}{'+' if onward else ''}"
    words = [str(place) if word == "PLACE" else word for word in ACTIONS[action]]
    done = run_broken(
        ["-o", str(log), "-e", f"trace={syscall}", "-e", inject],
        (*words, "--data", str(home), "--json"),
        HOME=str(folder),
    )
    acknowledged = done.returncode == 0
    changed = examine(home, place, action)
    assert changed or not acknowledged, "acknowledged and not done"
    return Outcome(fired(log) > 0 if error else was_killed(log), acknowledged, changed)


def examine(home: Path, place: Path, action: str) -> bool:
    """Every file is the old or the new one, every version that was kept is there, and the work can go on. Whether it
    was done."""
    wanted = {"scan": [LATER], "restore": [LATER, BACK], "undo": [BACK, LATER]}[action]
    found = tree(place)
    for name, text in found.items():
        assert Path(name).name.startswith(".holdfast-guard-") or text in [one.get(name) for one in wanted], name
    done = found == wanted[-1]
    engine = _engine(home)
    try:
        if action == "scan":
            done = _is_taken(engine, place)
            _call(engine, "guard_scan")
            assert _is_taken(engine, place)
        elif action == "restore":
            _call(engine, "guard_restore", place=str(place), yes=True)
            assert tree(place) == BACK
            while done or tree(place) != LATER:
                done = _call(engine, "guard_undo", yes=True)["success"] and tree(place) != LATER
            done = found == BACK
        elif not done:
            _call(engine, "guard_undo", yes=True)
            assert tree(place) == LATER
        _first_versions_are_kept(engine, home, place)
        assert _call(engine, "verify")["sound"]
    finally:
        engine.close()
    return done


def _is_taken(engine: Engine, place: Path) -> bool:
    """Whether the newest version of each file is what is there, and the one that is gone is noted as such."""
    shown = _call(engine, "guard_restore", place=str(place), dryRun=True)["files"]
    removed = _call(engine, "guard_history", place=str(place), removed=True)["files"]
    return [one["path"] for one in shown] == ["gone.md"] and len(removed) == 1


def _first_versions_are_kept(engine: Engine, home: Path, place: Path) -> None:
    for name, text in TAKEN.items():
        versions = _call(engine, "guard_history", place=str(place), file=name)["files"]
        into = home.parent / "into"
        shutil.rmtree(into, ignore_errors=True)
        _call(engine, "guard_restore", place=str(place), file=name, at=versions[-1]["takenAt"], to=str(into), yes=True)
        assert tree(into) == {name: text}


GUARD_SCENARIOS = {
    **{f"guard, {action}": partial(break_guard, action=action) for action in ACTIONS},
    **{
        f"guard, {action}, {error} {'onward' if onward else 'once'}": partial(
            break_guard, action=action, error=error, onward=onward
        )
        for action in ACTIONS
        for error, onward in (("EIO", False), ("ENOSPC", True))
    },
}
