"""A row that was changed in the database behind the server's back: it is left out and told, its tenant's memory is
read-only at every server, and it is restored or salvaged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres_server import as_admin, give_back, new_schema
from world import World

from holdfast.core.errors import DataDamaged, DataReadOnly
from holdfast.core.model import DEFAULT_TENANT, Caller
from holdfast.store.damage import REMEDY
from holdfast.store.tables import MEMORIES

GOOD = "The copper kettle stands on the west shelf"
OLD, FORGED = "The amber cabinet holds the spare fuses", "The amber cabinet is empty"
NEWER = "The green lamp hangs in the hall"
ACME = Caller(tenant="acme", name="acme")


class Servers:
    """Servers on one database, each with a data folder of its own."""

    def __init__(self, folder: Path):
        self.url = new_schema()
        self._folder = folder
        self._open: list[World] = []

    def start(self, name: str = "one") -> World:
        world = World(self._folder / name, store=self.url)
        self._open.append(world)
        return world

    def forge(self) -> None:
        with psycopg.connect(as_admin(self.url)) as db:
            changed = db.execute("UPDATE memories SET content = %s WHERE content = %s", (FORGED, OLD))
            assert changed.rowcount == 1

    def close(self) -> None:
        for world in self._open:
            world.close()
        give_back(self.url)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    made = Servers(tmp_path)
    yield made
    made.close()


@pytest.fixture
def world(servers: Servers) -> World:
    """A server with two memories, and one of another tenant."""
    made = servers.start()
    made.call("remember", content=GOOD, project="shed")
    made.call("remember", content=OLD, project="shed")
    made.call("remember", ACME, content="acme keeps bees")
    return made


def contents(world: World) -> list[str]:
    return sorted(one["content"] for one in world.call("memories")["memories"])


def told(world: World) -> dict[str, Any]:
    (warning,) = [one for one in world.call("overview")["warnings"] if one["code"] == "data_damaged"]
    return warning  # type: ignore[no-any-return]


def test_what_can_be_read_is_found_and_every_answer_says_what_is_damaged(servers: Servers, world: World) -> None:
    servers.forge()
    found = world.call("search", query="copper kettle or amber cabinet")
    assert [one["content"] for one in found["results"]] == [GOOD]
    assert "damaged and read-only: memories: a row does not match its checksum" in found["notice"]
    assert found["notice"].endswith(REMEDY)
    context = world.call("context", project="shed")
    assert "copper kettle" in context["context"]
    assert "amber" not in context["context"]
    assert context["notice"] == found["notice"]
    health = world.call("health")
    assert (health["status"], health["hint"]) == ("degraded", REMEDY)
    assert "read-only" in health["databaseStatus"]
    assert told(world)["hint"] == REMEDY


def test_a_damaged_memory_takes_no_writes_at_any_server_and_after_a_start(servers: Servers, world: World) -> None:
    other = servers.start("other")
    servers.forge()
    assert contents(world) == [GOOD]
    for one in (world, other, servers.start("later")):
        with pytest.raises(DataReadOnly, match="a row does not match"):
            one.call("remember", content="it is stored nowhere")
        assert one.call("health")["status"] == "degraded"
    assert contents(other) == [GOOD]


def test_a_server_learns_by_reading_what_another_one_met(servers: Servers, world: World) -> None:
    other = servers.start("other")
    servers.forge()
    contents(world)
    assert "read-only" in other.call("search", query="copper kettle")["notice"]


def test_a_record_that_is_asked_for_by_its_id_is_not_called_missing(servers: Servers, world: World) -> None:
    (id,) = [one["id"] for one in world.call("memories")["memories"] if one["content"] == OLD]
    servers.forge()
    with pytest.raises(DataDamaged, match="does not match its checksum"):
        world.call("memory", id=id)
    assert world.call("health")["status"] == "degraded"


def test_damage_that_a_write_meets_ends_writing(servers: Servers, world: World) -> None:
    (id,) = [one["id"] for one in world.call("memories")["memories"] if one["content"] == OLD]
    servers.forge()
    with pytest.raises(DataDamaged):
        world.engine.store.write(lambda tx: tx.delete(MEMORIES, DEFAULT_TENANT, id))
    with pytest.raises(DataReadOnly):
        world.call("remember", content="later")


def test_other_tenants_go_on_writing(servers: Servers, world: World) -> None:
    servers.forge()
    contents(world)
    world.call("remember", ACME, content="acme sells honey")
    assert "notice" not in world.call("memories", ACME)
    assert world.call("health", ACME)["status"] == "healthy"


def test_a_suspicion_ends_once_the_row_is_put_back_and_verified(servers: Servers, world: World) -> None:
    servers.forge()
    contents(world)
    with psycopg.connect(as_admin(servers.url)) as db:
        db.execute("UPDATE memories SET content = %s WHERE content = %s", (OLD, FORGED))
    assert world.call("verify")["sound"]
    world.call("remember", content=NEWER)
    assert contents(world) == sorted([GOOD, OLD, NEWER])


def test_a_repair_of_the_index_leaves_damaged_rows_to_be_reported(servers: Servers, world: World) -> None:
    servers.forge()
    answer = world.call("verify", repair_index=True)
    assert not answer["sound"]
    assert any(one["kind"] == "row_changed" and one["table"] == "memories" for one in answer["findings"])
    assert [one["content"] for one in world.call("search", query="copper kettle")["results"]] == [GOOD]


def test_a_row_changed_by_hand_is_never_sealed_and_restored(servers: Servers, world: World) -> None:
    kept = world.call("snapshot_create")["id"]
    servers.forge()
    assert world.call("verify")["hint"] == REMEDY
    assert told(world)["hint"] == REMEDY
    with pytest.raises(DataDamaged, match="checksum"):
        world.call("snapshot_create")
    assert [one["id"] for one in world.call("snapshot_list")["snapshots"]] == [kept]
    assert world.call("snapshot_restore", id="latest", yes=True)["before"] is None
    assert contents(world) == sorted([GOOD, OLD])
    assert world.call("health")["status"] == "healthy"
    assert world.call("verify")["sound"]


def test_what_is_newer_than_the_snapshot_is_salvaged_after_the_restore(servers: Servers, world: World) -> None:
    world.call("snapshot_create")
    world.call("remember", content=NEWER)
    servers.forge()
    contents(world)
    assert [one["live"] for one in world.call("snapshot_damaged")["generations"]] == [True]
    world.call("snapshot_restore", id="latest", yes=True)
    assert contents(world) == sorted([GOOD, OLD])
    with pytest.raises(DataDamaged, match="previous memory is damaged"):
        world.call("snapshot_undo", yes=True)
    (kept,) = world.call("snapshot_damaged")["generations"]
    assert not kept["live"]
    world.call("snapshot_salvage", yes=True)
    assert contents(world) == sorted([GOOD, OLD, NEWER])
    world.call("snapshot_discard", generation=kept["id"], yes=True)
    assert world.call("verify")["sound"]


def test_one_command_brings_all_of_it_back(servers: Servers, world: World) -> None:
    world.call("snapshot_create")
    world.call("remember", content=NEWER)
    servers.forge()
    said = world.call("recover", yes=True)
    assert (said["steps"], said["sound"]) == (["restore", "salvage"], True)
    assert contents(world) == sorted([GOOD, OLD, NEWER])


def test_without_a_snapshot_the_readable_rows_become_the_memory(servers: Servers, world: World) -> None:
    other = servers.start("other")
    servers.forge()
    assert world.call("verify")["hint"] == REMEDY
    preview = world.call("snapshot_salvage", dry_run=True)
    assert preview["read"]["memories"] == 1
    assert preview["lost"]["memories"] == 1
    world.call("snapshot_salvage", yes=True)
    assert contents(world) == [GOOD]
    world.call("remember", content=NEWER)
    assert contents(other) == sorted([GOOD, NEWER])
    assert other.call("health")["status"] == "healthy"
    assert world.call("verify")["sound"]
    assert [one["content"] for one in world.call("memories", ACME)["memories"]] == ["acme keeps bees"]
