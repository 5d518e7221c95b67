"""A restore that cannot finish with memory folders: the memory opens, doctor says what to do, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from flows import NEW, OLD, Cli, tree
from world import running

from holdfast.snapshot.sources.swap import JOURNAL, FolderSwap, intend, place_of_new, place_of_old

BUILT, LIVE = {"MEMORY.md": b"built\n"}, {"MEMORY.md": b"live\n"}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path / "memory", HOLDFAST_MEMORY_FOLDERS="notes=notes")
    cli.remember(OLD)
    lay(cli.home / "notes", LIVE)
    return cli


def lay(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)


DAMAGE = [b"", b"{", b"[]", b'{"goal": "gen-000001"}', b'{"goal": "gen-000001", "exchanges": [["a"]]}', b"\xff\0"]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_journal_blocks_nothing_but_the_next_restore_which_says_what_to_do(cli: Cli, damage: bytes) -> None:
    id = cli.create()
    notes = cli.home / "notes"
    lay(place_of_new(notes), BUILT)
    (cli.home / JOURNAL).write_bytes(damage)

    cli.remember(NEW)  # the memory is there
    told = cli("snapshot", "restore", id, "--yes")
    assert told.code != 0
    assert "holdfast snapshot mend" in told.fault["hint"]
    checks = {one["name"]: one for one in cli("doctor").answer["checks"]}
    assert not checks["memory folders"]["ok"]
    assert "holdfast snapshot mend" in checks["memory folders"]["hint"]

    mended = {one["name"]: one for one in cli.good("snapshot", "mend")["mended"]}
    assert tree(notes) == LIVE
    assert tree(Path(mended["notes"]["path"])) == BUILT
    assert Path(mended[JOURNAL]["path"]).read_bytes() == damage
    assert {one["name"]: one["ok"] for one in cli("doctor").answer["checks"]}["memory folders"]
    cli.good("snapshot", "restore", id, "--yes")
    assert cli.texts() == {OLD}
    assert cli.good("snapshot", "mend")["mended"] == []


def test_a_folder_that_was_taken_away_is_replaced_by_the_built_one(cli: Cli) -> None:
    notes = cli.home / "notes"
    notes.rename(place_of_old(notes, "gen-000001"))
    lay(place_of_new(notes), BUILT)
    (cli.home / JOURNAL).write_bytes(b"no journal")
    cli.good("snapshot", "mend")
    assert tree(notes) == BUILT
    assert tree(place_of_old(notes, "gen-000001")) == LIVE


def test_what_stands_in_the_way_of_an_exchange_is_left_and_the_built_folder_goes_aside(cli: Cli) -> None:
    notes = cli.home / "notes"
    lay(place_of_new(notes), BUILT)
    lay(place_of_old(notes, "gen-000001"), {"MEMORY.md": b"in the way\n"})
    goal = (cli.home / "CURRENT").read_text().strip()
    intend(cli.home, goal, [FolderSwap(notes, place_of_new(notes), place_of_old(notes, "gen-000001"))])

    assert cli.texts() == {OLD}
    (aside,) = [one for one in cli.good("snapshot", "mend")["mended"] if one["name"] == "notes"]
    assert tree(Path(aside["path"])) == BUILT
    assert tree(place_of_old(notes, "gen-000001")) == {"MEMORY.md": b"in the way\n"}
    assert tree(notes) == LIVE


def test_what_can_be_finished_is_finished(cli: Cli) -> None:
    notes = cli.home / "notes"
    goal = (cli.home / "CURRENT").read_text().strip()
    kept = place_of_old(notes, "unknown-1")
    with running(cli.home, memory_folders="notes=notes") as http:
        lay(place_of_new(notes), BUILT)
        intend(cli.home, goal, [FolderSwap(notes, place_of_new(notes), kept)])
        answer = http.post("/agentmemory/snapshots/mend", json={}).json()
    assert [(one["name"], one["change"]) for one in answer["mended"]] == [("notes", "finished")]
    assert tree(notes) == BUILT
    assert tree(kept) == LIVE


def test_what_a_dead_process_built_and_never_decided_on_is_gone_at_the_next_start(cli: Cli, tmp_path: Path) -> None:
    notes, elsewhere = cli.home / "notes", tmp_path / "elsewhere"
    lay(place_of_new(notes), BUILT)
    lay(place_of_new(elsewhere), BUILT)
    cli.environment["HOLDFAST_MEMORY_FOLDERS"] = f"notes=notes,far={elsewhere}"
    assert cli.texts() == {OLD}
    assert not place_of_new(notes).exists()
    assert tree(place_of_new(elsewhere)) == BUILT  # another memory may be at it
