"""Restoring as a whole: with and without a server, twice, undone, into a second memory, and out of a damaged one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import pytest
from engines import store_of
from flows import NEW, OLD, Cli, identity_file, recipient, tree
from harm import flip_bit
from world import World, running

from holdfast.client import Holdfast
from holdfast.core.errors import NotFound, SnapshotForeign, StorageFull
from holdfast.core.model import Caller
from holdfast.snapshot.sources.swap import FolderSwap, intend, place_of_old

A = "/agentmemory"
ACME = Caller(tenant="acme", name="acme")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    made = Cli(tmp_path / "memory")
    made.remember(OLD)
    return made


def changed(cli: Cli) -> str:
    """A snapshot of what there is, and something new after it; the snapshot's id."""
    id = cli.create()
    cli.remember(NEW)
    return id


def sound(cli: Cli) -> None:
    assert cli.good("verify")["sound"]
    for one in cli.good("snapshot", "list")["snapshots"]:
        assert cli.good("snapshot", "verify", one["id"])["sound"]


def litter(home: Path) -> list[str]:
    """Names that interrupted or finished work should not have left."""
    return [str(path.relative_to(home)) for path in home.rglob(".*") if path.name not in (".lock", ".work")]


def test_a_restore_brings_the_memory_back_and_undo_the_other(cli: Cli) -> None:
    id = changed(cli)

    assert cli("snapshot", "restore", id).code == 2  # not confirmed
    assert cli.texts() == {OLD, NEW}
    done = cli.good("snapshot", "restore", id, "--yes")
    assert cli.texts() == {OLD}
    assert cli.found("recall", "ferry island noon") == []
    assert cli.good("snapshot", "show", done["before"])["snapshot"]["createdBy"] == "before-restore"
    cli.good("snapshot", "undo", "--yes")
    assert cli.texts() == {OLD, NEW}
    assert cli.found("recall", "ferry island") == [NEW]
    cli.good("snapshot", "undo", "--yes")
    assert cli.texts() == {OLD}
    cli.good("snapshot", "restore", id, "--yes")
    cli.good("snapshot", "restore", id, "--yes")
    cli.good("snapshot", "restore", done["before"], "--yes")
    assert cli.texts() == {OLD, NEW}
    sound(cli)
    assert litter(cli.home) == []


def test_what_was_remembered_between_a_restore_and_its_undo_is_in_a_snapshot(cli: Cli) -> None:
    id = changed(cli)
    cli.good("snapshot", "restore", id, "--yes")
    between = "The lighthouse keeper moved to the mainland"
    cli.remember(between)
    cli.good("snapshot", "undo", "--yes")
    newest = cli.good("snapshot", "list")["snapshots"][0]
    assert newest["label"] == "before undo"
    cli.good("snapshot", "restore", id, "--yes")  # removes the generation it was written to
    assert cli.found("snapshot", "search", newest["id"], "lighthouse keeper") == [between]


def test_the_list_says_whether_there_is_a_restore_to_undo(cli: Cli) -> None:
    cli.create()
    assert not cli.good("snapshot", "list")["undo"]
    cli.good("snapshot", "restore", "latest", "--yes")
    assert cli.good("snapshot", "list")["undo"]


def test_without_a_restore_there_is_nothing_to_undo(cli: Cli) -> None:
    assert cli("snapshot", "undo", "--yes").code == 4
    assert cli.texts() == {OLD}


def test_a_restore_is_in_the_audit_of_what_is_live(cli: Cli) -> None:
    id = changed(cli)
    cli.good("snapshot", "restore", id, "--yes")
    assert _audited(cli)[:1] == ["snapshot_restore"]
    cli.good("snapshot", "undo", "--yes")
    assert _audited(cli)[:1] == ["snapshot_undo"]


def _audited(cli: Cli) -> list[str]:
    with patch.dict(os.environ, {"HOLDFAST_STORE": store_of(cli.home)}), Holdfast(cli.home) as memory:
        return [one["operation"] for one in memory.call("audit")["entries"]]


def test_a_restore_with_the_server_running(tmp_path: Path) -> None:
    with running(tmp_path / "memory") as client:
        cli = Cli(tmp_path / "memory")  # reaches the folder through the server
        _post(client, "/remember", content=OLD)
        id = changed(cli)
        done = _post(client, "/snapshots/restore", id=id, yes=True)
        assert done["rows"]["memories"] == 1
        assert cli.texts() == {OLD}
        assert _post(client, "/search", query="ferry island")["results"] == []
        _post(client, "/remember", content="after the restore")
        _post(client, "/snapshots/undo", yes=True)
        assert cli.texts() == {OLD, NEW}
        _post(client, "/snapshots/undo", yes=True)
        assert cli.texts() == {OLD, "after the restore"}
    sound(Cli(tmp_path / "memory"))


def _post(client: httpx.Client, path: str, **body: Any) -> Any:
    answer = client.post(A + path, json=body)
    assert answer.is_success, answer.text
    return answer.json()


def test_a_dry_run_changes_nothing_and_says_what_a_restore_then_changes(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("one\n")
    cli = Cli(tmp_path / "memory", HOLDFAST_MEMORY_FOLDERS=f"notes={notes}")
    cli.remember(OLD)
    id = changed(cli)
    cli.good("lesson", "save", "Look twice before the lock")
    (notes / "MEMORY.md").write_text("one\ntwo\n")
    before, folder = cli.files(), tree(notes)

    said = cli.good("snapshot", "restore", id, "--dry-run")["difference"]
    after = cli.files()
    assert {name for name in before if before[name] != after.get(name)} <= {"lock", "snapshots/.lock"}
    assert tree(notes) == folder
    done = cli.good("snapshot", "restore", id, "--yes")
    real = cli.good("snapshot", "diff", done["before"], id)
    for part in ("tables", "folders"):
        assert said[part] == real[part]
    tables = {one["table"]: one for one in said["tables"]}
    assert (tables["memories"]["removed"], tables["lessons"]["removed"]) == (1, 1)
    assert [one["folder"] for one in said["folders"]] == ["notes"]
    assert _live_differs_only_by_audit(cli, id)


def _live_differs_only_by_audit(cli: Cli, id: str) -> bool:
    """What is live now is what the snapshot holds, and that it was restored."""
    left = cli.good("snapshot", "diff", id)
    return left["folders"] == [] and {one["table"] for one in left["tables"]} <= {"audit"}


def test_a_snapshot_of_another_memory_is_refused_before_anything_is_written(tmp_path: Path, world: World) -> None:
    other = World(tmp_path / "other", agent="quill")
    try:
        other.call("remember", content=NEW)
        other.call("snapshot_export", id=other.call("snapshot_create")["id"], to=str(tmp_path / "out"))
    finally:
        other.close()
    world.call("remember", content=OLD)
    before = tree(world.engine.path)
    with pytest.raises(SnapshotForeign):
        world.call("snapshot_restore", id=str(tmp_path / "out"), yes=True)
    after = tree(world.engine.path)
    noted = {"snapshots/.lock", "snapshots/.work"}
    assert {name: data for name, data in after.items() if name not in noted} == before


def test_another_agents_memory_is_taken_over_as_this_agents(tmp_path: Path) -> None:
    other = Cli(tmp_path / "other", HOLDFAST_AGENT="quill")
    other.remember(NEW)
    other.good("snapshot", "export", other.create(), "--to", str(tmp_path / "out"))
    cli = Cli(tmp_path / "memory", HOLDFAST_AGENT="ink", HOLDFAST_AGENT_SCOPE="isolated")
    cli.remember(OLD)

    cli.good("snapshot", "restore", str(tmp_path / "out"), "--yes", "--as", "ink")
    assert cli.found("recall", "ferry") == [NEW]
    assert [one.get("agentId") for one in cli.good("memories")["memories"]] == ["ink"]


def test_a_second_memory_starts_from_a_snapshot(cli: Cli, tmp_path: Path) -> None:
    id = changed(cli)
    before = cli.texts()
    done = cli.good("snapshot", "restore", id, "--into", str(tmp_path / "second"))
    second = Cli(tmp_path / "second")

    assert done["path"] == str(tmp_path / "second")
    assert second.found("recall", "amber cabinet") == [OLD]
    second.remember("only in the second")
    sound(second)
    assert second.create()
    assert cli.texts() == before
    sound(cli)
    again = cli("snapshot", "restore", id, "--into", str(tmp_path / "second"))
    assert again.code == 5
    assert "only in the second" in second.texts()
    (tmp_path / "file").write_text("not a folder")
    assert cli("snapshot", "restore", id, "--into", str(tmp_path / "file")).code == 5


def test_a_branch_that_fails_leaves_nothing_that_stands_in_the_way(cli: Cli, tmp_path: Path) -> None:
    id = cli.create("--encrypt", recipient())
    second = tmp_path / "second"
    assert cli("snapshot", "restore", id, "--into", str(second)).code == 45
    cli.good("snapshot", "restore", id, "--into", str(second), "--identity", identity_file(tmp_path))
    assert Cli(second).texts() == {OLD}


def test_other_tenants_and_tokens_survive_a_restore(world: World) -> None:
    world.call("remember", content=OLD)
    world.call("remember", ACME, content="acme keeps bees")
    kept, revoked = (world.call("token_create", name=name, scopes=["read"])["record"]["id"] for name in ("a", "b"))
    id = world.call("snapshot_create")["id"]
    world.call("token_revoke", id=revoked)
    later = world.call("token_create", name="c", scopes=["read"])["record"]["id"]
    world.call("remember", content=NEW)
    world.call("remember", ACME, content="acme sells honey")

    for operation, arguments in (("snapshot_restore", {"id": id}), ("snapshot_undo", {})):
        world.call(operation, yes=True, **arguments)
        assert set(world.found("acme bees honey", ACME)) == {
            one["id"] for one in world.call("memories", ACME)["memories"]
        }
        assert len(world.call("memories", ACME)["memories"]) == 2
        tokens = {one["id"]: one for one in world.call("token_list")["tokens"]}
        assert set(tokens) >= {kept, later}
        assert revoked not in tokens or tokens[revoked]["revokedAt"]
    assert world.call("verify")["sound"]


def test_the_memory_folder_comes_back_with_the_memory_and_goes_again(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "topics").mkdir(parents=True)
    (notes / "MEMORY.md").write_text("one\n")
    (notes / "topics" / "tea.md").write_text("keep it dry\n")
    cli = Cli(tmp_path / "memory", HOLDFAST_MEMORY_FOLDERS=f"notes={notes}")
    cli.remember(OLD)
    first = tree(notes)
    id = cli.create()
    (notes / "MEMORY.md").write_text("one\ntwo\n")
    (notes / "topics" / "tea.md").unlink()
    second = tree(notes)

    cli.good("snapshot", "restore", id, "--yes")
    assert tree(notes) == first
    cli.good("snapshot", "undo", "--yes")
    assert tree(notes) == second
    cli.good("snapshot", "undo", "--yes")
    assert tree(notes) == first
    beside = {path.name for path in tmp_path.iterdir()} - {"notes", "memory"}
    assert len(beside) == 1, beside  # what undo would bring back


def test_folders_that_wait_to_be_put_in_place_are_before_the_next_restore(tmp_path: Path) -> None:
    """As when the disk was full for a moment after the switch: the journal says what is still to be done."""
    world = World(tmp_path / "memory", memory_folders="notes=notes")
    home = world.engine.path
    notes, staged = home / "notes", home / ".notes.holdfast-new"
    try:
        for folder, text in ((notes, "one\n"), (staged, "waiting\n")):
            folder.mkdir()
            (folder / "MEMORY.md").write_text(text)
        id = world.call("snapshot_create")["id"]
        intend(home, "gen-000001", [FolderSwap(notes, staged, place_of_old(notes, "unknown-1"))])
        world.call("snapshot_restore", id=id, yes=True)
    finally:
        world.close()
    assert tree(notes) == {"MEMORY.md": b"one\n"}
    assert tree(place_of_old(notes, "gen-000001")) == {"MEMORY.md": b"waiting\n"}


def test_a_place_for_the_folder_of_now_that_is_taken_is_told_before_the_switch(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory", HOLDFAST_MEMORY_FOLDERS="notes=notes")
    cli.remember(OLD)
    (cli.home / "notes").mkdir()
    (cli.home / "notes" / "MEMORY.md").write_text("one\n")
    id = changed(cli)
    place_of_old(cli.home / "notes", "gen-000001").mkdir()

    assert cli("snapshot", "restore", id, "--yes").fault["code"] == "conflict"
    assert cli.texts() == {OLD, NEW}
    assert not list(cli.home.glob("*.pending"))


def garbage(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 999)


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.embedded
@pytest.mark.parametrize("harm", [garbage, truncated, emptied, Path.unlink])
def test_a_damaged_store_is_restored_from_the_command_line(cli: Cli, harm: Callable[[Path], None]) -> None:
    id = changed(cli)
    harm(cli.home / "gen-000001" / "memory.db")
    assert cli("memories").code == 23

    assert cli.good("snapshot", "list")["count"] == 1
    assert cli.good("snapshot", "verify", "latest")["sound"]
    done = cli.good("snapshot", "restore", id, "--yes")
    assert done["before"] is None
    assert cli.texts() == {OLD}
    cli.remember(NEW)
    sound(cli)
    assert cli.create()


@pytest.mark.embedded
def test_after_a_rescue_the_memory_is_like_any_other_in_the_same_process(cli: Cli) -> None:
    id = changed(cli)
    garbage(cli.home / "gen-000001" / "memory.db")
    with Holdfast(cli.home) as memory:
        assert memory.snapshots.restore(id)["before"] is None
        memory.remember(NEW)
        assert memory.snapshots.create("whole again")["success"]
        memory.remember("Known only between two restores")
        between = memory.snapshots.restore(id)["before"]
        assert between is not None
        memory.snapshots.restore(between)
    assert cli.texts() == {OLD, NEW, "Known only between two restores"}
    sound(cli)


@pytest.mark.embedded
@pytest.mark.parametrize("words", [b"", b"\xff\xfe\x00", b"gen-000009\n", b"../../etc\n"])
def test_a_wrong_pointer_is_mended_by_a_restore(cli: Cli, words: bytes) -> None:
    id = changed(cli)
    (cli.home / "CURRENT").write_bytes(words)
    assert cli("memories").code == 23

    cli.good("snapshot", "restore", id, "--yes")
    assert cli.texts() == {OLD}
    sound(cli)


@pytest.mark.embedded
def test_a_lost_pointer_among_generations_is_mended_by_a_restore(cli: Cli) -> None:
    id = changed(cli)
    cli.good("snapshot", "restore", id, "--yes")
    (cli.home / "CURRENT").unlink()
    assert cli("memories").code == 23

    cli.good("snapshot", "restore", id, "--yes")
    assert cli.texts() == {OLD}
    sound(cli)


@pytest.mark.embedded
def test_while_nothing_says_which_generation_was_live_none_is_removed(cli: Cli) -> None:
    """After an undo the older generation is the live one, with what was remembered since."""
    id = changed(cli)
    cli.good("snapshot", "restore", id, "--yes")
    cli.good("snapshot", "undo", "--yes")
    later = "Written after the undo and in no snapshot"
    cli.remember(later)
    (cli.home / "CURRENT").unlink()

    cli.good("snapshot", "restore", id, "--yes")
    assert cli.texts() == {OLD}
    (cli.home / "CURRENT").write_text("gen-000001\n")
    assert cli.texts() == {OLD, NEW, later}


@pytest.mark.embedded
def test_a_pointer_that_is_lost_twice_keeps_the_folders_of_both_times(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory", HOLDFAST_MEMORY_FOLDERS="notes=notes")
    cli.remember(OLD)
    notes = cli.home / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("one\n")
    id = cli.create()
    for text in ("two\n", "three\n"):
        (notes / "MEMORY.md").write_text(text)
        (cli.home / "CURRENT").write_bytes(b"")
        cli.good("snapshot", "restore", id, "--yes")
        assert tree(notes) == {"MEMORY.md": b"one\n"}
    aside = [path.read_text() for path in cli.home.glob(".notes.holdfast-old-*/MEMORY.md")]
    assert sorted(aside) == ["three\n", "two\n"]
    sound(cli)


@pytest.mark.embedded
def test_an_undo_of_a_damaged_store_never_ends_in_an_empty_memory(cli: Cli) -> None:
    id = changed(cli)
    cli.good("snapshot", "restore", id, "--yes")
    (cli.home / "gen-000001" / "memory.db").unlink()
    garbage(cli.home / "gen-000002" / "memory.db")

    said = cli("snapshot", "undo", "--yes")
    assert said.code == 23
    assert (cli.home / "CURRENT").read_text() == "gen-000002\n"
    assert not (cli.home / "gen-000001" / "memory.db").exists()


def test_a_sound_memory_is_not_replaced_when_its_repository_cannot_keep_it(cli: Cli) -> None:
    id = changed(cli)
    (cli.repo / "sequence").write_text("no number\n")
    assert cli("snapshot", "restore", id, "--yes").code == 23
    assert cli.texts() == {OLD, NEW}


def test_a_damaged_body_leaves_the_live_memory_as_it_was(cli: Cli) -> None:
    id = changed(cli)
    path = cli.repo / f"{id}.tar.zst"
    flip_bit(path)
    before = cli.files()

    assert cli("snapshot", "restore", id, "--yes").code == 40
    noted = {"snapshots/.lock", "snapshots/.work", "lock", "snapshots/default/default/checked"}
    assert {name for name, data in cli.files().items() if data != before.get(name)} <= noted
    assert cli.texts() == {OLD, NEW}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4000000", "tmpfs", str(disk)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"a small disk cannot be mounted here ({done.stderr.strip()}); run as root with CAP_SYS_ADMIN")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(filler: Path, leave: int) -> None:
    """Take all the room but so many bytes."""
    room = os.statvfs(filler.parent)
    filler.write_bytes(bytes(max(0, room.f_bavail * room.f_frsize - leave)))


@pytest.mark.parametrize("leave", [0, 20_000, 150_000, 400_000, 800_000])
def test_without_room_nothing_is_made_or_restored_and_the_memory_goes_on(small_disk: Path, leave: int) -> None:
    world = World(small_disk / "memory")
    try:
        world.call("remember", content=OLD)
        id = world.call("snapshot_create")["id"]
        world.call("remember", content=NEW)
        fill(small_disk / "filler", leave)
        live = {OLD, NEW}
        for operation, arguments in (("snapshot_restore", {"id": id, "yes": True}), ("snapshot_create", {})):
            try:
                world.call(operation, **arguments)
                live = {OLD} if operation == "snapshot_restore" else live
            except StorageFull:
                pass
            assert {one["content"] for one in world.call("memories")["memories"]} == live
        os.unlink(small_disk / "filler")
        world.call("snapshot_restore", id=id, yes=True)
        assert {one["content"] for one in world.call("memories")["memories"]} == {OLD}
        for one in world.call("snapshot_list")["snapshots"]:
            assert world.call("snapshot_verify", id=one["id"])["sound"]
        assert world.call("verify")["sound"]
        assert litter(small_disk / "memory") == []
    finally:
        world.close()


def test_a_snapshot_that_is_not_there_is_not_found(world: World) -> None:
    with pytest.raises(NotFound):
        world.call("snapshot_restore", id="latest", yes=True)


@pytest.mark.embedded
def test_nothing_is_removed_while_the_store_cannot_be_opened(cli: Cli) -> None:
    ids = [cli.create(), cli.create()]
    garbage(cli.home / "gen-000001" / "memory.db")
    assert cli("snapshot", "delete", ids[0]).code == 23
    assert cli("snapshot", "prune", "--keep", "1", "--yes").code == 23
    assert cli("snapshot", "create").code == 23
    assert cli.good("snapshot", "list")["count"] == 2


@pytest.mark.embedded
@pytest.mark.parametrize("part", [0.2, 0.4, 0.6, 0.8])
def test_a_store_that_opens_and_is_damaged_inside_is_restored_too(tmp_path: Path, part: float) -> None:
    world = World(tmp_path / "memory")
    try:
        for number in range(60):
            world.call("lesson_save", content=f"Lesson {number}: " + f"word{number} " * 40)
        id = world.call("snapshot_create")["id"]
    finally:
        world.close()
    database = tmp_path / "memory" / "gen-000001" / "memory.db"
    data = bytearray(database.read_bytes())
    begin = int(len(data) * part) // 4096 * 4096
    data[begin : begin + 3 * 4096] = b"\xa5" * (3 * 4096)
    database.write_bytes(data)
    cli = Cli(tmp_path / "memory")

    said = cli("snapshot", "restore", id, "--yes")
    if said.code:  # even who else is in it cannot be read
        assert said.code == 23
        assert "--alone" in said.fault["hint"]
        said = cli("snapshot", "restore", id, "--yes", "--alone")
    assert said.code == 0, said.out + said.err
    assert said.answer["rows"]["lessons"] == 60
    assert cli.good("lessons", "--limit", "100")["lessons"]
    sound(cli)
