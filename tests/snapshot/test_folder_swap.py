"""A restored folder takes the live one's place: old or new, whenever the process dies, and back again."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from memory_repositories import tree, write
from tracing import run_broken, was_killed

from holdfast.core.errors import Conflict, DataDamaged, StorageFailed
from holdfast.snapshot.sources import swap
from holdfast.snapshot.sources.swap import (
    JOURNAL,
    FolderSwap,
    abandon_pending,
    exchange,
    finish_pending,
    intend,
    pending,
    place_of_new,
    place_of_old,
)

pytestmark = pytest.mark.real_disk

OLD = {"a.md": b"old", "sub/b.md": b"old"}
NEW = {"a.md": b"new", "sub/c.md": b"new"}


def prepared(place: Path, name: str = "memory") -> FolderSwap:
    """A live folder and the one that shall take its place."""
    live = place / name
    one = FolderSwap(live, place_of_new(live), place_of_old(live, "000001"))
    write(one.live, OLD)
    write(one.staged, NEW)
    return one


def is_exchanged(one: FolderSwap) -> bool:
    return tree(one.live) == NEW and tree(one.kept) == OLD and leftovers(one) == []


def leftovers(one: FolderSwap) -> list[str]:
    known = {one.live, one.kept}
    return [path.name for path in one.live.parent.iterdir() if path.name.startswith(".memory") and path not in known]


@pytest.fixture(params=["in one step", "in two steps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "in two steps":
        monkeypatch.setattr(swap, "_rename_exchange", lambda one, other: False)
    return str(request.param)


def test_this_machine_exchanges_in_one_step(tmp_path: Path) -> None:
    one = prepared(tmp_path)

    assert swap._rename_exchange(one.live, one.staged)
    assert tree(one.live) == NEW


@pytest.mark.usefixtures("way")
def test_the_new_folder_is_live_and_the_old_one_kept(tmp_path: Path) -> None:
    one = prepared(tmp_path)

    exchange(one.live, one.staged, one.kept)

    assert is_exchanged(one)


@pytest.mark.usefixtures("way")
def test_exchanging_again_changes_nothing(tmp_path: Path) -> None:
    one = prepared(tmp_path)
    exchange(one.live, one.staged, one.kept)

    exchange(one.live, one.staged, one.kept)

    assert is_exchanged(one)


@pytest.mark.usefixtures("way")
def test_an_exchange_can_be_undone_and_done_again(tmp_path: Path) -> None:
    one = prepared(tmp_path)
    exchange(one.live, one.staged, one.kept)

    exchange(one.live, one.kept, one.staged)
    assert tree(one.live) == OLD
    assert tree(one.staged) == NEW
    exchange(one.live, one.staged, one.kept)
    assert is_exchanged(one)


def test_a_folder_that_was_not_there_is_put_in_place(tmp_path: Path) -> None:
    one = prepared(tmp_path)
    shutil.rmtree(one.live)

    exchange(one.live, one.staged, one.kept)
    assert tree(one.live) == NEW
    exchange(one.live, one.kept, one.staged)
    assert tree(one.live) == {}


def test_what_is_kept_is_never_overwritten(tmp_path: Path) -> None:
    one = prepared(tmp_path)
    write(one.kept, {"precious": "x"})

    with pytest.raises(Conflict):
        exchange(one.live, one.staged, one.kept)

    assert tree(one.live) == OLD
    assert tree(one.kept) == {"precious": b"x"}


def test_nothing_to_exchange_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(DataDamaged):
        exchange(tmp_path / "live", tmp_path / "staged", tmp_path / "kept")


def test_nothing_is_pending_in_a_new_data_folder(tmp_path: Path) -> None:
    assert pending(tmp_path) is None
    assert finish_pending(tmp_path) is None
    assert abandon_pending(tmp_path) is None


def test_what_is_intended_is_carried_out(tmp_path: Path) -> None:
    both = prepared(tmp_path / "one"), prepared(tmp_path / "two")
    intend(tmp_path, "gen-000002", both)

    done = finish_pending(tmp_path)

    assert done is not None
    assert (done.goal, done.exchanges) == ("gen-000002", both)
    assert all(map(is_exchanged, both))
    assert pending(tmp_path) is None


def test_two_intentions_at_once_are_refused(tmp_path: Path) -> None:
    intend(tmp_path, "one", [prepared(tmp_path)])

    with pytest.raises(Conflict):
        intend(tmp_path, "two", [])


def test_what_has_not_begun_can_be_abandoned(tmp_path: Path) -> None:
    one = prepared(tmp_path)
    intend(tmp_path, "one", [one])

    abandon_pending(tmp_path)

    assert tree(one.live) == OLD
    assert not one.staged.exists()
    assert pending(tmp_path) is None


def test_what_has_begun_cannot_be_abandoned(tmp_path: Path) -> None:
    one, other = prepared(tmp_path / "one"), prepared(tmp_path / "two")
    intend(tmp_path, "one", [one, other])
    exchange(one.live, one.staged, one.kept)

    with pytest.raises(Conflict):
        abandon_pending(tmp_path)

    finish_pending(tmp_path)
    assert is_exchanged(other)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"goal": 1}', b'{"goal": "x", "exchanges": [["a"]]}'])
def test_a_journal_that_cannot_be_read_is_a_fault(tmp_path: Path, data: bytes) -> None:
    (tmp_path / JOURNAL).write_bytes(data)

    with pytest.raises(DataDamaged):
        pending(tmp_path)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("call", ["fsync", "rename", "unlink"])
def test_a_disk_that_fails_once_leaves_the_old_or_the_new_one(
    tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(os, call)
    failed = True
    when = 0
    while failed:
        place, when, calls, failed = tmp_path / str(when), when + 1, 0, False
        one = prepared(place)

        def failing(*words: Any, **more: Any) -> Any:
            nonlocal calls, failed
            calls += 1
            if calls == when:  # noqa: B023
                failed = True
                raise OSError(errno.EIO, "Input/output error")
            return real(*words, **more)

        intend(place, "goal", [one])
        with monkeypatch.context() as patched:
            patched.setattr(os, call, failing)
            with suppress(StorageFailed):
                finish_pending(place)
                assert not failed, "a failure was not told"
        assert one.live.exists() or one.staged.exists()

        finish_pending(place)
        assert is_exchanged(one)
    assert when > 1


# Killed at each system call

WORK = Path(__file__).with_name("swap_work.py")
CALLS = ("rename", "renameat2", "fsync", "unlink", "openat", "write", "mkdir")


def _killed(place: Path, one: FolderSwap, call: str, when: int, way: str) -> bool:
    """Run the exchange and kill it before that call happens; whether it came to it."""
    home, log = place / "home", place / "log"
    home.mkdir()
    mark = one.staged.with_name(f"{one.staged.name}.mark")
    paths = [home, home / JOURNAL, home / f".{JOURNAL}.new", one.live, one.staged, one.kept, one.live.parent]
    paths += [mark, mark.with_name(f".{mark.name}.new"), one.staged / "a.md"]
    options = ["-o", str(log), "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={when}"]
    options += [word for path in paths for word in ("-P", str(path))]
    done = run_broken(options, [str(home), str(one.live), str(one.staged), str(one.kept), way], WORK)
    killed = was_killed(log)
    assert killed == (done.returncode != 0), done.stderr
    return killed


def _every_kill(place: Path, call: str, way: str) -> Iterator[tuple[Path, FolderSwap]]:
    for when in range(1, 100):
        at = place / f"{call}-{when}"
        one = prepared(at / "parent")
        if not _killed(at, one, call, when, way):
            assert is_exchanged(one)
            return
        yield at / "home", one


@pytest.mark.parametrize("way", ["in one step", "in two steps"])
@pytest.mark.parametrize("call", CALLS)
def test_killed_at_any_call_the_folder_is_the_old_or_the_new_one(tmp_path: Path, call: str, way: str) -> None:
    points = 0
    for home, one in _every_kill(tmp_path, call, way):
        points += 1
        if way == "in one step" or one.live.exists():
            assert tree(one.live) in (OLD, NEW)
        intended = pending(home)
        finish_pending(home)
        finish_pending(home)
        assert is_exchanged(one) if intended else tree(one.live) in (OLD, NEW)
        assert pending(home) is None
    assert points or (call, way) == ("renameat2", "in two steps")
