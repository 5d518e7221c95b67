"""A running server learns by itself; what it took for outdated can be taken back over REST and by command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from patience import until
from processes import run
from talk import relations, statements, turn
from world import DAY, World, running

from holdfast.core.errors import UpstreamFailed
from holdfast.core.model import Caller
from holdfast.engine import Engine
from holdfast.serve.background import learning_thread
from holdfast.serve.background.learning_thread import LearningThread

A = "/agentmemory"
OLD = "The database is Postgres 14 on `db.internal`."
NEW = "I moved the database from Postgres 14 to Postgres 16."


def changed(world: World) -> str:
    old = turn(world, "Which database do we use here?", OLD)[1]
    world.clock.now += DAY
    turn(world, "Postgres 14 is too old, please upgrade it", NEW, session="s2")
    return old


def context(client: httpx.Client) -> str:
    text: str = client.post(f"{A}/context", json={"project": "proj"}).json()["context"]
    return text


def test_a_server_learns_from_what_is_there_and_from_what_comes(tmp_path: Path) -> None:
    world = World(tmp_path / "m")
    turn(world, "Which database do we use here?", OLD)
    world.close()
    with running(tmp_path / "m") as client:
        until(lambda: OLD in context(client), "the first statement is learned")
        said: dict[str, Any] = {"sessionId": "s2", "project": "proj", "cwd": "/w", "timestamp": "2026-10-01T08:00:00Z"}
        prompt = {**said, "hookType": "prompt_submit", "data": {"prompt": "Postgres 14 is too old, please upgrade it"}}
        client.post(f"{A}/observe", json=prompt).raise_for_status()
        answer = {**said, "hookType": "assistant_message", "data": {"message": NEW}}
        client.post(f"{A}/observe", json=answer).raise_for_status()
        until(lambda: NEW in context(client) and OLD not in context(client), "the second statement replaces the first")


def test_a_session_that_ended_gets_its_summary(tmp_path: Path) -> None:
    with running(tmp_path / "m") as client:
        seen = {"sessionId": "s1", "project": "proj", "cwd": "/w", "timestamp": "2026-09-21T08:00:00Z",
                "hookType": "prompt_submit", "data": {"prompt": "Mend the export of orders"}}  # fmt: skip
        client.post(f"{A}/observe", json=seen).raise_for_status()
        client.post(f"{A}/session/end", json={"sessionId": "s1"}).raise_for_status()
        until(lambda: "summary" in client.get(f"{A}/sessions").json()["sessions"][0], "the summary")


def test_a_supersession_is_taken_back_over_rest(tmp_path: Path) -> None:
    world = World(tmp_path / "m")
    old = changed(world)
    world.close()
    with running(tmp_path / "m") as client:
        until(lambda: NEW in context(client) and OLD not in context(client), "the second statement replaces the first")
        answer = client.post(f"{A}/still-true", json={"id": old})
        assert [one["type"] for one in answer.json()["restored"]] == ["supersedes"]
        assert OLD in context(client)
        again = client.post(f"{A}/still-true", json={"id": old})
        assert (again.status_code, again.json()["code"]) == (404, "not_found")


def test_a_supersession_is_taken_back_by_a_command(tmp_path: Path) -> None:
    world = World(tmp_path / "m")
    old = changed(world)
    LearningThread(world.engine).learn()
    assert len(relations(world)) == 1
    world.close()
    done = run(tmp_path / "m", "still-true", old)
    assert json.loads(done.stdout)["success"]
    assert run(tmp_path / "m", "still-true", old).returncode == 4
    assert OLD in json.loads(run(tmp_path / "m", "context", "proj").stdout)["context"]


def test_every_tenant_is_learnt_from(world: World) -> None:
    turn(world, "Which database do we use here?", OLD, caller=Caller(tenant="acme"))
    LearningThread(world.engine).learn()
    assert statements(world) == []
    assert OLD in world.call("context", Caller(tenant="acme"), project="proj")["context"]


def test_isolated_sessions_are_not_summarized_by_the_server(tmp_path: Path) -> None:
    world = World(tmp_path / "m", agent_scope="isolated")
    ann = Caller(agent="ann")
    turn(world, "Which database do we use here?", OLD, caller=ann)
    world.call("session_end", ann, sessionId="s1")
    LearningThread(world.engine).learn()
    assert world.call("crystals", ann)["total"] == 0
    world.close()


def test_a_step_that_fails_is_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def fail(self: LearningThread) -> None:
        tries.append(1)
        if len(tries) < 3:
            raise UpstreamFailed("model: no answer") if len(tries) == 1 else RuntimeError("a bug")

    monkeypatch.setattr(learning_thread, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(learning_thread, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(LearningThread, "learn", fail)
    thread = LearningThread(world.engine)
    thread.start()
    until(lambda: len(tries) > 3, "four tries")
    thread.stop()


def test_nothing_new_costs_no_look_at_the_records(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    turn(world, "Which database do we use here?", OLD)
    thread = LearningThread(world.engine)
    thread.learn()
    thread.learn()
    monkeypatch.setattr(learning_thread, "learn_step", None)  # would fail
    monkeypatch.setattr(Engine, "context", None)
    thread.learn()
