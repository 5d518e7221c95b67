"""Bundles that somebody moved to another tenant's or agent's repository: shown as not theirs, and counted for nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from flows import OLD
from world import World

from holdfast.core.errors import SnapshotForeign
from holdfast.core.model import Caller
from holdfast.snapshot.repo.check_results import RECORD
from holdfast.snapshot.repo.context import snapshot_context

ACME = Caller(tenant="acme", name="acme")


@pytest.fixture
def moved(tmp_path: Path) -> Iterator[tuple[World, str, str]]:
    """A snapshot of acme, and a later one of the default tenant on acme's repository."""
    world = World(tmp_path / "memory")
    world.call("remember", content=OLD)
    world.call("remember", ACME, content="The mill stands still in May")
    for _ in range(2):
        foreign = world.call("snapshot_create", label="ours alone")["id"]
    own = world.call("snapshot_create", ACME)["id"]
    world.call("snapshot_verify", id=foreign)
    source, target = (snapshot_context(world.context(one)).repo.root for one in (Caller(), ACME))
    for path in source.glob(f"{foreign}*"):
        shutil.copy2(path, target)
    shutil.copy2(source / RECORD, target)
    yield world, foreign, own
    world.close()


def test_it_is_shown_as_not_theirs_and_tells_nothing_of_itself(moved: tuple[World, str, str]) -> None:
    world, foreign, own = moved
    listed = {one["id"]: one for one in world.call("snapshot_list", ACME, check=True)["snapshots"]}
    assert listed[foreign]["damaged"]
    assert "another memory" in listed[foreign]["status"]
    assert "ours alone" not in str(listed)
    assert "ours alone" not in str(world.call("snapshot_show", ACME, id=foreign))
    assert not listed[own]["damaged"]


def test_it_is_neither_the_newest_nor_a_parent_nor_a_reason_to_prune(moved: tuple[World, str, str]) -> None:
    world, foreign, own = moved
    assert world.call("health", ACME)["snapshots"]["newest"] == own
    assert world.call("snapshot_prune", ACME, keep=1)["remove"] == []
    assert world.call("snapshot_create", ACME)["snapshot"]["parent"] == own
    assert foreign in {one["id"] for one in world.call("snapshot_list", ACME)["snapshots"]}  # it stays for its owner


def test_it_is_not_used(moved: tuple[World, str, str]) -> None:
    world, foreign, _ = moved
    assert not world.call("snapshot_verify", ACME, id=foreign)["sound"]
    for operation, more in (("snapshot_restore", {"yes": True}), ("snapshot_search", {"query": "amber"})):
        with pytest.raises(SnapshotForeign):
            world.call(operation, ACME, id=foreign, **more)
    assert world.call("search", ACME, query="mill", at=world.clock.now)["results"]
