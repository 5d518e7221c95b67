"""What this machine knows of the packs in a vault: kept beside the memory, rebuilt at any time, and never a proof.

    <folder>/<pack>     what the chunk index records of the pack, and its directory
    <folder>/stretches  the ids of all stretches of the last snapshot's databases, and which chunks they are: a page
                        that did not change or move costs the next one a hash and no look-up; without them it takes
                        1.27 times as long (bench/mechanisms.py)
    <folder>/sparse     packs that the next snapshot no longer refers to
    <folder>/lease      the lease that was last taken here
    <folder>/delivery   the manifest and the chunk index that were last sent: where nothing can be removed, what was
                        interrupted goes on with the same bytes

Before anything here is used, packs that the vault no longer lists are dropped; before a snapshot is committed, they
are listed once more. A file that is not whole is removed: what it knew is sent again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.core.disk import disk_faults, replace_durably
from holdfast.snapshot.bundle import canonical
from holdfast.snapshot.bundle.canonical import Fields, Malformed
from holdfast.snapshot.bundle.contents import SHA256
from holdfast.snapshot.chunks.packfile import ID, PackDirectory, PackEntry, directory_bytes, read_directory

_NAME = re.compile(r"[0-9a-f]{32}")
_STRETCHES, _SPARSE, _LEASE, _DELIVERY = "stretches", "sparse", "lease", "delivery"
_IN_STRETCH = 4
_WORDS = ID // 8
_ROW = ID + 8 * _IN_STRETCH
_SHIFT = 32
_CHUNK = (1 << _SHIFT) - 1


@dataclass
class KnownPacks:
    """The packs of a vault that may be referred to, by number, and where each chunk is."""

    folder: Path
    entries: list[PackEntry] = field(default_factory=list)
    directories: list[PackDirectory] = field(default_factory=list)
    places: dict[bytes, int] = field(default_factory=dict)  # by chunk id: pack number times 2^32 plus its number there
    stretch_ids: NDArray[np.uint64] = field(default_factory=lambda: np.zeros((0, _WORDS), np.uint64))  # three a stretch
    stretch_refs: NDArray[np.uint64] = field(default_factory=lambda: np.zeros((0, _IN_STRETCH), np.uint64))

    def load(self, there: Mapping[str, int], key: bytes) -> None:
        """Take what the vault still lists with the same size, but for packs that are to be left behind."""
        sparse = set(self._names(_SPARSE))
        for path in sorted(self.folder.glob("*")):
            if _NAME.fullmatch(path.name):
                found = _read_pack(path)
                if found is None or there.get(path.name) != found[0].size:
                    path.unlink(missing_ok=True)
                elif path.name not in sparse and found[1].key == key:
                    self._take(*found)
            elif path.name.startswith(".") and path.name.endswith(".new"):
                path.unlink(missing_ok=True)  # of a process that was killed while it noted something
        self._load_stretches()

    def add(self, entry: PackEntry, directory: PackDirectory) -> None:
        """A pack that the vault has from now on; its number was given before."""
        body = directory_bytes(directory)
        head = canonical.dumps({**asdict(entry), "check": sha256(body).hexdigest()}, newline=True)
        with disk_faults("note a pack"):
            replace_durably(self.folder / entry.name, head + body)

    def learn(self, entry: PackEntry, directory: PackDirectory) -> None:
        """A pack that was found in the vault."""
        self.add(entry, directory)
        self._take(entry, directory)

    def _take(self, entry: PackEntry, directory: PackDirectory) -> None:
        start = len(self.entries) << _SHIFT
        self.entries.append(entry)
        self.directories.append(directory)
        self.places.update(zip(directory.each_id(), range(start, start + len(directory.sizes)), strict=True))

    # Stretches

    def _load_stretches(self) -> None:
        path = self.folder / _STRETCHES
        try:
            head, _, body = path.read_bytes().partition(b"\n")
            fields = Fields(canonical.loads(head), _STRETCHES)
            packs, check = fields.texts("packs", 1 << 20, _NAME), fields.text("check", SHA256)
            if sha256(body).hexdigest() != check or len(body) % _ROW:
                raise Malformed("it is incomplete")
        except FileNotFoundError:
            return
        except Malformed:
            path.unlink(missing_ok=True)
            return
        count = len(body) // _ROW
        refs = np.frombuffer(body, "<u8", offset=ID * count).reshape(count, _IN_STRETCH)
        self._take_stretches(packs, np.frombuffer(body, "<u8", count=count * _WORDS), refs.astype(np.int64))

    def _take_stretches(self, packs: tuple[str, ...], ids: NDArray[np.uint64], refs: NDArray[np.int64]) -> None:
        """With the packs' numbers as they are now. What lies in a pack that is not known any more has no id left."""
        numbers = {one.name: number for number, one in enumerate(self.entries)}
        now = np.array([*(numbers.get(name, -1) for name in packs), -1], dtype=np.int64)
        lengths = np.array([*(len(one.sizes) for one in self.directories), 0], dtype=np.int64)
        pack, chunk = now[np.minimum(refs >> _SHIFT, len(packs))], refs & _CHUNK
        good = np.asarray(((pack >= 0) & (chunk < lengths[pack])).all(axis=1))
        self.stretch_ids = np.where(good[:, None], ids.reshape(-1, _WORDS), np.uint64(0))
        self.stretch_refs = (pack << _SHIFT | chunk).astype(np.uint64)

    def save_stretches(self, ids: bytes, refs: bytes, packs: list[PackEntry]) -> None:
        """What the databases of the snapshot just sent were made of, for the next one."""
        head = {"packs": [one.name for one in packs], "check": sha256(ids + refs).hexdigest()}
        with disk_faults("note what was sent"):
            replace_durably(self.folder / _STRETCHES, canonical.dumps(head, newline=True) + ids + refs)

    # Small notes

    def save_sparse(self, names: list[str]) -> None:
        self._note(_SPARSE, names)

    def lease(self) -> str | None:
        """The lease that was last taken here and not given back."""
        return next(iter(self._names(_LEASE)), None)

    def save_lease(self, name: str | None) -> None:
        self._note(_LEASE, [name] if name else [])

    # What is sent last

    def save_delivery(self, manifest: bytes, chunk_index: bytes) -> None:
        """Before any of it is sent."""
        head = {"check": sha256(manifest + chunk_index).hexdigest(), "manifest": len(manifest)}
        with disk_faults("note what is sent"):
            replace_durably(self.folder / _DELIVERY, canonical.dumps(head, newline=True) + manifest + chunk_index)

    def delivery(self) -> tuple[bytes, bytes] | None:
        """The manifest and the chunk index that were last sent, or None."""
        try:
            head, _, body = (self.folder / _DELIVERY).read_bytes().partition(b"\n")
            fields = Fields(canonical.loads(head), _DELIVERY)
            size = fields.number("manifest", 1)
            return (body[:size], body[size:]) if fields.text("check", SHA256) == sha256(body).hexdigest() else None
        except (FileNotFoundError, Malformed):
            return None

    def _note(self, file: str, names: list[str]) -> None:
        with disk_faults(f"note {file}"):
            replace_durably(self.folder / file, canonical.dumps({"names": sorted(names)}, newline=True))

    def _names(self, file: str) -> tuple[str, ...]:
        try:
            return Fields(canonical.loads((self.folder / file).read_bytes(), newline=True), file).texts(
                "names", 1 << 20
            )
        except (FileNotFoundError, Malformed):
            return ()


def _read_pack(path: Path) -> tuple[PackEntry, PackDirectory] | None:
    """What a file here knows of a pack; None if it is incomplete."""
    head, _, body = path.read_bytes().partition(b"\n")
    try:
        fields = Fields(canonical.loads(head), "a pack")
        entry = PackEntry(
            name=fields.text("name", _NAME),
            size=fields.number("size", 1),
            sha256=fields.text("sha256", SHA256),
            head=fields.number("head", 1),
            head_sha256=fields.text("head_sha256", SHA256),
        )
        whole = fields.text("check", SHA256) == sha256(body).hexdigest() and entry.name == path.name
        return (entry, read_directory(body)) if whole else None
    except Malformed:
        return None
