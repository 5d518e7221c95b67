"""The files of a snapshot: manifest, parts and pointer, written as colony-memory writes them and read as untrusted.

docs/colony.md has their fields. An encrypted snapshot has a format name of its own, so that a reader that knows nothing
of it reports that instead of failing inside gzip.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from holdfast.colony.file_names import Series
from holdfast.colony.payload import ExpectedBlock, PackedDocuments, canonical
from holdfast.colony.signature import Signer, signature_by
from holdfast.core.errors import ColonyDamaged, ColonyUnknown

FORMAT = "colony-memory/1"
SEALED_FORMAT = "colony-memory/1+age"
POINTER_FORMAT = "colony-memory/latest/1"
CODECS = {FORMAT: "gzip+base64", SEALED_FORMAT: "gzip+age+base64"}

# Part of the format: readers join whatever they find, but equal documents should give equal parts everywhere.
PART_CHARS = 700_000
# The vault refuses files over 1 MB, without defining which kind of MB.
MOST_FILE_BYTES = 1_000_000
# What is read may be a little longer than what the server lets a client write.
MOST_FILE_CHARS = 1_200_000
# 10 MB of vault are 15 parts. This is for vaults of another size, and keeps a manifest from naming millions.
MOST_PARTS = 10_000

_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass
class SnapshotInfo:
    """The contents of a manifest. An encrypted one has neither the names nor the SHA-256 of its texts."""

    snapshot_id: str
    label: str
    created_at: str
    doc_names: list[str]
    part_count: int
    byte_size: int
    plaintext_sha256: str
    signed: bool = False
    issuer: str | None = None


@dataclass(frozen=True)
class Manifest:
    """A manifest whose fields agree with each other and with its name. Its signature is not checked yet."""

    info: SnapshotInfo
    expected: ExpectedBlock
    parts: tuple[str, ...]
    encrypted: bool
    signature: object
    message: bytes  # the signed bytes


@dataclass(frozen=True)
class SnapshotParts:
    """The files of a new snapshot, as name and text."""

    info: SnapshotInfo
    parts: tuple[tuple[str, str], ...]
    manifest: tuple[str, str]

    def files(self) -> Iterator[tuple[str, str]]:
        yield from self.parts
        yield self.manifest


def build(packed: PackedDocuments, series: Series, id: str, created_at: str, signer: Signer | None) -> SnapshotParts:
    """The files that hold the packed documents."""
    chunks = [packed.blob[at : at + PART_CHARS] for at in range(0, len(packed.blob), PART_CHARS)]
    encrypted = packed.sealed_sha256 is not None
    form = SEALED_FORMAT if encrypted else FORMAT
    parts = tuple((series.part(id, seq), _part(form, id, seq, chunk)) for seq, chunk in enumerate(chunks))
    fields: dict[str, Any] = {
        "format": form,
        "snapshot_id": id,
        "label": series.label,
        "created_at": created_at,
        "codec": CODECS[form],
        "doc_names": [] if encrypted else packed.names,
        "plaintext_sha256": "" if encrypted else packed.plaintext_sha256,
        "part_count": len(parts),
        "part_files": [name for name, _ in parts],
        "byte_size": packed.byte_size,
        "blob_chars": len(packed.blob),
    }
    if encrypted:
        fields["sealed_sha256"] = packed.sealed_sha256
    if signer is not None:
        fields["signature"] = signature_by(signer, canonical(fields))
    return SnapshotParts(_info(fields), parts, (series.manifest(id), json.dumps(fields)))


def _part(form: str, id: str, seq: int, chunk: str) -> str:
    return json.dumps({"format": form, "snapshot_id": id, "seq": seq, "b64": chunk})


def pointer_text(series: Series, id: str, updated_at: str) -> str:
    """The pointer, which other readers follow; byte for byte what colony-memory writes."""
    fields = {
        "format": POINTER_FORMAT,
        "label": series.label,
        "snapshot_id": id,
        "manifest_file": series.manifest(id),
        "updated_at": updated_at,
    }
    return json.dumps(fields)


@dataclass(frozen=True, slots=True)
class Pointer:
    """The contents of a pointer; nothing when it cannot be read, as others overwrite it and nothing depends on it."""

    id: str | None = None
    given: str | None = None


def read_pointer(text: str) -> Pointer:
    try:
        fields = _object(text, "pointer")
    except ColonyDamaged:
        return Pointer()
    id, given = fields.get("snapshot_id"), fields.get("label_given")
    return Pointer(id if isinstance(id, str) else None, given if isinstance(given, str) else None)


def read_manifest(text: str, series: Series, id: str) -> Manifest:
    """The manifest of that snapshot.

    Raises:
        ColonyDamaged: it is of another snapshot, or its fields are invalid.
        ColonyUnknown: it is of a format or codec that this version does not know.
    """
    name = f"snapshot {series.label} {id}"
    fields = _object(text, name)
    form = fields.get("format")
    if not isinstance(form, str) or CODECS.get(form) != fields.get("codec"):
        raise ColonyUnknown(f"{name}: unknown format or codec")
    if problem := _problem(fields, series, id):
        raise ColonyDamaged(f"{name}: {problem}")
    unsigned = {key: value for key, value in fields.items() if key != "signature"}
    return Manifest(
        info=_info(fields),
        expected=ExpectedBlock(
            fields["blob_chars"], fields["byte_size"], fields["plaintext_sha256"], fields.get("sealed_sha256")
        ),
        parts=tuple(fields["part_files"]),
        encrypted=form == SEALED_FORMAT,
        signature=fields.get("signature"),
        message=canonical(unsigned),
    )


def _problem(fields: dict[str, Any], series: Series, id: str) -> str | None:
    """Why these fields cannot be that snapshot's manifest."""
    if (fields.get("label"), fields.get("snapshot_id")) != (series.label, id):
        return "the manifest belongs to another snapshot"
    count = fields.get("part_count")
    if type(count) is not int or not 1 <= count <= MOST_PARTS:
        return "part_count of the manifest is not a number of parts"
    if fields.get("part_files") != [series.part(id, seq) for seq in range(count)]:
        return "part_files of the manifest are not its own parts"
    for key in ("byte_size", "blob_chars"):
        if type(fields.get(key)) is not int or fields[key] < 1:
            return f"{key} of the manifest is not a size"
    names = fields.get("doc_names")
    if type(names) is not list or not all(type(name) is str for name in names):
        return "doc_names of the manifest are not names"
    if type(fields.get("created_at")) is not str or len(fields["created_at"]) > 64:
        return "created_at of the manifest is not a time"
    return _hash_problem(fields)


def _hash_problem(fields: dict[str, Any]) -> str | None:
    key = "sealed_sha256" if fields["format"] == SEALED_FORMAT else "plaintext_sha256"
    if type(fields.get(key)) is not str or not _SHA256.fullmatch(fields[key]):
        return f"{key} of the manifest is not a SHA-256"
    if key == "plaintext_sha256" and "sealed_sha256" in fields:
        return "the manifest is of an encrypted and of a plain snapshot at once"
    if type(fields.get("plaintext_sha256")) is not str:
        return "plaintext_sha256 of the manifest is not text"
    return None


def read_part(text: str, manifest: Manifest, seq: int) -> str:
    """The base64 in a part.

    Raises:
        ColonyDamaged: it is not that part.
    """
    name = f"part {seq} of snapshot {manifest.info.label} {manifest.info.snapshot_id}"
    fields = _object(text, name)
    form = SEALED_FORMAT if manifest.encrypted else FORMAT
    chunk = fields.get("b64")
    mine = (fields.get("format"), fields.get("snapshot_id"), fields.get("seq"))
    if mine != (form, manifest.info.snapshot_id, seq) or type(fields.get("seq")) is not int or type(chunk) is not str:
        raise ColonyDamaged(f"{name}: the file is not that part")
    return chunk


def _object(text: str, name: str) -> dict[str, Any]:
    if len(text) > MOST_FILE_CHARS:
        raise ColonyDamaged(f"{name}: larger than a vault file can be")
    try:
        value = orjson.loads(text)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        value = None  # refused below: the decoder's error holds the whole text and would be chained
    if not isinstance(value, dict):
        raise ColonyDamaged(f"{name}: the file is not a JSON object")
    return value


def _info(fields: dict[str, Any]) -> SnapshotInfo:
    signature = fields.get("signature")
    issuer = signature.get("key_id") if isinstance(signature, dict) else None
    return SnapshotInfo(
        snapshot_id=fields["snapshot_id"],
        label=fields["label"],
        created_at=fields["created_at"],
        doc_names=list(fields["doc_names"]),
        part_count=fields["part_count"],
        byte_size=fields["byte_size"],
        plaintext_sha256=fields["plaintext_sha256"],
        signed=signature is not None,
        issuer=issuer if isinstance(issuer, str) else None,
    )
