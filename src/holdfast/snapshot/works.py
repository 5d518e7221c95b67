"""What was done with snapshots lately, and what goes on: for whoever asked for it and did not wait for the answer.

<home>/snapshots/.work is written by whoever holds the lock of snapshots, when work begins and when it ends. What has
begun and not ended while nobody holds the lock was interrupted. It is only told; nothing depends on it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import orjson

from holdfast.disk import claim, release

WORK = ".work"
MOST_WORKS = 50
_MOST_BYTES = 256_000
_MOST_MESSAGE = 400

State = Literal["running", "done", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work on the snapshots of a memory."""

    operation: str
    tenant: str
    agent: str
    began: int
    ended: int | None = None
    code: str | None = None  # of the fault it ended with
    message: str | None = None
    about: str | None = None  # the snapshot or generation that came of it


def note_work(home: Path, work: Work) -> None:
    """Write down that it begins, or how it ended. Call with the lock of snapshots held."""
    works = [one for one in read_works(home) if not _is_same(one, work)]
    said = replace(work, message=work.message[:_MOST_MESSAGE] if work.message else None)
    path = home / "snapshots" / WORK
    temporary = path.with_name(f"{WORK}.new")
    with suppress(OSError):  # a full disk has better things to fail for
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(orjson.dumps([asdict(one) for one in (said, *works)[:MOST_WORKS]]))
        temporary.replace(path)


def _is_same(one: Work, other: Work) -> bool:
    """The line that was written when it began."""
    return one.ended is None and one == replace(other, ended=None, code=None, message=None, about=None)


def read_works(home: Path) -> list[Work]:
    """All that is known, the newest first."""
    try:
        with open(home / "snapshots" / WORK, "rb") as file:
            rows = orjson.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError):
        return []
    return [work for row in rows if (work := _work(row))] if isinstance(rows, list) else []


def _work(row: Any) -> Work | None:
    match row:
        case {"operation": str(), "tenant": str(), "agent": str(), "began": int(), **rest} if set(rest) <= _OPTIONAL:
            return Work(**row)
    return None


_OPTIONAL = {"ended", "code", "message", "about"}


def state_of(work: Work, *, newest: bool, held: bool) -> State:
    """How it stands. Only the newest can be going on, and only while somebody holds the lock."""
    if work.ended is not None:
        return "failed" if work.code else "done"
    return "running" if newest and held else "interrupted"


def is_held(home: Path) -> bool:
    """Whether somebody works on snapshots right now."""
    try:
        handle = os.open(home / "snapshots" / ".lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not claim(handle, shared=True)
    finally:
        release(handle)
