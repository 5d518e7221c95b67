"""What callers and the background work of a server share, and the thread that such work runs on."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from holdfast.core.errors import Fault

# Records counted between two writes: adding so many took 15 ms in a store of 20,000. What else is returned meanwhile
# is not counted.
MOST_RECORDS = 2_000
MOST_QUESTIONS = 50  # asked between two writes: a kept question is a sample, not a log
STEP_SECONDS = 0.1  # another server on the same database may learn it, and cannot notify


class BackgroundThread:
    """A thread of a server: `_loop` is its work, until `_stop` is set."""

    def __init__(self, name: str):
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop it and wait until it has ended."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _loop(self) -> None:
        raise NotImplementedError


class RecallCounter:
    """How often searches returned each record, by tenant and seq: counted in memory by any thread, written every few
    seconds by the background work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, int]] = Counter()

    def add(self, tenant: str, seqs: Iterable[int]) -> None:
        """A search of the tenant returned these records."""
        with self._lock:
            for seq in seqs:
                key = (tenant, seq)
                if key in self._counts or len(self._counts) < MOST_RECORDS:
                    self._counts[key] += 1

    def take(self) -> dict[tuple[str, int], int]:
        """What was counted since it was last taken."""
        with self._lock:
            taken, self._counts = self._counts, Counter()
        return dict(taken)

    def drop(self, tenant: str) -> None:
        """Forget what was counted of a tenant: its numbers mean other records now."""
        with self._lock:
            self._counts = Counter({key: count for key, count in self._counts.items() if key[0] != tenant})


@dataclass(frozen=True, slots=True)
class JournalLag:
    """How far the journal of a memory in the vault is behind the memory."""

    since: int | None  # the moment up to which the vault has everything; None if it has everything
    pieces: int  # that wait on the disk
    bytes: int
    fault: str | None  # why the last one was not sent or cut

    def seconds(self, now_ms: int) -> float:
        return 0.0 if self.since is None else max(0, now_ms - self.since) / 1000


class JournalProgress:
    """What the threads that write the journal report to those who ask, by tenant."""

    def __init__(self) -> None:
        self._lags: dict[str, JournalLag] = {}
        self._others: dict[str, tuple[str, ...]] = {}
        self.vault_fault: Fault | None = None  # why the vault refuses even to be looked at
        self._lock = threading.Lock()
        self._records: dict[str, deque[tuple[tuple[str, int], int]]] = {}

    def report(self, tenant: str, lag: JournalLag) -> None:
        self._lags = {**self._lags, tenant: lag}

    def report_others(self, tenant: str, notices: tuple[str, ...]) -> None:
        """What other hosts write to the same journal, for people; none most of the time."""
        self._others = {**self._others, tenant: notices}

    def others(self, tenant: str) -> tuple[str, ...]:
        return self._others.get(tenant, ())

    def clear(self) -> None:
        self._lags, self._others, self.vault_fault = {}, {}, None

    def of(self, tenant: str) -> JournalLag | None:
        """None where no journal is written."""
        return self._lags.get(tenant)

    def all(self) -> dict[str, JournalLag]:
        return self._lags

    def wrote(self, tenant: str, line: str, number: int, records: int) -> None:
        """A piece with so many records was cut."""
        with self._lock:
            self._records.setdefault(tenant, deque()).append(((line, number), records))

    def counted_from(self, tenant: str) -> tuple[str, int] | None:
        """Line and number of the first piece that is counted."""
        with self._lock:
            return min((place for place, _ in self._records.get(tenant, ())), default=None)

    def records_after(self, tenant: str, line: str, number: int) -> int:
        """How many records are in the pieces after that one; what came before it is forgotten."""
        with self._lock:
            found = self._records.get(tenant, deque())
            while found and found[0][0] <= (line, number):
                found.popleft()
            return sum(records for place, records in found if place > (line, number))


@dataclass(frozen=True, slots=True)
class GuardWatchState:
    """How a guarded place is watched by this server."""

    way: str  # watched: changes are noticed as they happen; scanned: it is looked through now and then; missing
    fault: str = ""  # why it is not watched, or what of it is not taken


class GuardProgress:
    """What the thread that watches guarded places reports to those who ask, by the name of the place."""

    def __init__(self) -> None:
        self._states: dict[str, GuardWatchState] = {}
        self.fault: str = ""  # why nothing is taken now
        self.wake = threading.Event()  # set when places were added or removed

    def report(self, states: dict[str, GuardWatchState], fault: str = "") -> None:
        self._states, self.fault = states, fault

    def of(self, name: str) -> GuardWatchState | None:
        """None where no server watches it."""
        return self._states.get(name)


@dataclass(frozen=True, slots=True)
class FollowState:
    """How far a copy that follows another host's memory is."""

    vault: str  # where it reads the journal
    host: str = ""  # whose; "" until that was seen
    line: str = ""
    number: int = 0  # of the last piece that it has
    last_at: int | None = None  # when that was cut, by the clock of its host
    reached: float | None = None  # by the steady clock: when all that the vault had was here
    reached_ms: int | None = None  # the same by the clock
    arrived: float | None = None  # by the steady clock: when a piece came last
    fault: str = ""  # why it does not go on
    hint: str = ""

    def behind(self, steady: float) -> float | None:
        """Seconds since this copy had all that the vault has; None if it never had since it was opened."""
        return None if self.reached is None else max(0.0, steady - self.reached)


class FollowProgress:
    """What the thread that follows reports, and the turn that it and a promotion take."""

    def __init__(self, state: FollowState):
        self.state = state
        self.turn = threading.Lock()

    def report(self, **changed: Any) -> None:
        self.state = replace(self.state, **changed)


@dataclass(frozen=True, slots=True)
class AnsweredRecord:
    """A record that answered a question: its id, that of its line of versions, and of what its text was."""

    id: str
    line: str
    digest: str


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A search as it was made, with the best of what it returned, and the ids of the turns that these stand for."""

    tenant: str
    at: int
    seq: int  # the last write before it
    text: str
    session: str  # the key of the session whose prompt it is; "" for other searches
    project: str | None
    here: str | None
    agent: str | None
    kinds: tuple[str, ...]
    limit: int
    hits: tuple[tuple[AnsweredRecord, tuple[str, ...]], ...]


class QuestionLog:
    """Searches of all callers since they were last taken: the newest some, in memory only."""

    def __init__(self) -> None:
        self._asked: deque[AskedQuestion] = deque(maxlen=MOST_QUESTIONS)

    def add(self, question: AskedQuestion) -> None:
        self._asked.append(question)

    def take(self, tenant: str | None = None) -> list[AskedQuestion]:
        """All of them, or a tenant's."""
        taken = []
        while self._asked:
            taken.append(self._asked.popleft())
        if tenant is None:
            return taken
        self._asked.extend(one for one in taken if one.tenant != tenant)
        return [one for one in taken if one.tenant == tenant]


class LearningProgress:
    """Lets a caller wait a moment until the thread that learns has learnt what was said just now. Where none learns, or
    it fails, nothing waits."""

    def __init__(self) -> None:
        self._advanced = threading.Condition()
        self._wanted = threading.Event()
        self._works = False

    def wait_until(self, done: Callable[[], bool], seconds: float) -> None:
        """Wake the thread, and wait until the condition holds, for some seconds at most."""
        if not self._works or done():
            return
        self._wanted.set()
        with self._advanced:
            for _ in range(round(seconds / STEP_SECONDS)):
                if self._advanced.wait_for(lambda: not self._works or done(), STEP_SECONDS):
                    return

    def set_working(self, works: bool) -> None:
        """For the thread: whether it learns, or has ended or failed."""
        self._works = works
        self.advance()

    def advance(self) -> None:
        """For the thread: something was learnt."""
        with self._advanced:
            self._advanced.notify_all()

    def wake(self) -> None:
        self._wanted.set()

    def pause(self, seconds: float) -> None:
        """For the thread: wait until it is woken, for some seconds at most."""
        self._wanted.wait(seconds)
        self._wanted.clear()
