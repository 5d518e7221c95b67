"""Vaults as whoever uses them for the first time meets them: what is said, and what is never silent."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from flows import NEW, OLD, Cli
from harm import flip_bit
from processes import serving
from world import DAY, World

from holdfast.core.errors import InvalidSettings, NotFound, SnapshotDamaged, VaultRefused
from holdfast.core.model import Json
from holdfast.snapshot.repo.key_warnings import ONE_COPY

CHUNKS = {"HOLDFAST_VAULT_LAYOUT": "chunks"}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    made = Cli(tmp_path / "memory")
    made.remember(OLD)
    return made


def test_a_vault_may_be_named_from_where_one_stands(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    cli.create()

    for words in (
        ("sync", "vault"),
        ("status", "vault"),
        ("list", "./vault"),
        ("verify", "vault"),
        ("copy", "vault", "../second"),
        ("prune", "../second", "--keep", "1"),
    ):
        cli.good("vault", *words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "memory", "second"]
    assert (tmp_path / "here" / "vault").is_dir()


@pytest.mark.parametrize("words", ["colny:", "s3:/bucket", "nonsense:thing"])
def test_a_misspelled_kind_of_vault_makes_no_folder(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    cli.create()
    said = cli("vault", "sync", words)

    assert said.code == InvalidSettings.exit_code
    assert "colony:label" in said.fault["hint"]
    assert [path.name for path in tmp_path.iterdir()] == ["memory"]


def test_no_name_is_not_the_folder_one_stands_in(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert "at least 1 character" in cli("vault", "status", "").fault["error"]


def test_the_status_of_a_folder_that_is_not_there_yet_says_so(cli: Cli, tmp_path: Path) -> None:
    cli.create()
    said = cli.good("vault", "status", str(tmp_path / "vault"))
    assert (said["snapshots"], len(said["missing"])) == (0, 1)
    assert "does not exist yet" in said["warnings"][0]

    cli.good("vault", "sync", str(tmp_path / "vault"))
    assert "warnings" not in cli.good("vault", "status", str(tmp_path / "vault"))


def test_a_vault_that_is_gone_is_reported_until_it_is_back_or_begun_anew(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    cli = Cli(tmp_path / "memory", HOLDFAST_VAULT=str(vault))
    cli.remember(OLD)
    cli.create()
    shutil.rmtree(vault)
    for words in (("snapshot", "create"), ("vault", "status"), ("vault", "sync")):
        said = cli(*words)
        assert (said.code, said.fault["code"]) == (VaultRefused.exit_code, "vault_refused")
        assert f"{vault} is gone" in said.fault["error"]
    assert not vault.exists()

    cli.good("vault", "init", str(vault))
    assert cli.good("vault", "sync")["remaining"] == 0
    assert cli.good("vault", "status")["missing"] == []


def test_a_list_shows_in_which_layout_each_lies(cli: Cli, tmp_path: Path) -> None:
    cli.create("--to", str(tmp_path / "vault"))
    in_chunks = Cli(cli.home, **CHUNKS)
    in_chunks.remember(NEW)
    in_chunks.create("--to", str(tmp_path / "vault"))
    lines = cli.plain("vault", "list", str(tmp_path / "vault")).out.splitlines()

    found = [[word for word in ("whole", "chunks") if word in line] for line in lines]
    assert [words for words in found if words] == [["chunks"], ["whole"]]


def test_what_is_sent_in_chunks_counts_what_went_over(tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "memory", **CHUNKS), tmp_path / "vault"
    for number in range(40):
        cli.remember(f"{OLD}, drawer {number}: {os.urandom(2_000).hex()}")
    cli.create()
    first = cli.good("vault", "sync", str(vault))
    cli.remember(NEW)
    cli.create()
    before = _bytes_in(vault)
    second = cli.good("vault", "sync", str(vault))

    assert first["sentBytes"] == before
    assert second["sentBytes"] == second["sent"][0]["sentBytes"] == _bytes_in(vault) - before
    assert second["sentBytes"] < second["sent"][0]["size"] / 2
    copied = cli.good("vault", "copy", str(vault), str(tmp_path / "second"))
    assert copied["sentBytes"] == _bytes_in(tmp_path / "second") == _bytes_in(vault)


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_first_key_that_signing_made_is_told(cli: Cli) -> None:
    first = cli.good("snapshot", "create", "--sign")
    did = cli.good("key", "show")["did"]

    assert did in first["warnings"][0]
    assert "keys/own.json" in first["warnings"][0]
    assert first["warnings"][1:] == [ONE_COPY.text]
    assert cli.good("snapshot", "create")["warnings"] == [ONE_COPY.text]
    assert cli.good("key", "rotate")["warnings"] == [ONE_COPY.text]


def test_a_memory_with_nothing_in_it_is_not_kept_before_a_restore(cli: Cli, tmp_path: Path) -> None:
    """As the newest snapshot it would be what the next host begins with."""
    vault = str(tmp_path / "vault")
    id = cli.create("--to", vault)
    new = Cli(tmp_path / "new")
    new.good("key", "trust", cli.good("key", "new")["did"])
    done = new.good("snapshot", "restore", "latest", "--from", vault, "--allow-unsigned", "--yes")

    assert done["before"] is None
    new.good("vault", "sync", vault)
    assert [one["id"] for one in new.good("vault", "list", vault)["snapshots"]] == [id]
    new.good("snapshot", "undo")
    assert new.texts() == set()


def test_a_memory_folder_alone_is_kept_before_a_restore(cli: Cli, tmp_path: Path) -> None:
    id = cli.create("--to", str(tmp_path / "vault"))
    new = Cli(tmp_path / "new")
    (new.home / "memory").mkdir(parents=True)
    (new.home / "memory" / "MEMORY.md").write_text(NEW)

    before = new.good("snapshot", "restore", id, "--from", str(tmp_path / "vault"), "--yes")["before"]
    held = [one["path"] for one in new.good("snapshot", "show", before)["snapshot"]["artifacts"]]
    assert "folders/memory/MEMORY.md" in held


def test_what_is_damaged_in_a_vault_leads_to_the_list_of_that_vault(cli: Cli, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    id = cli.create("--to", str(vault))
    bundle = next(vault.rglob(f"{id}.tar.zst"))
    flip_bit(bundle)
    said = cli("snapshot", "restore", "latest", "--from", str(vault), "--yes")

    assert said.code == SnapshotDamaged.exit_code
    assert f"holdfast vault list {vault}" in said.fault["hint"]


def test_a_vault_of_another_agent_asks_whose_it_is(cli: Cli, tmp_path: Path) -> None:
    cli.create("--to", str(tmp_path / "vault"))
    other = Cli(tmp_path / "other", AGENT_ID="somebody")
    said = other("snapshot", "restore", "latest", "--from", str(tmp_path / "vault"), "--yes")

    assert said.code == NotFound.exit_code
    assert "AGENT_ID" in said.fault["hint"]


def test_a_command_that_a_server_carries_out_says_whose_settings_count(tmp_path: Path) -> None:
    with serving(tmp_path / "memory") as server:
        said = Cli(tmp_path / "memory", COLONY_API_KEY="col_of_this_shell")("vault", "status", "colony:")
        away = Cli(tmp_path / "memory")("vault", "status", str(tmp_path / "not" / "there"))

        assert server.url in said.fault["hint"]
        assert away.code == VaultRefused.exit_code
        assert server.url in away.fault["hint"]
    alone = Cli(tmp_path / "memory")("vault", "status", str(tmp_path / "not" / "there"))
    assert "server" not in alone.fault["hint"]


def test_a_command_in_a_hint_is_not_cut_in_two(cli: Cli, tmp_path: Path) -> None:
    vault = tmp_path / "a-folder-with-a-long-name-that-is-not-there" / "and-one-more-with-a-long-name" / "vault"
    said = cli.plain("snapshot", "create", "--to", str(vault))

    assert said.code == VaultRefused.exit_code
    assert f"holdfast vault sync {vault}" in said.err


def test_the_overview_tells_of_keys_and_of_what_waits_for_the_vault(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    world = World(tmp_path / "memory", vault=str(tmp_path / "vault"))
    world.call("remember", content=OLD)
    world.call("key_new")
    assert [one["code"] for one in world.call("overview")["warnings"]][:2] == ["no_snapshot", "key_one_copy"]
    (tmp_path / "vault").rmdir()
    (tmp_path / "vault").write_bytes(b"")  # something else is there now
    with pytest.raises(VaultRefused):
        world.call("snapshot_create")
    assert "vault_behind" not in {one["code"] for one in world.call("overview")["warnings"]}  # it may be on its way
    world.clock.now += DAY

    behind = next(one for one in world.call("overview")["warnings"] if one["code"] == "vault_behind")
    assert (behind["level"], behind["values"]) == ("warning", {"count": 1})
    checks = {one["name"] for one in world.call("diagnostics")["checks"]}
    assert {"vault-behind", "key-one-copy"} <= checks
    world.close()


def test_doctor_looks_at_the_vault(cli: Cli, tmp_path: Path) -> None:
    place = tmp_path / "vault"
    place.mkdir()
    host = Cli(cli.home, HOLDFAST_VAULT=str(place))
    host.create()
    Cli(cli.home).create()  # which the vault does not get

    def vault() -> Json:
        checks: list[Json] = host("doctor").answer["checks"]
        return next(one for one in checks if one["name"] == "vault")

    assert (vault()["ok"], vault()["found"]) == (True, f"{place}: 1 snapshots, 1 not uploaded yet")
    next(place.rglob("*.tar.zst")).unlink()
    assert (vault()["ok"], "1 damaged" in vault()["found"]) == (False, True)
    shutil.rmtree(place)
    place.write_bytes(b"")
    assert (vault()["ok"], "is not a folder" in vault()["found"]) == (False, True)
    assert "vault" not in [one["name"] for one in cli("doctor").answer["checks"]]
