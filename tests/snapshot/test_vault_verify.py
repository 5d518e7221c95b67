"""What `vault verify` calls damaged, and what it tells to delete."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from flows import NEW, OLD, Cli, recipient


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Two signed snapshots, in the repository and in a vault."""
    (tmp_path / "vault").mkdir()
    cli = Cli(tmp_path / "memory", HOLDFAST_VAULT=str(tmp_path / "vault"))
    cli.remember(OLD)
    cli.create("--sign")
    cli.remember(NEW)
    cli.create("--sign")
    return cli


def ids(cli: Cli) -> list[str]:
    return [one["id"] for one in cli.good("vault", "list")["snapshots"]]


def spoil(cli: Cli, id: str) -> None:
    bundle = next(Path(cli.environment["HOLDFAST_VAULT"]).rglob(f"{id}.tar.zst"))
    bundle.chmod(0o600)
    bundle.write_bytes(bytes(bundle.stat().st_size))


def statuses(answer: dict[str, list[dict[str, object]]]) -> dict[object, object]:
    return {one["snapshot"]: one["status"] for one in answer["snapshots"]}


def test_what_a_lost_key_signed_is_not_trusted_and_not_damaged(cli: Cli) -> None:
    shutil.rmtree(cli.home / "keys")
    cli.good("key", "new")
    said = cli("vault", "verify")
    assert (said.code, said.answer["sound"]) == (41, False)
    assert set(statuses(said.answer).values()) == {"not trusted here"}
    assert all(one["sound"] for one in said.answer["snapshots"])
    assert "Delete" not in said.answer["hint"]
    (did,) = re.findall(r"holdfast key trust (\S+)", said.answer["hint"])
    cli.good("key", "trust", did)
    assert set(statuses(cli.good("vault", "verify")).values()) == {"sound"}


def test_only_a_damaged_one_of_which_a_whole_copy_is_here_is_named_for_deletion(cli: Cli) -> None:
    newest, first = ids(cli)
    spoil(cli, first)
    said = cli("vault", "verify")
    assert said.code == 40
    assert statuses(said.answer) == {newest: "sound", first: "damaged"}
    assert first in said.answer["hint"]
    assert newest not in said.answer["hint"]
    for file in Path(cli.environment["HOLDFAST_VAULT"]).rglob(f"{first}.*"):
        file.unlink()
    (again,) = re.findall(r"holdfast (vault sync .*)$", said.answer["hint"])
    cli.good(*shlex.split(again))
    assert cli.good("vault", "verify")["sound"]


def test_a_damaged_one_without_another_copy_is_kept(cli: Cli) -> None:
    first = ids(cli)[1]
    cli.good("snapshot", "delete", first, "--yes")
    spoil(cli, first)
    hint = cli("vault", "verify").answer["hint"]
    assert f"with no intact copy on this machine: {first}" in hint
    assert "Delete" not in hint


def test_damage_is_told_before_distrust_and_both_with_what_to_do(cli: Cli) -> None:
    newest, first = ids(cli)
    spoil(cli, first)
    shutil.rmtree(cli.home / "keys")
    cli.good("key", "new")
    said = cli("vault", "verify")
    assert said.code == 40
    assert statuses(said.answer) == {newest: "not trusted here", first: "damaged"}
    assert "holdfast key trust" in said.answer["hint"]
    assert "Delete their files" in said.answer["hint"]


def test_an_encrypted_one_is_sound_as_far_as_it_can_be_checked(cli: Cli) -> None:
    cli.create("--encrypt", recipient())
    assert set(statuses(cli.good("vault", "verify")).values()) == {"sound"}
