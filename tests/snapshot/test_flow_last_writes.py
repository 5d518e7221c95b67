"""What is acknowledged around a restore or an undo stays in a snapshot: the old generation goes with the next restore."""

from __future__ import annotations

from pathlib import Path

import pytest
from flows import Cli
from world import World

from holdfast.ops.registry import BY_NAME
from holdfast.snapshot import restore as restoring


def call(world: World, operation: str, **arguments: object) -> dict[str, object]:
    return BY_NAME[operation].call(world.context(), arguments)


def found(world: World, snapshot: object, query: str) -> list[object]:
    results = call(world, "snapshot_search", id=snapshot, query=query)["results"]
    assert isinstance(results, list)
    return results


def test_what_is_written_while_a_restore_is_built_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path / "memory")
    built = restoring._built

    def slowly(*given: object) -> object:
        call(world, "remember", content="zebra written while the restore went on")
        return built(*given)  # type: ignore[arg-type]

    try:
        call(world, "remember", content="first")
        made = call(world, "snapshot_create")["id"]
        monkeypatch.setattr(restoring, "_built", slowly)
        before = call(world, "snapshot_restore", id=made, yes=True)["before"]

        assert found(world, before, "zebra")
        assert not call(world, "search", query="zebra")["results"]
    finally:
        world.close()


def test_what_is_written_between_a_restore_and_its_undo_is_kept(tmp_path: Path) -> None:
    world = World(tmp_path / "memory")
    try:
        call(world, "remember", content="first")
        call(world, "snapshot_restore", id=call(world, "snapshot_create")["id"], yes=True)
        call(world, "remember", content="zebra written after the restore")
        before = call(world, "snapshot_undo", yes=True)["before"]

        assert not call(world, "search", query="zebra")["results"]
        assert found(world, before, "zebra")
    finally:
        world.close()


def test_a_link_in_a_memory_folder_is_no_obstacle(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    folder = tmp_path / "memory" / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# kept")
    (folder / "link").symlink_to("MEMORY.md")
    cli.good("remember", "first")
    cli.good("snapshot", "create")
    cli.good("snapshot", "restore", "latest", "--yes")
    cli.good("snapshot", "undo", "--yes")

    assert (folder / "link").is_symlink()
    assert cli.good("verify")["sound"]


def test_with_a_key_every_snapshot_is_signed_and_older_ones_can_still_be_read(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    cli.good("remember", "first zebra")
    old = cli.good("snapshot", "create")["id"]
    cli.good("key", "new")

    assert cli.good("snapshot", "create")["snapshot"]["signer"]
    assert cli.good("snapshot", "search", old, "zebra")["results"]
    refused = cli("snapshot", "restore", old, "--yes")
    assert (refused.code, "--allow-unsigned" in refused.fault["hint"]) == (41, True)
