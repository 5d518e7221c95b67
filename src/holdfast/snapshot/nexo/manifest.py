"""The manifest of a nexo bundle: its contents, and whether they are consistent."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.core.errors import SnapshotDamaged, SnapshotTooNew
from holdfast.snapshot.bundle.types import Artifact

FORMAT = "nexo-memory-snapshot-v1"
MANIFEST = "manifest.json"
DATABASE = "sqlite/long_term.sqlite"
FILES = "memory_files/"
# Versions of everything that this layout has; the schema of each database counts for itself.
_NEWEST = 1
_SCHEMAS = ("long_term", "vector", "concepts", "compactions", "manifest")
_HEX = re.compile(r"[0-9a-f]{64}")
_ID = re.compile(r"[0-9a-f-]{36}")
_LARGEST = 1 << 40

# Which members each kind may be.
_PLACES = {
    "git_bundle": r"git/.+",
    "sqlite_long_term": re.escape(DATABASE),
    "sqlite_vector": r"sqlite/vector\.sqlite",
    "sqlite_concepts": r"sqlite/concepts\.sqlite",
    "sqlite_compactions": r"sqlite/compactions\.sqlite",
    "state_extract_cursor": r"state/extract_cursor\.json",
    "state_dream_run": r"state/dream_run\.json",
    "memory_file": r"memory_files/.+",
}


@dataclass(frozen=True, slots=True)
class NexoManifest:
    """What a nexo bundle claims about itself."""

    id: str
    agent: str
    tenant: str
    label: str | None
    created_at: int
    created_by: str
    redacted: bool
    artifacts: tuple[Artifact, ...]


def read_nexo_manifest(data: bytes) -> NexoManifest:
    """The manifest.

    Raises:
        SnapshotDamaged: it is no such manifest, or its seal does not fit its artifacts.
        SnapshotTooNew: it, or a database in the bundle, has a later version.
    """
    try:
        value = json.loads(data, object_pairs_hook=_unique)
        if value["bundle_format"] != FORMAT:
            raise ValueError
        _check_versions(value)
        return _manifest(value)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SnapshotDamaged("nexo bundle: its manifest cannot be read") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError
    return fields


def _check_versions(value: Mapping[str, Any]) -> None:
    told = {name: value["schema_versions"][name] for name in _SCHEMAS}
    for name, version in {"manifest_version": value["manifest_version"], **told}.items():
        if not _is_number(version, _LARGEST) or version < 1:
            raise ValueError
        if version > _NEWEST:
            raise SnapshotTooNew(f"nexo bundle: {name} is version {version}, newer than {_NEWEST}")


def _manifest(value: Mapping[str, Any]) -> NexoManifest:
    artifacts = tuple(_artifact(one) for one in value["artifacts"])
    seal = hashlib.sha256("".join(one.sha256 for one in artifacts).encode()).hexdigest()
    if value["bundle_sha256"] != seal:
        raise SnapshotDamaged("nexo bundle: its seal does not match its artifacts")
    if len({one.path for one in artifacts}) < len(artifacts) or not _ID.fullmatch(value["snapshot_id"]):
        raise ValueError
    texts = [value["agent_id"], value["tenant"], value["created_by"], value.get("label") or ""]
    if not all(isinstance(text, str) and len(text) < 1_000 for text in texts):
        raise ValueError
    if not _is_number(value["created_at_ms"], _LARGEST * 1_000):
        raise ValueError
    return NexoManifest(
        value["snapshot_id"],
        value["agent_id"],
        value["tenant"],
        value.get("label"),
        value["created_at_ms"],
        value["created_by"],
        value.get("redactions") is not None,
        artifacts,
    )


def _artifact(value: Mapping[str, Any]) -> Artifact:
    path, kind, size, sha256 = (value[name] for name in ("path_in_bundle", "kind", "size_bytes", "sha256"))
    if not re.fullmatch(_PLACES[kind], path, re.DOTALL) or not _HEX.fullmatch(sha256) or not _is_number(size, _LARGEST):
        raise ValueError
    return Artifact(path, kind, size, sha256)


def _is_number(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
