"""Files of tenants on their way. They stay until they were taken over: a move that was killed goes on with them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import orjson

from holdfast.core.disk import disk_faults, write_durably
from holdfast.store.move.move_port import Source
from holdfast.store.move.sums import Sums, sums_of
from holdfast.store.portable import WholeReader, check_whole


@dataclass(frozen=True, slots=True)
class StagedTenant:
    """A tenant's file, and what is in it."""

    path: Path
    tag: str  # of the source when it was captured
    sums: Sums

    def remove(self) -> None:
        with disk_faults(f"remove {self.path.name}"):
            _note_of(self.path).unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Staging:
    """A folder of its own for one move."""

    folder: Path

    def tenant(self, source: Source, tenant: str) -> StagedTenant:
        """The tenant as it is in the source now, from an earlier try if nothing was written to it since."""
        name = blake2b(tenant.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        path, tag = self.folder / f"{name}.db", source.tag(tenant)
        known = _noted(path, tag)
        if known is not None:
            return StagedTenant(path, tag, known)
        with disk_faults("stage a tenant"):
            _note_of(path).unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        source.capture(path, tenant)
        check_whole(path)
        reader = WholeReader(path)
        try:
            sums = sums_of(reader, tenant)
        finally:
            reader.close()
        _sync(path)
        write_durably(_note_of(path), orjson.dumps({"tag": tag, "sums": sums}))  # from here on it is whole
        return StagedTenant(path, tag, sums)


def _note_of(path: Path) -> Path:
    return path.with_suffix(".json")


def _noted(path: Path, tag: str) -> Sums | None:
    """What is in a file that was completed, if the source has not changed since."""
    try:
        note = orjson.loads(_note_of(path).read_bytes())
        if note["tag"] != tag or not path.is_file():
            return None
        return {str(name): (int(rows), str(total)) for name, (rows, total) in note["sums"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _sync(path: Path) -> None:
    with disk_faults(f"write {path.name}"):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
