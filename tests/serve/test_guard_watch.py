"""A server notices what changes in guarded places, with the kernel's real events, and goes on after trouble."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from patience import until
from world import settings

from holdfast.core.model import Caller
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.engine import Engine
from holdfast.ops.registry import BY_NAME
from holdfast.serve.background.guard_watch import GuardWatch, Notifier, watch_folders

QUICK = 0.05  # seconds between two rounds


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


class Watched:
    """An engine with the thread that watches, and calls to it."""

    def __init__(self, home: Path, notifier: Any = watch_folders):
        self.engine = Engine(settings(home), SystemClock(), SystemEntropy())
        self.thread = GuardWatch(self.engine, notifier, QUICK)
        self.thread.start()

    def call(self, operation: str, **arguments: Any) -> Any:
        return BY_NAME[operation].call(self.engine.context(Caller()), arguments)

    def newest(self, place: Path, file: str) -> tuple[str, int] | None:
        """What became of a file last, and its size; a file may be taken while it is only half written."""
        found = self.call("guard_history", place=str(place))["files"]
        return next(((one["change"], one["size"]) for one in found if one["path"] == file), None)

    def state(self, place: Path) -> str:
        return next(one["state"] for one in self.call("guard_list")["places"] if one["path"] == str(place))

    def is_watching(self, place: Path) -> bool:
        return self.engine.guard.of(str(place)) is not None


@contextmanager
def watching(home: Path, place: Path, notifier: Any = watch_folders) -> Iterator[Watched]:
    made = Watched(home, notifier)
    try:
        made.call("guard_add", place=str(place))
        until(lambda: made.engine.guard._states, "the place is watched")
        yield made
    finally:
        made.thread.stop()
        made.engine.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "old.md").write_text("old\n")
    return folder


def test_new_changed_and_removed_files_are_noticed_in_old_and_new_folders(tmp_path: Path, place: Path) -> None:
    with watching(tmp_path / "memory", place) as server:
        (place / "a" / "b" / "new.md").write_text("one\n")
        until(lambda: server.newest(place, "a/b/new.md") == ("kept", 4), "a new file is taken")
        with (place / "a" / "b" / "new.md").open("a") as file:
            file.write("two\n")
        until(lambda: server.newest(place, "a/b/new.md") == ("kept", 8), "a longer file is taken")
        (place / "fresh" / "deep").mkdir(parents=True)
        (place / "fresh" / "deep" / "x.md").write_text("x\n")
        until(lambda: server.newest(place, "fresh/deep/x.md") == ("kept", 2), "a file in a new folder is taken")
        (place / "fresh" / "deep" / "y.md").write_text("y\n")
        until(lambda: server.newest(place, "fresh/deep/y.md") == ("kept", 2), "the new folder is watched")
        (place / "a" / "old.md").unlink()
        until(lambda: server.newest(place, "a/old.md") == ("removed", 0), "a removed file is noticed")


def test_a_folder_that_is_removed_and_made_again_is_watched_again(tmp_path: Path, place: Path) -> None:
    with watching(tmp_path / "memory", place) as server:
        shutil.rmtree(place / "a")
        until(lambda: server.newest(place, "a/old.md") == ("removed", 0), "its files are gone")
        (place / "a").mkdir()
        (place / "a" / "old.md").write_text("back\n")
        until(lambda: server.newest(place, "a/old.md") == ("kept", 5), "it is there again")
        (place / "a" / "next.md").write_text("next\n")
        until(lambda: server.newest(place, "a/next.md") == ("kept", 5), "it is watched again")


def test_a_place_that_goes_and_comes_back_is_reported_and_watched_again(tmp_path: Path, place: Path) -> None:
    with watching(tmp_path / "memory", place) as server:
        place.rename(tmp_path / "away")
        until(lambda: server.state(place) == "missing", "it is reported")
        place.mkdir()
        (place / "new.md").write_text("new\n")
        until(lambda: server.newest(place, "new.md") == ("kept", 4), "it is looked through")
        until(lambda: server.state(place) == "on", "it is no longer missing")
        (place / "next.md").write_text("next\n")
        until(lambda: server.newest(place, "next.md") == ("kept", 5), "and watched")


def test_a_place_that_the_kernel_does_not_watch_is_looked_through_and_reported(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folders: list[str]) -> Notifier:
        raise OSError("OS file watch limit reached.")

    monkeypatch.setattr("holdfast.serve.background.guard_watch.SCAN_SECONDS", QUICK)
    with watching(tmp_path / "memory", place, full) as server:
        until(lambda: server.state(place) == "scanned", "it is reported")
        assert "max_user_watches" in server.call("guard_list")["places"][0]["message"]
        (place / "new.md").write_text("new\n")
        until(lambda: server.newest(place, "new.md") == ("kept", 4), "changes are found all the same")


def test_a_name_that_is_not_utf_8_does_not_end_the_watching(tmp_path: Path, place: Path) -> None:
    with watching(tmp_path / "memory", place) as server:
        Path(os.fsdecode(os.fsencode(place) + b"/\xff\xfe.md")).write_text("odd\n")
        until(lambda: server.newest(place, "\\xff\\xfe.md") == ("kept", 4), "it is taken")
        (place / "next.md").write_text("next\n")
        until(lambda: server.newest(place, "next.md") == ("kept", 5), "and so is what comes after it")


def test_a_place_that_is_no_longer_guarded_is_not_looked_at(tmp_path: Path, place: Path) -> None:
    with watching(tmp_path / "memory", place) as server:
        server.call("guard_remove", place=str(place))
        until(lambda: not server.engine.guard._states, "it is not watched")
        other = tmp_path / "other"
        other.mkdir()
        server.call("guard_add", place=str(other))
        (place / "new.md").write_text("new\n")
        (other / "new.md").write_text("new\n")
        until(lambda: server.newest(other, "new.md") == ("kept", 4), "the other one is watched")
        assert server.newest(place, "new.md") is None
