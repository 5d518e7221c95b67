"""Two hosts that were restored from one snapshot and went on: their memories become one, and undo goes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engines import POSTGRES, SQLITE, chosen, store_of
from flows import NEW, OLD, Cli, identity_file, recipient, tree
from world import World, running

from holdfast.client import Holdfast
from holdfast.core.model import Caller, Note
from holdfast.store.port import Tx
from holdfast.store.tables import NOTES

HERE = "The orchard gate is painted green"
THERE = "The harbour master keeps the tide tables"


def fact(cli: Cli, text: str) -> dict[str, Any]:
    return next(one for one in cli.good("memories", "--limit", "500")["memories"] if one["content"] == text)


def versions(cli: Cli, id: str) -> list[str]:
    return [one["content"] for one in cli.good("memory", id)["versions"]]


class Hosts:
    """Two memories with the same beginning, and a vault between them."""

    def __init__(self, tmp_path: Path, **environment: str):
        self.vault = tmp_path / "vault"
        self.vault.mkdir()
        self.here = Cli(tmp_path / "here", **environment)
        self.here.remember(OLD)
        self.here.good("slot", "create", "harbour", "first", "--scope", "global")
        self.here.create("--to", str(self.vault))
        self.there = Cli(tmp_path / "there", **environment)
        self.there.good("snapshot", "restore", "latest", "--from", str(self.vault), "--yes")

    def bring(self, *words: str) -> str:
        """A snapshot of the other host that this one can read; its path."""
        id = self.there.create(*words)
        return str(self.there.repo / f"{id}.manifest.json")


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    return Hosts(tmp_path)


def test_what_either_remembered_is_in_both_afterwards_and_undo_goes_back(hosts: Hosts) -> None:
    hosts.here.remember(HERE)
    hosts.there.remember(THERE)
    path = hosts.bring()

    assert hosts.here("snapshot", "merge", path, "now").code == 2  # not confirmed
    seen = hosts.here.good("snapshot", "merge", path, "now", "--dry-run")
    assert seen["added"]["memories"] == 1
    assert seen["conflicts"] == []
    assert hosts.here.texts() == {OLD, HERE}
    done = hosts.here.good("snapshot", "merge", path, "now", "--yes")

    assert hosts.here.texts() == {OLD, HERE, THERE}
    assert hosts.here.found("recall", "tide tables harbour")[0] == THERE
    assert done["added"] == seen["added"]
    assert hosts.here.good("snapshot", "show", done["before"])["snapshot"]["label"] == "before merge"
    assert hosts.here.good("verify")["sound"]
    hosts.here.good("snapshot", "undo", "--yes")
    assert hosts.here.texts() == {OLD, HERE}


def _keep_cursor(world: World, upto: str) -> None:
    def write(tx: Tx) -> None:
        seq = tx.next_seq("default")
        tx.replace(NOTES, Note("default", "learner/memories", seq, "learned", upto, world.clock.now_ms()))

    world.engine.store.write(write)


@pytest.mark.embedded
def test_a_merge_reports_pages_that_differ_and_no_state_of_the_server(hosts: Hosts) -> None:
    for host, said in ((hosts.here, "10"), (hosts.there, "12")):
        world = World(host.home)
        world.call("second_brain_write", file="plans.md", content=f"page {said}")
        _keep_cursor(world, said)
        world.close()
    done = hosts.here.good("snapshot", "merge", hosts.bring(), "now", "--yes")
    assert [one["table"] for one in done["conflicts"]] == ["notes"]
    assert "plans.md" in done["conflicts"][0]["id"]


def test_merging_the_same_again_changes_nothing(hosts: Hosts) -> None:
    hosts.there.remember(THERE)
    path = hosts.bring()
    hosts.here.good("snapshot", "merge", path, "now", "--yes")
    again = hosts.here.good("snapshot", "merge", path, "--dry-run")

    assert (again["added"], again["changed"], again["removed"], again["conflicts"]) == ({}, {}, {}, [])


def test_a_merge_that_brings_nothing_leaves_what_undo_goes_back_to(hosts: Hosts) -> None:
    hosts.there.remember(THERE)
    path = hosts.bring()
    hosts.here.good("snapshot", "merge", path, "--yes")
    again = hosts.here.good("snapshot", "merge", path, "--yes")

    assert again["generation"] is None
    assert hosts.here.texts() == {OLD, THERE}
    hosts.here.good("snapshot", "undo", "--yes")
    assert hosts.here.texts() == {OLD}


def test_what_was_live_before_a_merge_reaches_the_vault_of_the_settings(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, HOLDFAST_VAULT=str(tmp_path / "vault"))
    hosts.there.remember(THERE)
    path = hosts.bring()
    hosts.here.remember(HERE)
    done = hosts.here.good("snapshot", "merge", path, "--yes")

    assert "waiting" not in done
    assert done["before"] in [one["id"] for one in hosts.here.good("vault", "list")["snapshots"]]
    hosts.here.remember(NEW)
    hosts.there.remember("The third of them")
    path = hosts.bring()
    hosts.vault.rename(tmp_path / "away")
    hosts.vault.write_text("a disk that is not mounted")
    assert "vault" in hosts.here.good("snapshot", "merge", path, "--yes")["waiting"]


def test_what_is_not_signed_is_merged_only_if_that_is_asked_for(hosts: Hosts) -> None:
    id = hosts.here.create()
    hosts.here.good("key", "new")

    for words in (("merge", id, "now", "--dry-run"), ("merge", id, "now", "--yes"), ("restore", id, "--dry-run")):
        assert hosts.here("snapshot", *words).code == 41
        assert hosts.here("snapshot", *words, "--allow-unsigned").code == 0


@pytest.mark.parametrize(("prefer", "latest"), [("newest", "there"), ("a", "there"), ("b", "here")])
def test_of_two_new_versions_one_is_the_latest_and_the_other_stays(hosts: Hosts, prefer: str, latest: str) -> None:
    id = fact(hosts.here, OLD)["id"]
    hosts.here.good("evolve", id, "The amber cabinet holds lamps")
    hosts.there.good("evolve", id, "The amber cabinet holds ropes")
    path = hosts.bring()
    seen = hosts.here.good("snapshot", "merge", path, "now", "--prefer", prefer, "--dry-run")
    hosts.here.good("snapshot", "merge", path, "now", "--prefer", prefer, "--yes")

    (conflict,) = seen["conflicts"]
    assert (conflict["table"], conflict["otherStays"]) == ("memories", "version")
    assert (conflict["a"], conflict["b"]) == ("The amber cabinet holds ropes", "The amber cabinet holds lamps")
    won = "The amber cabinet holds " + ("ropes" if latest == "there" else "lamps")
    assert hosts.here.texts() == {won}
    line = versions(hosts.here, fact(hosts.here, won)["id"])
    assert line[0] == won
    assert sorted(line) == sorted([OLD, conflict["a"], conflict["b"]])


def test_a_side_that_only_went_on_is_no_conflict(hosts: Hosts) -> None:
    id = fact(hosts.here, OLD)["id"]
    hosts.there.good("evolve", id, "The amber cabinet holds ropes")
    done = hosts.here.good("snapshot", "merge", hosts.bring(), "--prefer", "b", "--yes")

    assert done["conflicts"] == []
    assert hosts.here.texts() == {"The amber cabinet holds ropes"}


def test_what_was_forgotten_on_one_side_stays_forgotten(hosts: Hosts) -> None:
    hosts.there.good("forget", fact(hosts.there, OLD)["id"])
    path = hosts.bring()
    done = hosts.here.good("snapshot", "merge", path, "--yes")

    assert done["removed"]["memories"] == 1
    assert hosts.here.texts() == set()
    assert hosts.here.found("recall", "amber cabinet fuses") == []


def test_what_was_forgotten_here_does_not_come_back(hosts: Hosts) -> None:
    path = hosts.bring()
    hosts.here.good("forget", fact(hosts.here, OLD)["id"])
    hosts.here.good("snapshot", "merge", path, "--yes")

    assert hosts.here.texts() == set()


def test_what_was_changed_after_the_other_side_forgot_it_stays_and_is_told(hosts: Hosts) -> None:
    id = fact(hosts.here, OLD)["id"]
    hosts.there.good("forget", id)
    path = hosts.bring()
    hosts.here.good("evolve", id, "The amber cabinet holds lamps")
    done = hosts.here.good("snapshot", "merge", path, "--yes")

    assert hosts.here.texts() == {"The amber cabinet holds lamps"}
    assert done["removed"]["memories"] == 1  # the earlier wording, which was forgotten on purpose


def test_the_losing_text_of_a_slot_is_set_aside_and_goes_with_the_slot(hosts: Hosts) -> None:
    hosts.here.good("slot", "replace", "harbour", "seen from here")
    hosts.there.good("slot", "replace", "harbour", "seen from there")
    path = hosts.bring()
    done = hosts.here.good("snapshot", "merge", path, "--yes")

    (conflict,) = done["conflicts"]
    assert (conflict["table"], conflict["kept"], conflict["otherStays"]) == ("slots", "a", "note")
    assert hosts.here.good("slot", "get", "harbour")["slot"]["content"] == "seen from there"
    aside = hosts.here.good("snapshot", "set-aside")
    assert [one["record"]["content"] for one in aside["records"]] == ["seen from here"]
    hosts.here.good("slot", "delete", "harbour")
    assert hosts.here.good("snapshot", "set-aside")["count"] == 0


def test_two_memories_at_one_address_both_stay_reachable(hosts: Hosts) -> None:
    hosts.here.good("remember", HERE, "--uri", "core://gate")
    hosts.there.good("remember", THERE, "--uri", "core://gate")
    done = hosts.here.good("snapshot", "merge", hosts.bring(), "--yes")

    assert [one["otherStays"] for one in done["conflicts"] if one["table"] == "addresses"] == ["address"]
    at = {hosts.here.good("memory", uri)["memory"]["content"] for uri in ("core://gate", "core://gate~2")}
    assert at == {HERE, THERE}
    assert hosts.here.good("verify")["sound"]


def test_sessions_and_observations_of_both_are_there_and_counted(tmp_path: Path) -> None:
    here = World(tmp_path / "here", chance=0)
    here.observe("shared", prompt="first")
    made = here.call("snapshot_create")
    here.call("snapshot_restore", id=made["id"], into=str(tmp_path / "there"))
    there = World(tmp_path / "there", chance=50_000)
    here.observe("shared", tool_name="Read", tool_input={"file_path": "/w/here.py"})
    there.observe("shared", tool_name="Read", tool_input={"file_path": "/w/there.py"})
    there.observe("only there", tool_name="Bash", tool_input={"command": "ls"})
    other = there.call("snapshot_create")
    done = here.call("snapshot_merge", a=other["path"], yes=True)

    sessions = {one["id"]: one["observationCount"] for one in here.call("sessions")["sessions"]}
    assert sessions == {"shared": 3, "only there": 1}
    assert done["added"]["observations"] == 2
    assert here.engine.store.verify() == []
    here.close()
    there.close()


def test_memory_folders_that_differ_are_told_and_stay(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, HOLDFAST_MEMORY_FOLDERS="notes=notes")
    for host, text in ((hosts.here, "here\n"), (hosts.there, "there\n")):
        (host.home / "notes").mkdir(exist_ok=True)
        (host.home / "notes" / "MEMORY.md").write_text(text)
    done = hosts.here.good("snapshot", "merge", hosts.bring(), "--yes")

    assert done["folders"] == ["notes"]
    assert tree(hosts.here.home / "notes") == {"MEMORY.md": b"here\n"}


def test_two_snapshots_merge_without_the_memory_as_it_is(hosts: Hosts) -> None:
    hosts.here.remember(HERE)
    mine = hosts.here.create()
    hosts.there.remember(THERE)
    path = hosts.bring()
    hosts.here.remember(NEW)
    done = hosts.here.good("snapshot", "merge", mine, path, "--yes")

    assert hosts.here.texts() == {OLD, HERE, THERE}
    hosts.here.good("snapshot", "restore", done["before"], "--yes")
    assert hosts.here.texts() == {OLD, HERE, NEW}


def test_a_snapshot_is_merged_out_of_a_vault(hosts: Hosts) -> None:
    hosts.there.remember(THERE)
    id = hosts.there.create("--to", str(hosts.vault))
    hosts.here.good("snapshot", "merge", id, "now", "--from", str(hosts.vault), "--yes")

    assert hosts.here.texts() == {OLD, THERE}


def test_an_encrypted_one_needs_its_identity_and_what_was_live_is_sealed_too(hosts: Hosts, tmp_path: Path) -> None:
    hosts.there.remember(THERE)
    path = hosts.bring("--encrypt", recipient())
    assert hosts.here("snapshot", "merge", path, "--yes").code == 45
    done = hosts.here.good("snapshot", "merge", path, "--identity", identity_file(tmp_path), "--yes")

    assert hosts.here.texts() == {OLD, THERE}
    assert hosts.here.good("snapshot", "show", done["before"])["snapshot"]["encrypted"]


def test_another_agents_memory_is_not_merged(hosts: Hosts, tmp_path: Path) -> None:
    other = Cli(tmp_path / "other", HOLDFAST_AGENT="quill")
    other.remember(THERE)
    id = other.create()

    assert hosts.here("snapshot", "merge", str(other.repo / f"{id}.manifest.json"), "--yes").code == 44


def test_now_with_now_is_refused(hosts: Hosts) -> None:
    assert hosts.here("snapshot", "merge", "now", "now", "--yes").code == 2


def test_what_is_written_while_the_merge_is_built_is_merged_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = Hosts(tmp_path)
    hosts.there.remember(THERE)
    path = hosts.bring()
    world = World(tmp_path / "here", chance=90_000)
    real = world.engine.capture
    late: list[str] = []

    def then_somebody_writes(*given: Any, **more: Any) -> Any:
        captured = real(*given, **more)
        if not late:
            late.append("now")
            world.call("remember", content=HERE)
        return captured

    monkeypatch.setattr(world.engine, "capture", then_somebody_writes)
    done = world.call("snapshot_merge", a=path, yes=True)

    assert late
    assert done["before"] == world.call("snapshot_list")["snapshots"][0]["id"]
    found = world.call("snapshot_search", id=done["before"], query="orchard gate green")
    assert HERE in [one["observation"]["content"] for one in found["results"]]
    texts = {one["content"] for one in world.call("memories", limit=50)["memories"]}
    assert texts == {OLD, THERE, HERE}
    assert world.engine.store.verify() == []
    world.close()


def test_other_tenants_and_tokens_stay(hosts: Hosts, tmp_path: Path) -> None:
    hosts.there.remember(THERE)
    path = hosts.bring()
    world = World(tmp_path / "here", chance=70_000)
    acme = Caller(tenant="acme", name="acme")
    world.call("remember", acme, content=NEW)
    world.call("token_create", name="reader", scopes=["read"])
    world.call("snapshot_merge", a=path, yes=True)

    assert [one["content"] for one in world.call("memories", acme)["memories"]] == [NEW]
    assert len(world.call("token_list")["tokens"]) == 1
    assert {one["content"] for one in world.call("memories")["memories"]} == {OLD, THERE}
    world.close()


BEFORE_THE_SWITCH = {
    SQLITE: "holdfast.store.sqlite.files.frozen_store.take_along",
    POSTGRES: "holdfast.store.postgres.live.carry_access",
}


def test_a_failure_before_the_switch_leaves_everything_as_it_was(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts.there.remember(THERE)
    path = hosts.bring()

    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(BEFORE_THE_SWITCH[chosen()], fails)
        assert hosts.here("snapshot", "merge", path, "--yes").code == 130
    assert hosts.here.texts() == {OLD}
    assert hosts.here.good("verify")["sound"]
    hosts.here.good("snapshot", "merge", path, "--yes")
    assert hosts.here.texts() == {OLD, THERE}


def test_a_server_and_the_python_client_merge_too(
    hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", store_of(tmp_path / "here"))
    hosts.there.remember(THERE)
    path = hosts.bring()
    with running(tmp_path / "here") as client:
        body = {"a": path, "b": "now", "dryRun": True}
        assert client.post("/agentmemory/snapshots/merge", json=body).json()["added"]["memories"] == 1
    with Holdfast(tmp_path / "here") as memory:
        assert memory.snapshots.merge(path)["generation"]
    assert hosts.here.texts() == {OLD, THERE}
