"""What recurs over sessions."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise

import apsw
import pytest
from world import World

from holdfast.core.errors import DataDamaged
from holdfast.store.data_folder import DATABASE


def test_files_that_change_together_and_errors_that_come_back_are_patterns(world: World) -> None:
    for number in range(3):
        for file in ("a.py", "b.py"):
            world.observe(f"s{number}", tool_name="Edit", tool_input={"file_path": f"/w/{file}"}, tool_output="ok")
        world.observe(f"s{number}", "post_tool_failure", tool_name="Bash", tool_input={"command": "x"}, error="No disk")
    found = {one["type"]: one for one in world.call("patterns", project="proj")["patterns"]}
    assert (found["co_change"]["files"], found["co_change"]["frequency"]) == (["/w/a.py", "/w/b.py"], 3)
    assert found["error_repeat"]["sessions"] == ["s2", "s1", "s0"]
    assert world.call("patterns", project="other")["patterns"] == []


def test_related_memories_are_less_sure_with_each_step(world: World) -> None:
    ids = [world.call("remember", content=f"Fact of {name}")["memory"]["id"] for name in ("sun", "moon", "star")]
    for one, other in pairwise(ids):
        world.call("relate", sourceId=one, targetId=other, type="supports")

    def near(**given: float) -> list[tuple[str, int, float]]:
        found = world.call("related", memoryId=ids[0], **given)["results"]
        return [(one["memory"]["id"], one["hop"], one["confidence"]) for one in found]

    assert near(maxHops=2) == [(ids[1], 1, 1.0), (ids[2], 2, 0.5)]
    assert near(maxHops=1) == near(minConfidence=0.6) == [(ids[1], 1, 1.0)]


def test_provenance_of_a_row_that_was_changed_behind_the_store_is_refused(world: World) -> None:
    memory = world.call("remember", content="The row is sound")["memory"]["id"]
    assert world.call("provenance", id=memory)["contentHash"] == world.call("provenance", id=memory)["contentHash"]
    with closing(apsw.Connection(str(next(world.engine.path.glob(f"gen-*/{DATABASE}"))))) as db:
        db.execute("UPDATE memories SET strength = 1.5 WHERE id = ?", (memory,))
    with pytest.raises(DataDamaged):
        world.call("provenance", id=memory)
