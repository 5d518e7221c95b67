"""The way to a memory: in this process, or through a running server. Both answer every operation alike."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol
from urllib.parse import quote

import httpx
import orjson

from holdfast.engine import Engine
from holdfast.errors import (
    AnswerLate,
    DataLocked,
    EmbedderUnavailable,
    Fault,
    InvalidRequest,
    ServerUnreachable,
    UpstreamFailed,
    every_fault,
)
from holdfast.intake.follow import Follower
from holdfast.model import Caller, Chat, CleanText
from holdfast.ops.declare import Operation, Stream
from holdfast.ops.tally import counted
from holdfast.settings import Settings
from holdfast.storable import check_storable
from holdfast.store.folder import DataFolder

PREFIX = "/agentmemory"

# Another command may hold the folder for the length of one write; a server holds it for good.
LOCK_TRIES = 50
LOCK_PAUSE_SECONDS = 0.1
ANSWER_SECONDS = 120.0
LONG_SECONDS = 6 * 3600.0  # what reads or writes a whole memory; a server that is gone is noticed at once all the same

# Operations that find by meaning.
SEARCHES = frozenset({"search", "smart_search"})
FOLLOW_SECONDS = 3.0


class Door(Protocol):
    """Calls operations somewhere."""

    place: str

    def call(self, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        """The operation's answer as JSON values.

        Raises:
            Fault: whatever the operation raised, of the same kind.
        """
        ...

    def close(self) -> None: ...


class LocalDoor:
    """An engine in this process."""

    def __init__(self, engine: Engine, caller: Caller, *, here: bool = True):
        """Call operations for somebody who stands `here`, in this process's folder, or elsewhere."""
        self.engine = engine
        self._here = here
        self.caller = caller
        self.place = str(engine.folder.home)
        self._follower = Follower(engine.store, engine.embedder, engine.clock)

    def _follow(self) -> None:
        """Without a server nobody makes vectors: what waits gets its own before a search, as far as some seconds go."""
        embedder, clock = self.engine.embedder, self.engine.clock
        if self._follower.store is not self.engine.store:  # another generation is live now
            self._follower = Follower(self.engine.store, embedder, clock)
        if embedder is None or self._follower.is_done():
            return
        try:
            embedder.embed_query(CleanText(""))  # loads the model if it is here, and downloads nothing
        except (EmbedderUnavailable, UpstreamFailed):
            return
        ends = clock.steady() + FOLLOW_SECONDS
        while clock.steady() < ends and self._follower.step():
            pass

    def call(self, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        self.engine.try_again()
        if operation.name in SEARCHES:
            self._follow()
        if self._here:
            arguments = _from_here(operation, arguments)
        with counted(self.engine.metrics, operation.name):
            answer = operation.call(self.engine.desk(self.caller), arguments)
        return orjson.loads(b"".join(answer.pieces)) if isinstance(answer, Stream) else answer

    def close(self) -> None:
        self.engine.close()


class RemoteDoor:
    """A running server."""

    def __init__(self, url: str, credential: str | None, chat: Chat | None = None):
        headers = {"Authorization": f"Bearer {credential}"} if credential else {}
        if chat:
            headers |= {"Holdfast-Umo": quote(chat.umo)} | (
                {"Holdfast-Sender": quote(chat.sender_id)} if chat.sender_id else {}
            )
        self._http = httpx.Client(base_url=url, headers=headers, timeout=ANSWER_SECONDS, trust_env=False)
        self.place = url

    def call(self, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        _check_text(operation, arguments)
        path, rest = _path(operation, _from_here(operation, arguments))
        patience = LONG_SECONDS if operation.long else ANSWER_SECONDS
        timeout = httpx.Timeout(ANSWER_SECONDS, read=patience)
        try:
            if operation.method == "GET":
                answer = self._http.get(PREFIX + path, params=_query(rest), timeout=timeout)
            else:
                body = orjson.dumps(rest)
                headers = {"Content-Type": "application/json"}
                url = PREFIX + path
                answer = self._http.request(operation.method, url, content=body, headers=headers, timeout=timeout)
        except httpx.ReadTimeout as error:
            raise _unanswered(operation, patience) from error
        except httpx.HTTPError as error:
            raise ServerUnreachable(f"{operation.name}: no answer from {self.place}") from error
        return _answer(operation, answer)

    def close(self) -> None:
        self._http.close()


def _check_text(operation: Operation, arguments: Mapping[str, Any]) -> None:
    """What is no text could not be sent; a word of the command line may be any bytes.

    Raises:
        InvalidRequest: there is such an argument.
    """
    try:
        check_storable(dict(arguments))
    except InvalidRequest as fault:
        raise InvalidRequest(f"{operation.name}: an argument {fault.message}") from None


def _unanswered(operation: Operation, patience: float) -> Fault:
    """The server took the request and has not answered: it may well be at work, and is not unreachable."""
    hint = "Ask what became of it before you ask for it again."
    if operation.name.startswith("snapshot_"):
        hint = "Ask what became of it with holdfast snapshot status before you ask for it again."
    return AnswerLate(f"{operation.name}: the server has not answered for {patience:g} s and may be at work", hint=hint)


def _from_here(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with whole paths: the server stands in another folder."""
    given = dict(arguments)
    for name in operation.paths:
        value = given.get(name)
        if isinstance(value, str) and value and not _is_vault(value) and (name not in _NAMES or _is_file(value)):
            given[name] = str(Path(value).expanduser().absolute())
    return given


_NAMES = ("id", "a", "b")  # arguments that name a snapshot
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _is_vault(text: str) -> bool:
    """Whether it names a vault that is no folder, or was meant to: a wrong word before a colon makes no folder."""
    return "://" in text or (_SCHEME.match(text) is not None and not Path(text).exists())


def _is_file(text: str) -> bool:
    """Whether an argument that may be an id or a path is a path."""
    return "/" in text or text.endswith((".zst", ".age", ".json", ".sha256"))


def _path(operation: Operation, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    path = operation.path
    for name in re.findall(r"\{(\w+)\}", path):
        value = str(arguments.get(name) or "")
        if not value:  # it would be another path; the operation itself says what is wrong
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


def _answer(operation: Operation, answer: httpx.Response) -> Any:
    try:
        body = orjson.loads(answer.content)
    except ValueError:
        raise ServerUnreachable(
            f"{operation.name}: {answer.url.host} answered {answer.status_code} and no JSON",
            hint="Is another program listening there? Check --url and AGENTMEMORY_URL.",
        ) from None
    if answer.is_success:
        return body
    raise fault_from(body if isinstance(body, dict) else {}, answer.status_code)


_BY_CODE = {fault.code: fault for fault in every_fault()}


def fault_from(body: Mapping[str, Any], status: int) -> Fault:
    """The fault that a server's error answer stands for."""
    kind = _BY_CODE.get(str(body.get("code")), Fault)
    shown = {"error", "code", "hint", "retryable"}
    details = {name: value for name, value in body.items() if name not in shown}
    fault = kind(str(body.get("error", f"the server answered {status}")), hint=body.get("hint"), details=details)
    if (cause := _BY_CODE.get(str(body.get("cause")))) is not None:  # it ends a command as its cause would
        fault.exit_code = cause.exit_code
    return fault


def open_door(settings: Settings, pause: Callable[[float], None] = time.sleep, *, chat: Chat | None = None) -> Door:
    """The door that the settings mean: the named server, the one running on the folder, or the folder itself.

    With a chat, whatever is called through it is called from there.

    Raises:
        DataLocked: the folder is held by a process that cannot be reached.
    """
    if settings.url:
        return RemoteDoor(settings.url, settings.secret, chat)
    folder = DataFolder(settings.folder)
    for _ in range(LOCK_TRIES):
        card = folder.announced() if folder.home.is_dir() else None
        if card:
            return RemoteDoor(str(card.get("url")), settings.secret or str(card.get("token")), chat)
        try:
            return LocalDoor(Engine(settings, rescue=True), Caller(chat=chat))
        except DataLocked as fault:
            last = fault
            pause(LOCK_PAUSE_SECONDS)
    raise last


class OpenDoor:
    """A door for the length of a block."""

    def __init__(self, settings: Settings, chat: Chat | None = None):
        self._settings = settings
        self._chat = chat

    def __enter__(self) -> Door:
        self._door = open_door(self._settings, chat=self._chat)
        return self._door

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._door.close()
