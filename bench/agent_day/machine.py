"""A user's machine: a home of its own, the clients' config files, the server, and the hooks that connect registered."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agent_day.hooks import Hook, HookRun, run_hook

API = "/agentmemory"
START_SECONDS, QUIET_SECONDS, PAUSE = 120.0, 180.0, 1.5
# The server rests when it uses less than this in a pause, several times in a row.
RESTING, QUIET_LOOKS = 0.1, 3
_OURS = re.compile(
    r"^(HOLDFAST_|AGENTMEMORY_|III_|CLAUDE|CODEX_|GEMINI_|GOOGLE_|OPENAI_|ANTHROPIC_|XDG_|TOKEN_BUDGET$|PORT$"
    r"|CONSOLIDATION_|MAX_OBS_PER_SESSION$|PYTHONPATH$|VIRTUAL_ENV$)"
)
_WAITING = re.compile(r"^(pending|waiting|queued|backlog|spooled|undigested)$", re.IGNORECASE)


class CannotPlay(Exception):
    """Something that the play needs is missing: no figure can be given."""


@dataclass
class Machine:
    """One home with one server; `hooks` and `servers` are what connect wrote for each client."""

    home: Path
    command: Path
    port: int
    env: dict[str, str]
    hooks: dict[str, dict[str, list[Hook]]] = field(default_factory=dict)
    servers: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: list[HookRun] = field(default_factory=list)
    server: subprocess.Popen[bytes] | None = None

    @classmethod
    def new(cls, command: Path | None = None) -> Machine:
        home = Path(tempfile.mkdtemp(prefix="agent-day-")).resolve()
        command = command or Path(sys.executable).parent / "holdfast"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        env = {name: text for name, text in os.environ.items() if not _OURS.match(name)}
        path = f"{command.parent}{os.pathsep}{env.get('PATH', '')}"
        env |= {"HOME": str(home), "PATH": path, "HOLDFAST_PORT": str(port)}
        return cls(home, command, port, env)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def project(self, place: str, remote: str | None) -> Path:
        """The folder of a project, a git repository of its own."""
        folder = self.home / place
        if not folder.exists():
            folder.mkdir(parents=True)
            self._git("init", "-q", str(folder))
            if remote:
                self._git("-C", str(folder), "remote", "add", "origin", remote)
        return folder

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], env=self.env, check=True, capture_output=True, timeout=30)

    def connect(self, client: str) -> None:
        """Run `holdfast connect` as the user does, and read back what it wrote."""
        agent, reader = {
            "claude": ("claude-code", _claude_config),
            "codex": ("codex", _codex_config),
            "gemini": ("gemini", _gemini_config),
        }[client]
        done = subprocess.run(
            [str(self.command), "connect", agent],
            env=self.env, cwd=self.home, capture_output=True, text=True, timeout=120, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode:
            raise CannotPlay(f"holdfast connect {agent} ended with {done.returncode}: {done.stdout}{done.stderr}")
        hooks, servers = reader(self.home)
        self.hooks[client] = {event: list(_hooks(groups)) for event, groups in hooks.items()}
        ours = [entry for entry in servers.values() if "holdfast" in json.dumps(entry)]
        if not ours:
            raise CannotPlay(f"holdfast connect {agent} wrote no MCP server")
        self.servers[client] = ours[0]

    def fire(self, client: str, event: str, payload: dict[str, Any], about: str = "") -> list[HookRun]:
        """Run every hook that is registered for the event, as the client does."""
        fitting = [hook for hook in self.hooks[client].get(event, []) if hook.fits(about)]
        env = self.env | ({"CLAUDE_PROJECT_DIR": payload["cwd"]} if client == "claude" else {})
        done = [run_hook(hook, event, payload, env) for hook in fitting]
        self.runs += done
        return done

    def serve(self) -> None:
        with (self.home / "serve.log").open("ab") as log:
            self.server = subprocess.Popen(
                [str(self.command), "serve"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.env, cwd=self.home, start_new_session=True,
            )  # fmt: skip
        end = time.monotonic() + START_SECONDS
        while not self._alive():
            if self.server.poll() is not None or time.monotonic() > end:
                raise CannotPlay(f"the server did not start: {(self.home / 'serve.log').read_text()[-2000:]}")
            time.sleep(0.1)

    def _alive(self) -> bool:
        try:
            return bool(self.get("/livez"))
        except (OSError, ValueError):
            return False

    def _secret(self) -> dict[str, str]:
        secret = self.env.get("AGENTMEMORY_SECRET", "")
        return {"Authorization": f"Bearer {secret}"} if secret else {}

    def get(self, path: str, timeout: float = 60) -> Any:
        return self._ask(urllib.request.Request(self.url + API + path, headers=self._secret()), timeout)

    def post(self, path: str, body: object, timeout: float = 60) -> Any:
        headers = {"Content-Type": "application/json", **self._secret()}
        raw = json.dumps(body).encode()
        return self._ask(urllib.request.Request(self.url + API + path, raw, headers), timeout)

    def _ask(self, request: urllib.request.Request, timeout: float) -> Any:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def settle(self) -> int:
        """Wait until nothing waits to be indexed and the server rests; how much still waits when patience ended."""
        end, waiting, quiet = time.monotonic() + QUIET_SECONDS, 1, 0
        while quiet < QUIET_LOOKS and time.monotonic() < end:
            before = self._worked()
            time.sleep(PAUSE)
            with contextlib.suppress(OSError, ValueError):
                waiting = sum(_counts(self.get("/health")))
            rests = self._worked() - before < RESTING
            quiet = quiet + 1 if rests and not waiting else 0
        return waiting

    def _worked(self) -> float:
        """Seconds of processor time that the server has used: what it learns in the background shows only here."""
        try:
            pid = int(json.loads((self.home / ".holdfast" / "server.json").read_bytes())["pid"])
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError, KeyError):
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End the server; also one that a hook or the MCP process started for this home."""
        if self.server and self.server.poll() is None:
            self.server.send_signal(signal.SIGTERM)
            try:
                self.server.wait(60)
            except subprocess.TimeoutExpired:
                self.server.kill()
                self.server.wait(10)
        for file in self.home.rglob("server.json"):
            _end_left_over(file, self.home)


def _end_left_over(file: Path, home: Path) -> None:
    """End the process that the file names, if it is really one of this home."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        pid = int(json.loads(file.read_bytes())["pid"])
        if str(home).encode() in Path(f"/proc/{pid}/environ").read_bytes():
            os.kill(pid, signal.SIGTERM)


def _counts(value: object) -> Iterator[int]:
    """Every number in the answer that says how much still waits."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, int) and not isinstance(inner, bool) and _WAITING.match(str(name)):
                yield inner
            else:
                yield from _counts(inner)


Config = tuple[dict[str, list[Any]], dict[str, dict[str, Any]]]


def _claude_config(home: Path) -> Config:
    settings = json.loads((home / ".claude" / "settings.json").read_text(encoding="utf-8"))
    servers = json.loads((home / ".claude.json").read_text(encoding="utf-8"))
    return settings.get("hooks", {}), servers.get("mcpServers", {})


def _codex_config(home: Path) -> Config:
    hooks = json.loads((home / ".codex" / "hooks.json").read_text(encoding="utf-8"))
    servers = tomllib.loads((home / ".codex" / "config.toml").read_text(encoding="utf-8"))
    return hooks.get("hooks", {}), servers.get("mcp_servers", {})


def _gemini_config(home: Path) -> Config:
    settings = json.loads((home / ".gemini" / "settings.json").read_text(encoding="utf-8"))
    hooks = {event: groups for event, groups in settings.get("hooks", {}).items() if isinstance(groups, list)}
    return hooks, settings.get("mcpServers", {})


def _hooks(groups: list[Any]) -> Iterator[Hook]:
    for group in groups:
        for hook in group.get("hooks", []):
            if hook.get("type", "command") == "command":
                asynchronous = bool(hook.get("async"))
                yield Hook(hook["command"], str(group.get("matcher") or ""), hook.get("timeout"), asynchronous)
