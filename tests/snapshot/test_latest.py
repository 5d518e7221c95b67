"""Which snapshot `latest` is, and what a refusal offers instead of one that is damaged or gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from flows import NEW, OLD, Cli, command_in

BAD = "A state that nobody wants back"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "memory")


@pytest.fixture
def vaulted(tmp_path: Path) -> Cli:
    """A memory with two snapshots, in the repository and in the vault."""
    (tmp_path / "the vault").mkdir()
    cli = Cli(tmp_path / "memory", HOLDFAST_VAULT=str(tmp_path / "the vault"))
    cli.remember(OLD)
    cli.create()
    cli.remember(NEW)
    cli.create()
    return cli


def ids(cli: Cli) -> list[str]:
    return [one["id"] for one in cli.good("snapshot", "list")["snapshots"]]


def spoil(cli: Cli, id: str) -> None:
    """Change a byte, so that only reading the whole bundle tells."""
    bundle = cli.repo / f"{id}.tar.zst"
    data = bytearray(bundle.read_bytes())
    data[len(data) // 2] ^= 1
    bundle.chmod(0o600)
    bundle.write_bytes(bytes(data))


def remove(cli: Cli, id: str) -> None:
    for file in cli.repo.glob(f"{id}.*"):
        file.unlink()


def test_restoring_the_latest_twice_does_not_bring_the_bad_state_back(cli: Cli) -> None:
    cli.remember(OLD)
    wanted = cli.create()
    cli.remember(BAD)
    for _ in range(3):
        assert cli.good("snapshot", "restore", "latest", "--yes")["snapshot"] == wanted
        assert cli.texts() == {OLD}
    assert cli.good("snapshot", "show", "latest")["snapshot"]["id"] == wanted


def test_what_an_undo_brought_back_is_the_latest_again(cli: Cli) -> None:
    cli.remember(OLD)
    cli.create()
    cli.remember(NEW)
    before = cli.good("snapshot", "restore", "latest", "--yes")["before"]
    cli.good("snapshot", "undo")
    assert cli.texts() == {OLD, NEW}
    assert cli.good("snapshot", "restore", "latest", "--yes")["snapshot"] == before
    assert cli.texts() == {OLD, NEW}


def test_a_merge_gives_nothing_up_so_what_was_before_it_may_be_the_latest(cli: Cli) -> None:
    cli.remember(OLD)
    first = cli.create()
    cli.remember(NEW)
    before = cli.good("snapshot", "merge", first, "now", "--yes")["before"]
    assert cli.good("snapshot", "show", "latest")["snapshot"]["id"] == before


def test_where_all_were_given_up_the_newest_of_them_is_the_latest(cli: Cli) -> None:
    cli.remember(OLD)
    first = cli.create()
    cli.remember(NEW)
    before = cli.good("snapshot", "restore", first, "--yes")["before"]
    cli.good("snapshot", "delete", first, "--yes")
    assert cli.good("snapshot", "show", "latest")["snapshot"]["id"] == before


def test_a_snapshot_that_is_known_to_be_damaged_is_not_the_latest_and_the_answer_says_so(cli: Cli) -> None:
    cli.remember(OLD)
    first = cli.create()
    cli.remember(NEW)
    second = cli.create()
    spoil(cli, second)
    said = cli("snapshot", "restore", "latest", "--yes")
    assert said.code == 40
    assert command_in(said.fault["hint"]) == ["snapshot", "restore", first, "--yes"]
    done = cli.good("snapshot", "restore", "latest", "--yes")
    assert done["snapshot"] == first
    assert second in done["warnings"][0]
    assert cli.texts() == {OLD}


def test_the_vaults_copy_is_offered_for_a_damaged_one_and_taken_once_that_is_known(vaulted: Cli) -> None:
    newest, before = ids(vaulted)
    spoil(vaulted, newest)
    said = vaulted("snapshot", "restore", "latest", "--yes")
    assert said.code == 40
    words = command_in(said.fault["hint"])
    assert words == ["snapshot", "restore", newest, "--from", vaulted.environment["HOLDFAST_VAULT"], "--yes"]
    assert vaulted.good("snapshot", "restore", "latest", "--dry-run")["snapshot"] == newest
    vaulted.good(*words)
    assert vaulted.texts() == {OLD, NEW}
    checked = vaulted("snapshot", "verify", newest)
    assert checked.code == 40
    assert vaulted(*command_in(checked.answer["hint"])).code == 0
    assert before


def test_a_newest_that_is_gone_from_the_repository_comes_from_the_vault(vaulted: Cli) -> None:
    newest = ids(vaulted)[0]
    remove(vaulted, newest)
    assert vaulted.good("snapshot", "restore", "latest", "--yes")["snapshot"] == newest
    assert vaulted.texts() == {OLD, NEW}


def test_a_newest_that_is_gone_leads_to_the_newest_that_is_left(cli: Cli) -> None:
    cli.remember(OLD)
    first = cli.create()
    cli.remember(NEW)
    remove(cli, cli.create())
    said = cli("snapshot", "restore", "latest", "--yes")
    assert said.code == 42
    assert command_in(said.fault["hint"]) == ["snapshot", "restore", first, "--yes"]
    cli.good(*command_in(said.fault["hint"]))
    assert cli.texts() == {OLD}


def test_the_latest_of_a_vault_was_not_given_up_either(vaulted: Cli) -> None:
    newest = ids(vaulted)[0]
    place = vaulted.environment["HOLDFAST_VAULT"]
    vaulted.remember(BAD)
    given_up = vaulted.good("snapshot", "restore", newest, "--yes")["before"]
    assert given_up in str(vaulted.good("vault", "list"))
    vaulted.good("snapshot", "restore", given_up, "--from", place, "--yes")
    assert vaulted.good("snapshot", "restore", "latest", "--from", place, "--yes")["snapshot"] == newest
    assert vaulted.texts() == {OLD, NEW}


def test_every_snapshot_of_a_vault_is_verified_also_those_that_were_given_up(vaulted: Cli) -> None:
    vaulted.good("snapshot", "restore", "latest", "--yes")
    assert {one["snapshot"] for one in vaulted.good("vault", "verify")["snapshots"]} == set(ids(vaulted))


def test_the_beginning_of_an_id_is_enough_where_only_the_vault_has_it(vaulted: Cli) -> None:
    newest, first = ids(vaulted)
    remove(vaulted, newest)
    remove(vaulted, first)
    assert vaulted.good("snapshot", "restore", "000001", "--yes")["snapshot"] == first
    place = vaulted.environment["HOLDFAST_VAULT"]
    assert vaulted.good("snapshot", "restore", "000002", "--from", place, "--yes")["snapshot"] == newest
    assert vaulted("snapshot", "restore", "00000", "--from", place, "--yes").code == 5
    assert vaulted("snapshot", "restore", "000009", "--from", place, "--yes").code == 4


def test_without_any_snapshot_a_restore_says_how_to_name_a_vault(cli: Cli) -> None:
    cli.remember(OLD)
    said = cli("snapshot", "restore", "000001", "--yes")
    assert said.code == 4
    assert "holdfast vault list VAULT" in said.fault["hint"]
    assert "holdfast snapshot restore 000001 --from VAULT --yes" in said.fault["hint"]
