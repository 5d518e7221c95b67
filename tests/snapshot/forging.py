"""Bundles as nobody's writer makes them: any tar, any frame, any list, under a manifest that fits otherwise."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pyrage
import zstandard
from bundles import ID, READER, Sealed, manifest_of

from holdfast.snapshot.bundle import canonical, tar_header
from holdfast.snapshot.bundle.contents import Contents, contents_bytes
from holdfast.snapshot.bundle.members import kind_of, member_name
from holdfast.snapshot.bundle.types import Artifact, BundleFile
from holdfast.snapshot.keys.keyring import Keyring


def artifact(path: str, data: bytes) -> Artifact:
    return Artifact(path, kind_of(path) or "file", len(data), hashlib.sha256(data).hexdigest())


def entry(name: str, data: bytes) -> bytes:
    return tar_header.header(name, len(data)) + data + bytes(tar_header.padding(len(data)))


def tar_of(files: dict[str, bytes]) -> bytes:
    return b"".join(entry(member_name(path), data) for path, data in files.items())


def compress(data: bytes, **parameters: Any) -> bytes:
    parameters = {"level": 3, "write_checksum": True, "write_content_size": False, **parameters}
    compressor = zstandard.ZstdCompressor(**parameters).compressobj()
    return compressor.compress(data) + compressor.flush()


def forge(tmp: Path, packed: bytes, artifacts: Sequence[Artifact], encrypted: bool = False) -> Sealed:
    """A sealed snapshot around the compressed bytes, whose raw hash and sidecars are right."""
    recipients = [str(READER.to_public())] if encrypted else []
    raw = pyrage.encrypt(packed, [READER.to_public()]) if encrypted else packed
    name = f"{ID}.tar.zst" + (".age" if encrypted else "")
    bundle = BundleFile(name, len(raw), hashlib.sha256(raw).hexdigest(), tuple(artifacts))
    folder = tmp / "shelf"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(raw)
    sealed = Sealed(folder, Keyring(tmp / "keys"), manifest_of(bundle, recipients))
    sealed.put(sealed.manifest)
    return sealed


def forge_tar(
    tmp: Path, tar: bytes, artifacts: Sequence[Artifact], encrypted: bool = False, end: bytes = tar_header.END
) -> Sealed:
    """The same around a tar; an encrypted one gets the list of its artifacts as the last member."""
    if encrypted:
        tar += entry("contents.json", contents_bytes(Contents(tuple(artifacts), (), ())))
    return forge(tmp, compress(tar + end), artifacts, encrypted)


def alter(sealed: Sealed, **changes: Any) -> None:
    """Exchange fields of the manifest as JSON, whatever they become; None of the checks of writing apply."""
    shape = orjson.loads(sealed.manifest_file.read_bytes())
    sealed.put_bytes(canonical.dumps({**shape, **changes}, newline=True))


def reseal_bundle(sealed: Sealed, raw: bytes) -> None:
    """Exchange the bundle and all hashes of it."""
    sealed.bundle.write_bytes(raw)
    sealed.put(replace(sealed.manifest, bundle_size=len(raw), bundle_sha256=hashlib.sha256(raw).hexdigest()))
