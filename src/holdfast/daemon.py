"""The server of a data folder: found by its card, and started in the background where none runs."""

from __future__ import annotations

import errno
import http.client
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import orjson

from holdfast.core.disk import disk_fault
from holdfast.core.errors import DataLocked, Fault, ServerUnreachable, StorageFailed, StorageFull
from holdfast.core.system import SystemClock
from holdfast.local.launcher import LOG, launch_server, log_since, log_size
from holdfast.local.spool_space import FULL_BYTES, free_bytes
from holdfast.settings import Settings, environment, load
from holdfast.store.data_folder import DataFolder
from holdfast.transport import END_SERVER, Address, RemoteConnection, fault_from

if TYPE_CHECKING:  # the command line loads this module, and does without numpy and the records
    from holdfast.core.model import Chat, Json
    from holdfast.core.ports import Clock

# How long a start may take: about a second, or much longer on a machine that is busy with other work.
START_SECONDS = 30.0
LOOK_SECONDS = 0.05
LIVEZ_SECONDS = 5.0
MOST_STARTS = 3
TOKEN_PREFIX = "hft_"  # noqa: S105 - the public beginning of every token

_NO_FOLDER = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EEXIST})

Pause = Callable[[float], None]


def address_of(card: Json, settings: Settings) -> Address:
    """How this process reaches the server of the card.

    The run token of the card proves as much as the secret does: only the owner of the folder can read it. A token of
    the settings grants less, and is the identity that the caller chose.
    """
    secret = settings.secret or ""
    return Address(str(card.get("url")), secret if secret.startswith(TOKEN_PREFIX) else str(card.get("token")))


def running_server(settings: Settings) -> Json | None:
    """The card of the server that has the folder, if one is running."""
    folder = DataFolder(settings.folder)
    return folder.announced() if folder.home.is_dir() else None


class FolderServer:
    """The server of one folder, wherever it is now."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._card = settings.folder / "server.json"
        self._seen = self._mark()

    def moved(self) -> bool:
        now = self._mark()
        return now is None or now != self._seen

    def find(self) -> Address:
        if self._settings.daemon:
            card = ensure_server(self._settings)
        else:
            found = running_server(self._settings)
            if found is None:
                raise ServerUnreachable(f"no server is running for {self._settings.folder}")
            card = found
        self._seen = self._mark()
        return address_of(card, self._settings)

    def _mark(self) -> tuple[int, int] | None:
        """What changes whenever a server writes its card."""
        try:
            found = os.stat(self._card)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns


def server_connection(settings: Settings, chat: Chat | None = None) -> RemoteConnection:
    """Requests to the folder's server, which is started if none runs and the settings allow it.

    Raises:
        Fault: see `ensure_server`.
    """
    finder = FolderServer(settings)
    card = running_server(settings)
    found = address_of(card, settings) if card else finder.find()
    return RemoteConnection(found.url, found.credential, chat, finder=finder, agent=settings.agent)


def ensure_server(settings: Settings, *, clock: Clock | None = None, pause: Pause = time.sleep) -> Json:
    """The card of the folder's server, which answers; it is started if none runs.

    Raises:
        Fault: why the server could not start, as it reported itself.
        DataLocked: a process that is no server has the folder open.
        ServerUnreachable: it does not answer.
    """
    clock = clock or SystemClock()
    folder, ends = DataFolder(settings.folder), clock.steady() + START_SECONDS
    starts: list[StartedServer] = []
    while clock.steady() < ends:
        card = folder.announced() if folder.home.is_dir() else None
        if card and answers(str(card.get("url"))):
            return card
        if not (starts and starts[-1].is_alive()) and not (folder.home.is_dir() and folder.is_locked()):
            if starts and (fault := _why(folder, starts[-1])):
                raise fault
            if len(starts) < MOST_STARTS:
                starts.append(start_server(settings))
        pause(LOOK_SECONDS)
    raise _not_there(folder, starts)


@dataclass(frozen=True, slots=True)
class StartedServer:
    """A server that this process started."""

    home: str
    pid: int
    log_before: int

    def is_alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def fault(self) -> Fault | None:
        """What it reported when it could not start; None if it only left the folder to another server."""
        for line in reversed(log_since(self.home, self.log_before).splitlines()):
            try:
                said = orjson.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict) and "code" in said:
                return fault_from(said, Fault.http_status)
        return None


def start_server(settings: Settings) -> StartedServer:
    """Start the folder's server without waiting for it.

    Raises:
        Fault: no process can be started, or the folder cannot be written.
    """
    home = str(settings.folder.absolute())
    environ = dict(environment())
    if settings.secret:  # it may come from an argument; the server must know it to let this caller in
        environ["HOLDFAST_SECRET"] = settings.secret
    environ["HOLDFAST_STORE"] = settings.store  # the same: it may come from an argument
    usual = load({"home": home})
    if (settings.host, settings.port) != (usual.host, usual.port):  # so do these
        environ |= {"HOLDFAST_HOST": settings.host, "HOLDFAST_PORT": str(settings.port)}
    before = log_size(home)
    try:
        return StartedServer(home, launch_server(home, environ), before)
    except OSError as error:
        fault = disk_fault(error, f"start the server of {home}")
        if settings.folder.is_file():
            fault.message = f"{home} is a file and no data folder"
        if error.errno in _NO_FOLDER:
            fault.hint = "Choose a writable folder with --data or HOLDFAST_HOME."
        raise fault from error


def _why(folder: DataFolder, started: StartedServer) -> Fault | None:
    """Why a server ended that should run. SQLite calls some writes to a full disk failed ones."""
    fault = started.fault()
    return _full(folder) or fault if fault is None or isinstance(fault, StorageFailed) else fault


def _full(folder: DataFolder) -> StorageFull | None:
    """A server that could not write its log cannot report that the disk is full."""
    free = free_bytes(str(folder.home))
    if free is None or free >= FULL_BYTES:
        return None
    return StorageFull(
        f"the server of {folder.home} cannot start: the disk is full",
        hint="Free disk space; the next command starts it. Hook events are kept meanwhile.",
    )


def _not_there(folder: DataFolder, starts: list[StartedServer]) -> Fault:
    log = folder.home / LOG
    if starts and (full := _full(folder)):
        return full
    if not starts:
        hint = END_SERVER if folder.announced() else "Stop that process, or start it without --no-daemon."
        message = f"data folder {folder.home} is in use by process {folder.owner()}, which does not respond"
        return DataLocked(message, hint=f"{hint} A server that is just starting needs more time.")
    said = (log_since(starts[0].home, starts[0].log_before).strip().splitlines() or ["nothing"])[-1]
    return ServerUnreachable(
        f"the server of {folder.home} did not respond within {START_SECONDS:g} s; its log: {said[:300]}",
        hint=f"See {log}. With --no-daemon the command opens the data folder directly.",
    )


def answers(url: str, seconds: float = LIVEZ_SECONDS) -> bool:
    """Whether a Holdfast server answers there within that time."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=seconds)
    try:
        connection.request("GET", "/livez")
        answer = connection.getresponse()
        said = orjson.loads(answer.read(10_000))
        return answer.status == http.client.OK and isinstance(said, dict) and said.get("service") == "holdfast"
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
