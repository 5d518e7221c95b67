"""What changed between two captures: files, lines, commits and state."""

from __future__ import annotations

import difflib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from memory_repositories import capture, commit, files, git, repository, write

from holdfast.core.errors import SnapshotDamaged
from holdfast.snapshot.sources import line_diff
from holdfast.snapshot.sources.folder_diff import Commits, FileChange, FolderDiff, StateChange, diff_folders, diff_state
from holdfast.snapshot.sources.line_diff import LineCounts, count_lines


def compared(place: Path) -> tuple[FolderDiff, ...]:
    scratch = place / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    return diff_folders(place / "s", place / "t", scratch)


def test_equal_captures_do_not_differ(tmp_path: Path) -> None:
    files(tmp_path / "m", a_md="a")
    repository(tmp_path / "g", a_md="a")
    for side in ("s", "t"):
        capture(tmp_path / "m", tmp_path / side)
        capture(tmp_path / "g", tmp_path / side, "history")

    assert compared(tmp_path) == ()


def test_files_of_a_plain_folder_are_compared(tmp_path: Path) -> None:
    files(tmp_path / "m", same="s\n", gone="1\n2\n", changed="1\n2\n3\n")
    capture(tmp_path / "m", tmp_path / "s")
    files(tmp_path / "m", changed="1\n2 and more\n3\n4\n", new="x")
    (tmp_path / "m" / "gone").unlink()
    capture(tmp_path / "m", tmp_path / "t")

    assert compared(tmp_path) == (
        FolderDiff(
            "notes",
            "changed",
            (
                FileChange("changed", "changed", LineCounts(2, 1)),
                FileChange("gone", "removed", LineCounts(0, 2)),
                FileChange("new", "added", LineCounts(1, 0)),
            ),
            None,
        ),
    )


def test_binary_and_large_files_have_no_lines(tmp_path: Path) -> None:
    write(tmp_path / "m", {"binary": b"\0\1", "large": b"x\n" * (3 << 20)})
    capture(tmp_path / "m", tmp_path / "s", limit=100 << 20)
    write(tmp_path / "m", {"binary": b"\0\2", "large": b"y\n" * (3 << 20)})
    capture(tmp_path / "m", tmp_path / "t", limit=100 << 20)

    assert [(one.path, one.lines) for one in compared(tmp_path)[0].files] == [("binary", None), ("large", None)]


def test_a_new_folder_and_one_that_is_gone_are_said(tmp_path: Path) -> None:
    files(tmp_path / "m", a="a")
    capture(tmp_path / "m", tmp_path / "s", "old")
    capture(tmp_path / "m", tmp_path / "t", "young")

    assert [(one.name, one.how) for one in compared(tmp_path)] == [("old", "removed"), ("young", "added")]


def test_commits_between_two_heads_are_listed(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a\n")
    capture(folder, tmp_path / "s")
    commit(folder, "second", a_md="b\n")
    commit(folder, "third", b_md="new\n")
    files(folder, loose_md="not committed\n")
    capture(folder, tmp_path / "t")

    found = compared(tmp_path)[0]

    assert found.commits == Commits(2, 0, ("third", "second"), True)
    assert found.files == (
        FileChange("a.md", "changed", LineCounts(1, 1)),
        FileChange("b.md", "added", LineCounts(1, 0)),
        FileChange("loose.md", "added", LineCounts(1, 0)),
    )


def test_committing_what_lay_there_already_changes_no_file(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    files(folder, a_md="b", new_md="n")
    capture(folder, tmp_path / "s")
    commit(folder, "second")
    capture(folder, tmp_path / "t")

    found = compared(tmp_path)[0]

    assert found.files == ()
    assert found.commits == Commits(1, 0, ("second",), True)


def test_a_deleted_file_is_removed_whether_committed_or_not(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a\n", b_md="b\n")
    capture(folder, tmp_path / "s")
    (folder / "a.md").unlink()
    capture(folder, tmp_path / "t")

    assert compared(tmp_path)[0].files == (FileChange("a.md", "removed", LineCounts(0, 1)),)


def test_diverged_histories_count_both_ways(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    commit(folder, "left", a_md="l")
    capture(folder, tmp_path / "s")
    git(folder, "reset", "--quiet", "--hard", "HEAD~1")
    commit(folder, "right", a_md="r")
    capture(folder, tmp_path / "t")

    assert compared(tmp_path)[0].commits == Commits(1, 1, ("right",), True)


def test_unrelated_histories_are_said_to_be(tmp_path: Path) -> None:
    capture(repository(tmp_path / "m", a_md="a"), tmp_path / "s")
    capture(repository(tmp_path / "n", b_md="b"), tmp_path / "t")

    assert compared(tmp_path)[0].commits == Commits(1, 1, ("one",), False)


def test_a_folder_that_became_a_repository_changes_no_file(tmp_path: Path) -> None:
    files(tmp_path / "m", a_md="a")
    capture(tmp_path / "m", tmp_path / "s")
    repository(tmp_path / "m")
    capture(tmp_path / "m", tmp_path / "t")

    found = compared(tmp_path)[0]

    assert (found.files, found.commits) == ((), Commits(1, 0, ("one",), False))


def test_a_file_that_is_named_and_missing_is_a_fault(tmp_path: Path) -> None:
    files(tmp_path / "m", a_md="a")
    for side in ("s", "t"):
        capture(tmp_path / "m", tmp_path / side)
    (tmp_path / "t/folders/notes/a.md").unlink()

    with pytest.raises(SnapshotDamaged):
        compared(tmp_path)


TEXT = st.lists(st.sampled_from("abcd"), max_size=30)


@given(before=TEXT, after=TEXT)
def test_lines_are_counted_as_the_shortest_edit(before: list[str], after: list[str]) -> None:
    found = count_lines("\n".join(before).encode(), "\n".join(after).encode())

    old, new = "\n".join(before).splitlines(True), "\n".join(after).splitlines(True)
    common = _longest_common(old, new)
    assert found == LineCounts(len(new) - common, len(old) - common)


def _longest_common(old: list[str], new: list[str]) -> int:
    row = [0] * (len(new) + 1)
    for line in old:
        last = row
        row = [0]
        for at, other in enumerate(new):
            row.append(last[at] + 1 if line == other else max(last[at + 1], row[at]))
    return row[-1]


def test_texts_that_differ_too_much_are_counted_roughly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_diff, "EDITS", 5)

    assert count_lines(b"1\n2\n3\n4\n5\n", b"6\n7\n8\n9\n0\n") == LineCounts(5, 5, exact=False)
    assert count_lines(b"", b"1\n" * 50) == LineCounts(50, 0)


def test_a_usual_edit_is_counted_as_difflib_does() -> None:
    old = [f"line {number}\n" for number in range(200)]
    new = [*old[:50], "inserted\n", *old[60:150], "changed\n", *old[151:]]
    diff = [line[0] for line in difflib.ndiff(old, new)]

    assert count_lines("".join(old).encode(), "".join(new).encode()) == LineCounts(diff.count("+"), diff.count("-"))


def _states(place: Path, before: Any, after: Any) -> tuple[StateChange, ...]:
    for side, value in (("s", before), ("t", after)):
        if value is not None:
            write(place / side, {"state/runtime.json": json.dumps(value)})
    return diff_state(place / "s", place / "t")


def test_state_is_compared_key_by_key(tmp_path: Path) -> None:
    before = {"cursor": {"a": 1, "b": 2}, "same": [1], "gone": None, "empty": {}}
    after = {"cursor": {"a": 1, "b": 3}, "same": [1], "new": True, "empty": {}}

    assert _states(tmp_path, before, after) == (
        StateChange("cursor.b", "changed", 2, 3),
        StateChange("gone", "removed", None, None),
        StateChange("new", "added", None, True),
    )


def test_a_side_without_state_is_empty(tmp_path: Path) -> None:
    assert _states(tmp_path, None, {"a": 1}) == (StateChange("a", "added", None, 1),)


@pytest.mark.parametrize("data", ["", "[]", "{", "[" * 2_000])
def test_state_that_cannot_be_read_is_a_fault(tmp_path: Path, data: str) -> None:
    write(tmp_path, {"s/state/runtime.json": data})

    with pytest.raises(SnapshotDamaged):
        diff_state(tmp_path / "s", tmp_path / "t")
