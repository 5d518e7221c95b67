"""A manifest as bytes and back."""

from __future__ import annotations

from typing import Any

import orjson

from holdfast.errors import SnapshotDamaged
from holdfast.snapshot.values import Artifact, Identity, Left, Manifest, Redaction

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


def manifest_bytes(manifest: Manifest) -> bytes:
    """The content of the manifest's file."""
    return orjson.dumps(manifest, option=_OPTIONS)


def read_manifest(data: bytes) -> Manifest:
    """The manifest in a file's content.

    Raises:
        SnapshotDamaged: the bytes are not exactly those of a manifest.
    """
    try:
        manifest = _manifest(orjson.loads(data))
    except (ValueError, TypeError, KeyError) as error:
        raise SnapshotDamaged("the manifest cannot be read") from error
    if manifest_bytes(manifest) != data:
        raise SnapshotDamaged("the manifest is not in its one form")
    return manifest


def _manifest(fields: dict[str, Any]) -> Manifest:
    artifacts, redaction = fields.pop("artifacts"), fields.pop("redaction")
    schema, tools = fields.pop("schema"), fields.pop("tools")
    return Manifest(
        identity=Identity(**fields.pop("identity")),
        artifacts=None if artifacts is None else tuple(Artifact(**one) for one in artifacts),
        redaction=Redaction(
            redaction["applied"], tuple((rule, count) for rule, count in redaction["rules"]), tuple(redaction["files"])
        ),
        left=tuple(Left(**one) for one in fields.pop("left")),
        recipients=tuple(fields.pop("recipients")),
        schema=tuple((name, number) for name, number in schema),
        tools=tuple((name, version) for name, version in tools),
        **fields,
    )
