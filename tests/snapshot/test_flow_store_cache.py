"""Stores of snapshots that were asked lately stay unpacked: few, private, gone with their snapshot, never encrypted ones."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from flows import NEW, OLD, Cli, identity_file, recipient
from world import DAY, World, running

from holdfast.core.errors import DataDamaged, SnapshotDamaged, SnapshotUntrusted
from holdfast.core.times import iso
from holdfast.snapshot import browse
from holdfast.snapshot.repo import store_cache
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.resolve import SnapshotSelector


def kept_of(world: World) -> list[Path]:
    return sorted((snapshot_context(world.context()).repo.root / store_cache.OPENED).glob("*"))


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The bundles that were unpacked."""
    seen: list[str] = []
    really = browse.unpack

    def unpack(bundle: Path, *rest: object) -> object:
        seen.append(bundle.name.split(".")[0])
        return really(bundle, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(browse, "unpack", unpack)
    return seen


def snapshots(world: World, number: int) -> list[str]:
    made = []
    for one in range(number):
        world.call("remember", content=f"{OLD}, drawer {one}")
        made.append(world.call("snapshot_create")["id"])
        world.clock.now += DAY
    return made


def test_a_second_question_unpacks_nothing_and_answers_the_same(world: World, unpacked: list[str]) -> None:
    first, second = snapshots(world, 2)
    world.call("remember", content=NEW)
    answers = [world.call("snapshot_search", id=first, query="amber cabinet drawer") for _ in range(3)]

    assert unpacked == [first]
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]["results"]) == 1
    later = world.call("search", query="amber cabinet drawer", at=second)["results"]
    assert later != answers[0]["results"]
    (folder,) = {one.parent for one in kept_of(world)}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in kept_of(world)} == {0o600}


def test_two_are_kept_and_the_one_used_longest_ago_goes(world: World, unpacked: list[str]) -> None:
    first, second, third = snapshots(world, 3)
    for id in (first, second):
        world.call("snapshot_search", id=id, query="amber")
    for at, one in enumerate(kept_of(world)):
        os.utime(one, ns=(at, at))
    world.call("snapshot_search", id=first, query="amber")  # now the second was used longest ago
    world.call("snapshot_search", id=third, query="amber")

    assert [one.name.split(".")[0] for one in kept_of(world)] == [first, third]
    assert unpacked == [first, second, third]


def test_no_more_bytes_are_kept_than_the_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = snapshots(world, 2)
    world.call("snapshot_search", id=first, query="amber")
    (kept,) = kept_of(world)
    monkeypatch.setattr(store_cache, "MOST_BYTES", kept.stat().st_size + 4096)
    world.call("snapshot_search", id=second, query="amber")
    assert [one.name.split(".")[0] for one in kept_of(world)] == [second]
    monkeypatch.setattr(store_cache, "MOST_BYTES", 10)
    world.call("snapshot_search", id=first, query="amber")
    assert [one.name.split(".")[0] for one in kept_of(world)] == [second]


def test_it_goes_with_its_snapshot_and_a_sweep_takes_what_lost_its_own(world: World) -> None:
    first, second, _ = snapshots(world, 3)
    for id in (first, second):
        world.call("snapshot_search", id=id, query="amber")
    world.call("snapshot_delete", id=first)
    assert [one.name.split(".")[0] for one in kept_of(world)] == [second]
    repo = snapshot_context(world.context()).repo
    (repo.root / f"{second}.manifest.json").unlink()  # behind its back
    assert [name.split(".")[0] for name in repo.sweep()] == [second]
    assert kept_of(world) == []


def test_one_that_is_read_is_not_removed_for_another(world: World) -> None:
    first, second, third = snapshots(world, 3)
    context = snapshot_context(world.context())
    world.call("snapshot_search", id=first, query="amber")
    with browse.past(context, SnapshotSelector(first)) as then:
        for id in (second, third):
            world.call("snapshot_search", id=id, query="amber")
        assert then.store.last_seq() > 0
        assert first in {one.name.split(".")[0] for one in kept_of(world)}


@pytest.mark.parametrize("harm", [lambda data: b"", lambda data: data[:5000], lambda data: b"x" * len(data)])
def test_a_kept_one_that_is_damaged_is_unpacked_again(world: World, harm: object) -> None:
    (id,) = snapshots(world, 1)
    want = world.call("snapshot_search", id=id, query="amber cabinet")
    (kept,) = kept_of(world)
    kept.write_bytes(harm(kept.read_bytes()))  # type: ignore[operator]
    try:
        found = world.call("snapshot_search", id=id, query="amber cabinet")
    except DataDamaged:  # noticed only as it was read: then the next question gets it whole
        found = world.call("snapshot_search", id=id, query="amber cabinet")
    assert found == want


def test_who_sealed_it_is_asked_of_a_kept_one_too(world: World) -> None:
    (id,) = snapshots(world, 1)
    world.call("snapshot_search", id=id, query="amber")
    sidecar = snapshot_context(world.context()).repo.root / f"{id}.tar.zst.sha256"
    said = sidecar.read_bytes()
    sidecar.write_bytes(b"0" * 64 + said[64:])
    with pytest.raises(SnapshotDamaged):
        world.call("snapshot_search", id=id, query="amber")
    sidecar.write_bytes(said)
    made = world.call("snapshot_create", sign=True)["id"]
    world.call("snapshot_search", id=made, query="amber")
    own = world.call("key_show")["did"]
    world.call("key_new", replace=True)
    world.call("key_untrust", did=own)
    with pytest.raises(SnapshotUntrusted):
        world.call("snapshot_search", id=made, query="amber")


def test_nothing_of_an_encrypted_one_stays(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    cli.remember(OLD)
    id = cli.create("--encrypt", recipient())
    identity = identity_file(tmp_path)
    assert cli.found("snapshot", "search", id, "amber cabinet", "--identity", identity) == [OLD]
    assert not (cli.repo / store_cache.OPENED).exists()
    assert [one.name for one in cli.repo.iterdir() if one.is_dir()] == []
    assert cli("snapshot", "search", id, "amber cabinet").code == 45


def test_the_answer_says_which_snapshot_it_comes_from(world: World) -> None:
    first, second = snapshots(world, 2)
    made = {"id": first, "label": "", "createdAt": iso(world.clock.now - 2 * DAY)}
    for at in (first, first[:6], world.clock.now - 2 * DAY, "2 days ago"):
        assert world.call("search", query="amber", at=at)["snapshot"] == made
    assert world.call("snapshot_search", id="latest", query="amber")["snapshot"]["id"] == second
    assert "snapshot" not in world.call("search", query="amber")


def test_every_surface_says_it(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    cli.remember(OLD)
    id = cli.create()
    assert cli.good("recall", "amber", "--at", "latest")["snapshot"]["id"] == id
    with running(tmp_path / "memory") as http:
        rest = http.post("/agentmemory/search", json={"query": "amber", "at": "latest"}).json()
        call = {"name": "memory_recall", "arguments": {"query": "amber", "at": "latest"}}
        tool = http.post("/agentmemory/mcp/call", json=call).json()
    assert rest["snapshot"]["id"] == id
    assert id in tool["content"][0]["text"]
