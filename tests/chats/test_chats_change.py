"""Pins and scopes: who may change whom a memory concerns, and what becomes of its versions."""

from __future__ import annotations

from typing import Any

import pytest
from chat_world import A_PRIVATE, G1
from world import DAY, World

from holdfast.core.errors import Forbidden, InvalidRequest, NotFound
from holdfast.protocol.access import Viewer

A, A_IN_GROUP, B_IN_GROUP = Viewer(A_PRIVATE, "A"), Viewer(G1, "A"), Viewer(G1, "B")


def chat(viewer: Viewer) -> dict[str, Any]:
    return {"umo": viewer.umo, **({"senderId": viewer.sender_id} if viewer.sender_id else {})}


def keep(world: World, viewer: Viewer, **more: Any) -> str:
    return str(
        world.call("remember", content="The cellar key hangs behind the clock", **chat(viewer), **more)["memory"]["id"]
    )


def sees(world: World, viewer: Viewer) -> set[str]:
    return {one["id"] for one in world.call("memories", latest=False, **chat(viewer))["memories"]}


def test_a_pinned_memory_outlives_its_time(world: World) -> None:
    id = world.call("remember", content="The bridge closes at nine", ttlDays=1)["memory"]["id"]
    assert world.call("memory_change", id=id, pinned=True)["memory"]["memoryType"] == "permanent"
    world.clock.now += 5 * DAY
    world.call("auto_forget")
    assert world.found("bridge closes") == [id]
    assert "memoryType" not in world.call("memory_change", id=id, pinned=False)["memory"]


def test_what_becomes_personal_is_hidden_in_all_its_versions(world: World) -> None:
    first = keep(world, A_IN_GROUP, scope="group")
    second = world.call("evolve", memoryId=first, newContent="The cellar key lies in the drawer", **chat(A_IN_GROUP))[
        "memory"
    ]["id"]
    assert sees(world, B_IN_GROUP) == {first, second}

    world.call("memory_change", id=second, scope="personal", **chat(A_IN_GROUP))

    assert sees(world, B_IN_GROUP) == set()
    assert world.found("cellar key", **chat(B_IN_GROUP)) == []
    assert sees(world, A_IN_GROUP) == {first, second}
    assert world.found("cellar key", **chat(A_IN_GROUP)) == [second]


def test_a_member_of_a_group_does_not_tell_the_world(world: World) -> None:
    id = keep(world, A_IN_GROUP, scope="group")
    for viewer in (B_IN_GROUP, Viewer(G1)):
        with pytest.raises(Forbidden):
            world.call("memory_change", id=id, scope="global", **chat(viewer))
    assert world.found("cellar key") == []
    world.call("memory_change", id=id, scope="global", **chat(A_IN_GROUP))
    assert world.found("cellar key") == [id]


def test_a_namesake_on_another_platform_owns_nothing(world: World) -> None:
    id = keep(world, A, scope="global")
    with pytest.raises(Forbidden):
        world.call("memory_change", id=id, scope="personal", umo="qq:FriendMessage:A", senderId="A")


def test_nobody_changes_what_he_cannot_see(world: World) -> None:
    id = keep(world, A)
    for name in (id, "mem_nowhere"):
        with pytest.raises(NotFound):
            world.call("memory_change", id=name, pinned=True, **chat(B_IN_GROUP))


def test_a_memory_of_no_chat_cannot_be_a_groups(world: World) -> None:
    id = world.call("remember", content="The agent's own note")["memory"]["id"]
    with pytest.raises(InvalidRequest):
        world.call("memory_change", id=id, scope="group")
    with pytest.raises(InvalidRequest):
        world.call("memory_change", id=id)
    assert world.found("own note") == [id]


def test_a_change_is_in_the_audit_log_and_an_idle_one_is_not(world: World) -> None:
    id = world.call("remember", content="The agent's own note")["memory"]["id"]
    for _ in range(2):
        world.call("memory_change", id=id, pinned=True)
    entries = [one for one in world.call("audit")["entries"] if one["operation"] == "memory_change"]
    assert [(one["targetIds"], one["details"]) for one in entries] == [([id], {"pinned": True})]
