"""Recent and running work on snapshots, for callers that did not wait for its result.

<home>/snapshots/.work is written when work begins and when it ends. What has begun and not ended goes on while the lock
of snapshots is held, or, if it takes none, while this process knows of it: no other process has the folder open.
Otherwise it was interrupted. All this is only reported; nothing depends on it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import orjson

from holdfast.core.disk import claim, release

WORK = ".work"
MOST_WORKS = 50
_MOST_BYTES = 256_000
_MOST_MESSAGE = 400

State = Literal["running", "done", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Job:
    """One job on the snapshots of a memory."""

    operation: str
    tenant: str
    agent: str
    began: int
    ended: int | None = None
    code: str | None = None  # of the fault it ended with
    message: str | None = None
    about: str | None = None  # the snapshot or generation that came of it
    locked: bool = True  # it holds the lock of snapshots; what sends to vaults does not


_ongoing: set[tuple[Path, Job]] = set()  # of this process, without the lock
_ongoing_lock = Lock()


@contextmanager
def going_on(home: Path, work: Job) -> Iterator[None]:
    """Within the block the work goes on, though it does not hold the lock of snapshots."""
    with _ongoing_lock:
        _ongoing.add((home, work))
    try:
        yield
    finally:
        with _ongoing_lock:
            _ongoing.discard((home, work))


def note_work(home: Path, work: Job) -> None:
    """Write down that it begins, or how it ended."""
    with suppress(OSError), _writing(home):  # a full disk must not fail the work because of its note
        works = [one for one in read_works(home) if not _is_same(one, work)]
        if works and _is_step(works[0], work):
            del works[0]
        said = replace(work, message=work.message[:_MOST_MESSAGE] if work.message else None)
        path = home / "snapshots" / WORK
        temporary = path.with_name(f"{WORK}.new")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(orjson.dumps([asdict(one) for one in (said, *works)[:MOST_WORKS]]))
        temporary.replace(path)


@contextmanager
def _writing(home: Path) -> Iterator[None]:
    """One at a time: what sends to a vault ends while something else holds the lock of snapshots."""
    handle = os.open(home / "snapshots", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        release(handle)


def _is_step(before: Job, work: Job) -> bool:
    """What is sent in steps is one job: a hundred steps must not push out all earlier ones."""
    same = (before.operation, before.tenant, before.agent) == (work.operation, work.tenant, work.agent)
    return same and not work.locked and before.ended is not None and before.code is None


def _is_same(one: Job, other: Job) -> bool:
    """The line that was written when it began."""
    return one.ended is None and one == replace(other, ended=None, code=None, message=None, about=None)


def read_works(home: Path) -> list[Job]:
    """All that is known, the newest first."""
    try:
        with open(home / "snapshots" / WORK, "rb") as file:
            rows = orjson.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError):
        return []
    return [work for row in rows if (work := _work(row))] if isinstance(rows, list) else []


EXCHANGES = ("restore", "undo", "merge")  # make another memory the live one


def done_works(home: Path, tenant: str, agent: str) -> Iterator[Job]:
    """What ended well of a memory's, the newest first."""
    for work in read_works(home):
        if (work.tenant, work.agent, work.code) == (tenant, agent, None) and work.ended is not None:
            yield work


def _work(row: Any) -> Job | None:
    match row:
        case {"operation": str(), "tenant": str(), "agent": str(), "began": int(), **rest} if set(rest) <= _OPTIONAL:
            return Job(**row)
    return None


_OPTIONAL = {"ended", "code", "message", "about", "locked"}


def recent_jobs(home: Path) -> list[tuple[Job, State]]:
    """All that is known, the newest first, and how each stands.

    Of those that hold the lock only the newest can be going on, and only while the lock is held.
    """
    held, works = is_held(home), read_works(home)
    newest = next((one for one in works if one.locked), None)
    return [(one, _state(home, one, held=held and one is newest)) for one in works]


def _state(home: Path, work: Job, *, held: bool) -> State:
    if work.ended is not None:
        return "failed" if work.code else "done"
    return "running" if (held if work.locked else (home, work) in _ongoing) else "interrupted"


def is_held(home: Path) -> bool:
    """Whether any process works on snapshots right now."""
    try:
        handle = os.open(home / "snapshots" / ".lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not claim(handle, shared=True)
    finally:
        release(handle)
