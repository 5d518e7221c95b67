"""Snapshots for tests of the repository: any bytes as a body, with a manifest that fits."""

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


def sample_body(sequence: int, size: int = 40) -> bytes:
    return (f"body {sequence} ".encode() * size)[:size]


def sample_manifest(
    sequence: int,
    body: bytes,
    *,
    encrypted: bool = False,
    tenant: str = TENANT,
    agent: str = AGENT,
    maker: Maker = "hand",
) -> Manifest:
    id = sample_id(sequence)
    digest = sha256(body).hexdigest()
    return Manifest(
        identity=Identity(id, tenant, agent, "main", sequence, None, NOON + sequence * 1000, maker),
        body_name=f"{id}.tar.zst{'.age' if encrypted else ''}",
        body_size=len(body),
        body_sha256=digest,
        schema=(("manifest", 1), ("store", 7)),
        artifacts=None if encrypted else (Artifact("store/memory.db", "store", len(body), digest),),
        redaction=Redaction(applied=True),
        left=(),
        recipients=("a1b2c3d4e5f60718",) if encrypted else (),
        tools=(("holdfast", "0.1.0"),),
    )


def stage(folder: Path, manifest: Manifest, body: bytes) -> Path:
    """A body as packing leaves it: written and synced."""
    path = folder / manifest.body_name
    with path.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    return path


def put_sample(repo: SnapshotRepository, sequence: int, *, size: int = 40, encrypted: bool = False) -> StoredSnapshot:
    body = sample_body(sequence, size)
    manifest = sample_manifest(sequence, body, encrypted=encrypted)
    with repo.staging() as staging:
        return repo.put(stage(staging, manifest, body), manifest, manifest_bytes(manifest))


def names_on(repo: SnapshotRepository) -> set[str]:
    return {path.name for path in repo.root.iterdir()}


def files_of(sequence: int, *, encrypted: bool = False) -> set[str]:
    id = sample_id(sequence)
    body, manifest = f"{id}.tar.zst{'.age' if encrypted else ''}", f"{id}.manifest.json"
    return {body, f"{body}.sha256", manifest, f"{manifest}.sha256"}


BOOKKEEPING = {".lock", "sequence", "newest"}
