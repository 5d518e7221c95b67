"""Bringing guarded files back: a plan, what is there now set aside, then one file after the other in one step each.

    <home>/guard/undo/<number>/plan.json     what was written where, before any of it was
    <home>/guard/undo/<number>/<n>           the bytes that were there before, as they were

A kill in between leaves each file old or new; the same restore again writes the rest, and an undo takes all of it back.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from holdfast.core.disk import alone_in, disk_faults, make_folder, sync_folder, write_durably
from holdfast.core.errors import Conflict, DataDamaged, NotFound
from holdfast.snapshot.guard.guard_places import TEMPORARY, root_of, safe_path
from holdfast.snapshot.guard.guard_take import original_hash, own_key
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.sources.folder_paths import shown
from holdfast.snapshot.sources.folder_walk import open_folder
from holdfast.store.guard.guard_history import FOLDER, GuardHistory
from holdfast.store.guard.guard_records import FileVersion, GuardedFile, GuardedPlace

UNDO = "undo"
MOST_UNDOS = 5
_PLAN = "plan.json"
_WRITTEN = f"{TEMPORARY}new"  # in the folder of a file that is just written
_PIECE = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Change = Literal["same", "new", "replaced", "redacted", "blocked"]
"""same: it is there as it was. new: nothing is in its place. replaced: another content is. redacted: secrets were taken
out of what is kept, and another content is there. blocked: a link or no regular file is in its place."""


@dataclass(frozen=True, slots=True)
class RestoreStep:
    """A file as it shall be."""

    file: GuardedFile
    version: FileVersion
    change: Change

    @property
    def path(self) -> str:
        return shown(self.file.name)

    @property
    def writes(self) -> bool:
        return self.change in ("new", "replaced", "redacted")


def version_at(history: GuardHistory, file: GuardedFile, at: int | None) -> FileVersion | None:
    """The version of a file at a moment, None if there was no such file then. Without a moment its newest content,
    also if the file was removed since."""
    versions = history.versions(file)
    if at is None:
        return next((one for one in reversed(versions) if not one.gone), None)
    # By their times, as lists show them, also if a clock was set back between two.
    last = max((one for one in versions if one.taken_at <= at), key=lambda one: (one.taken_at, one.id), default=None)
    return last if last is not None and not last.gone else None


def plan_restore(
    context: SnapshotContext,
    history: GuardHistory,
    place: GuardedPlace,
    files: Iterable[GuardedFile],
    target: Path,
    at: int | None = None,
) -> list[RestoreStep]:
    """What restoring these files into a folder would do. Nothing is changed."""
    key, steps = own_key(context), []
    for file in files:
        version = version_at(history, file, at)
        if version is not None and safe_path(file.path):
            steps.append(RestoreStep(file, version, _change(target, file, version, key)))
    return steps


def _change(target: Path, file: GuardedFile, version: FileVersion, key: bytes) -> Change:
    try:
        folder = open_folder(target, file.name.rpartition("/")[0])
    except FileNotFoundError:
        return "new"
    except OSError:
        return "blocked"
    try:
        handle = os.open(os.path.basename(file.name), _READ, dir_fd=folder)
    except FileNotFoundError:
        return "new"
    except OSError:
        return "blocked"
    finally:
        os.close(folder)
    with os.fdopen(handle, "rb") as there:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return "blocked"
        if original_hash(there, key) == version.original:
            return "same"
    return "redacted" if version.redacted else "replaced"


def restore_files(context: SnapshotContext, history: GuardHistory, steps: Iterable[RestoreStep], target: Path) -> str:
    """Write the files of a plan; the number under which it can be undone.

    Raises:
        DataDamaged: a version is damaged in the history; what was restored before it stays.
        StorageFull, StorageFailed: a file cannot be written; it is as it was.
    """
    steps = [one for one in steps if one.writes]
    with disk_faults("guard: restore files"):
        make_folder(context.home / FOLDER / UNDO)
        with alone_in(context.home / FOLDER / UNDO):
            return _restore(context, history, steps, target)


def _restore(context: SnapshotContext, history: GuardHistory, steps: list[RestoreStep], target: Path) -> str:
    undo = _new_undo(context.home)
    target.mkdir(parents=True, exist_ok=True)
    _set_aside(undo, steps, target)
    for step in steps:
        _write(target, step.file.name, history.read(step.version), step.version.mode, step.version.mtime)
    _drop_old(context.home)
    return undo.name


def _new_undo(home: Path) -> Path:
    folder = home / FOLDER / UNDO
    for leftover in folder.glob(".*"):
        shutil.rmtree(leftover, ignore_errors=True)
    made = folder / f"{max([0, *_undos(folder)]) + 1:06}"
    made.with_name(f".{made.name}").mkdir(mode=0o700)
    return made


def _undos(folder: Path) -> list[int]:
    return sorted(int(one.name) for one in folder.glob("*") if one.name.isdigit()) if folder.is_dir() else []


def _set_aside(undo: Path, steps: list[RestoreStep], target: Path) -> None:
    """Copy what is in the place of the files, durable, and note which files there were."""
    building = undo.with_name(f".{undo.name}")
    rows = []
    for number, step in enumerate(steps):
        status = None
        with suppress(FileNotFoundError):
            status = _copy(target, step.file.name, building / str(number))
        rows.append(
            [step.file.path.hex(), None if status is None else [stat.S_IMODE(status.st_mode), status.st_mtime_ns]]
        )
    write_durably(building / _PLAN, orjson.dumps({"target": os.fsencode(target).hex(), "files": rows}))
    sync_folder(building)
    building.rename(undo)
    sync_folder(undo.parent)


def _copy(target: Path, name: str, into: Path) -> os.stat_result:
    folder = open_folder(target, name.rpartition("/")[0])
    try:
        handle = os.open(os.path.basename(name), _READ, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(handle, "rb") as source, os.fdopen(os.open(into, _NEW, 0o600), "wb") as copy:
        shutil.copyfileobj(source, copy, _PIECE)
        copy.flush()
        os.fsync(copy.fileno())
        return os.fstat(handle)


def _write(target: Path, name: str, pieces: Iterator[bytes], mode: int, mtime: int) -> None:
    """Put a file in its place in one step, through folders that are no links; what is missing of them is made."""
    above, _, base = name.rpartition("/")
    folder = _made_folder(target, above)
    try:
        _drop_leftover(folder)
        with os.fdopen(os.open(_WRITTEN, _NEW, 0o600, dir_fd=folder), "wb") as file:
            try:
                for piece in pieces:
                    file.write(piece)
                file.flush()
                # Not set-user-id and the like: what is kept may come from elsewhere.
                os.fchmod(file.fileno(), mode & 0o777)
                os.utime(file.fileno(), ns=(mtime, mtime))
                os.fsync(file.fileno())
            except BaseException:
                os.unlink(_WRITTEN, dir_fd=folder)
                raise
        os.rename(_WRITTEN, base, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    finally:
        os.close(folder)


def _drop_leftover(folder: int) -> None:
    """Remove what a killed restore was writing there: the same restore again, or its undo, comes to the same folder."""
    with suppress(FileNotFoundError):
        os.unlink(_WRITTEN, dir_fd=folder)


def _made_folder(target: Path, inside: str) -> int:
    handle = open_folder(target)
    for part in inside.split("/") if inside else ():
        before = handle
        try:
            with suppress(FileExistsError):
                os.mkdir(part, 0o700, dir_fd=before)
            handle = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=before)
        finally:
            os.close(before)
    return handle


def undo_restore(context: SnapshotContext) -> tuple[Path, int]:
    """Put back what the last restore replaced, and remove what it brought; the folder, and how many files.

    Raises:
        NotFound: there is none to undo.
        DataDamaged: its plan cannot be read.
        StorageFull, StorageFailed: a file cannot be written; the undo can be repeated.
    """
    folder = context.home / FOLDER / UNDO
    with disk_faults("guard: undo a restore"):
        make_folder(folder)
        with alone_in(folder):
            return _undo(folder)


def _undo(folder: Path) -> tuple[Path, int]:
    undos = _undos(folder)
    if not undos:
        raise NotFound("guard: there is no restore to undo")
    undo = folder / f"{undos[-1]:06}"
    target, rows = _read_plan(undo)
    for number, (name, before) in enumerate(rows):
        if before is None:
            with suppress(FileNotFoundError):
                _remove(target, name)
            continue
        with (undo / str(number)).open("rb") as data:
            _write(target, name, iter(lambda data=data: data.read(_PIECE), b""), *before)  # type: ignore[misc]
    undo.rename(folder / f".{undo.name}")
    sync_folder(folder)
    shutil.rmtree(folder / f".{undo.name}", ignore_errors=True)
    return target, len(rows)


def _remove(target: Path, name: str) -> None:
    folder = open_folder(target, name.rpartition("/")[0])
    try:
        _drop_leftover(folder)
        with suppress(FileNotFoundError):
            os.unlink(os.path.basename(name), dir_fd=folder)
        os.fsync(folder)
    finally:
        os.close(folder)


def _read_plan(undo: Path) -> tuple[Path, list[tuple[str, tuple[int, int] | None]]]:
    try:
        value: Any = orjson.loads((undo / _PLAN).read_bytes())
        rows = [
            (os.fsdecode(bytes.fromhex(path)), None if before is None else (int(before[0]), int(before[1])))
            for path, before in value["files"]
        ]
        return Path(os.fsdecode(bytes.fromhex(value["target"]))), rows
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataDamaged("guard: the plan of the last restore cannot be read") from error


def _drop_old(home: Path) -> None:
    folder = home / FOLDER / UNDO
    for number in _undos(folder)[:-MOST_UNDOS]:
        shutil.rmtree(folder / f"{number:06}", ignore_errors=True)


def check_restorable(steps: Iterable[RestoreStep], *, redacted: bool) -> None:
    """Refuse what would lose something that cannot be brought back from the history.

    Raises:
        Conflict: redacted text would take the place of an original; or links are in the way.
    """
    steps = list(steps)
    blocked = [one.path for one in steps if one.change == "blocked"]
    if blocked:
        raise Conflict(
            f"guard restore: {_some(blocked)}: a link or a special file is in the way",
            hint="Move it away, or restore into another folder with --to.",
        )
    altered = [one.path for one in steps if one.change == "redacted"]
    if altered and not redacted:
        raise Conflict(
            f"guard restore: {_some(altered)}: secrets were removed from what is kept, and another version is there",
            hint="Restore into another folder with --to and compare, or pass --redacted to replace it.",
        )


def _some(paths: list[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def files_of(history: GuardHistory, place: GuardedPlace, name: str | None) -> list[GuardedFile]:
    """All files of a place, or one: by its path below the place, as lists show it.

    Raises:
        NotFound: there is none of that name.
    """
    if name is None:
        return list(history.files(place))
    direct = history.file(place, os.fsencode(name))
    if direct is not None:
        return [direct]
    found = [one for one in history.files(place) if shown(one.name) == name or shown(one.name).startswith(f"{name}/")]
    if not found:
        raise NotFound(
            f"guard: no file {shown(name)} of {place.name} is known", hint="List them: holdfast guard history NAME"
        )
    return found


def target_of(place: GuardedPlace, to: str | None) -> Path:
    return root_of(place) if to is None else Path(to)
