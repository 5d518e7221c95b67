"""Signals, shares and facets: who sees them, and what becomes of them when a record is forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from world import World

from holdfast.core.errors import Forbidden, InvalidRequest, NotFound
from holdfast.core.model import Caller, Chat


def send(world: World, sender: str, content: str, caller: Caller | None = None, **more: Any) -> Any:
    return world.call("signal_send", caller, **{"from": sender, "content": content, **more})["signal"]


def got(world: World, agent: str, **more: Any) -> list[str]:
    return [one["content"] for one in world.call("signal_read", agentId=agent, **more)["signals"]]


@pytest.mark.engines
def test_a_signal_reaches_its_agent_once_and_nobody_else(world: World) -> None:
    send(world, "ann", "for ben", to="ben")
    send(world, "ann", "for all")
    assert got(world, "ben", unreadOnly=True) == ["for all", "for ben"]
    assert got(world, "ben", unreadOnly=True) == []
    assert got(world, "cid", unreadOnly=True) == ["for all"]
    assert got(world, "ann", unreadOnly=True) == []
    assert got(world, "ben") == got(world, "ann") == ["for all", "for ben"]


def test_a_signal_ends_and_a_thread_is_for_those_in_it(world: World) -> None:
    first = send(world, "ann", "soon over", to="ben", expiresInMs=1_000)
    assert send(world, "ben", "yes", to="ann", replyTo=first["id"])["threadId"] == first["threadId"]
    with pytest.raises(NotFound):
        send(world, "cid", "me too", replyTo=first["id"])
    world.clock.now += 1_000
    assert got(world, "ben", threadId=first["threadId"]) == ["yes"]


def test_a_bound_token_neither_sends_nor_reads_in_another_name(world: World) -> None:
    ann = Caller(agent="ann", name="token:a", scopes=frozenset({"read", "write"}))
    assert send(world, "ann", "as myself", ann)["from"] == "ann"
    with pytest.raises(Forbidden):
        send(world, "ben", "as another", ann)
    with pytest.raises(Forbidden):
        world.call("signal_read", ann, agentId="ben")
    with pytest.raises(InvalidRequest):
        world.call("signal_read")


def test_isolated_agents_send_and_share_nothing(tmp_path: Path) -> None:
    world = World(tmp_path / "m", agent_scope="isolated")
    memory = world.call("remember", content="Mine alone", agentId="ann")["memory"]["id"]
    for to in ("ben", None):
        with pytest.raises(Forbidden):
            send(world, "ann", "psst", to=to, agentId="ann")
    with pytest.raises(Forbidden):
        world.call("team_share", itemType="memory", itemId=memory, agentId="ann")
    with pytest.raises(NotFound):
        world.call("facet_tag", targetType="memory", targetId=memory, dimension="a", value="b", agentId="ben")
    world.call("facet_tag", targetType="memory", targetId=memory, dimension="a", value="b", agentId="ann")
    assert world.call("facet_query", matchAll="a:b", agentId="ben")["results"] == []
    with pytest.raises(NotFound):
        world.call("provenance", id=memory, agentId="ben")
    world.close()


def test_another_tenant_has_signals_facets_and_shares_of_its_own(world: World) -> None:
    other = Caller(tenant="other")
    memory = world.call("remember", content="Ours")["memory"]["id"]
    send(world, "ann", "ours", to="ben")
    world.call("team_share", itemType="memory", itemId=memory)
    assert world.call("signal_read", other, agentId="ben")["signals"] == []
    assert world.call("team_feed", other) == {"items": [], "total": 0}
    with pytest.raises(NotFound):
        world.call("team_share", other, itemType="memory", itemId=memory)


def test_what_was_said_in_a_private_chat_is_neither_shared_nor_traced_outside(world: World) -> None:
    place = {"umo": "tg:FriendMessage:ada", "senderId": "ada"}
    memory = world.call("remember", content="Ada likes tea", scope="personal", **place)["memory"]["id"]
    for operation, given in (
        ("team_share", {"itemType": "memory", "itemId": memory}),
        ("facet_tag", {"targetType": "memory", "targetId": memory, "dimension": "a", "value": "b"}),
        ("provenance", {"id": memory}),
        ("related", {"memoryId": memory}),
    ):
        with pytest.raises(NotFound):
            world.call(operation, **given)
    assert world.call("provenance", id=memory, **place)["memory"]["id"] == memory
    bound = Caller(chat=Chat("tg:FriendMessage:ada", "ada"))
    with pytest.raises(InvalidRequest):
        world.call("signal_read", bound, agentId="ann")


def test_facets_and_shares_go_with_the_record_and_the_audit_log_names_them(world: World) -> None:
    memory = world.call("remember", content="Passing")["memory"]["id"]
    facet = world.call("facet_tag", targetType="memory", targetId=memory, dimension="team", value="ops")["facet"]
    shared = world.call("team_share", itemType="memory", itemId=memory)["sharedItem"]
    world.call("forget", memoryId=memory)
    assert world.call("facets")["dimensions"] == []
    assert world.call("team_feed")["items"] == []
    (entry,) = [one for one in world.call("audit")["entries"] if one["operation"] == "forget"]
    assert {facet["id"], shared["id"]} <= set(entry["targetIds"])


def test_a_signal_is_removed_for_good(world: World) -> None:
    signal = send(world, "ann", "wrong", to="ben")["id"]
    world.call("coordination_remove", id=signal)
    assert got(world, "ben") == []
    with pytest.raises(NotFound):
        world.call("coordination_remove", id=signal)


def test_coordination_comes_back_with_an_export(world: World, tmp_path: Path) -> None:
    send(world, "ann", "keep this", to="ben")
    world.call("routine_create", name="Release", steps=[{"title": "Tag"}])
    data = b"".join(world.call("export").pieces)
    other = World(tmp_path / "other")
    done = other.call("import_", exportData=orjson.loads(data))
    assert (done["imported"]["coordination"], done["refused"]) == (2, [])
    assert got(other, "ben") == ["keep this"]
    assert [one["name"] for one in other.call("routines")["routines"]] == ["Release"]
    other.close()
