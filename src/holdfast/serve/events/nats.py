"""One connection to a NATS server, on which events are sent and confirmed. A broken one is not repaired but replaced.

Left to reconnect by itself, the client would hold messages in memory without knowing whether they were sent. Here an
event is confirmed on the connection that it was sent on, or is sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from holdfast.core.errors import UpstreamFailed
from holdfast.serve.events.subjects import Message
from holdfast.settings import Settings

CONNECT_SECONDS = 5
CONFIRM_SECONDS = 10
CLOSE_SECONDS = 1.0
WRITE_PAUSE_SECONDS = 0.001

T = TypeVar("T")


class _Client(Client):
    """The client of nats-py, but a tls:// address requires TLS: by itself it would send the password in the clear to
    any server that answers that no TLS is needed."""

    def _connect_command(self) -> bytes:
        server = self._current_server
        if server is not None and server.uri.scheme == "tls" and not self._server_info.get("tls_required"):
            raise NatsError("nats: the server offers no TLS")
        return super()._connect_command()


class NatsLink:
    """A connection that is open until it is closed or the server goes away."""

    def __init__(self, settings: Settings):
        self._servers = (settings.nats_url or "").split(",")
        self._waits_for_stream = settings.nats_confirm == "stream"
        self._client = _Client()
        self._inbox = ""
        self._round = 0
        self._answers: dict[int, bool] = {}  # of the running round: whether a stream stored each message
        self._answered = asyncio.Event()
        self._gone = asyncio.Event()
        self._refused = False

    async def open(self) -> None:
        """Connect.

        Raises:
            UpstreamFailed: no server answers, or none lets us in.
        """
        try:
            connecting = self._client.connect(
                servers=self._servers,
                name="holdfast",
                error_cb=self._on_error,
                closed_cb=self._on_closed,
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=CONNECT_SECONDS,
                flush_timeout=CONFIRM_SECONDS,
            )
            await asyncio.wait_for(connecting, CONNECT_SECONDS * 2)
            if self._waits_for_stream:
                self._inbox = self._client.new_inbox()
                await self._client.subscribe(f"{self._inbox}.*", cb=self._on_answer)
        except (NatsError, OSError, TimeoutError) as error:
            raise UpstreamFailed(f"nats: not connected ({type(error).__name__})") from None
        self._refused = False

    @property
    def is_open(self) -> bool:
        return not self._gone.is_set() and self._client.is_connected

    async def send(self, messages: Sequence[Message]) -> int:
        """How many of the first messages the server, or a stream, now has.

        Raises:
            UpstreamFailed: none of them for certain.
        """
        try:
            if self._waits_for_stream:
                return await self._to_stream(messages)
            return await self._to_server(messages)
        except (NatsError, OSError, TimeoutError) as error:
            raise UpstreamFailed(f"nats: not confirmed ({type(error).__name__})") from None

    async def _to_server(self, messages: Sequence[Message]) -> int:
        for one in messages:
            await self._publish(one)
        await self._written()
        await self._unless_gone(self._client.rtt(CONFIRM_SECONDS))
        if self._refused:  # reported before the answer to the ping
            raise UpstreamFailed("nats: the server refused an event")
        return len(messages)

    async def _written(self) -> None:
        """Wait until every message went to the socket: a ping of nats-py goes there at once, ahead of what waits, and
        its answer would confirm nothing about them."""
        async with asyncio.timeout(CONFIRM_SECONDS):
            while self._client.pending_data_size > 0:
                if not self.is_open:
                    raise UpstreamFailed("nats: the connection was lost")
                await asyncio.sleep(WRITE_PAUSE_SECONDS)

    async def _to_stream(self, messages: Sequence[Message]) -> int:
        self._round += 1
        self._answers = {}
        for number, one in enumerate(messages):
            await self._publish(one, f"{self._inbox}.{self._round}-{number}")
        with suppress(TimeoutError):  # if some have no answer, the others still count
            async with asyncio.timeout(CONFIRM_SECONDS):
                while len(self._answers) < len(messages):
                    self._answered.clear()
                    await self._unless_gone(self._answered.wait())
        stored = _leading(self._answers, len(messages))
        if not stored:
            raise UpstreamFailed("nats: no stream stored the event")
        return stored

    async def _publish(self, one: Message, reply: str = "") -> None:
        await self._client.publish(one.subject, one.body, reply, headers={"Nats-Msg-Id": one.id})

    async def _unless_gone(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work, unless the connection ends before."""
        working, ending = asyncio.ensure_future(work), asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise UpstreamFailed("nats: the connection was lost")
            return working.result()
        finally:
            working.cancel()
            ending.cancel()

    async def close(self) -> None:
        try:
            await asyncio.wait_for(self._client.close(), CLOSE_SECONDS)
        except (NatsError, OSError, TimeoutError):
            return  # it is given up anyway

    async def _on_error(self, error: Exception) -> None:
        self._refused = True

    async def _on_closed(self) -> None:
        self._gone.set()

    async def _on_answer(self, message: Msg) -> None:
        round, _, number = message.subject.rpartition(".")[2].partition("-")
        if round == str(self._round) and number.isdecimal():
            self._answers[int(number)] = _is_stored(message)
            self._answered.set()


def _is_stored(message: Msg) -> bool:
    """Whether the answer is a stream's receipt: not the server's report that there is no listener, nor an error."""
    try:
        body = orjson.loads(message.data)
    except ValueError:
        return False
    return isinstance(body, dict) and isinstance(body.get("stream"), str) and "error" not in body


def _leading(answers: dict[int, bool], count: int) -> int:
    """How many of the first were stored, without one missing between."""
    return next((number for number in range(count) if not answers.get(number)), count)
