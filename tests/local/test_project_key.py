"""Which project a folder belongs to, read from real repositories and from files that only look like one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from patience import WAIT_SECONDS
from rows import each

from holdfast.local.project_key import (
    KEY_CHARS,
    ends_with,
    is_key,
    is_path,
    last_part,
    project_key,
    remote_key,
    repository_key,
)


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=T", "-c", "user.email=t@e.x", "-c", "init.defaultBranch=main"]
    quiet = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, env=quiet)


def repository(folder: Path, remote: str | None = None) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


@each(
    "url",
    [
        "https://github.com/borealis/platform.git",
        "https://github.com/borealis/platform",
        "https://github.com/borealis/platform/",
        "https://user:ghp_private@GitHub.com/borealis/platform.git",
        "https://github.com:443/Borealis/Platform.git",
        "http://github.com/borealis//platform",
        "git@github.com:borealis/platform.git",
        "github.com:borealis/platform",
        "ssh://git@github.com/borealis/platform.git",
        "ssh://git@github.com:22/borealis/platform",
        "ssh://git@ssh.github.com:443/borealis/platform.git",
        "git+ssh://git@github.com/borealis/platform.git",
        "git://github.com/borealis/platform.git",
        "https://github.com/borealis/platform.git?token=secret#main",
    ],
)
def test_every_form_of_an_address_is_one_key(url: str) -> None:
    assert remote_key(url) == "github.com/borealis/platform"


@each(
    "url, key",
    [
        ("https://git.example.org:8443/Team/Repo.git", "git.example.org:8443/Team/Repo"),
        ("ssh://git@git.example.org:2222/team/repo.git", "git.example.org:2222/team/repo"),
        ("git@[::1]:team/repo.git", "[::1]/team/repo"),
        ("ssh://git@[::1]/team/repo.git", "[::1]/team/repo"),
        ("/srv/git/repo.git", None),
        ("../repo.git", None),
        ("file:///srv/git/repo.git", None),
        ("C:\\work\\repo", None),
        ("C:/work/repo", None),
        ("https://github.com/", None),
        ("https:///borealis/platform", None),
        ("", None),
        ("git@github.com:a\nb", None),
        ("x" * 3_000, None),
    ],
)
def test_other_addresses_keep_their_place_or_are_none(url: str, key: str | None) -> None:
    assert remote_key(url) == key


@given(st.text(max_size=60))
def test_no_text_breaks_the_reading_of_an_address(url: str) -> None:
    key = remote_key(url)
    assert key is None or (key.isprintable() and "@" not in key.partition("/")[0])


@given(st.text(alphabet="abc:/@.-", min_size=1, max_size=20))
def test_a_password_never_gets_into_a_key(password: str) -> None:
    key = remote_key(f"https://user:SECRET{password}@example.org/team/repo.git")
    assert key is None or "SECRET" not in key


def test_two_folders_of_the_same_name_are_two_projects(tmp_path: Path) -> None:
    first = repository(tmp_path / "a/platform", "git@github.com:borealis/platform.git")
    second = repository(tmp_path / "b/platform", "git@github.com:ops/platform.git")
    assert project_key(str(first)) == "github.com/borealis/platform"
    assert project_key(str(second)) == "github.com/ops/platform"


def test_clones_of_one_remote_are_one_project(tmp_path: Path) -> None:
    first = repository(tmp_path / "one", "https://github.com/borealis/platform.git")
    second = repository(tmp_path / "two", "git@github.com:borealis/platform")
    (second / "src/deep").mkdir(parents=True)
    assert project_key(str(first)) == project_key(str(second / "src/deep"))


@pytest.mark.parametrize("remote", [None, "git@github.com:borealis/platform.git"])
def test_worktrees_of_a_repository_are_one_project(tmp_path: Path, remote: str | None) -> None:
    main = repository(tmp_path / "main", remote)
    git(main, "commit", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(tmp_path / "beside"))
    assert project_key(str(tmp_path / "beside")) == project_key(str(main))
    assert project_key(str(main)) == ("github.com/borealis/platform" if remote else str(main.resolve()))


def test_without_a_remote_the_root_of_the_repository_counts(tmp_path: Path) -> None:
    main = repository(tmp_path / "shop")
    (main / "src").mkdir()
    assert project_key(str(main / "src")) == str(main.resolve())


def test_without_a_repository_the_folder_itself_counts(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    assert project_key(str(tmp_path / "link")) == str((tmp_path / "plain").resolve())
    assert project_key(str(tmp_path / "gone")) == str(tmp_path.resolve() / "gone")


def test_a_folder_outside_of_any_repository_has_no_key_of_one(tmp_path: Path) -> None:
    assert repository_key(str(tmp_path)) is None
    assert repository_key(str(repository(tmp_path / "shop"))) == str((tmp_path / "shop").resolve())


def test_origin_comes_before_other_remotes_and_the_first_counts_without_it(tmp_path: Path) -> None:
    main = repository(tmp_path / "fork")
    git(main, "remote", "add", "upstream", "https://example.org/theirs/repo.git")
    assert project_key(str(main)) == "example.org/theirs/repo"
    git(main, "remote", "add", "origin", "https://example.org/mine/repo.git")
    assert project_key(str(main)) == "example.org/mine/repo"


def test_a_remote_that_is_a_folder_is_known_by_its_path(tmp_path: Path) -> None:
    git_folder = tmp_path / "depot.git"
    git_folder.mkdir()
    git(git_folder, "init", "-q", "--bare")
    clones = [repository(tmp_path / name, str(git_folder)) for name in ("one", "two")]
    assert {project_key(str(clone)) for clone in clones} == {str(tmp_path.resolve() / "depot")}


def test_files_that_are_not_what_git_writes_are_passed_over(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.mkdir()
    os.mkfifo(odd / ".git")
    assert project_key(str(odd)) == str(odd.resolve())
    large = repository(tmp_path / "large", "git@github.com:borealis/platform.git")
    config = large / ".git/config"
    config.write_text(config.read_text() + "#" * 300_000)
    assert project_key(str(large)) == str(large.resolve())
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / ".git").write_text("gitdir: ../nowhere\n")
    assert project_key(str(broken)) == str(broken.resolve())


def test_a_key_fits_every_request(tmp_path: Path) -> None:
    deep = str(tmp_path) + "/" + "/".join(["x" * 100] * 20)
    assert len(project_key(deep)) <= KEY_CHARS
    assert project_key(deep) != project_key(deep + "y")


def test_names_and_keys_are_told_apart() -> None:
    assert [is_key(name) for name in ("shop", "github.com/a/shop", "/home/a/shop", "C:\\a\\shop")] == [False] + [
        True
    ] * 3
    assert [is_path(name) for name in ("shop", "github.com/a/shop", "/home/a/shop", "C:\\a\\shop")] == [
        False,
        False,
        True,
        True,
    ]
    assert {last_part(name) for name in ("shop", "github.com/a/shop", "/home/a/shop/", "C:\\a\\shop")} == {"shop"}
    assert ends_with("github.com/borealis/platform", "platform")
    assert ends_with("github.com/borealis/platform", "borealis/platform")
    assert not ends_with("github.com/borealis/platform", "form")


def test_it_is_read_with_the_standard_library_alone_and_starts_no_process() -> None:
    code = "import sys; import holdfast.local.project_key; print('subprocess' in sys.modules, 're' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    )
    assert run.stdout.split()[0] == "False", run.stderr
