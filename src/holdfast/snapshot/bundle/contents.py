"""The lists of what a bundle holds and leaves out. A plain manifest has them; an encrypted bundle has them inside."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from holdfast.snapshot.bundle import canonical
from holdfast.snapshot.bundle.canonical import Fields, LongList, Malformed
from holdfast.snapshot.bundle.members import MOST_MEMBERS, check_members, kind_of
from holdfast.snapshot.bundle.types import Artifact, SkippedItem

SHA256 = re.compile(r"[0-9a-f]{64}")
_MOST_PATH = 8192  # of what was left out: the long path may be the reason
_MOST_REASON = 256


@dataclass(frozen=True, slots=True)
class Contents:
    """What an encrypted bundle reveals only to those who can open it."""

    artifacts: tuple[Artifact, ...]
    files: tuple[str, ...]  # changed by redaction
    left: tuple[SkippedItem, ...]


LONG = LongList(b"artifacts", b"kind", b"files")


def contents_bytes(contents: Contents) -> bytes:
    shape = {"artifacts": [], "files": list(contents.files), "left": left_shape(contents.left)}
    return canonical.dumps_long(shape, LONG, artifact_shapes(contents.artifacts))


def read_contents(data: bytes) -> Contents:
    """The contents of the last member of an encrypted bundle.

    Raises:
        Malformed: our writer makes no such member.
    """
    value, rows = canonical.loads_long(data, LONG)
    fields = Fields(value, "contents")
    contents = Contents(read_artifacts(fields, rows), fields.texts("files", MOST_MEMBERS), read_left(fields))
    fields.end()
    return contents


def artifact_shapes(artifacts: Sequence[Artifact]) -> Iterator[dict[str, Any]]:
    """One by one: there may be 200,000, and as many objects take 90 MB."""
    for one in artifacts:
        yield {"path": one.path, "kind": one.kind, "size": one.size, "sha256": one.sha256}


def left_shape(left: Sequence[SkippedItem]) -> list[dict[str, Any]]:
    return [{"path": one.path, "reason": one.reason} for one in left]


def read_artifacts(fields: Fields, rows: Iterator[Any]) -> tuple[Artifact, ...]:
    """The artifacts, whose objects come one by one; in the fields an empty list is left of them."""
    fields.items("artifacts", 0)
    found = tuple(_artifact(row) for row in islice(rows, MOST_MEMBERS + 1))
    check_members([one.path for one in found])
    if any(one.kind != kind_of(one.path) for one in found):
        raise Malformed("the type of an artifact does not match its path")
    return found


def _artifact(value: Any) -> Artifact:
    fields = Fields(value, "an artifact")
    artifact = Artifact(
        path=fields.text("path", most=_MOST_PATH),
        kind=sys.intern(fields.text("kind")),  # one text for all
        size=fields.number("size"),
        sha256=fields.text("sha256", SHA256),
    )
    fields.end()
    return artifact


def read_left(fields: Fields) -> tuple[SkippedItem, ...]:
    return tuple(_left(one) for one in fields.items("left", MOST_MEMBERS))


def _left(value: Any) -> SkippedItem:
    fields = Fields(value, "what was left")
    left = SkippedItem(fields.text("path", most=_MOST_PATH), fields.text("reason", most=_MOST_REASON))
    fields.end()
    return left
