"""Two servers: one writes, the other follows within seconds, answers, refuses writes, and takes over."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
from object_server import BUCKET, WRITER, ObjectServer
from patience import until
from processes import environment, holdfast
from world import CountingEntropy, StillClock, running, settings

from holdfast.local.spool import spool_status
from holdfast.snapshot.follow.follow_start import begin_following


def remember(client: httpx.Client, text: str) -> None:
    answer = client.post("/agentmemory/remember", json={"content": text})
    assert answer.status_code == 201, answer.text


def texts(client: httpx.Client) -> set[str]:
    return {one["content"] for one in client.get("/agentmemory/memories", params={"limit": 100}).json()["memories"]}


def found(client: httpx.Client, query: str) -> set[str]:
    answer = client.post("/agentmemory/search", json={"query": query, "format": "full"}).json()
    return {one["observation"].get("content", "") for one in answer["results"]}


def health(client: httpx.Client) -> Any:
    return client.get("/agentmemory/health").json()


def begin(home: Path, vault: str, **overrides: Any) -> None:
    begin_following(settings(home, **overrides), StillClock(), CountingEntropy(700), vault)


def test_a_second_server_follows_within_seconds_and_takes_over(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    with running(tmp_path / "one", vault=str(vault)) as one:
        remember(one, "The lamp stands in the hall.")
        until(lambda: any(vault.rglob("0*")), "the vault has a piece")
        begin(tmp_path / "two", str(vault))
        with running(tmp_path / "two") as two:
            remember(one, "The key lies under the mat.")
            until(lambda: "The key lies under the mat." in texts(two), "the copy has it")
            assert found(two, "where is the key") >= {"The key lies under the mat."}
            until(lambda: health(two)["follow"]["behindSeconds"] is not None, "it says how far it is")
            assert health(two)["status"] == "healthy"
            assert "holdfast_follow_behind_seconds " in two.get("/metrics").text
            assert two.get("/agentmemory/vault").json()["follow"]["host"] == health(two)["follow"]["host"]
            assert "following" in {warned["code"] for warned in two.get("/agentmemory/overview").json()["warnings"]}

            refused = two.post("/agentmemory/remember", json={"content": "Mine."})
            assert refused.status_code == 503
            assert refused.json()["code"] == "following"
            assert "holdfast promote" in refused.json()["hint"]

            assert two.post("/agentmemory/promote", json={}).status_code == 409  # the other one has just written
            assert two.post("/agentmemory/promote", json={"yes": True}).status_code == 200
            remember(two, "The second one writes.")
            assert "follow" not in health(two)

            remember(one, "The first one still writes.")
            for client in (one, two):
                until(lambda client=client: health(client).get("warnings"), "both notice")  # type: ignore[misc]
            assert "holdfast_journal_other_lines 1" in two.get("/metrics").text
            assert "snapshot merge" in health(two)["warnings"][0]
            codes = {warned["code"] for warned in two.get("/agentmemory/overview").json()["warnings"]}
            assert "other_line" in codes
            assert "The first one still writes." not in texts(two)
    with running(tmp_path / "two") as again:  # it is a memory of its own, and knows its vault
        assert "follow" not in health(again)
        remember(again, "After a restart.")
        assert again.get("/agentmemory/vault").json()["place"] == str(vault)


def test_a_copy_follows_an_object_store(tmp_path: Path, objects: ObjectServer) -> None:
    given = {"vault_endpoint": objects.endpoint, "vault_key_id": WRITER[0], "vault_key": WRITER[1]}
    place = f"s3://{BUCKET}/{tmp_path.name}"
    with running(tmp_path / "one", vault=place, **given) as one:
        remember(one, "Fact one.")
        until(lambda: one.get("/agentmemory/vault").json().get("journal", {}).get("objects"), "the vault has it")
        begin(tmp_path / "two", place, **given)
        with running(tmp_path / "two", **given) as two:
            remember(one, "Fact two.")
            until(lambda: texts(two) == {"Fact one.", "Fact two."}, "the copy has both")


def test_what_hooks_send_to_a_copy_waits_until_it_takes_over(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    with running(tmp_path / "one", vault=str(vault)) as one:
        remember(one, "Fact one.")
    begin(tmp_path / "two", str(vault))
    with running(tmp_path / "two") as two:
        event = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "Where is the key?", "cwd": "/w"}
        done = subprocess.run(
            holdfast("hook", "prompt-submit", "--data", str(tmp_path / "two")),
            input=json.dumps(event),
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert spool_status(str(tmp_path / "two")).waiting == 1
        assert two.post("/agentmemory/promote", json={"yes": True}).status_code == 200
        until(lambda: spool_status(str(tmp_path / "two")).waiting == 0, "the event is taken in")
        sessions = two.get("/agentmemory/sessions").json()["sessions"]
        assert [session["id"] for session in sessions] == ["s1"]


def test_while_the_vault_is_away_the_copy_answers_and_says_why_it_has_nothing_new(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    with running(tmp_path / "one", vault=str(vault)) as one:
        remember(one, "Fact one.")
    begin(tmp_path / "two", str(vault))
    with running(tmp_path / "two") as two:
        vault.rename(tmp_path / "away")
        until(lambda: health(two)["follow"].get("fault"), "it says why")
        assert found(two, "fact") == {"Fact one."}
        (tmp_path / "away").rename(vault)
        until(lambda: "fault" not in health(two)["follow"], "it goes on")


def test_an_empty_copy_waits_for_its_vault_and_answers_nothing_before(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    with running(tmp_path / "one", vault=str(vault)) as one:
        remember(one, "Fact one.")
    begin(tmp_path / "two", str(vault))
    vault.rename(tmp_path / "away")
    with running(tmp_path / "two") as two:
        assert two.get("/agentmemory/memories").json()["code"] == "restore_pending"
        (tmp_path / "away").rename(vault)
        until(lambda: two.get("/agentmemory/memories").status_code == 200, "the copy is there")
        assert texts(two) == {"Fact one."}
