"""Breaking work in a repository at one exact system call, and looking at what it leaves."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from hashlib import sha256
from pathlib import Path

from kill_points import Outcome
from repo_samples import BOOKKEEPING, files_of, names_on, put_sample, sample_id
from repo_work import ACTIONS, FAULT, NEW, OLD
from tracing import fired, run_broken, was_killed

from holdfast.snapshot.remote.transfer import list_vault, send
from holdfast.snapshot.repo.repository import SnapshotRepository
from holdfast.vault.local import LocalVault

LATER = 3
LEFT = 7  # an id whose put was interrupted earlier
WORK = Path(__file__).with_name("repo_work.py")


def _prepare(action: str, root: Path) -> None:
    shutil.rmtree(root.parent, ignore_errors=True)
    root.parent.mkdir(parents=True)
    repo = SnapshotRepository(root)
    put_sample(repo, OLD)
    if action == "delete":
        put_sample(repo, NEW)
    if action == "sweep":
        _leave(root)


def _leave(root: Path) -> None:
    """What a put leaves that was killed just before its manifest, another in its staging, and a counter."""
    (root / f".{sample_id(LEFT)}.changing").touch()
    for name in files_of(LEFT):
        if not name.endswith(".manifest.json"):
            (root / name).write_bytes(b"half")
    (root / f".{sample_id(LEFT)}.manifest.json.new").write_bytes(b"half")
    (root / ".staging-gone" / "deep").mkdir(parents=True)
    (root / ".staging-gone" / "deep" / "file").write_bytes(b"half")
    (root / ".sequence.new").write_bytes(b"4")


def _paths(root: Path) -> list[Path]:
    """Every path that the work touches; calls on others are left alone and not counted."""
    ids = (OLD, NEW, LEFT)
    files = [name for sequence in ids for name in files_of(sequence)]
    marks = [name for id in map(sample_id, ids) for name in (f".{id}.changing", f".{id}.manifest.json.new")]
    staging = f".staging-{sample_id(NEW)}"
    others = [
        ".lock", "sequence", "newest", ".sequence.new", ".newest.new",
        staging, f"{staging}/{sample_id(NEW)}.tar.zst",
        ".staging-gone", ".staging-gone/deep", ".staging-gone/deep/file",
    ]  # fmt: skip
    vault = root.parent / "vault"
    sent = [vault, vault / "acme", vault / "acme/quill", *(vault / "acme/quill" / name for name in files_of(OLD))]
    return [root, *(root / name for name in (*files, *marks, *others)), *sent]


def _run(folder: Path, action: str, syscall: str, how: str, when: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    root, log = folder / "home" / "shelf", folder / "strace.log"
    _prepare(action, root)
    # The vault's temporary names are not known before, so there every such call counts; the interpreter has none.
    paths = [] if action == "send" and syscall in ("write", "fsync", "unlink") else _paths(root)
    places = [word for path in paths for word in ("-P", str(path))]
    inject = ["-e", f"trace={syscall}", "-e", f"inject={syscall}:{how}:when={when}"]
    return run_broken(["-o", str(log), *places, *inject], (action, str(root)), WORK), log


def kill_repo(folder: Path, syscall: str, when: int, *, action: str) -> Outcome:
    """The work killed at that call; then the repository is examined.

    Raises:
        AssertionError: something is broken, or was lost.
    """
    done, log = _run(folder, action, syscall, "signal=KILL", str(when))
    killed = was_killed(log)
    assert killed == (done.returncode != 0), done.stdout + done.stderr
    return _outcome(folder, action, done, killed)


def fail_repo(folder: Path, syscall: str, when: int, *, action: str, error: str, onward: bool) -> Outcome:
    """The same with an error of the disk in place of that call, and of all that follow if `onward`."""
    done, log = _run(folder, action, syscall, f"error={error}", f"{when}{'+' if onward else ''}")
    assert done.returncode in (0, FAULT), done.stdout + done.stderr
    return _outcome(folder, action, done, fired(log) > 0)


def _outcome(folder: Path, action: str, done: subprocess.CompletedProcess[str], broken: bool) -> Outcome:
    acknowledged = done.returncode == 0
    changed = examine(folder / "home" / "shelf", action, done.stdout)
    assert changed or not acknowledged, "acknowledged and not done"
    return Outcome(broken, acknowledged, changed)


def examine(root: Path, action: str, said: str) -> bool:
    """What is listed is whole, what is not is gone after a sweep, and work goes on. Whether the work was done."""
    repo = SnapshotRepository(root)
    before = {one.id for one in repo.list()}
    if action == "send":
        return _examine_vault(repo, root.parent / "vault")
    assert [one.damaged for one in repo.list() if one.damaged] == []
    repo.sweep()
    found = repo.list()
    ids = {one.id for one in found}
    assert ids == before, "a sweep takes nothing that was listed"
    assert ids in ({sample_id(OLD)}, {sample_id(OLD), sample_id(NEW)}), ids
    for one in found:
        assert one.damaged is None
        assert one.manifest is not None
        assert sha256(one.path.read_bytes()).hexdigest() == one.manifest.bundle_sha256
    assert repo.newest_expected() == found[0].sequence
    assert names_on(repo) == {name for one in found for name in files_of(one.sequence)} | BOOKKEEPING, names_on(repo)
    number = repo.next_sequence()
    assert number > max(found[0].sequence, *(int(word) for word in said.split() if word.isdigit()), 0)
    put_sample(repo, LATER)
    assert repo.find("latest").id == sample_id(LATER)
    return {"put": sample_id(NEW) in ids, "delete": sample_id(NEW) not in ids}.get(action, True)


def _examine_vault(repo: SnapshotRepository, place: Path) -> bool:
    """All of it or nothing is listed there; sent again it is whole, and the next put takes litter away."""
    vault = LocalVault(place)
    found = list_vault(vault, "acme", "quill")
    assert [one.damaged for one in found if one.damaged] == []
    put_sample(repo, LATER)
    for sequence in (OLD, OLD, LATER):
        send(repo, sample_id(sequence), vault)
    assert [one.damaged for one in list_vault(vault, "acme", "quill")] == [None, None]
    assert {path.name for path in (place / "acme/quill").iterdir()} == files_of(OLD) | files_of(LATER)
    return bool(found)


ERRORS = (("EIO", False), ("EIO", True), ("ENOSPC", True))

SHELF_SCENARIOS = {
    **{f"repository, {action}": partial(kill_repo, action=action) for action in ACTIONS},
    **{
        f"repository, {action}, {error} {'onward' if onward else 'once'}": partial(
            fail_repo, action=action, error=error, onward=onward
        )
        for action in ACTIONS
        for error, onward in ERRORS
    },
}
