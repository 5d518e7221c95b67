"""What is live is kept as well sealed as what replaces it: encrypted for whoever can open that, or not at all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from flows import NEW, OLD, Cli, identity_file, recipient


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path / "memory")
    cli.remember(OLD)
    return cli


@pytest.fixture
def ssh(tmp_path: Path) -> Path:
    key = tmp_path / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    return key


def forms(cli: Cli) -> list[bool]:
    return [one["encrypted"] for one in cli.good("snapshot", "list")["snapshots"]]


def public(ssh: Path) -> str:
    return " ".join(ssh.with_name(f"{ssh.name}.pub").read_text().split()[:2])


def test_with_an_age_identity_what_was_live_is_encrypted_for_it(cli: Cli, tmp_path: Path) -> None:
    id = cli.create("--encrypt", recipient())
    cli.remember(NEW)
    identity = identity_file(tmp_path)
    cli.good("snapshot", "restore", id, "--identity", identity, "--yes")
    cli.good("snapshot", "undo", "--identity", identity, "--yes")
    assert forms(cli) == [True, True, True]
    assert cli.texts() == {OLD, NEW}


def test_with_an_ssh_key_it_is_encrypted_for_the_public_key_beside_it(cli: Cli, ssh: Path) -> None:
    id = cli.create("--encrypt", public(ssh))
    cli.remember(NEW)
    before = cli.good("snapshot", "restore", id, "--identity", str(ssh), "--yes")["before"]
    assert forms(cli) == [True, True]
    assert cli.found("snapshot", "search", before, "ferry island", "--identity", str(ssh)) == [NEW]


@pytest.mark.parametrize("beside", ["nothing", "nonsense", "another"])
def test_without_a_known_recipient_nothing_is_replaced_and_nothing_lies_in_the_clear(
    cli: Cli, ssh: Path, tmp_path: Path, beside: str
) -> None:
    id = cli.create("--encrypt", public(ssh))
    cli.remember(NEW)
    beside_it = ssh.with_name(f"{ssh.name}.pub")
    beside_it.unlink()
    if beside == "nonsense":
        beside_it.write_text("no key\n")
    if beside == "another":
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True)
        beside_it.write_bytes((tmp_path / "other.pub").read_bytes())
    told = cli("snapshot", "restore", id, "--identity", str(ssh), "--yes")

    assert told.fault["code"] == "conflict"
    assert "HOLDFAST_SNAPSHOT_RECIPIENTS" in told.fault["hint"]
    assert cli.texts() == {OLD, NEW}
    assert forms(cli) == [True]
    cli.good("snapshot", "restore", id, "--identity", str(ssh), "--yes", "--plain-before")
    assert forms(cli) == [False, True]


def test_a_memory_whose_newest_is_encrypted_is_not_left_in_the_clear_for_a_plain_one(cli: Cli, tmp_path: Path) -> None:
    plain = cli.create()
    cli.remember(NEW)
    cli.create("--encrypt", recipient())
    for more in ("--dry-run", "--yes"):
        assert cli("snapshot", "restore", plain, more).fault["code"] == "conflict"
    cli.good("snapshot", "restore", plain, "--dry-run", "--plain-before")
    cli.good("snapshot", "restore", plain, "--dry-run", "--into", str(tmp_path / "second"))
    cli.good("snapshot", "restore", plain, "--yes", "--identity", identity_file(tmp_path))
    assert forms(cli) == [True, True, False]
    assert cli("snapshot", "undo", "--yes").fault["code"] == "conflict"
    cli.environment["HOLDFAST_SNAPSHOT_RECIPIENTS"] = recipient()
    cli.good("snapshot", "undo", "--yes")
    assert forms(cli) == [True, True, True, False]
