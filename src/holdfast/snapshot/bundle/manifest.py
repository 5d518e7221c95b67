"""The manifest as bytes: one encoding for each, and what a signature covers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast, get_args

from holdfast.core.bundle_names import AGE, BUNDLE, CHUNK_INDEX, MANIFEST
from holdfast.core.errors import InvalidRequest, SnapshotDamaged, SnapshotTooNew
from holdfast.core.times import iso, parse_time
from holdfast.snapshot.bundle import canonical
from holdfast.snapshot.bundle.canonical import Fields, LongList, Malformed
from holdfast.snapshot.bundle.contents import SHA256, artifact_shapes, left_shape, read_artifacts, read_left
from holdfast.snapshot.bundle.members import MOST_MEMBERS
from holdfast.snapshot.bundle.types import (
    CHUNKS_VERSION,
    FORMAT,
    FORMAT_VERSION,
    Artifact,
    Identity,
    Maker,
    Manifest,
    Redaction,
    SkippedItem,
)

MOST_BYTES = canonical.MOST_BYTES

# Signed bytes begin with this, so that a signature of something else is never valid for a manifest.
_DOMAIN = b"holdfast snapshot manifest 1\n"

_LONG = LongList(b"artifacts", b"kind", b"body")
_ID = re.compile(r"(\d{6,18})-\d{8}T\d{6}Z-[0-9a-f]{6}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_MAKER = re.compile("|".join(get_args(Maker)))
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_DID = re.compile(r"did:key:z[1-9A-HJ-NP-Za-km-z]{40,60}")
_SIGNATURE = re.compile(r"[A-Za-z0-9_-]{86}")
_MOST_RECIPIENTS = 64


def is_id(text: str) -> bool:
    """Whether the text has the form of a snapshot's id; such a text is safe as a file name."""
    return _ID.fullmatch(text) is not None


def bundle_name(snapshot_id: str, encrypted: bool) -> str:
    return f"{snapshot_id}{BUNDLE}{AGE if encrypted else ''}"


def chunk_index_name(snapshot_id: str, encrypted: bool) -> str:
    """The bundle's name of a snapshot that is kept as chunks."""
    return f"{snapshot_id}{CHUNK_INDEX}{AGE if encrypted else ''}"


def manifest_name(snapshot_id: str) -> str:
    return f"{snapshot_id}{MANIFEST}"


def manifest_bytes(manifest: Manifest) -> bytes:
    """What the manifest's file holds. For an encrypted bundle it has only numbers of what is inside.

    Raises:
        InvalidRequest: it holds what a reader would refuse, such as half a surrogate pair in a label.
    """
    try:
        data = _bytes(manifest, _shape(manifest), newline=True)
        read_manifest(data)
    except (Malformed, SnapshotDamaged) as error:
        raise InvalidRequest(f"snapshot: its manifest cannot be written: {error}") from error
    return data


def signed_bytes(manifest: Manifest) -> bytes:
    """What a signature covers: all of the manifest but the signature itself, with the signer's name."""
    shape = _shape(replace(manifest, signature=None))
    del shape["signature"]
    return _DOMAIN + _bytes(manifest, shape)


def _bytes(manifest: Manifest, shape: dict[str, Any], *, newline: bool = False) -> bytes:
    if manifest.encrypted:
        return canonical.dumps(shape, newline=newline)
    return canonical.dumps_long(shape, _LONG, artifact_shapes(manifest.artifacts or ()), newline=newline)


def _shape(manifest: Manifest) -> dict[str, Any]:
    identity = manifest.identity
    return {
        "format": FORMAT,
        "version": CHUNKS_VERSION if manifest.chunked else FORMAT_VERSION,
        "id": identity.id,
        "tenant": identity.tenant,
        "agent": identity.agent,
        "label": identity.label,
        "sequence": identity.sequence,
        "parent": identity.parent,
        "createdAt": iso(identity.created_at),
        "createdBy": identity.created_by,
        "schemaVersions": dict(manifest.schema),
        "body": {"name": manifest.bundle_name, "size": manifest.bundle_size, "sha256": manifest.bundle_sha256},
        "encryption": {"scheme": "age", "recipients": list(manifest.recipients)} if manifest.encrypted else None,
        "tools": dict(manifest.tools),
        "signer": manifest.signer,
        "signature": manifest.signature,
        **(_hidden(manifest) if manifest.encrypted else _open(manifest)),
    }


def _open(manifest: Manifest) -> dict[str, Any]:
    redaction = manifest.redaction
    return {
        "artifacts": [],  # see _bytes
        "redaction": {
            "applied": redaction.applied,
            "rules": dict(redaction.rules),
            "files": list(redaction.files),
        },
        "left": left_shape(manifest.left),
    }


def _hidden(manifest: Manifest) -> dict[str, Any]:
    redaction = manifest.redaction
    return {
        "artifacts": None,
        "redaction": {
            "applied": redaction.applied,
            "rules": dict(redaction.rules),
            "fileCount": len(redaction.files) + redaction.hidden,
        },
        "leftCount": len(manifest.left) + manifest.hidden_left,
    }


def read_manifest(data: bytes) -> Manifest:
    """The manifest that these bytes are.

    Raises:
        SnapshotDamaged: they are not in the canonical form of a manifest.
        SnapshotTooNew: a newer version of the format.
    """
    try:
        value, rows = canonical.loads_long(data, _LONG, newline=True)
        fields = Fields(value, "manifest")
        manifest = _read(fields, rows, _version(fields))
        fields.end()
        return manifest
    except Malformed as error:
        raise SnapshotDamaged(f"snapshot: the manifest is damaged: {error}") from error


def _version(fields: Fields) -> int:
    if fields.text("format") != FORMAT:
        raise Malformed("it has an unknown format")
    version = fields.number("version", 1)
    if version > CHUNKS_VERSION:
        raise SnapshotTooNew("snapshot: the manifest was written by a newer version of Holdfast")
    return version


def _read(fields: Fields, rows: Iterator[Any], version: int) -> Manifest:
    identity = _identity(fields)
    schema = fields.counts("schemaVersions")
    recipients = _recipients(fields)
    bundle = fields.inner("body")
    name = bundle.text("name")
    named = chunk_index_name if version == CHUNKS_VERSION else bundle_name
    if name != named(identity.id, bool(recipients)):
        raise Malformed("the bundle has a different id or layout")
    size, sha256 = bundle.number("size", 1), bundle.text("sha256", SHA256)
    bundle.end()
    signer, signature = fields.text_or_none("signer", _DID), fields.text_or_none("signature", _SIGNATURE)
    if (signer is None) != (signature is None):
        raise Malformed("signer and signature must both be present or both be absent")
    artifacts, redaction, left, hidden_left = _lists(fields, bool(recipients), rows)
    return Manifest(
        identity=identity,
        bundle_name=name,
        bundle_size=size,
        bundle_sha256=sha256,
        schema=schema,
        artifacts=artifacts,
        redaction=redaction,
        left=left,
        recipients=recipients,
        tools=fields.pairs("tools", str),
        signer=signer,
        signature=signature,
        hidden_left=hidden_left,
    )


def _identity(fields: Fields) -> Identity:
    identity = Identity(
        id=fields.text("id", _ID),
        tenant=fields.text("tenant"),
        agent=fields.text("agent"),
        label=fields.text("label"),
        sequence=fields.number("sequence", 1),
        parent=fields.text_or_none("parent", _ID),
        created_at=_time(fields.text("createdAt", _TIME)),
        created_by=cast(Maker, fields.text("createdBy", _MAKER)),
    )
    if identity.id.split("-")[0] != f"{identity.sequence:06d}":
        raise Malformed("the sequence number differs from that of the id")
    return identity


def _time(text: str) -> int:
    try:
        ms = parse_time(text, "createdAt")
    except InvalidRequest as error:
        raise Malformed("createdAt is not a time") from error
    if iso(ms) != text:
        raise Malformed("createdAt is not a time")
    return ms


def _recipients(fields: Fields) -> tuple[str, ...]:
    value = fields.take("encryption")
    if value is None:
        return ()
    inner = Fields(value, "encryption")
    scheme, recipients = inner.text("scheme"), inner.texts("recipients", _MOST_RECIPIENTS, _FINGERPRINT)
    inner.end()
    if scheme != "age" or not recipients:
        raise Malformed("unknown encryption")
    return recipients


_Lists = tuple[tuple[Artifact, ...] | None, Redaction, tuple[SkippedItem, ...], int]


def _lists(fields: Fields, encrypted: bool, rows: Iterator[Any]) -> _Lists:
    inner = fields.inner("redaction")
    redaction = Redaction(applied=inner.flag("applied"), rules=inner.counts("rules"))
    if encrypted:
        redaction = replace(redaction, hidden=inner.number("fileCount"))
        if fields.take("artifacts") is not None:
            raise Malformed("the manifest of an encrypted bundle lists its contents")
        lists: _Lists = None, redaction, (), fields.number("leftCount")
    else:
        redaction = replace(redaction, files=inner.texts("files", MOST_MEMBERS))
        lists = read_artifacts(fields, rows), redaction, read_left(fields), 0
    inner.end()
    return lists
