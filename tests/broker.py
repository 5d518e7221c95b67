"""A real NATS server for tests: started, killed and started again on its port, and a reader of what it carries."""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import sysconfig
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import nats
import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg
from patience import WAIT_SECONDS, until

EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
MANY_PORTS = 20_000

PROGRAM = Path(sysconfig.get_path("scripts")) / "nats-server"

T = TypeVar("T")


def free_port() -> int:
    """A port that the kernel gives to no connection: one of those may be taken before it is used, or between a kill and
    the next start, even by the client that tries to reach it."""
    first = int(EPHEMERAL.read_text().split()[0])
    for port in random.SystemRandom().sample(range(first - MANY_PORTS, first), MANY_PORTS):
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


class NatsServer:
    """`nats-server` on a port that it keeps over restarts, with JetStream in a folder."""

    def __init__(self, folder: Path, *options: str, url: str = "nats://127.0.0.1:{port}"):
        self.port = free_port()
        self.url = url.format(port=self.port)
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        command = [
            str(PROGRAM),
            "-a",
            "127.0.0.1",
            "-p",
            str(self.port),
            "-js",
            "-sd",
            str(self._folder),
            *self._options,
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self._answers, "the NATS server answers")
        return self

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the NATS server ended at its start"
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as one:
            return one.recv(4) == b"INFO"
        return False

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()


class Reader:
    """Everything under the prefix, by a plain subscription or out of a stream; runs in a thread of its own."""

    def __init__(self, url: str):
        self._url = url
        self.messages: list[Msg] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._client: Client | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        self._client = self.run(
            nats.connect(self._url, max_reconnect_attempts=-1, reconnect_time_wait=0, error_cb=_quiet)
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._client is not None
        self.run(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(WAIT_SECONDS)

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    def listen(self, subject: str = "holdfast.>") -> Self:
        """Note every message from now on."""

        async def start() -> None:
            await self.client.subscribe(subject, cb=self._note)
            await self.client.flush()

        self.run(start())
        return self

    async def _note(self, message: Msg) -> None:
        self.messages.append(message)

    def make_stream(self, **options: Any) -> None:
        """Let JetStream keep every message, on disk before it says so."""
        self.run(self.client.jetstream().add_stream(name="events", subjects=["holdfast.>"], **options))

    def stored(self) -> list[Msg]:
        """What the stream holds, in its order."""

        async def read() -> list[Msg]:
            stream = self.client.jetstream()
            held = (await stream.stream_info("events")).state
            some = await stream.subscribe("holdfast.>", ordered_consumer=True)
            found = [await some.next_msg(timeout=WAIT_SECONDS) for _ in range(held.messages)]
            await some.unsubscribe()
            return found

        return self.run(read())

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return bodies(self.messages)


def bodies(messages: list[Msg]) -> list[dict[str, Any]]:
    return [orjson.loads(one.data) for one in messages]


def ids(messages: list[Msg]) -> list[str]:
    return [(one.headers or {})["Nats-Msg-Id"] for one in messages]


async def _quiet(error: Exception) -> None:
    """The broker is killed on purpose."""
