"""Breaking `holdfast snapshot create`, `restore` and `prune`, and `holdfast drill`, at one exact system call, and looking at what is left."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from kill_points import LATER, NEW, OLD, Outcome
from processes import run
from tracing import fired, run_broken, was_killed

from holdfast.core.model import Caller
from holdfast.engine import Engine
from holdfast.ops.registry import BY_NAME
from holdfast.settings import load
from holdfast.snapshot.repo.entries import packs_on
from holdfast.snapshot.repo.packs import needed_packs
from holdfast.store.data_folder import DataFolder

Call = Callable[..., Any]

SNAPSHOT_SYSCALLS = (
    "write", "pwrite64", "fsync", "fdatasync", "rename", "unlink", "ftruncate", "link", "mkdir", "rmdir", "unlinkat",
    "renameat2",
)  # fmt: skip
FOLDERS = "notes=notes"
NOTES = {"MEMORY.md": "one\n", "topics/tea.md": "keep it dry\n"}
CHANGED = {"MEMORY.md": "one\ntwo\n"}
ACTIONS = {
    "create": ("snapshot", "create"),
    "restore": ("snapshot", "restore", "000001", "--yes"),
    "prune": ("snapshot", "prune", "--keep", "1", "--yes"),
    "drill": ("drill", "000001"),
}


def _write(folder: Path, files: dict[str, str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _notes(folder: Path) -> dict[str, str]:
    return {str(one.relative_to(folder)): one.read_text() for one in folder.rglob("*") if one.is_file()}


def _template(folder: Path, layout: str) -> Path:
    """A memory with two snapshots that has gone on since."""
    home = folder / f"template-{layout}"
    if home.exists():
        return home
    _run_plain(home, layout, "remember", OLD[0])
    for text in OLD[1:]:
        _run_plain(home, layout, "remember", text)
    _write(home / "notes", NOTES)
    _run_plain(home, layout, "snapshot", "create", "--label", "first")
    _run_plain(home, layout, "snapshot", "create", "--label", "second")
    _run_plain(home, layout, "remember", NEW)
    _write(home / "notes", CHANGED)
    return home


def _run_plain(home: Path, layout: str, *words: str) -> None:
    done = run(home, *words, **_environment(layout))
    assert done.returncode == 0, done.stdout + done.stderr


def _environment(layout: str) -> dict[str, str]:
    return {"HOLDFAST_MEMORY_FOLDERS": FOLDERS, "HOLDFAST_SNAPSHOT_LAYOUT": layout}


def _run(
    folder: Path, action: str, layout: str, syscall: str, how: str, when: str
) -> tuple[subprocess.CompletedProcess[str], Path]:
    home, log = folder / "memory", folder / "strace.log"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(_template(folder, layout), home)
    inject = ["-e", f"trace={syscall}", "-e", f"inject={syscall}:{how}:when={when}"]
    words = (*ACTIONS[action], "--data", str(home), "--json")
    return run_broken(["-o", str(log), *inject], words, **_environment(layout)), log


def kill_snapshot(folder: Path, syscall: str, when: int, *, action: str, layout: str = "whole") -> Outcome:
    """The command killed at that call; then the folder is opened and examined.

    Raises:
        AssertionError: something is broken, or was lost.
    """
    done, log = _run(folder, action, layout, syscall, "signal=KILL", str(when))
    killed = was_killed(log)
    assert killed == (done.returncode != 0), done.stdout + done.stderr
    return _outcome(folder, action, layout, done, killed)


def fail_snapshot(
    folder: Path, syscall: str, when: int, *, action: str, error: str, onward: bool, layout: str = "whole"
) -> Outcome:
    """The same with an error of the disk in place of that call, and of all that follow if `onward`."""
    done, log = _run(folder, action, layout, syscall, f"error={error}", f"{when}{'+' if onward else ''}")
    return _outcome(folder, action, layout, done, fired(log) > 0)


def _outcome(folder: Path, action: str, layout: str, done: subprocess.CompletedProcess[str], broken: bool) -> Outcome:
    acknowledged = done.returncode == 0
    changed = examine(folder / "memory", action, layout)
    assert changed or not acknowledged, "acknowledged and not done"
    return Outcome(broken, acknowledged, changed)


def examine(home: Path, action: str, layout: str) -> bool:
    """The memory opens and is sound, old or new; every listed snapshot verifies; nothing lies about after the next
    snapshot. Whether the work was done."""
    known = {"home": str(home), "embedder": "none", "memory_folders": FOLDERS, "snapshot_layout": layout}
    engine = Engine(load(known, {}))

    def call(operation: str, **arguments: Any) -> Any:
        return BY_NAME[operation].call(engine.context(Caller()), arguments)

    try:
        drilled = _receipts(call)
        restored = _texts(call) == {*OLD}
        count = _sound(call)
        assert _notes(home / "notes") == (NOTES if restored else CHANGED), "the folder is not that of the memory"
        _goes_on(call)
    finally:
        engine.close()
    _no_litter(home)
    return {"create": count == 3, "restore": restored, "prune": count == 1, "drill": drilled}[action]


def _texts(call: Call) -> set[str]:
    texts = {one["content"] for one in call("memories")["memories"]}
    assert texts in ({*OLD}, {*OLD, NEW}), texts
    return texts


def _receipts(call: Call) -> bool:
    """Whether there is a receipt; a record that is there is whole, and tells of what was restored completely."""
    drills = call("drill_list")["drills"]
    assert [one["outcome"] for one in drills] in ([], ["restored"]), drills
    for one in drills:
        assert (one["snapshot"][:6], one["tables"]["memories"]) == ("000001", len(OLD)), one
    return bool(drills)


def _sound(call: Call) -> int:
    """The memory and every snapshot; how many there are."""
    report = call("verify")
    assert report["sound"], report["findings"]
    listed = call("snapshot_list")["snapshots"]
    assert [one["damaged"] for one in listed] == [False] * len(listed)
    for id in ("latest", *(one["id"] for one in listed)):
        assert call("snapshot_verify", id=id)["sound"], id
    return len(listed)


def _goes_on(call: Call) -> None:
    newest = call("snapshot_list")["snapshots"][0]["id"]
    call("remember", content=LATER)
    latest = call("snapshot_create")["id"]
    assert latest[:6] > newest[:6]
    call("snapshot_restore", id=latest, yes=True)
    assert LATER in {one["content"] for one in call("memories")["memories"]}
    assert call("verify")["sound"]


def _no_litter(home: Path) -> None:
    generations = DataFolder(home).generations()
    assert len(generations) <= 2, generations
    hidden = {one.name for one in home.rglob(".*")}
    kept = {f".notes.holdfast-old-{name}" for name in generations}
    assert hidden <= {".lock", ".work", *kept}, hidden
    for repo in home.glob("snapshots/*/*"):
        assert set(packs_on(repo)) == needed_packs(repo), "a pack that nobody needs, or one too few"


def _scenarios() -> dict[str, partial[Outcome]]:
    works = {
        **{f"snapshot, {action}": (action, "whole") for action in ACTIONS},
        **{f"snapshot in chunks, {action}": (action, "chunks") for action in ("create", "prune")},
    }
    kills = {name: partial(kill_snapshot, action=action, layout=layout) for name, (action, layout) in works.items()}
    failures = {
        f"{name}, {error} {'onward' if onward else 'once'}": partial(
            fail_snapshot, action=action, layout=layout, error=error, onward=onward
        )
        for name, (action, layout) in works.items()
        for error, onward in (("EIO", False), ("EIO", True), ("ENOSPC", True))
    }
    return {**kills, **failures}


SNAPSHOT_SCENARIOS = _scenarios()
