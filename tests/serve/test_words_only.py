"""Where the model is missing, the first search says so, with the command that mends it; later ones do not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
import warm
from patience import WAIT_SECONDS
from processes import environment
from world import World, running

from holdfast.core.errors import EmbedderUnavailable, Fault
from holdfast.core.model import Caller, CleanText
from holdfast.core.ports import Vectors
from holdfast.index.local_models import MINILM
from holdfast.index.remedies import correct_path
from holdfast.ops.framework.notices import AGAIN_SECONDS, WORDS_ONLY

QUESTION = {"query": "harbour"}


class Missing:
    """An embedder without a model."""

    name, dims = "missing-1", 8

    def __init__(self) -> None:
        self._fault: Fault | None = None

    def _refuse(self) -> EmbedderUnavailable:
        self._fault = EmbedderUnavailable("missing: no model", hint="Run make weights.")
        return self._fault

    def prepare(self) -> None:
        raise self._refuse()

    def parts(self, texts: Any) -> list[list[CleanText]]:
        raise self._refuse()

    def embed(self, texts: Any) -> Vectors:
        raise self._refuse()

    def embed_query(self, text: CleanText) -> Vectors:
        raise self._refuse()

    def likeness(self, one: Vectors, rows: Vectors) -> Vectors:
        return rows @ one

    def fault(self) -> Fault | None:
        return self._fault

    def reads(self, text: str) -> float:
        return 1.0


@pytest.fixture
def world(tmp_path: Path) -> Any:
    made = World(tmp_path / "m", model=Missing())
    made.call("remember", content="The harbour opens at six")
    yield made
    made.close()


def test_a_caller_is_told_once_an_hour(world: World) -> None:
    said = world.call("search", **QUESTION)["notice"]
    assert said == f"{WORDS_ONLY}: missing: no model. Run make weights."

    assert "notice" not in world.call("search", **QUESTION)
    assert "notice" not in world.call("smart_search", **QUESTION)
    assert world.call("smart_search", Caller(name="token:2"), **QUESTION)["notice"] == said
    world.clock.now += int(AGAIN_SECONDS * 1000)
    assert world.call("search", **QUESTION)["notice"] == said


def test_the_owners_commands_are_told_each_time(world: World) -> None:
    for _ in range(2):
        assert world.call("search", Caller(owner=True), **QUESTION)["notice"]


def test_strangers_in_chats_are_not_told(world: World) -> None:
    assert "notice" not in world.call("search", umo="tg:GroupMessage:G", senderId="D", **QUESTION)


def test_other_operations_and_other_embedders_say_nothing(world: World, tmp_path: Path) -> None:
    assert "notice" not in world.call("sessions")
    plain = World(tmp_path / "words")
    plain.call("remember", content="The harbour opens at six")
    assert "notice" not in plain.call("search", **QUESTION)
    plain.close()


# Through real processes, with a path to the weights that is wrong

WRONG = {"HOLDFAST_EMBEDDER": "minilm", "HOLDFAST_EMBEDDER_PATH": "/nowhere/at/all"}


def command(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = warm.run([*words, "--data", str(home), "--no-daemon"], environment(**WRONG), WAIT_SECONDS)
    assert done.returncode == 0, done.stderr
    return done


def test_a_command_says_it_on_a_line_of_its_own_after_the_answer(tmp_path: Path) -> None:
    command(tmp_path / "m", "remember", "The harbour opens at six")

    done = command(tmp_path / "m", "recall", "harbour")

    assert WORDS_ONLY not in done.stdout
    assert "harbour opens" in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith(WORDS_ONLY)
    assert line.endswith(correct_path(MINILM))


def test_a_server_says_it_in_a_field(tmp_path: Path) -> None:
    with running(tmp_path / "m", embedder="minilm", embedder_path="/nowhere/at/all") as client:
        ask = lambda: client.post("/agentmemory/search", json=QUESTION).json()  # noqa: E731
        client.post("/agentmemory/remember", json={"content": "The harbour opens at six"})

        assert ask()["notice"].startswith(WORDS_ONLY)
        assert "notice" not in ask()
        assert _tool(client)["results"]


def _tool(client: httpx.Client) -> Any:
    body = {"name": "memory_recall", "arguments": QUESTION}
    return json.loads(client.post("/agentmemory/mcp/call", json=body).json()["content"][0]["text"])


def test_an_agents_process_is_told_at_its_first_search(tmp_path: Path) -> None:
    command(tmp_path / "m", "remember", "The harbour opens at six")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"name": "memory_recall", "arguments": QUESTION}
    said = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call} for id in (1, 2)),
    ]
    words = ("mcp", "--data", str(tmp_path / "m"), "--no-daemon")
    lines = "".join(f"{json.dumps(one)}\n" for one in said)
    done = warm.run(words, environment(**WRONG), WAIT_SECONDS, input=lines)
    answers = {one["id"]: one for one in map(json.loads, done.stdout.splitlines()) if one.get("id")}
    notices = [json.loads(answers[id]["result"]["content"][0]["text"]).get("notice") for id in (1, 2)]
    assert str(notices[0]).startswith(WORDS_ONLY)
    assert notices[1] is None
