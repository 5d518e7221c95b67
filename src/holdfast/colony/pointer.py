"""The pointer to the latest snapshot. Other readers follow it; here nothing depends on its contents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from holdfast.colony.file_names import Series, age_order
from holdfast.colony.files import FileContent, FileMissing, VaultFiles
from holdfast.colony.inventory import VaultListing
from holdfast.colony.manifest import Pointer, pointer_text, read_pointer
from holdfast.core.errors import ColonyConflict

# Another writer's change in between is rare; one in each of several attempts is not a coincidence.
TRIES = 5


@dataclass(frozen=True)
class PointerFiles:
    """Reads and moves pointers."""

    files: VaultFiles
    now: Callable[[], str]

    def read(self, listing: VaultListing, series: Series) -> Pointer:
        """The contents of the pointer; nothing if there is none."""
        seen = self._seen(listing, series)
        return Pointer() if seen is None else read_pointer(seen.text)

    def move(self, series: Series, id: str) -> None:
        """Make the pointer name the snapshot, unless it names a newer one by now.

        Raises:
            ColonyConflict: others change it each time.
        """
        for _ in range(TRIES):
            listing = self.files.list()
            seen = self._seen(listing, series)
            named = None if seen is None else read_pointer(seen.text)
            if named and named.id in listing.finished(series) and age_order(named.id or "") > age_order(id):
                return
            try:
                self._write(series, id, seen)
            except ColonyConflict:
                continue
            return
        raise ColonyConflict("backup: the snapshot is stored, but other writers keep changing its pointer")

    def leave(self, listing: VaultListing, series: Series, gone: Iterable[str], *, instead: str | None) -> None:
        """Before snapshots are deleted: if the pointer names one of them, let it name another, or go."""
        seen = self._seen(listing, series)
        if seen is None:
            return
        named = read_pointer(seen.text)
        if named.id not in set(gone):
            return
        if instead is None:
            self.files.delete(series.pointer)
        else:
            self._write(series, instead, seen)

    def _seen(self, listing: VaultListing, series: Series) -> FileContent | None:
        if series.pointer not in listing:
            return None
        try:
            return self.files.read(series.pointer)
        except FileMissing:
            return None

    def _write(self, series: Series, id: str, seen: FileContent | None) -> None:
        text = pointer_text(series, id, self.now())
        if seen is None:
            self.files.create(series.pointer, text)
        else:
            self.files.replace(series.pointer, text, seen.etag)
