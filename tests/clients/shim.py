"""The real @agentmemory/mcp shim as an MCP client's host sees it: a process that speaks JSON-RPC line by line."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patience import WAIT_SECONDS
from real_clients import NODE, SHIM, environment


@dataclass(frozen=True)
class ToolResult:
    text: str
    is_error: bool

    @property
    def value(self) -> Any:
        assert not self.is_error, f"the tool failed: {self.text}"
        return json.loads(self.text)


class Shim:
    def __init__(self, home: Path, url: str, **extra: str):
        self._home = home
        self._said = home.with_name("shim-stderr.txt")
        self._last_id = 0
        self.called: set[str] = set()
        with self._said.open("wb") as stderr:
            self._process = subprocess.Popen(
                [NODE, str(SHIM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=environment(home, url, extra),
                cwd=home,
            )

    def close(self) -> None:
        # Hanging up is how a host ends it. On a signal it would write its local store, which must stay empty.
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(WAIT_SECONDS)
        self._process.stdout.close()

    @property
    def stderr(self) -> str:
        return self._said.read_text(encoding="utf-8")

    def request(self, method: str, **params: Any) -> Any:
        """The result of a JSON-RPC request."""
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        assert self._process.stdout
        answer = json.loads(self._process.stdout.readline())
        assert answer["id"] == self._last_id
        assert "error" not in answer, answer
        return answer["result"]

    def initialize(self) -> Any:
        client = {"name": "test", "version": "0"}
        result = self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def tools(self) -> dict[str, Any]:
        return {tool["name"]: tool for tool in self.request("tools/list")["tools"]}

    def call(self, tool: str, **arguments: Any) -> ToolResult:
        self.called.add(tool)
        result = self.request("tools/call", name=tool, arguments=arguments)
        assert [part["type"] for part in result["content"]] == ["text"]
        return ToolResult(result["content"][0]["text"], result.get("isError", False))

    def ask(self, tool: str, **arguments: Any) -> Any:
        """The value that a tool gives; fails if it says it failed."""
        return self.call(tool, **arguments).value
