"""Recovery in one command: whatever is damaged, all that is sound comes back, and the report says from where."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from flows import Cli, tree
from harm import break_header, break_page, break_pages, change_text, cut_in_half, live_database
from world import World, running

pytestmark = pytest.mark.embedded

NEWER = "The green kettle sings at four"
ROWS = 60


def text(number: int) -> str:
    return f"Cupboard {number} holds the blue item {number * 7}." + f" filler{number}" * 40


EVERY = {text(number) for number in range(ROWS)}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory of many pages with a snapshot, and one record that is newer than it."""
    home = tmp_path_factory.mktemp("filled") / "memory"
    world = World(home)
    try:
        world.call("remember_batch", memories=[{"content": one} for one in EVERY])
    finally:
        world.close()
    cli = Cli(home)
    cli.create()
    cli.remember(NEWER)
    return home


@pytest.fixture
def cli(filled: Path, tmp_path: Path) -> Cli:
    return Cli(shutil.copytree(filled, tmp_path / "memory"))


def contents(cli: Cli) -> set[str]:
    return {one["content"] for one in cli.good("memories", "--limit", "1000")["memories"]}


def record_page(path: Path) -> None:
    break_page(path, "memories", 5)


def one_row(path: Path) -> None:
    change_text(path, "Cupboard 40 holds")


@pytest.mark.parametrize("harm", [record_page, one_row, break_header])
def test_everything_comes_back_from_the_snapshot_and_the_damaged_file(cli: Cli, harm: Callable[[Path], None]) -> None:
    harm(live_database(cli.home))
    said = cli.good("recover", "--yes")
    assert said["steps"] == ["restore", "salvage"]
    assert said["damage"]
    assert said["added"]["memories"] == 1
    assert said["sound"]
    assert contents(cli) == EVERY | {NEWER}
    assert cli.good("verify")["sound"]
    cli.remember("written after it")
    assert cli.good("recover", "--yes")["steps"] == []


def test_of_a_file_that_was_cut_the_snapshot_and_what_can_be_read_come_back(cli: Cli) -> None:
    cut_in_half(live_database(cli.home))
    said = cli.good("recover", "--yes")
    assert said["sound"]
    assert "read" in said or "can be read" in said["warnings"][-1]
    assert contents(cli) >= EVERY


def test_a_damaged_index_is_rebuilt_and_nothing_is_restored(cli: Cli) -> None:
    break_pages(live_database(cli.home), "word_rows")
    said = cli.good("recover", "--yes")
    assert (said["steps"], said["sound"], "snapshot" in said) == (["repair"], True, False)
    assert contents(cli) == EVERY | {NEWER}
    assert len(cli.good("recall", "filler12")["results"]) == 1


def test_without_a_snapshot_what_can_be_read_becomes_the_memory_and_the_rest_is_counted(cli: Cli) -> None:
    shutil.rmtree(cli.home / "snapshots")
    one_row(live_database(cli.home))
    said = cli.good("recover", "--yes")
    assert (said["steps"], said["inNeither"]) == (["salvage"], {"memories": 1})
    assert contents(cli) == (EVERY | {NEWER}) - {text(40)}


def test_a_sound_memory_is_left_as_it_is(cli: Cli) -> None:
    said = cli.good("recover", "--yes")
    assert (said["steps"], said["damage"]) == ([], None)
    assert [one["id"] for one in cli.good("snapshot", "list")["snapshots"]]
    assert "Nothing is damaged" in cli.plain("recover", "--yes").out


def test_a_preview_says_what_would_be_done_and_changes_no_record(cli: Cli) -> None:
    one_row(live_database(cli.home))
    cli("verify")  # notes the damage beside the database
    before = tree(cli.home)
    said = cli.good("recover", "--dry-run")
    assert said["steps"] == ["restore", "salvage"]
    assert said["read"]["memories"] == ROWS
    assert {name: data for name, data in tree(cli.home).items() if name.endswith("memory.db")} == {
        name: data for name, data in before.items() if name.endswith("memory.db")
    }
    shown = cli.plain("recover", "--dry-run").out
    assert "Would be done: restore, then salvage." in shown
    assert "holdfast recover --yes" in shown


def test_nothing_is_changed_without_a_confirmation(cli: Cli) -> None:
    one_row(live_database(cli.home))
    said = cli("recover")
    assert (said.code, said.fault["code"]) == (2, "invalid")
    assert cli("remember", "x").code == 0  # nothing has looked at that row


def test_after_a_restore_by_hand_the_readable_rows_are_added(cli: Cli) -> None:
    record_page(live_database(cli.home))
    cli("verify")
    cli.good("snapshot", "restore", "latest", "--yes")
    said = cli.good("recover", "--yes")
    assert said["steps"] == ["salvage"]
    assert contents(cli) == EVERY | {NEWER}


def test_a_lost_database_comes_back_from_the_vault_to_the_last_write(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    cli = Cli(tmp_path / "memory", HOLDFAST_VAULT=str(vault))
    with running(cli.home, vault=str(vault)) as client:
        client.post("/agentmemory/remember", json={"content": "in the snapshot"})
        client.post("/agentmemory/snapshots", json={})
        client.post("/agentmemory/remember", json={"content": NEWER})
    live_database(cli.home).write_bytes(b"")
    said = cli.good("recover", "--yes")
    assert said["sound"]
    assert contents(cli) == {"in the snapshot", NEWER}


def test_a_running_server_recovers_under_its_clients(cli: Cli) -> None:
    with running(cli.home) as client:
        change_text(live_database(cli.home), "Cupboard 40 holds")
        said = client.post("/agentmemory/recover", json={"yes": True}).json()
        assert said["sound"], said
        listed = client.get("/agentmemory/memories", params={"limit": 1000}).json()["memories"]
    assert {one["content"] for one in listed} == EVERY | {NEWER}


@pytest.mark.parametrize("there", [True, False], ids=["with a snapshot here", "without one"])
def test_while_the_vault_is_away_the_hint_leads_on_without_it(cli: Cli, tmp_path: Path, there: bool) -> None:
    if not there:
        shutil.rmtree(cli.home / "snapshots")
    one_row(live_database(cli.home))
    cli.environment["HOLDFAST_VAULT"] = str(tmp_path / "not mounted" / "vault")
    said = cli("recover", "--yes")
    assert said.code != 0
    commands = re.findall(r"holdfast ((?:snapshot|recover)[^,]*--yes)", said.fault["hint"])
    assert len(commands) == (2 if there else 1), said.fault["hint"]
    for command in commands:
        cli.good(*shlex.split(re.sub(r"--data \S+ ", "", command)))
    assert contents(cli) == (EVERY | {NEWER} if there else (EVERY | {NEWER}) - {text(40)})
    assert cli.good("verify")["sound"]
