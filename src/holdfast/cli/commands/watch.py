"""holdfast watch: what happens in a memory, line by line, until Ctrl-C. Comes back by itself when the server does."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

import orjson
from rich.console import Console
from rich.text import Text
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from holdfast.cli.output.render import counted, one_line, print_notice
from holdfast.core.errors import ServerUnreachable, Unauthorized
from holdfast.core.model import Json
from holdfast.core.ports import Clock
from holdfast.core.system import SystemClock

PATH = "/stream/mem-live/viewer"
FIRST_WAIT, LONGEST_WAIT = 0.5, 15.0
OPEN_SECONDS = 10.0
MOST_BYTES = 32_000_000  # one event; an observation holds at most a few
REFUSED = 1008  # the close code of a credential that is not, or no longer, good
WIDE = 400

_STYLES = {
    "memory": "green",
    "observation": "",
    "session": "cyan",
    "lesson": "magenta",
    "slot": "magenta",
    "action": "yellow",
    "forgotten": "red",
}


class EventPosition:
    """How far the events were read. The server goes on from there when the connection comes back."""

    def __init__(self) -> None:
        self.at = ""

    def address(self, url: str) -> str:
        parts = urlsplit(url)
        return f"{'wss' if parts.scheme == 'https' else 'ws'}://{parts.netloc}{PATH}?since={quote(self.at)}"


def watch(
    url: str,
    credential: str | None,
    show: Callable[[Json], None],
    pause: Callable[[float], None] = time.sleep,
    greet: Callable[[], None] = lambda: None,
) -> None:
    """Show every event, for ever. A connection that breaks is made again, and what was missed meanwhile is shown.

    `greet` is called once events are followed: what is stored from then on is shown.

    Raises:
        ServerUnreachable: no server answers at the first try.
        Unauthorized: the credential is not valid.
    """
    place, wait, reached = EventPosition(), FIRST_WAIT, False
    while True:
        try:
            with _open(place.address(url), credential) as socket:
                for event in _events(socket, place):
                    if event.get("type") == "hello":
                        greet()
                        greet = _greet_again
                        reached, wait = True, FIRST_WAIT
                    else:
                        show(event)
        except Unauthorized:
            raise
        except (OSError, InvalidHandshake, ConnectionClosed) as error:
            if not reached:
                raise ServerUnreachable(f"watch: no response from {url}") from error
        if wait == FIRST_WAIT:
            print_notice("Connection lost; reconnecting. Press Ctrl-C to stop.")
        pause(wait)
        wait = min(2 * wait, LONGEST_WAIT)


def _greet_again() -> None:
    print_notice("Connected again.")


def _open(address: str, credential: str | None) -> ClientConnection:
    headers = {"Authorization": f"Bearer {credential}"} if credential else {}
    try:
        return connect(address, additional_headers=headers, open_timeout=OPEN_SECONDS, max_size=MOST_BYTES, proxy=None)
    except InvalidStatus as error:
        if error.response.status_code in (401, 403):
            raise Unauthorized("watch: the server rejected the credential") from error
        raise


def _events(socket: ClientConnection, place: EventPosition) -> Iterator[Json]:
    """Events as they come, a hello once nothing more was missed. Ends where the connection does."""
    try:
        for message in socket:
            event = orjson.loads(message)
            place.at = str(event.get("place") or place.at)
            if event.get("type") == "gap":
                print_notice("Some events were missed. Run holdfast show for the current state.")
                yield {"type": "hello"}
            else:
                yield event
    except ConnectionClosed as closed:
        if closed.rcvd and closed.rcvd.code == REFUSED:
            raise Unauthorized("watch: the server rejected the credential") from closed


def print_event(event: Json) -> None:
    """One event as a JSON line, for programs."""
    sys.stdout.buffer.write(orjson.dumps(event) + b"\n")
    sys.stdout.buffer.flush()


class EventPrinter:
    """Events as lines for a person, on one console."""

    def __init__(self, console: Console | None = None, clock: Clock | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._clock = clock or SystemClock()

    def show(self, event: Json) -> None:
        kind = str(event.get("type") or "")
        if kind == "raw_observation":
            return  # the same comes once more, with a title
        body = _body(event)
        kind = "observation" if kind == "compressed_observation" else kind.replace("_", " ")
        where = " · ".join(one_line(body.get(name), 40) for name in ("project", "agentId") if body.get(name))
        self._console.print(
            Text.assemble(
                (_time_of(body, self._clock), "dim"),
                "  ",
                (f"{one_line(kind, 17):<17}", _STYLES.get(kind, "blue")),
                "  ",
                one_line(_title(kind, body), WIDE),
                (f"  {where}" if where else "", "dim"),
            ),
            soft_wrap=True,
        )


def _body(event: Json) -> Json:
    data = event.get("data")
    inner = next((value for value in data.values() if isinstance(value, dict)), {}) if isinstance(data, dict) else {}
    return inner


def _title(kind: str, body: Json) -> Any:
    if kind == "slot":
        return f"{body.get('label') or body.get('title') or ''}: {body.get('content') or ''}"
    if kind == "forgotten":
        return counted(sum(body["counts"].values()), "record") if isinstance(body.get("counts"), dict) else ""
    if kind == "lesson decay":
        return counted(body.get("lessons") or 0, "lesson")
    for name in ("title", "content", "label", "message", "narrative", "id", "ids"):
        if body.get(name):
            return body[name]
    return ""


def _time_of(body: Json, clock: Clock) -> str:
    """When it was stored, by the clock of this machine; now, if the event has no time."""
    said = next((body[name] for name in ("storedAt", "updatedAt", "linkedAt", "createdAt") if body.get(name)), "")
    try:
        at = datetime.fromisoformat(str(said))
    except ValueError:
        at = datetime.fromtimestamp(clock.now_ms() / 1000, UTC)
    return f"{at.astimezone():%H:%M:%S}"
