"""One hook command, run as a client runs it, and what it cost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import Any

PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Hook:
    """A command that connect registered. Seconds, except in Gemini CLI's settings, which count milliseconds."""

    command: str
    matcher: str
    timeout: float | None
    asynchronous: bool = False

    def fits(self, about: str) -> bool:
        return self.matcher in ("", "*") or re.fullmatch(self.matcher, about) is not None

    @property
    def patience(self) -> float:
        given = float(self.timeout or PATIENCE)
        return given / 1000 if given >= 1000 else given


@dataclass(frozen=True, slots=True)
class HookRun:
    """What a hook printed, and its price: processor time of the process, and time by the clock."""

    event: str
    code: int
    output: str
    errors: str
    cpu_ms: float
    clock_ms: float

    @property
    def context(self) -> str:
        """What the client hands to the model: the additional context, or plain output."""
        if self.code != 0 or not self.output.strip():
            return ""
        try:
            value = json.loads(self.output)
        except ValueError:
            return self.output
        inner = value.get("hookSpecificOutput") if isinstance(value, dict) else None
        text = inner.get("additionalContext") if isinstance(inner, dict) else None
        return text if isinstance(text, str) else ""


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of one kind of hook."""

    event: str
    runs: int
    cpu_p50: float
    clock_p50: float
    clock_worst: float


def run_hook(hook: Hook, event: str, payload: dict[str, Any], env: dict[str, str]) -> HookRun:
    """Run it to its end, or to the client's time-out; then the whole group of processes is ended."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        given.write(json.dumps(payload, ensure_ascii=False).encode())
        given.seek(0)
        began = time.perf_counter()
        process = subprocess.Popen(  # noqa: S602 - clients hand the line to a shell
            hook.command,
            shell=True,
            cwd=payload["cwd"], env=env, stdin=given, stdout=out, stderr=errors, start_new_session=True,
        )  # fmt: skip
        timer = threading.Timer(hook.patience, _end_group, [process.pid])
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        took = (time.perf_counter() - began) * 1000
        out.seek(0)
        errors.seek(0)
        cpu = (usage.ru_utime + usage.ru_stime) * 1000
        printed = out.read().decode("utf-8", "replace"), errors.read().decode("utf-8", "replace")
        return HookRun(event, process.returncode, *printed, cpu, took)


def _end_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
