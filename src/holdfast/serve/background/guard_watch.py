"""The thread that watches guarded places: the kernel names the folders in which something happened, and only these are
looked at. What changed is taken at most every few seconds, so that a file that is written all the time costs little.

The names that come with events are hints: folders are listed and files opened by `snapshot/guard`, which follows no
link. Every place is also looked through now and then, as events can be lost and some file systems give none.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from watchfiles._rust_notify import RustNotify

from holdfast.core.background import BackgroundThread, GuardWatchState
from holdfast.core.errors import Fault
from holdfast.core.model import Caller
from holdfast.core.system import lower_priority
from holdfast.engine import Engine
from holdfast.snapshot.guard.guard_places import root_of
from holdfast.snapshot.guard.guard_retention import make_room
from holdfast.snapshot.guard.guard_take import MISSING, TakeReport, take_folder
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.store.guard.guard_history import GuardHistory, history_path
from holdfast.store.guard.guard_records import GuardedPlace

ROUND_SECONDS = 10.0  # between two times that changes are taken
TICK_SECONDS = 10.0  # without events: whether places were added, or a folder came or went
LOOK_SECONDS = 600.0  # between two looks at a whole place that is watched
SCAN_SECONDS = 60.0  # the same where it cannot be watched
STEP_MS, DEBOUNCE_MS = 500, 1_000
_MODIFIED = 2

log = logging.getLogger("holdfast")

Identity = tuple[int, int]


class Notifier(Protocol):
    """What watches folders; watchfiles names its methods."""

    def watch(
        self, debounce_ms: int, step_ms: int, timeout_ms: int, stop_event: object
    ) -> set[tuple[int, str]] | str: ...

    def close(self) -> None: ...


def watch_folders(folders: list[str]) -> Notifier:
    """Watch these folders, and none below them.

    Raises:
        OSError, RuntimeError: one of them is gone, or the kernel watches no more.
    """
    return RustNotify(folders, False, False, 0, False, False)  # type: ignore[return-value]


class _WatchedPlace:
    """A place, and what is known of its folders."""

    def __init__(self, place: GuardedPlace):
        self.place = place
        self.root = root_of(place)
        self.identity: Identity | None = None  # of the root, when it was looked through last
        self.folders: set[str] = set()  # that are known
        self.dirty: set[str] = set()  # those to be looked at
        self.looked = -float("inf")  # when all of it was looked at
        self.missing = False
        self.fault = ""

    def path(self, folder: str) -> str:
        return str(self.root / folder) if folder else str(self.root)

    def now(self) -> Identity | None:
        with suppress(OSError):
            status = os.lstat(self.root)
            return status.st_dev, status.st_ino
        return None

    def forget(self, folder: str) -> None:
        """The folder was removed or is new: it, and what is below it, is to be found again."""
        self.folders = {one for one in self.folders if one != folder and not one.startswith(f"{folder}/")}


class GuardWatch(BackgroundThread):
    """Takes what changes in the guarded places of a server's data folder into their history."""

    def __init__(
        self,
        engine: Engine,
        notifier: Callable[[list[str]], Notifier] = watch_folders,
        round_seconds: float = ROUND_SECONDS,
    ):
        super().__init__("guard")
        self._engine = engine
        self._make = notifier
        self._round = round_seconds
        self._tick = min(TICK_SECONDS, round_seconds)
        self._places: dict[int, _WatchedPlace] = {}
        self._notifier: Notifier | None = None
        self._watched: dict[str, tuple[int, str]] = {}  # by path: which place, and the folder in it
        self._unwatched = ""  # why the kernel does not watch them
        self._took = self._tried = -float("inf")  # when changes were taken, and when the kernel was asked to watch

    def stop(self) -> None:
        self._stop.set()
        self._engine.guard.wake.set()
        super().stop()

    def _loop(self) -> None:
        lower_priority()
        while not self._stop.is_set():
            try:
                self.run_once()
            except Fault as fault:  # the disk, or a damaged history: the next look tries again, and status reports it
                self._report(fault.message)
                self._stop.wait(self._tick)
            except Exception as error:  # noqa: BLE001 - a bug in one look must not end all later ones
                log.error("guard: unexpected %s", type(error).__name__)
                self._report(f"guard: unexpected {type(error).__name__}")
                self._stop.wait(self._tick)
        self._close()

    def run_once(self) -> None:
        """Wait for changes, and take them; or for a place to be guarded."""
        path = history_path(self._engine.path)
        if not path.is_file():
            return self._rest()
        with GuardHistory(path) as history:
            places = [one for one in history.places() if one.active]
            self._attend(places)
            if not places:
                self._report()
                return self._rest()
            self._take(history)
        self._watch()
        self._report()
        self._wait()

    def _rest(self) -> None:
        self._engine.guard.wake.wait(self._tick)
        self._engine.guard.wake.clear()

    def _attend(self, places: list[GuardedPlace]) -> None:
        """Notice which places there are, and which of them are to be looked through."""
        if {one.place for one in self._places.values()} != set(places):
            self._places = {one.id: _WatchedPlace(one) for one in places}
            self._close()
        now = self._engine.clock.steady()
        every = SCAN_SECONDS if self._unwatched else LOOK_SECONDS
        for number, one in self._places.items():
            if one.now() != one.identity:  # another folder has its name, which is not watched
                self._watched = {path: of for path, of in self._watched.items() if of[0] != number}
            elif now - one.looked < every:
                continue
            one.folders, one.dirty = set(), {""}

    def _take(self, history: GuardHistory) -> None:
        """Take what is in folders that changed, once the last time is long enough ago."""
        if not any(one.dirty for one in self._places.values()):
            return
        wait = self._took + self._round - self._engine.clock.steady()
        if wait > 0 and self._stop.wait(wait):
            return
        context = self._context()
        for one in self._places.values():
            identity, dirty, one.dirty = one.now(), sorted(one.dirty), set()
            found = TakeReport()
            for folder in dirty:
                if folder in one.folders or not folder:
                    found.add(self._take_folder(context, history, one, folder))
            one.dirty |= found.unsettled
            if "" in dirty:
                one.identity, one.looked = identity, self._engine.clock.steady()
                one.missing, one.fault = found.missing, found.fault
                make_room(context, history, one.place)
        self._took = self._engine.clock.steady()

    def _take_folder(
        self, context: SnapshotContext, history: GuardHistory, one: _WatchedPlace, folder: str
    ) -> TakeReport:
        known = set(one.folders)
        found = take_folder(context, history, one.place, folder, lambda inside: inside not in known, self._stop.is_set)
        one.folders |= found.folders if not found.missing else set()
        return found

    def _context(self) -> SnapshotContext:
        return snapshot_context(self._engine.context(Caller(name="guard")))

    def _watch(self) -> None:
        """Let the kernel watch the folders that are known now. Those that are new are looked at once more, as something
        may have happened in them before."""
        wanted = {
            one.path(folder): (number, folder)
            for number, one in self._places.items()
            for folder in one.folders
            if _is_text(folder)
        }
        now = self._engine.clock.steady()
        if wanted.keys() == self._watched.keys() or (self._unwatched and now - self._tried < SCAN_SECONDS):
            return
        self._tried = now
        new, before = wanted.keys() - self._watched.keys(), self._notifier
        try:
            self._notifier = self._make(sorted(wanted)) if wanted else None
        except FileNotFoundError:  # one went meanwhile: all are found again
            self._notifier = None
            self._look_again(self._places.values())
        except (OSError, RuntimeError) as error:
            self._notifier = None
            if not self._unwatched:
                log.warning("guard: folders cannot be watched: %s", _reason(error))
            self._unwatched = _reason(error)
        else:
            self._unwatched = ""
            for path in new:
                number, folder = wanted[path]
                self._places[number].dirty.add(folder)
        if before is not None:  # the new one watches by now: nothing is lost between the two
            self._hear(before, 1, 1, 1)
            before.close()
        self._watched = wanted if self._notifier is not None else {}

    def _look_again(self, places: Iterable[_WatchedPlace]) -> None:
        for one in places:
            one.folders, one.dirty = set(), {""}

    def _wait(self) -> None:
        """Wait until something happens, or for a while."""
        if any(one.dirty for one in self._places.values()):
            return
        if self._notifier is None:
            return self._rest()
        self._hear(self._notifier, DEBOUNCE_MS, STEP_MS, round(self._tick * 1000))

    def _hear(self, notifier: Notifier, debounce_ms: int, step_ms: int, timeout_ms: int) -> None:
        """Note what happened, for so long at most."""
        try:
            # It drops what it heard when it is stopped, so nothing but the end of the thread stops it.
            found = notifier.watch(debounce_ms, step_ms, timeout_ms, self._stop)
        except (OSError, RuntimeError):  # a name that is not UTF-8 ends the watching: begin anew
            if notifier is self._notifier:
                self._close()
            return self._look_again(self._places.values())
        if not isinstance(found, str):
            self._note(found)

    def _note(self, events: set[tuple[int, str]]) -> None:
        watched = dict(self._watched)
        for change, path in events:
            for folder in (path, os.path.dirname(path)):
                if folder in watched:
                    number, inside = watched[folder]
                    self._places[number].dirty.add(inside)
            if change != _MODIFIED and path in self._watched:
                self._forget(path)
        if any(path not in watched and os.path.dirname(path) not in watched for _, path in events):
            self._look_again(self._places.values())

    def _forget(self, path: str) -> None:
        """The folder was removed, or another one has its name: it is not watched any more."""
        number, inside = self._watched[path]
        if inside:
            self._places[number].forget(inside)
            below = f"{path}/"
            self._watched = {one: of for one, of in self._watched.items() if one != path and not one.startswith(below)}

    def _close(self) -> None:
        if self._notifier is not None:
            self._notifier.close()
        self._notifier, self._watched = None, {}

    def _report(self, fault: str = "") -> None:
        states = {}
        for one in self._places.values():
            if one.missing:
                states[one.place.name] = GuardWatchState("missing", MISSING)
            elif self._unwatched:
                states[one.place.name] = GuardWatchState("scanned", self._unwatched)
            else:
                states[one.place.name] = GuardWatchState("watched", one.fault)
        self._engine.guard.report(states, fault)


def _is_text(folder: str) -> bool:
    try:
        folder.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reason(error: Exception) -> str:
    text = str(error)
    if "watch limit" in text or "too many open files" in text.lower():
        return "the kernel watches no more folders: raise fs.inotify.max_user_watches and max_user_instances"
    return f"folders cannot be watched ({type(error).__name__})"
