"""Items: exact values under exact keys, apart from what agents see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rows import each
from world import World

from holdfast.core.errors import InvalidRequest

SECRET = "sk-proj-" + "a1B2c3D4" * 5
ADA, BEN = ["users", "ada"], ["users", "ben"]

pytestmark = pytest.mark.engines


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def put(world: World, namespace: list[str], key: str | None, value: Any, **more: Any) -> Any:
    return world.call("items_put", items=[{"namespace": namespace, "key": key, "value": value, **more}])["items"][0]


def values(answer: Any) -> list[Any]:
    return [one and one["value"] for one in answer["items"]]


def got(world: World, namespace: list[str], *keys: str) -> list[Any]:
    return values(world.call("items_get", namespace=namespace, keys=keys))


def test_a_value_comes_back_as_it_was_given(world: World) -> None:
    value = {"n": 3, "share": 0.1, "none": None, "on": True, "list": [1, [2, {"é": "漢字"}]], "": "empty name", "t": ""}
    put(world, ADA, "profile", value)

    assert got(world, ADA, "profile", "other") == [value, None]


def test_equal_values_under_two_keys_are_two_items(world: World) -> None:
    for key in ("a", "b"):
        put(world, ADA, key, {"text": "likes green tea and long walks"})

    found = world.call("items_search", namespace=ADA, query="green tea")["items"]
    assert sorted(one["key"] for one in found) == ["a", "b"]
    assert all(one["score"] for one in found)


def test_a_changed_value_of_the_same_text_is_kept_and_the_first_time_stays(world: World) -> None:
    first = put(world, ADA, "k", {"n": 1}, text="the same words")
    world.clock.now += 5_000
    second = put(world, ADA, "k", {"n": 2}, text="the same words")

    assert got(world, ADA, "k") == [{"n": 2}]
    assert second["createdAt"] == first["createdAt"] < second["updatedAt"]


@each(
    "names",
    [("users/ada", "k"), ("users", "ada/k"), ("users%2Fada", "k"), ("users", "=k"), ("users", "ada"), ("*", "k")],
)
def test_no_name_reaches_into_another_namespace(names: tuple[str, str], world: World) -> None:
    put(world, ADA, "k", {"of": "ada"})
    put(world, [names[0]], names[1], {"of": "other"})

    assert got(world, ADA, "k") == [{"of": "ada"}]
    assert got(world, [names[0]], names[1]) == [{"of": "other"}]
    assert values(world.call("items_search", namespace=ADA)) == [{"of": "ada"}]


def test_two_users_of_one_store_find_nothing_of_each_other(world: World) -> None:
    put(world, ADA, "k", {"text": "the locker code is 4711"})
    put(world, BEN, "k", {"text": "the locker code is 9922"})

    for user, own in ((ADA, "4711"), (BEN, "9922")):
        found = world.call("items_search", namespace=user, query="locker code 4711 9922")
        assert [own in one["text"] for one in values(found)] == [True]


def test_items_are_shown_to_no_agent_and_in_no_context(world: World) -> None:
    put(world, ADA, "k", {"text": "the locker code is 4711"})

    assert world.found("locker code") == []
    assert world.call("memories")["total"] == 0
    assert "4711" not in str(world.call("context", project="proj"))
    assert world.call("search", query="locker code", umo="app:private:ada", senderId="ada")["results"] == []


def test_without_a_key_items_keep_the_order_they_were_given_in(world: World) -> None:
    for start in (0, 3):
        world.call("items_put", items=[{"namespace": ADA, "value": {"n": n}} for n in range(start, start + 3)])

    assert [one["n"] for one in values(world.call("items_list", namespace=ADA))] == [0, 1, 2, 3, 4, 5]
    assert [one["n"] for one in values(world.call("items_list", namespace=ADA, last=True, limit=2))] == [5, 4]


def test_the_last_item_is_taken_out_once(world: World) -> None:
    for n in range(2):
        put(world, ADA, None, {"n": n})

    taken = [world.call("items_pop", namespace=ADA)["item"] for _ in range(3)]
    assert [one and one["value"] for one in taken] == [{"n": 1}, {"n": 0}, None]


def test_clearing_a_namespace_leaves_those_below_and_beside_it(world: World) -> None:
    for namespace in (["users"], ADA, ["users2"]):
        put(world, namespace, "k", {"n": 1})

    assert world.call("items_clear", namespace=["users"]) == {"items": 1}
    assert world.call("items_namespaces") == {"namespaces": [ADA, ["users2"]]}


def test_null_removes_an_item_for_good(world: World) -> None:
    put(world, ADA, "k", {"text": "gone soon"})
    assert put(world, ADA, "k", None) is None

    assert got(world, ADA, "k") == [None]
    assert world.call("items_namespaces") == {"namespaces": []}


def test_an_item_ends_with_its_time_unless_it_is_touched(world: World) -> None:
    for key in ("touched", "left"):
        put(world, ADA, key, {"n": 1}, ttlMinutes=2)
    world.clock.now += 90_000
    assert world.call("items_touch", namespace=ADA, keys=["touched", "none"]) == {"items": 1}
    world.clock.now += 60_000

    assert got(world, ADA, "touched", "left") == [{"n": 1}, None]
    assert values(world.call("items_search", namespace=ADA)) == [{"n": 1}]
    assert put(world, ADA, "left", {"n": 2})["createdAt"] == "2026-09-21T14:15:50.000Z"


def test_secrets_are_taken_out_of_texts_and_the_answer_says_so(world: World) -> None:
    answer = world.call("items_put", items=[{"namespace": ADA, "key": "k", "value": {"n": 7, "said": f"use {SECRET}"}}])

    assert SECRET not in str(answer)
    assert answer["redacted"]
    assert got(world, ADA, "k")[0]["n"] == 7


def test_with_secrets_refused_nothing_of_the_batch_is_stored(world: World) -> None:
    fine, bad = ({"namespace": ADA, "key": key, "value": {"said": said}} for key, said in (("a", "x"), ("b", SECRET)))

    with pytest.raises(InvalidRequest, match="nothing was stored") as refused:
        world.call("items_put", items=[fine, bad], secrets="refuse")
    assert SECRET not in str(refused.value)
    assert got(world, ADA, "a", "b") == [None, None]


@each("item, why", [
    ({"namespace": ["users", SECRET], "key": "k"}, "looks like a secret"),
    ({"namespace": ADA, "key": SECRET}, "looks like a secret"),
    ({"namespace": [], "key": "k"}, "at least one name"),
    ({"namespace": ["u" * 300, "v" * 300], "key": "k"}, "the limit is 512"),
])  # fmt: skip
def test_a_name_that_cannot_be_kept_is_refused(item: dict[str, Any], why: str, world: World) -> None:
    with pytest.raises(InvalidRequest, match=why):
        world.call("items_put", items=[{**item, "value": {"n": 1}}])


FILTERED = {"a": {"n": 1, "s": "b", "in": {"x": 1}}, "b": {"n": 2.5, "s": "c", "l": [1, 2]}, "c": {"n": None, "s": 3}}


@each("wanted, keys", [
    ({}, "abc"),
    ({"n": 1}, "a"),
    ({"n": None}, "c"),
    ({"n": {"$gt": 1}}, "b"),
    ({"n": {"$gte": 1, "$lt": 2.5}}, "a"),
    ({"n": {"$ne": 1}}, "bc"),
    ({"s": {"$lte": "b"}}, "a"),
    ({"in": {"x": 1}}, "a"),
    ({"in": {"x": {"$eq": 1}}, "s": "b"}, "a"),
    ({"l": [1, 2]}, "b"),
    ({"l": [1]}, ""),
])  # fmt: skip
def test_filters_compare_fields(wanted: dict[str, Any], keys: str, world: World) -> None:
    for key, value in FILTERED.items():
        put(world, ADA, key, value)

    assert sorted(one["key"] for one in world.call("items_search", filter=wanted)["items"]) == list(keys)


def test_an_unknown_operator_is_refused(world: World) -> None:
    put(world, ADA, "k", {"n": 1})

    with pytest.raises(InvalidRequest, match=r"\$eq, \$ne, \$gt"):
        world.call("items_search", filter={"n": {"$near": 1}})


def test_isolated_agents_have_items_of_their_own(tmp_path: Path) -> None:
    world = World(tmp_path / "isolated", agent_scope="isolated")
    for agent in ("alpha", "beta"):
        world.call("items_put", agentId=agent, items=[{"namespace": ADA, "key": "k", "value": {"of": agent}}])

    for agent in ("alpha", "beta"):
        assert values(world.call("items_get", agentId=agent, namespace=ADA, keys=["k"])) == [{"of": agent}]
        assert values(world.call("items_search", agentId=agent, query=agent)) == [{"of": agent}]
        assert world.call("items_namespaces", agentId=agent) == {"namespaces": [ADA]}
    world.close()
