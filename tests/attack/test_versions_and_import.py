"""One latest version per line, whatever is remembered, evolved or imported; and imports that lose nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from world import DAY, World

FACT = "Always use pnpm instead of npm when you install packages here"


def _latest(world: World, **bounds: Any) -> list[str]:
    return [one["content"] for one in world.call("memories", **bounds)["memories"]]


def test_the_same_fact_in_many_projects_still_finds_its_own_older_version(world: World) -> None:
    for number in range(12):
        world.call("remember", content=FACT, project=f"p{number}")
    world.call("remember", content=f"{FACT} please", project="p0")
    assert _latest(world, project="p0") == [f"{FACT} please"]


def test_repeating_a_fact_known_in_many_projects_is_answered_as_the_first(world: World) -> None:
    for number in range(12):
        world.call("remember", content=FACT, project=f"p{number}")
    assert world.call("remember", content=FACT, project="p0").get("deduplicated")


def test_asking_for_more_importance_is_not_dropped_as_a_repetition(world: World) -> None:
    world.call("remember", content=FACT, importance=3)
    kept = world.call("remember", content=FACT, importance=5)["memory"]
    assert kept["importance"] == 5


def test_a_version_for_a_day_does_not_take_the_lasting_one_with_it(world: World) -> None:
    lasting = world.call("remember", content=FACT)["memory"]["id"]
    world.call("remember", content=f"{FACT} today", ttlDays=1)
    world.clock.now += 2 * DAY
    world.call("auto_forget")
    assert world.call("memory", id=lasting)["memory"]["content"] == FACT


def _exports(tmp_path: Path) -> tuple[Any, Any, str]:
    source = World(tmp_path / "source")
    first = source.call("remember", content="the server room is painted blue")["memory"]["id"]
    source.call("remember", content="kittens and dogs get along here")
    old = _export(source)
    source.call("evolve", memoryId=first, newContent="the server room is painted red")
    new = _export(source)
    source.close()
    return old, new, first


def _empty(tmp_path: Path) -> World:
    """Another memory on a later day, so that its ids are its own."""
    target = World(tmp_path / "target")
    target.clock.now += DAY
    return target


def _export(world: World) -> Any:
    return json.loads(b"".join(world.call("export").pieces))


@pytest.mark.parametrize(("then", "strategy"), [("new", "merge"), ("old", "replace")])
def test_two_exports_of_one_memory_leave_one_latest_version(tmp_path: Path, then: str, strategy: str) -> None:
    old, new, first = _exports(tmp_path)
    target = _empty(tmp_path)
    try:
        before, after = (old, new) if then == "new" else (new, old)
        target.call("import_", exportData=before)
        target.call("import_", exportData=after, strategy=strategy)
        versions = target.call("memory", id=first)["versions"]
        assert sum(one["isLatest"] for one in versions) == 1
    finally:
        target.close()


def test_an_imported_export_is_exported_in_the_same_order(tmp_path: Path) -> None:
    _, new, _ = _exports(tmp_path)
    target = _empty(tmp_path)
    try:
        target.call("import_", exportData=new)
        assert _export(target)["memories"] == new["memories"]
    finally:
        target.close()


@pytest.mark.parametrize(
    "document",
    [
        {"sessions": [{"id": {}}]},
        {"sessions": [{"id": ["s"]}], "memories": [{"id": "m", "content": "a fine memory"}]},
        {"memories": [{"id": "m", "content": "too important", "importance": 2**70}]},
        {"memories": [{"id": "m", "content": "half a \ud800 pair"}]},
        {"memories": [{"id": "m", "content": "a NUL \x00 inside"}]},
    ],
)
def test_a_bad_record_of_an_import_is_reported_and_stops_nothing(world: World, document: Any) -> None:
    answer = world.call("import_", exportData=document)
    assert answer["refusedCount"] == 1


def test_observations_in_a_list_are_taken_or_reported(world: World) -> None:
    seen = {"id": "o1", "sessionId": "s", "title": "kept?", "timestamp": "2026-01-01T00:00:00Z"}
    answer = world.call("import_", exportData={"observations": [seen]})
    assert answer["imported"].get("observations") or answer["refusedCount"]


def test_an_imported_old_version_without_its_line_can_be_evolved(world: World) -> None:
    lone = {"id": "m", "rootId": "nowhere", "isLatest": False, "content": "an old version that lost its line"}
    world.call("import_", exportData={"memories": [lone]})
    assert world.call("evolve", memoryId="m", newContent="told anew")["memory"]["isLatest"]


def test_an_imported_version_number_cannot_block_later_memories(world: World) -> None:
    huge = {"id": "m", "version": 2**63 - 1, "content": "purple ants live under the old oak tree"}
    world.call("import_", exportData={"memories": [huge]})
    assert world.call("remember", content="purple ants live under the old oak tree now")["success"]


def test_a_circle_of_parents_becomes_one_line_with_one_latest(world: World) -> None:
    ring = [
        {"id": "a", "parentId": "b", "version": 1, "content": "the first of two"},
        {"id": "b", "parentId": "a", "version": 2, "content": "the second of two"},
    ]
    world.call("import_", exportData={"memories": ring})
    assert len(_latest(world)) == 1
