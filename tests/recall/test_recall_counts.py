"""How often a record is recalled: counted without a write, kept by the background work, and gone with the record."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from world import World

from holdfast.core.background import MOST_RECORDS, RecallCounter
from holdfast.core.model import Caller
from holdfast.serve.background.maintenance import Maintenance
from holdfast.store.tables import MEMORIES, OBSERVATIONS

pytestmark = pytest.mark.engines

FIRST = "the lantern of the northern harbour burns whale oil"
SECOND = "a lantern hangs above the southern gate at dusk"


def reopened(world: World, home: Path) -> World:
    world.close()
    return World(home, chance=1_000)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "recalled"


@pytest.fixture
def here(home: Path) -> Iterator[World]:
    made = World(home)
    yield made
    made.close()


def keep(world: World) -> None:
    Maintenance(world.engine).keep_recalls()


def remember(world: World, content: str, caller: Caller | None = None) -> Any:
    return world.call("remember", caller, content=content, project="proj")["memory"]


def recalls(world: World, id: str, tenant: str = Caller().tenant) -> int:
    """The kept count of a record, whatever table it is in."""
    reader = world.engine.store.read()
    record = reader.get(MEMORIES, tenant, id) or reader.get(OBSERVATIONS, tenant, id)
    assert record is not None
    return reader.recalls(tenant, [record.seq]).get(record.seq, 0)


def rows(world: World) -> int:
    """How many counts are kept, of records that are there or gone."""
    store = world.engine.store
    return sum(len(store.read().recalls(one, range(store.last_seq(one) + 1))) for one in (Caller().tenant, "other"))


def test_what_a_search_returns_is_counted(here: World) -> None:
    shown, other = remember(here, FIRST)["id"], remember(here, "bread rises best overnight in the cold")["id"]
    assert here.found("lantern harbour") == [shown]
    here.call("smart_search", query="whale oil")
    assert recalls(here, shown) == 0  # a search writes nothing
    keep(here)
    assert recalls(here, shown) == 2
    assert recalls(here, other) == 0


def test_observations_are_counted_too(here: World) -> None:
    here.observe(tool_name="Bash", tool_input={"command": "trim lantern"}, tool_output="ok")
    (seen,) = here.found("lantern")
    keep(here)
    assert recalls(here, seen) == 1


def test_what_did_not_fit_the_budget_was_not_shown(here: World) -> None:
    remember(here, FIRST)
    assert here.found("lantern", token_budget=1) == []
    keep(here)
    assert rows(here) == 0


def test_a_hit_that_is_too_long_costs_the_others_nothing(here: World) -> None:
    long = remember(here, f"{FIRST} " + "and so on for a while " * 300)["id"]
    short = remember(here, "the lantern of the harbour is green")["id"]
    assert set(here.found("lantern harbour", limit=5)) == {long, short}
    answer = here.call("search", query="lantern harbour", token_budget=200)
    assert [one["id"] for one in answer["results"]] == [short]
    assert answer["truncated"]
    assert 0 < answer["tokens_used"] <= 200
    whole = here.call("search", query="lantern harbour", format="compact", token_budget=200)
    assert {one["id"] for one in whole["results"]} == {long, short}  # titles alone are short
    assert not whole["truncated"]


def test_building_a_context_is_no_search(here: World) -> None:
    remember(here, FIRST)
    here.observe(session="s1", hook="user_prompt_submit", prompt="where is the lantern")
    assert "lantern" in here.call("context", project="proj", sessionId="s1")["context"]
    assert "lantern" in here.call("enrich", terms=["lantern"], project="proj")["context"]
    keep(here)
    assert rows(here) == 0


def test_kept_counts_outlive_a_restart_and_grow_on(here: World, home: Path) -> None:
    shown = remember(here, FIRST)["id"]
    here.found("lantern")
    keep(here)
    again = reopened(here, home)
    try:
        assert recalls(again, shown) == 1
        again.found("lantern")
        keep(again)
        assert recalls(again, shown) == 2
        assert again.engine.store.verify() == []
    finally:
        again.close()


def test_a_server_that_stops_keeps_what_it_counted(here: World) -> None:
    shown = remember(here, FIRST)["id"]
    work = Maintenance(here.engine)
    work.start()
    here.found("lantern")
    work.stop()
    assert recalls(here, shown) == 1


def test_a_count_goes_with_its_record(here: World) -> None:
    shown = remember(here, FIRST)["id"]
    here.found("lantern")
    keep(here)
    assert rows(here) == 1
    here.call("forget", memoryId=shown)
    assert rows(here) == 0


def test_a_record_that_went_before_its_count_was_kept_leaves_none(here: World) -> None:
    shown = remember(here, FIRST)["id"]
    here.found("lantern")
    here.call("forget", memoryId=shown)
    keep(here)
    assert rows(here) == 0


def test_a_new_version_begins_with_the_count_of_the_one_before(here: World) -> None:
    first = remember(here, FIRST)["id"]
    here.found("lantern")
    keep(here)
    second = here.call("evolve", memoryId=first, newContent="the lantern burns paraffin now")["memory"]["id"]
    assert recalls(here, first) == recalls(here, second) == 1
    here.found("lantern")
    keep(here)
    assert (recalls(here, first), recalls(here, second)) == (1, 2)


def test_tenants_are_counted_apart(here: World) -> None:
    other = Caller(tenant="other")
    mine, theirs = remember(here, FIRST)["id"], remember(here, FIRST, other)["id"]
    here.found("lantern")
    for _ in range(3):
        here.found("lantern", other)
    keep(here)
    assert recalls(here, mine) == 1
    assert recalls(here, theirs, "other") == 3
    assert rows(here) == 2


def test_a_count_is_only_taken_from_the_tenant_that_has_the_record(here: World) -> None:
    shown = remember(here, FIRST)["id"]
    seq = here.engine.store.read().get(MEMORIES, Caller().tenant, shown).seq  # type: ignore[union-attr]
    here.engine.recalls.add("other", [seq])
    keep(here)
    assert rows(here) == 0


def test_among_equal_matches_the_one_recalled_often_comes_first(here: World) -> None:
    ids = [remember(here, f"lantern {name} stands upon quay {name}")["id"] for name in ("alpha", "omega")]
    assert here.found("lantern quay") == ids[::-1]  # the newer first
    for _ in range(3):
        here.found("alpha")
    keep(here)
    assert here.found("lantern quay") == ids


def test_no_count_outweighs_a_word_of_the_question(here: World) -> None:
    better, worse = remember(here, FIRST)["id"], remember(here, SECOND)["id"]
    seq = here.engine.store.read().get(MEMORIES, Caller().tenant, worse).seq  # type: ignore[union-attr]
    here.engine.store.write(lambda tx: tx.add_recalls({(Caller().tenant, seq): 10**12}))
    assert here.found("lantern harbour") == [better, worse]


def test_counts_in_memory_are_bounded_and_those_known_still_grow() -> None:
    counted = RecallCounter()
    counted.add("t", range(2 * MOST_RECORDS))
    counted.add("t", [0, 3 * MOST_RECORDS])
    taken = counted.take()
    assert len(taken) == MOST_RECORDS
    assert taken["t", 0] == 2
    assert counted.take() == {}


def test_nothing_is_lost_or_counted_twice_between_threads() -> None:
    counted, taken = RecallCounter(), []
    done = threading.Event()

    def take() -> None:
        while not done.is_set():
            taken.append(counted.take())

    takers = threading.Thread(target=take)
    adders = [threading.Thread(target=lambda: [counted.add("t", [1, 2]) for _ in range(2_000)]) for _ in range(3)]
    for thread in (takers, *adders):
        thread.start()
    for thread in adders:
        thread.join()
    done.set()
    takers.join()
    taken.append(counted.take())
    assert sum(some.get(("t", 1), 0) for some in taken) == 6_000
    assert sum(some.get(("t", 2), 0) for some in taken) == 6_000
