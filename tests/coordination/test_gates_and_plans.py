"""Checkpoints, sentinels, sketches, routines and their repair."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from world import World

from holdfast.coordination.coordination_repair import ended, repair
from holdfast.coordination.watch_terms import matches
from holdfast.core.errors import Conflict, InvalidRequest, NotFound
from holdfast.ops.registry import BY_NAME
from holdfast.serve.background.maintenance import Maintenance

HOUR = 3_600_000


def checkpoint(world: World, **given: Any) -> Any:
    return BY_NAME["checkpoint"].call(world.context(), given)


def added(world: World, title: str, **more: Any) -> str:
    return str(world.call("action_create", title=title, **more)["action"]["id"])


def status(world: World, id: str) -> str:
    return str(world.call("action_get", actionId=id)["action"]["status"])


def sentinel(world: World, type: str, actions: list[str], **config: Any) -> str:
    made = world.call("sentinel_create", name="watch", type=type, config=config, linkedActionIds=actions)
    return str(made["sentinel"]["id"])


def clean_up(world: World) -> None:
    ctx = dataclasses.replace(world.context(), whole=True)
    repair(ctx, list(ended(ctx, ctx.store.read())))


def test_a_checkpoint_is_resolved_once_and_in_one_way(world: World) -> None:
    id = added(world, "Deploy")
    gate = checkpoint(world, name="CI", type="ci", linkedActionIds=[id])["checkpoint"]["id"]
    assert status(world, id) == "blocked"
    passed = [checkpoint(world, operation="resolve", checkpointId=gate, status="passed") for _ in range(2)]
    assert [one["unblockedCount"] for one in passed] == [1, 0]
    with pytest.raises(Conflict):
        checkpoint(world, operation="resolve", checkpointId=gate, status="failed")


def test_what_fails_or_expires_goes_on_holding_its_actions_back(world: World) -> None:
    id = added(world, "Deploy")
    late = checkpoint(world, name="Approval", linkedActionIds=[id], expiresInMs=HOUR)["checkpoint"]["id"]
    world.clock.now += HOUR
    with pytest.raises(Conflict, match="expired"):
        checkpoint(world, operation="resolve", checkpointId=late, status="passed")
    clean_up(world)
    assert [one["status"] for one in world.call("checkpoints")["checkpoints"]] == ["expired"]
    assert status(world, id) == "blocked"


@pytest.mark.engines
def test_a_timer_a_number_and_a_word_that_is_observed_trigger_by_themselves(world: World) -> None:
    ids = [added(world, name) for name in ("timer", "number", "word")]
    sentinel(world, "timer", ids[:1], durationMs=HOUR)
    sentinel(world, "threshold", ids[1:2], metric="observations", operator="gt", value=0)
    sentinel(world, "pattern", ids[2:], pattern="nothing|deploy.*finished")
    assert world.call("sentinel_check") == {"success": True, "triggered": [], "checkedCount": 3}
    world.observe(tool_name="Bash", tool_input={"command": "ship"}, tool_output="Deploy to prod FINISHED")
    assert len(world.call("sentinel_check")["triggered"]) == 2
    assert [status(world, id) for id in ids] == ["blocked", "pending", "pending"]
    world.clock.now += HOUR
    assert len(world.call("sentinel_check")["triggered"]) == 1
    assert status(world, ids[0]) == "pending"


def test_a_running_server_ends_leases_and_triggers_sentinels_without_being_asked(world: World) -> None:
    held, waiting = added(world, "Held"), added(world, "Waiting")
    world.call("lease", **{"operation": "acquire", "actionId": held, "agentId": "ann"})
    sentinel(world, "timer", [waiting], durationMs=HOUR)
    work = Maintenance(world.engine)
    work.coordinate()
    assert [status(world, id) for id in (held, waiting)] == ["active", "blocked"]
    world.clock.now += HOUR
    work.coordinate()
    assert [status(world, id) for id in (held, waiting)] == ["pending", "pending"]


def test_a_pattern_sees_only_what_comes_after_it_and_only_what_its_agent_may_see(tmp_path: Path) -> None:
    world = World(tmp_path / "m", agent_scope="isolated")
    seen = {"project": "p", "sessionId": "s"}
    world.call("agent_observe", **seen, text="the build is green", agentId="ann")
    world.call("sentinel_create", name="w", type="pattern", config={"pattern": "green"}, agentId="ann")
    world.call("agent_observe", project="p", sessionId="t", text="my build is green", agentId="ben")
    assert world.call("sentinel_check", agentId="ann")["triggered"] == []
    world.call("agent_observe", **seen, text="it is green again", agentId="ann")
    assert len(world.call("sentinel_check", agentId="ann")["triggered"]) == 1
    world.close()


@pytest.mark.parametrize(
    "given",
    [
        {"type": "timer", "config": {}},
        {"type": "threshold", "config": {"metric": "weather", "operator": "gt", "value": 1}},
        {"type": "threshold", "config": {"metric": "memories", "operator": "about", "value": 1}},
        {"type": "pattern", "config": {"pattern": "(a+)+$"}},
        {"type": "webhook", "config": {"path": "/x"}},
        {"type": "timer", "config": "no json"},
    ],
)
def test_a_condition_that_cannot_be_understood_is_refused(world: World, given: Any) -> None:
    with pytest.raises(InvalidRequest):
        world.call("sentinel_create", name="x", **given)


def test_patterns_are_plain_words_in_their_order() -> None:
    assert matches("a.*c", "xxABxC")
    assert not matches("c.*a", "abc")
    assert matches("no|yes", "Yes!")
    assert not matches("|", "anything")


def test_a_sketch_is_dropped_after_its_time_and_becomes_actions_once(world: World) -> None:
    def drawn() -> str:
        sketch = str(world.call("sketch_create", title="Idea", expiresInMs=HOUR)["sketch"]["id"])
        first = world.call("sketch_add", sketchId=sketch, title="One")["action"]["id"]
        world.call("sketch_add", sketchId=sketch, title="Two", dependsOn=[first])
        with pytest.raises(NotFound):
            world.call("sketch_add", sketchId=sketch, title="Three", dependsOn=["act_nowhere"])
        return sketch

    kept, dropped = drawn(), drawn()
    ids = [world.call("sketch_promote", sketchId=kept, project="p")["promotedIds"] for _ in range(2)]
    assert ids[0] == ids[1]
    assert [status(world, id) for id in ids[0]] == ["pending", "blocked"]
    world.clock.now += HOUR
    with pytest.raises(Conflict):
        world.call("sketch_promote", sketchId=dropped)
    clean_up(world)
    states = {one["id"]: (one["status"], one["actionCount"]) for one in world.call("sketches")["sketches"]}
    assert states == {kept: ("promoted", 2), dropped: ("expired", 0)}
    assert len(world.call("actions")["actions"]) == 2


def test_a_routine_makes_new_actions_each_time_and_tells_how_far_they_are(world: World) -> None:
    steps = [{"title": "Tag", "order": 1}, {"title": "Publish", "order": 2, "dependsOn": [1], "priority": 9}]
    routine = world.call("routine_create", name="Release", steps=steps)["routine"]["id"]
    runs = [world.call("routine_run", routineId=routine, initiatedBy="ann")["run"] for _ in range(2)]
    assert len({id for run in runs for id in run["actionIds"]}) == 4
    first, second = runs[0]["actionIds"]
    for id in (first, second):
        assert status(world, id) == "pending"
        world.call("action_update", actionId=id, status="done")
    assert world.call("routine_status", runId=runs[0]["id"])["run"]["status"] == "completed"
    world.call("action_update", actionId=runs[1]["actionIds"][0], status="cancelled")
    assert world.call("routine_status", runId=runs[1]["id"])["run"]["status"] == "failed"


@pytest.mark.parametrize(
    "steps",
    [
        [{"title": "a", "dependsOn": [1]}, {"title": "b", "dependsOn": [0]}],
        [{"title": "a", "dependsOn": [7]}],
        [{"title": "a", "order": 1}, {"title": "b", "order": 1}],
        [],
    ],
)
def test_steps_that_cannot_be_done_one_after_the_other_are_refused(world: World, steps: Any) -> None:
    with pytest.raises(InvalidRequest):
        world.call("routine_create", name="x", steps=steps)


def test_heal_shows_first_and_repairs_what_is_stuck(world: World) -> None:
    need = added(world, "Need")
    stuck = added(world, "Stuck", requires=[need])
    world.call("action_update", actionId=stuck, status="pending")  # by hand, although it waits
    memory = world.call("remember", content="Tagged")["memory"]["id"]
    world.call("facet_tag", targetType="memory", targetId=memory, dimension="team", value="ops")

    def names(**given: Any) -> list[str]:
        return [one.partition(":")[0] for one in world.call("heal", **given)["details"]]

    assert names(dryRun=True) == ["pending-but-blocked"]
    assert status(world, stuck) == "pending"
    assert names() == ["pending-but-blocked"]
    assert (status(world, stuck), names()) == ("blocked", [])
    with pytest.raises(InvalidRequest):
        world.call("heal", categories=["weather"])
