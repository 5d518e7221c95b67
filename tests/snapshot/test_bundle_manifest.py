"""Canonical JSON and the manifest: one value, one spelling, and nothing else is read."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from hashlib import sha256
from typing import Any
from unittest.mock import patch

import orjson
import pytest
from bundles import ID, SECOND
from hypothesis import given, strategies as st
from rows import each
from world import NOON

from holdfast.core.didkey import did_of, sign
from holdfast.core.errors import InvalidRequest, SnapshotDamaged, SnapshotTooNew
from holdfast.snapshot.bundle import canonical
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.manifest import manifest_bytes, read_manifest, signed_bytes
from holdfast.snapshot.bundle.types import Artifact, Identity, Manifest, Redaction, SkippedItem

DID = did_of(bytes(range(32)))
SIGNATURE = sign(bytes(range(32)), b"")

text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_what_is_written_canonically_is_read_as_the_same_value(value: Any) -> None:
    data = canonical.dumps(value)

    assert canonical.loads(data) == value
    assert canonical.dumps(canonical.loads(data)) == data


@given(st.dictionaries(text, st.integers(0, 9), max_size=6))
def test_the_order_of_keys_does_not_matter_for_writing(value: dict[str, int]) -> None:
    assert canonical.dumps(dict(reversed(value.items()))) == canonical.dumps(value)


@given(json_values, st.integers(0, 400), st.sampled_from([b" ", b"\n", b"\t"]))
def test_a_space_anywhere_outside_of_strings_is_refused(value: Any, at: int, space: bytes) -> None:
    data = canonical.dumps(value)
    changed = data[: at % (len(data) + 1)] + space + data[at % (len(data) + 1) :]

    try:
        found = canonical.loads(changed)
    except Malformed:
        return
    assert found != value, "a space was taken for nothing"


@each(
    "data",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"a":2}',
        b'{"b":1,"a":2}',
        b'{"a" :1}',
        b'{"a":1.0}',
        b'{"a":1.5}',
        b'{"a":1e3}',
        b'{"a":-0}',
        b'{"a":NaN}',
        b'{"a":18446744073709551616}',
        b'{"\\u0061":1}',
        b'{"a":"\\/"}',
        b'{"a":"\xff"}',
        b'{"a":"\\ud800"}',
        b'\xef\xbb\xbf{"a":1}',
        b'{"a":1}\n',
        b'{"a":1}{}',
        b'{"a":1',
        b"",
        b"null ",
        b"[" * 17 + b"]" * 17,
    ],
)
def test_json_with_another_spelling_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        canonical.loads(data)


@each("value", [1.5, float("nan"), 2**64, "\ud800", b"x", {1: 2}, ("a",), {"a": {1}}, object()])
def test_what_has_no_one_spelling_is_not_written(value: Any) -> None:
    with pytest.raises(Malformed):
        canonical.dumps({"a": value})


# Manifests


def plain(**changes: Any) -> Manifest:
    made = Manifest(
        identity=Identity(ID, "acme", "coder", "daily", 7, None, NOON, "hand"),
        bundle_name=f"{ID}.tar.zst",
        bundle_size=1000,
        bundle_sha256="a" * 64,
        schema=(("manifest", 1), ("store", 9)),
        artifacts=(Artifact("store/memory.db", "store", 4, "b" * 64),),
        redaction=Redaction(applied=True, rules=(("aws", 1),), files=("folders/n/a.md",)),
        left=(SkippedItem("folders/n/link", "symlink"),),
        recipients=(),
        tools=(("holdfast", "0.1.0"), ("zstd", "1.5.7")),
    )
    return replace(made, **changes)


def encrypted(**changes: Any) -> Manifest:
    return plain(bundle_name=f"{ID}.tar.zst.age", recipients=("c" * 16,), **changes)


def test_a_plain_manifest_is_read_as_it_was_written() -> None:
    signed = plain(signer=DID, signature=SIGNATURE)

    assert read_manifest(manifest_bytes(plain())) == plain()
    assert read_manifest(manifest_bytes(signed)) == signed


@each("manifest", [plain(), encrypted()])
def test_what_was_read_gives_the_same_bytes_to_write_and_to_sign(manifest: Manifest) -> None:
    data = manifest_bytes(manifest)

    assert manifest_bytes(read_manifest(data)) == data
    assert signed_bytes(read_manifest(data)) == signed_bytes(manifest)


def test_an_encrypted_manifest_has_numbers_instead_of_names() -> None:
    shape = orjson.loads(manifest_bytes(encrypted()))

    assert shape["artifacts"] is None
    assert shape["leftCount"] == 1
    assert shape["redaction"] == {"applied": True, "rules": {"aws": 1}, "fileCount": 1}
    assert "left" not in shape


def test_the_signature_covers_everything_but_itself() -> None:
    signed = plain(signer=DID, signature=SIGNATURE)
    other = did_of(bytes(range(1, 33)))

    assert signed_bytes(signed) == signed_bytes(replace(signed, signature="B" * 86))
    assert signed_bytes(signed) != signed_bytes(replace(signed, signer=other))
    assert signed_bytes(signed).startswith(b"holdfast snapshot manifest 1\n")


IDENTITY = plain().identity


@each(
    "changed",
    [
        plain(identity=replace(IDENTITY, tenant="x")),
        plain(identity=replace(IDENTITY, agent="x")),
        plain(identity=replace(IDENTITY, label="x")),
        plain(identity=replace(IDENTITY, parent=SECOND)),
        plain(identity=replace(IDENTITY, created_at=NOON + 1)),
        plain(identity=replace(IDENTITY, created_by="schedule")),
        plain(identity=replace(IDENTITY, sequence=8, id=SECOND)),
        plain(bundle_size=1),
        plain(bundle_sha256="0" * 64),
        plain(schema=()),
        plain(artifacts=()),
        plain(redaction=Redaction(applied=False)),
        plain(left=()),
        plain(tools=()),
        encrypted(),
        encrypted(hidden_left=5),
        encrypted(redaction=Redaction(applied=True, hidden=3)),
    ],
)
def test_each_field_is_covered_by_the_signature(changed: Manifest) -> None:
    assert signed_bytes(changed) not in (
        signed_bytes(plain()),
        signed_bytes(encrypted(left=(), redaction=Redaction(True))),
    )


def altered(**changes: Any) -> bytes:
    return canonical.dumps({**orjson.loads(manifest_bytes(plain())), **changes}, newline=True)


@each(
    "changes",
    [
        {"format": "other"},
        {"version": 0},
        {"version": "1"},
        {"version": True},
        {"extra": 1},
        {"id": "../../x"},
        {"id": SECOND},
        {"sequence": 8},
        {"sequence": 0},
        {"sequence": -1},
        {"sequence": "7"},
        {"tenant": None},
        {"tenant": 5},
        {"tenant": "a\0b"},
        {"label": "x" * 1025},
        {"parent": "x"},
        {"createdAt": "2026-09-21T13:33:20Z"},
        {"createdAt": "2026-02-31T13:33:20.000Z"},
        {"createdAt": "2026-09-21T13:33:20.000+00:00"},
        {"createdAt": NOON},
        {"createdBy": "me"},
        {"schemaVersions": {"store": "9"}},
        {"schemaVersions": {"store": -1}},
        {"schemaVersions": []},
        {"artifacts": None},
        {"artifacts": {}},
        {"artifacts": [1]},
        {"artifacts": [{"path": "store/memory.db"}]},
        {"artifacts": [{"path": "store/memory.db", "kind": "store", "size": -1, "sha256": "b" * 64}]},
        {"artifacts": [{"path": "store/memory.db", "kind": "store", "size": 1, "sha256": "B" * 64}]},
        {"artifacts": [{"path": "store/memory.db", "kind": "store", "size": 1, "sha256": "b" * 63}]},
        {"artifacts": [{"path": "store/memory.db", "kind": "x", "size": 1, "sha256": "b" * 64}]},
        {"artifacts": [{"path": "store/memory.db", "kind": "store", "size": 1, "sha256": "b" * 64, "x": 1}]},
        {"body": {"name": f"{ID}.tar.zst", "size": 0, "sha256": "a" * 64}},
        {"body": {"name": f"{SECOND}.tar.zst", "size": 1, "sha256": "a" * 64}},
        {"body": {"name": f"{ID}.tar.zst.age", "size": 1, "sha256": "a" * 64}},
        {"body": {"name": f"../{ID}.tar.zst", "size": 1, "sha256": "a" * 64}},
        {"redaction": {"applied": 1, "rules": {}, "files": []}},
        {"redaction": {"applied": True, "rules": {"a": "b"}, "files": []}},
        {"redaction": {"applied": True, "rules": {}, "files": [1]}},
        {"redaction": {"applied": True, "rules": {}, "files": [], "fileCount": 0}},
        {"left": [{"path": "a"}]},
        {"left": [{"path": "a", "reason": "x" * 300}]},
        {"encryption": {}},
        {"encryption": {"scheme": "age", "recipients": ["c" * 16]}},
        {"tools": {"a": 1}},
        {"signer": DID},
        {"signature": SIGNATURE},
        {"signer": "did:web:x", "signature": SIGNATURE},
        {"signer": DID, "signature": "x"},
        {"signer": DID, "signature": SIGNATURE + "=="},
    ],
)
def test_a_manifest_with_such_a_field_is_damaged(changes: dict[str, Any]) -> None:
    with pytest.raises(SnapshotDamaged):
        read_manifest(altered(**changes))


@each("field", sorted(orjson.loads(manifest_bytes(plain()))))
def test_a_manifest_without_one_of_its_fields_is_damaged(field: str) -> None:
    shape = orjson.loads(manifest_bytes(plain()))
    del shape[field]

    with pytest.raises(SnapshotDamaged):
        read_manifest(canonical.dumps(shape, newline=True))


def test_a_newer_format_is_too_new_whatever_else_it_has() -> None:
    with pytest.raises(SnapshotTooNew):
        read_manifest(altered(version=3, something="new", artifacts="elsewhere"))


@each(
    "manifest",
    [
        plain(identity=replace(IDENTITY, label="\ud800")),
        plain(identity=replace(IDENTITY, label="x" * 2000)),
        plain(identity=replace(IDENTITY, sequence=9)),
        plain(bundle_size=0),
        plain(artifacts=(Artifact("../x", "file", 1, "a" * 64),)),
        plain(bundle_name=f"{ID}.tar.zst.age"),
    ],
)
def test_a_manifest_that_no_reader_takes_is_not_written(manifest: Manifest) -> None:
    with pytest.raises(InvalidRequest):
        manifest_bytes(manifest)


def test_a_damaged_manifest_is_not_quoted() -> None:
    with pytest.raises(SnapshotDamaged) as caught:
        read_manifest(altered(tenant=7, label="the tea is in the cupboard"))

    assert "tea" not in str(caught.value)
    assert "tea" not in str(caught.value.__cause__)


# Long lists


def test_a_manifest_of_many_members_is_read_and_written_without_all_of_its_objects_at_once() -> None:
    """As one tree they took more than five times the bytes of the file."""
    many = tuple(
        Artifact(f"folders/notes/a-note-with-a-name-{number:06d}.md", "file", 7, sha256(b"%d" % number).hexdigest())
        for number in range(20_000)
    )
    manifest = plain(artifacts=many)
    tracemalloc.start()
    try:
        data = manifest_bytes(manifest)
        written = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        again = read_manifest(data)
        read = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()

    assert again == manifest
    assert read < 3.5 * len(data), read / len(data)
    assert written < 5.5 * len(data), written / len(data)


TRICKY = ('},{"kind":"', '}],"body":', '"artifacts":[{"kind":"', "}],", "\\", '"', "é", "a")


@given(paths=st.lists(st.lists(st.sampled_from(TRICKY)).map("".join), max_size=9))
def test_a_long_list_taken_in_pieces_is_what_the_whole_is_whatever_its_texts_hold(paths: list[str]) -> None:
    rows = [{"kind": "file", "path": path, "size": at} for at, path in enumerate(paths)]
    value = {"agent": "a", "artifacts": rows, "body": {"name": "".join(paths)}, "tools": {}}
    long = canonical.LongList(b"artifacts", b"kind", b"body")
    whole = canonical.dumps(value, newline=True)
    with patch.object(canonical, "_SLICE", 30), patch.object(canonical, "_ROWS", 2):
        around, found = canonical.loads_long(whole, long, newline=True)

        assert list(found) == rows
        assert around == {**value, "artifacts": []}
        assert canonical.dumps_long({**value, "artifacts": []}, long, rows, newline=True) == whole


@each(
    "spoilt",
    [
        b'{"artifacts":[{"kind":"a"},{"kind":"b" }],"body":1}',
        b'{"artifacts":[{"kind":"a"},,{"kind":"b"}],"body":1}',
        b'{"artifacts":[{"kind":"a"} ,{"kind":"b"}],"body":1}',
        b'{"artifacts":[{"kind":"a"}{"kind":"b"}],"body":1}',
        b'{"artifacts":[{"kind":"a","kind":"a"}],"body":1}',
        b'{"artifacts":[{"kind":"a"}],"body":1,"body":1}',
        b'{"artifacts":[{"kind":1.0}],"body":1}',
    ],
)
def test_a_long_list_has_one_spelling_too(spoilt: bytes) -> None:
    def taken() -> Any:
        _, rows = canonical.loads_long(spoilt, canonical.LongList(b"artifacts", b"kind", b"body"))
        return list(rows)

    with patch.object(canonical, "_SLICE", 5), pytest.raises(Malformed):
        taken()
