"""The recorded requests of the agentmemory clients, and how they are told apart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HOOKS, _SHIM = json.loads(Path(__file__).with_name("client_calls.json").read_text(encoding="utf-8"))["clients"]


@dataclass(frozen=True)
class HookRun:
    """One run of a hook script: what it got, and what it sent."""

    name: str
    script: str
    arguments: tuple[str, ...]
    env: dict[str, str]
    stdin: dict[str, Any]
    requests: tuple[dict[str, Any], ...]
    exit: int

    @property
    def secret(self) -> str | None:
        return self.env.get("AGENTMEMORY_SECRET")


def _hook_run(run: dict[str, Any]) -> HookRun:
    script, *arguments = run["script"].split()
    env = dict([run["env"].split("=", 1)])
    return HookRun(run["run"], script, tuple(arguments), env, run["stdin"], tuple(run["requests"]), run["exit"])


HOOK_RUNS = {run["run"]: _hook_run(run) for run in _HOOKS["runs"]}
SHIM_RUNS = {run["run"]: run for run in _SHIM["runs"]}
