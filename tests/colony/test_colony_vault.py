"""The agent's own memory in a Colony vault: the real SDK, a server that speaks the vault API, the published package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import colony_memory
import colony_sdk
import pytest
from colony_server import KEY, Colony, status

sys.path.insert(0, str(Path(__file__).parents[1] / "snapshot"))
from flows import NEW, OLD, Cli, identity_file, recipient
from world import running

from holdfast.colony import ColonyMemory


def cli_of(home: Path, colony: Colony, **environment: str) -> Cli:
    return Cli(home, COLONY_API_KEY=KEY, COLONY_API_BASE=colony.url, COLONY_SDK_NO_TOKEN_CACHE="1", **environment)


@pytest.fixture
def first(tmp_path: Path, colony: Colony) -> Cli:
    cli = cli_of(tmp_path / "first", colony)
    cli.remember(OLD)
    return cli


def second(tmp_path: Path, colony: Colony, **environment: str) -> Cli:
    return cli_of(tmp_path / "second", colony, **environment)


def test_a_key_that_is_not_taken_is_told_once(tmp_path: Path, colony: Colony) -> None:
    environment = {"COLONY_API_KEY": "col_wrong", "COLONY_API_BASE": colony.url, "COLONY_SDK_NO_TOKEN_CACHE": "1"}
    done = subprocess.run(  # a process of its own: pytest has handlers for whatever is logged here
        [sys.executable, "-m", "holdfast.cli.main", "vault", "list", "colony:", "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment, "HOLDFAST_EMBEDDER": "none"},
        check=False,
    )

    assert done.returncode == 57
    told = [one for one in done.stderr.splitlines() if not one.startswith("note: ")]  # of a server that may run here
    assert told[0].startswith("error: ")
    assert sum(one.startswith("error: ") for one in told) == 1


def documents(colony: Colony, label: str = "holdfast") -> dict[str, str]:
    return ColonyMemory(KEY, base_url=colony.url).restore(label=label)


def test_a_memory_comes_back_from_a_colony_vault_and_can_be_searched(
    first: Cli, tmp_path: Path, colony: Colony
) -> None:
    id = first.good("memories")["memories"][0]["id"]
    first.good("evolve", id, NEW)
    first.good("slot", "create", "harbour", "tide tables", "--scope", "global", "--pinned")
    first.good("lesson", "save", "Check the tide first")
    first.good("remember", "The lamp oil is by the north wall", "--uri", "core://lamp")
    first.create("--to", "colony:")
    cli = second(tmp_path, colony)
    done = cli.good("snapshot", "restore", "latest", "--from", "colony:", "--yes")

    assert done["rows"]["memories"] == 3
    assert cli.texts() == {NEW, "The lamp oil is by the north wall"}
    assert cli.found("recall", "ferry island")[0] == NEW
    found = {one["content"] for one in cli.good("memories", "--no-latest", "--limit", "9")["memories"]}
    assert OLD in found
    assert cli.good("slot", "get", "harbour")["slot"]["content"] == "tide tables"
    assert [one["content"] for one in cli.good("lessons")["lessons"]] == ["Check the tide first"]
    assert cli.good("memory", "core://lamp")["memory"]["content"].startswith("The lamp oil")
    assert cli.good("verify")["sound"]
    cli.remember("And it goes on")
    cli.good("snapshot", "undo", "--yes")


def test_the_published_package_reads_what_was_sent(first: Cli, colony: Colony) -> None:
    first.create("--to", "colony:notes")
    client = colony_sdk.ColonyClient(api_key=KEY, base_url=colony.url)
    found = colony_memory.ColonyMemory(backend=client).restore(label="notes")

    assert OLD in found["memories/0001.jsonl"]
    assert json.loads(found["holdfast.json"])["counts"]["memories"] == 1
    assert found["profile.md"].startswith("# Memory of default")


def test_what_was_left_out_is_said(first: Cli, tmp_path: Path, colony: Colony) -> None:
    first.good("session", "start", "--session-id", "s1", "--project", "quay", "--cwd", "/w")
    first.create("--to", "colony:")

    left = json.loads(documents(colony)["holdfast.json"])["left"]
    assert left == {"sessions": 1}


def test_status_list_verify_prune_and_sync_know_a_colony_vault(first: Cli, colony: Colony) -> None:
    first.create()
    assert len(first.good("vault", "status", "colony:")["missing"]) == 1
    sent = first.good("vault", "sync", "colony:")
    assert len(sent["sent"]) == 1
    assert first.good("vault", "sync", "colony:")["sent"] == []
    first.remember(NEW)
    first.create("--to", "colony:")
    found = first.good("vault", "list", "colony:")
    standing = first.good("vault", "status", "colony:")
    checked = first.good("vault", "verify", "colony:")

    assert found["count"] == standing["snapshots"] == 2
    assert standing["missing"] == []
    assert checked["sound"]
    assert len(checked["snapshots"]) == 2
    pruned = first.good("vault", "prune", "colony:", "--keep", "1", "--yes")
    assert pruned["remove"] == [found["snapshots"][1]["id"]]
    assert first.good("vault", "list", "colony:")["count"] == 1


def test_an_older_one_is_restored_by_its_id(first: Cli, tmp_path: Path, colony: Colony) -> None:
    first.create("--to", "colony:")
    first.remember(NEW)
    first.create("--to", "colony:")
    older = first.good("vault", "list", "colony:")["snapshots"][1]["id"]
    cli = second(tmp_path, colony)
    cli.good("snapshot", "restore", older, "--from", "colony:", "--yes")

    assert cli.texts() == {OLD}


def test_the_newest_of_another_vault_is_copied_in_short(first: Cli, tmp_path: Path, colony: Colony) -> None:
    (tmp_path / "vault").mkdir()
    first.create("--to", str(tmp_path / "vault"))
    assert len(first.good("vault", "copy", str(tmp_path / "vault"), "colony:")["sent"]) == 1
    assert OLD in documents(colony)["memories/0001.jsonl"]
    assert first("vault", "copy", "colony:", str(tmp_path / "vault")).code == 2


def test_an_empty_folder_begins_with_it_by_itself(first: Cli, tmp_path: Path, colony: Colony) -> None:
    first.environment["HOLDFAST_VAULT"] = "colony:"
    first.create()

    assert second(tmp_path, colony, HOLDFAST_VAULT="colony:").texts() == {OLD}


def test_a_vault_that_has_none_lets_an_empty_memory_begin(tmp_path: Path, colony: Colony) -> None:
    assert second(tmp_path, colony, HOLDFAST_VAULT="colony:").texts() == set()


def test_a_vault_that_fails_lets_none_begin(first: Cli, tmp_path: Path, colony: Colony) -> None:
    first.create("--to", "colony:")
    colony.fail("GET", "/vault/files", status(500), times=50)
    cli = second(tmp_path, colony, HOLDFAST_VAULT="colony:")

    assert cli("memories").code == 56
    assert not list(cli.home.glob("gen-*"))


def test_documents_of_somebody_else_let_none_begin_and_say_how_to_take_them(tmp_path: Path, colony: Colony) -> None:
    ColonyMemory(KEY, base_url=colony.url).backup({"MEMORY.md": "- mine"}, label="holdfast")
    said = second(tmp_path, colony, HOLDFAST_VAULT="colony:")("memories")

    assert said.code == 44
    assert "holdfast import" in said.fault["hint"]


def test_it_is_signed_and_only_trusted_keys_are_taken(first: Cli, tmp_path: Path, colony: Colony) -> None:
    did = first.good("key", "new")["did"]
    first.create("--to", "colony:")
    cli = second(tmp_path, colony)
    other = second(tmp_path / "more", colony)
    other.good("key", "new")

    assert other("snapshot", "restore", "latest", "--from", "colony:", "--yes").code == 54
    other.good("key", "trust", did)
    other.good("snapshot", "restore", "latest", "--from", "colony:", "--yes")
    assert other.texts() == {OLD}
    cli.good("snapshot", "restore", "latest", "--from", "colony:", "--yes")


def test_an_unsigned_one_is_refused_where_a_key_is_known(first: Cli, tmp_path: Path, colony: Colony) -> None:
    first.create("--to", "colony:")
    cli = second(tmp_path, colony)
    cli.good("key", "new")

    assert cli("snapshot", "restore", "latest", "--from", "colony:", "--yes").code == 54


def test_it_is_encrypted_for_the_recipients_of_the_settings(first: Cli, tmp_path: Path, colony: Colony) -> None:
    first.environment["HOLDFAST_SNAPSHOT_RECIPIENTS"] = recipient()
    first.create("--to", "colony:")

    assert all("holdfast.json" not in text for text in colony.files.values())
    cli = second(tmp_path, colony)
    assert cli("snapshot", "restore", "latest", "--from", "colony:", "--yes").code == 55
    words = ("snapshot", "restore", "latest", "--from", "colony:", "--identity", identity_file(tmp_path), "--yes")
    cli.good(*words)
    assert cli.texts() == {OLD}


def test_an_old_one_in_the_place_of_the_newest_is_noticed(first: Cli, tmp_path: Path, colony: Colony) -> None:
    first.create("--to", "colony:")
    old = dict(colony.files)
    first.create("--to", "colony:")
    cli = second(tmp_path, colony)
    cli.good("snapshot", "restore", "latest", "--from", "colony:", "--yes")
    colony.files = old

    assert cli("snapshot", "restore", "latest", "--from", "colony:", "--yes").code == 42
    cli.good("snapshot", "restore", "latest", "--from", "colony:", "--allow-older", "--yes")


def test_another_agents_is_refused(first: Cli, tmp_path: Path, colony: Colony) -> None:
    first.create("--to", "colony:shared")
    cli = second(tmp_path, colony, HOLDFAST_AGENT="quill")

    assert cli("snapshot", "restore", "latest", "--from", "colony:shared", "--yes").code == 44


def test_only_so_many_stay_as_the_settings_say(first: Cli, colony: Colony) -> None:
    first.environment["HOLDFAST_COLONY_KEEP"] = "2"
    for _ in range(4):
        first.create("--to", "colony:")

    assert first.good("vault", "list", "colony:")["count"] == 2


def test_nothing_is_written_when_the_hours_changes_do_not_suffice(first: Cli, colony: Colony) -> None:
    colony.files |= {f"cmem.other.20260619T051643894211Z-74ec5{n:x}.p0.json": "x" for n in range(10)}
    before = dict(colony.files)
    colony.changes_per_hour = 0
    said = first("snapshot", "create", "--to", "colony:")

    assert said.code == 58
    assert colony.files == before
    assert len(first.good("snapshot", "list")["snapshots"]) == 1  # the repository has it, and sync sends it later


def test_writers_do_not_overwrite_each_other(first: Cli, colony: Colony) -> None:
    first.create("--to", "colony:")
    puts = colony.asked("PUT")

    assert puts
    assert all("if-none-match" in one.headers or "if-match" in one.headers for one in puts)


def test_without_a_key_nothing_is_asked(tmp_path: Path, colony: Colony) -> None:
    cli = Cli(tmp_path / "memory", COLONY_API_BASE=colony.url)
    said = cli("vault", "status", "colony:")

    assert said.code == 3
    assert "COLONY_API_KEY" in said.fault["hint"]
    assert colony.seen == []


def test_the_key_comes_from_a_file_that_only_its_owner_reads(first: Cli, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(f"COLONY_API_KEY={KEY}\n")
    file.chmod(0o600)
    del first.environment["COLONY_API_KEY"]
    first.environment["HOLDFAST_VAULT_CREDENTIALS"] = str(file)
    first.create("--to", "colony:")
    file.chmod(0o644)

    assert first("vault", "status", "colony:").code == 3


@pytest.mark.parametrize("label", ["colony:A B", "colony:../x", f"colony:{KEY}@x"])
def test_what_is_no_label_is_refused_without_being_shown(first: Cli, label: str) -> None:
    said = first("vault", "status", label)

    assert said.code == 3
    assert KEY not in said.err


def test_the_key_is_in_no_file_of_the_memory(first: Cli, colony: Colony) -> None:
    first.create("--to", "colony:")

    assert all(KEY.encode() not in data for data in first.files().values())
    assert all(KEY not in text for text in colony.files.values())


def test_a_server_is_told_the_vault_as_it_was_named(first: Cli, tmp_path: Path, colony: Colony) -> None:
    """A path is made whole on its way to a server; this is none."""
    known = {"colony_key": KEY, "colony_url": colony.url}
    with running(tmp_path / "first", **known) as client:
        url = str(client.base_url)
        through = Cli(tmp_path / "first", HOLDFAST_URL=url)
        through.good("snapshot", "create", "--to", "colony:")
        assert through.good("vault", "list", "colony:")["count"] == 1
        through.good("snapshot", "restore", "latest", "--from", "colony:", "--yes")
