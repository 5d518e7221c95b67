"""Memories for a call within bounded time, and what was said kept in the background: never in the call's way."""

from __future__ import annotations

import atexit
import queue
import threading
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from holdfast.client import Holdfast
from holdfast.core.ports import Clock
from holdfast.core.system import SystemClock
from holdfast.redact import redact_text
from holdfast.user_memory import Found, UserMemory, reference_block

WAITING = 1_000  # turns that wait to be kept; while so many wait, further ones are given up
CONVERSATIONS = 1_000  # kept by the server of the language model, of which it is known what was shown in them
PAUSE_SECONDS = 30.0  # after a failure nothing is asked for so long, so that it costs no call more time
OPEN_SECONDS = 5.0  # the first call waits so long for a folder's server that has to be started
FLUSH_SECONDS = 5.0
IDLE_SECONDS = 5.0
MOST_CHARS = 100_000  # of a turn

Job = Callable[[UserMemory], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How a client remembers."""

    tokens: int = 800  # of the memories in one request
    limit: int = 20
    min_confidence: float = 0.1
    wait_seconds: float = 1.5


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose memories these are, and where they are kept."""

    memory: Holdfast | str | Path | None
    user: str
    project: str | None = None
    session: str | None = None

    def opened(self) -> UserMemory:
        memory = self.memory if isinstance(self.memory, Holdfast) else Holdfast(self.memory)
        return UserMemory(memory, self.user, self.project, self.session)


class Recorder:
    """The memory of one user beside a client."""

    def __init__(self, whose: Whose, options: Options, clock: Clock | None = None):
        self.options = options
        self._whose = whose
        self._clock = clock or SystemClock()
        self._resting_until = 0.0
        self._warned = False
        self._shown: OrderedDict[str, frozenset[str]] = OrderedDict()
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._user: UserMemory | None = None
        self._waited_for_it = False  # a call did, while the memory was being opened
        self._reading, self._writing = _Worker(self._run), _Worker(self._run)
        if not isinstance(whose.memory, Holdfast):
            self._reading.put(lambda _: None)  # opens the memory before the first call asks
        _open.add(self)

    @property
    def wait_seconds(self) -> float:
        """How long a call waits for its memories at most."""
        return self.options.wait_seconds if self._user else max(self.options.wait_seconds, OPEN_SECONDS)

    def recall(self, query: str) -> Future[list[Found]]:
        """What is known that answers a turn; nothing while the memory rests after a failure, or is still being opened
        when a call has waited for that already."""
        answer: Future[list[Found]] = Future()
        opening = self._user is None and self._waited_for_it
        if opening or self._is_resting() or not self._reading.put(partial(_find, answer, query, self.options)):
            answer.set_result([])
        return answer

    def block(self, found: Collection[Found], said: Collection[str], conversation: str) -> tuple[str, frozenset[str]]:
        """The block of what the conversation does not hold yet, and the ids of all that it holds with it."""
        seen = self._shown.get(conversation, frozenset())
        fresh = [one for one in found if one.id not in seen and not any(one.text in text for text in said)]
        block = reference_block(fresh, self.options.tokens)
        return block, seen | {one.id for one in fresh if block}

    def note_shown(self, conversation: str, ids: frozenset[str]) -> None:
        """Remember what a conversation holds that the server of the language model keeps."""
        if conversation and ids:
            with self._lock:
                self._shown[conversation] = ids
                while len(self._shown) > CONVERSATIONS:
                    self._shown.popitem(last=False)

    def keep(self, role: str, text: str) -> None:
        """Keep a turn later, without waiting."""
        if text.strip() and not self._is_resting():
            self._writing.put(partial(_keep, role, text[:MOST_CHARS]))

    def late(self) -> None:
        """The memory did not answer in time. One that is being opened has not failed: turns wait for it."""
        if self._user is None:
            self._waited_for_it = True
        else:
            self.failed(TimeoutError(f"no answer within {self.wait_seconds:g} s"))

    def failed(self, error: BaseException) -> None:
        """Rest after a failure, and warn once. No text of a turn is named."""
        self._resting_until = self._clock.steady() + PAUSE_SECONDS
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"Holdfast did not answer ({type(error).__name__}: {error}). Calls go on without memories, and what is "
                "said meanwhile is not kept.",
                RuntimeWarning,
                stacklevel=2,
            )

    def flush(self, seconds: float = FLUSH_SECONDS) -> bool:
        """Wait until everything that was said is kept; whether it is. Nothing is waited for while the memory cannot be
        opened."""
        if self._user is None and self._is_resting():
            return False
        done = threading.Event()
        return self._writing.put(lambda _: done.set()) and done.wait(seconds)

    def close(self) -> None:
        """Flush, and close the memory if it was opened here."""
        self.flush()
        if self._user is not None and self._user.memory is not self._whose.memory:
            self._user.memory.close()

    def _is_resting(self) -> bool:
        return self._clock.steady() < self._resting_until

    def _run(self, job: Job) -> None:
        try:
            with self._opening:
                self._user = self._user or self._whose.opened()
            job(self._user)
        except Exception as error:  # noqa: BLE001 - the application's calls go on, whatever the memory has
            self.failed(error)


class _Worker:
    """A thread that does one job after another. It ends when there was none for a while: an application may wrap a
    client for each of its users."""

    def __init__(self, run: Callable[[Job], None]):
        self._run = run
        self._jobs: queue.Queue[Job] = queue.Queue(WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, job: Job) -> bool:
        """Whether the job will be done: there is room for it."""
        with self._lock:
            try:
                self._jobs.put_nowait(job)
            except queue.Full:
                return False
            if self._thread is None or not self._thread.is_alive():  # it does not live on in a forked process
                self._thread = threading.Thread(target=self._work, name="holdfast-wrap", daemon=True)
                self._thread.start()
            return True

    def _work(self) -> None:
        while (job := self._next()) is not None:
            self._run(job)

    def _next(self) -> Job | None:
        try:
            return self._jobs.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            with self._lock:
                if self._jobs.empty():
                    self._thread = None
                    return None
        return self._jobs.get()


def _find(answer: Future[list[Found]], query: str, options: Options, user: UserMemory) -> None:
    if answer.set_running_or_notify_cancel():
        try:
            found = user.find(query[:MOST_CHARS], options.limit, min_confidence=options.min_confidence)
        except BaseException:
            answer.set_result([])
            raise
        answer.set_result(found)


def _keep(role: str, text: str, user: UserMemory) -> None:
    user.keep(redact_text(text).value, type=f"{role} message")


_open: weakref.WeakSet[Recorder] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for one in list(_open):
        one.close()
