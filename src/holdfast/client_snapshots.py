"""The snapshots of a memory, for Python: the operations by their short names, and a past memory to read."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from holdfast.core.model import Json

Call = Callable[..., Any]
Records = list[Json]  # in Snapshots the word `list` means the method


class Past:
    """A memory as it was when a snapshot was made; it can be queried, not changed."""

    def __init__(self, call: Call, id: str, identity: str | None):
        self._call, self._identity = call, identity
        self.id = id

    def search(self, query: str, **bounds: Any) -> list[Json]:
        """The best records for a question that were known then."""
        answer: Json = self._call("snapshot_search", id=self.id, query=query, identity=self._identity, **bounds)
        found: list[Json] = answer["results"]
        return found

    def __enter__(self) -> Past:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held between questions."""


class Snapshots:
    """What can be done with the snapshots of one memory. Arguments are those of the operations."""

    def __init__(self, call: Call):
        self._call = call

    def create(self, label: str = "", **how: Any) -> Json:
        """Make one; its id, path and manifest."""
        return self._asked("snapshot_create", label=label, **how)

    def list(self) -> Records:
        """All of them, newest first."""
        found: Records = self._call("snapshot_list", limit=10_000)["snapshots"]
        return found

    def show(self, id: str) -> Json:
        """What one records about itself."""
        about: Json = self._call("snapshot_show", id=id)["snapshot"]
        return about

    def verify(self, id: str, **how: Any) -> Json:
        """What is wrong with one, if anything: `sound`, `findings`, and what could not be checked."""
        return self._asked("snapshot_verify", id=id, **how)

    def diff(self, a: str, b: str | None = None, **how: Any) -> Json:
        """What changed from one to the other, or to now."""
        return self._asked("snapshot_diff", a=a, b=b, **how)

    def search(self, id: str, query: str, **bounds: Any) -> Records:
        """What was known then."""
        return self.open(id).search(query, **bounds)

    def open(self, id: str, *, identity: str | None = None) -> Past:
        """The memory as it was then."""
        return Past(self._call, self.show(id)["id"], identity)

    def restore(self, id: str, *, yes: bool = True, **how: Any) -> Json:
        """Make it the live memory; calling this is the confirmation."""
        return self._asked("snapshot_restore", id=id, yes=yes, **how)

    def drill(self, id: str | None = None, **how: Any) -> Json:
        """Restore one beside the live memory, any of the vault if none is named, and check it: `sound`, `drill`."""
        return self._asked("drill", id=id, **how)

    def merge(self, a: str, b: str = "now", *, yes: bool = True, **how: Any) -> Json:
        """Make one memory of two that went on apart; calling this is the confirmation. `dry_run` only shows."""
        return self._asked("snapshot_merge", a=a, b=b, yes=yes, **how)

    def undo(self, *, yes: bool = True) -> Json:
        """Take the last restore or merge back."""
        return self._asked("snapshot_undo", yes=yes)

    def salvage(self, generation: str | None = None, *, yes: bool = True, **how: Any) -> Json:
        """Save what can still be read of a damaged memory; calling this is the confirmation. `dry_run` only shows."""
        return self._asked("snapshot_salvage", generation=generation, yes=yes, **how)

    def export(self, id: str, to: str) -> Json:
        """Copy its files to a folder."""
        return self._asked("snapshot_export", id=id, to=str(to))

    def delete(self, id: str) -> Json:
        """Remove it."""
        return self._asked("snapshot_delete", id=id)

    def prune(self, keep: int = 0, **rules: Any) -> Json:
        """Remove what no rule keeps."""
        return self._asked("snapshot_prune", keep=keep, **rules)

    def _asked(self, operation: str, **arguments: Any) -> Json:
        answer: Json = self._call(operation, **arguments)
        return answer
