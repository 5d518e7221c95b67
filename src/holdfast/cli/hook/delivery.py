"""How a hook's requests get to the server: at once, or by the spool.

An event that cannot be delivered is written to the spool of the data folder, which its server takes in, and a server is
started if none answers. Requests for a server elsewhere wait in a spool of their own until a later hook delivers
them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.cli.hook.server_address import ServerAddress, card_of

ELSEWHERE = "elsewhere"
DRAINED_AT_ONCE = 20
DRAIN_SECONDS = 0.5
# A server is up after one or two seconds, on a busy machine after three or four. The context at the start of a session
# is worth that wait. `connect` writes 10 s into the agents' settings as the most a hook may take.
SESSION_SECONDS = 8.0
ANSWER_SECONDS = 2.0  # of them, left for the answer of a server that is up late
LOOK_SECONDS = 0.05
CONNECT_SECONDS = 0.2
LEAST_SECONDS = 0.1


class Delivery:
    """The way to one server. No call raises."""

    def __init__(self, place: ServerAddress, environ: Mapping[str, str], now_ms: Callable[[], int]):
        self._place = place
        self._environ = environ
        self._now_ms = now_ms
        self._away = not place.url
        self._kept = 0
        self._launched = False
        self._unwritable = ""
        self._denied = False
        self._remaining: Callable[[], float] | None = None

    def awaken(self, steady: Callable[[], float], pause: Callable[[float], None] = time.sleep) -> None:
        """Start the folder's server if none runs, and wait for it: the session needs its context.

        All that the hook waits for from here on ends after `SESSION_SECONDS`.
        """
        ends = steady() + SESSION_SECONDS
        self._remaining = lambda: ends - steady()
        if not self._place.own or not self._place.daemon or self._listens():
            return
        self._launch()
        while not self._unwritable and self._remaining() > ANSWER_SECONDS:
            if self._moved() and self._listens():
                self._away = False
                return
            pause(LOOK_SECONDS)
        self._away = True

    def send(self, method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
        """The server's answer; None when there was none in time. A server that did not answer is not tried again.

        The start of a session gets the reason instead of None: the agent has to know that its memory is missing.
        """
        answer = None if self._away else self._ask(method, path, body, timeout)
        silent = answer is None and self._remaining is not None and self._place.daemon
        return {"unavailable": self._why()} if silent and self._has_room() else answer

    def _ask(self, method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
        from holdfast.cli.hook.http import ask

        answer = ask(self._place.url, self._place.secret, method, path, body, self._left(timeout))
        if (answer is None or "denied" in answer) and self._moved():
            answer = ask(self._place.url, self._place.secret, method, path, body, self._left(timeout))
        self._denied = answer is not None and "denied" in answer
        self._away = answer is None or self._denied
        return None if self._denied else answer

    def _why(self) -> str:
        """Why there is no answer, and what to do."""
        if self._unwritable:
            return f"{self._place.folder} cannot be written: {self._unwritable}. Tell the user to run: holdfast doctor"
        if self._denied:
            kept = "What happens in this session waits here until it does."
            return f"its server does not accept the credential. {kept} Tell the user to run: holdfast doctor"
        kept = "What happens in this session is kept and taken in later."
        return f"its server does not answer. {kept} Tell the user to run: holdfast doctor"

    def _has_room(self) -> bool:
        """Whether the disk is not full; if it is, that is the reason, and the event reports it itself."""
        from holdfast.local.spool_space import FULL_BYTES, free_bytes

        free = free_bytes(self._place.folder)
        return free is None or free >= FULL_BYTES

    def _left(self, timeout: float) -> float:
        return timeout if self._remaining is None else min(timeout, max(LEAST_SECONDS, self._remaining()))

    def keep(self, path: str, body: object) -> bool:
        """Put the event into the spool; whether it is safe there."""
        from holdfast.core.system import SystemEntropy
        from holdfast.local.spool import keep

        folder = self._place.folder if self._place.own else self._elsewhere()
        self._kept += 1
        name = f"{self._kept:04d}{SystemEntropy().hex(16)}"
        return keep(folder, path, body, self._now_ms(), name)

    def finish(self) -> None:
        """Start the folder's server if it did not answer; send what waits for a server elsewhere that did."""
        if self._place.own and self._away and not self._listens():
            self._launch()
        elif not self._place.own and not self._away:
            self._drain()

    def _moved(self) -> bool:
        """Whether the folder's server has another address or token than before: it was restarted."""
        if not self._place.own:
            return False
        card = card_of(self._place.folder)
        if not card or (card.get("url"), card.get("token")) == (self._place.url, self._place.secret):
            return False
        self._place = self._place._replace(url=card.get("url", ""), secret=card.get("token"))
        return True

    def _listens(self) -> bool:
        """Whether something listens where the server should be."""
        if not self._place.url:
            return False
        import socket

        from holdfast.cli.hook.http import address_of

        try:
            socket.create_connection(address_of(self._place.url), timeout=CONNECT_SECONDS).close()
        except (OSError, ValueError):
            return False
        return True

    def _launch(self) -> None:
        if not self._place.daemon or self._launched:
            return
        self._launched = True
        from holdfast.local.launcher import launch_server

        environ = dict(self._environ)
        if self._place.url:
            environ.setdefault("HOLDFAST_PORT", self._place.port())
        try:
            launch_server(self._place.folder, environ)
        except OSError as error:
            self._unwritable = error.strerror or type(error).__name__  # the event waits in the spool, if it can

    def _elsewhere(self) -> str:
        """A folder for what waits for one server and credential."""
        from hashlib import sha256

        named = f"{self._place.url}\n{self._place.secret or ''}"
        return os.path.join(self._place.folder, ELSEWHERE, sha256(named.encode("utf-8", "replace")).hexdigest()[:16])

    def _drain(self) -> None:
        folder = self._elsewhere()
        if not os.path.isdir(folder):
            return
        from holdfast.cli.hook.hook_events import is_taken
        from holdfast.local.spool import read, refuse, remove, waiting

        for name in waiting(folder)[:DRAINED_AT_ONCE]:
            try:
                entry = read(folder, name)
                if entry is None:
                    refuse(folder, name)
                elif not is_taken(self.send("POST", entry.path, entry.body, DRAIN_SECONDS)):
                    return
                else:
                    remove(folder, name)
            except OSError:
                return
