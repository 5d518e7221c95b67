"""LangGraph's store: what its own store in memory answers, this one answers too; and what it adds."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any, TypedDict

import pytest
from hypothesis import given, settings, strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from holdfast.client import Holdfast
from holdfast.core.errors import InvalidRequest
from holdfast.integrations.langgraph_store import HoldfastStore

ADA, BEN = ("ada", "notes"), ("ben", "notes")
SECRET = "sk-proj-" + "a1B2c3D4" * 5
_numbers = count()


@pytest.fixture
def root() -> str:
    """A namespace that no other test writes in."""
    return f"root{next(_numbers)}"


@pytest.fixture
def store(memory: Holdfast) -> HoldfastStore:
    return HoldfastStore(memory)


# The store that LangGraph ships says what is right: both get the same batches, and must answer alike.

names = st.sampled_from(["a", "b", "a/b", "%2F", "=", "ä 漢"])
keys = st.sampled_from(["k", "k2", "a/b", "*", "="])
values = st.fixed_dictionaries(
    {"n": st.integers(-2, 3), "s": st.sampled_from(["x", "y", "z"])},
    optional={
        "more": st.recursive(st.none() | st.booleans() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2))
    },
)
paths = st.lists(names, min_size=0, max_size=2).map(tuple)
comparisons = st.dictionaries(
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), st.integers(-2, 3), min_size=1, max_size=2
)
filters = st.none() | st.fixed_dictionaries(
    {}, optional={"n": st.integers(-2, 3) | comparisons, "s": st.sampled_from(["x", "y"])}
)
starred = st.lists(names | st.just("*"), min_size=1, max_size=2).map(tuple)
conditions = st.fixed_dictionaries({}, optional={"prefix": starred, "suffix": starred})


def ops_under(root: str) -> st.SearchStrategy[Any]:
    put = st.builds(lambda path, key, value: PutOp((root, *path), key, value), paths, keys, st.none() | values)
    get = st.builds(lambda path, key: GetOp((root, *path), key), paths, keys)
    search = st.builds(lambda path, wanted: SearchOp((root, *path), filter=wanted, limit=100), paths, filters)
    listing = st.builds(
        lambda named, depth: ListNamespacesOp(
            tuple(
                MatchCondition(kind, (root, *path) if kind == "prefix" else path)
                for kind, path in ({"prefix": ()} | named).items()
            ),
            max_depth=depth,
        ),
        conditions,
        st.none() | st.integers(1, 3),
    )
    return st.lists(st.lists(put | get | search | listing, min_size=1, max_size=5), min_size=1, max_size=5)


def shown(result: Any) -> Any:
    """An answer without times; searches without a query promise no order."""
    if isinstance(result, list):
        return sorted(map(repr, map(shown, result)))
    return (result.namespace, result.key, result.value) if hasattr(result, "namespace") else result


def still_there(results: list[Any], reference: InMemoryStore) -> list[Any]:
    """LangGraph's store also lists namespaces whose last item was removed; those are left out."""
    kept = {namespace for namespace, items in reference._data.items() if items}
    return [
        [path for path in one if any(full[: len(path)] == path for full in kept)]
        if one and isinstance(one, list) and isinstance(one[0], tuple)
        else one
        for one in results
    ]


@settings(max_examples=25)
@given(data=st.data())
def test_batches_are_answered_as_by_the_store_that_langgraph_ships(data: st.DataObject, store: HoldfastStore) -> None:
    root = f"root{next(_numbers)}"
    reference = InMemoryStore()
    for batch in data.draw(ops_under(root)):
        before = {namespace: dict(items) for namespace, items in reference._data.items()}
        expected = reference.batch(batch)
        kept = InMemoryStore()
        kept._data.update(before)
        assert list(map(shown, store.batch(batch))) == list(map(shown, still_there(expected, kept)))


def test_a_graph_remembers_from_one_run_to_the_next(store: HoldfastStore, root: str) -> None:
    class State(TypedDict):
        seen: int

    def look(state: State, *, store: BaseStore) -> State:
        known = store.get((root, "ada"), "visits")
        seen = (known.value["n"] if known else 0) + 1
        store.put((root, "ada"), "visits", {"n": seen})
        return {"seen": seen}

    graph = StateGraph(State).add_node("look", look).add_edge(START, "look").add_edge("look", END).compile(store=store)

    assert [graph.invoke({"seen": 0})["seen"] for _ in range(3)] == [1, 2, 3]


def test_the_asynchronous_side_answers_alike(store: HoldfastStore, root: str) -> None:
    async def use() -> Any:
        await store.aput((root, *ADA), "k", {"text": "green tea"})
        found = await store.asearch((root,), query="tea")
        listed = await store.alist_namespaces(prefix=(root,))
        item = await store.aget((root, *ADA), "k")
        await store.adelete((root, *ADA), "k")
        return item and item.value, [one.key for one in found], listed, await store.aget((root, *ADA), "k")

    assert asyncio.run(use()) == ({"text": "green tea"}, ["k"], [(root, *ADA)], None)


def test_a_query_finds_the_best_first_within_a_filter(store: HoldfastStore, root: str) -> None:
    for key, text, year in (
        ("a", "The harbour crane needs oil", 1),
        ("b", "Bread and butter", 1),
        ("c", "The harbour is deep", 2),
    ):
        store.put((root, *ADA), key, {"text": text, "year": year})

    found = store.search((root,), query="harbour", filter={"year": 1})
    assert [one.key for one in found] == ["a", "b"]
    assert found[0].score is not None
    assert found[1].score is None


def test_two_users_of_one_store_get_nothing_of_each_other(store: HoldfastStore, root: str) -> None:
    for user, code in ((ADA, "4711"), (BEN, "9922")):
        store.put((root, *user), "code", {"text": f"the locker code is {code}"})

    for user, code, other in ((ADA, "4711", "9922"), (BEN, "9922", "4711")):
        found = str(store.search((root, *user), query=f"locker code {other}", limit=50))
        assert code in found
        assert other not in found


def test_fields_of_the_index_decide_what_is_found(memory: Holdfast, root: str) -> None:
    store = HoldfastStore(memory, index={"fields": ["title", "parts[*].text"]})
    store.put((root,), "a", {"title": "harbour", "other": "zebra", "parts": [{"text": "crane"}, {"text": "oil"}]})
    store.put((root,), "b", {"title": "harbour"}, index=False)
    store.put((root,), "c", {"title": "harbour", "other": "zebra"}, index=["other"])

    scored = {
        word: {one.key for one in store.search((root,), query=word) if one.score}
        for word in ("harbour", "oil", "zebra")
    }
    assert scored == {"harbour": {"a"}, "oil": {"a"}, "zebra": {"c"}}


def test_an_item_with_a_time_to_live_says_when_it_ends_and_is_refreshed_by_reading(memory: Holdfast, root: str) -> None:
    store = HoldfastStore(memory, ttl={"default_ttl": 5})
    store.put((root,), "k", {"n": 1})
    store.put((root,), "stays", {"n": 1}, ttl=None)

    def ends() -> Any:
        return memory.call("items_get", namespace=[root], keys=["k"])["items"][0]["expiresAt"]

    first = ends()
    store.get((root,), "k", refresh_ttl=False)
    assert ends() == first
    store.get((root,), "k")
    store.search((root,))
    assert ends() > first
    assert "expiresAt" not in memory.call("items_get", namespace=[root], keys=["stays"])["items"][0]


def test_a_secret_is_taken_out_with_a_warning_that_does_not_repeat_it(store: HoldfastStore, root: str) -> None:
    with pytest.warns(UserWarning, match="removed secrets") as warned:
        store.put((root,), "k", {"said": f"use {SECRET}", "n": 7})

    value = store.get((root,), "k").value  # type: ignore[union-attr]
    assert SECRET not in str(value) + str(warned[0].message)
    assert value["n"] == 7


def test_a_store_that_refuses_secrets_stores_nothing_of_the_batch(memory: Holdfast, root: str) -> None:
    store = HoldfastStore(memory, secrets="refuse")

    with pytest.raises(InvalidRequest, match="nothing was stored"):
        store.batch([PutOp((root,), "a", {"n": 1}), PutOp((root,), "b", {"said": SECRET})])
    assert store.get((root,), "a") is None


def test_what_it_cannot_do_is_refused_in_a_sentence(store: HoldfastStore, memory: Holdfast, root: str) -> None:
    with pytest.raises(InvalidRequest, match="embedder of its own"):
        HoldfastStore(memory, index={"dims": 3, "embed": lambda texts: [[0.0] * 3 for _ in texts]})
    with pytest.raises(InvalidRequest, match="the limit is 512"):
        store.put((root, "x" * 300), "y" * 300, {"n": 1})
    with pytest.raises(InvalidNamespaceError):
        store.put((), "k", {"n": 1})
    store.put((root,), "k", {"n": 1})
    with pytest.raises(InvalidRequest, match="unknown operator"):
        store.search((root,), filter={"n": {"$near": 1}})
