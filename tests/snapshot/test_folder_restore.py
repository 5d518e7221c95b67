"""Building a folder from members that nobody vouches for: refused, or built inside its place, with nothing run."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from memory_repositories import capture, commit, files, git, repository, tree, write

from holdfast.core.errors import Conflict, InvalidRequest, SnapshotDamaged, StorageFailed
from holdfast.snapshot.sources import folder_restore
from holdfast.snapshot.sources.folder_restore import mark_of, stage_folder

PLAIN: dict[str, Any] = {
    "name": "notes",
    "kind": "plain",
    "head": None,
    "branch": None,
    "subject": None,
    "files": [],
    "deleted": [],
    "executable": [],
    "shallow": [],
}


def describe(place: Path, **changes: Any) -> None:
    write(place / "s", {"folders/notes.json": json.dumps({**PLAIN, **changes})})


def refuse(place: Path) -> None:
    """The members are refused, and nothing is left of the try."""
    before = {path for path in place.rglob("*") if place / "s" not in path.parents}
    with pytest.raises(SnapshotDamaged):
        stage_folder(place / "s", "notes", place / "back")
    assert {path for path in place.rglob("*") if place / "s" not in path.parents} == before


def test_an_empty_folder_is_built(tmp_path: Path) -> None:
    describe(tmp_path)

    stage_folder(tmp_path / "s", "notes", tmp_path / "back")

    assert list((tmp_path / "back").iterdir()) == []


def test_what_an_earlier_try_left_is_removed(tmp_path: Path) -> None:
    files(tmp_path / "m", a_md="a")
    capture(tmp_path / "m", tmp_path / "s")
    write(tmp_path / "back", {"half": "x", "a.md/b": "y"})

    stage_folder(tmp_path / "s", "notes", tmp_path / "back")

    assert tree(tmp_path / "back") == {"a.md": b"a"}


def test_a_folder_that_is_being_put_in_place_is_not_touched(tmp_path: Path) -> None:
    describe(tmp_path)
    write(tmp_path / "back", {"a": "a"})
    mark_of(tmp_path / "back").write_text("1")

    with pytest.raises(Conflict):
        stage_folder(tmp_path / "s", "notes", tmp_path / "back")

    assert tree(tmp_path / "back") == {"a": b"a"}


def test_files_are_the_owners_alone(tmp_path: Path) -> None:
    files(tmp_path / "m", sub__a_md="a")
    capture(tmp_path / "m", tmp_path / "s")

    stage_folder(tmp_path / "s", "notes", tmp_path / "back")

    assert [path.stat().st_mode & 0o077 for path in (tmp_path / "back").rglob("*")] == [0, 0]


@pytest.mark.parametrize(
    "path",
    ["/etc/x", "../x", "a/../../x", "a//b", ".", "", "a\\b", "a\nb", ".git/config", "sub/.GIT/hooks/x", "x" * 300],
)
@pytest.mark.parametrize("field", ["files", "deleted"])
def test_unsafe_paths_are_refused(tmp_path: Path, path: str, field: str) -> None:
    repository(tmp_path / "m", a_md="a")
    captured = capture(tmp_path / "m", tmp_path / "s")
    described = json.loads(next(one for one in captured.staged if one.kind == "folder").source.read_text())

    describe(tmp_path, **{**described, field: [path]})

    refuse(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "other"},
        {"kind": "git"},
        {"name": "other"},
        {"files": ["missing"]},
        {"files": "a"},
        {"files": [1]},
        {"deleted": ["a"]},
        {"executable": ["a"]},
        {"head": "0" * 40},
        {"branch": "main"},
        {"shallow": ["0" * 40]},
        {"subject": 5},
    ],
)
def test_descriptions_that_no_capture_writes_are_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    describe(tmp_path, **changes)

    refuse(tmp_path)


@pytest.mark.parametrize("data", ["", "[]", "null", "{}", "{", '"x"', "[" * 5_000])
def test_descriptions_of_another_shape_are_refused(tmp_path: Path, data: str) -> None:
    write(tmp_path / "s", {"folders/notes.json": data})

    refuse(tmp_path)


def test_no_description_at_all_is_refused(tmp_path: Path) -> None:
    refuse(tmp_path)


def test_a_member_that_is_not_described_is_refused(tmp_path: Path) -> None:
    describe(tmp_path)
    write(tmp_path / "s", {"folders/notes/extra": "x"})

    refuse(tmp_path)


def test_files_in_each_others_place_are_refused(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a="file")
    files(folder, b__c="x")
    capture(folder, tmp_path / "s")
    described = json.loads((tmp_path / "s/folders/notes.json").read_text())
    describe(tmp_path, **{**described, "files": ["a/c"]})
    (tmp_path / "s/folders/notes/b").rename(tmp_path / "s/folders/notes/a")

    refuse(tmp_path)


def test_a_restore_without_git_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capture(repository(tmp_path / "m", a_md="a"), tmp_path / "s")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(InvalidRequest, match="git history"):
        stage_folder(tmp_path / "s", "notes", tmp_path / "back")


def test_a_disk_that_refuses_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(tmp_path / "m", a_md="a")
    capture(tmp_path / "m", tmp_path / "s")

    def failing(handle: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)

    with pytest.raises(StorageFailed):
        stage_folder(tmp_path / "s", "notes", tmp_path / "back")
    assert not (tmp_path / "back").exists()


# Hostile histories


def captured_history(place: Path) -> Path:
    folder = repository(place / "m", a_md="a", b_md="b")
    commit(folder, "two", a_md="c")
    capture(folder, place / "s")
    return place / "s/folders/notes.bundle"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """Description and bundle of a repository with two commits."""
    place = tmp_path_factory.mktemp("whole")
    captured_history(place)
    return (place / "s/folders/notes.json").read_bytes(), (place / "s/folders/notes.bundle").read_bytes()


@settings(max_examples=60)
@given(data=st.data())
def test_a_changed_bundle_is_refused_or_means_the_same(
    whole: tuple[bytes, bytes], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("flip")
    described, bundle = whole
    raw = bytearray(bundle)
    at = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[at // 8] ^= 1 << (at % 8)
    write(place / "s", {"folders/notes.json": described, "folders/notes.bundle": bytes(raw)})

    try:
        stage_folder(place / "s", "notes", place / "back")
    except SnapshotDamaged:
        assert not (place / "back").exists()
    else:
        # The name of a ref may be another one now; what is checked out is not.
        assert tree(place / "back") == {"a.md": b"c", "b.md": b"b"}


@pytest.mark.parametrize("size", [0, 10, 100, -1, -20])
def test_a_cut_bundle_is_refused(tmp_path: Path, size: int) -> None:
    bundle = captured_history(tmp_path)
    bundle.write_bytes(bundle.read_bytes()[:size])

    refuse(tmp_path)


def test_a_part_of_a_history_is_refused(tmp_path: Path) -> None:
    bundle = captured_history(tmp_path)
    git(tmp_path / "m", "bundle", "create", "--quiet", str(bundle), "HEAD~1..main")

    refuse(tmp_path)


def test_another_head_than_described_is_refused(tmp_path: Path) -> None:
    captured_history(tmp_path)
    described = json.loads((tmp_path / "s/folders/notes.json").read_text())
    describe(tmp_path, **{**described, "head": git(tmp_path / "m", "rev-parse", "HEAD~1")})

    refuse(tmp_path)


class Forge:
    """A bundle of objects that git itself would not write."""

    def __init__(self) -> None:
        self.objects: list[tuple[int, bytes]] = []

    def add(self, kind: str, data: bytes) -> bytes:
        self.objects.append(({"commit": 1, "tree": 2, "blob": 3}[kind], data))
        return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data).digest()

    def tree(self, *entries: tuple[str, str, bytes]) -> bytes:
        return self.add("tree", b"".join(f"{mode} {name}\0".encode() + oid for mode, name, oid in entries))

    def write(self, place: Path, top: bytes) -> None:
        who = b"A <a@example.org> 0 +0000"
        text = b"tree " + top.hex().encode() + b"\nauthor " + who + b"\ncommitter " + who + b"\n\none\n"
        head = self.add("commit", text).hex()
        pack = b"PACK" + struct.pack(">II", 2, len(self.objects)) + b"".join(map(self._entry, self.objects))
        start = f"# v2 git bundle\n{head} refs/heads/main\n{head} HEAD\n\n".encode()
        write(place / "s", {"folders/notes.bundle": start + pack + hashlib.sha1(pack).digest()})
        describe(place, kind="git", head=head, branch="main")

    @staticmethod
    def _entry(one: tuple[int, bytes]) -> bytes:
        kind, data = one
        size = len(data)
        byte, size = (kind << 4) | (size & 15), size >> 4
        head = bytearray()
        while size:
            head.append(byte | 128)
            byte, size = size & 127, size >> 7
        return bytes([*head, byte]) + zlib.compress(data)


def test_a_forged_bundle_without_malice_is_taken(tmp_path: Path) -> None:
    forge = Forge()
    forge.write(tmp_path, forge.tree(("100644", "a", forge.add("blob", b"x"))))

    stage_folder(tmp_path / "s", "notes", tmp_path / "back")

    assert tree(tmp_path / "back") == {"a": b"x"}


@pytest.mark.parametrize("name", [".git", ".GIT", "..", ".", "", "a/b", "git~1", ".g\u200cit"])
def test_dangerous_names_in_a_history_are_refused(tmp_path: Path, name: str) -> None:
    forge = Forge()
    inner = forge.tree(("100755", "post-checkout", forge.add("blob", b"#!/bin/sh\n")))
    forge.write(tmp_path, forge.tree(("40000", name, inner)))

    refuse(tmp_path)


def test_a_link_in_a_history_leads_nowhere(tmp_path: Path) -> None:
    """A link to a folder outside, and a file to be written through it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    forge = Forge()
    link = forge.add("blob", str(outside).encode())
    forge.write(tmp_path, forge.tree(("120000", "sub", link)))
    described = json.loads((tmp_path / "s/folders/notes.json").read_text())
    describe(tmp_path, **{**described, "files": ["sub/x"]})
    write(tmp_path / "s", {"folders/notes/sub/x": "planted"})

    refuse(tmp_path)

    assert list(outside.iterdir()) == []


def test_a_history_with_a_file_twice_is_refused(tmp_path: Path) -> None:
    forge = Forge()
    blob = forge.add("blob", b"x")
    forge.write(tmp_path, forge.tree(("100644", "a", blob), ("100644", "a", blob)))

    refuse(tmp_path)


def test_a_missing_object_is_refused(tmp_path: Path) -> None:
    forge = Forge()
    forge.write(tmp_path, forge.tree(("100644", "a", b"\1" * 20)))

    refuse(tmp_path)


def test_a_tree_that_stands_for_countless_files_is_refused(tmp_path: Path) -> None:
    """Ten folders that each hold ten times the same folder, ten levels deep: 13 objects, 10^10 files."""
    forge = Forge()
    inner = forge.add("blob", b"x")
    mode = "100644"
    for _ in range(10):
        inner = forge.tree(*((mode, f"d{number}", inner) for number in range(10)))
        mode = "40000"
    forge.write(tmp_path, inner)

    refuse(tmp_path)


def test_files_that_would_fill_the_disk_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_restore, "TREE_BYTES", 1_000)
    forge = Forge()
    large = forge.add("blob", b"\0" * 600)
    forge.write(tmp_path, forge.tree(("100644", "a", large), ("100644", "b", large)))

    refuse(tmp_path)
