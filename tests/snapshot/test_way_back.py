"""The data folder is gone, the vault is there. Whoever follows the printed hints, and nothing else, has the memory back."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from flows import NEW, OLD, STRANGER, Cli, Said, command_in, identity_file, recipient
from patience import until
from processes import serving
from world import DAY, World, running

from holdfast.client import Holdfast
from holdfast.core.errors import RestorePending
from holdfast.core.model import DEFAULT_TENANT
from holdfast.engine import Engine
from holdfast.serve.background.schedule import SnapshotSchedule
from holdfast.settings import load

pytestmark = pytest.mark.embedded

A = "/agentmemory"
PENDING = "restore_pending"


@pytest.fixture
def lost(tmp_path: Path) -> Callable[..., Cli]:
    """A memory that was copied to a vault, and whose folder is gone with its keys."""

    def lose(*words: str, **environment: str) -> Cli:
        (tmp_path / "vault").mkdir()
        cli = Cli(tmp_path / "memory", HOLDFAST_VAULT=str(tmp_path / "vault"), **environment)
        cli.remember(OLD)
        cli.create(*words)
        shutil.rmtree(cli.home)
        return cli

    return lose


def followed(cli: Cli, said: Said, **values: str) -> None:
    """Do what a refusal said."""
    words = [values.get(word, word) for word in command_in(said.fault["hint"])]
    cli.good(*words)


def test_snapshots_signed_by_the_key_that_is_gone_come_back_by_one_command(lost: Callable[..., Cli]) -> None:
    cli = lost("--sign")
    for words in (("memories",), ("recall", "amber"), ("remember", NEW), ("export",)):
        said = cli(*words)
        assert (said.code, said.fault["code"]) == (41, PENDING)
    followed(cli, said)
    assert cli.texts() == {OLD}
    newest = cli.create()  # signed by a key of its own: it can be restored here
    cli.good("snapshot", "restore", newest, "--yes")


def test_only_the_key_that_was_named_is_trusted(lost: Callable[..., Cli], tmp_path: Path) -> None:
    cli = lost("--sign")
    other = Cli(tmp_path / "other").good("key", "new")["did"]
    assert cli("snapshot", "restore", "latest", "--trust", other, "--yes").code == 41
    assert cli.good("key", "show")["trusted"] == []
    did = cli("memories").fault["hint"].split("--trust ")[1].split()[0]
    cli.good("snapshot", "restore", "latest", "--trust", did, "--dry-run")
    assert cli.good("key", "show")["trusted"] == []
    assert cli("memories").code == 41


def test_unsigned_ones_come_back_to_a_folder_that_has_a_key(lost: Callable[..., Cli]) -> None:
    cli = lost()
    Cli(cli.home).good("key", "new")  # without the vault, so that nothing is restored yet
    said = cli("memories")
    assert said.code == 41
    followed(cli, said)
    assert cli.texts() == {OLD}


def test_encrypted_ones_come_back_with_their_identity(lost: Callable[..., Cli], tmp_path: Path) -> None:
    cli = lost("--encrypt", recipient())
    said = cli("memories")
    assert said.code == 45
    wrong = cli(*[{"FILE": identity_file(tmp_path, STRANGER)}.get(w, w) for w in command_in(said.fault["hint"])])
    assert wrong.code == 45
    assert cli("memories").code == 45
    followed(cli, said, FILE=identity_file(tmp_path))
    assert cli.texts() == {OLD}


def test_an_identity_file_that_is_gone_is_told_by_its_name(lost: Callable[..., Cli], tmp_path: Path) -> None:
    cli = lost("--encrypt", recipient())
    cli.environment["HOLDFAST_SNAPSHOT_IDENTITY"] = str(tmp_path / "gone.txt")
    said = cli("memories")
    assert "gone.txt" in said.fault["error"]
    followed(cli, said, FILE=identity_file(tmp_path))
    assert cli.texts() == {OLD}


@pytest.mark.parametrize("left", ["keys/trusted.json", "lock", "server.log", "spool/0001.json", "hooks/state.json"])
def test_a_folder_with_a_key_a_lock_a_log_or_spooled_events_is_empty(lost: Callable[..., Cli], left: str) -> None:
    cli = lost()
    place = cli.home / left
    if left.startswith("keys"):
        did = Cli(cli.home.parent / "other").good("key", "new")["did"]
        Cli(cli.home).good("key", "trust", did)
        shutil.rmtree(cli.home / "gen-000001")
        (cli.home / "CURRENT").unlink()
        followed(cli, cli("memories"))
    else:
        place.parent.mkdir(parents=True)
        place.write_bytes(b"{}")
    assert cli.texts() == {OLD}


def test_a_memory_that_was_begun_without_the_vault_and_holds_nothing_is_filled(lost: Callable[..., Cli]) -> None:
    """As by an agent whose environment does not name the vault."""
    cli = lost()
    ignorant = Cli(cli.home)
    assert ignorant.texts() == set()
    token = ignorant.good("token", "create")["record"]["id"]
    assert cli.texts() == {OLD}
    assert token in str(cli.good("token", "list"))
    assert cli.good("verify")["sound"]


def test_what_was_written_without_the_vault_is_kept_and_the_rest_is_one_command_away(lost: Callable[..., Cli]) -> None:
    cli = lost()
    Cli(cli.home).remember(NEW)
    assert cli.texts() == {NEW}
    told = cli.good("recall", "ferry")
    assert "never restored here" in told["notice"]
    health = cli.good("health")
    assert health["status"] == "degraded"
    assert command_in(health["hint"]) == command_in(told["notice"])
    cli.create()  # also once the vault holds snapshots of both
    assert cli.good("health")["status"] == "degraded"
    cli.good(*command_in(cli.good("health")["hint"]))
    assert cli.texts() == {OLD, NEW}
    assert cli.good("health")["status"] == "healthy"
    assert "notice" not in cli.good("recall", "ferry")


def test_a_newest_that_is_damaged_leads_to_the_one_before(lost: Callable[..., Cli], tmp_path: Path) -> None:
    cli = lost()
    assert cli.texts() == {OLD}
    cli.remember(NEW)
    newest = cli.create()
    shutil.rmtree(cli.home)
    body = next((tmp_path / "vault").rglob(f"{newest}.tar.zst"))
    body.chmod(0o600)
    body.write_bytes(b"\0" * body.stat().st_size)
    followed(cli, cli("memories"))
    assert cli.texts() == {OLD}


def test_doctor_says_it_before_anything_is_started(lost: Callable[..., Cli], tmp_path: Path) -> None:
    cli = lost("--sign")
    checks = _wrong(cli)
    assert [one["name"] for one in checks] == ["data folder"]
    assert command_in(checks[0]["hint"]) == ["snapshot", "restore", "latest", "--yes"]
    assert not cli.home.exists()
    followed(cli, cli(*command_in(checks[0]["hint"])))
    assert cli.texts() == {OLD}
    assert _wrong(cli) == []


def test_doctor_says_one_command_for_a_memory_that_is_still_in_the_vault(lost: Callable[..., Cli]) -> None:
    cli = lost("--sign")
    cli("memories")
    (check,) = _wrong(cli)
    assert check["name"] == "store"
    cli.good(*command_in(check["hint"]))
    assert _wrong(cli) == []


def test_doctor_prints_a_command_on_a_line_of_its_own(lost: Callable[..., Cli]) -> None:
    cli = lost("--sign")
    cli("memories")
    hint = cli("memories").fault["hint"]
    assert f"      {hint}\n" in cli.plain("doctor").out


def _wrong(cli: Cli) -> list[Any]:
    return [one for one in cli("doctor").answer["checks"] if not one["ok"]]


def test_doctor_tells_of_a_vault_that_the_server_does_not_know(lost: Callable[..., Cli]) -> None:
    cli = lost()
    with running(cli.home):
        (check,) = _wrong(cli)
        assert check["name"] == "vault"
        cli.good(*command_in(check["hint"]))
        assert cli.texts() == {OLD}
        (check,) = _wrong(cli)
        assert "Restart the server" in check["hint"]


@contextmanager
def started(cli: Cli) -> Iterator[httpx.Client]:
    with running(cli.home, vault=cli.environment["HOLDFAST_VAULT"]) as client:
        yield client


def test_a_server_that_could_not_restore_is_degraded_on_every_surface(lost: Callable[..., Cli]) -> None:
    cli = lost("--sign")
    with started(cli) as client:
        assert client.get("/livez").json()["status"] == "ok"
        assert client.get(f"{A}/livez").status_code == 200
        health = client.get(f"{A}/health").json()
        assert health["status"] == "degraded"
        assert "not trusted here" in health["databaseStatus"]
        assert client.get(f"{A}/overview").json()["warnings"][0]["code"] == PENDING
        assert client.get(f"{A}/diagnostics").json()["status"] == "unwell"
        assert "holdfast_degraded 1" in client.get("/metrics").text
        assert client.get("/viewer").status_code == 200
        for path, body in (
            ("/remember", {"content": NEW}),
            ("/search", {"query": "amber"}),
            ("/context", {"project": "p"}),
        ):
            answer = client.post(A + path, json=body)
            assert (answer.status_code, answer.json()["code"]) == (503, PENDING)
            assert answer.json()["hint"] == health["hint"]
        tool = client.post(f"{A}/mcp/call", json={"name": "memory_recall", "arguments": {"query": "amber"}})
        assert tool.json()["isError"]
        assert health["hint"] in tool.json()["hint"]
        assert cli("recall", "amber").code == 41  # through the server as without it
        cli.good(*command_in(health["hint"]))
        assert client.get(f"{A}/health").json()["status"] == "healthy"
        assert cli.texts() == {OLD}
        assert client.post(f"{A}/remember", json={"content": NEW}).status_code == 201
    assert cli.texts() == {OLD, NEW}


def test_a_token_learns_no_more_than_that_the_memory_is_closed(lost: Callable[..., Cli]) -> None:
    cli = lost("--sign")
    with started(cli) as client:
        answer = client.get(f"{A}/memories", headers={"Authorization": "Bearer hft_0123_4567"})
        assert answer.status_code == 503
        assert "vault" not in answer.text


def test_the_server_restores_by_itself_once_the_vault_is_there(lost: Callable[..., Cli], tmp_path: Path) -> None:
    cli = lost()
    (tmp_path / "vault").rename(tmp_path / "away")
    with serving(cli.home, HOLDFAST_VAULT=str(tmp_path / "vault")) as server:
        assert server.get("/health").json()["status"] == "degraded"
        refused = server.remember(NEW)
        assert (refused.status_code, refused.json()["retryable"]) == (503, True)
        (tmp_path / "away").rename(tmp_path / "vault")
        until(lambda: server.get("/health").json()["status"] == "healthy", "the memory came back")
        assert len(server.found("amber cabinet")) == 1
        assert server.remember(NEW).status_code == 201
    assert "does not exist" in server.complaints
    assert "could be opened now" in server.complaints
    assert cli.texts() == {OLD, NEW}


def test_a_server_that_waits_begins_as_soon_as_it_is_told_that_the_vault_is_new(tmp_path: Path) -> None:
    """The first start with a vault that is not there yet: the command that the refusal names ends the waiting."""
    with serving(tmp_path / "memory", HOLDFAST_VAULT=str(tmp_path / "vault")) as server:
        refused = server.remember(NEW)
        assert command_in(refused.json()["hint"]) == ["vault", "init"]
        said = server.post("/vault/init")
        assert (said.status_code, "notice" in said.json(), "next" in said.json()) == (200, False, False)
        assert server.remember(NEW).status_code == 201


def test_a_long_lived_process_without_a_server_restores_once_the_vault_is_there(
    lost: Callable[..., Cli], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = lost()
    (tmp_path / "vault").rename(tmp_path / "away")
    for name, value in cli.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("holdfast.engine.AGAIN_SECONDS", 0.0)
    with Holdfast(cli.home) as memory:
        with pytest.raises(RestorePending):
            memory.search("amber")
        (tmp_path / "away").rename(tmp_path / "vault")
        assert [one["observation"]["content"] for one in memory.search("amber")] == [OLD]


def test_an_engine_that_is_not_to_be_rescued_says_why_it_does_not_open(lost: Callable[..., Cli]) -> None:
    cli = lost("--sign")
    settings = load({"home": str(cli.home), "vault": cli.environment["HOLDFAST_VAULT"], "embedder": "none"}, {})
    for _ in range(2):  # and frees the folder
        with pytest.raises(RestorePending):
            Engine(settings)


def test_a_memory_that_waits_for_its_vault_makes_and_removes_no_snapshot(lost: Callable[..., Cli]) -> None:
    cli = lost("--sign")
    vault = {path.name for path in Path(cli.environment["HOLDFAST_VAULT"]).rglob("*")}
    for words in (("create",), ("prune", "--keep", "1", "--yes"), ("undo", "--yes"), ("salvage", "--yes")):
        assert cli("snapshot", *words).code != 0
    assert {path.name for path in Path(cli.environment["HOLDFAST_VAULT"]).rglob("*")} == vault
    followed(cli, cli("memories"))
    assert cli.texts() == {OLD}


def test_a_restore_that_nobody_asked_for_is_told_on_every_surface(
    lost: Callable[..., Cli], caplog: pytest.LogCaptureFixture
) -> None:
    """The user must not believe that what was written after the snapshot is still there."""
    cli = lost()
    answer = cli.good("recall", "amber")
    assert "Later writes are not included" in answer["notice"]
    assert "Later writes are not included" in caplog.text
    restored = cli.good("snapshot", "status")["restored"]
    assert restored["id"] in answer["notice"]
    assert restored["message"] == answer["notice"]
    told = [one for one in cli("doctor").answer["checks"] if one["name"] == "restored"]
    assert [one["found"] for one in told] == [answer["notice"]]


def test_answers_tell_of_such_a_restore_for_an_hour_and_status_for_a_week(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    world = World(tmp_path / "memory", vault=str(tmp_path / "vault"))
    world.call("remember", content=OLD)
    world.call("snapshot_create")
    world.close()
    shutil.rmtree(tmp_path / "memory")
    world = World(tmp_path / "memory", vault=str(tmp_path / "vault"))
    world.clock.now += 2 * 3_600_000  # the first caller comes late
    assert "notice" in world.call("search", query="amber")
    world.clock.now += 3_600_000
    assert "notice" not in world.call("search", query="amber")
    world.close()
    world = World(tmp_path / "memory", vault=str(tmp_path / "vault"))
    world.clock.now += 3 * 3_600_000
    assert "notice" not in world.call("search", query="amber")
    assert "restored" in {one["code"] for one in world.call("overview")["warnings"]}
    world.clock.now += 7 * DAY
    assert "restored" not in {one["code"] for one in world.call("overview")["warnings"]}
    assert world.call("snapshot_status")["restored"]["id"]
    world.close()


def test_a_dry_run_of_a_memory_that_waits_for_its_vault_does_not_call_it_damaged(lost: Callable[..., Cli]) -> None:
    cli = lost("--sign")
    words = [word for word in command_in(cli("memories").fault["hint"]) if word != "--yes"]
    (said,) = cli.good(*words, "--dry-run")["warnings"]
    assert "no live memory yet" in said
    assert "damaged" not in said


def test_doctor_of_a_server_that_waits_for_its_vault_does_not_contradict_itself(lost: Callable[..., Cli]) -> None:
    cli = lost("--sign")
    (cli.home / "spool").mkdir(parents=True)
    (cli.home / "spool" / "0000000000000000001-000000.json").write_text("{}")
    with started(cli):
        checks = {one["name"]: one for one in cli("doctor").answer["checks"]}
        assert "degraded" not in checks["server"]["found"]
        assert "holdfast serve" not in checks["hook spool"]["hint"]
        assert not checks["store"]["ok"]


def test_doctor_tells_of_keys_that_are_trusted(lost: Callable[..., Cli]) -> None:
    cli = lost("--sign")
    followed(cli, cli("memories"))
    (keys,) = [one for one in cli("doctor").answer["checks"] if one["name"] == "keys"]
    assert "trusted: 1" in keys["found"]


def test_what_is_no_key_is_not_trusted_in_silence(lost: Callable[..., Cli], tmp_path: Path) -> None:
    cli = lost()
    said = cli("snapshot", "restore", "latest", "--trust", "did:key:bogus", "--yes")
    assert said.code == 2
    other = Cli(tmp_path / "other").good("key", "new")["did"]
    done = cli.good("snapshot", "restore", "latest", "--trust", other, "--yes")
    assert "did not sign" in done["warnings"][0]
    assert cli.good("key", "show")["trusted"] == []


def test_a_vault_whose_folder_is_missing_is_not_called_here(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    cli.remember(OLD)
    status = cli.good("vault", "status", str(tmp_path / "gone"))
    assert not status["here"]
    assert status["warnings"]


def _spoil(cli: Cli, id: str) -> None:
    (body,) = Path(cli.environment["HOLDFAST_VAULT"]).rglob(f"{id}.tar.zst")
    body.chmod(0o600)
    body.write_bytes(bytes(body.stat().st_size))


def test_behind_damaged_ones_the_command_for_the_next_has_the_key_to_trust(lost: Callable[..., Cli]) -> None:
    cli = lost("--sign")
    followed(cli, cli("memories"))
    for text in (NEW, "A third one"):
        cli.remember(text)
        _spoil(cli, cli.create())
    shutil.rmtree(cli.home)
    said = cli("memories")
    assert said.code == 40
    said = cli(*command_in(said.fault["hint"]))
    assert said.code == 40
    assert "--trust" in command_in(said.fault["hint"])
    followed(cli, said)
    assert cli.texts() == {OLD}


def test_signed_and_encrypted_ones_need_one_command(lost: Callable[..., Cli], tmp_path: Path) -> None:
    cli = lost("--sign", "--encrypt", recipient())
    said = cli("memories")
    words = command_in(said.fault["hint"])
    assert {"--trust", "--identity"} <= set(words)
    followed(cli, said, FILE=identity_file(tmp_path))
    assert cli.texts() == {OLD}


def test_with_the_identity_gone_the_newest_that_opens_without_it_is_named(lost: Callable[..., Cli]) -> None:
    cli = lost()
    assert cli.texts() == {OLD}
    plain = cli.good("vault", "list")["snapshots"][0]["id"]
    cli.remember(NEW)
    cli.create("--encrypt", recipient())
    shutil.rmtree(cli.home)
    said = cli("memories")
    assert said.code == 45
    assert plain in said.fault["hint"]
    cli.good("snapshot", "restore", plain, "--yes")
    assert cli.texts() == {OLD}


# ── the mount point of a vault that is not mounted ──────────────────────────────────────────────────


def test_an_empty_mount_point_does_not_end_the_waiting(lost: Callable[..., Cli], tmp_path: Path) -> None:
    cli = lost()
    vault = tmp_path / "vault"
    vault.rename(tmp_path / "away")
    assert cli("recall", "amber").fault["code"] == PENDING
    vault.mkdir()
    for words in (("recall", "amber"), ("remember", NEW)):
        said = cli(*words)
        assert said.fault["code"] == PENDING
        assert "has no snapshot of this memory" in said.fault["error"]
    vault.rmdir()
    (tmp_path / "away").rename(vault)
    assert cli.texts() == {OLD}
    shutil.rmtree(cli.home)  # and it waits anew
    vault.rename(tmp_path / "away")
    vault.mkdir()
    cli.remember(NEW)  # an empty vault that was never waited for is a new one


def test_a_user_who_says_so_begins_empty(lost: Callable[..., Cli], tmp_path: Path) -> None:
    cli = lost()
    shutil.rmtree(tmp_path / "vault")
    said = cli("recall", "amber")
    followed(cli, said)
    assert cli.texts() == set()
    assert (tmp_path / "vault").is_dir()
    cli.remember(NEW)


def test_a_new_vault_that_nothing_uses_yet_names_the_setting(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    said = cli.good("vault", "init", str(tmp_path / "vault"))
    assert f"HOLDFAST_VAULT={tmp_path / 'vault'}" in said["next"]


def test_a_vault_that_holds_the_memory_is_not_called_empty(lost: Callable[..., Cli], tmp_path: Path) -> None:
    cli = lost("--sign")
    assert cli("memories").fault["code"] == PENDING
    said = cli("vault", "init")
    assert said.fault["code"] == "conflict"
    assert cli("memories").fault["code"] == PENDING


def test_a_vault_that_comes_back_while_another_memory_runs_is_noticed_and_merged_by_the_hint(
    lost: Callable[..., Cli], tmp_path: Path
) -> None:
    cli = lost("--sign")
    vault = tmp_path / "vault"
    vault.rename(tmp_path / "away")
    vault.mkdir()
    world = World(cli.home, vault=str(vault))
    world.call("remember", content=NEW)
    world.call("snapshot_create")
    schedule = SnapshotSchedule(world.engine)
    schedule.run_once()
    assert world.engine.trouble(DEFAULT_TENANT) is None
    shutil.rmtree(vault)
    (tmp_path / "away").rename(vault)
    schedule.run_once()
    notice = world.call("search", query="ferry")["notice"]
    assert world.call("health")["status"] == "degraded"
    world.close()
    assert "never restored here" in notice
    assert "--trust did:key:" in notice
    cli.good(*command_in(notice))
    assert cli.texts() == {OLD, NEW}
    assert "notice" not in cli.good("recall", "ferry")
