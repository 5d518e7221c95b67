"""Writes: all of a job or nothing of it, acknowledged when durable, told to others afterwards."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import apsw
import pytest
from patience import WAIT_SECONDS, until
from sample_records import TENANT, add, sample

from holdfast.core.errors import Conflict, Fault, StorageFailed, StorageFull
from holdfast.core.model import Event
from holdfast.store.port import Reader, Store, Tx
from holdfast.store.tables import MEMORIES, NOTES, OBSERVATIONS, SESSIONS

pytestmark = pytest.mark.quick


class Refused(Exception):
    """What a job of a test raises."""


def note(tx: Tx, id: str) -> int:
    record = sample(NOTES, id, tx.next_seq(TENANT))
    tx.add(NOTES, record)
    return int(record.seq)


def ids(reader: Reader) -> list[str]:
    return sorted(one.id for one in reader.find(NOTES, TENANT))


def test_a_write_returns_what_its_job_returned(store: Store) -> None:
    assert store.write(lambda tx: "done") == "done"


def test_a_job_sees_its_own_writes_and_others_do_not_until_it_ends(store: Store) -> None:
    seen: list[list[str]] = []

    def job(tx: Tx) -> None:
        note(tx, "a")
        seen.append(ids(tx))
        reader = threading.Thread(target=lambda: seen.append(ids(store.read())))
        reader.start()
        reader.join(WAIT_SECONDS)

    store.write(job)
    assert seen == [["a"], []]
    assert ids(store.read()) == ["a"]


def test_a_job_that_raises_leaves_nothing_behind(store: Store) -> None:
    def job(tx: Tx) -> None:
        note(tx, "a")
        tx.add(MEMORIES, sample(MEMORIES, "m", tx.next_seq(TENANT), title="pumice"))
        raise Refused

    add(store, MEMORIES, "kept")
    before = store.read().pending()
    with pytest.raises(Refused):
        store.write(job)
    assert ids(store.read()) == []
    assert [one.id for one in store.read().find(MEMORIES, TENANT)] == ["kept"]
    assert store.read().words(MEMORIES, TENANT, ("pumice",), (), 5).hits == []
    assert store.read().pending() == before
    assert store.verify() == []


def test_a_job_may_catch_a_conflict_and_go_on(store: Store) -> None:
    add(store, NOTES, "a")

    def job(tx: Tx) -> None:
        with pytest.raises(Conflict):
            note(tx, "a")
        note(tx, "b")

    store.write(job)
    assert ids(store.read()) == ["a", "b"]
    assert store.verify() == []


def test_a_replace_that_is_refused_keeps_the_old_record(store: Store) -> None:
    first, other = add(store, NOTES, "a"), add(store, NOTES, "b")

    def job(tx: Tx) -> None:
        with pytest.raises(Conflict):
            tx.replace(NOTES, sample(NOTES, "a", other.seq))

    store.write(job)
    assert store.read().get(NOTES, TENANT, "a") == first
    assert store.verify() == []


def in_one_batch(store: Store, *jobs: Callable[[Tx], Any]) -> list[Any]:
    """Run the jobs so that all wait for the same commit; each one's result or error."""
    holding, queued = threading.Event(), threading.Barrier(len(jobs) + 1)

    def hold(tx: Tx) -> None:
        queued.wait(WAIT_SECONDS)
        assert holding.wait(WAIT_SECONDS)

    def run(job: Callable[[Tx], Any]) -> Any:
        queued.wait(WAIT_SECONDS)
        try:
            return store.write(job)
        except Exception as error:  # noqa: BLE001 - handed to the test
            return error

    with ThreadPoolExecutor(len(jobs) + 1) as pool:
        first = pool.submit(store.write, hold)
        rest = [pool.submit(run, job) for job in jobs]
        until(lambda: _queued(store, len(jobs)), "the jobs stand in the queue")
        holding.set()
        first.result(WAIT_SECONDS)
        return [one.result(WAIT_SECONDS) for one in rest]


def _queued(store: Any, number: int) -> bool:
    """Whether that many jobs stand behind the running one; an engine without a queue has none to wait for."""
    commits = getattr(store, "_commits", None)
    return commits is None or len(commits._queue) == number


def _fails(tx: Tx) -> None:
    note(tx, "lost")
    raise Refused


def test_one_failing_job_is_rolled_back_alone(store: Store) -> None:
    jobs = [lambda tx: note(tx, "a"), _fails, lambda tx: note(tx, "b"), _fails, lambda tx: note(tx, "c")]
    results = in_one_batch(store, *jobs)
    assert [type(one) for one in results] == [int, Refused, int, Refused, int]
    assert ids(store.read()) == ["a", "b", "c"]
    assert store.verify() == []


def test_two_jobs_of_one_batch_that_want_the_same_id_get_one_winner(store: Store) -> None:
    results = in_one_batch(store, *[lambda tx: note(tx, "same")] * 4)
    assert sorted(type(one).__name__ for one in results) == ["Conflict", "Conflict", "Conflict", "int"]
    assert store.verify() == []


def test_events_are_told_once_the_write_is_visible_to_others(place: Any) -> None:
    told: list[list[str]] = []
    place.events = _Calls(lambda event: told.append(ids(place.store.read())))
    place.store = place.open()

    def job(tx: Tx) -> None:
        note(tx, "a")
        tx.publish(Event(TENANT, "note", {"id": "a"}))
        assert told == []

    place.store.write(job)
    assert told == [["a"]]


class _Calls:
    def __init__(self, call: Callable[[Event], None]):
        self.append = call


def test_events_of_a_job_that_was_rolled_back_are_not_told(place: Any) -> None:
    store = place.open()

    def tells(kind: str, fails: bool) -> Callable[[Tx], None]:
        def job(tx: Tx) -> None:
            tx.publish(Event(TENANT, kind, {}))
            if fails:
                raise Refused

        return job

    in_one_batch(store, tells("kept", False), tells("lost", True), tells("kept too", False))
    assert sorted(event.kind for event in place.events) == ["kept", "kept too"]


def test_a_write_inside_another_is_part_of_it(store: Store) -> None:
    def outer(tx: Tx) -> list[str]:
        note(tx, "outer")
        store.write(lambda inner: note(inner, "inner"))
        return ids(tx)

    assert store.write(outer) == ["inner", "outer"]
    assert ids(store.read()) == ["inner", "outer"]
    assert store.verify() == []


def test_a_write_inside_another_never_gets_a_number_that_the_outer_one_has(store: Store) -> None:
    def outer(tx: Tx) -> list[int]:
        first = tx.next_seq(TENANT)
        inner = store.write(lambda within: [within.next_seq(TENANT), within.next_seq(TENANT)])
        return [first, *inner, tx.next_seq(TENANT)]

    given = store.write(outer)
    assert given == sorted(set(given))
    assert store.write(lambda tx: tx.next_seq(TENANT)) > given[-1]


def test_records_of_an_outer_and_an_inner_write_are_both_found_by_their_words(store: Store) -> None:
    def outer(tx: Tx) -> None:
        seq = tx.next_seq(TENANT)
        store.write(
            lambda inner: inner.add(OBSERVATIONS, sample(OBSERVATIONS, "o", inner.next_seq(TENANT), title="schist"))
        )
        tx.add(MEMORIES, sample(MEMORIES, "m", seq, title="gneiss"))

    store.write(outer)
    reader = store.read()
    assert len(reader.words(OBSERVATIONS, TENANT, ("schist",), (), 5).hits) == 1
    assert len(reader.words(MEMORIES, TENANT, ("gneiss",), (), 5).hits) == 1
    assert store.verify() == []


def test_an_inner_write_that_fails_can_be_caught_and_leaves_the_outer_one_whole(place: Any) -> None:
    store = place.open()

    def inner(tx: Tx) -> None:
        tx.publish(Event(TENANT, "lost", {}))
        _fails(tx)

    def outer(tx: Tx) -> None:
        note(tx, "a")
        with pytest.raises(Refused):
            store.write(inner)
        note(tx, "b")

    store.write(outer)
    assert ids(store.read()) == ["a", "b"]
    assert place.events == []
    assert store.verify() == []


def test_an_outer_write_that_fails_takes_its_inner_writes_with_it(place: Any) -> None:
    store = place.open()

    def inner(tx: Tx) -> None:
        note(tx, "inner")
        tx.publish(Event(TENANT, "lost", {}))

    def outer(tx: Tx) -> None:
        store.write(inner)
        raise Refused

    with pytest.raises(Refused):
        store.write(outer)
    assert ids(store.read()) == []
    assert place.events == []
    assert store.verify() == []
    add(store, NOTES, "after")
    assert store.verify() == []


def test_a_snapshot_stands_still_from_the_moment_it_is_taken(store: Store) -> None:
    add(store, NOTES, "before")
    with store.snapshot() as still:
        add(store, NOTES, "after")
        assert ids(still) == ["before"]
    assert ids(store.read()) == ["after", "before"]


def test_a_snapshot_shows_one_moment_while_writers_go_on(store: Store) -> None:
    """Each write adds a session and an observation: at every moment their numbers are equal."""
    stop = threading.Event()

    def pairs() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            id = f"p{number}"

            def pair(tx: Tx, id: str = id) -> None:
                tx.add(SESSIONS, sample(SESSIONS, id, tx.next_seq(TENANT)))
                tx.add(OBSERVATIONS, sample(OBSERVATIONS, id, tx.next_seq(TENANT)))

            store.write(pair)

    writer = threading.Thread(target=pairs)
    writer.start()
    try:
        until(lambda: store.read().count(SESSIONS, TENANT) > 5, "six sessions")
        for _ in range(20):
            with store.snapshot() as still:
                first = still.count(SESSIONS, TENANT)
                held = first
                until(lambda held=held: store.read().count(SESSIONS, TENANT) > held, "one session more")
                assert still.count(OBSERVATIONS, TENANT) == first
                assert len(list(still.each(OBSERVATIONS, TENANT))) == first
                assert still.count(SESSIONS, TENANT) == first
    finally:
        stop.set()
        writer.join(WAIT_SECONDS)


def test_a_reader_sees_the_newest_state_even_while_it_streams(store: Store) -> None:
    for id in "abc":
        add(store, NOTES, id)
    reader = store.read()
    stream = reader.each(NOTES, TENANT)
    next(stream)
    writer = threading.Thread(target=lambda: add(store, NOTES, "d"))
    writer.start()
    writer.join(WAIT_SECONDS)
    assert store.read().get(NOTES, TENANT, "d") is not None
    assert len(list(stream)) >= 2


def test_forty_threads_lose_nothing_and_share_commits(store: Store) -> None:
    threads, each = 40, 25
    start = threading.Barrier(threads)

    def work(number: int) -> list[int]:
        start.wait(WAIT_SECONDS)
        return [store.write(lambda tx, n=n: note(tx, f"{number}-{n}")) for n in range(each)]

    with ThreadPoolExecutor(threads) as pool:
        given = [seq for seqs in pool.map(work, range(threads)) for seq in seqs]
    assert len(set(given)) == threads * each
    assert store.read().count(NOTES, TENANT) == threads * each
    assert {one.seq for one in store.read().each(NOTES, TENANT)} == set(given)
    assert store.verify() == []


def test_waiting_writes_share_one_commit(place: Any) -> None:
    """Told of any one of forty waiting writes, a reader sees all forty: they became durable in one step."""
    told: list[int] = []
    place.events = _Calls(lambda event: told.append(len(ids(place.store.read()))))
    place.store = place.open()

    def job(number: int) -> Callable[[Tx], None]:
        def write(tx: Tx) -> None:
            note(tx, f"n{number}")
            tx.publish(Event(TENANT, "note", number))

        return write

    in_one_batch(place.store, *[job(number) for number in range(40)])
    assert told == [40] * 40


def test_forty_threads_that_count_the_same_record_lose_no_step(store: Store) -> None:
    """Read, change, replace: jobs run one after the other, so no update is lost."""
    add(store, NOTES, "counter", updated_at=0)

    def step(tx: Tx) -> None:
        have = tx.get(NOTES, TENANT, "counter")
        assert have is not None
        tx.replace(NOTES, sample(NOTES, "counter", have.seq, updated_at=have.updated_at + 1))

    with ThreadPoolExecutor(40) as pool:
        for done in [pool.submit(store.write, step) for _ in range(400)]:
            done.result(WAIT_SECONDS)
    counter = store.read().get(NOTES, TENANT, "counter")
    assert counter is not None
    assert counter.updated_at == 400
    assert store.verify() == []


@pytest.mark.embedded
def test_a_failing_disk_stops_writing_for_good_and_reading_not_at_all(store: Store) -> None:
    add(store, NOTES, "a")

    def broken(tx: Tx) -> None:
        note(tx, "lost")
        raise apsw.IOError("as from a failed sync")

    with pytest.raises(StorageFailed):
        store.write(broken)
    with pytest.raises(StorageFailed):
        add(store, NOTES, "b")
    assert store.failure() is not None
    assert ids(store.read()) == ["a"]
    with pytest.raises(StorageFailed):
        store.write(lambda tx: None)


@pytest.mark.embedded
def test_a_full_disk_inside_an_inner_write_refuses_the_whole_batch(store: Store) -> None:
    """The outer job cannot carry on as if only one of its parts had failed: nothing of it is on the disk."""

    def fill(tx: Tx) -> None:
        note(tx, "inner")
        raise apsw.FullError

    def outer(tx: Tx) -> None:
        note(tx, "outer")
        store.write(fill)

    with pytest.raises(StorageFull):
        store.write(outer)
    assert ids(store.read()) == []
    store.write(lambda tx: note(tx, "after"))
    assert ids(store.read()) == ["after"]
    assert store.verify() == []


@pytest.mark.parametrize("error", [MemoryError, KeyError])
@pytest.mark.embedded
def test_an_error_between_the_jobs_and_the_commit_tells_nobody_yes(store: Any, error: type[Exception]) -> None:
    record = store._commits._record

    def fails(_: object) -> None:
        raise error

    store._commits._record = fails
    with pytest.raises((error, Fault)):
        store.write(lambda tx: note(tx, "lost"))
    store._commits._record = record
    assert ids(store.read()) == []
    store.write(lambda tx: note(tx, "after"))
    assert ids(store.read()) == ["after"]


@pytest.mark.embedded
def test_refused_writes_leave_nothing_behind_in_memory(store: Store) -> None:
    """One fault raised again for every refused write would keep the frames, and so the texts, of them all."""

    def broken(tx: Tx) -> None:
        raise apsw.IOError("as from a failed sync")

    with pytest.raises(StorageFailed):
        store.write(broken)
    for _ in range(50):
        with pytest.raises(StorageFailed) as refused:
            add(store, NOTES)
    steps, trace = 0, refused.value.__traceback__
    while trace is not None:
        steps, trace = steps + 1, trace.tb_next
    assert steps < 25


def test_index_work_is_written_with_its_record_and_done_once(store: Store) -> None:
    add(store, NOTES)
    assert store.read().pending() == 0
    kept = [add(store, MEMORIES, id) for id in "abc"][1:]
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "a"))
    assert store.read().pending() == 2
    first, second = store.read().index_work(5)
    assert [first.seq, second.seq] == [one.seq for one in kept]
    assert store.read().index_work(5, after=first.seq) == [second]
    store.write(lambda tx: tx.done([first]))
    assert store.read().index_work(5) == [second]
    store.write(lambda tx: tx.done([first, second]))
    assert store.read().pending() == 0
    assert store.verify() == []


def caught(store: Store, job: Callable[[Tx], Any]) -> Any:
    """The result or the error of a write that is made inside another."""
    try:
        return store.write(job)
    except Refused as error:
        return error


def together(store: Store, runs: list[int], *jobs: Callable[[Tx], Any]) -> list[Any]:
    """Write all jobs inside one write that may be run again; each one's result or error."""

    def outer(tx: Tx) -> list[Any]:
        runs.append(1)
        return [caught(store, job) for job in jobs]

    return store.write(outer, again=True)


@pytest.mark.embedded
def test_a_write_inside_another_is_undone_alone(store: Store) -> None:
    runs: list[int] = []
    told: list[Event] = []
    store._commits._publish = told.append  # type: ignore[attr-defined]

    def telling(tx: Tx) -> int:
        tx.publish(Event(TENANT, "note", "a"))
        return note(tx, "a")

    results = together(store, runs, telling, _fails, lambda tx: note(tx, "b"))
    assert [type(one) for one in results] == [int, Refused, int]
    assert ids(store.read()) == ["a", "b"]
    assert len(told) == 1
    assert len(runs) == 1
    assert store.verify() == []


def test_a_write_that_fails_before_it_wrote_makes_nobody_run_again(store: Store) -> None:
    runs: list[int] = []

    def refuses(tx: Tx) -> None:
        tx.next_seq(TENANT)
        raise Refused

    results = together(store, runs, lambda tx: note(tx, "a"), refuses, lambda tx: note(tx, "b"))
    assert [type(one) for one in results] == [int, Refused, int]
    assert ids(store.read()) == ["a", "b"]
    assert len(runs) == 1
    assert store.verify() == []


def test_after_a_failed_write_inside_another_the_next_ones_are_as_ever(store: Store) -> None:
    together(store, [], lambda tx: note(tx, "a"), _fails)

    def outer(tx: Tx) -> Any:
        note(tx, "c")
        return caught(store, _fails)

    assert isinstance(store.write(outer), Refused)
    assert ids(store.read()) == ["a", "c"]
    assert store.verify() == []


def test_writes_of_others_in_the_same_batch_are_not_run_again(store: Store) -> None:
    runs: list[int] = []
    theirs: list[int] = []

    def other(tx: Tx) -> int:
        theirs.append(1)
        return note(tx, "b")

    def outer(tx: Tx) -> list[Any]:
        runs.append(1)
        return [caught(store, job) for job in (lambda tx: note(tx, "a"), _fails)]

    class Both:
        def write(self, job: Callable[[Tx], Any]) -> Any:
            return store.write(job, again=job is outer)

        _commits = store._commits  # type: ignore[attr-defined]

    results = in_one_batch(Both(), other, outer)  # type: ignore[arg-type]
    assert [type(one) for one in results] == [int, list]
    assert ids(store.read()) == ["a", "b"]
    assert (len(theirs), len(runs)) == (1, 1)
    assert store.verify() == []


@pytest.mark.embedded
def test_a_write_that_failed_inside_another_keeps_nothing_of_what_it_had_at_hand(store: Store) -> None:
    seen: list[weakref.ref[Any]] = []

    def fails(tx: Tx) -> None:
        held = Refused()  # anything that can be watched
        seen.append(weakref.ref(held))
        note(tx, "a")
        raise Refused

    def outer(tx: Tx) -> None:
        caught(store, fails)

    gc.disable()  # it would find them sooner or later
    try:
        store.write(outer)
        assert [one() for one in seen] == [None]
    finally:
        gc.enable()
