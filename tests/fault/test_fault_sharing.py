"""One folder, several processes: one owner at a time, and everyone else goes through it or takes its place."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from patience import WAIT_SECONDS
from processes import Server, environment, holdfast, run, serving, verify
from world import World, settings

from holdfast.connection import folder_connection
from holdfast.core.errors import DataLocked
from holdfast.ops.registry import BY_NAME


class Tools:
    """A client of `holdfast mcp`: JSON-RPC, one message to a line."""

    def __init__(self, process: subprocess.Popen[str]):
        self._process = process
        self._next = 0
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def ask(self, method: str, **params: Any) -> Any:
        assert self._process.stdout is not None
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._next:
                return answer["result"]
        raise AssertionError(f"no answer to {method}")

    def call(self, tool: str, **arguments: Any) -> Any:
        result = self.ask("tools/call", name=tool, arguments=arguments)
        assert not result.get("isError"), result
        return json.loads(result["content"][0]["text"])


@contextmanager
def speaking_mcp(home: Path) -> Iterator[Tools]:
    command = holdfast("mcp", "--data", str(home))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment(), text=True, **pipes) as process:
        watchdog = threading.Timer(WAIT_SECONDS, process.kill)
        watchdog.start()
        try:
            yield Tools(process)
        finally:
            watchdog.cancel()
            process.kill()


def test_a_second_server_is_refused_and_told_who_has_the_folder(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    with serving(home) as first:
        second = run(home, "serve", "--port", "0")
        assert second.returncode == DataLocked.exit_code
        fault = json.loads(second.stderr or second.stdout)
        assert fault["code"] == "data_locked"
        assert f"process {first.pid}" in fault["error"]
        assert first.remember("the first goes on").status_code == 201
        assert json.loads((home / "server.json").read_bytes())["url"] == first.url
    verify(home)


def test_of_servers_that_start_at_once_one_wins(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    servers = [Server(home) for _ in range(3)]
    try:
        with ThreadPoolExecutor(3) as pool:
            won = [one for one in pool.map(_comes_up, servers) if one is not None]
        assert len(won) == 1
        assert won[0].remember("the winner serves").status_code == 201
        codes = {one.ended() for one in servers if one is not won[0]}
        assert codes == {DataLocked.exit_code}
    finally:
        for one in servers:
            one.__exit__(None, None, None)


def _comes_up(server: Server) -> Server | None:
    try:
        return server.ready()
    except AssertionError:
        return None


def test_commands_and_tools_go_through_a_running_server(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    with serving(home) as server:
        said = run(home, "remember", "amber was said by a command")
        assert said.returncode == 0, said.stderr
        id = json.loads(said.stdout)["memory"]["id"]
        assert server.found("amber") == [id]
        with speaking_mcp(home) as tools:
            kept = tools.call("memory_save", content="basalt was said by a tool")["memory"]["id"]
            assert server.found("basalt") == [kept]
            assert [one["id"] for one in tools.call("memory_recall", query="amber")["results"]] == [id]
        assert (home / "lock").read_text().strip() == str(server.pid)


def test_after_a_killed_server_a_command_opens_the_folder_itself(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    with serving(home) as server:
        id = server.remember("cobalt was kept by the server").json()["memory"]["id"]
        server.kill()
    assert (home / "server.json").exists(), "a killed server leaves its card"
    found = run(home, "recall", "cobalt")
    assert found.returncode == 0, found.stderr
    assert id in found.stdout
    assert run(home, "remember", "dolomite was kept by a command").returncode == 0
    verify(home)


def test_after_a_killed_server_stdio_mcp_opens_the_folder_itself(tmp_path: Path) -> None:
    """And when it is killed in its turn, what it acknowledged is there."""
    home = tmp_path / "memory"
    with serving(home) as server:
        id = server.remember("emerald was kept by the server").json()["memory"]["id"]
        server.kill()
    with speaking_mcp(home) as tools:
        assert [one["id"] for one in tools.call("memory_recall", query="emerald")["results"]] == [id]
        tools.call("memory_save", content="feldspar was kept by a tool")
        assert (home / "lock").read_text().strip() != str(os.getpid())
    with serving(home) as server:
        assert len(server.found("feldspar")) == 1
        verify(home)


def test_a_command_waits_until_another_one_has_left_the_folder(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    other = World(home)
    with closing(folder_connection(settings(home), lambda seconds: other.close())) as waited:
        assert waited.call(BY_NAME["memories"], {})["memories"] == []


def test_commands_at_the_same_time_wait_for_each_other(tmp_path: Path) -> None:
    home = tmp_path / "memory"

    def remember(number: int) -> None:
        """A command waits for some seconds; on a busy machine the others may need longer, and it says so."""
        done = run(home, "remember", f"hematite{number} is in drawer{number}")
        while done.returncode == DataLocked.exit_code:
            assert json.loads(done.stderr)["retryable"] is True
            done = run(home, "remember", f"hematite{number} is in drawer{number}")
        assert done.returncode == 0, done.stderr

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(remember, range(4)))
    with serving(home) as server:
        assert [len(server.found(f"hematite{n}")) for n in range(4)] == [1] * 4
