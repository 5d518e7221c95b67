"""The way to a memory: in this process, or through a running server. Both answer every operation alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol

import orjson

from holdfast.core.errors import CANNOT_OPEN, DataLocked, EmbedderUnavailable, Fault, UpstreamFailed
from holdfast.core.model import Caller, Chat, CleanText
from holdfast.daemon import running_server, server_connection, start_server
from holdfast.engine import Engine
from holdfast.intake.embed_queue import EmbedQueue
from holdfast.ops.framework.call_metrics import counted
from holdfast.ops.framework.operation import Operation, Stream
from holdfast.ops.registry import BY_NAME
from holdfast.settings import Settings
from holdfast.transport import Endpoint, RemoteConnection, fault_from, from_here

__all__ = [
    "Connection",
    "LocalConnection",
    "OpenConnection",
    "RemoteConnection",
    "fault_from",
    "folder_connection",
    "open_connection",
]

# Another command may hold the folder for the length of one write; a server holds it for good.
LOCK_TRIES = 50
LOCK_PAUSE_SECONDS = 0.1

# Operations that find by meaning.
SEARCHES = frozenset({"search", "smart_search"})
FOLLOW_SECONDS = 3.0


class Connection(Protocol):
    """Calls operations somewhere."""

    @property
    def place(self) -> str:
        """Its folder or address, for people."""
        ...

    def call(self, operation: Endpoint, arguments: Mapping[str, Any]) -> Any:
        """The operation's answer as JSON values.

        Raises:
            Fault: whatever the operation raised, of the same kind.
        """
        ...

    def close(self) -> None: ...


class LocalConnection:
    """An engine in this process."""

    def __init__(self, engine: Engine, caller: Caller, *, here: bool = True):
        """Call operations for a caller who is `here`, in this process's folder, or elsewhere."""
        self.engine = engine
        self._here = here
        self.caller = caller
        self.place = str(engine.folder.home)
        self._follower = EmbedQueue(engine.store, engine.embedder, engine.clock)

    def _follow(self) -> None:
        """Without a server no process makes vectors: what waits gets its own before a search, within some seconds."""
        embedder, clock = self.engine.embedder, self.engine.clock
        if self._follower.store is not self.engine.store:  # another generation is live now
            self._follower = EmbedQueue(self.engine.store, embedder, clock)
        if embedder is None or self._follower.is_done():
            return
        try:
            embedder.embed_query(CleanText(""))  # loads the model if it is here, and downloads nothing
        except (EmbedderUnavailable, UpstreamFailed):
            return
        ends = clock.steady() + FOLLOW_SECONDS
        while clock.steady() < ends and self._follower.step():
            pass

    def call(self, operation: Endpoint, arguments: Mapping[str, Any]) -> Any:
        self.engine.try_again()
        if operation.name in SEARCHES:
            self._follow()
        if self._here:
            arguments = from_here(operation, arguments)
        with counted(self.engine.metrics, operation.name):
            known = operation if isinstance(operation, Operation) else BY_NAME[operation.name]
            answer = known.call(self.engine.context(self.caller), arguments)
        return orjson.loads(b"".join(answer.pieces)) if isinstance(answer, Stream) else answer

    def close(self) -> None:
        self.engine.close()


def open_connection(
    settings: Settings, pause: Callable[[float], None] = time.sleep, *, chat: Chat | None = None
) -> Connection:
    """The connection that the settings name: the named server, the one of the folder, or the folder itself.

    The folder's server is started if none runs, unless the settings turn that off. A folder that no server can open is
    opened here, as far as that goes. With a chat, every call on the connection is made from there.

    Raises:
        DataLocked: the folder is held by a process that cannot be reached.
    """
    if settings.url:
        return RemoteConnection(settings.url, settings.secret, chat)
    if settings.daemon:
        with suppress(*CANNOT_OPEN):
            return server_connection(settings, chat)
    return folder_connection(settings, pause, chat=chat)


def folder_connection(
    settings: Settings, pause: Callable[[float], None] = time.sleep, *, chat: Chat | None = None
) -> Connection:
    """The folder in this process, or the server that has it open.

    Raises:
        DataLocked: a process has it open that is no server.
    """
    for _ in range(LOCK_TRIES):
        if running_server(settings):
            return server_connection(settings, chat)
        try:
            return LocalConnection(Engine(settings, rescue=True), Caller(chat=chat))
        except DataLocked as fault:
            last = fault
            pause(LOCK_PAUSE_SECONDS)
    raise last


class LazyConnection:
    """The folder's server, looked for at the first call: an agent that starts need not wait for it, and one whose
    server cannot be started gets the reason from each call."""

    def __init__(self, settings: Settings, chat: Chat | None = None):
        self._settings = settings
        self._chat = chat
        self._connection: RemoteConnection | None = None
        if running_server(settings) is None:
            with suppress(Fault):  # the first call meets it again, and raises it
                start_server(settings)

    @property
    def place(self) -> str:
        return self._connection.place if self._connection else str(self._settings.folder)

    def call(self, operation: Endpoint, arguments: Mapping[str, Any]) -> Any:
        if self._connection is None:
            self._connection = server_connection(self._settings, self._chat)
        return self._connection.call(operation, arguments)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class OpenConnection:
    """A connection for the length of a block."""

    def __init__(self, settings: Settings, chat: Chat | None = None):
        self._settings = settings
        self._chat = chat

    def __enter__(self) -> Connection:
        self._connection = open_connection(self._settings, chat=self._chat)
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
