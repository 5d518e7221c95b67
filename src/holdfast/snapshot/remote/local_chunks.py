"""A snapshot in the repository as chunks: those there already are referred to, the rest is packed beside the
chunk index.

The form is that of chunks in a vault, and a repository is laid out as a folder that is a vault. So whatever reads such
a vault reads the repository, and a snapshot goes on to a vault as copies of the packs that are missing there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from holdfast.core.disk import disk_faults, make_folder, write_new
from holdfast.core.errors import Fault, LimitReached
from holdfast.snapshot.bundle.limits import check_size
from holdfast.snapshot.bundle.manifest import chunk_index_name
from holdfast.snapshot.bundle.reader import DecompressedTar
from holdfast.snapshot.bundle.types import BundleFile, Capture
from holdfast.snapshot.bundle.writer import Tar
from holdfast.snapshot.chunks.cache import KnownPacks
from holdfast.snapshot.chunks.chunk_index import MOST_BYTES, chunk_index_bytes
from holdfast.snapshot.chunks.chunker import cut_tar
from holdfast.snapshot.chunks.writer import ChunkWriter
from holdfast.snapshot.remote.cache_rebuild import LOCAL_REPOSITORY, known_folder, learn
from holdfast.snapshot.remote.colony import is_colony
from holdfast.snapshot.remote.layout import key_and_seal, repo_as_vault, takes_chunks
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.packs import trusted_packs
from holdfast.snapshot.sources.capture import GUARDED
from holdfast.vault.local import LocalVault

# What a vault takes as chunks from 4 MB on (`layout.py`), before it is compressed.
_WORTH_CHUNKS = 8 << 20


def lies_in_chunks(context: SnapshotContext, vaults: Sequence[str | None], staged: int, guarded: int = 0) -> bool:
    """Whether a snapshot of so many staged bytes, which is to go to these vaults, is put in the repository as chunks.
    `guarded` of them are the history of guarded files, which is large and mostly the same in every snapshot.

    By itself only where that saves something: chunks are cut for a vault anyway, and a whole bundle beside them costs
    its time and its room once more. Without a vault one file that any tar and zstd reads is worth more.
    """
    layout = context.settings.snapshot_layout
    if layout != "auto":
        return layout == "chunks"
    places = [one for one in vaults if one and not is_colony(one)]
    if not places:
        return guarded >= _WORTH_CHUNKS
    return staged >= _WORTH_CHUNKS and all(_gets_chunks(context, one) for one in places)


def _gets_chunks(context: SnapshotContext, place: str) -> bool:
    try:
        return takes_chunks(context, context.vault(place))
    except Fault:
        return False  # sending reports that; the snapshot is made all the same


def staged_bytes(capture: Capture) -> int:
    with disk_faults("snapshot: staged files"):
        return sum(one.source.stat().st_size for one in capture.staged)


def guarded_bytes(capture: Capture) -> int:
    """How many of them are the history of guarded files."""
    with disk_faults("snapshot: staged files"):
        return sum(one.source.stat().st_size for one in capture.staged if one.path == GUARDED)


def cut(context: SnapshotContext, capture: Capture, staging: Path, id: str, recipients: Sequence[str]) -> BundleFile:
    """Lay the chunk index of a capture into the staging folder, with packs of what the repository lacks beside it, all
    synced.

    Raises:
        InvalidRequest: a recipient is invalid, or a staged path cannot be in a bundle.
        LimitReached: it holds more, or its chunk index is larger, than a reader would take.
        StorageFull, StorageFailed: it could not be written, or a staged file changed meanwhile.
    """
    known = _known(context, recipients)
    key, seal = key_and_seal(context, recipients)
    tar = Tar(capture, encrypted=bool(recipients))
    plain = DecompressedTar(_TarStream(tar.pieces()), staged_bytes(capture))
    with (
        disk_faults(f"pack {id}"),
        ChunkWriter(LocalVault(staging), "", known, key, seal, context.entropy) as sending,
    ):
        sent = sending.send(cut_tar(plain, key))
        chunk_index = chunk_index_bytes(sent.packs, sent.runs, seal)
        check_size(sent.runs.size, len(chunk_index) + sum(one.size for one in sent.packs), LimitReached)
        if len(chunk_index) > MOST_BYTES:
            raise LimitReached("snapshot: its chunk list is too long", hint="Set HOLDFAST_SNAPSHOT_LAYOUT=whole.")
        name = chunk_index_name(id, bool(recipients))
        write_new(staging / name, chunk_index)
    context.moved("create", sent.new_bytes)
    return BundleFile(name, len(chunk_index), sha256(chunk_index).hexdigest(), tuple(tar.artifacts))


class _TarStream:
    """The tar as it is made, without a copy: what is read is used up before the next read."""

    def __init__(self, pieces: Iterator[bytes | memoryview]):
        self._pieces = pieces

    def read(self, size: int, /) -> bytes | memoryview:
        del size
        return next((piece for piece in self._pieces if piece), b"")


def _known(context: SnapshotContext, recipients: Sequence[str]) -> KnownPacks:
    """What lies in the packs in the repository, as far as they are trusted."""
    key, _ = key_and_seal(context, recipients)
    known = KnownPacks(known_folder(context, LOCAL_REPOSITORY, key))
    with disk_faults("note packs"):
        there = trusted_packs(context.repo.each())
        make_folder(known.folder)
    known.load(there, key)
    if there and not known.entries:
        learn(context, repo_as_vault(context), known, there, key)
    return known
