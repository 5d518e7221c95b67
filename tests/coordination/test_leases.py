"""One agent at a time works on an action; what waits, and what is next."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from world import World

from holdfast.cli.main import main
from holdfast.coordination.coordination_repair import ended, repair
from holdfast.core.errors import Conflict, InvalidRequest, NotFound
from holdfast.core.model import Caller
from holdfast.ops.registry import BY_NAME

pytestmark = pytest.mark.quick

MINUTE = 60_000


def lease(world: World, operation: str, action: str, agent: str, **more: Any) -> Any:
    given = {"operation": operation, "actionId": action, "agentId": agent, **more}
    return BY_NAME["lease"].call(world.context(), given)


def added(world: World, title: str, **more: Any) -> str:
    return str(world.call("action_create", title=title, **more)["action"]["id"])


def status(world: World, id: str) -> str:
    return str(world.call("action_get", actionId=id)["action"]["status"])


def pass_time(world: World, ms: int) -> None:
    """Time goes on, and the background of a server looks."""
    world.clock.now += ms
    ctx = dataclasses.replace(world.context(), whole=True)
    repair(ctx, list(ended(ctx, ctx.store.read())))


@pytest.mark.engines
def test_of_many_agents_at_once_one_gets_the_lease(world: World) -> None:
    id = added(world, "Migrate")
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: lease(world, "acquire", id, f"agent{n}"), range(8)))
    (won,) = [one["lease"]["agentId"] for one in answers if one["success"]]
    assert {one["heldBy"] for one in answers if not one["success"]} == {won}
    assert status(world, id) == "active"


@pytest.mark.engines
def test_a_lease_outlives_the_server_and_ends_by_itself(tmp_path: Path) -> None:
    world = World(tmp_path / "m")
    id = added(world, "Migrate")
    until = lease(world, "acquire", id, "ann", ttlMs=MINUTE)["lease"]["expiresAt"]
    world.close()
    again = World(tmp_path / "m", chance=1_000)
    refused = lease(again, "acquire", id, "ben")
    assert (refused["success"], refused["heldBy"], refused["expiresAt"]) == (False, "ann", until)
    pass_time(again, MINUTE)
    assert status(again, id) == "pending"
    assert lease(again, "acquire", id, "ben")["success"] is True
    again.close()


def test_a_lease_that_ended_is_free_before_anything_has_cleaned_up(world: World) -> None:
    id = added(world, "Migrate")
    lease(world, "acquire", id, "ann", ttlMs=MINUTE)
    world.clock.now += MINUTE
    assert lease(world, "acquire", id, "ben")["lease"]["agentId"] == "ben"
    with pytest.raises(NotFound):
        lease(world, "acquire", "act_nowhere", "ben")


def test_renewing_lasts_an_hour_at_most_and_needs_a_lease(world: World) -> None:
    id = added(world, "Migrate")
    with pytest.raises(Conflict):
        lease(world, "renew", id, "ann")
    lease(world, "acquire", id, "ann", ttlMs=50 * MINUTE)
    longer = lease(world, "renew", id, "ann", ttlMs=50 * MINUTE)["lease"]
    world.clock.now += 60 * MINUTE - 1
    assert lease(world, "acquire", id, "ben")["expiresAt"] == longer["expiresAt"]
    assert lease(world, "renew", id, "ben")["heldBy"] == "ann"
    world.clock.now += 1
    assert lease(world, "acquire", id, "ben")["success"] is True


def test_taking_and_giving_back_twice_is_the_same_as_once(world: World) -> None:
    id = added(world, "Migrate")
    first, second = (lease(world, "acquire", id, "ann") for _ in range(2))
    assert first["lease"] == second["lease"]
    assert [lease(world, "release", id, "ann")["released"] for _ in range(2)] == [True, False]
    assert status(world, id) == "pending"


def test_who_does_not_say_who_it_is_gets_no_lease(world: World) -> None:
    id = added(world, "Migrate")
    with pytest.raises(InvalidRequest):
        BY_NAME["lease"].call(world.context(), {"operation": "acquire", "actionId": id})


def test_a_bound_token_holds_leases_in_its_own_name(world: World) -> None:
    id = added(world, "Migrate")
    caller = Caller(agent="ann", name="token:a", scopes=frozenset({"read", "write"}))
    ctx = world.engine.context(caller)
    held = BY_NAME["lease"].call(ctx, {"operation": "acquire", "actionId": id})
    assert held["lease"]["agentId"] == "ann"


def test_what_requires_an_action_becomes_pending_when_all_of_it_is_done(world: World) -> None:
    one, two = added(world, "One"), added(world, "Two")
    both = added(world, "Both", requires=[one, two])
    assert status(world, both) == "blocked"
    with pytest.raises(Conflict, match="blocked by requires:"):
        lease(world, "acquire", both, "ann")
    world.call("action_update", actionId=one, status="done")
    assert status(world, both) == "blocked"
    lease(world, "acquire", two, "ann")
    lease(world, "release", two, "ann", result="two is done")
    assert status(world, both) == "pending"
    assert status(world, added(world, "After", requires=[one])) == "pending"


def test_actions_never_wait_for_each_other_in_a_circle(world: World) -> None:
    one = added(world, "One")
    two = added(world, "Two", requires=[one])
    three = added(world, "Three", requires=[two])
    for source, target in ((one, three), (one, one)):
        with pytest.raises(InvalidRequest):
            world.call("action_edge", sourceActionId=source, targetActionId=target, type="requires")


def test_next_is_the_most_urgent_action_that_nobody_else_works_on(world: World) -> None:
    added(world, "Low", priority=1, project="p")
    high = added(world, "High", priority=9, project="p")
    added(world, "Elsewhere", priority=100, project="q")

    def next_of(agent: str) -> Any:
        return world.call("next_action", project="p", agentId=agent)["suggestion"]["title"]

    assert next_of("ann") == next_of("ben") == "High"
    lease(world, "acquire", high, "ann")
    assert (next_of("ann"), next_of("ben")) == ("High", "Low")
    other = added(world, "Rival", priority=50, project="p")
    world.call("action_edge", sourceActionId=other, targetActionId=high, type="conflicts_with")
    assert next_of("ben") == "Low"


def test_isolated_agents_neither_see_nor_hold_each_others_actions(tmp_path: Path) -> None:
    world = World(tmp_path / "m", agent_scope="isolated")
    id = added(world, "Migrate", agentId="ann")
    with pytest.raises(NotFound):
        lease(world, "acquire", id, "ben")
    assert world.call("next_action", agentId="ben")["suggestion"] is None
    assert lease(world, "acquire", id, "ann")["success"] is True
    world.close()


def test_a_command_that_does_not_get_the_lease_exits_with_5(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    world = World(tmp_path / "m")
    id = added(world, "Migrate")
    world.close()
    acquire = ["lease", "acquire", id, "--data", str(tmp_path / "m"), "--json", "--agent-id"]
    assert [main([*acquire, agent]) for agent in ("ann", "ben")] == [0, 5]
    assert b'"heldBy": "ann"' in capsysbinary.readouterr().out
