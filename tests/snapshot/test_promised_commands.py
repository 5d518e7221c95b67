"""The commands that other programs call, word for word as they were promised, with nobody at a terminal."""

from __future__ import annotations

from pathlib import Path

from flows import NEW, OLD, Cli

RECIPIENT = "age1yt3tfqlfrwdwx0z0ynwplcr6qxcxfaqycuprpmy89nr83ltx74tqdpszlw"


def test_a_memory_is_told_with_its_id_and_everything_is_exported(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    id = cli.good("remember", OLD)["memory"]["id"]
    assert [one["id"] for one in cli.good("export")["memories"]] == [id]
    assert cli.found("recall", OLD) == [OLD]
    assert cli("verify").code == 0
    cli.good("forget", id)
    assert cli.good("export")["memories"] == []


def test_snapshots_from_making_to_pruning(tmp_path: Path) -> None:
    cli, vault, out = Cli(tmp_path / "memory"), tmp_path / "vault", tmp_path / "out"
    cli.remember(OLD)
    made = cli.good("snapshot", "create", "--label", "first", "--sign", "--to", str(vault))
    assert Path(made["path"]).exists()
    cli.remember(NEW)
    second = cli.good("snapshot", "create", "--label", "second")["id"]
    first = made["id"]

    assert [one["id"] for one in cli.good("snapshot", "list")["snapshots"]] == [second, first]
    assert cli.good("snapshot", "show", first)["snapshot"]["label"] == "first"
    assert cli("snapshot", "verify", first).code == 0
    assert not cli.good("snapshot", "diff", first, second)["same"]
    cli.good("snapshot", "export", second, "--to", str(out))
    assert cli("snapshot", "verify", str(out / f"{second}.manifest.json")).code == 0
    assert cli.found("snapshot", "search", first, "amber") == [OLD]
    cli.good("snapshot", "restore", first, "--dry-run")
    cli.good("snapshot", "restore", first, "--from", str(vault), "--yes")
    assert cli.texts() == {OLD}
    cli.good("snapshot", "undo")
    assert cli.texts() == {OLD, NEW}
    cli.good("snapshot", "delete", second)
    cli.good("snapshot", "prune", "--keep", "1")
    assert cli.good("snapshot", "list")["count"] == 1


def test_an_encrypted_snapshot_is_made_for_a_recipient(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    cli.remember(OLD)
    made = cli.good("snapshot", "create", "--label", "sealed", "--encrypt", RECIPIENT)
    assert OLD.encode() not in b"".join(cli.files().get(name, b"") for name in cli.files() if made["id"] in name)


def test_keys_and_tokens(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    did = cli.good("key", "new")["did"]
    assert cli.good("key", "show")["did"] == did
    other = Cli(tmp_path / "other").good("key", "new")["did"]
    cli.good("key", "trust", other)
    assert other in str(cli.good("key", "show")["trusted"])
    cli.good("key", "untrust", other)
    assert other not in str(cli.good("key", "show")["trusted"])
    token = cli.good("token", "create")["record"]["id"]
    assert token in str(cli.good("token", "list"))
    cli.good("token", "revoke", token)
