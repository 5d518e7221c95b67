"""A memory whose file is damaged: it is read-only and says so, it is repaired or restored, and nothing readable is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import httpx
import pytest
from flows import Cli, command_in, identity_file, recipient, tree
from harm import break_header, break_page, break_pages, change_text, cut_in_half, live_database
from world import World, running

from holdfast.cli.output.summary import salvaged
from holdfast.core.model import DEFAULT_TENANT, Caller
from holdfast.snapshot import undo as undoing
from holdfast.store.damage import read_damage

pytestmark = pytest.mark.embedded

A = "/agentmemory"
NEWER = "The green kettle sings at four"
ROWS = 150
ACME = Caller(tenant="acme", name="acme")


def text(number: int) -> str:
    return f"Cupboard {number} holds the blue item {number * 7}." + f" filler{number}" * 40


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a memory of many pages without a snapshot, with other tenants' memory and a token."""
    home = tmp_path_factory.mktemp("filled") / "memory"
    world = World(home)
    try:
        world.call("remember_batch", memories=[{"content": text(number)} for number in range(ROWS)])
        world.call("remember", ACME, content="acme keeps bees")
        world.call("token_create", name="kept", scopes=["read"])
    finally:
        world.close()
    return home


@pytest.fixture
def cli(filled: Path, tmp_path: Path) -> Cli:
    return Cli(shutil.copytree(filled, tmp_path / "memory"))


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


def test_a_damaged_summary_takes_neither_the_context_nor_the_list_of_sessions_away(cli: Cli) -> None:
    world = World(cli.home, chance=10_000)
    try:
        for number in range(3):
            world.observe(hook="prompt_submit", prompt=f"Put the kettle {number} on the shelf, please")
        world.call("summarize", sessionId="s1")
        world.call("remember", content=NEWER, project="proj")
        found = world.call("sessions")["sessions"]
    finally:
        world.close()
    assert "summary" in found[0]
    db = apsw.Connection(str(live_database(cli.home)))
    db.execute("UPDATE summaries SET narrative = narrative || '.'")
    db.close()
    (listed,) = cli.good("sessions")["sessions"]
    assert (listed["id"], "summary" in listed) == ("s1", False)
    said = cli.good("context", "proj")
    assert NEWER in said["context"]
    assert "Put the kettle" in said["context"]
    assert cli("remember", NEWER).fault["code"] == "read_only"


def test_an_export_of_a_damaged_memory_is_cut_off_and_the_log_says_why(
    cli: Cli, caplog: pytest.LogCaptureFixture
) -> None:
    one_row(live_database(cli.home))
    with running(cli.home) as client, pytest.raises(httpx.RemoteProtocolError):
        client.get(f"{A}/export")
    (said,) = [one for one in caplog.messages if "before it was complete" in one]
    assert "memories does not match its checksum (data_damaged)" in said


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
    assert command_in(hint) == ["recover", "--yes"]
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


def test_a_changed_row_that_nothing_read_yet_is_never_sealed(cli: Cli) -> None:
    """A restore refuses a snapshot for one such row, and with it all the others."""
    id = kept(cli)
    one_row(live_database(cli.home))
    said = cli("snapshot", "create")
    assert (said.code, said.fault["code"]) == (25, "read_only")
    assert [one["id"] for one in cli.good("snapshot", "list")["snapshots"]] == [id]
    cli.good(*command_in(said.fault["hint"]))
    assert contents(cli) == every() | {NEWER}


def test_a_running_server_restores_over_a_file_that_was_emptied_under_it(cli: Cli) -> None:
    id = kept(cli)
    with running(cli.home) as client:
        path = live_database(cli.home)
        path.write_bytes(bytes(path.stat().st_size))
        assert client.post(f"{A}/remember", json={"content": "not stored"}).is_error
        assert client.get(f"{A}/health").json()["status"] == "degraded"
        said = client.post(f"{A}/snapshots/restore", json={"id": id, "yes": True, "alone": True})
        assert said.json()["damaged"][0]["id"] == "gen-000001"
        listed = client.get(f"{A}/memories", params={"limit": 1000}).json()["memories"]
    assert {one["content"] for one in listed} == every()


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
    assert command_in(said.fault["hint"]) == ["recover", "--yes"]
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


@pytest.mark.parametrize("harm", [*RECORDS, *CLOSED])
def test_salvage_before_the_restore_leads_to_the_restore_and_then_brings_what_is_newer(
    cli: Cli, harm: Callable[[Path], None]
) -> None:
    id = kept(cli)
    harm(live_database(cli.home))
    cli("verify")
    said = cli("snapshot", "salvage", "--yes")
    assert said.code == 5
    assert id in said.fault["error"]
    plan = cli.good("snapshot", "salvage", "--dry-run")
    assert "inNeither" not in plan
    assert command_in(plan["next"]) == command_in(said.fault["hint"]) == ["snapshot", "restore", "latest", "--yes"]
    cli.good(*command_in(said.fault["hint"]))
    cli.good("snapshot", "salvage", "--yes")
    assert contents(cli) >= every()


def test_a_vault_that_cannot_be_asked_may_have_a_snapshot_to_restore_first(cli: Cli, tmp_path: Path) -> None:
    one_row(live_database(cli.home))
    cli.environment["HOLDFAST_VAULT"] = str(tmp_path / "not mounted")
    cli("verify")
    assert cli("snapshot", "salvage", "--yes").code == 5
    assert cli("memories").code == 0
    cli.good("snapshot", "salvage", "--alone", "--yes")
    assert contents(cli) == every() - {text(70)}


def test_salvage_alone_makes_what_can_be_read_the_memory_though_there_is_a_snapshot(cli: Cli) -> None:
    kept(cli)
    one_row(live_database(cli.home))
    cli("verify")
    plan = cli.good("snapshot", "salvage", "--alone", "--dry-run")
    assert command_in(plan["next"]) == ["snapshot", "salvage", "--alone", "--yes"]
    assert plan["inNeither"] == {"memories": 1}
    cli.good(*command_in(plan["next"]))
    assert contents(cli) == (every() | {NEWER}) - {text(70)}


def test_salvage_counts_what_is_in_neither_the_damaged_files_nor_the_restored_memory(cli: Cli) -> None:
    kept(cli)
    cli.remember("This one is neither in the snapshot nor readable")
    database = live_database(cli.home)
    one_row(database)
    change_text(database, "neither in the snapshot nor readable")
    cli("verify")
    cli.good("snapshot", "restore", "latest", "--yes")
    cli.remember("Written after the restore", "And this one too")
    plan = cli.good("snapshot", "salvage", "--dry-run")
    assert plan["lost"]["memories"] == 2
    assert plan["inNeither"] == {"memories": 1}
    assert cli.good("snapshot", "salvage", "--yes")["inNeither"] == {"memories": 1}
    assert cli.good("snapshot", "salvage", "--yes")["inNeither"] == {"memories": 1}


def test_salvage_beside_encrypted_snapshots_takes_an_identity_or_keeps_what_is_live_in_the_clear(
    cli: Cli, tmp_path: Path
) -> None:
    cli.create("--encrypt", recipient())
    cli.remember(NEWER)
    record_page(live_database(cli.home))
    cli("verify")
    identity = identity_file(tmp_path)
    cli.good("snapshot", "restore", "latest", "--identity", identity, "--yes")
    said = cli("snapshot", "salvage", "--dry-run")
    assert said.code == 5
    assert "--identity" in said.fault["hint"]
    cli.good("snapshot", "salvage", "--plain-before", "--dry-run")
    plan = cli.good("snapshot", "salvage", "--identity", identity, "--dry-run")
    made = cli.good(*command_in(plan["next"]))
    assert cli.good("snapshot", "show", made["before"])["snapshot"]["encrypted"]
    assert contents(cli) == every() | {NEWER}


def test_a_person_reads_what_salvage_found_in_sentences(cli: Cli) -> None:
    kept(cli)
    break_header(live_database(cli.home))
    cli("verify")
    cli.good("snapshot", "restore", "latest", "--yes")
    plan = cli.good("snapshot", "salvage", "--dry-run")
    lines = salvaged(plan)
    assert lines[0].startswith(f"Read from {plan['source']}: ")
    assert f"{plan['read']['memories']} memories" in lines[0]
    assert any(line.startswith("Would be added: 1 memories") for line in lines)
    assert lines[-1] == plan["next"]
    done = salvaged(cli.good("snapshot", "salvage", "--yes"))
    assert any(line.startswith("Added: 1 memories") for line in done)
    assert any("To go back: holdfast snapshot undo --yes" in line for line in done)


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
        patched.setattr("holdfast.store.sqlite.files.frozen_store.rejoin", fails)
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
    from holdfast.serve.background.schedule import SnapshotSchedule

    word_pages(live_database(cli.home))
    engine = Engine(settings(cli.home), rescue=True)
    try:
        SnapshotSchedule(engine).run_once()
        assert engine.trouble(DEFAULT_TENANT) is not None
        assert read_damage(cli.home / "gen-000001") is not None
    finally:
        engine.close()
    assert cli("remember", NEWER).code == 25


def test_a_restore_is_not_disturbed_by_attempts_to_open_the_damaged_store(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other request tries to open the store again; it must leave alone what the restore has built so far."""
    from world import settings

    from holdfast.engine import Engine
    from holdfast.ops.registry import BY_NAME
    from holdfast.snapshot import restore as restoring

    id = kept(cli)
    live_database(cli.home).write_bytes(b"no database at all" * 1_000)
    engine = Engine(settings(cli.home), rescue=True)
    attempts: list[bool] = []

    def between(step: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            engine.try_again()
            attempts.append(engine.fault is not None)
            return step(*arguments, **named)

        return wrapped

    for name in ("unpack", "prepare", "stage_folders", "intend"):
        monkeypatch.setattr(restoring, name, between(getattr(restoring, name)))
    try:
        BY_NAME["snapshot_restore"].call(engine.context(Caller()), {"id": id, "yes": True})
        assert attempts == [True] * 4
        assert engine.fault is None
    finally:
        engine.close()
    assert contents(cli) >= every()


def every_page(path: Path) -> None:
    """No table can be read, as with a memory of one page each."""
    for name in ("memories", "audit", "sessions"):
        break_pages(path, name)


@pytest.mark.parametrize("harm", [every_page, *CLOSED])
def test_a_vault_is_looked_at_and_listed_whatever_became_of_the_memory(
    cli: Cli, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    (tmp_path / "vault").mkdir()
    cli.environment["HOLDFAST_VAULT"] = str(tmp_path / "vault")
    id = kept(cli)
    harm(live_database(cli.home))
    for words in (("status",), ("list",), ("verify",)):
        assert id in str(cli.good("vault", *words))
    cli("memories")
    cli("verify")
    assert cli.good("vault", "status")["newest"] == id


def _kept_hint(cli: Cli) -> str:
    (check,) = [one for one in cli("doctor").answer["checks"] if one["name"] == "damaged kept"]
    (old,) = cli.good("snapshot", "damaged")["generations"]
    assert old["next"] == check["hint"]
    return str(check["hint"])


def test_after_a_salvage_was_taken_back_nothing_tells_to_remove_what_is_not_live(cli: Cli) -> None:
    kept(cli)
    record_page(live_database(cli.home))
    cli("verify")
    cli.good("snapshot", "restore", "latest", "--yes")
    assert command_in(_kept_hint(cli)) == ["snapshot", "salvage", "--dry-run"]
    for leaving in (("undo",), ("restore", "000001", "--yes")):
        cli.good("snapshot", "salvage", "--yes")
        assert command_in(_kept_hint(cli))[:2] == ["snapshot", "discard"]
        cli.good("snapshot", *leaving)
        assert NEWER not in contents(cli)
        assert "not in the live memory" in _kept_hint(cli)
        assert command_in(_kept_hint(cli)) == ["snapshot", "salvage", "--dry-run"]
    cli.good("snapshot", "salvage", "--yes")
    assert contents(cli) == every() | {NEWER}


def test_taking_back_a_later_merge_leaves_what_was_salvaged(cli: Cli, tmp_path: Path) -> None:
    first = kept(cli)
    record_page(live_database(cli.home))
    cli("verify")
    cli.good("snapshot", "restore", "latest", "--yes")
    cli.good("snapshot", "salvage", "--yes")
    other = Cli(tmp_path / "other")
    cli.good("snapshot", "restore", first, "--into", str(other.home))
    other.remember("Kept on another machine")
    cli.good("snapshot", "merge", other.good("snapshot", "create")["path"], "now", "--yes")
    assert "Kept on another machine" in contents(cli)
    cli.good("snapshot", "undo")
    assert command_in(_kept_hint(cli))[:2] == ["snapshot", "discard"]


@pytest.mark.parametrize("harm", [record_page, word_pages, id_index])
def test_damage_is_told_in_plain_words_and_in_full_in_the_log(
    cli: Cli, harm: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    harm(live_database(cli.home))
    cli("verify")
    said = cli("remember", NEWER).fault["error"] + str(cli.good("health"))
    for word in ("btree", "Error", "error code", "Tree ", "***"):
        assert word not in said
    assert any(one.message.startswith("damaged: ") for one in caplog.records)


def test_doctor_does_not_tell_a_damaged_memory_to_make_a_snapshot(cli: Cli) -> None:
    id = kept(cli)
    (cli.repo / f"{id}.tar.zst").unlink()
    one_row(live_database(cli.home))
    cli("verify")
    checks = wrong(cli)
    assert "snapshot damaged" in [one["name"] for one in checks]
    assert "snapshot create" not in str(checks)
