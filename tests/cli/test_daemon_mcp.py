"""An agent with an open stdio MCP sees no error when the server is killed, restarted or moved."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Self

import pytest
import warm
from daemons import OpenMemory
from patience import WAIT_SECONDS, until

from holdfast.store.data_folder import DataFolder


class Agent:
    """The other side of `holdfast mcp`: writes requests and reads answers, a line each."""

    def __init__(self, home: OpenMemory, *words: str):
        self._process = warm.start(["mcp", *words], home.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._ids = count(1)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(json.loads(line))

    def __enter__(self) -> Self:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.ask("initialize", **hello)
        self._write({"method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(WAIT_SECONDS)
        self._reader.join(WAIT_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._write({"id": next(self._ids), "method": method, "params": params})
        answer = self._answers.get(timeout=2 * WAIT_SECONDS)
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> Any:
        """The tool's answer, which is no error."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        text = result["content"][0]["text"]
        assert not result.get("isError"), text
        return json.loads(text)

    def fails(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.ask("tools/call", name=tool, arguments=arguments)
        assert result["isError"]
        fault: dict[str, Any] = json.loads(result["content"][0]["text"])
        return fault

    def save(self, text: str) -> None:
        self.call("memory_save", content=text)

    def finds(self, text: str) -> bool:
        """Whether a search by the words of a text finds it."""
        return text in json.dumps(self.call("memory_recall", query=text))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[OpenMemory]:
    made = OpenMemory(tmp_path / "memory")
    yield made
    made.end()


def test_an_agent_that_comes_first_starts_the_server(home: OpenMemory) -> None:
    with Agent(home) as agent:
        agent.save("The lighthouse stands on the cliff.")

        assert home.contents() == {"The lighthouse stands on the cliff."}


def test_two_agents_share_one_memory(home: OpenMemory) -> None:
    with Agent(home) as one, Agent(home) as two:
        one.save("The lighthouse stands on the cliff.")
        two.save("The harbour freezes in winter.")

        assert one.finds("The harbour freezes in winter.")
        assert two.finds("The lighthouse stands on the cliff.")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_an_agent_sees_no_error_when_the_server_goes_away(home: OpenMemory, how: int) -> None:
    with Agent(home) as agent:
        agent.save("The lighthouse stands on the cliff.")
        first = home.signal(how)

        agent.save("The harbour freezes in winter.")
        second = home.signal(how)

        assert agent.finds("The lighthouse stands on the cliff.")
        assert len({first, second, home.card["pid"]}) == 3
        assert home.contents() == {"The lighthouse stands on the cliff.", "The harbour freezes in winter."}


def test_an_agent_follows_the_server_to_another_port_and_token(home: OpenMemory) -> None:
    with Agent(home) as agent:
        agent.save("The lighthouse stands on the cliff.")
        before = home.card
        home.run("serve", "--stop")
        with home.start("serve", "--json") as server:
            try:
                until(lambda: home.is_served_by(server.pid), "the new server")
                assert home.card["url"] != before["url"]

                agent.save("The harbour freezes in winter.")

                assert home.card["pid"] == server.pid
            finally:
                server.terminate()
                server.communicate(timeout=WAIT_SECONDS)
        assert agent.finds("The harbour freezes in winter.")


def test_an_agent_on_the_same_port_gets_the_new_token(home: OpenMemory) -> None:
    with Agent(home) as agent:
        agent.save("The lighthouse stands on the cliff.")
        url = home.card["url"]
        home.run("serve", "--stop")
        port = url.rsplit(":", 1)[1]
        with home.start("serve", "--json", "--port", port, HOLDFAST_SECRET="a-secret-of-the-server") as server:
            try:
                until(lambda: home.is_served_by(server.pid), "the new server")
                assert home.card["url"] == url

                assert agent.finds("The lighthouse stands on the cliff.")
            finally:
                server.terminate()
                server.communicate(timeout=WAIT_SECONDS)


def test_an_agent_whose_server_cannot_start_is_told_why_and_works_once_it_can(home: OpenMemory) -> None:
    home.folder.mkdir(mode=0o700)
    (home.folder / "gen-000001").mkdir()
    (home.folder / "gen-000002").mkdir()
    with Agent(home) as agent:
        assert agent.fails("memory_recall", query="lighthouse")["code"] == "data_damaged"
        (home.folder / "gen-000001").rmdir()
        (home.folder / "gen-000002").rmdir()

        agent.save("The lighthouse stands on the cliff.")


def test_an_agent_without_the_daemon_has_the_folder_for_itself(home: OpenMemory) -> None:
    with Agent(home, "--no-daemon") as agent:
        agent.save("The lighthouse stands on the cliff.")

        assert not home.is_served
        assert DataFolder(home.folder).is_locked()
    assert home.contents() == {"The lighthouse stands on the cliff."}
