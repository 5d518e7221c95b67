"""Drills of moments: what the journal adds to a snapshot is restored beside the live memory, and checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from flows import OLD
from harm import flip_bit
from journal_steps import Journaled, journal_objects
from world import World

from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.core.times import iso

pytestmark = pytest.mark.embedded  # on PostgreSQL there is no journal


def journaled(folder: Path) -> Journaled:
    """A memory with a snapshot, and three facts after it in the journal."""
    home = Journaled(folder / "memory", folder / "vault")
    home.remember(OLD)
    home.piece()
    home.snapshot()
    for number in range(3):
        home.remember(f"Fact {number}.")
        home.piece()
    return home


def test_a_drill_restores_a_moment_between_two_snapshots(tmp_path: Path) -> None:
    home = journaled(tmp_path)
    at = home.clock.now - 1_000
    done = home.call("drill", at=at)

    assert (done["sound"], done["drill"]["tables"]["memories"]) == (True, 3)
    assert done["drill"]["moment"] == iso(at)
    assert done["drill"]["snapshot"] == home.call("snapshot_list")["snapshots"][0]["id"]
    assert f"the memory of {iso(at)}: restored" in done["summary"]
    assert home.call("drill_list")["drills"] == [done["drill"]]
    assert not (tmp_path / "memory/drills/.scratch").exists()


def test_random_drills_are_of_snapshots_and_of_moments(tmp_path: Path) -> None:
    home = journaled(tmp_path)
    drilled = [home.call("drill")["drill"] for _ in range(8)]

    assert {one["outcome"] for one in drilled} == {"restored"}
    assert {one["moment"] is None for one in drilled} == {True, False}


def test_a_journal_without_any_snapshot_is_drilled_too(tmp_path: Path) -> None:
    home = Journaled(tmp_path / "memory", tmp_path / "vault")
    for number in range(3):
        home.remember(f"Fact {number}.")
        home.piece()
    drilled = [home.call("drill")["drill"] for _ in range(3)]

    assert [(one["outcome"], one["snapshot"]) for one in drilled] == [("restored", "")] * 3


def test_a_moment_that_cannot_be_restored_is_an_alarm(tmp_path: Path) -> None:
    home = journaled(tmp_path)
    flip_bit(journal_objects(tmp_path / "vault")[-1], 700)
    done = home.call("drill", at=home.clock.now)

    assert (done["sound"], done["drill"]["outcome"], done["drill"]["code"]) == (False, "failed", "snapshot_damaged")
    assert "the memory of" in next(
        one["message"] for one in home.call("overview")["warnings"] if one["code"] == "drill_failed"
    )
    assert home.call("drill", id="latest")["sound"], "the snapshot is sound"


def test_without_a_journal_no_moment_is_drilled_by_itself(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    world = World(tmp_path / "memory", vault=str(tmp_path / "vault"))
    world.call("remember", content=OLD)
    world.call("snapshot_create")

    assert {world.call("drill")["drill"]["moment"] for _ in range(4)} == {None}
    assert world.call("drill", at=world.clock.now)["sound"], "then it is the snapshot before it"
    with pytest.raises(InvalidRequest, match="named as well"):
        world.call("drill", id="latest", at=world.clock.now)
    world.close()


def test_a_memory_without_a_vault_has_no_moments(world: World) -> None:
    world.call("remember", content=OLD)
    world.call("snapshot_create")

    with pytest.raises(NotFound, match="only a vault"):
        world.call("drill", at=world.clock.now)
