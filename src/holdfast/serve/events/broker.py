"""Events to the broker: whatever waits in the store is sent in order, and dropped there once the broker has it.

Nothing in the server waits for it. While the broker is away the events stay in the store, also over a restart; an event
whose confirmation was lost is sent again under the same number.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.core.errors import Fault
from holdfast.engine import Engine
from holdfast.serve.events.subjects import message_of

if TYPE_CHECKING:
    from holdfast.serve.events.nats import NatsLink

BATCH = 256
JOB = "broker"
IDLE_SECONDS = 0.1
LEAST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 0.1, 5.0
STOP_SECONDS = 5.0

log = logging.getLogger("holdfast")


class Broker:
    """A thread that keeps a connection to the broker and sends what waits."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_wanted: asyncio.Event | None = None
        self._pause = LEAST_PAUSE_SECONDS
        self._said = ""
        self._claimed = False  # whether this server is the one that sends
        self.is_connected = False
        self._thread = threading.Thread(target=self._run, name="broker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop it and wait until it has ended, but not long: what was not sent waits in the store."""
        self._stopping.set()
        loop, wanted = self._loop, self._stop_wanted
        if loop is not None and wanted is not None:
            with suppress(RuntimeError):  # it has ended meanwhile
                loop.call_soon_threadsafe(wanted.set)
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        asyncio.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        self._stop_wanted = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        if self._stopping.is_set():
            return
        work = asyncio.create_task(self._work())
        await self._stop_wanted.wait()
        work.cancel()
        await asyncio.wait({work}, timeout=STOP_SECONDS)

    async def _work(self) -> None:
        from holdfast.serve.events.nats import NatsLink

        while not self._stopping.is_set():
            link = NatsLink(self._engine.settings)
            try:
                await link.open()
                self.is_connected = True
                await self._feed(link)
            except Fault as fault:
                self._say(f"{fault.message} ({fault.code})")
            except Exception as error:  # noqa: BLE001 - a bug, or a store that was just closed, must not end all sending
                self._say(f"unexpected {type(error).__name__}")
            finally:
                self.is_connected = False
                await link.close()
            await asyncio.sleep(self._pause)
            self._pause = min(2 * self._pause, MOST_PAUSE_SECONDS)

    async def _feed(self, link: NatsLink) -> None:
        """Send what waits and what comes, until the connection ends."""
        try:
            while link.is_open and not self._stopping.is_set():
                sent = await self._send_some(link)
                if sent or not self._said:
                    self._pause = LEAST_PAUSE_SECONDS
                if sent and self._said:
                    log.info("events: the broker is available again")
                    self._said = ""
                if sent < BATCH:
                    await asyncio.sleep(IDLE_SECONDS)
        finally:
            self._release()

    async def _send_some(self, link: NatsLink) -> int:
        """Send the first events that wait, unless another server sends them; how many the broker took.

        They are dropped from the store they were read from: a restore may open another one meanwhile.
        """
        store = self._engine.store
        if not store.read().dispatches(1):
            return 0
        self._claimed = self._engine.fleet.claim(JOB)
        # Read once they are claimed: what another server has sent meanwhile is gone.
        waiting = store.read().dispatches(BATCH) if self._claimed else []
        if not waiting:
            return 0
        prefix = self._engine.settings.nats_prefix
        sent = await link.send([message_of(prefix, one) for one in waiting])
        store.write(lambda tx: tx.dispatched(waiting[:sent]))
        self._engine.metrics.count("holdfast_events_sent_total", sent)
        return sent

    def _release(self) -> None:
        """Let another server send: this one has lost the broker, or ends."""
        if self._claimed:
            self._claimed = False
            with suppress(Fault):  # the database is away: the claim ends by itself
                self._engine.fleet.release(JOB)

    def _say(self, what: str) -> None:
        """Log a failure once, not at every try; without addresses, which may hold a password."""
        if what != self._said:
            log.warning("events: %s; events are kept until the broker is available", what)
        self._said = what
