"""Snapshots that lie in the repository as chunks: every operation reads them, and none depends on another one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flows import NEW, OLD, READER, STRANGER, Cli, identity_file, recipient, tree
from harm import flip_bit
from world import DAY, World

from holdfast.core.errors import Conflict, DataDamaged, IdentityNeeded, SnapshotDamaged, SnapshotsBusy
from holdfast.snapshot.browse import laid_out
from holdfast.snapshot.bundle.manifest import read_manifest
from holdfast.snapshot.chunks.packfile import id_of
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.repo.packs import needed_packs
from holdfast.snapshot.repo.repository import SnapshotRepository
from holdfast.snapshot.resolve import SnapshotSelector
from holdfast.store.data_folder import DATABASE

CHUNKS = {"HOLDFAST_SNAPSHOT_LAYOUT": "chunks"}
THIRD = "The lighthouse keeper paints the door blue"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "memory", snapshot_layout="chunks")
    yield made
    made.close()


@pytest.fixture
def two(world: World) -> tuple[World, str, str]:
    """A memory with two snapshots that share packs."""
    world.call("remember", content=OLD)
    first = world.call("snapshot_create")["id"]
    world.clock.now += DAY
    world.call("remember", content=NEW)
    return world, first, world.call("snapshot_create")["id"]


def context(world: World) -> SnapshotContext:
    return snapshot_context(world.context())


def repo(world: World) -> SnapshotRepository:
    return context(world).repo


def packs(world: World) -> set[str]:
    return {path.name for path in (repo(world).root / "packs").iterdir()}


def texts(world: World) -> set[str]:
    return {one["content"] for one in world.call("memories")["memories"]}


def spoil(path: Path) -> None:
    flip_bit(path, path.stat().st_size // 2)


def statuses(world: World) -> list[str]:
    return [one["status"] for one in world.call("snapshot_list")["snapshots"]]


# What lies there


def test_a_snapshot_is_a_chunk_index_and_packs_that_the_next_one_shares(two: tuple[World, str, str]) -> None:
    world, first, second = two
    names = {path.name for path in repo(world).root.glob("0*")}
    suffixes = (".chunks", ".chunks.sha256", ".manifest.json", ".manifest.json.sha256")
    assert names == {f"{id}{suffix}" for id in (first, second) for suffix in suffixes}
    listed = {one["id"]: one for one in world.call("snapshot_list")["snapshots"]}
    assert [one["layout"] for one in listed.values()] == ["chunks", "chunks"]
    own, all_of_it = needed_by(world, first), needed_by(world, second)
    assert own < all_of_it == packs(world)
    sizes = {path.name: path.stat().st_size for path in (repo(world).root / "packs").iterdir()}
    assert listed[first]["size"] > sum(sizes[name] for name in own)
    assert world.call("snapshot_list")["bytes"] == sum(
        len(data) for name, data in tree(repo(world).root).items() if name.startswith(("0", "packs/"))
    )
    assert sum(sizes[name] for name in all_of_it - own) < sum(sizes[name] for name in own)


def needed_by(world: World, id: str) -> set[str]:
    with_it = needed_packs(repo(world).root)
    copy = repo(world).root.parent / f"copy-{id}"
    copy.mkdir()
    for path in repo(world).root.glob(f"{id}*"):
        shutil.copy(path, copy)
    found = needed_packs(copy)
    shutil.rmtree(copy)
    assert found <= with_it
    return found


def test_both_layouts_lie_on_one_repository(tmp_path: Path) -> None:
    home = tmp_path / "home"
    chunks, whole = Cli(home, **CHUNKS), Cli(home, HOLDFAST_SNAPSHOT_LAYOUT="whole")
    made = []
    for number, cli in enumerate((whole, chunks, whole, chunks)):
        cli.remember(f"fact number {number} of the mixed shelf")
        made.append(cli.create())
    listed = {one["id"]: one["layout"] for one in chunks.good("snapshot", "list", "--check")["snapshots"]}
    assert [listed[id] for id in made] == ["whole", "chunks", "whole", "chunks"]
    for id, count in zip(made, range(1, 5), strict=True):
        whole.good("snapshot", "restore", id, "--into", str(tmp_path / id))
        assert len(Cli(tmp_path / id).texts()) == count
    whole.good("snapshot", "delete", made[1])
    whole.good("snapshot", "prune", "--keep", "1", "--yes")
    chunks.good("snapshot", "restore", made[3], "--yes")
    assert len(chunks.texts()) == 4


# Every operation


def test_it_is_verified_compared_searched_restored_and_undone(two: tuple[World, str, str], tmp_path: Path) -> None:
    world, first, second = two
    for id in (first, second):
        report = world.call("snapshot_verify", id=id)
        assert report["sound"]
        assert {"bytes", "members"} <= set(report["checked"])
    assert statuses(world) == ["verified", "verified"]
    (memories,) = [
        one for one in world.call("snapshot_diff", a=first, b=second)["tables"] if one["table"] == "memories"
    ]
    assert memories["added"] == 1
    for _ in range(2):  # unpacked, and as it is kept then
        hits = world.call("search", query="amber cabinet", at=first)["results"]
        assert [one["observation"]["content"] for one in hits] == [OLD]
    assert list((repo(world).root / ".opened").iterdir())
    assert world.call("search", query="ferry island", at=world.clock.now - DAY // 2)["results"] == []

    assert world.call("snapshot_restore", id=first, dryRun=True)["dryRun"]
    assert texts(world) == {OLD, NEW}
    before = world.call("snapshot_restore", id=first, yes=True)["before"]
    assert texts(world) == {OLD}
    assert repo(world).find(before).path.name == f"{before}.chunks"
    world.call("snapshot_undo", yes=True)
    assert texts(world) == {OLD, NEW}
    world.call("snapshot_restore", id=first, into=str(tmp_path / "second"))
    assert Cli(tmp_path / "second").texts() == {OLD}
    assert world.call("health")["snapshots"]["newest"]


def test_two_of_them_are_merged(two: tuple[World, str, str]) -> None:
    world, first, _ = two
    world.call("snapshot_restore", id=first, yes=True)
    world.call("remember", content=THIRD)
    world.call("snapshot_merge", a=two[2], b="now", yes=True)
    assert texts(world) == {OLD, NEW, THIRD}


def test_an_exported_one_is_whole_and_restores_elsewhere(two: tuple[World, str, str], tmp_path: Path) -> None:
    world, first, second = two
    out = tmp_path / "out"
    for id in (first, second):
        files = world.call("snapshot_export", id=id, to=str(out))["files"]
        assert files[-1].endswith(f"{id}.manifest.json")
        assert {Path(name).name for name in files if "/packs/" in name} == needed_by(world, id)
    with pytest.raises(Conflict):
        world.call("snapshot_export", id=first, to=str(out))
    assert not [name for name in tree(out) if ".new" in name]
    other = Cli(tmp_path / "other")
    other.remember(THIRD)
    path = str(out / f"{second}.manifest.json")
    assert other.good("snapshot", "verify", path)["sound"]
    other.good("snapshot", "restore", path, "--yes")
    assert other.texts() == {OLD, NEW}


def test_an_export_beside_a_damaged_pack_is_refused_and_a_damaged_one_does_not_leave(
    two: tuple[World, str, str], tmp_path: Path
) -> None:
    world, first, second = two
    world.call("snapshot_export", id=first, to=str(tmp_path / "out"))
    spoil(next((tmp_path / "out" / "packs").iterdir()))
    with pytest.raises(SnapshotDamaged):
        world.call("snapshot_export", id=second, to=str(tmp_path / "out"))
    spoil(repo(world).root / "packs" / next(iter(needed_by(world, first))))
    with pytest.raises(SnapshotDamaged):
        world.call("snapshot_export", id=first, to=str(tmp_path / "new"))
    assert [path.name for path in tmp_path.glob("*/*.manifest.json")] == [f"{first}.manifest.json"]


def test_a_copied_repository_is_a_vault(two: tuple[World, str, str], tmp_path: Path) -> None:
    world, first, second = two
    shutil.copytree(repo(world).root.parents[1], tmp_path / "copy")
    other = Cli(tmp_path / "other")
    for id, known in ((first, {OLD}), (second, {OLD, NEW}), ("latest", {OLD, NEW})):
        other.good("snapshot", "restore", id, "--from", str(tmp_path / "copy"), "--yes")
        assert other.texts() == known
    assert other.good("vault", "verify", str(tmp_path / "copy"))["sound"]


# Damage


def test_a_flipped_bit_in_a_pack_is_told_for_every_snapshot_that_needs_it(two: tuple[World, str, str]) -> None:
    world, first, second = two
    world.call("snapshot_list", check=True)
    shared = repo(world).root / "packs" / next(iter(needed_by(world, first)))
    about = shared.stat()
    spoil(shared)
    assert statuses(world) == ["not checked", "not checked"], "its time tells that somebody wrote to it"
    report = world.call("snapshot_verify", id=second)
    assert [one["code"] for one in report["findings"]] == ["damaged"]
    assert shared.name in report["findings"][0]["message"]
    assert all("pack" in status for status in statuses(world)), "the first was not read, and needs it too"
    for id in (first, second):
        with pytest.raises(SnapshotDamaged):
            world.call("snapshot_restore", id=id, yes=True)
    assert texts(world) == {OLD, NEW}
    assert about.st_size == shared.stat().st_size


def test_after_damage_the_next_one_is_whole_on_its_own(two: tuple[World, str, str]) -> None:
    world, first, second = two
    shared = next(iter(needed_by(world, first)))
    spoil(repo(world).root / "packs" / shared)
    world.call("snapshot_verify", id=second)
    third = world.call("snapshot_create")["id"]
    assert shared not in needed_by(world, third)
    assert world.call("snapshot_verify", id=third)["sound"]
    world.call("snapshot_restore", id=third, yes=True)
    assert texts(world) == {OLD, NEW}


def test_a_missing_pack_is_seen_in_a_list_and_not_referred_to_again(two: tuple[World, str, str]) -> None:
    world, first, second = two
    only = needed_by(world, second) - needed_by(world, first)
    (repo(world).root / "packs" / min(only)).unlink()
    newest, oldest = world.call("snapshot_list")["snapshots"]
    assert (newest["damaged"], oldest["damaged"]) == (True, False)
    assert "packs are missing" in newest["status"]
    assert not world.call("snapshot_verify", id=second)["sound"]
    third = world.call("snapshot_create")["id"]
    assert world.call("snapshot_verify", id=third)["sound"]
    world.call("snapshot_restore", id=first, yes=True)
    assert texts(world) == {OLD}


@pytest.mark.parametrize("suffix", ["chunks", "chunks.sha256", "manifest.json", "manifest.json.sha256"])
def test_a_flipped_bit_in_any_other_file_is_found(two: tuple[World, str, str], suffix: str) -> None:
    world, first, second = two
    path = repo(world).root / f"{second}.{suffix}"
    good = path.read_bytes()
    for at in range(0, len(good), max(1, len(good) // 7)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
        assert not world.call("snapshot_verify", id=second)["sound"]
        assert world.call("snapshot_list")["snapshots"][0]["damaged"]
        assert world.call("snapshot_verify", id=first)["sound"]
    path.write_bytes(good)
    assert world.call("snapshot_verify", id=second)["sound"]


@pytest.mark.embedded
def test_a_store_that_is_damaged_is_not_sealed(world: World) -> None:
    for number in range(300):
        world.call("remember", content=f"fact {number}: " + "words of some length " * 20)
    world.call("snapshot_create")
    before = tree(repo(world).root)
    world.close()
    home = context(world).home
    (database,) = home.glob(f"gen-*/{DATABASE}")
    data = bytearray(database.read_bytes())
    middle = len(data) // 4096 // 2 * 4096
    data[middle : middle + 2048] = bytes(2048)
    database.write_bytes(data)
    again = World(home, chance=10_000, snapshot_layout="chunks")
    with pytest.raises(DataDamaged):
        again.call("snapshot_create")
    found = tree(repo(again).root)
    assert {name for name in found if name.startswith(("0", "packs/", ".staging"))} == {
        name for name in before if name.startswith(("0", "packs/"))
    }
    again.close()


# Removed


def test_deleting_one_leaves_the_other_whole_and_takes_what_nobody_needs(two: tuple[World, str, str]) -> None:
    world, first, second = two
    rest = needed_by(world, first)
    world.call("snapshot_delete", id=second)
    assert packs(world) == rest
    world.call("snapshot_restore", id=first, yes=True)
    assert texts(world) == {OLD}


def test_deleting_the_older_one_keeps_what_the_newer_shares(two: tuple[World, str, str]) -> None:
    world, first, second = two
    world.call("snapshot_delete", id=first)
    assert world.call("snapshot_verify", id=second)["sound"]
    world.call("snapshot_restore", id=second, yes=True)
    assert texts(world) == {OLD, NEW}


def test_what_is_read_keeps_its_packs(two: tuple[World, str, str]) -> None:
    world, first, second = two
    with repo(world).hold(second), pytest.raises(SnapshotsBusy):
        world.call("snapshot_delete", id=second)
    with laid_out(context(world), SnapshotSelector(second)) as laid, repo(world).hold(second):
        world.call("snapshot_delete", id=first)
        assert laid.database.exists()
    assert world.call("snapshot_verify", id=second)["sound"]


def test_with_no_snapshot_in_chunks_left_there_are_no_packs(two: tuple[World, str, str]) -> None:
    world, first, second = two
    world.close()
    whole = World(context(world).home, chance=50_000, snapshot_layout="whole")
    try:
        whole.call("snapshot_create")
        for id in (first, second):
            whole.call("snapshot_delete", id=id)
        assert packs(whole) == set()
    finally:
        whole.close()


# Sealed


def test_an_encrypted_one_opens_for_its_reader_only_and_shares_packs(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home", HOLDFAST_SNAPSHOT_RECIPIENTS=recipient(), **CHUNKS)
    cli.remember(OLD)
    first = cli.create()
    cli.remember(NEW)
    second = cli.create()
    assert (cli.repo / f"{second}.chunks.age").exists()
    sizes = sorted(path.stat().st_size for path in (cli.repo / "packs").iterdir())
    assert len(sizes) == 2
    assert sizes[0] < sizes[1], "most chunks are those of the first"
    assert cli.good("snapshot", "verify", "latest")["sound"], "bytes and packs can be checked by anybody"
    assert cli("snapshot", "restore", first, "--yes").code == 45
    assert cli("snapshot", "restore", first, "--yes", "--identity", identity_file(tmp_path, STRANGER)).code == 45
    assert cli("snapshot", "search", first, "amber").code == 45
    reader = identity_file(tmp_path)
    assert cli.good("snapshot", "verify", second, "--identity", reader)["sound"]
    assert cli.found("snapshot", "search", first, "amber cabinet", "--identity", reader) == [OLD]
    cli.good("snapshot", "restore", first, "--yes", "--identity", reader)
    assert cli.texts() == {OLD}


def test_the_encrypted_form_tells_no_hash_of_what_is_in_it(tmp_path: Path) -> None:
    secret = "a secret of nobody's business"
    world = World(tmp_path / "memory", snapshot_layout="chunks", snapshot_recipients=recipient())
    world.call("remember", content=secret)
    id = world.call("snapshot_create")["id"]
    lying = b"".join(tree(repo(world).root).values()) + b"".join(tree(tmp_path / "memory" / "cache").values())
    plain = SnapshotSelector(id, identity=identity_file(tmp_path))
    with laid_out(context(world), plain) as laid:
        data = laid.database.read_bytes()
    world.close()
    assert secret.encode() in data
    assert secret.encode() not in lying
    for at in range(0, len(data), 1024):
        assert id_of(data[at : at + 1024]) not in lying
        assert id_of(data[at : at + 4096]) not in lying


def test_other_recipients_share_no_pack(tmp_path: Path) -> None:
    needed = []
    for number, who in enumerate((READER, STRANGER)):
        world = World(
            tmp_path / "memory", chance=number * 10_000, snapshot_layout="chunks", snapshot_recipients=recipient(who)
        )
        world.call("remember", content=OLD)
        id = world.call("snapshot_create")["id"]
        needed.append(needed_by(world, id))
        with pytest.raises(IdentityNeeded):
            world.call("snapshot_restore", id=id, yes=True)
        world.close()
    assert not needed[0] & needed[1]


def test_a_signed_one_is_accepted_from_its_key_only(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home", **CHUNKS)
    did = cli.good("key", "new")["did"]
    cli.remember(OLD)
    id = cli.create()
    assert read_manifest((cli.repo / f"{id}.manifest.json").read_bytes()).signer == did
    assert "signature" in cli.good("snapshot", "verify", id)["checked"]
    stranger = Cli(tmp_path / "other")
    stranger.good("key", "new")
    stranger.remember(NEW)
    path = str(cli.repo / f"{id}.manifest.json")
    assert stranger("snapshot", "restore", path, "--yes").code == 41
    assert stranger.texts() == {NEW}


# What this machine knows


def test_a_lost_or_damaged_cache_costs_bytes_and_nothing_else(two: tuple[World, str, str]) -> None:
    world, _, _ = two
    cache = context(world).home / "cache"
    before = packs(world)
    shutil.rmtree(cache)
    world.call("remember", content=THIRD)
    third = world.call("snapshot_create")["id"]
    assert needed_by(world, third) & before, "it is read from the packs again"
    for path in [path for path in cache.rglob("*") if path.is_file() and path.name != ".lock"]:
        spoil(path)
        made: Any = world.call("snapshot_create")
        assert world.call("snapshot_verify", id=made["id"])["sound"]
