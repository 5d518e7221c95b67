"""Memories of a few real bytes for tests of chunks: packed and shelved as the flow does it, without a store."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from world import StillClock, settings

from holdfast.core.disk import disk_faults
from holdfast.core.errors import Fault
from holdfast.core.ports import Upload, Vault, VaultObject
from holdfast.core.system import SystemEntropy
from holdfast.snapshot.bundle.encryption import fingerprint
from holdfast.snapshot.bundle.manifest import bundle_name, manifest_bytes
from holdfast.snapshot.bundle.reader import unpack
from holdfast.snapshot.bundle.types import Capture, Identity, Manifest, Redaction, StagedFile
from holdfast.snapshot.bundle.writer import pack
from holdfast.snapshot.remote.local_chunks import cut
from holdfast.snapshot.remote.transfer import fetch, list_vault
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.paths import new_id
from holdfast.snapshot.repo.repository import SnapshotRepository
from holdfast.vault.sequential_put import put_each
from holdfast.vault.wrapper import VaultWrapper

TENANT, AGENT = "default", "default"
PREFIX = f"{TENANT}/{AGENT}/"
PAGES = 60


def database(seed: int = 1, changed: Sequence[int] = (), pages: int = PAGES) -> bytes:
    """Bytes that begin as a database does; in the given pages a few bytes are others."""
    chance = random.Random(seed)
    data = bytearray(chance.randbytes(pages * 4096))
    data[:16] = b"SQLite format 3\0"
    for page in changed:
        data[page * 4096 + 2000 : page * 4096 + 2010] = b"changed..."
    return bytes(data)


def context_at(home: Path, **overrides: object) -> SnapshotContext:
    known = settings(home, **{"vault_layout": "chunks", **overrides})
    return SnapshotContext(home, known, StillClock(), SystemEntropy(), TENANT)


def add_snapshot(
    context: SnapshotContext,
    sequence: int,
    store: bytes,
    files: dict[str, bytes] | None = None,
    recipients: Sequence[str] = (),
) -> str:
    """A snapshot in the repository, as one bundle, that holds these bytes; its id."""
    return chunk_into_repo(context, sequence, store, files, recipients, whole=True)


def chunk_into_repo(
    context: SnapshotContext,
    sequence: int,
    store: bytes,
    files: dict[str, bytes] | None = None,
    recipients: Sequence[str] = (),
    *,
    whole: bool = False,
) -> str:
    """The same as chunks."""
    id = new_id(sequence, 1_790_000_000_000 + sequence, f"{sequence:06x}")
    with context.repo.staging() as staging:
        with disk_faults("stage"):
            capture = _captured(staging, store, files or {})
        if whole:
            bundle = pack(capture, staging / bundle_name(id, bool(recipients)), id, recipients)
        else:
            bundle = cut(context, capture, staging, id, recipients)
        manifest = Manifest(
            identity=Identity(id, TENANT, AGENT, "", sequence, None, 1_790_000_000_000 + sequence, "hand"),
            bundle_name=bundle.name,
            bundle_size=bundle.size,
            bundle_sha256=bundle.sha256,
            schema=(("manifest", 1), ("store", 1)),
            artifacts=None if recipients else bundle.artifacts,
            redaction=capture.redaction,
            left=(),
            recipients=tuple(fingerprint(one) for one in recipients),
            tools=(("holdfast", "0"),),
        )
        context.repo.put(staging / bundle.name, manifest, manifest_bytes(manifest))
    return id


def _captured(staging: Path, store: bytes, files: dict[str, bytes]) -> Capture:
    members = {"store/memory.db": store, **{f"folders/memory/{name}": data for name, data in files.items()}}
    staged = []
    for number, (path, data) in enumerate(members.items()):
        (source := staging / str(number)).write_bytes(data)
        staged.append(StagedFile(path, "store" if path.startswith("store") else "file", source))
    return Capture(tuple(staged), redaction=Redaction(applied=True))


def unpacked(context: SnapshotContext, id: str, identities: Sequence[str] = ()) -> bytes:
    """The store of a snapshot in the repository, unpacked as a restore does it."""
    with context.repo.hold(id) as one, context.repo.staging() as staging:
        assert one.manifest is not None
        unpack(one.path, one.manifest, staging / "unpacked", identities)
        return (staging / "unpacked" / "store" / "memory.db").read_bytes()


def store_in(vault: Vault, id: str, work: Path, identities: Sequence[str] = ()) -> bytes:
    """The store of a snapshot in a vault, fetched, verified and unpacked as a restore does it."""
    repo = SnapshotRepository(work / f"fetched-{id}-{len(list(work.glob('fetched-*')))}")
    got = fetch(vault, TENANT, AGENT, id, repo)
    assert got.manifest is not None
    into = repo.root / "unpacked"
    unpack(got.path, got.manifest, into, identities)
    return (into / "store" / "memory.db").read_bytes()


def ids(vault: Vault) -> list[str]:
    return [one.id for one in list_vault(vault, TENANT, AGENT)]


def names(vault: Vault, folder: str) -> list[str]:
    return [one.name for one in vault.list(f"{PREFIX}{folder}")]


class Stepping(VaultWrapper):
    """A vault that does something else before its nth call, and counts the calls."""

    def __init__(self, vault: Vault, at: int = -1, work: Callable[[], object] = lambda: None):
        super().__init__(vault)
        self.calls = 0
        self._at, self._work = at, work

    def _step(self) -> None:
        self.calls += 1
        if self.calls - 1 == self._at:
            self._work()

    def put(self, name: str, data: BinaryIO) -> None:
        self._step()
        super().put(name, data)

    def put_all(self, parcels: Sequence[Upload]) -> None:
        put_each(self, parcels)

    def open(self, name: str) -> BinaryIO:
        self._step()
        return super().open(name)

    def stat(self, name: str) -> VaultObject:
        self._step()
        return super().stat(name)

    def list(self, prefix: str = "", after: str = ""):  # type: ignore[no-untyped-def]
        self._step()
        return iter(list(super().list(prefix, after)))

    def delete(self, name: str) -> None:
        self._step()
        super().delete(name)


def attempt(work: Callable[[], object]) -> Fault | None:
    """The fault that the work ended with, if it did."""
    try:
        work()
    except Fault as fault:
        return fault
    return None
