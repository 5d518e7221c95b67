"""Idempotency keys while PostgreSQL is away: a key is never left claimed by work that did not happen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import until
from postgres_cluster import Cluster, cluster
from world import World, running

from holdfast.core.errors import Conflict, Fault, StoreUnreachable
from holdfast.ops.framework.operation import Operation
from holdfast.ops.registry import BY_NAME
from holdfast.serve.http.idempotency import IdempotencyKeys, Reply
from holdfast.store.tables import ANSWERS

ACTION, REMEMBER = BY_NAME["action_create"], BY_NAME["remember"]
TASK = {"title": "measure twice"}


@pytest.fixture
def server() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


@pytest.fixture
def world(server: Cluster, tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "home", store=server.url())
    yield made
    made.close()


@pytest.fixture
def keys(world: World) -> Iterator[IdempotencyKeys]:
    made = IdempotencyKeys(lambda: world.engine.store)
    yield made
    made.stop()


def replied(operation: Operation, answer: Any) -> Reply:
    return 201, b'{"done":true}'


def fails(run: Callable[[], object]) -> Fault:
    with pytest.raises(Fault) as caught:
        run()
    return caught.value


def succeeds(run: Callable[[], object]) -> bool:
    try:
        run()
    except (Conflict, StoreUnreachable):
        return False
    return True


def test_a_key_claimed_just_before_an_outage_is_free_once_the_database_is_back(
    server: Cluster, world: World, keys: IdempotencyKeys
) -> None:
    ctx = world.context()

    def lost(operation: Operation, answer: Any) -> Reply:
        server.stop("immediate")
        ctx.store.write(lambda tx: tx.next_seq("default"))
        raise AssertionError("the database is away")

    fault = fails(lambda: keys.once(ctx, ACTION, "k", TASK, lost))
    assert isinstance(fault, StoreUnreachable)
    server.start()
    until(lambda: succeeds(lambda: keys.once(ctx, ACTION, "k", TASK, replied)), "the key may be used again")
    assert keys.once(ctx, ACTION, "k", TASK, replied) == (201, b'{"done":true}')


def test_an_answer_that_could_not_be_kept_is_given_and_kept_later(
    server: Cluster, world: World, keys: IdempotencyKeys
) -> None:
    ctx = world.context()

    def then_lost(operation: Operation, answer: Any) -> Reply:
        server.stop("immediate")
        return 201, b'{"first":true}'

    assert keys.once(ctx, ACTION, "k", TASK, then_lost) == (201, b'{"first":true}')
    server.start()
    until(lambda: succeeds(lambda: keys.once(ctx, ACTION, "k", TASK, replied)), "the answer is kept")
    assert keys.once(ctx, ACTION, "k", TASK, replied) == (201, b'{"first":true}')
    assert len(world.call("actions")["actions"]) == 1


def test_a_short_request_that_is_lost_leaves_no_claim(server: Cluster, world: World, keys: IdempotencyKeys) -> None:
    ctx = world.context()

    def lost(operation: Operation, answer: Any) -> Reply:
        server.stop("immediate")
        return 201, b'{"never":"stored"}'

    assert isinstance(fails(lambda: keys.once(ctx, REMEMBER, "k", {"content": "a fact"}, lost)), StoreUnreachable)
    server.start()
    until(lambda: succeeds(lambda: ctx.store.read().count(ANSWERS, "default")), "the database is back")
    assert ctx.store.read().count(ANSWERS, "default") == 0
    assert keys.once(ctx, REMEMBER, "k", {"content": "a fact"}, replied) == (201, b'{"done":true}')
    assert world.call("memories")["total"] == 1


def test_a_request_that_did_nothing_does_not_free_the_key_of_another(world: World, keys: IdempotencyKeys) -> None:
    """Both were sent at once, one of them to a server that lost its connection after the claim."""
    ctx = world.context()
    inner: list[Fault] = []

    def while_running(operation: Operation, answer: Any) -> Reply:
        inner.append(fails(lambda: keys.once(ctx, ACTION, "k", TASK, replied)))
        inner.append(fails(lambda: keys.once(ctx, ACTION, "k", TASK, replied)))
        return 201, b'{"only":true}'

    assert keys.once(ctx, ACTION, "k", TASK, while_running) == (201, b'{"only":true}')
    assert [type(one) for one in inner] == [Conflict, Conflict]
    assert len(world.call("actions")["actions"]) == 1


def test_over_http_a_request_may_be_sent_again_after_the_outage(server: Cluster, tmp_path: Path) -> None:
    with running(tmp_path / "served", store=server.url()) as http:

        def create() -> int:
            headers = {"Idempotency-Key": "task-1"}
            return http.post("/agentmemory/actions", json=TASK, headers=headers).status_code

        server.stop("immediate")
        assert create() == 503
        server.start()
        until(lambda: create() == 200, "it is carried out")
        assert create() == 200
        assert len(http.get("/agentmemory/actions").json()["actions"]) == 1
