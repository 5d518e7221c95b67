"""The snapshots of one memory in its folder: put whole or not at all, listed, held, deleted, exported.

The manifest is the commit point: it comes last and goes first. Names change under the repository's lock only, with a
mark that distinguishes interrupted work from damage (`orphans.py`). A bundle may be a chunk index, with the packs
that it names in packs/ (`packs.py`). Two numbers are kept beside them: `sequence`, the highest
ever assigned, and `newest`, the highest that should be there.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.core.bundle_names import BUNDLES, MANIFEST, SUFFIXES
from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import claim, disk_fault, disk_faults, release, replace_durably, sync_folder, write_new
from holdfast.core.errors import Conflict, DataDamaged, NotFound, SnapshotDamaged, SnapshotsBusy
from holdfast.snapshot.bundle.types import Identity, Manifest
from holdfast.snapshot.repo.check_results import RECORD, CheckResult, read_record, write_record
from holdfast.snapshot.repo.entries import (
    Owner,
    SnapshotEntry,
    bytes_on,
    check_names,
    ids_on,
    names_on,
    newest_first,
    read_entries,
    read_entry,
)
from holdfast.snapshot.repo.latest import choose
from holdfast.snapshot.repo.orphans import (
    begin_change,
    changing_names,
    end_change,
    in_use,
    marked,
    remove_files,
    staging_folder,
    sweep_staging,
)
from holdfast.snapshot.repo.packs import sweep_packs, take_packs
from holdfast.snapshot.repo.paths import new_id, parse_id, sequence_of
from holdfast.snapshot.repo.send_marks import stale_marks
from holdfast.snapshot.repo.snapshot_files import SnapshotFiles, export_files, read_files
from holdfast.snapshot.repo.store_cache import sweep_opened

LATEST = "latest"
_SEQUENCE, _NEWEST = "sequence", "newest"
_LONGEST_NUMBER = 20
_MOST_BELIEVED = 1_000_000_000
_LATELY_MS = 3_600_000  # what is read often need not be noted each time

# Methods are called `list` and `bytes`: in their class these names hide the builtins.
Snapshots = list[SnapshotEntry]
Names = list[str]
Paths = list[Path]
Data = bytes


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot that is in the repository and durable."""

    id: str
    path: Path  # of the bundle
    size: int  # of all its files


class SnapshotRepository:
    """The snapshots of one memory."""

    new_id = staticmethod(new_id)
    parse_id = staticmethod(parse_id)

    def __init__(self, root: Path, owner: Owner | None = None):
        """The repository in that folder; with an owner, what lies there of another memory is none of its snapshots."""
        self.root = root
        self.owner = owner

    # Numbers

    def next_sequence(self) -> int:
        """A number above every other that was ever assigned or is in use here, durable before it is returned."""
        with disk_faults("snapshot: next sequence number"), changing_names(self.root):
            number = 1 + max(self._number(_SEQUENCE), self._number(_NEWEST), self._highest())
            self._write_number(_SEQUENCE, number)
        return number

    def begin_after(self, sequence: int) -> None:
        """Assign only numbers above this one: what is made after a restored snapshot is newer than it, and must be
        in a vault that holds both. A number that no memory ever reaches is ignored: it would be the last one."""
        if sequence > _MOST_BELIEVED or sequence <= self._number(_SEQUENCE):
            return
        with disk_faults("snapshot: next sequence number"), changing_names(self.root):
            self._write_number(_SEQUENCE, max(sequence, self._number(_SEQUENCE)))

    def newest_expected(self) -> int:
        """The sequence number of the newest snapshot that should be here; 0 if none should.

        It follows what is put and deleted here. If no snapshot of that number is listed, it was removed outside: one
        whose change was left halfway, as on a full or failing disk, does not count.
        """
        number = self._number(_NEWEST)
        if not number:
            return 0
        halves = {id for id in marked(self.root) if not os.path.lexists(self.root / f"{id}{MANIFEST}")}
        if number not in map(sequence_of, halves):
            return number
        return max(map(sequence_of, ids_on(self.root) - halves), default=0)

    def _highest(self) -> int:
        return max(map(sequence_of, ids_on(self.root)), default=0)

    def _number(self, name: str) -> int:
        try:
            data = (self.root / name).read_bytes()
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise disk_fault(error, f"snapshot: read {name}") from error
        if not (data.endswith(b"\n") and data[:-1].isdigit() and len(data) <= _LONGEST_NUMBER):
            raise DataDamaged(
                f"snapshot: {self.root / name} does not contain a number",
                hint="Write the highest sequence number that a snapshot of this memory ever had into it.",
            )
        return int(data)

    def _write_number(self, name: str, number: int) -> None:
        replace_durably(self.root / name, f"{number}\n".encode())

    # Making

    @contextmanager
    def staging(self, name: str | None = None) -> Iterator[Path]:
        """A private folder on the repository's disk, gone after the block; no sweep removes it while the block runs."""
        with ExitStack() as stack:
            with disk_faults("snapshot: staging folder"):
                folder = stack.enter_context(staging_folder(self.root, name))
            yield folder

    def put(self, bundle: Path, manifest: Manifest, manifest_bytes: Data) -> StoredSnapshot:
        """Take a staged, synced bundle and its manifest: afterwards the snapshot is listed and durable.

        The packs of a chunk index lie beside it in packs/, as far as they are not here.

        Raises:
            Conflict: something of that id is here already.
            SnapshotsBusy: a pack that it refers to is gone.
            StorageFull, StorageFailed: it could not be stored; nothing of it is listed.
        """
        files = SnapshotFiles(manifest, manifest_bytes)
        check_names(manifest, files.id)
        with disk_faults(f"put {files.id}"), self._changing():
            if bundle.stat().st_size != manifest.bundle_size:
                raise SnapshotDamaged(f"put {files.id}: the size of the staged bundle differs from the manifest")
            if any(os.path.lexists(self.root / f"{files.id}{suffix}") for suffix in SUFFIXES):
                raise Conflict(f"put {files.id}: a snapshot with that id already exists")
            if self._number(_SEQUENCE) < manifest.identity.sequence:
                self._write_number(_SEQUENCE, manifest.identity.sequence)
            begin_change(self.root, files.id)
            with OnFailure(self._take_back, files.id):
                self._place(bundle, files)
                self._expect(manifest.identity.sequence)
            end_change(self.root, files.id)
        return StoredSnapshot(files.id, self.root / manifest.bundle_name, files.size)

    def _place(self, bundle: Path, files: SnapshotFiles) -> None:
        """Everything under its name, the manifest last."""
        if files.manifest.chunked:
            take_packs(bundle, self.root)
        for name, data in files.sidecars.items():
            write_new(self.root / name, data)
        bundle.rename(self.root / files.manifest.bundle_name)
        path = self.root / f"{files.id}{MANIFEST}"
        temporary = path.with_name(f".{path.name}.new")
        write_new(temporary, files.data)
        sync_folder(self.root)
        temporary.rename(path)  # commit: before this line there is no such snapshot
        sync_folder(self.root)

    def _take_back(self, id: str) -> None:
        """Undo a put that failed. If the disk does not even allow this, the mark stays and a sweep does it."""
        with suppress(OSError):
            remove_files(self.root, id)
            self._no_longer_expect(sequence_of(id))
            sync_folder(self.root)
            end_change(self.root, id)
            sweep_packs(self.root)

    def _expect(self, sequence: int) -> None:
        if self._number(_NEWEST) < sequence:
            self._write_number(_NEWEST, sequence)

    # Settling what was interrupted

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Exclusive use of the repository, with interrupted work of others settled."""
        with changing_names(self.root):
            self._settle()
            yield

    def _settle(self) -> Names:
        self._number(_NEWEST)  # if it cannot be read, fail before anything changes
        gone: Names = []
        for id in marked(self.root):
            if os.path.lexists(self.root / f"{id}{MANIFEST}"):
                self._expect(sequence_of(id))
            elif any(in_use(self.root / f"{id}{suffix}") for suffix in BUNDLES):
                continue  # a reader keeps it to the end
            else:
                gone += remove_files(self.root, id)
                self._no_longer_expect(sequence_of(id))
            end_change(self.root, id)
        return gone

    def _no_longer_expect(self, sequence: int) -> None:
        if self._number(_NEWEST) == sequence:
            self._write_number(_NEWEST, self._highest())

    def sweep(self) -> Names:
        """Remove what interrupted work left, if it is abandoned; the names of what went."""
        if not self.root.exists():
            return []
        with disk_faults("snapshot: sweep leftovers"), changing_names(self.root):
            gone = self._settle() + sweep_staging(self.root) + sweep_opened(self.root) + sweep_packs(self.root)
            for name in (*(f".{one}.new" for one in (_SEQUENCE, _NEWEST, RECORD)), *stale_marks(self.root)):
                with suppress(FileNotFoundError):
                    (self.root / name).unlink()
                    gone.append(name)
            if gone:
                sync_folder(self.root)
        return gone

    # Looking

    def list(self) -> Snapshots:
        """All snapshots, newest first by sequence; damaged ones among them."""
        return list(self.each())

    def each(self) -> Iterator[SnapshotEntry]:
        """The same one by one: a manifest names every file of a memory, so thousands of them are large."""
        return read_entries(self.root, self.owner)

    def newest(self) -> SnapshotEntry | None:
        """The newest that is not known to be damaged; None if there is none."""
        return next((one for one in self.each() if not one.damaged), None)

    def find(self, name: str) -> SnapshotEntry:
        """The snapshot of that id, of the only id that begins so, or the `latest`.

        Raises:
            NotFound: there is none. Conflict: several ids begin so.
        """
        if name == LATEST and (latest := self.latest() or self.newest()) is not None:
            return latest
        ids = newest_first(ids_on(self.root))
        wanted = ids if name == LATEST else [id for id in ids if name and id.startswith(name)]
        found = (one for id in wanted if (one := read_entry(self.root, id, self.owner)))
        first = next(found, None)
        if first is None:
            raise NotFound(
                f"snapshot: there is no snapshot {name[:60]!r}", hint="List snapshots with: holdfast snapshot list"
            )
        if name not in (LATEST, first.id) and next(found, None) is not None:
            raise Conflict(f"snapshot: several ids begin with {name[:60]!r}", hint="Use a longer prefix of the id.")
        return first

    def latest(self) -> SnapshotEntry | None:
        """The newest that is not known to be damaged, and that no restore or undo gave up; None if there is none."""
        return choose((one for one in self.each() if not one.damaged), _identity_of)

    def is_complete(self) -> bool:
        """Whether the newest snapshot that should be here is, damaged or not."""
        return self._highest() >= self.newest_expected()

    def count(self) -> int:
        """How many snapshots are listed."""
        files = names_on(self.root)
        unfinished = {id for id in marked(self.root) if (id, MANIFEST) not in files} if files else set()
        return len({id for id, _ in files} - unfinished)

    def bytes(self) -> int:
        """What all snapshots take on the disk."""
        return bytes_on(self.root)

    def remember(self, id: str, found: CheckResult) -> None:
        """Keep the result of reading a bundle, for the next look.

        Raises:
            StorageFull, StorageFailed: it could not be written; the snapshot counts as not checked.
        """
        known = read_record(self.root).get(id)
        if known and replace(known, at=found.at) == found and 0 <= found.at - known.at < _LATELY_MS:
            return
        with disk_faults("remember what was verified"), changing_names(self.root):
            write_record(self.root, {**read_record(self.root), id: found})

    # Reading

    @contextmanager
    def hold(self, id: str) -> Iterator[SnapshotEntry]:
        """The snapshot, which no process deletes while the block runs.

        Raises: NotFound: there is none. SnapshotDamaged: its bundle is missing.
        """
        one = self.find(id)
        try:
            handle = os.open(one.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise SnapshotDamaged(
                f"snapshot {one.id}: {one.path.name} cannot be opened", details={"snapshot": one.id}
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)  # a delete holds it for moments only
            if not os.fstat(handle).st_nlink:
                raise NotFound(f"snapshot {one.id} has been deleted")
            yield one
        finally:
            release(handle)

    def in_use(self, id: str) -> bool:
        """Whether any process holds it right now."""
        return any(in_use(self.root / f"{id}{suffix}") for suffix in BUNDLES)

    # Deleting

    def delete(self, id: str, *, last_too: bool = False, packs_too: bool = True) -> None:
        """Remove a snapshot; once it is gone from the list it never comes back. Packs that no other needs go too,
        but without `packs_too` only with the next sweep: for callers that delete many.

        Raises:
            NotFound: there is none.
            SnapshotsBusy: another process reads it.
            Conflict: it is the last good one, and `last_too` was not given.
        """
        with disk_faults(f"delete {id}"), self._changing():
            one = self.find(id)
            if not last_too and not one.damaged and self._is_last_good(one.id):
                raise Conflict(
                    f"snapshot {one.id} is the last intact one",
                    hint="Create another one first: holdfast snapshot create",
                )
            with _owned(one):
                begin_change(self.root, one.id)
                remove_files(self.root, one.id)
                self._no_longer_expect(one.sequence)
                sync_folder(self.root)
                end_change(self.root, one.id)
            if packs_too:
                sweep_packs(self.root)

    def _is_last_good(self, id: str) -> bool:
        return not any(other.id != id and not other.damaged for other in self.each())

    # Export, and what is here already

    def export(self, id: str, target: Path) -> Paths:
        """Copy a snapshot's files into a folder, durable, hashed on the way; the paths, the manifest's last.

        The target is the folder, which is made if need be, or the bundle's own file name in it.

        Raises:
            Conflict: one of the files exists there; nothing is overwritten.
            SnapshotDamaged: the bytes here are not those of the manifest; nothing is left there.
        """
        with self.hold(id) as one, disk_faults(f"export {one.id}"):
            return export_files(self.root, read_files(self.root, one.id), target)

    def has(self, files: SnapshotFiles) -> SnapshotEntry | None:
        """The snapshot here that has the same manifest and is whole by a quick check; None if there is none."""
        there = read_entry(self.root, files.id, self.owner)
        return there if there and not there.damaged and there.manifest == files.manifest else None


def _identity_of(one: SnapshotEntry) -> Identity | None:
    return one.manifest.identity if one.manifest is not None else None


@contextmanager
def _owned(one: SnapshotEntry) -> Iterator[None]:
    """Exclusive use of the bundle, if there is one.

    Raises:
        SnapshotsBusy: another process reads it.
    """
    try:
        handle = os.open(one.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield  # gone, or no file: no process can hold it
        return
    try:
        if not claim(handle):
            raise SnapshotsBusy(f"snapshot {one.id} is in use", hint="Retry when it is no longer in use.")
        yield
    finally:
        release(handle)
