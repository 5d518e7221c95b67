"""Guarded files in snapshots: they go to the vault, come back on another machine, and no restore takes any away."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from world import World

from holdfast.core.errors import DataDamaged, Fault
from holdfast.snapshot.guard.guard_merge import merge_guarded
from holdfast.store.guard.guard_copy import copy_history
from holdfast.store.guard.guard_history import GuardHistory, history_path

pytestmark = pytest.mark.engines

LINES = "".join(f'{{"n": {number}, "text": "the ferry leaves at noon"}}\n' for number in range(2_000))


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "user"
    (home / "notes").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return home


def take(world: World, place: Path, text: str) -> None:
    """A new version of the note in the place."""
    (place / "a.md").write_text(text)
    world.clock.now += 60_000
    world.call("guard_add", place=str(place))


def texts(world: World, place: Path, into: Path) -> list[str]:
    """Every version that is kept of the note, oldest first."""
    found = []
    for version in reversed(world.call("guard_history", place=str(place), file="a.md")["files"]):
        shutil.rmtree(into, ignore_errors=True)
        world.call("guard_restore", place=str(place), at=version["takenAt"], to=str(into), yes=True)
        found.append((into / "a.md").read_text())
    return found


def vault_of(folder: Path) -> str:
    (folder / "vault").mkdir(exist_ok=True)
    return f"file://{folder}/vault"


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_lost_machine_gets_its_files_back_from_the_vault(tmp_path: Path, user: Path, encrypted: bool) -> None:
    place, more = user / "notes", encryption(tmp_path) if encrypted else {}
    first = World(tmp_path / "first", vault=vault_of(tmp_path), **more)
    first.call("remember", content="The ferry to the island leaves at noon")
    take(first, place, "one\n")
    take(first, place, LINES)
    first.call("snapshot_create")
    first.close()
    shutil.rmtree(tmp_path / "first")
    shutil.rmtree(place)

    second = World(tmp_path / "second", chance=1_000, vault=vault_of(tmp_path), **more)
    second.clock.now = first.clock.now
    listed = second.call("guard_list")["places"]
    assert [(one["name"], one["path"], one["state"]) for one in listed] == [("~/notes", str(place), "off")]
    assert second.call("guard_scan")["taken"] == 0
    second.call("guard_restore", place="~/notes", yes=True)
    assert (place / "a.md").read_text() == LINES
    assert texts(second, place, tmp_path / "into") == ["one\n", LINES]

    take(second, place, "three\n")
    assert second.call("guard_list")["places"][0]["state"] == "on"
    assert texts(second, place, tmp_path / "into") == ["one\n", LINES, "three\n"]
    second.close()


def encryption(folder: Path) -> dict[str, Any]:
    from pyrage import x25519

    identity = x25519.Identity.generate()
    (folder / "identity").write_text(str(identity))
    return {"snapshot_recipients": str(identity.to_public()), "snapshot_identity": str(folder / "identity")}


def test_restoring_an_older_snapshot_takes_no_version_away(tmp_path: Path, user: Path) -> None:
    place, world = user / "notes", World(tmp_path / "memory")
    take(world, place, "one\n")
    made = world.call("snapshot_create")["id"]
    take(world, place, "two\n")

    world.call("snapshot_restore", id=made, yes=True)

    assert texts(world, place, tmp_path / "into") == ["one\n", "two\n"]
    assert world.call("guard_list")["places"][0]["state"] == "on"
    world.close()


def test_the_versions_of_two_histories_stand_in_the_order_of_their_times(tmp_path: Path, user: Path) -> None:
    place, one, other = user / "notes", World(tmp_path / "one"), World(tmp_path / "other")
    for number in range(6):
        world = (one, other)[number % 2]
        world.clock.now = 1_790_000_000_000 + number * 60_000
        take(world, place, f"{number}\n" * 50)
    extracted = tmp_path / "extracted"
    (extracted / "state").mkdir(parents=True)
    assert copy_history(other.engine.path, "default", extracted / "state" / "guard.db")

    assert merge_guarded(extracted, one.engine.path) == 3
    assert merge_guarded(extracted, one.engine.path) == 0

    assert texts(one, place, tmp_path / "into") == [f"{number}\n" * 50 for number in range(6)]
    one.close()
    other.close()


def test_a_snapshot_without_guarded_files_has_nothing_of_them(tmp_path: Path) -> None:
    world = World(tmp_path / "memory")
    made = world.call("snapshot_create")["id"]

    assert "state/guard.db" not in str(world.call("snapshot_show", id=made))
    assert world.call("guard_list")["places"] == []
    world.close()


def test_a_large_history_is_stored_once_for_all_snapshots(tmp_path: Path, user: Path) -> None:
    place, world = user / "notes", World(tmp_path / "memory")
    (place / "noise").write_bytes(random.Random(7).randbytes(9_000_000))
    take(world, place, "one\n")
    first = world.call("snapshot_create")["snapshot"]
    take(world, place, "two\n")
    second = world.call("snapshot_create")["snapshot"]

    assert (first["layout"], second["layout"]) == ("chunks", "chunks")
    packs = sum(one.stat().st_size for one in world.engine.path.glob("snapshots/*/*/packs/*"))
    assert packs < 1.2 * 9_000_000
    world.close()


def test_a_change_of_a_guarded_file_is_a_reason_for_the_next_snapshot(tmp_path: Path, user: Path) -> None:
    from holdfast.snapshot.repo.context import snapshot_context
    from holdfast.snapshot.sources.change_check import is_changed

    place, world = user / "notes", World(tmp_path / "memory")
    take(world, place, "one\n")
    world.call("snapshot_create")
    assert not is_changed(snapshot_context(world.context()))

    take(world, place, "two\n")
    assert is_changed(snapshot_context(world.context()))
    world.close()


def _foreign(folder: Path, change: str) -> Path:
    """A history as a foreign snapshot may hold it, with something changed in it."""
    place = folder / "user" / "notes"
    world = World(folder / "theirs")
    take(world, place, LINES)
    extracted = folder / "extracted"
    (extracted / "state").mkdir(parents=True)
    copy_history(world.engine.path, "default", extracted / "state" / "guard.db")
    world.close()
    with sqlite3.connect(extracted / "state" / "guard.db") as db:
        db.executescript(change)
    db.close()
    return extracted


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE files SET path = CAST('../../evil' AS BLOB)",
        "UPDATE files SET path = CAST('/etc/evil' AS BLOB)",
        "UPDATE versions SET sha256 = zeroblob(32)",
        "UPDATE versions SET size = size - 1",
        "UPDATE versions SET runs = zeroblob(7)",
        "UPDATE versions SET runs = X'00000000ffffffff'",
        "UPDATE chunks SET start = start + 1",
        "DELETE FROM blocks",
        "UPDATE blocks SET data = zeroblob(100)",
        "DROP TABLE chunks",
        "PRAGMA application_id = 1",
        "PRAGMA user_version = 99",
    ],
)
def test_a_history_that_was_tampered_with_is_refused_and_changes_nothing(tmp_path: Path, change: str) -> None:
    extracted = _foreign(tmp_path, change)
    world = World(tmp_path / "memory")

    with pytest.raises(Fault):
        merge_guarded(extracted, world.engine.path)

    with GuardHistory(history_path(world.engine.path)) as history:
        assert [file for place in history.places() for file in history.files(place)] == []
    world.close()


def test_the_places_of_a_foreign_snapshot_are_never_read_here(tmp_path: Path, user: Path) -> None:
    extracted = _foreign(tmp_path, f"UPDATE places SET root = '{user}', name = 'claude-code', active = 1")
    (user / "private.md").write_text("mine\n")
    world = World(tmp_path / "memory")
    merge_guarded(extracted, world.engine.path)

    assert world.call("guard_scan")["taken"] == 0
    assert world.call("guard_list")["places"][0]["state"] == "off"
    world.close()


def test_a_damaged_history_is_reported_and_the_memory_goes_on(tmp_path: Path, user: Path) -> None:
    place, world = user / "notes", World(tmp_path / "memory")
    take(world, place, "one\n")
    path = history_path(world.engine.path)
    for name in ("history.db-wal", "history.db-shm"):
        path.with_name(name).unlink(missing_ok=True)
    path.write_bytes(b"no database at all" * 1_000)

    with pytest.raises(DataDamaged):
        world.call("guard_list")
    codes = [one["code"] for one in world.call("overview")["warnings"]]
    assert "guard_fault" in codes
    world.call("remember", content="The ferry to the island leaves at noon")
    world.close()
