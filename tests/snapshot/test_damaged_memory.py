"""A memory whose file is damaged: it is read-only and says so, it is repaired or restored, and nothing readable is lost."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flows import Cli, tree
from harm import break_header, break_page, break_pages, change_text, cut_in_half, live_database
from world import World, running

from holdfast.model import Caller
from holdfast.snapshot import undo as undoing
from holdfast.store.damage import read_damage

A = "/agentmemory"
NEWER = "The green kettle sings at four"
ROWS = 150
ACME = Caller(tenant="acme", name="acme")


def text(number: int) -> str:
    return f"Cupboard {number} holds the blue item {number * 7}." + f" filler{number}" * 40


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A memory of many pages without a snapshot, with other tenants' memory and a token."""
    world = World(tmp_path / "memory")
    try:
        world.call("remember_batch", memories=[{"content": text(number)} for number in range(ROWS)])
        world.call("remember", ACME, content="acme keeps bees")
        world.call("token_create", name="kept", scopes=["read"])
    finally:
        world.close()
    return Cli(tmp_path / "memory")


def kept(cli: Cli) -> str:
    """A snapshot, and something newer than it; the snapshot's id."""
    id = cli.create()
    cli.remember(NEWER)
    return id


def contents(cli: Cli) -> set[str]:
    return {one["content"] for one in cli.good("memories", "--limit", "1000")["memories"]}


def every() -> set[str]:
    return {text(number) for number in range(ROWS)}


def record_page(path: Path) -> None:
    break_page(path, "memories", 5)


def one_row(path: Path) -> None:
    change_text(path, "Cupboard 70 holds")


def word_pages(path: Path) -> None:
    break_pages(path, "word_rows")


def id_index(path: Path) -> None:
    break_page(path, "sqlite_autoindex_memories_1", 1)


def command_in(hint: str) -> list[str]:
    found = re.findall(r"holdfast ((?:snapshot|verify) .*)$", hint)
    assert len(found) == 1, hint
    return shlex.split(found[0])


def wrong(cli: Cli) -> list[Any]:
    return [one for one in cli("doctor").answer["checks"] if not one["ok"]]


RECORDS = [record_page, one_row]
INDEX = [word_pages, id_index]
CLOSED = [break_header, cut_in_half]


@pytest.mark.parametrize("harm", [*RECORDS, *INDEX])
def test_a_damaged_memory_refuses_writes_on_every_surface(cli: Cli, harm: Callable[[Path], None]) -> None:
    harm(live_database(cli.home))
    cli("verify")
    said = cli("remember", NEWER)
    assert (said.code, said.fault["code"]) == (25, "read_only")
    with running(cli.home) as client:
        refused = client.post(f"{A}/remember", json={"content": NEWER})
        assert (refused.status_code, refused.json()["code"]) == (503, "read_only")
        hint = refused.json()["hint"]
        tool = client.post(f"{A}/mcp/call", json={"name": "memory_save", "arguments": {"content": NEWER}})
        assert (tool.json()["isError"], tool.json()["hint"]) == (True, hint)
        health = client.get(f"{A}/health").json()
        assert (health["status"], health["hint"]) == ("degraded", hint)
        assert client.get(f"{A}/overview").json()["warnings"][0]["code"] == "data_damaged"
        assert client.get("/livez").json()["status"] == "ok"
        (check,) = wrong(cli)
        assert (check["name"], check["hint"]) == ("store", hint)
        assert cli("snapshot", "create").fault["code"] == "read_only"
    assert command_in(hint)


def test_a_damaged_memory_is_read_on_and_every_answer_says_so(cli: Cli) -> None:
    one_row(live_database(cli.home))
    with running(cli.home) as client:
        listed = client.get(f"{A}/memories", params={"limit": 1000}).json()
        assert {one["content"] for one in listed["memories"]} == every() - {text(70)}
        found = client.post(f"{A}/search", json={"query": "filler12"}).json()
        assert len(found["results"]) == 1
        assert "read-only" in found["notice"]
        assert client.post(f"{A}/remember", json={"content": NEWER}).status_code == 503
        tool = client.post(f"{A}/mcp/call", json={"name": "memory_recall", "arguments": {"query": "filler12"}})
        assert "read-only" in tool.json()["content"][0]["text"]


@pytest.mark.parametrize("harm", INDEX)
def test_damaged_pages_of_an_index_are_repaired_without_losing_a_record(cli: Cli, harm: Callable[[Path], None]) -> None:
    kept(cli)
    harm(live_database(cli.home))
    cli("memories")
    cli("verify")
    done = cli.good(*command_in(wrong(cli)[0]["hint"]))
    assert done["sound"]
    assert contents(cli) == every() | {NEWER}
    assert len(cli.good("recall", "filler12")["results"]) == 1
    cli.remember("written after the repair")
    assert cli.good("health")["status"] == "healthy"
    assert "kept" in str(cli.good("token", "list"))
    (old,) = cli.good("snapshot", "damaged")["generations"]
    cli.good(*command_in(old["remove"]))
    assert cli.good("snapshot", "damaged")["count"] == 0
    assert not (cli.home / old["id"]).exists()
    assert _acme(cli) == ["acme keeps bees"]


def _acme(cli: Cli) -> list[str]:
    world = World(cli.home)
    try:
        return [one["content"] for one in world.call("memories", ACME)["memories"]]
    finally:
        world.close()


@pytest.mark.parametrize("harm", RECORDS)
def test_repairing_the_index_says_what_will_help_where_records_are_damaged(
    cli: Cli, harm: Callable[[Path], None]
) -> None:
    kept(cli)
    harm(live_database(cli.home))
    said = cli("verify", "--repair-index")
    assert said.code == 23
    hint = said.fault["hint"] if said.err else said.answer["hint"]
    assert command_in(hint) == ["snapshot", "restore", "latest", "--yes"]
    assert cli("remember", NEWER).code == 25


@pytest.mark.parametrize("harm", [*RECORDS, *CLOSED])
def test_a_restore_over_a_damaged_memory_keeps_it_and_salvage_brings_what_was_newer(
    cli: Cli, harm: Callable[[Path], None]
) -> None:
    id = kept(cli)
    harm(live_database(cli.home))
    cli("verify")
    dry = cli.good("snapshot", "restore", id, "--dry-run")
    assert dry["difference"]["b"] == id
    done = cli.good("snapshot", "restore", id, "--yes")
    assert done["before"] is None
    assert contents(cli) == every()
    (old,) = done["damaged"]
    assert old["id"] == "gen-000001"
    assert (cli.home / "gen-000001" / "memory.db").exists()

    snapshots = cli.good("snapshot", "list")["count"]
    assert cli("snapshot", "undo").code == 23
    assert cli.good("snapshot", "list")["count"] == snapshots
    assert contents(cli) == every()

    plan = cli.good(*command_in(done["next"]))
    before = contents(cli)
    assert contents(cli) == before
    made = cli.good(*command_in(plan["next"]))
    assert made["read"] == plan["read"]
    if harm is not cut_in_half:  # there the newest rows were on the half that is gone
        assert contents(cli) == every() | {NEWER}
        assert len(cli.good("recall", "green kettle")["results"]) == 1
    assert cli.good("verify")["sound"]
    cli.good("snapshot", "restore", id, "--yes")
    cli.good("snapshot", "restore", id, "--yes")
    assert (cli.home / "gen-000001" / "memory.db").exists()  # until the user removes it
    cli.good(*command_in(made["next"]))
    assert not (cli.home / "gen-000001").exists()


def test_a_dry_run_over_a_damaged_memory_compares_what_can_be_read(cli: Cli) -> None:
    id = kept(cli)
    record_page(live_database(cli.home))
    said = cli.good("snapshot", "restore", id, "--dry-run")
    tables = {one["table"]: one for one in said["difference"]["tables"]}
    assert tables["memories"]["removed"] == 1  # the newer one
    assert 0 < tables["memories"]["added"] < 20  # those of the broken page come back
    assert "damaged" in said["warnings"][0]


@pytest.mark.parametrize("harm", [*RECORDS, *CLOSED])
def test_without_a_snapshot_what_can_be_read_becomes_the_memory(cli: Cli, harm: Callable[[Path], None]) -> None:
    cli.remember(NEWER)
    harm(live_database(cli.home))
    cli("verify")
    said = cli("remember", "refused")
    assert command_in(said.fault["hint"]) == ["snapshot", "salvage", "--yes"]
    plan = cli.good("snapshot", "salvage", "--dry-run")
    assert cli("remember", "refused").code == said.code
    cli.good(*command_in(said.fault["hint"]))
    found = contents(cli)
    assert found < every() | {NEWER} or harm is break_header
    cli.remember("written after it")
    assert cli.good("verify")["sound"]
    if harm is not cut_in_half:  # half of the file may hold anything
        assert len(found) == plan["read"]["memories"] - 1  # acme's is read as well
        assert "kept" in str(cli.good("token", "list"))
        assert _acme(cli) == ["acme keeps bees"]


def test_salvage_changes_nothing_in_the_damaged_files(cli: Cli) -> None:
    id = kept(cli)
    record_page(live_database(cli.home))
    cli("verify")
    cli.good("snapshot", "restore", id, "--yes")
    before = (cli.home / "gen-000001" / "memory.db").read_bytes()
    cli.good("snapshot", "salvage", "--dry-run")
    cli.good("snapshot", "salvage", "--yes")
    assert (cli.home / "gen-000001" / "memory.db").read_bytes() == before


def test_what_was_forgotten_on_purpose_is_not_brought_back_by_salvage(cli: Cli) -> None:
    kept(cli)
    record_page(live_database(cli.home))
    cli("verify")
    cli.good("snapshot", "restore", "latest", "--yes")
    gone = cli.good("memories", "--limit", "1000")["memories"][0]
    cli.good("forget", gone["id"])
    cli.good("snapshot", "salvage", "--yes")
    assert contents(cli) == (every() | {NEWER}) - {gone["content"]}


def test_salvage_again_changes_nothing_more(cli: Cli) -> None:
    kept(cli)
    record_page(live_database(cli.home))
    cli("verify")
    cli.good("snapshot", "restore", "latest", "--yes")
    cli.good("snapshot", "salvage", "--yes")
    again = cli.good("snapshot", "salvage", "--yes")
    assert again["generation"] is None
    assert contents(cli) == every() | {NEWER}


def test_a_sound_memory_has_nothing_to_salvage_or_to_discard(cli: Cli) -> None:
    assert cli("snapshot", "salvage", "--yes").code == 4
    assert cli("snapshot", "salvage").code == 2
    assert cli("snapshot", "discard", "gen-000001", "--yes").code == 4
    assert cli("snapshot", "discard", "../memory", "--yes").code == 4
    assert cli.good("snapshot", "damaged") == {"generations": [], "count": 0}


def test_the_live_memory_is_never_discarded(cli: Cli) -> None:
    one_row(live_database(cli.home))
    cli("verify")
    assert cli.good("snapshot", "damaged")["generations"][0]["live"]
    assert cli("snapshot", "discard", "gen-000001", "--yes").code == 5
    assert contents(cli)


def test_tokens_and_other_tenants_come_along_from_a_memory_that_does_not_open(cli: Cli) -> None:
    kept(cli)
    break_header(live_database(cli.home))
    cli.good("snapshot", "restore", "latest", "--yes")
    assert "kept" in str(cli.good("token", "list"))
    assert _acme(cli) == ["acme keeps bees"]


def test_an_undo_that_fails_leaves_no_snapshot(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    id = kept(cli)
    cli.good("snapshot", "restore", id, "--yes")
    cli.remember("after the restore")
    before = [one["id"] for one in cli.good("snapshot", "list")["snapshots"]]

    def fails(*given: object) -> int:
        raise undoing.DataDamaged("undo: what was live before is damaged")

    with monkeypatch.context() as patched:
        patched.setattr(undoing, "rejoin", fails)
        assert cli("snapshot", "undo", "--yes").code == 23
    assert [one["id"] for one in cli.good("snapshot", "list")["snapshots"]] == before
    cli.good("snapshot", "undo", "--yes")
    assert NEWER in contents(cli)


def test_damage_noted_by_an_undo_target_is_met_before_anything_is_kept(cli: Cli) -> None:
    """The generation before was sound when it was left, and was damaged since."""
    id = kept(cli)
    cli.good("snapshot", "restore", id, "--yes")
    before = tree(cli.home / "snapshots")
    break_header(cli.home / "gen-000001" / "memory.db")
    assert cli("snapshot", "undo", "--yes").code == 23
    after = tree(cli.home / "snapshots")
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} <= {".lock", ".work"}


def test_a_server_finds_damaged_pages_before_anybody_reads_them(cli: Cli) -> None:
    from world import settings

    from holdfast.engine import Engine
    from holdfast.serve.schedule import Schedule

    word_pages(live_database(cli.home))
    engine = Engine(settings(cli.home), rescue=True)
    try:
        Schedule(engine).run_once()
        assert engine.trouble() is not None
        assert read_damage(cli.home / "gen-000001") is not None
    finally:
        engine.close()
    assert cli("remember", NEWER).code == 25
