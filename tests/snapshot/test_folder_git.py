"""A memory folder that is a git repository: its history as a bundle, its uncommitted work beside, and the way back."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from memory_repositories import (
    SECRET,
    capture,
    commit,
    files,
    git,
    reasons,
    repository,
    staged_bytes,
    tree,
    write,
)

from holdfast.snapshot.bundle.types import SkippedItem
from holdfast.snapshot.sources.folder_restore import stage_folder
from holdfast.snapshot.sources.folder_walk import WalkedFile, walk
from holdfast.snapshot.sources.git import git_repository
from holdfast.snapshot.sources.memory_folder import CapturedFolder


def described(captured: CapturedFolder) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(staged_bytes(captured)["folders/notes.json"])
    return found


def there_and_back(folder: Path, place: Path) -> Path:
    """The folder as it is restored from its capture."""
    capture(folder, place / "staging")
    stage_folder(place / "staging", "notes", place / "restored")
    return place / "restored"


def refs(folder: Path) -> str:
    return git(folder, "for-each-ref", "--format=%(objectname) %(refname)")


def test_a_repository_is_captured_as_a_real_bundle(tmp_path: Path) -> None:
    repository(tmp_path / "m", a_md="a")

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert [(one.path, one.kind) for one in captured.staged] == [
        ("folders/notes.bundle", "git_bundle"),
        ("folders/notes.json", "folder"),
    ]
    git(tmp_path, "clone", "--quiet", str(tmp_path / "s/folders/notes.bundle"), "clone")
    assert tree(tmp_path / "clone") == {"a.md": b"a"}
    assert captured.left == ()


def test_the_description_says_what_is_checked_out(tmp_path: Path) -> None:
    repository(tmp_path / "m", a_md="a")
    head = commit(tmp_path / "m", "second\n\nwith a bundle", a_md="b")

    found = described(capture(tmp_path / "m", tmp_path / "s"))

    assert (found["kind"], found["head"], found["branch"], found["subject"]) == ("git", head, "main", "second")


def test_all_refs_and_the_working_tree_come_back(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a", topics__b_md="b")
    git(folder, "branch", "side")
    git(folder, "tag", "-a", "v1", "-m", "first")
    commit(folder, "two", a_md="a2")
    files(folder, loose_md="stashed")
    git(folder, "stash", "--include-untracked", "--quiet")

    back = there_and_back(folder, tmp_path)

    assert refs(back) == refs(folder)
    assert "refs/stash" in refs(back)
    assert git(back, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(back, "status", "--porcelain") == ""
    assert tree(back) == tree(folder)
    git(back, "fsck", "--strict")


def test_every_stash_comes_back(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    stashed = []
    for text in ("first", "second", "third"):
        files(folder, a_md=text)
        git(folder, "stash", "--quiet")
        stashed.append(git(folder, "rev-parse", "refs/stash"))

    back = there_and_back(folder, tmp_path)

    assert git(back, "rev-parse", "refs/stash") == stashed[-1]
    assert [git(back, "rev-parse", f"refs/holdfast/stash/{oid}") for oid in stashed[:2]] == stashed[:2]
    assert git(back, "show", f"{stashed[0]}:a.md") == "first"


def test_uncommitted_work_comes_back(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", same_md="s", changed_md="c", gone_md="g", topics__gone_md="g")
    files(folder, changed_md="C", new_md="n", topics__new_md="n")
    (folder / "gone.md").unlink()
    (folder / "topics" / "gone.md").unlink()

    found = described(capture(folder, tmp_path / "s"))
    back = there_and_back(folder, tmp_path)

    assert found["files"] == ["changed.md", "new.md", "topics/new.md"]
    assert found["deleted"] == ["gone.md", "topics/gone.md"]
    assert tree(back) == tree(folder)
    assert git(back, "status", "--porcelain") == git(folder, "status", "--porcelain")


def test_a_file_that_became_a_folder_and_a_folder_that_became_a_file_come_back(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a="file", b__x__y="deep")
    (folder / "a").unlink()
    shutil.rmtree(folder / "b")
    write(folder, {"a/inner": "now a folder", "b": "now a file"})

    assert tree(there_and_back(folder, tmp_path)) == tree(folder)


def test_ignored_files_are_reported_and_not_captured(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    write(
        folder,
        {
            ".gitignore": "cache/\n*.log\n!keep.log\n",
            "sub/.gitignore": "local\n",
            "cache/x": "1",
            "cache/y/z": "2",
            "run.log": "3",
            "keep.log": "kept",
            "sub/local": "4",
            "sub/shared": "kept",
        },
    )
    (folder / ".git/info/exclude").write_text("mine\n")
    files(folder, mine="5")

    captured = capture(folder, tmp_path / "s")

    assert described(captured)["files"] == [".gitignore", "keep.log", "sub/.gitignore", "sub/shared"]
    assert reasons(captured) == {
        "folders/notes/cache": "ignored by git (2 files)",
        "folders/notes/mine": "ignored by git (1 files)",
        "folders/notes/run.log": "ignored by git (1 files)",
        "folders/notes/sub": "ignored by git (1 files)",
    }


def test_an_ignored_file_that_was_added_is_captured(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    write(folder, {".gitignore": "*.log\n", "added.log": "added", "other.log": "other"})
    git(folder, "add", "--force", "added.log")

    assert described(capture(folder, tmp_path / "s"))["files"] == [".gitignore", "added.log"]


def test_a_large_file_that_is_committed_is_not_missed(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", large="x" * 500, changed="x" * 500)
    files(folder, changed="y" * 500)

    captured = capture(folder, tmp_path / "s", limit=100)

    assert reasons(captured) == {"folders/notes/changed": "too large"}
    assert described(captured)["deleted"] == []


def test_the_right_to_run_a_file_comes_back(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", committed="1", later="2")
    (folder / "committed").chmod(0o755)
    commit(folder, "two")
    (folder / "later").chmod(0o755)
    write(folder, {"new": "3"})
    (folder / "new").chmod(0o755)

    back = there_and_back(folder, tmp_path)

    assert [os.access(back / name, os.X_OK) for name in ("committed", "later", "new")] == [True] * 3
    assert git(back, "status", "--porcelain") == git(folder, "status", "--porcelain")


def test_a_detached_head_comes_back(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    commit(folder, "two", a_md="b")
    git(folder, "checkout", "--quiet", "--detach", "HEAD~1")
    head = commit(folder, "off the branch", a_md="c")

    back = there_and_back(folder, tmp_path)

    assert (back / ".git/HEAD").read_text() == f"{head}\n"
    assert refs(back) == refs(folder)
    assert tree(back) == {"a.md": b"c"}


def test_a_branch_without_commits_comes_back_beside_the_others(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    git(folder, "checkout", "--quiet", "--orphan", "fresh")

    back = there_and_back(folder, tmp_path)

    assert git(back, "symbolic-ref", "HEAD") == "refs/heads/fresh"
    assert refs(back) == refs(folder)
    assert tree(back) == tree(folder)


def test_a_repository_without_commits_is_a_plain_folder(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    git(tmp_path / "m", "init", "--quiet")
    files(tmp_path / "m", a_md="a")

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert described(captured)["kind"] == "plain"
    assert described(captured)["files"] == ["a.md"]
    assert captured.left == ()


def test_a_shallow_clone_comes_back(tmp_path: Path) -> None:
    folder = repository(tmp_path / "origin", a_md="a")
    for number in range(4):
        commit(folder, f"commit {number}", a_md=str(number))
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{folder}", "m")

    back = there_and_back(tmp_path / "m", tmp_path)

    assert git(back, "log", "--format=%H") == git(tmp_path / "m", "log", "--format=%H")
    assert git(back, "rev-parse", "--is-shallow-repository") == "true"
    git(back, "fsck")


def test_a_linked_worktree_brings_its_own_branch(tmp_path: Path) -> None:
    main = repository(tmp_path / "main", a_md="a")
    git(main, "worktree", "add", "--quiet", "-b", "notes", str(tmp_path / "m"))
    commit(tmp_path / "m", "note", b_md="b")
    commit(main, "not the memory's", c_md="c")

    captured = capture(tmp_path / "m", tmp_path / "s")
    back = there_and_back(tmp_path / "m", tmp_path)

    assert [line.split()[1] for line in refs(back).splitlines()] == ["refs/heads/notes"]
    assert tree(back) == {"a.md": b"a", "b.md": b"b"}
    assert reasons(captured) == {"folders/notes.bundle": "1 other refs of the repository it is a worktree of"}


def test_a_git_file_that_leads_to_a_stranger_is_not_followed(tmp_path: Path) -> None:
    repository(tmp_path / "private", secret_md="private")
    files(tmp_path / "m", a_md="a")
    (tmp_path / "m" / ".git").write_text(f"gitdir: {tmp_path / 'private' / '.git'}\n")

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert described(captured)["kind"] == "plain"
    assert reasons(captured) == {"folders/notes.bundle": "its repository is in another folder"}


def test_a_made_up_worktree_of_a_stranger_is_not_followed(tmp_path: Path) -> None:
    """Pointer and pointer back both lie in the memory folder, where whoever attacks can write."""
    repository(tmp_path / "private", secret_md="private")
    write(
        tmp_path / "m",
        {
            "a.md": "a",
            ".git": "gitdir: worktrees/x\n",
            "worktrees/x/gitdir": f"{tmp_path / 'm' / '.git'}\n",
            "worktrees/x/commondir": f"{tmp_path / 'private' / '.git'}\n",
            "worktrees/x/HEAD": "ref: refs/heads/main\n",
        },
    )

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert described(captured)["kind"] == "plain"
    assert reasons(captured) == {"folders/notes.bundle": "its repository is in another folder"}


def test_a_submodule_is_captured_as_files(tmp_path: Path) -> None:
    repository(tmp_path / "origin", a_md="a")
    main = repository(tmp_path / "main")
    git(main, "submodule", "--quiet", "add", str(tmp_path / "origin"), "m")

    captured = capture(main / "m", tmp_path / "s")

    assert described(captured)["files"] == ["a.md"]
    assert reasons(captured) == {"folders/notes.bundle": "its repository is in another folder"}


def test_a_repository_with_a_submodule_comes_back_with_its_files(tmp_path: Path) -> None:
    repository(tmp_path / "origin", a_md="a")
    main = repository(tmp_path / "m", b_md="b")
    git(main, "submodule", "--quiet", "add", str(tmp_path / "origin"), "sub")
    commit(main, "submodule")

    assert tree(there_and_back(main, tmp_path)) == tree(main)


@pytest.mark.parametrize("pointer", [".git", ".git/objects", ".git/objects/pack", "one object"])
def test_objects_behind_a_link_are_not_followed(tmp_path: Path, pointer: str) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    if pointer == "one object":
        pointer = str(next(folder.glob(".git/objects/??/*")).relative_to(folder))
    (folder / pointer).rename(tmp_path / "away")
    (folder / pointer).symlink_to(tmp_path / "away")

    captured = capture(folder, tmp_path / "s")

    assert described(captured)["kind"] == "plain"
    assert "symlink" in reasons(captured)["folders/notes.bundle"]


def test_objects_of_another_repository_are_reported(tmp_path: Path) -> None:
    repository(tmp_path / "private", a_md="a")
    git(tmp_path, "clone", "--quiet", "--shared", str(tmp_path / "private"), "m")

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert described(captured)["kind"] == "plain"
    assert reasons(captured) == {"folders/notes.bundle": "its objects are in another repository"}


def test_a_format_that_is_not_known_is_reported(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    git(tmp_path / "m", "init", "--quiet", "--object-format=sha256")
    commit(tmp_path / "m", "one", a_md="a")

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert described(captured)["files"] == ["a.md"]
    assert reasons(captured) == {"folders/notes.bundle": "its format is unknown"}


def test_a_damaged_history_is_reported_and_the_files_are_captured(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    blob = git(folder, "rev-parse", "HEAD:a.md")
    (folder / ".git/objects" / blob[:2] / blob[2:]).unlink()

    captured = capture(folder, tmp_path / "s")

    assert described(captured)["files"] == ["a.md"]
    assert reasons(captured) == {"folders/notes.bundle": "its history is damaged or incomplete"}
    assert not (tmp_path / "s/folders/notes.bundle").exists()


def test_one_broken_branch_does_not_cost_the_others(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    (folder / ".git/refs/heads/broken").write_text("0" * 39 + "1\n")
    (folder / ".git/refs/heads/nonsense").write_text("what\n")

    captured = capture(folder, tmp_path / "s")

    assert described(captured)["kind"] == "git"
    assert reasons(captured) == {
        "folders/notes/.git/refs/heads/broken": "the commit it names is missing",
        "folders/notes/.git/refs/heads/nonsense": "a ref that cannot be read",
    }


def test_packed_refs_count_less_than_loose_ones(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    git(folder, "branch", "side")
    git(folder, "pack-refs", "--all")
    commit(folder, "two", a_md="b")

    assert refs(there_and_back(folder, tmp_path)) == refs(folder)


def test_a_repository_inside_is_captured_as_files_and_its_history_reported(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    repository(folder / "inner", b_md="b")

    captured = capture(folder, tmp_path / "s")

    assert described(captured)["files"] == ["inner/b.md"]
    assert reasons(captured) == {"folders/notes/inner/.git": "history of a repository inside the folder"}


def test_the_same_repository_gives_the_same_bytes(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", **{f"f{number}_md": "line\n" * number for number in range(60)})
    for number in range(8):
        commit(folder, str(number), f3_md=f"changed {number}\n" * 50)
    git(folder, "gc", "--quiet")
    commit(folder, "loose", f4_md="x")

    first = staged_bytes(capture(folder, tmp_path / "s"))

    assert staged_bytes(capture(folder, tmp_path / "t")) == first


def test_captures_while_commits_go_on_are_whole(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="0", b_md="0")
    done = threading.Event()

    def work() -> None:
        for number in range(30):
            commit(folder, str(number), a_md=str(number), b_md=str(number))
            if number % 10 == 9:
                git(folder, "gc", "--quiet", "--prune=now")
        done.set()

    writer = threading.Thread(target=work)
    writer.start()
    try:
        captures = 0
        while captures < 3 or not done.is_set():
            place = tmp_path / str(captures)
            captured = capture(folder, place / "s")
            stage_folder(place / "s", "notes", place / "back")
            assert described(captured)["kind"] == "git"
            git(place / "back", "fsck", "--strict")
            captures += 1
    finally:
        writer.join()


def test_refs_that_git_packs_while_they_are_read_are_all_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = repository(tmp_path / "m", a_md="0")
    git(folder, "branch", "side")
    expected = refs(folder)

    def walk_and_pack(root: Path) -> Iterator[WalkedFile | SkippedItem]:
        git(folder, "pack-refs", "--all")
        yield from walk(root)
        git(folder, "tag", "--force", "late")
        git(folder, "pack-refs", "--all")

    monkeypatch.setattr(git_repository, "walk", walk_and_pack)

    back = there_and_back(folder, tmp_path)

    assert expected in refs(back)
    assert reasons(capture(folder, tmp_path / "again")) == {}


def test_a_folder_of_objects_that_git_removes_meanwhile_costs_no_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "m", a_md="0")
    emptied = folder / ".git/objects/00"
    emptied.mkdir(exist_ok=True)
    listed = os.scandir

    @contextmanager
    def list_and_tidy(place: Path) -> Iterator[list[os.DirEntry[str]]]:
        with listed(place) as entries:
            found = list(entries)
        if emptied in [Path(entry.path) for entry in found]:
            shutil.rmtree(emptied)
        yield found

    monkeypatch.setattr(git_repository.os, "scandir", list_and_tidy)

    read = git_repository.read_repository(folder, tmp_path)

    assert isinstance(read, git_repository.GitRepository)
    assert not emptied.exists()


# A hostile repository


def _alarm(place: Path) -> tuple[Path, Path]:
    """A program that leaves a trace when it runs, and the trace."""
    program, trace = place / "alarm", place / "trace"
    program.write_text(f"#!/bin/sh\ntouch {trace}\ncat\n")
    program.chmod(0o755)
    return program, trace


@pytest.mark.parametrize(
    "setting",
    [
        "core.fsmonitor",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "core.gitProxy",
        "uploadpack.packObjectsHook",
        "gpg.program",
        "credential.helper",
    ],
)
def test_no_program_of_the_repositorys_config_runs(tmp_path: Path, setting: str) -> None:
    program, trace = _alarm(tmp_path)
    folder = repository(tmp_path / "m", a_md="a")
    write(folder, {".gitattributes": "* filter=x diff=x\n", "b.md": "b"})
    commit(folder, "attributes")
    files(folder, a_md="changed", new_md="new")
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
        shutil.copy(program, folder / ".git/hooks" / hook)
    git(folder, "config", setting, str(program))
    git(folder, "config", "core.hooksPath", str(folder / ".git/hooks"))
    included = tmp_path / "included"
    included.write_text(f"[core]\n\tfsmonitor = {program}\n")
    git(folder, "config", "include.path", str(included))
    trace.unlink(missing_ok=True)

    back = there_and_back(folder, tmp_path)

    assert not trace.exists()
    assert tree(back) == tree(folder)


def test_the_planted_programs_would_run_for_a_user(tmp_path: Path) -> None:
    """So that the test above can fail."""
    program, trace = _alarm(tmp_path)
    folder = repository(tmp_path / "m", a_md="a")
    git(folder, "config", "core.fsmonitor", str(program))
    git(folder, "status")

    assert trace.exists()


def test_a_partial_clone_is_reported_and_fetches_nothing(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin", a_md="a")
    commit(origin, "two", a_md="b")
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{origin}", "m")
    program, trace = _alarm(tmp_path)
    git(tmp_path / "m", "config", "remote.origin.uploadpack", str(program))

    captured = capture(tmp_path / "m", tmp_path / "s")

    assert described(captured)["files"] == ["a.md"]
    assert reasons(captured) == {"folders/notes.bundle": "its history is damaged or incomplete"}
    assert not trace.exists()


def test_attributes_do_not_change_what_is_restored(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="one\ntwo $Id$\n")
    write(folder, {".gitattributes": "*.md text eol=crlf ident working-tree-encoding=UTF-16\n"})
    git(folder, "add", ".gitattributes")
    git(folder, "commit", "--quiet", "-m", "attributes")

    assert tree(there_and_back(folder, tmp_path)) == tree(folder)


def test_a_link_in_the_history_becomes_a_file(tmp_path: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    (folder / "link").symlink_to("/etc/passwd")
    commit(folder, "link")

    captured = capture(folder, tmp_path / "s")
    back = there_and_back(folder, tmp_path)

    assert reasons(captured) == {"folders/notes/link": "symlink"}
    assert not (back / "link").is_symlink()
    assert (back / "link").read_text() == "/etc/passwd"


def test_git_missing_is_reported_and_the_files_are_captured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    monkeypatch.setenv("PATH", str(tmp_path))

    captured = capture(folder, tmp_path / "s")

    assert described(captured)["files"] == ["a.md"]
    assert reasons(captured) == {"folders/notes.bundle": "git is not installed"}


PATHS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=3).map("/".join)
TREES = st.dictionaries(PATHS, st.sampled_from(["", "one", "two", SECRET[:4]]), max_size=5)


def _become(folder: Path, wanted: dict[str, str]) -> None:
    for path in list(folder.iterdir()):
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, text in wanted.items():
        try:
            write(folder, {name: text})
        except OSError:
            continue  # a file where another path needs a folder


@settings(max_examples=15)
@given(committed=TREES, later=TREES)
def test_any_working_tree_over_any_commit_comes_back(
    committed: dict[str, str], later: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("git")
    folder = repository(place / "m")
    _become(folder, committed)
    commit(folder, "state")
    _become(folder, later)

    back = there_and_back(folder, place)

    assert tree(back) == tree(folder)
    assert refs(back) == refs(folder)
