"""Reading a snapshot without restoring it: its store is laid out privately and gone when the block ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.errors import NotFound
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.finding import Named, identities_of, sought, trusted
from holdfast.snapshot.memory import STORE
from holdfast.snapshot.unpack import unpack
from holdfast.snapshot.values import Manifest
from holdfast.store.port import Store
from holdfast.store.sqlite.past import open_past


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A verified snapshot's members in a folder of this process alone."""

    manifest: Manifest
    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / STORE


@contextmanager
def laid_out(archive: Archive, named: Named, *, whole: bool = False) -> Iterator[LaidOut]:
    """The snapshot's store, or all of it, as files for the length of a block. It is not removed meanwhile.

    Raises:
        SnapshotDamaged, SnapshotUntrusted, SnapshotOlder, SnapshotTooNew, SnapshotForeign, IdentityNeeded: it may not
            be used.
    """
    named = replace(named, reading=True)
    with archive.shelf.staging() as staging, sought(archive, named) as found:
        manifest = trusted(archive, named, found)
        body, identities = found.folder / manifest.body_name, identities_of(archive, named)
        unpack(body, manifest, staging, identities, lambda path: whole or path == STORE, hasty=lambda path: True)
        yield LaidOut(manifest, staging)


@contextmanager
def past(archive: Archive, named: Named) -> Iterator[Store]:
    """The store of that moment, to be read."""
    with laid_out(archive, named) as then:
        store = open_past(then.database)
        try:
            yield store
        finally:
            store.close()


def at_moment(archive: Archive, moment: int) -> str:
    """The id of the newest whole snapshot that was made at that time or before.

    Raises:
        NotFound: there is none.
    """
    for one in archive.shelf.each():
        if one.manifest is not None and not one.damaged and one.manifest.identity.created_at <= moment:
            return one.id
    raise NotFound("snapshot: none is as old as that", hint="holdfast snapshot list shows what there is.")
