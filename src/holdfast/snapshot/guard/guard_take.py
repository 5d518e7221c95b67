"""Taking what changed in a guarded place: found by what the file system tells of files, read without following links.

place ─walk→ files ─compare→ changed files ─take→ staged copy ─redact→ ─cut→ chunks ─put→ version
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from holdfast.core.disk import alone_in, disk_faults, make_folder, write_durably
from holdfast.snapshot.bundle.types import SkippedItem
from holdfast.snapshot.chunks.chunker import ContentChunker
from holdfast.snapshot.guard.guard_places import root_of, rule_of
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.sources.folder_walk import CHANGED, REMOVED, CopiedFile, WalkedFile, take, walk
from holdfast.snapshot.sources.memory_folder import scratch_folder
from holdfast.snapshot.sources.redact import redact_file
from holdfast.store.guard.guard_history import FOLDER, GuardHistory
from holdfast.store.guard.guard_records import FileStamp, GuardedFile, GuardedPlace, NewVersion

MISSING = "the folder does not exist"
FULL = "no room: the history of this place has reached its limit"
# A file that was written to just now may be written to again within the same tick of its times: it is looked at again.
SETTLE_NS = 1_000_000_000
_TOGETHER = 200  # files in one transaction
_TOGETHER_BYTES = 8 << 20
_PIECE = 1 << 20
_KEY, _KEY_BYTES = "key", 32


@dataclass
class TakeReport:
    """What became of one look at a place."""

    taken: int = 0
    gone: int = 0
    unsettled: set[str] = field(default_factory=set)  # folders with files that are just being written
    folders: set[str] = field(default_factory=set)  # that were walked
    missing: bool = False
    fault: str = ""  # why not all of it could be looked at

    def add(self, other: TakeReport) -> None:
        self.taken += other.taken
        self.gone += other.gone
        self.unsettled |= other.unsettled
        self.folders |= other.folders
        self.missing = self.missing or other.missing
        self.fault = self.fault or other.fault


def take_place(context: SnapshotContext, history: GuardHistory, place: GuardedPlace) -> TakeReport:
    """Take what changed anywhere in the place. Faults as of `take_folder`."""
    return take_folder(context, history, place, "", lambda _: True)


def take_folder(
    context: SnapshotContext,
    history: GuardHistory,
    place: GuardedPlace,
    start: str,
    descend: Callable[[str], bool],
    stop: Callable[[], bool] = lambda: False,
) -> TakeReport:
    """Take what changed in a folder of the place, and in those below that `descend` names.

    Raises:
        StorageFull, StorageFailed: the history cannot be written; what was taken before is kept.
        DataDamaged: the history is damaged.
    """
    run = _TakeRun(context, history, place, start, descend)
    if not _is_folder(root_of(place)):
        run.report.missing = True
        return run.report
    with disk_faults("guard: stage a file"):
        make_folder(context.home / FOLDER)
        with scratch_folder(context.home / FOLDER) as scratch:
            run.take_all(scratch, stop)
    return run.report


def _is_folder(root: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(root).st_mode)
    except OSError:
        return False


class _TakeRun:
    """One look at a place, or at a part of it."""

    def __init__(
        self,
        context: SnapshotContext,
        history: GuardHistory,
        place: GuardedPlace,
        start: str,
        descend: Callable[[str], bool],
    ):
        self.report = TakeReport(folders={start})
        self._context = context
        self._history = history
        self._place = place
        self._start = start
        self._descend = descend
        self._known = {one.name: one for one in history.files_below(place, os.fsencode(start))}
        self._seen: set[str] = set()  # files that are there
        self._passed: set[str] = set()  # folders that were not entered, and what could not be looked at
        self._limit = context.settings.guard_file_limit
        self._room = context.settings.guard_bytes - history.stored_bytes(place)
        self._key = own_key(context)

    def take_all(self, scratch: Path, stop: Callable[[], bool]) -> None:
        found = walk(root_of(self._place), rule_of(self._place), self._start, self._enter)
        for group in _groups(one for one in found if not stop() and self._is_changed(one)):
            with self._history.writing():
                for one in group:
                    self._take(one, scratch / "file")
        if not stop():
            self._note_gone()

    def _enter(self, folder: str) -> bool:
        if self._descend(folder):
            self.report.folders.add(folder)
            return True
        self._passed.add(folder)
        return False

    def _is_changed(self, found: WalkedFile | SkippedItem) -> bool:
        if isinstance(found, SkippedItem):
            self._passed.add(found.path)
            self.report.folders.discard(self._start if found.path == "." else found.path)
            known = self._known.get(found.path)
            return known is None or known.left != found.reason
        self._seen.add(found.path)
        known = self._known.get(found.path)
        if known is None or known.stamp != FileStamp.of(found.status):
            return True
        return known.left == FULL and self._room > 0

    def _take(self, found: WalkedFile | SkippedItem, staged: Path) -> None:
        path = os.fsencode(found.path)
        if isinstance(found, SkippedItem):
            if found.path == ".":
                self.report.fault = found.reason
            else:
                self._history.note(self._place, path, None, found.reason)
            return
        stamp = FileStamp.of(found.status)
        if self._room <= 0:
            return self._history.note(self._place, path, stamp, FULL)
        copied = take(found, self._limit, staged)
        if isinstance(copied, CopiedFile):
            self._put(path, stamp, stat.S_IMODE(found.status.st_mode), staged)
        elif copied.reason == REMOVED:
            self._seen.discard(found.path)
        else:  # what changed while it was read is tried again at the next look
            self._history.note(self._place, path, None if copied.reason == CHANGED else stamp, copied.reason)

    def _put(self, path: bytes, stamp: FileStamp, mode: int, staged: Path) -> None:
        with staged.open("rb") as data:
            original = original_hash(data, self._key)
        counts: Counter[str] = Counter()
        if self._place.redact and self._context.settings.snapshot_redact:
            redact_file(staged, staged.parent, counts)
        made = NewVersion(self._context.clock.now_ms(), mode, stamp.mtime, counts.total(), original)
        unsettled = 0 <= self._context.clock.now_ms() * 1_000_000 - stamp.ctime < SETTLE_NS
        if unsettled:
            self.report.unsettled.add(os.fsdecode(path).rpartition("/")[0])
        self._history.note(self._place, path, None if unsettled else stamp)
        with staged.open("rb") as data:
            stored = self._history.put(self._place, path, made, cut_file(data.read))
        self.report.taken += stored is not None
        self._room -= stored or 0

    def _note_gone(self) -> None:
        gone = [one for name, one in self._known.items() if self._is_gone(name)]
        for group in (gone[at : at + _TOGETHER] for at in range(0, len(gone), _TOGETHER)):
            with self._history.writing():
                for one in group:
                    self._forget(one)

    def _is_gone(self, name: str) -> bool:
        """Whether a known file was removed: not if it could not be looked at, or lies where was not looked."""
        if name in self._seen or "." in self._passed or self._start in self._passed:
            return False
        parts = name.split("/")
        return not any("/".join(parts[:at]) in self._passed for at in range(1, len(parts) + 1))

    def _forget(self, known: GuardedFile) -> None:
        file = self._history.file(self._place, known.path)  # another look may have been quicker
        if file is None:
            return
        if file.newest is None:
            self._history.drop_file(file)  # it was left out, and there is nothing to bring back
        elif not file.newest.gone:
            self._history.put_gone(file, self._context.clock.now_ms())
            self.report.gone += 1


def _groups(found: Iterator[WalkedFile | SkippedItem]) -> Iterator[Iterator[WalkedFile | SkippedItem]]:
    """The files in groups for a transaction each. A file can be read only while the walk stands at it."""
    for first in found:
        yield _group(first, found)


def _group(
    first: WalkedFile | SkippedItem, rest: Iterator[WalkedFile | SkippedItem]
) -> Iterator[WalkedFile | SkippedItem]:
    count, size, one = 0, 0, first
    while True:
        yield one
        count, size = count + 1, size + (one.size if isinstance(one, WalkedFile) else 0)
        if count >= _TOGETHER or size >= _TOGETHER_BYTES:
            return
        following = next(rest, None)
        if following is None:
            return
        one = following


def cut_file(read: Callable[[int], bytes]) -> Iterator[memoryview]:
    """The bytes as chunks, cut by content."""
    chunker = ContentChunker()
    while piece := read(_PIECE):
        chunker.add(piece)
        yield from (chunk for chunk, _ in chunker.whole())
    yield from (chunk for chunk, _ in chunker.rest())


def original_hash(file: BinaryIO, key: bytes) -> bytes:
    """A hash of a file that only this machine can compare: without the key it would help to guess what was redacted."""
    digest = blake2b(key=key, digest_size=32)
    while piece := file.read(_PIECE):
        digest.update(piece)
    return digest.digest()


def own_key(context: SnapshotContext) -> bytes:
    """The key of the hashes of originals; it stays in this data folder."""
    path = context.home / FOLDER / _KEY
    with disk_faults("guard: read the key"):
        make_folder(path.parent)
        if (data := _read_key(path)) is not None:
            return data
        with alone_in(path.parent):
            if (data := _read_key(path)) is None:
                data = bytes.fromhex(context.entropy.hex(2 * _KEY_BYTES))
                write_durably(path, data)
    return data


def _read_key(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return data if len(data) == _KEY_BYTES else None
