"""Operations on guarded places: files of other programs that are watched, kept with their history, and brought back.

They are files of the user who runs the server, so all of this is for root alone, and models are offered nothing of it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import Fault, InvalidRequest, NotFound
from holdfast.core.model import DEFAULT_TENANT, Json
from holdfast.core.times import iso
from holdfast.ops.framework.fields import Name, When, limit, moment
from holdfast.ops.framework.operation import Nothing, Operation, Request
from holdfast.ops.snapshots.selection import audit_snapshot, check_whole
from holdfast.settings import environment
from holdfast.snapshot.guard.guard_places import AGENTS, MEMORY_JSON, inside, place_of, root_of
from holdfast.snapshot.guard.guard_restore import (
    RestoreStep,
    check_restorable,
    files_of,
    plan_restore,
    restore_files,
    target_of,
    undo_restore,
)
from holdfast.snapshot.guard.guard_retention import make_room
from holdfast.snapshot.guard.guard_status import PlaceStatus, guard_status
from holdfast.snapshot.guard.guard_take import TakeReport, take_place
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.sources.folder_paths import shown
from holdfast.store.guard.guard_history import GuardHistory, history_path
from holdfast.store.guard.guard_records import FileVersion, GuardedFile, GuardedPlace

PLACE = f"Name ({', '.join(AGENTS)}, {MEMORY_JSON}), or the path of a folder or file."
ON_COPY = "This is a read-only copy: files are guarded on the host that it follows, or here after holdfast promote."
FILE = "File or folder in it, as guard history shows it. Default: all."


def _context(ctx: CallContext) -> SnapshotContext:
    if ctx.tenant != DEFAULT_TENANT:
        raise InvalidRequest("guard: only the first tenant's memory guards files, as they are the operator's")
    return snapshot_context(ctx)


def _open(context: SnapshotContext) -> GuardHistory:
    path = history_path(context.home)
    if not path.is_file():
        raise NotFound("guard: nothing is guarded", hint="Begin with: holdfast guard add claude-code")
    return GuardHistory(path)


def _found(history: GuardHistory, what: str) -> tuple[GuardedPlace, str | None]:
    """The place of that name or path, and the file in it that the path means."""
    places = history.places()
    for one in places:
        if one.name == what:
            return one, None
    path = Path(what).expanduser()
    if path.is_absolute():
        for one in places:
            if path == root_of(one):
                return one, None
        for one in places:
            if (name := inside(one, path)) is not None:
                return one, name.decode("utf-8", "surrogateescape")
    raise NotFound(f"guard: {shown(what)} is not guarded", hint="List what is: holdfast guard list")


class GuardAdd(Request):
    place: Name = Field(description=PLACE)
    redact: bool = Field(
        default=True, description="Remove secrets from text files before they are kept. Such a file comes back without."
    )


class GuardAddAnswer(TypedDict):
    success: bool
    place: Json
    taken: int


def guard_add(ctx: CallContext, ask: GuardAdd) -> GuardAddAnswer:
    """Watch a folder or file in which another program keeps its memory, and keep every version of it.

    Names of agents stand for where they keep their memory. The server notices changes within a minute.
    """
    context = _context(ctx)
    place = place_of(ask.place, environment(), context.home, redact=ask.redact, now_ms=context.clock.now_ms())
    with GuardHistory(history_path(context.home)) as history:
        with history.writing():
            place = history.add_place(place)
        done = _take(context, history, place)
    ctx.guard.wake.set()
    audit_snapshot(ctx, "guard_add", place.name)
    return {"success": True, "place": _place_of(ctx, context, place.name), "taken": done.taken}


def _take(context: SnapshotContext, history: GuardHistory, place: GuardedPlace) -> TakeReport:
    done = take_place(context, history, place)
    make_room(context, history, place)
    return done


def _place_of(ctx: CallContext, context: SnapshotContext, name: str) -> Json:
    return next(_shape(one) for one in guard_status(context, ctx.guard).places if one.place.name == name)


def _shape(one: PlaceStatus) -> Json:
    place, totals = one.place, one.totals
    shape: Json = {
        "name": place.name,
        "path": shown(str(root_of(place))),
        "only": [shown(pattern) for pattern in place.only],
        "state": _state(one),
        "redact": place.redact,
        "files": totals.files,
        "removed": totals.gone,
        "leftOut": totals.left,
        "versions": totals.versions,
        "size": totals.bytes,
        "takenAt": None if totals.taken_at is None else iso(totals.taken_at),
    }
    return shape | {"message": one.watch.fault} if one.watch and one.watch.fault and place.active else shape


def _state(one: PlaceStatus) -> str:
    """on: it is watched while a server runs; off: only its history is there; else as `GuardWatchState` has it."""
    if not one.place.active:
        return "off"
    return one.watch.way if one.watch and one.watch.way in ("missing", "scanned") else "on"


class GuardListAnswer(TypedDict):
    places: list[Json]
    message: NotRequired[str]


def guard_list(ctx: CallContext, ask: Nothing) -> GuardListAnswer:
    """List guarded places: how each is watched, how many files and versions are kept, when something was taken last."""
    found = guard_status(_context(ctx), ctx.guard)
    answer: GuardListAnswer = {"places": [_shape(one) for one in found.places]}
    message = found.fault or ("" if ctx.follow is None else ON_COPY)
    return {**answer, "message": message} if message else answer


class GuardStatusAsk(Request):
    limit: int = limit(50, 10_000)


class GuardStatusAnswer(TypedDict):
    places: list[Json]
    left: list[Json]
    leftTotal: int
    message: NotRequired[str]


def guard_report(ctx: CallContext, ask: GuardStatusAsk) -> GuardStatusAnswer:
    """Show guarded places, and every file that is not taken, with the reason."""
    context = _context(ctx)
    status = guard_status(context, ctx.guard)
    left: list[Json] = []
    if status.places:
        with _open(context) as history:
            for one in status.active:
                left += [_left(one.place, file) for file in history.files(one.place) if file.left]
    answer: GuardStatusAnswer = {
        "places": [_shape(one) for one in status.places],
        "left": left[: ask.limit],
        "leftTotal": len(left),
    }
    return {**answer, "message": status.fault} if status.fault else answer


def _left(place: GuardedPlace, file: GuardedFile) -> Json:
    return {"name": place.name, "path": shown(file.name), "reason": file.left, "kept": file.newest is not None}


class GuardScan(Request):
    place: Name | None = Field(default=None, description=f"{PLACE} Default: all.")


class GuardScanAnswer(TypedDict):
    success: bool
    taken: int
    removed: int


def guard_scan(ctx: CallContext, ask: GuardScan) -> GuardScanAnswer:
    """Look through guarded places now and take what changed. A running server does this by itself."""
    context, report = _context(ctx), TakeReport()
    with _open(context) as history:
        places = [_found(history, ask.place)[0]] if ask.place else history.places()
        for one in places:
            if one.active:
                report.add(_take(context, history, one))
    return {"success": True, "taken": report.taken, "removed": report.gone}


class GuardRemove(Request):
    place: Name = Field(description=PLACE)
    forget: bool = Field(default=False, description="Remove the history as well. Requires yes.")
    yes: bool = Field(default=False, description="Confirm that the history is removed.")


class GuardRemoveAnswer(TypedDict):
    success: bool
    name: str
    versions: int


def guard_remove(ctx: CallContext, ask: GuardRemove) -> GuardRemoveAnswer:
    """Stop watching a place. Its history stays, and can be restored, unless forget is set."""
    context = _context(ctx)
    with _open(context) as history:
        place, _ = _found(history, ask.place)
        versions = history.totals(place).versions
        if ask.forget and not ask.yes:
            raise InvalidRequest(
                f"guard_remove: {versions} versions of {place.name} would be removed for good",
                hint="Pass --yes as well, or leave out --forget to keep them.",
            )
        with history.writing():
            if ask.forget:
                history.drop_place(place)
            else:
                history.set_active(place, False)
        if ask.forget:
            history.drop_unused()
    ctx.guard.wake.set()
    audit_snapshot(ctx, "guard_remove", place.name, forget=ask.forget)
    return {"success": True, "name": place.name, "versions": 0 if ask.forget else versions}


class GuardHistoryAsk(Request):
    place: Name = Field(description=PLACE)
    file: Name | None = Field(default=None, description=FILE)
    removed: bool = Field(default=False, description="Only files that were removed since.")
    limit: int = limit(100, 10_000)


class GuardHistoryAnswer(TypedDict):
    name: str
    files: list[Json]
    total: int


def guard_history(ctx: CallContext, ask: GuardHistoryAsk) -> GuardHistoryAnswer:
    """List what is kept of a place: its files, or the versions of one file with times and sizes, newest first."""
    context = _context(ctx)
    with _open(context) as history:
        place, name = _found(history, ask.place)
        name = ask.file or name
        files = [one for one in files_of(history, place, name) if one.newest is not None]
        if ask.removed:
            files = [one for one in files if one.newest and one.newest.gone]
        if len(files) == 1 and name is not None:
            rows = [_version(files[0], one) for one in reversed(history.versions(files[0]))]
        else:
            files.sort(key=lambda one: one.newest.taken_at if one.newest else 0, reverse=True)
            rows = [_version(one, one.newest) for one in files if one.newest]
    return {"name": place.name, "files": rows[: ask.limit], "total": len(rows)}


def _version(file: GuardedFile, one: FileVersion) -> Json:
    return {
        "takenAt": iso(one.taken_at),
        "change": "removed" if one.gone else "redacted" if one.redacted else "kept",
        "size": one.size,
        "path": shown(file.name),
    }


class GuardRestore(Request):
    place: Name = Field(description=PLACE)
    file: Name | None = Field(default=None, description=FILE)
    at: When | None = Field(
        default=None,
        description="As the files were at this time. Default: the last version of each, removed or not.",
    )
    to: Name | None = Field(default=None, description="Restore into this folder instead of where they were.")
    dry_run: bool = Field(default=False, description="Show what would be written. Nothing is changed.")
    yes: bool = Field(default=False, description="Confirm that files are written.")
    redacted: bool = Field(
        default=False, description="Replace a file even though secrets were removed from the version that is kept."
    )
    limit: int = limit(100, 10_000)


class GuardRestoreAnswer(TypedDict):
    success: bool
    name: str
    folder: str
    dryRun: bool
    restored: int
    same: int
    files: list[Json]
    undo: NotRequired[str]
    next: NotRequired[str]


def guard_restore(ctx: CallContext, ask: GuardRestore) -> GuardRestoreAnswer:
    """Bring back one file or all files of a guarded place, where they were or in another folder.

    What is there now is kept for guard undo. A file that lost its secrets replaces another version only with redacted.
    """
    check_whole(to=ask.to)
    context = _context(ctx)
    with _open(context) as history:
        place, name = _found(history, ask.place)
        files = files_of(history, place, ask.file or name)
        target = target_of(place, ask.to)
        steps = plan_restore(context, history, place, files, target, moment(ctx, ask.at, "at"))
        if not steps:
            raise NotFound("guard restore: nothing was kept then", hint="See the times: holdfast guard history NAME")
        answer = _restore_shape(place, target, steps, ask)
        if ask.dry_run or not answer["restored"]:
            return answer
        check_restorable(steps, redacted=ask.redacted)
        if not ask.yes:
            raise InvalidRequest(
                f"guard_restore: writing {answer['restored']} file(s) to {answer['folder']} requires confirmation",
                hint="Preview with --dry-run, then pass --yes.",
            )
        number = restore_files(context, history, steps, target)
    audit_snapshot(ctx, "guard_restore", place.name, files=answer["restored"])
    return {**answer, "undo": number, "next": "Take it back with: holdfast guard undo --yes"}


def _restore_shape(
    place: GuardedPlace, target: Path, steps: list[RestoreStep], ask: GuardRestore
) -> GuardRestoreAnswer:
    writes = [one for one in steps if one.change != "same"]
    rows = [
        {
            "path": one.path,
            "change": one.change,
            "size": one.version.size,
            "takenAt": iso(one.version.taken_at),
            "redacted": bool(one.version.redacted),
        }
        for one in writes
    ]
    return {
        "success": True,
        "name": place.name,
        "folder": shown(str(target)),
        "dryRun": ask.dry_run,
        "restored": len(writes),
        "same": len(steps) - len(writes),
        "files": rows[: ask.limit],
    }


class GuardUndo(Request):
    yes: bool = Field(default=False, description="Confirm that files are written.")


class GuardUndoAnswer(TypedDict):
    success: bool
    folder: str
    files: int


def guard_undo(ctx: CallContext, ask: GuardUndo) -> GuardUndoAnswer:
    """Undo the last guard restore: what it replaced comes back, and what it brought is removed."""
    if not ask.yes:
        raise InvalidRequest("guard_undo: this writes files and requires confirmation", hint="Pass --yes.")
    context = _context(ctx)
    folder, files = undo_restore(context)
    with suppress(Fault):  # also where the store cannot be opened
        audit_snapshot(ctx, "guard_undo", "", files=files)
    return {"success": True, "folder": shown(str(folder)), "files": files}


GUARDED = (
    Operation(
        guard_add, "POST", "/guard", effect="write", scope="root", cli="guard add", positional=("place",),
        paths=("place",), long=True,
    ),
    Operation(guard_list, "GET", "/guard", scope="root", cli="guard list"),
    Operation(guard_report, "GET", "/guard/status", scope="root", cli="guard status"),
    Operation(
        guard_scan, "POST", "/guard/scan", effect="write", scope="root", cli="guard scan", positional=("place",),
        paths=("place",), long=True,
    ),
    Operation(
        guard_remove, "POST", "/guard/remove", effect="destroy", scope="root", cli="guard remove",
        positional=("place",), paths=("place",),
    ),
    Operation(
        guard_history, "GET", "/guard/history", scope="root", cli="guard history", positional=("place", "file"),
        paths=("place",),
    ),
    Operation(
        guard_restore, "POST", "/guard/restore", effect="destroy", scope="root", cli="guard restore",
        positional=("place", "file"), paths=("place", "to"), long=True,
    ),
    Operation(guard_undo, "POST", "/guard/undo", effect="destroy", scope="root", cli="guard undo", long=True),
)  # fmt: skip
