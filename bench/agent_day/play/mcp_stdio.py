"""The MCP server of the entry that connect wrote, started in the project's folder and spoken to over its pipes."""

from __future__ import annotations

import json
import queue
import re
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agent_day.machine import CannotPlay, Machine

ANSWER_SECONDS = 120
REPEATED_CHARS = 20
_LISTS = ("results", "hits", "memories", "items", "observations")
# How hits are told apart in a printed answer: by number, by bullet, by heading, by blank line.
_PARTS = (r"(?m)^(?=\s*(?:#+ )?\[?\d{1,2}[.)\]:] )", r"(?m)^(?=[-*•] )", r"(?m)^(?=#{1,4} )", r"\n\s*\n")


class McpClient:
    """One stdio connection; closed with its block."""

    def __init__(self, machine: Machine, client: str, folder: Path):
        entry = machine.servers[client]
        self._process = subprocess.Popen(
            [entry["command"], *entry.get("args", [])],
            cwd=folder, env=machine.env | entry.get("env", {}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
        )  # fmt: skip
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._count = 0

    def __enter__(self) -> Self:
        self._listener.start()
        about = {"name": "agent-day", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._listener.join(10)
        if self._process.stdout:
            self._process.stdout.close()

    def tools(self) -> tuple[int, int]:
        """How many tools are offered, and the characters of their list."""
        listed = self.ask("tools/list", {}).get("result", {})
        return len(listed.get("tools", [])), len(json.dumps(listed, separators=(",", ":"), ensure_ascii=False))

    def recall(self, query: str) -> tuple[list[str], int]:
        """The hits of `memory_recall` with its defaults, at most five, and the characters of those five."""
        answer = self.ask("tools/call", {"name": "memory_recall", "arguments": {"query": query, "limit": 5}})
        result = answer.get("result", {})
        if "error" in answer or result.get("isError"):
            raise CannotPlay(f"memory_recall failed: {str(answer)[:400]}")
        text = "\n".join(block.get("text", "") for block in result.get("content", []))
        return hits(text)[:5], len(text)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        self._send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        while True:
            answer = self._answers.get(timeout=ANSWER_SECONDS)
            if answer is None:
                raise CannotPlay(f"the MCP process ended at {method}")
            if answer.get("id") == self._count and "method" not in answer:
                return answer
            if "method" in answer and "id" in answer:
                self._send({"jsonrpc": "2.0", "id": answer["id"], "result": {}})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self._answers.put(json.loads(line))
        self._answers.put(None)


def hits(text: str) -> list[str]:
    """The hits of an answer one by one, each as text; an answer is JSON with a list, or printed."""
    try:
        rows = _rows(json.loads(text))
    except ValueError:
        rows = None
    if rows is not None:
        return [flat(row) for row in rows]
    for split in _PARTS:
        parts = [part.strip() for part in re.split(split, text) if part.strip()]
        if len(parts) > 1:
            begins = re.match(split, text.lstrip()) is not None or split == _PARTS[-1]
            return parts if begins else parts[1:]
    return [text] if text.strip() else []


def _rows(value: object) -> list[object] | None:
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    for name in _LISTS:
        if isinstance(value.get(name), list):
            found: list[object] = value[name]
            return found
    return next((rows for inner in value.values() if (rows := _rows(inner)) is not None), None)


def flat(value: object) -> str:
    """Every field of a record on a line of its own, `name: value`; a text that was there already is left out."""
    lines: dict[str, None] = {}

    def walk(name: str, inner: object) -> None:
        if isinstance(inner, dict):
            for key, item in inner.items():
                walk(str(key), item)
        elif isinstance(inner, list):
            for item in inner:
                walk(name, item)
        elif isinstance(inner, str) and len(inner) > REPEATED_CHARS and any(line.endswith(inner) for line in lines):
            return
        elif inner is not None:
            lines[f"{name}: {str(inner).lower() if isinstance(inner, bool) else inner}"] = None

    walk("", value)
    return "\n".join(lines)
