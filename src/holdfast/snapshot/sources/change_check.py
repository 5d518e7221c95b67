"""Whether anything changed since the last snapshot: records of memory, and files of memory folders.

What was seen is kept beside the snapshots, not in them: an encrypted one must not reveal what it holds.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from holdfast.core.disk import disk_faults, write_durably
from holdfast.core.errors import StorageFailed
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.sources.capture import folders_of
from holdfast.store.guard.guard_copy import history_tag

SEEN = "seen"


def seen_now(context: SnapshotContext) -> str:
    """A tag of the memory as it is now; empty if the memory cannot be opened."""
    if context.live is None:
        return ""
    tag = sha256(context.live.content_tag(context.tenant).encode())
    for source in folders_of(context):
        tag.update(source.name.encode())
        for line in _files(source.path):
            tag.update(line.encode("utf-8", "surrogateescape"))
    tag.update(history_tag(context.home, context.tenant).encode())
    return tag.hexdigest()


def _files(folder: Path) -> list[str]:
    """Every file with its size and time. A change that leaves both as they were is not noticed here."""
    found: list[str] = []
    for inside, _, names in os.walk(folder):  # a folder that goes while we look is passed over; so is a file
        for name in names:
            path = os.path.join(inside, name)
            with suppress(OSError):
                about = os.lstat(path)
                found.append(f"{path}\0{about.st_size}\0{about.st_mtime_ns}\n")
    return sorted(found)


def note_seen(context: SnapshotContext, tag: str) -> None:
    """Keep what the newest snapshot holds."""
    write_durably(context.repo.root / SEEN, tag.encode())


def forget_seen(context: SnapshotContext) -> None:
    """The newest snapshot is taken away again: what it held is in none."""
    with disk_faults(f"remove {SEEN}"):
        (context.repo.root / SEEN).unlink(missing_ok=True)


def is_changed(context: SnapshotContext) -> bool:
    """Whether there is something that the newest whole snapshot does not hold."""
    if all(one.damaged for one in context.repo.each()):
        return True
    try:
        before = (context.repo.root / SEEN).read_text()
    except FileNotFoundError:
        return True
    except OSError as error:
        raise StorageFailed(f"snapshots: what was captured last cannot be read ({error.strerror})") from error
    return before != seen_now(context)
