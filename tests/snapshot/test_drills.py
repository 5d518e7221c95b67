"""Restore drills: a receipt only for what was restored and checked, and an alarm for what could not be."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from flows import OLD, READER, STRANGER, Cli, identity_file, recipient
from world import DAY, World, running

from holdfast.core.errors import Conflict, NotFound, SnapshotsBusy, VaultRefused, VaultUnreachable
from holdfast.core.model import Caller
from holdfast.recall.check.question_intake import keep_questions
from holdfast.serve.background.drill_schedule import IDLE_SECONDS, DrillSchedule
from holdfast.snapshot.drill.scratch import scratch_folder

pytestmark = pytest.mark.engines

A = "/agentmemory"
PROMPTS = ("which cabinet holds the spare fuses", "when does the ferry leave the island")


def vault_of(folder: Path) -> str:
    (folder / "vault").mkdir(parents=True, exist_ok=True)
    return f"file://{folder}/vault"


def filled(folder: Path, **settings: Any) -> World:
    """A memory with two facts, and two prompts of which the server keeps the ids and hits."""
    world = World(folder / "memory", vault=vault_of(folder), **settings)
    world.call("remember", content=OLD, project="proj")
    world.call("remember", content="The ferry to the island leaves at noon", project="proj")
    ask(world)
    return world


def ask(world: World) -> None:
    for number, prompt in enumerate(PROMPTS):
        world.clock.now += 1_000
        world.observe(session=f"s{number}", hook="prompt_submit", prompt=prompt)
        world.call("context_prompt", sessionId=f"s{number}", prompt=prompt, project="proj", cwd="/w")
    keep_questions(world.context(), world.engine.questions.take())


def bundle_of(folder: Path) -> Path:
    return next((folder / "vault").rglob("*.tar.zst*"))


def spoil(path: Path) -> bytes:
    """Change one byte in the middle; what it was."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :])
    return data


def test_a_drill_restores_a_snapshot_of_the_vault_and_leaves_a_signed_receipt(tmp_path: Path) -> None:
    world = filled(tmp_path)
    world.call("key_new")
    made = world.call("snapshot_create", sign=True)["id"]
    before = world.call("memories")

    done = world.call("drill")

    assert (done["sound"], done["exitCode"], done["drill"]["receipt"]) == (True, 0, "signed")
    assert done["drill"]["snapshot"] == made
    assert done["drill"]["tables"]["memories"] == 2
    assert done["drill"]["rows"] == sum(done["drill"]["tables"].values())
    assert (done["drill"]["questions"]["asked"], done["drill"]["questions"]["same"]) == (2, 2)
    assert "2 of 2 questions gave the same answers" in done["summary"]
    assert world.call("drill_list")["drills"] == [done["drill"]]
    assert world.call("overview")["snapshots"]["drill"]["snapshot"] == made
    assert world.call("memories") == before
    assert [one.name for one in (tmp_path / "memory" / "drills").iterdir()] == ["default"], "the scratch folder stayed"
    world.close()


def test_what_lies_in_the_vault_as_chunks_and_here_whole_is_the_same(tmp_path: Path) -> None:
    world = filled(tmp_path, vault_layout="chunks")
    made = world.call("snapshot_create")["id"]
    assert list((tmp_path / "memory/snapshots").rglob(f"{made}.tar.zst")), "it is whole here"

    assert (world.call("drill")["drill"]["outcome"], bundles(tmp_path)) == ("restored", [".chunks"])


def bundles(folder: Path) -> list[str]:
    return [path.suffix for path in (folder / "vault").rglob("*.*") if path.suffix in (".chunks", ".zst")]


def test_without_a_vault_a_snapshot_of_this_machine_is_drilled_and_without_a_key_the_receipt_says_so(
    tmp_path: Path,
) -> None:
    world = World(tmp_path / "memory")
    with pytest.raises(NotFound):
        world.call("drill")
    assert world.call("drill_list")["drills"] == []
    world.call("remember", content=OLD)
    world.call("snapshot_create")
    assert world.call("drill")["drill"]["receipt"] == "unsigned"
    assert world.call("overview")["snapshots"]["drill"]["signed"] is False
    world.close()


def test_a_drill_that_fails_is_an_alarm_everywhere_until_one_succeeds(tmp_path: Path) -> None:
    world = filled(tmp_path)
    id = world.call("snapshot_create")["id"]
    whole = spoil(bundle_of(tmp_path))

    failed = world.call("drill")

    assert (failed["sound"], failed["exitCode"], failed["drill"]["outcome"]) == (False, 40, "failed")
    warned = next(one for one in world.call("overview")["warnings"] if one["code"] == "drill_failed")
    assert (warned["level"], id in warned["message"]) == ("error", True)
    assert "holdfast drill" in warned["hint"]
    assert any(id in one for one in world.call("health")["warnings"])
    assert world.call("health")["snapshots"]["drill"] == "failed"
    assert "drill-failed" in [one["name"] for one in world.call("diagnostics")["checks"] if not one["ok"]]
    assert id in world.call("session_start", sessionId="s9", project="proj", cwd="/w")["alarm"]
    assert world.call("overview")["snapshots"]["drill"]["provenAt"] is None

    bundle_of(tmp_path).write_bytes(whole)
    assert world.call("drill")["sound"]
    assert "drill_failed" not in [one["code"] for one in world.call("overview")["warnings"]]
    assert "alarm" not in world.call("session_start", sessionId="s9", project="proj", cwd="/w")
    world.close()


def test_an_encrypted_snapshot_without_its_identity_is_no_success(tmp_path: Path) -> None:
    world = filled(tmp_path, snapshot_recipients=recipient())
    world.call("snapshot_create")

    for identity in ({}, {"identity": identity_file(tmp_path, STRANGER)}):
        locked = world.call("drill", **identity)
        assert (locked["sound"], locked["exitCode"], locked["drill"]["outcome"]) == (False, 45, "locked")
        assert "was not restored" in locked["summary"]
    assert world.call("overview")["snapshots"]["drill"]["provenAt"] is None
    assert "drill_locked" in [one["code"] for one in world.call("overview")["warnings"]]

    assert world.call("drill", identity=identity_file(tmp_path, READER))["sound"]
    spoil(bundle_of(tmp_path))
    assert world.call("drill")["drill"]["outcome"] == "failed", "its raw bytes need no identity"
    world.close()


def test_what_a_restored_memory_answers_otherwise_fails_the_drill(tmp_path: Path) -> None:
    world = filled(tmp_path)
    world.call("snapshot_create")
    assert world.call("drill")["sound"]
    noted = next((tmp_path / "memory" / "questions").rglob("answers/*.json"))
    told = json.loads(noted.read_text())
    told["questions"][0]["answer"][0][2] = "000000000000"  # as if the record had had another text
    noted.write_text(json.dumps(told))

    failed = world.call("drill")

    assert (failed["drill"]["outcome"], failed["drill"]["code"]) == ("failed", "answers_differ")
    assert failed["drill"]["questions"]["missing"] == 1
    assert "1 of 2 questions" in failed["summary"]
    world.close()


def test_what_another_version_answers_otherwise_is_counted_and_fails_no_drill(tmp_path: Path) -> None:
    world = filled(tmp_path)
    world.call("snapshot_create")
    world.call("drill")
    noted = next((tmp_path / "memory" / "questions").rglob("answers/*.json"))
    told = json.loads(noted.read_text())
    first, second = told["questions"]
    first["answer"] = second["answer"]  # another record, which is there as it was
    noted.write_text(json.dumps(told))
    assert world.call("drill")["drill"]["code"] == "answers_differ", "the same code ranks alike"

    noted.write_text(json.dumps({**told, "holdfast": "0.0.1 00000000"}))

    drilled = world.call("drill")["drill"]
    assert (drilled["outcome"], drilled["questions"]["asked"], drilled["questions"]["same"]) == ("restored", 2, 1)
    assert (drilled["questions"]["comparable"], drilled["questions"]["missing"]) == (False, 0)
    world.close()


def test_a_receipt_that_was_changed_proves_nothing(tmp_path: Path) -> None:
    world = filled(tmp_path)
    world.call("key_new")
    world.call("snapshot_create", sign=True)
    world.call("drill")
    receipt = next((tmp_path / "memory" / "drills").rglob("*.json"))
    whole = receipt.read_bytes()
    for at in range(0, len(whole), 41):
        receipt.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert world.call("overview")["snapshots"]["drill"]["provenAt"] is None, at
        assert world.call("drill_list")["drills"][0]["outcome"] == "damaged"
    receipt.write_bytes(whole)
    assert world.call("overview")["snapshots"]["drill"]["provenAt"]
    world.close()


def test_an_unreachable_vault_tells_nothing_of_the_snapshot_and_leaves_no_record(tmp_path: Path) -> None:
    world = filled(tmp_path, vault_endpoint="http://127.0.0.1:9", vault_key_id="k", vault_key="k", vault_attempts=1)
    world.call("snapshot_create")
    with pytest.raises(VaultUnreachable):
        world.call("drill", **{"from": "s3://bucket/memory"})
    with pytest.raises(VaultRefused):
        world.call("drill", **{"from": str(tmp_path / "mistyped")})
    with scratch_folder(tmp_path / "memory"), pytest.raises(SnapshotsBusy):
        world.call("drill")
    assert world.call("drill_list")["drills"] == []
    shutil.rmtree(tmp_path / "vault")
    assert world.call("drill")["drill"]["code"] == "vault_refused", "the configured vault is gone"
    world.close()


def test_a_drill_that_takes_too_long_is_given_up_and_larger_snapshots_are_left_out(tmp_path: Path) -> None:
    world = filled(tmp_path, drill_seconds=1, drill_bytes=1)
    world.call("snapshot_create")
    with pytest.raises(NotFound, match="more than 1 bytes"):
        world.call("drill")
    steady = world.clock.steady
    world.clock.steady = lambda: (setattr(world.clock, "now", world.clock.now + 2_000), steady())[1]  # type: ignore[method-assign]
    with pytest.raises(Conflict, match="longer than 1 s"):
        world.call("drill", id="latest")
    assert world.call("drill_list")["drills"] == []
    assert not list((tmp_path / "memory").glob("drills/.scratch"))
    world.close()


def test_what_a_killed_drill_left_is_gone_after_the_next_start(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    world = filled(tmp_path)
    world.call("snapshot_create")
    world.close()
    repo = next((home / "snapshots").glob("*/*"))
    left = [home / "drills" / ".scratch" / "memory" / "gen-000001", repo / ".staging-1234-0" / "fetched"]
    for folder in left:
        folder.mkdir(parents=True)
        (folder / "memory.db").write_bytes(b"x")
    unfinished = home / "drills" / "default" / "default" / ".000001-20260921T141322Z-000031.json.new"
    unfinished.parent.mkdir(parents=True)
    unfinished.write_bytes(b"{")

    World(home, vault=vault_of(tmp_path)).close()

    assert not [one for one in (*left, unfinished) if one.exists()]


def test_the_server_drills_when_it_is_due_and_idle_and_notes_how_a_snapshot_answers(tmp_path: Path) -> None:
    world = filled(tmp_path)
    idle = [0.0]
    drills = DrillSchedule(world.engine, lambda: idle[0])
    drills.run_once()
    world.call("snapshot_create")
    drills.run_once()
    assert world.call("drill_list")["drills"] == [], "it waits for idle time"

    idle[0] = IDLE_SECONDS
    drills.run_once()
    assert list((tmp_path / "memory" / "questions").rglob("answers/*.json"))
    (first,) = world.call("drill_list")["drills"]
    assert (first["outcome"], first["questions"]["asked"]) == ("restored", 2)
    world.close()


def test_the_server_drills_once_a_week_and_warns_when_it_could_not(tmp_path: Path) -> None:
    world = filled(tmp_path, store="sqlite")  # a database counts the time between two drills by its own clock
    drills = DrillSchedule(world.engine)
    world.call("snapshot_create")
    drills.run_once()
    (first,) = world.call("drill_list")["drills"]
    world.clock.now += 6 * DAY
    drills.run_once()
    assert world.call("drill_list")["drills"] == [first], "a week is not over"
    world.clock.now += DAY
    drills.run_once()
    assert len(world.call("drill_list")["drills"]) == 2

    shutil.rmtree(tmp_path / "vault")
    (tmp_path / "vault").mkdir()
    world.clock.now += 30 * DAY
    drills.run_once()
    assert "drill_old" in [one["code"] for one in world.call("overview")["warnings"]]
    world.close()


def test_only_an_admin_drills_and_places_are_shown_to_root_alone(tmp_path: Path) -> None:
    world = filled(tmp_path)
    world.call("snapshot_create")
    world.call("drill")
    reader = Caller(name="token", scopes=frozenset({"read", "write"}))
    with pytest.raises(Exception, match="scope admin"):
        world.call("drill", reader)
    with pytest.raises(Exception, match="may not read or write files"):
        world.call("drill", Caller(scopes=frozenset({"read", "write", "admin"})), **{"from": str(tmp_path)})
    (seen,) = world.call("drill_list", reader)["drills"]
    assert str(tmp_path) not in json.dumps(seen)
    world.close()


def test_the_command_line_and_the_metrics_tell_of_the_last_proven_restore(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory", HOLDFAST_VAULT=vault_of(tmp_path))
    cli.remember(OLD)
    cli.create()
    assert "restored in" in cli.plain("drill").out
    assert "restored" in cli.plain("drill", "list").out
    assert "last proven 0 min ago" in cli.plain("status").out
    with running(tmp_path / "memory", vault=vault_of(tmp_path)) as client:
        told = client.get("/metrics").text
        assert "holdfast_drill_failed 0" in told
        assert "holdfast_drill_age_seconds" in told
    spoil(bundle_of(tmp_path))
    assert cli.plain("drill").code == 40
    assert "the last drill failed" in cli.plain("status").out
    assert "WRONG drill failed" in cli.plain("doctor").out
