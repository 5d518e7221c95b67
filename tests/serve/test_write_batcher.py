"""The batcher: what came together is carried out together, and each request gets its own answer."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest, Restoring
from holdfast.core.model import Caller, CleanText
from holdfast.engine import Engine
from holdfast.intake.remember import MemoryDraft, remember
from holdfast.serve.http.write_batcher import BATCH, WriteBatcher
from holdfast.settings import load
from holdfast.store.port import Tx
from holdfast.store.tables import MEMORIES


class Refused(Exception):
    """What a request of a test raises."""


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[CallContext]:
    engine = Engine(load({"home": str(tmp_path)}, {}))
    yield engine.context(Caller())
    engine.close()


@pytest.fixture
def batcher(ctx: CallContext) -> Iterator[WriteBatcher]:
    batcher = WriteBatcher(lambda: ctx.store)
    batcher.start()
    yield batcher
    batcher.stop()


def keep(ctx: CallContext) -> Callable[[str], str]:
    def finish(content: str) -> str:
        return remember(ctx, MemoryDraft(CleanText(content), CleanText("fact"))).memory.content

    return finish


def contents(ctx: CallContext) -> list[str]:
    return sorted(one.content for one in ctx.store.read().find(MEMORIES, ctx.tenant))


def ride(
    batcher: WriteBatcher, *requests: tuple[Callable[[], Any], Callable[[Any], Any]], pool: Any = None
) -> list[Any]:
    """Send all in one turn of an event loop; each one's answer or error."""

    async def together() -> list[Any]:
        rides = [batcher.run(prepare, finish, pool) for prepare, finish in requests]
        return list(await asyncio.gather(*rides, return_exceptions=True))

    return asyncio.run(together())


def test_each_request_gets_its_own_answer(batcher: WriteBatcher, ctx: CallContext) -> None:
    texts = [f"fact number {number} of many" for number in range(3 * BATCH)]
    assert ride(batcher, *[(lambda text=text: text, keep(ctx)) for text in texts]) == texts  # type: ignore[misc]
    assert contents(ctx) == sorted(texts)  # versions of each other, and all kept
    assert ctx.store.verify() == []


def test_a_request_that_cannot_be_prepared_fails_alone(batcher: WriteBatcher, ctx: CallContext) -> None:
    def prepare() -> str:
        raise InvalidRequest("no")

    good = ("the ferry leaves at noon", "the archive has moved to Kiel")
    answers = ride(batcher, (lambda: good[0], keep(ctx)), (prepare, keep(ctx)), (lambda: good[1], keep(ctx)))
    assert [answers[0], answers[2]] == list(good)
    assert isinstance(answers[1], InvalidRequest)
    assert contents(ctx) == sorted(good)


def test_a_request_that_fails_halfway_leaves_nothing_and_the_others_whole(
    batcher: WriteBatcher, ctx: CallContext
) -> None:
    def halfway(content: str) -> None:
        def store(tx: Tx) -> None:
            keep(ctx)(content)
            raise Refused

        ctx.store.write(store)

    good = ("the ferry leaves at noon", "the archive has moved to Kiel")
    answers = ride(batcher, (lambda: good[0], keep(ctx)), (lambda: "lost", halfway), (lambda: good[1], keep(ctx)))
    assert [answers[0], answers[2]] == list(good)
    assert isinstance(answers[1], Refused)
    assert contents(ctx) == sorted(good)
    assert ctx.store.verify() == []


def test_requests_prepared_by_the_pool_ride_too(batcher: WriteBatcher, ctx: CallContext) -> None:
    good = ("the ferry leaves at noon", "the archive has moved to Kiel")
    with ThreadPoolExecutor(2) as pool:
        answers = ride(batcher, *[(lambda text=text: text, keep(ctx)) for text in good], pool=pool)  # type: ignore[misc]
    assert answers == list(good)
    assert contents(ctx) == sorted(good)


class Held:
    """What a request had at hand."""


@pytest.mark.parametrize("count", [1, 3])
def test_a_refused_request_keeps_nothing_of_what_it_had_at_hand(batcher: WriteBatcher, count: int) -> None:
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
        outcomes = ride(batcher, *((prepare, refuse) for prepare, refuse, _ in requests))
        assert [type(one) for one in outcomes] == [InvalidRequest] * count
        del requests, outcomes
        ride(batcher, (int, str))  # the batcher's thread has gone on
        assert [one() for one in seen] == [None] * count
    finally:
        gc.enable()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_requests_out_of_turn_are_carried_out_in_later_writes(
    batcher: WriteBatcher, ctx: CallContext, count: int
) -> None:
    """As on a store whose spaces other servers hold: each write gets on with its first request at least."""
    texts = [f"fact number {number} of many" for number in range(count)]
    tried: list[str] = []

    def finish(text: str) -> str:
        tried.append(text)
        if text != texts[0] and tried.count(text) == 1:
            fault = Restoring("write: another server holds this memory")
            fault.out_of_turn = True
            raise fault
        return keep(ctx)(text)

    assert ride(batcher, *[(lambda text=text: text, finish) for text in texts]) == texts  # type: ignore[misc]
    assert contents(ctx) == sorted(texts)
    assert sorted(tried) == sorted([*texts, *texts[1:]])


def test_a_request_that_is_always_out_of_turn_is_refused(batcher: WriteBatcher, ctx: CallContext) -> None:
    def refuse(text: str) -> str:
        fault = Restoring("write: another server holds this memory")
        fault.out_of_turn = True
        raise fault

    answers = ride(batcher, (lambda: "one", refuse), (lambda: "other", refuse), (lambda: "third", keep(ctx)))
    assert [type(one) for one in answers] == [Restoring, Restoring, str]
    assert contents(ctx) == ["third"]
