"""The first start of an empty folder with a vault: the memory comes back, or nothing starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flows import NEW, OLD, Cli, command_in, identity_file, recipient, tree
from world import running

from holdfast.store.data_folder import DataFolder


def made(tmp_path: Path, *words: str, **environment: str) -> tuple[Cli, Cli]:
    """A memory that was copied to a vault, and an empty folder beside it with the same vault."""
    (tmp_path / "vault").mkdir()
    vault = str(tmp_path / "vault")
    first = Cli(tmp_path / "first", HOLDFAST_VAULT=vault, **environment)
    first.remember(OLD)
    first.create(*words)
    return first, Cli(tmp_path / "second", HOLDFAST_VAULT=vault, **environment)


def test_an_empty_folder_starts_from_the_newest_in_the_vault(tmp_path: Path) -> None:
    first, second = made(tmp_path)
    first.remember(NEW)
    first.create()

    assert second.texts() == {OLD, NEW}
    assert second.found("recall", "ferry island") == [NEW]
    assert second.good("verify")["sound"]
    assert second.create()


def test_what_a_restored_memory_makes_is_the_newest_in_the_vault(tmp_path: Path) -> None:
    first, second = made(tmp_path)
    first.create()
    first.create()
    assert second.texts() == {OLD}
    second.remember(NEW)
    newest = second.create()
    third = Cli(tmp_path / "third", **second.environment)

    assert second.good("vault", "list")["snapshots"][0]["id"] == newest
    assert third.texts() == {OLD, NEW}
    older = first.good("snapshot", "list")["snapshots"][-1]["id"]
    fourth = Cli(tmp_path / "fourth")
    fourth.good("snapshot", "restore", older, "--from", str(tmp_path / "vault"), "--yes")
    assert fourth.create() > newest


def test_a_server_starts_from_the_vault_too(tmp_path: Path) -> None:
    made(tmp_path)
    with running(tmp_path / "third", vault=str(tmp_path / "vault")) as client:
        assert [one["content"] for one in client.get("/agentmemory/memories").json()["memories"]] == [OLD]


def test_without_the_vault_no_empty_memory_starts(tmp_path: Path) -> None:
    said = Cli(tmp_path / "memory", HOLDFAST_VAULT=str(tmp_path / "vault"))("memories")

    assert said.code == 34
    assert "does not exist" in said.fault["error"]


def test_with_an_empty_vault_an_empty_memory_starts(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    cli = Cli(tmp_path / "memory", HOLDFAST_VAULT=str(tmp_path / "vault"))
    assert cli.texts() == set()
    cli.remember(OLD)
    cli.create()


def test_a_memory_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    first, second = made(tmp_path)
    other = Cli(second.home)  # without the vault
    other.remember(NEW)
    assert second.texts() == {NEW}
    assert first.texts() == {OLD}


@pytest.mark.parametrize("end", [".tar.zst", ".manifest.json"])
def test_a_damaged_newest_does_not_let_an_empty_memory_start(tmp_path: Path, end: str) -> None:
    first, second = made(tmp_path)
    older = first.good("snapshot", "list")["snapshots"][0]["id"]
    newest = first.create()
    path = next((tmp_path / "vault").rglob(f"{newest}{end}"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(data)

    for _ in range(2):
        said = second("memories")
        assert said.code == 40, said.out + said.err
        assert command_in(said.fault["hint"]) == ["snapshot", "restore", older, "--yes"]
        assert not list(second.home.glob("gen-*/memory.db"))
    assert second.good("vault", "list")["count"] == 2
    second.good("snapshot", "restore", older, "--yes")
    assert second.texts() == {OLD}


def test_a_strangers_signature_does_not_start_and_can_be_trusted(tmp_path: Path) -> None:
    first, second = made(tmp_path, "--sign")

    said = second("memories")
    assert said.code == 41, said.out + said.err
    assert not list(second.home.glob("gen-*/memory.db"))
    did = first.good("key", "show")["did"]
    second.good("key", "trust", did)
    assert second.texts() == {OLD}
    assert second.good("key", "show")["trusted"][0]["did"] == did


def test_an_encrypted_one_starts_with_its_identity(tmp_path: Path) -> None:
    _, second = made(tmp_path, "--encrypt", recipient())
    assert second("memories").code == 45
    second.environment["HOLDFAST_SNAPSHOT_IDENTITY"] = identity_file(tmp_path)
    assert second.texts() == {OLD}


def test_memory_folders_come_from_the_vault_too(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("one\n")
    _, second = made(tmp_path, HOLDFAST_MEMORY_FOLDERS="notes=notes", HOLDFAST_AGENT="quill")
    (tmp_path / "first" / "notes").mkdir()
    (tmp_path / "first" / "notes" / "MEMORY.md").write_text("inside\n")
    first = Cli(tmp_path / "first", **second.environment)
    first.create()

    assert second.texts() == {OLD}
    assert tree(second.home / "notes") == {"MEMORY.md": b"inside\n"}


def test_a_first_start_that_is_killed_before_the_pointer_is_finished_by_the_next(tmp_path: Path) -> None:
    """The new generation is there, what its folders are to become is noted, and CURRENT was not yet written."""
    _, second = made(tmp_path, HOLDFAST_MEMORY_FOLDERS="notes=notes")
    assert second.texts() == {OLD}
    (second.home / "CURRENT").unlink()
    assert second.texts() == {OLD}


@pytest.mark.parametrize("step", ["finish", "switch"])
@pytest.mark.parametrize("done", [False, True])
def test_a_first_start_that_ends_anywhere_leaves_no_memory_without_its_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, done: bool
) -> None:
    first, second = made(tmp_path, HOLDFAST_MEMORY_FOLDERS="notes=notes")
    (first.home / "notes").mkdir()
    (first.home / "notes" / "MEMORY.md").write_text("inside\n")
    first.create()
    real = getattr(DataFolder, step)

    def ends_here(*given: Any) -> None:
        if done:
            real(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(DataFolder, step, ends_here)
        assert second("memories").code != 0
    assert second.texts() == {OLD}
    assert tree(second.home / "notes") == {"MEMORY.md": b"inside\n"}


def test_what_is_made_after_a_start_from_the_vault_is_newer_there_than_what_it_started_from(tmp_path: Path) -> None:
    first = Cli(tmp_path / "first", HOLDFAST_VAULT=str(tmp_path / "vault"))
    (tmp_path / "vault").mkdir()
    first.remember(OLD)
    for _ in range(3):
        first.create()
    second = Cli(tmp_path / "second", HOLDFAST_VAULT=str(tmp_path / "vault"))
    second.remember(NEW)
    made = second.create()

    assert made.startswith("000004-")
    assert Cli(tmp_path / "third", HOLDFAST_VAULT=str(tmp_path / "vault")).texts() == {OLD, NEW}
