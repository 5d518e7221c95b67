"""`holdfast hook <event>`: send the server what an agent's hook reports, and hand the agent its context.

Agents run this before and after their own work, so it must start fast (standard library only, and the rest imported
when needed), give up soon, and never fail: it always exits 0 and prints only what the agent should read.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from holdfast.cli.hook import hook_payload as read
from holdfast.cli.hook.hook_events import EVENTS, WITHOUT_PAYLOAD, HookCall, SendEvent, SpoolEvent

__all__ = ["EVENTS", "HookOutcome", "hook_main", "run_hook", "server"]

_HELP = """\
usage: holdfast hook EVENT [--data DIR] [--url URL]

Agents run this command at their hooks; holdfast connect writes it into their settings. It reads the agent's JSON from
standard input and always exits 0, whatever happens. It prints nothing unless the event below says so.

events:
{events}

options:
  --data DIR  the data folder (HOLDFAST_HOME)
  --url URL   the server (HOLDFAST_URL); without it, the one that serves the folder, which is started if none runs

What no server takes in time is kept in the folder spool/ of the data folder. The server takes it in as soon as it
runs, in order and once. holdfast doctor says how much waits there.
AGENTMEMORY_PROJECT_NAME names the project; without it, the git remote or the repository's folder does.
"""


class HookOutcome(NamedTuple):
    """What to print for the agent; the exit code is 0 whatever happened."""

    stdout: str = ""
    exit_code: int = 0


def run_hook(
    event: str,
    stdin_text: str,
    environ: Mapping[str, str],
    send: SendEvent,
    now_ms: Callable[[], int] | None = None,
    keep: SpoolEvent | None = None,
    folder: str | None = None,
) -> HookOutcome:
    """Send the requests of one event; the outcome holds what the agent should read."""
    try:
        blank = event in WITHOUT_PAYLOAD and not stdin_text.strip()
        data = read.payload("{}" if blank else stdin_text)
        known = EVENTS.get(event)
        if known is None or data is None or _inside_summary(data, environ):
            return HookOutcome()
        return HookOutcome(known.act(HookCall(data, environ, send, now_ms or _now_ms, keep or _no_spool, folder)))
    except Exception:  # noqa: BLE001 — the edge to the agent: its work must go on whatever is wrong here
        return HookOutcome()


def hook_main(words: Sequence[str], environ: Mapping[str, str] = os.environ) -> int:
    """The command: read the payload from standard input, act, print, and exit 0."""
    try:
        if "--help" in words or "-h" in words or not words:
            sys.stdout.write(help_text())
            return 0
        from holdfast.cli.hook.delivery import Delivery
        from holdfast.cli.hook.server_address import place_of

        text = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace")
        place = place_of(words, environ)
        way = Delivery(place, environ, _now_ms)
        if words[0] == "session-start":
            way.awaken(time.monotonic)
        outcome = run_hook(words[0], text, environ, way.send, _now_ms, way.keep, place.folder)
        sys.stdout.buffer.write(outcome.stdout.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
        way.finish()
    except Exception:  # noqa: BLE001 — as above; a closed pipe is no reason to stop the agent
        return 0
    return 0


def help_text() -> str:
    """What `holdfast hook --help` prints."""
    rows = [f"  {name:18}{event.help}" for name, event in EVENTS.items()]
    return _HELP.format(events="\n".join(rows))


def server(url: str, secret: str | None) -> SendEvent:
    """The plain way to a server, over HTTP."""

    def send(method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
        from holdfast.cli.hook.http import ask

        return ask(url, secret, method, path, body, timeout)

    return send


def _inside_summary(data: dict[str, Any], environ: Mapping[str, str]) -> bool:
    """An agent that the memory server itself started must not be remembered."""
    return environ.get("AGENTMEMORY_SDK_CHILD") == "1" or data.get("entrypoint") == "sdk-ts"


def _no_spool(path: str, body: object) -> bool:
    return False


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
