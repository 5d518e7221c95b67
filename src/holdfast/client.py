"""The Python client: a memory in a folder or behind a URL, with the same methods for both."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import TracebackType
from typing import Any

from holdfast.client_snapshots import Snapshots
from holdfast.connection import Connection, RemoteConnection, open_connection
from holdfast.core.model import Json
from holdfast.core.system import SystemClock
from holdfast.core.times import iso
from holdfast.ops.registry import BY_NAME
from holdfast.settings import load


class Holdfast:
    """A memory. `Holdfast("~/.holdfast")` opens a folder, `Holdfast("http://127.0.0.1:3111")` a server.

    A folder is reached through its server, which is started in the background if none runs: several processes may use
    one folder. With `daemon=False`, or HOLDFAST_DAEMON=off, this process opens the folder itself if no server runs, and
    no other process can use it until `close`.
    """

    def __init__(self, path_or_url: str | Path | None = None, *, secret: str | None = None, daemon: bool | None = None):
        self._connection = _connection(path_or_url, secret, daemon)
        self.snapshots = Snapshots(self.call)

    def call(self, operation: str, /, **arguments: Any) -> Any:
        """Call any operation by its name; see docs/operations.md.

        Raises:
            Fault: the operation's own.
        """
        known = BY_NAME[operation]
        fields = known.request.model_fields
        aliases = {name: field.alias or name for name, field in fields.items()}
        given = {aliases.get(name, name): value for name, value in arguments.items() if value is not None}
        return self._connection.call(known, given)

    def remember(self, content: str, **details: Any) -> Json:
        """Keep a fact; the stored memory."""
        memory: Json = self.call("remember", content=content, **details)["memory"]
        return memory

    def observe(
        self, session_id: str, hook_type: str, data: Json, *, timestamp: str | None = None, **details: Any
    ) -> Json:
        """Keep an event of a session; its observation id."""
        when = timestamp or iso(SystemClock().now_ms())
        answer: Json = self.call(
            "observe", session_id=session_id, hook_type=hook_type, data=data, timestamp=when, **details
        )
        return answer

    def search(self, query: str, **bounds: Any) -> list[Json]:
        """The best records for a question, best first."""
        results: list[Json] = self.call("search", query=query, **bounds)["results"]
        return results

    def context(self, project: str, **bounds: Any) -> str:
        """What an agent should know before it works on a project."""
        text: str = self.call("context", project=project, **bounds)["context"]
        return text

    def forget(self, memory_id: str, **who: Any) -> int:
        """Remove a memory for good, by its id or address; how many records went."""
        deleted: int = self.call("forget", memory_id=memory_id, **who)["deleted"]
        return deleted

    def export(self, **who: Any) -> Json:
        """Everything that the caller may see, as one document."""
        document: Json = self.call("export", **who)
        return document

    def to_progenly_export(self) -> Json:
        """The memory as that of a parent in a Progenly merge."""
        export: Json = self.call("progenly_export")
        return export

    def from_progenly_export(self, export: Json, *, replace: bool = False) -> Json:
        """Take such a memory in; what was taken, what was there already, and what was not taken."""
        strategy = "replace" if replace else "merge"
        answer: Json = self.call("import_", export_data=export, strategy=strategy)
        return answer

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Holdfast:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _connection(path_or_url: str | Path | None, secret: str | None, daemon: bool | None) -> Connection:
    text = str(path_or_url) if path_or_url is not None else None
    if text is not None and text.startswith(("http://", "https://")):
        return RemoteConnection(text.rstrip("/"), secret or load().secret)
    overrides: Json = {"secret": secret, "daemon": daemon}
    if text is not None:
        overrides |= {"home": text}
    settings = load(overrides)
    if text is not None and settings.url:
        # A folder was named: the environment's server is another memory.
        settings = dataclasses.replace(settings, url="")
    return open_connection(settings)
