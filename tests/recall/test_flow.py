"""A search over both kinds of records: what is rare, and how much is compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from world import DAY, World

from holdfast.recall import fold


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_a_single_memory_does_not_decide_what_is_rare_among_observations(world: World) -> None:
    world.observe("s0", hook="user_prompt_submit", prompt="basalt in some wall of another house over there")
    for number in range(1, 30):
        world.clock.now += DAY
        world.observe(f"s{number}", hook="user_prompt_submit", prompt=f"granite in wall {number}")
    world.call("remember", content="Nothing about stones at all")
    assert world.found("granite basalt")[0] == world.found("basalt")[0]


def test_answers_from_several_sessions_compare_no_more_than_are_wanted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        world.observe(f"s{number}", hook="user_prompt_submit", prompt=f"granite of quarry {number}")
    compared = list[Any]()
    alike = fold._alike
    monkeypatch.setattr(fold, "_alike", lambda *pair: compared.append(pair) or alike(*pair))
    assert len(world.found("granite", limit=3, perSession=1)) == 3
    assert len(compared) == 3
