"""The lane: what came together is carried out together, and each request gets its own answer."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast.context import Desk
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Caller, CleanText
from holdfast.engine import Engine
from holdfast.intake.remember import MemoryDraft, remember
from holdfast.serve.http.write_batcher import BATCH, Lane
from holdfast.settings import load
from holdfast.store.port import Tx
from holdfast.store.tables import MEMORIES


class Refused(Exception):
    """What a request of a test raises."""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    engine = Engine(load({"home": str(tmp_path)}, {}))
    yield engine.desk(Caller())
    engine.close()


@pytest.fixture
def lane(desk: Desk) -> Iterator[Lane]:
    lane = Lane(lambda: desk.store)
    lane.start()
    yield lane
    lane.stop()


def keep(desk: Desk) -> Callable[[str], str]:
    def finish(content: str) -> str:
        return remember(desk, MemoryDraft(CleanText(content), CleanText("fact"))).memory.content

    return finish


def contents(desk: Desk) -> list[str]:
    return sorted(one.content for one in desk.store.read().find(MEMORIES, desk.tenant))


def ride(lane: Lane, *requests: tuple[Callable[[], Any], Callable[[Any], Any]], pool: Any = None) -> list[Any]:
    """Send all in one turn of an event loop; each one's answer or error."""

    async def together() -> list[Any]:
        rides = [lane.run(prepare, finish, pool) for prepare, finish in requests]
        return list(await asyncio.gather(*rides, return_exceptions=True))

    return asyncio.run(together())


def test_each_request_gets_its_own_answer(lane: Lane, desk: Desk) -> None:
    texts = [f"fact number {number} of many" for number in range(3 * BATCH)]
    assert ride(lane, *[(lambda text=text: text, keep(desk)) for text in texts]) == texts  # type: ignore[misc]
    assert contents(desk) == sorted(texts)  # versions of each other, and all kept
    assert desk.store.verify() == []


def test_a_request_that_cannot_be_prepared_fails_alone(lane: Lane, desk: Desk) -> None:
    def prepare() -> str:
        raise InvalidRequest("no")

    good = ("the ferry leaves at noon", "the archive has moved to Kiel")
    answers = ride(lane, (lambda: good[0], keep(desk)), (prepare, keep(desk)), (lambda: good[1], keep(desk)))
    assert [answers[0], answers[2]] == list(good)
    assert isinstance(answers[1], InvalidRequest)
    assert contents(desk) == sorted(good)


def test_a_request_that_fails_halfway_leaves_nothing_and_the_others_whole(lane: Lane, desk: Desk) -> None:
    def halfway(content: str) -> None:
        def store(tx: Tx) -> None:
            keep(desk)(content)
            raise Refused

        desk.store.write(store)

    good = ("the ferry leaves at noon", "the archive has moved to Kiel")
    answers = ride(lane, (lambda: good[0], keep(desk)), (lambda: "lost", halfway), (lambda: good[1], keep(desk)))
    assert [answers[0], answers[2]] == list(good)
    assert isinstance(answers[1], Refused)
    assert contents(desk) == sorted(good)
    assert desk.store.verify() == []


def test_requests_prepared_by_the_pool_ride_too(lane: Lane, desk: Desk) -> None:
    good = ("the ferry leaves at noon", "the archive has moved to Kiel")
    with ThreadPoolExecutor(2) as pool:
        answers = ride(lane, *[(lambda text=text: text, keep(desk)) for text in good], pool=pool)  # type: ignore[misc]
    assert answers == list(good)
    assert contents(desk) == sorted(good)


class Held:
    """What a request had at hand."""


@pytest.mark.parametrize("count", [1, 3])
def test_a_refused_request_keeps_nothing_of_what_it_had_at_hand(lane: Lane, count: int) -> None:
    """Otherwise it would keep the store that it was for, after another took its place."""

    def asked() -> tuple[Callable[[], Held], Callable[[Held], None], weakref.ref[Held]]:
        held = Held()

        def refuse(_: Held) -> None:
            raise InvalidRequest("no")

        return lambda: held, refuse, weakref.ref(held)

    gc.disable()  # it would find them sooner or later
    try:
        requests = [asked() for _ in range(count)]
        seen = [one for _, _, one in requests]
        outcomes = ride(lane, *((prepare, refuse) for prepare, refuse, _ in requests))
        assert [type(one) for one in outcomes] == [InvalidRequest] * count
        del requests, outcomes
        ride(lane, (int, str))  # the lane's thread has gone on
        assert [one() for one in seen] == [None] * count
    finally:
        gc.enable()
