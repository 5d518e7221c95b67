"""Captured text without secrets: files, names, histories and what is reported of them."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from memory_repositories import SECRET, capture, commit, files, git, reasons, repository, tree, write

from holdfast.redact import SECRET_MARK, redact_text
from holdfast.snapshot.bundle.types import SkippedItem, StagedFile
from holdfast.snapshot.sources import text_chunks
from holdfast.snapshot.sources.folder_restore import stage_folder
from holdfast.snapshot.sources.memory_folder import CapturedFolder
from holdfast.snapshot.sources.redact import RedactedCapture, redact_staged
from holdfast.snapshot.sources.text_chunks import clean, pieces


def cleaned(folder: Path, place: Path, **options: bool | int) -> RedactedCapture:
    captured = capture(folder, place / "s")
    return redact_staged(captured.staged, place / "s", captured.left, **options)  # type: ignore[arg-type]


def restored(place: Path) -> dict[str, bytes]:
    stage_folder(place / "s", "notes", place / "back")
    return tree(place / "back")


def bytes_of(found: RedactedCapture) -> bytes:
    return b"".join(one.path.encode() + one.source.read_bytes() for one in found.capture.staged)


def left(found: RedactedCapture) -> dict[str, str]:
    return reasons(CapturedFolder((), found.capture.left))


def test_a_secret_in_a_file_is_replaced_and_reported(tmp_path: Path) -> None:
    files(tmp_path / "m", a_md=f"the token is {SECRET} for now", b_md="nothing here")

    found = cleaned(tmp_path / "m", tmp_path)

    assert restored(tmp_path) == {"a.md": f"the token is {SECRET_MARK} for now".encode(), "b.md": b"nothing here"}
    assert found.capture.redaction.applied
    assert found.capture.redaction.files == ("folders/notes/a.md",)
    assert [count for _, count in found.capture.redaction.rules] == [1]
    assert found.unscanned == 0


def test_without_redaction_everything_stays_and_it_is_said(tmp_path: Path) -> None:
    files(tmp_path / "m", a_md=SECRET)

    found = cleaned(tmp_path / "m", tmp_path, apply=False)

    assert restored(tmp_path) == {"a.md": SECRET.encode()}
    assert not found.capture.redaction.applied


def test_binary_files_are_kept_and_counted(tmp_path: Path) -> None:
    picture = b"\x89PNG\r\n\x1a\n\0\0" + SECRET.encode() + b"\xff\xfe"
    write(tmp_path / "m", {"a.png": picture, "empty": b"", "a.md": "text"})

    found = cleaned(tmp_path / "m", tmp_path)

    assert restored(tmp_path)["a.png"] == picture
    assert found.unscanned == 1


@pytest.mark.parametrize("around", [b"caf\xe9 ", b"\0 in UTF-8 "])
def test_text_in_other_encodings_is_looked_through(tmp_path: Path, around: bytes) -> None:
    write(tmp_path / "m", {"a": around + SECRET.encode() + b" end"})

    cleaned(tmp_path / "m", tmp_path)

    assert restored(tmp_path) == {"a": around + SECRET_MARK.encode() + b" end"}


def test_json_stays_json(tmp_path: Path) -> None:
    write(tmp_path / "m", {"a.json": json.dumps({"password": "hunter2!x", "note": 'a "quote"'})})

    cleaned(tmp_path / "m", tmp_path)

    assert json.loads(restored(tmp_path)["a.json"]) == {"password": SECRET_MARK, "note": 'a "quote"'}


def test_state_is_redacted_and_the_store_is_not_touched(tmp_path: Path) -> None:
    write(tmp_path, {"state/runtime.json": json.dumps({"token": SECRET}), "store/memory.db": SECRET})
    staged = (
        StagedFile("store/memory.db", "store", tmp_path / "store/memory.db"),
        StagedFile("state/runtime.json", "state", tmp_path / "state/runtime.json"),
    )

    found = redact_staged(staged, tmp_path)

    assert [one.path for one in found.capture.staged] == ["state/runtime.json", "store/memory.db"]
    assert SECRET not in (tmp_path / "state/runtime.json").read_text()
    assert (tmp_path / "store/memory.db").read_text() == SECRET


def test_a_secret_in_a_name_is_replaced_there_too(tmp_path: Path) -> None:
    write(tmp_path / "m", {f"{SECRET}.md": "1", f"{SECRET[:-1]}9.md": "2", f"d {SECRET}/x": "3"})

    found = cleaned(tmp_path / "m", tmp_path)

    assert SECRET.encode() not in bytes_of(found)
    assert sorted(restored(tmp_path).values()) == [b"1", b"2", b"3"]
    assert len(found.capture.redaction.files) == 4


def test_a_secret_in_the_name_of_something_left_out_is_not_reported(tmp_path: Path) -> None:
    found = redact_staged((), tmp_path, (SkippedItem(f"folders/notes/{SECRET}", "symlink"),))

    assert left(found) == {f"folders/notes/{SECRET_MARK}": "symlink"}


def test_a_clean_history_is_kept(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")

    found = cleaned(folder, tmp_path)

    assert [one.kind for one in found.capture.staged] == ["git_bundle", "folder"]
    assert restored(tmp_path) == {"a.md": b"a"}


def _in_a_blob(folder: Path) -> None:
    commit(folder, "bad", b_md=f"x {SECRET} y")
    commit(folder, "removed again", b_md="clean")


def _in_a_message(folder: Path) -> None:
    commit(folder, f"use {SECRET}", b_md="clean")


def _in_a_path(folder: Path) -> None:
    files(folder, b_md="clean")
    write(folder, {f"d/{SECRET}": ""})
    commit(folder, "bad")
    (folder / "d" / SECRET).unlink()
    commit(folder, "gone")


def _in_a_branch(folder: Path) -> None:
    commit(folder, "fine", b_md="clean")
    git(folder, "branch", f"use-{SECRET}")


def _in_a_tag(folder: Path) -> None:
    commit(folder, "fine", b_md="clean")
    git(folder, "tag", "-a", "v1", "-m", f"use {SECRET}")


def _in_a_stash(folder: Path) -> None:
    commit(folder, "fine", b_md="clean")
    files(folder, b_md=SECRET)
    git(folder, "stash", "--quiet")


@pytest.mark.parametrize("plant", [_in_a_blob, _in_a_message, _in_a_path, _in_a_branch, _in_a_tag, _in_a_stash])
def test_a_history_with_a_secret_is_left_out_and_its_files_are_kept(tmp_path: Path, plant: object) -> None:
    folder = repository(tmp_path / "m", a_md="a", run="#!/bin/sh")
    (folder / "run").chmod(0o755)
    assert callable(plant)
    plant(folder)
    files(folder, new_md="new", a_md=f"now {SECRET}")

    found = cleaned(folder, tmp_path)

    assert left(found)["folders/notes.bundle"].startswith("secret in history (rule ")
    assert SECRET.encode() not in bytes_of(found)
    assert not any(SECRET.encode() in path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file())
    assert restored(tmp_path) == {
        "a.md": f"now {SECRET_MARK}".encode(),
        "b.md": b"clean",
        "new.md": b"new",
        "run": b"#!/bin/sh",
    }
    assert json.loads((tmp_path / "s/folders/notes.json").read_text())["kind"] == "plain"
    assert (tmp_path / "back" / "run").stat().st_mode & 0o100


def test_files_of_a_history_with_a_secret_are_captured_as_plain_ones_would_be(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", A_md="1", large="x" * 200, gone="g", secret=SECRET)
    write(folder, {"a.md": "2"})
    commit(folder, "twin")
    (folder / "gone").unlink()

    found = cleaned(folder, tmp_path, limit=100)

    assert restored(tmp_path) == {"A.md": b"1", "secret": SECRET_MARK.encode()}
    assert left(found)["folders/notes/large"] == "too large"
    assert "case" in left(found)["folders/notes/a.md"]


def test_redacting_again_changes_nothing(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md=SECRET)
    write(folder, {f"{SECRET}.md": "x"})

    once = cleaned(folder, tmp_path)
    again = redact_staged(once.capture.staged, tmp_path / "s", once.capture.left)

    assert again.capture.staged == once.capture.staged
    assert again.capture.left == once.capture.left
    assert again.capture.redaction.files == ()


# Text larger than a piece


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_chunks, "PIECE", 400)
    monkeypatch.setattr(text_chunks, "ZONE", 200)
    monkeypatch.setattr(text_chunks, "HELD", 100_000)


KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(["MIIEpAIBAAKCAQEA7bq3"] * 6) + "\n-----END RSA PRIVATE KEY-----\n"
)
LINES = st.lists(
    st.sampled_from(
        [
            "plain words\n",
            "a longer line of ordinary words without any secret\n",
            f"token {SECRET}\n",
            KEY,
            "\n",
            "<private>\n",
            "</private>\n",
            "password: hunter2!x\n",
        ]
    ),
    min_size=20,
    max_size=80,
)


@pytest.mark.usefixtures("small_pieces")
@given(lines=LINES)
def test_pieces_hide_nothing_from_the_rules(lines: list[str]) -> None:
    text = "".join(lines)

    counts: Counter[str] = Counter()
    parts = list(pieces(io.BytesIO(text.encode()).read))
    shown = b"".join(clean(part, counts) or b"" for part in parts)

    assert b"".join(parts) == text.encode()
    assert shown.decode() == redact_text(text).value


@pytest.mark.usefixtures("small_pieces")
def test_a_long_text_is_cut(tmp_path: Path) -> None:
    assert len(list(pieces(io.BytesIO(b"words in a line\n" * 1_000).read))) > 20


def test_a_large_file_is_redacted_in_bounded_memory(tmp_path: Path) -> None:
    line = b"ordinary words in a line of a log that goes on and on\n"
    write(tmp_path / "m", {"log": line * 600_000 + SECRET.encode() + b"\n" + line})
    captured = capture(tmp_path / "m", tmp_path / "s", limit=100 << 20)

    tracemalloc.start()
    found = redact_staged(captured.staged, tmp_path / "s")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found.capture.redaction.files == ("folders/notes/log",)
    assert restored(tmp_path)["log"] == line * 600_000 + SECRET_MARK.encode() + b"\n" + line
    assert peak < 100 << 20
