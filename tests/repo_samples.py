"""Snapshots for tests of the repository: any bytes as a bundle, with a manifest that fits."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from holdfast.snapshot.bundle.manifest import manifest_bytes
from holdfast.snapshot.bundle.types import Artifact, Identity, Maker, Manifest, Redaction
from holdfast.snapshot.repo.paths import new_id
from holdfast.snapshot.repo.repository import SnapshotRepository, StoredSnapshot

NOON = 1_790_000_000_000
TENANT, AGENT = "acme", "quill"


def sample_id(sequence: int) -> str:
    return new_id(sequence, NOON + sequence * 1000, f"{sequence:06x}"[-6:])


def sample_bundle(sequence: int, size: int = 40) -> bytes:
    return (f"bundle {sequence} ".encode() * size)[:size]


def sample_manifest(
    sequence: int,
    bundle: bytes,
    *,
    encrypted: bool = False,
    tenant: str = TENANT,
    agent: str = AGENT,
    maker: Maker = "hand",
) -> Manifest:
    id = sample_id(sequence)
    digest = sha256(bundle).hexdigest()
    return Manifest(
        identity=Identity(id, tenant, agent, "main", sequence, None, NOON + sequence * 1000, maker),
        bundle_name=f"{id}.tar.zst{'.age' if encrypted else ''}",
        bundle_size=len(bundle),
        bundle_sha256=digest,
        schema=(("manifest", 1), ("store", 7)),
        artifacts=None if encrypted else (Artifact("store/memory.db", "store", len(bundle), digest),),
        redaction=Redaction(applied=True),
        left=(),
        recipients=("a1b2c3d4e5f60718",) if encrypted else (),
        tools=(("holdfast", "0.1.0"),),
    )


def stage(folder: Path, manifest: Manifest, bundle: bytes) -> Path:
    """A bundle as packing leaves it: written and synced."""
    path = folder / manifest.bundle_name
    with path.open("wb") as file:
        file.write(bundle)
        file.flush()
        os.fsync(file.fileno())
    return path


def put_sample(repo: SnapshotRepository, sequence: int, *, size: int = 40, encrypted: bool = False) -> StoredSnapshot:
    bundle = sample_bundle(sequence, size)
    manifest = sample_manifest(sequence, bundle, encrypted=encrypted)
    with repo.staging() as staging:
        return repo.put(stage(staging, manifest, bundle), manifest, manifest_bytes(manifest))


def names_on(repo: SnapshotRepository) -> set[str]:
    return {path.name for path in repo.root.iterdir()}


def files_of(sequence: int, *, encrypted: bool = False) -> set[str]:
    id = sample_id(sequence)
    bundle, manifest = f"{id}.tar.zst{'.age' if encrypted else ''}", f"{id}.manifest.json"
    return {bundle, f"{bundle}.sha256", manifest, f"{manifest}.sha256"}


BOOKKEEPING = {".lock", "sequence", "newest"}
