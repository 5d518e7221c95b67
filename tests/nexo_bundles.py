"""Bundles as the earlier system writes them, and as somebody else might."""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyrage
import zstandard

ID = "6f1c1f3e-52a5-4f4e-9d38-0a2d4a1f7b10"
KINDS = {
    "sqlite/long_term.sqlite": "sqlite_long_term",
    "sqlite/vector.sqlite": "sqlite_vector",
    "state/extract_cursor.json": "state_extract_cursor",
}
SCHEMAS = {name: 1 for name in ("long_term", "vector", "concepts", "compactions", "manifest")}
ROWS = [
    ("m1", "ana", "The amber cabinet holds fuses", '["home"]', 1_700_000_000_000, '["cabinet","fuse"]', '"project"'),
    ("m2", "ana", "Prefers tea", "[]", 1_700_000_100_000, "[]", None),
]
COLUMNS = (
    "id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, content TEXT NOT NULL, tags TEXT NOT NULL DEFAULT '[]', "
    "created_at INTEGER NOT NULL, concept_tags TEXT NOT NULL DEFAULT '[]', memory_type TEXT"
)


def database(
    path: Path, rows: Sequence[tuple[Any, ...]] = ROWS, schema: str = f"CREATE TABLE memories({COLUMNS})"
) -> bytes:
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute(schema)
    for row in rows:
        db.execute("INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    if schema.startswith("CREATE TABLE") and "agent_id" in schema:
        db.execute("CREATE INDEX idx ON memories(agent_id, created_at DESC)")
    db.execute("CREATE VIRTUAL TABLE memories_fts USING fts5(content, id UNINDEXED, agent_id UNINDEXED)")
    db.commit()
    db.execute("VACUUM")
    db.close()
    return path.read_bytes()


def usual(place: Path) -> dict[str, bytes]:
    """What a bundle of a small agent holds."""
    return {
        "sqlite/long_term.sqlite": database(place / "made.sqlite"),
        "state/extract_cursor.json": b"{}",
        "memory_files/MEMORY.md": b"# Memory\n",
        "memory_files/topics/" + "long-name-" * 15 + ".md": b"long\n",
        "git/HEAD": b"ref: refs/heads/main\n",
    }


def kind_of(path: str) -> str:
    return KINDS.get(path, "memory_file" if path.startswith("memory_files/") else "git_bundle")


def manifest_of(content: Mapping[str, bytes], **changes: Any) -> bytes:
    artifacts = [
        {"path_in_bundle": path, "kind": kind_of(path), "size_bytes": len(data), "sha256": digest(data)}
        for path, data in content.items()
    ]
    value = {
        "manifest_version": 1,
        "bundle_format": "nexo-memory-snapshot-v1",
        "snapshot_id": ID,
        "agent_id": "ana",
        "tenant": "default",
        "created_at_ms": 1_700_000_200_000,
        "created_by": "cli",
        "schema_versions": SCHEMAS,
        "git": {"head_oid": "0" * 40, "head_subject": "(no memdir)", "head_author": "", "head_ts_ms": 0},
        "artifacts": artifacts,
        "tool_versions": {"nexo_version": "0.1.0", "git2": "0.19", "sqlx": "0.8"},
        "bundle_sha256": digest("".join(str(one["sha256"]) for one in artifacts).encode()),
        **changes,
    }
    return json.dumps(value, indent=2).encode()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tar_of(members: Sequence[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in members:
            tar.addfile(header(name, len(data)), io.BytesIO(data))
    return _without_filling(out.getvalue())


def _without_filling(data: bytes) -> bytes:
    """tarfile fills its last record; nexo writes just the two blocks that end a tar."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        last = tar.getmembers()[-1]
    return data[: last.offset_data + -(-last.size // 512) * 512] + bytes(1_024)


def header(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, 0
    return info


def packed(tar: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=19).compress(tar)


def write_bundle(place: Path, body: bytes, recipient: str | None = None) -> Path:
    """The bundle and its sidecar."""
    suffix = ".tar.zst"
    if recipient:
        body = pyrage.encrypt(body, [pyrage.x25519.Recipient.from_str(recipient)])
        suffix += ".age"
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{ID}{suffix}"
    path.write_bytes(body)
    path.with_name(path.name + ".sha256").write_text(digest(body))
    return path


def bundle(
    place: Path, content: Mapping[str, bytes] | None = None, recipient: str | None = None, **changes: Any
) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    content = usual(place) if content is None else content
    members = [("manifest.json", manifest_of(content, **changes)), *content.items()]
    return write_bundle(place, packed(tar_of(members)), recipient)
