"""Requests to a running server over HTTP. Light to import: every command that finds a server loads this and no more.

A server may be restarted under an open connection, with another port and another token. The connection then finds it
again and sends the request once more, if that cannot do the work twice.
"""

from __future__ import annotations

import http.client
import re
import select
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

import orjson

from holdfast.core.bundle_names import is_bundle_path
from holdfast.core.disk import user_path
from holdfast.core.errors import AnswerLate, Fault, InvalidRequest, ServerUnreachable, every_fault
from holdfast.core.system import SystemClock
from holdfast.text.text_checks import check_storable

if TYPE_CHECKING:
    from holdfast.core.model import Chat

PREFIX = "/agentmemory"
UNAUTHORIZED = 401
END_SERVER = "End it: holdfast serve --stop. The next command starts it again."
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 120.0
LONG_SECONDS = 6 * 3600.0  # what reads or writes a whole memory; a server that is gone is still noticed at once
# The server closes an idle connection after 15 s: this side closes first and never writes into one that is closing.
IDLE_SECONDS = 4.0
# A server that is silent for so long is probed. If it does not answer twice in a row, it hangs.
SILENT_SECONDS = 5.0
SILENT_LOOKS = 2

# Writes that find by themselves what they stored before: sent twice, they answer the same.
REPEATABLE = frozenset({"observe", "agent_observe", "remember", "agent_remember", "session_start", "session_end"})
# Writes that belong to the agent of the caller's own environment.
SIGNED = REPEATABLE | {"remember_batch", "lesson_save"}


class Endpoint(Protocol):
    """What a request needs to know of an operation."""

    @property
    def name(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def effect(self) -> str: ...
    @property
    def paths(self) -> tuple[str, ...]: ...
    @property
    def long(self) -> bool: ...
    def read(self, arguments: Mapping[str, Any]) -> Any:
        """Check the arguments.

        Raises:
            InvalidRequest: one of them cannot be taken.
        """


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is reached, and with which credential."""

    url: str
    credential: str | None = None


class ServerFinder(Protocol):
    """Knows where a server is that may have moved."""

    def moved(self) -> bool:
        """Whether it is worth looking again."""
        ...

    def find(self) -> Address:
        """Where it is now.

        Raises:
            Fault: it is nowhere, and could not be started.
        """
        ...


class _ConnectionLost(Exception):
    """The connection failed; `sent` if the server may have got the request, `begun` if its answer had begun."""

    def __init__(self, *, sent: bool, begun: bool = False):
        super().__init__()
        self.sent = sent
        self.begun = begun


class RemoteConnection:
    """A running server. Threads may share it."""

    def __init__(
        self,
        url: str,
        credential: str | None,
        chat: Chat | None = None,
        *,
        finder: ServerFinder | None = None,
        agent: str | None = None,
    ):
        """Requests to that address; the finder looks up the server once it is no longer there."""
        self._chat = _chat_headers(chat)
        self._finder = finder
        self._agent = agent
        self._pool = _Pool(Address(url, credential))

    @property
    def place(self) -> str:
        return self._pool.address.url

    def call(self, operation: Endpoint, arguments: Mapping[str, Any]) -> Any:
        """The operation's answer as JSON values.

        Raises:
            Fault: whatever the operation raised, of the same kind.
        """
        _check_text(operation, arguments)
        path, rest = _path(operation, self._signed(operation, from_here(operation, arguments)))
        target, body = path, b""
        if operation.method == "GET":
            query = urlencode(_query(rest))
            target = f"{path}?{query}" if query else path
        else:
            body = orjson.dumps(rest)
        return _answer(operation, *self._exchange(operation, target, body), self.place)

    def close(self) -> None:
        self._pool.close()

    def _signed(self, operation: Endpoint, arguments: dict[str, Any]) -> dict[str, Any]:
        """With the agent of this process: the server may have been started by another one."""
        if self._agent and operation.name in SIGNED and not {"agentId", "agent_id"} & arguments.keys():
            return {**arguments, "agentId": self._agent}
        return arguments

    def _exchange(self, operation: Endpoint, target: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer; of a second try, if the server is elsewhere now."""
        finder = self._finder
        if finder is None:
            return self._last_try(operation, target, body)
        if finder.moved():
            self._move(finder.find())
        try:
            status, answer = self._pool.send(operation, target, body, self._chat)
        except _ConnectionLost as lost:
            if lost.sent and not _may_repeat(operation):
                raise _unknown(operation, self.place) from lost.__cause__
        else:
            if status != UNAUTHORIZED or not self._move(finder.find()):
                return status, answer
            return self._last_try(operation, target, body)
        self._move(finder.find())
        return self._last_try(operation, target, body)

    def _move(self, found: Address) -> bool:
        """Use that address from now on; whether it is another one."""
        if found == self._pool.address:
            return False
        self._pool.close()
        self._pool = _Pool(found)
        return True

    def _last_try(self, operation: Endpoint, target: str, body: bytes) -> tuple[int, bytes]:
        try:
            return self._pool.send(operation, target, body, self._chat)
        except _ConnectionLost as lost:
            if lost.sent and not _may_repeat(operation):
                raise _unknown(operation, self.place) from lost.__cause__
            if lost.begun:
                raise _broken_off(operation, self.place) from lost.__cause__
            raise _unreachable(operation, self.place) from lost.__cause__


def _may_repeat(operation: Endpoint) -> bool:
    return operation.effect == "read" or operation.name in REPEATABLE


class _Pool:
    """Connections to one address that wait for their next request."""

    def __init__(self, address: Address):
        parts = urlsplit(address.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidRequest(f"{address.url[:80]}: not a valid server address", hint="Use http://HOST:PORT.")
        self.address = address
        self._parts = parts
        self._clock = SystemClock()
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []

    def close(self) -> None:
        while self._idle:
            self._idle.pop()[0].close()

    def send(self, operation: Endpoint, target: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Status and body of the answer.

        Raises:
            _Lost: there was none.
            AnswerLate: the server is silent.
        """
        patience = LONG_SECONDS if operation.long else ANSWER_SECONDS
        connection = self._connection()
        try:
            self._ask(connection, operation.method, target, body, headers)
            assert connection.sock is not None
            self._await(connection.sock, operation, patience)
            connection.sock.settimeout(patience)
            answer = connection.getresponse()
            read = answer.status, answer.read()
        except TimeoutError as error:
            connection.close()
            raise _unanswered(operation, patience) from error
        except AnswerLate:
            connection.close()
            raise
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            begun = isinstance(error, http.client.IncompleteRead)
            raise _ConnectionLost(sent=True, begun=begun) from error
        if answer.will_close:
            connection.close()
        else:
            self._idle.append((connection, self._clock.steady()))
        return read

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, target: str, body: bytes, more: Mapping[str, str]
    ) -> None:
        headers = {"Accept": "application/json", **more}
        if self.address.credential:
            headers["Authorization"] = f"Bearer {self.address.credential}"
        if method != "GET":
            headers["Content-Type"] = "application/json"
        connection.request(method, self._parts.path.rstrip("/") + PREFIX + target, body or None, headers)

    def _await(self, sock: socket.socket, operation: Endpoint, patience: float) -> None:
        """Wait until the answer begins. A server at long work still answers others; one that hangs answers no one.

        Raises:
            TimeoutError: the answer is late.
            AnswerLate: the server hangs.
        """
        ends, silent = self._clock.steady() + patience, 0
        while not _is_readable(sock, min(SILENT_SECONDS, max(0.0, ends - self._clock.steady()))):
            if self._clock.steady() >= ends:
                raise TimeoutError
            silent = 0 if self._is_there() else silent + 1
            if silent >= SILENT_LOOKS:
                raise _hangs(operation, self.address.url)

    def _is_there(self) -> bool:
        """Whether anything answers at the address, whatever the answer."""
        probe = self._new(SILENT_SECONDS)
        try:
            probe.request("GET", self._parts.path.rstrip("/") + "/livez")
            probe.getresponse()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            probe.close()
        return True

    def _new(self, seconds: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        return kind(str(self._parts.hostname), self._parts.port, timeout=seconds)

    def _connection(self) -> http.client.HTTPConnection:
        """One that the server has not closed.

        Raises:
            _Lost: no server listens there.
        """
        while self._idle:
            connection, since = self._idle.pop()
            if self._clock.steady() - since < IDLE_SECONDS and not _is_readable(connection.sock):
                return connection
            connection.close()
        new = self._new(CONNECT_SECONDS)
        try:
            new.connect()
        except OSError as error:
            new.close()
            raise _ConnectionLost(sent=False) from error
        if new.sock is not None:
            new.sock.settimeout(ANSWER_SECONDS)
        return new


def _is_readable(sock: socket.socket | None, seconds: float = 0.0) -> bool:
    """Whether there is something to read within that time: an answer, or, without a request, the end of the
    connection."""
    if sock is None:
        return True
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _chat_headers(chat: Chat | None) -> dict[str, str]:
    if chat is None:
        return {}
    sender = {"Holdfast-Sender": quote(chat.sender_id)} if chat.sender_id else {}
    return {"Holdfast-Umo": quote(chat.umo), **sender}


def _check_text(operation: Endpoint, arguments: Mapping[str, Any]) -> None:
    """What is no text could not be sent; a word of the command line may be any bytes.

    Raises:
        InvalidRequest: there is such an argument.
    """
    try:
        check_storable(dict(arguments))
    except InvalidRequest as fault:
        raise InvalidRequest(f"{operation.name}: an argument {fault.message}") from None


def _unanswered(operation: Endpoint, patience: float) -> Fault:
    """The server took the request and has not answered: it may well be at work, and is not unreachable."""
    what = f"{operation.name}: no response for {patience:g} s; the server may still be working"
    return AnswerLate(what, hint=_check_first(operation))


def _hangs(operation: Endpoint, url: str) -> Fault:
    """The server took the request and answers no one any more."""
    what = f"{operation.name}: the server at {url} takes requests and does not answer"
    if urlsplit(url).hostname not in _LOOPBACK:
        return AnswerLate(what, hint="Restart it on its machine.")
    return AnswerLate(what, hint=END_SERVER)


def _unknown(operation: Endpoint, url: str) -> Fault:
    """The server went away amid a write that must not be done twice."""
    what = f"{operation.name}: the connection to {url} was lost before the response; the operation may have completed"
    return AnswerLate(what, hint=_check_first(operation))


def _check_first(operation: Endpoint) -> str:
    status = " with holdfast snapshot status" if operation.name.startswith("snapshot_") else ""
    return f"Check its status{status} before retrying."


def _broken_off(operation: Endpoint, url: str) -> Fault:
    """The server sent a part of an answer and no more, as it does where it meets a damaged row amid an export."""
    what = f"{operation.name}: the server at {url} ended its response before it was complete"
    return ServerUnreachable(what, hint="See its log for the reason, and check the memory: holdfast verify")


def _unreachable(operation: Endpoint, url: str) -> Fault:
    return ServerUnreachable(f"{operation.name}: no response from {url}")


def from_here(operation: Endpoint, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with whole paths: the server stands in another folder."""
    given = dict(arguments)
    for name in operation.paths:
        value = given.get(name)
        if isinstance(value, str) and value and not _is_vault(value) and _is_path(name, value):
            given[name] = str(user_path(value, name).absolute())
    return given


_NAMES = ("id", "a", "b")  # arguments that name a snapshot
_PLACE = "place"  # the name of an agent, or a path that is written as one


def _is_path(name: str, value: str) -> bool:
    if name == _PLACE:
        return "/" in value or value.startswith((".", "~"))
    return name not in _NAMES or is_bundle_path(value)


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _is_vault(text: str) -> bool:
    """Whether it names a vault that is no folder, or was meant to: a wrong word before a colon makes no folder."""
    return "://" in text or (_SCHEME.match(text) is not None and not Path(text).exists())


def _path(operation: Endpoint, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    path = operation.path
    for name in re.findall(r"\{(\w+)\}", path):
        value = str(arguments.get(name) or "")
        if not value:  # it would be another path; the operation itself reports what is wrong
            operation.read(arguments)
            raise InvalidRequest(f"{operation.name}: {name} is required")
        del arguments[name]
        # A dot alone would be taken for a step in the path.
        path = path.replace(f"{{{name}}}", quote(value, safe="").replace(".", "%2E"))
    return path, arguments


def _query(arguments: Mapping[str, Any]) -> dict[str, str]:
    return {name: _word(value) for name, value in arguments.items() if value is not None}


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _answer(operation: Endpoint, status: int, raw: bytes, url: str) -> Any:
    try:
        body = orjson.loads(raw)
    except ValueError:
        raise ServerUnreachable(
            f"{operation.name}: {urlsplit(url).hostname} returned status {status} without JSON",
            hint="Another program may be listening there. Check --url and HOLDFAST_URL.",
        ) from None
    if 200 <= status < 300:
        return body
    raise fault_from(body if isinstance(body, dict) else {}, status)


_BY_CODE = {fault.code: fault for fault in every_fault()}


def fault_from(body: Mapping[str, Any], status: int) -> Fault:
    """The fault that a server's error answer represents."""
    kind = _BY_CODE.get(str(body.get("code")), Fault)
    shown = {"error", "code", "hint", "retryable"}
    details = {name: value for name, value in body.items() if name not in shown}
    fault = kind(str(body.get("error", f"the server returned status {status}")), hint=body.get("hint"), details=details)
    if (cause := _BY_CODE.get(str(body.get("cause")))) is not None:  # it ends a command as its cause would
        fault.exit_code = cause.exit_code
    return fault
