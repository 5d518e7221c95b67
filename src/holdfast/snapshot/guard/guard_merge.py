"""The history of guarded files that a snapshot holds, added to the one that is here.

It may come from another host: its paths, names and bytes are checked, and no place of it is watched here until that is
asked for, so that a snapshot cannot make this machine read its files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from holdfast.core.errors import DataDamaged
from holdfast.snapshot.guard.guard_places import safe_path
from holdfast.snapshot.guard.guard_take import cut_file
from holdfast.snapshot.sources.capture import GUARDED
from holdfast.store.guard.guard_history import GuardHistory, history_path
from holdfast.store.guard.guard_records import FileVersion, GuardedFile, GuardedPlace, NewVersion

_TOGETHER = 200


def merge_guarded(extracted: Path, home: Path) -> int:
    """Add the versions of a snapshot's members that the history of a data folder lacks; how many.

    Raises:
        DataDamaged: the snapshot's history is damaged; what was added before it stays.
        StorageFull, StorageFailed: it cannot be written.
    """
    source = extracted / GUARDED
    if not source.is_file():
        return 0
    added = 0
    with GuardHistory(source, foreign=True) as theirs, GuardHistory(history_path(home)) as ours:
        known = {one.name: one for one in ours.places()}
        for place in theirs.places():
            here = known.get(place.name)
            if here is None:
                with ours.writing():
                    here = ours.add_place(replace(place, active=False))
            added += _merge_place(theirs, ours, place, here)
    return added


def _merge_place(theirs: GuardHistory, ours: GuardHistory, place: GuardedPlace, here: GuardedPlace) -> int:
    added, files = 0, theirs.files(place)
    while group := list(islice(files, _TOGETHER)):
        with ours.writing():
            added += sum(_merge_file(theirs, ours, file, here) for file in group)
    return added


def _merge_file(theirs: GuardHistory, ours: GuardHistory, file: GuardedFile, here: GuardedPlace) -> int:
    if not safe_path(file.path):
        raise DataDamaged("guard: the history in the snapshot has a path that leads out of its place")
    known = ours.file(here, file.path)
    before = [] if known is None else ours.versions(known)
    have = {one.key for one in before}
    new = [one for one in theirs.versions(file) if one.key not in have]
    if not new:
        return 0
    if known is None:
        ours.note(here, file.path, None)
        known = ours.file(here, file.path)
        assert known is not None, "it was noted"
    for version in new:
        _merge_version(theirs, ours, known, version, here)
    if before:  # otherwise they came in their order
        ours.order_versions(known)
    return len(new)


def _merge_version(
    theirs: GuardHistory, ours: GuardHistory, file: GuardedFile, version: FileVersion, here: GuardedPlace
) -> None:
    if version.gone:
        ours.put_gone(file, version.taken_at)
        return
    made = NewVersion(version.taken_at, version.mode, version.mtime, version.redacted, version.original)
    ours.put(here, file.path, made, _chunks(theirs.read(version)), again=True)


def _chunks(pieces: Iterator[bytes]) -> Iterator[memoryview]:
    held = bytearray()

    def read(size: int) -> bytes:
        while len(held) < size and (piece := next(pieces, b"")):
            held.extend(piece)
        taken = bytes(held[:size])
        del held[:size]
        return taken

    return cut_file(read)
