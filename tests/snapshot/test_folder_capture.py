"""Capture of a plain memory folder: every file as it is, and a word for whatever is left out."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from memory_repositories import capture, files, reasons, staged_bytes, write

from holdfast.snapshot.bundle.types import SkippedItem
from holdfast.snapshot.sources import folder_walk
from holdfast.snapshot.sources.folder_walk import FILES, CopiedFile, WalkedFile, take, walk

NOBODY = 65534


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's right to read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_every_file_is_staged_under_its_path(tmp_path: Path) -> None:
    files(tmp_path / "m", MEMORY_md="index", topics__a_md="a")

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert [(one.path, one.kind) for one in captured.staged] == [
        ("folders/notes.json", "folder"),
        ("folders/notes/MEMORY.md", "file"),
        ("folders/notes/topics/a.md", "file"),
    ]
    assert staged_bytes(captured)["folders/notes/topics/a.md"] == b"a"
    assert captured.left == ()


def test_the_folder_is_described(tmp_path: Path) -> None:
    files(tmp_path / "m", b_md="b", a_md="a")
    (tmp_path / "m" / "b.md").chmod(0o700)

    described = json.loads(staged_bytes(capture(tmp_path / "m", tmp_path / "s"))["folders/notes.json"])

    assert described == {
        "name": "notes",
        "kind": "plain",
        "head": None,
        "branch": None,
        "subject": None,
        "files": ["a.md", "b.md"],
        "deleted": [],
        "executable": ["b.md"],
        "shallow": [],
    }


def test_nothing_but_the_staged_files_stays_in_the_staging_folder(tmp_path: Path) -> None:
    files(tmp_path / "m", a_md="a")

    captured = capture(tmp_path / "m", tmp_path / "s")

    left = {path for path in (tmp_path / "s").rglob("*") if path.is_file()}
    assert left == {one.source for one in captured.staged}


def test_a_folder_that_is_not_there_gives_nothing(tmp_path: Path) -> None:
    assert capture(tmp_path / "m", tmp_path / "s").staged == ()


def test_the_same_folder_gives_the_same_bytes(tmp_path: Path) -> None:
    files(tmp_path / "m", b_md="b", a__x_md="x", c_md="c")

    first = staged_bytes(capture(tmp_path / "m", tmp_path / "s"))

    assert staged_bytes(capture(tmp_path / "m", tmp_path / "t")) == first


def test_links_are_reported_and_not_followed(tmp_path: Path) -> None:
    files(tmp_path, outside_md="private", out__x_md="private")
    files(tmp_path / "m", a_md="a")
    (tmp_path / "m" / "file").symlink_to(tmp_path / "outside.md")
    (tmp_path / "m" / "folder").symlink_to(tmp_path / "out")
    (tmp_path / "m" / "gone").symlink_to("nowhere")

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert b"private" not in b"".join(staged_bytes(captured).values())
    assert reasons(captured) == {f"folders/notes/{name}": "symlink" for name in ("file", "folder", "gone")}


def test_special_files_are_reported_and_not_opened(tmp_path: Path) -> None:
    files(tmp_path / "m", a_md="a")
    os.mkfifo(tmp_path / "m" / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "m" / "socket"))
        captured = capture(tmp_path / "m", tmp_path / "s")

    assert reasons(captured) == {
        "folders/notes/pipe": "not a regular file",
        "folders/notes/socket": "not a regular file",
    }


def test_a_file_over_the_limit_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "m", {"at": b"x" * 100, "over": b"x" * 101})

    captured = capture(tmp_path / "m", tmp_path / "s", limit=100)

    assert "folders/notes/at" in staged_bytes(captured)
    assert reasons(captured) == {"folders/notes/over": "too large"}
    assert not (tmp_path / "s" / "folders/notes/over").exists()


def test_what_may_not_be_read_is_reported(tmp_path: Path) -> None:
    files(tmp_path / "m", a_md="a", closed_md="c", shut__b_md="b")
    (tmp_path / "m" / "closed.md").chmod(0)
    (tmp_path / "m" / "shut").chmod(0)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and Path(tempfile.gettempdir()) in folder.parents:
            folder.chmod(0o755)

    with as_nobody():
        found = [one if isinstance(one, SkippedItem) else (one.path, take(one, 100)) for one in walk(tmp_path / "m")]

    assert found[1:] == [("closed.md", SkippedItem("closed.md", "unreadable")), SkippedItem("shut", "unreadable")]


@pytest.mark.parametrize(
    ("name", "shown", "reason"),
    [
        (b"caf\xe9", "caf\\xe9", "its name is not UTF-8"),
        (b"a\nb", "a\\x0ab", "control character in its name"),
        (b"a\x7fb", "a\\x7fb", "control character in its name"),
        (b"a\\b", "a\\b", "backslash in its name"),
    ],
)
def test_a_name_that_no_bundle_can_hold_is_reported(tmp_path: Path, name: bytes, shown: str, reason: str) -> None:
    files(tmp_path / "m", a_md="a")
    Path(os.fsdecode(os.fsencode(tmp_path / "m") + b"/" + name)).write_text("x")

    assert reasons(capture(tmp_path / "m", tmp_path / "s")) == {f"folders/notes/{shown}": reason}


@pytest.mark.parametrize(
    ("first", "second"),
    [("A.md", "a.md"), (unicodedata.normalize("NFD", "é.md"), unicodedata.normalize("NFC", "é.md")), ("B/x", "b")],
)
def test_the_second_of_two_twins_is_reported(tmp_path: Path, first: str, second: str) -> None:
    write(tmp_path / "m", {first: "1", second: "2"})

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert len([one for one in captured.staged if one.kind == "file"]) == 1
    assert list(reasons(captured).values()) == ["its name differs from another only in case or form"]


def test_a_file_swapped_for_a_link_before_it_is_opened_is_not_followed(tmp_path: Path) -> None:
    files(tmp_path, outside_md="private")
    files(tmp_path / "m", a_md="a")
    for found in walk(tmp_path / "m"):
        assert isinstance(found, WalkedFile)
        (tmp_path / "m" / "a.md").unlink()
        (tmp_path / "m" / "a.md").symlink_to(tmp_path / "outside.md")

        assert take(found, 100, tmp_path / "s") == SkippedItem("a.md", "symlink")
    assert not (tmp_path / "s").exists()


def test_a_file_swapped_for_a_pipe_before_it_is_opened_does_not_hang(tmp_path: Path) -> None:
    files(tmp_path / "m", a_md="a")
    for found in walk(tmp_path / "m"):
        assert isinstance(found, WalkedFile)
        (tmp_path / "m" / "a.md").unlink()
        os.mkfifo(tmp_path / "m" / "a.md")

        assert take(found, 100, tmp_path / "s") == SkippedItem("a.md", "not a regular file")


def test_a_folder_swapped_for_a_link_after_the_walk_entered_it_stays_the_folder(tmp_path: Path) -> None:
    files(tmp_path, out__a_md="private", out__b_md="private")
    files(tmp_path / "m", in__a_md="mine", in__b_md="mine")
    read = []
    for number, found in enumerate(walk(tmp_path / "m")):
        assert isinstance(found, WalkedFile)
        if number == 0:
            (tmp_path / "m" / "in").rename(tmp_path / "away")
            (tmp_path / "m" / "in").symlink_to(tmp_path / "out")
        assert isinstance(take(found, 100, tmp_path / "s"), CopiedFile)
        read.append((tmp_path / "s").read_text())

    assert read == ["mine", "mine"]


def _growing(path: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file gets longer right after it was looked at, so many times."""
    real, count = os.read, 0

    def read(handle: int, size: int) -> bytes:
        nonlocal count
        data = real(handle, size)
        if count < times:
            count += 1
            with path.open("ab") as file:
                file.write(b"+")
        return data

    monkeypatch.setattr(folder_walk.os, "read", read)


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(tmp_path / "m", a_md="a")
    _growing(tmp_path / "m" / "a.md", 1, monkeypatch)

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert staged_bytes(captured)["folders/notes/a.md"] == b"a+"


def test_a_file_that_never_stands_still_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(tmp_path / "m", a_md="a")
    _growing(tmp_path / "m" / "a.md", 10, monkeypatch)

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert reasons(captured) == {"folders/notes/a.md": "changed while it was read"}
    assert not (tmp_path / "s" / "folders/notes/a.md").exists()


def test_a_folder_nested_too_deep_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "m", {"d/" * 70 + "x": "x", "d/" * 59 + "y": "y"})

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert [one.path for one in captured.staged] == ["folders/notes.json", "folders/notes/" + "d/" * 59 + "y"]
    assert list(reasons(captured).values()) == ["nested deeper than 59 folders"]


def test_more_files_than_a_bundle_takes_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert FILES < 200_000
    monkeypatch.setattr(folder_walk, "FILES", 3)
    write(tmp_path / "m", {str(number): "x" for number in range(5)})

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert len(captured.staged) == 4
    assert reasons(captured) == {"folders/notes": "more than 3 files; the rest"}


NAME = st.text(min_size=1, max_size=12).filter(
    lambda name: "/" not in name and "\0" not in name and name not in (".", "..") and _encodes(name)
)


def _encodes(name: str) -> bool:
    try:
        return len(name.encode()) <= 200
    except UnicodeEncodeError:
        return False


@given(
    content=st.dictionaries(st.lists(NAME, min_size=1, max_size=3).map("/".join), st.binary(max_size=40), max_size=6)
)
def test_every_file_of_any_tree_is_staged_or_reported(
    content: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("tree")
    written = {}
    for name, data in content.items():
        try:
            write(place / "m", {name: data})
        except OSError:
            continue  # a file where another path needs a folder
        written[name] = data

    captured = capture(place / "m", place / "s")

    staged = {path.removeprefix("folders/notes/"): data for path, data in staged_bytes(captured).items()}
    staged.pop("folders/notes.json", None)
    assert staged.items() <= written.items()
    told = len(captured.left)
    assert told >= 1 if len(staged) < len(written) else told == 0
