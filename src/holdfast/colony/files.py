"""The files of a vault behind any client of it. Its answers are checked here, and its errors become our faults.

A client that can make conditional writes (`holdfast.colony.colony_client`) is used that way, so that two writers cannot
overwrite each other's files; with others the last one wins.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from holdfast.colony.inventory import ListedFile, VaultListing
from holdfast.core.errors import (
    ColonyConflict,
    ColonyMemoryError,
    ColonyRateLimited,
    ColonyRefused,
    ColonyUnreachable,
    QuotaExceeded,
)
from holdfast.core.ports import Clock

# By the API's description uploads and deletions share one count; the SDK's has 60 of each. We plan for the former.
OPERATIONS_PER_HOUR = 60
HOUR = 3600.0
# A vault reports 0 until its first write, and has this much then.
FIRST_QUOTA = 10 * 1024 * 1024

_FULL = {"QUOTA_EXCEEDED", "LIMIT_EXCEEDED"}
_MOST_PAGES = 10_000


@runtime_checkable
class VaultBackend(Protocol):
    """The methods used of `colony_sdk.ColonyClient`; any object with these methods will do."""

    def vault_status(self) -> Any: ...
    def vault_list_files(self) -> Any: ...
    def vault_get_file(self, filename: str) -> Any: ...
    def vault_upload_file(self, filename: str, content: str) -> Any: ...
    def vault_delete_file(self, filename: str) -> Any: ...


class FileMissing(Exception):
    """The vault reports that there is no such file."""


@dataclass(frozen=True, slots=True)
class FileContent:
    text: str
    etag: str | None


class VaultFiles:
    """A vault's files. Every method raises ColonyMemoryError on any failure."""

    def __init__(self, backend: VaultBackend, clock: Clock):
        self._backend = backend
        self._clock = clock
        self._changes: deque[float] = deque()
        self._conditional: Callable[..., Any] | None = getattr(backend, "vault_put_file", None)
        # Only Colony itself counts; the SDK's client is known by what it keeps of the answers' headers.
        self._limited = hasattr(backend, "last_rate_limit")

    def status(self) -> dict[str, Any]:
        return _object(self._ask("status", self._backend.vault_status), "status")

    def room(self) -> int | None:
        """Bytes that can still be stored; None when the vault does not report it."""
        status = self.status()
        quota, used, free = (status.get(key) for key in ("quota_bytes", "used_bytes", "available_bytes"))
        if type(quota) is int and quota == 0:
            return max(FIRST_QUOTA - used, 0) if type(used) is int else FIRST_QUOTA
        return free if type(free) is int else None

    def list(self) -> VaultListing:
        return VaultListing(self._listed())

    def _listed(self) -> Iterator[ListedFile]:
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            answer = self._page(cursor)
            entries = _entries(answer)
            yield from map(_stored, entries)
            following = _following(answer, len(entries), cursor is None)
            if following is None:
                return
            if following == cursor:
                break
            cursor = following
        raise ColonyUnreachable("list: the pages of the vault's listing do not end")

    def _page(self, cursor: str | None) -> Any:
        listing = self._backend.vault_list_files
        if cursor is None:
            return self._ask("list", listing)
        if "cursor" not in inspect.signature(listing).parameters:
            raise ColonyUnreachable("list: the vault has more files than its client can list")
        return self._ask("list", lambda: listing(cursor=cursor))  # type: ignore[call-arg]

    def read(self, name: str) -> FileContent:
        """The text of a file.

        Raises:
            Missing: the vault reports that there is none of that name.
        """
        answer = _object(self._ask(f"read {name}", lambda: self._backend.vault_get_file(name), name), f"read {name}")
        text, etag = answer.get("content"), answer.get("etag")
        if not isinstance(text, str):
            raise ColonyUnreachable(f"read {name}: the vault's answer has no content")
        return FileContent(text, etag if isinstance(etag, str) else None)

    def create(self, name: str, text: str) -> None:
        """Store a file of a new name.

        Raises:
            ColonyConflict: there is another of that name.
        """
        if self._conditional is None:
            self._upload(name, text)
            return
        try:
            self._put(name, text, if_none_match=True)
        except ColonyConflict:
            # A request whose answer was lost is repeated, and then the file is there already: our own.
            try:
                mine = self.read(name).text == text
            except FileMissing:
                mine = False
            if not mine:
                raise

    def replace(self, name: str, text: str, etag: str | None) -> None:
        """Store a file in place of the one that was read.

        Raises:
            ColonyConflict: it has changed since.
        """
        if self._conditional is None or etag is None:
            self._upload(name, text)
        else:
            self._put(name, text, if_match=etag)

    def delete(self, name: str) -> None:
        """Remove a file; one that is gone already is no error."""
        self._count()
        try:
            self._ask(f"delete {name}", lambda: self._backend.vault_delete_file(name), name)
        except FileMissing:
            return

    def delete_all(self, names: Iterable[str]) -> None:
        """Remove files in this order."""
        for name in names:
            self.delete(name)

    def changes_left(self, listing: VaultListing) -> int | None:
        """How many more changes the vault takes in this hour, as far as is known here; None: no limit.

        What other processes wrote within the hour shows in the listing. What they deleted does not.
        """
        if not self._limited:
            return None
        hour_ago = self._clock.now_ms() - HOUR * 1000
        seen = sum(one.updated_ms is not None and one.updated_ms > hour_ago for one in listing)
        self._forget()
        return max(OPERATIONS_PER_HOUR - max(len(self._changes), seen), 0)

    def seconds_to_wait(self) -> int:
        """When the oldest of our changes stops counting."""
        self._forget()
        return int(self._changes[0] + HOUR - self._clock.steady()) + 1 if self._changes else int(HOUR)

    def _upload(self, name: str, text: str) -> None:
        self._count()
        self._ask(f"write {name}", lambda: self._backend.vault_upload_file(name, text))

    def _put(self, name: str, text: str, **condition: Any) -> None:
        put = self._conditional
        assert put is not None
        self._count()
        self._ask(f"write {name}", lambda: put(name, text, **condition))

    def _count(self) -> None:
        self._changes.append(self._clock.steady())

    def _forget(self) -> None:
        while self._changes and self._changes[0] <= self._clock.steady() - HOUR:
            self._changes.popleft()

    def _ask(self, doing: str, call: Callable[[], Any], name: str | None = None) -> Any:
        """The client's answer. Whatever it raises becomes one of our faults; of a file by name it may be Missing."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 a client may raise anything; all of it is raised again as a fault
            fault = _fault(error, doing, name)
        raise fault  # out here: the client's error may hold what was stored, and would be chained


def _fault(error: Exception, doing: str, name: str | None) -> Exception:
    if isinstance(error, ColonyMemoryError):
        return error
    if name is not None and _is_missing(error, name):
        return FileMissing(name)
    status, code = getattr(error, "status", None), getattr(error, "code", None)
    said = f"{doing}: the vault returned status {status}" + (f" {code}" if isinstance(code, str) else "")
    if status == 400 and code in _FULL:
        return QuotaExceeded(said)
    if status == 429:
        wait = getattr(error, "retry_after", None)
        return ColonyRateLimited(said, details={"retry_after": wait if isinstance(wait, int | float) else None})
    if status in (409, 412):
        return ColonyConflict(said)
    if isinstance(status, int) and 400 <= status < 500:
        return ColonyRefused(said)
    if isinstance(status, int) and status > 0:
        return ColonyUnreachable(said)
    return ColonyUnreachable(f"{doing}: the vault returned no usable response ({type(error).__name__})")


def _is_missing(error: Exception, name: str) -> bool:
    """As reported by HTTP, or by a dict or a folder that stands in for a vault."""
    if isinstance(error, KeyError):
        return error.args == (name,)
    return getattr(error, "status", None) == 404 or isinstance(error, FileNotFoundError)


def _object(answer: Any, doing: str) -> dict[str, Any]:
    """The answer, out of the envelope that some clients leave around it."""
    if isinstance(answer, dict) and isinstance(answer.get("result"), dict):
        answer = answer["result"]
    if not isinstance(answer, dict):
        raise ColonyUnreachable(f"{doing}: the vault's response is not an object")
    return answer


def _entries(answer: Any) -> list[Any]:
    if isinstance(answer, list):
        return answer
    fields = _object(answer, "list")
    entries = fields["items"] if fields.get("items") is not None else fields.get("files")
    if not isinstance(entries, list):
        raise ColonyUnreachable("list: the vault's answer has no list of files")
    return entries


def _stored(entry: Any) -> ListedFile:
    if isinstance(entry, str):
        return ListedFile(entry)
    if not isinstance(entry, dict):
        raise ColonyUnreachable("list: an entry of the vault's listing is not a file")
    name, size = entry.get("filename") or entry.get("name"), entry.get("content_size")
    if not isinstance(name, str):
        raise ColonyUnreachable("list: an entry of the vault's listing has no name")
    return ListedFile(name, size if type(size) is int and size >= 0 else None, _millis(entry.get("updated_at")))


def _millis(text: object) -> int | None:
    if not isinstance(text, str):
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int(when.timestamp() * 1000) if when.tzinfo else None


def _following(answer: Any, count: int, first: bool) -> str | None:
    """The cursor of the next page; None after the last.

    Raises:
        ColonyUnreachable: there are more pages, but no cursor. A part must never be taken for the whole.
    """
    if isinstance(answer, list):
        return None
    fields = _object(answer, "list")
    cursor, total = fields.get("next_cursor"), fields.get("total")
    if cursor is not None and cursor != "":
        return str(cursor)
    if fields.get("has_more") or (first and type(total) is int and total > count):
        raise ColonyUnreachable("list: the vault listed only a part of its files")
    return None
