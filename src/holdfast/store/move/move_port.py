"""What a move needs of the store that it reads and of the one that it fills. Each engine fulfils both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from holdfast.store.port import Finding
from holdfast.store.portable import FileVector


class Rows(Protocol):
    """What a tenant's checksums are made of."""

    def rows(self, tenant: str, table: str, columns: Sequence[str], order: str) -> Iterator[tuple[Any, ...]]: ...

    def vectors(self, tenant: str) -> Iterator[FileVector]:
        """In the order of their records."""
        ...


class View(Rows, Protocol):
    """A store that is only read."""

    def tenants(self) -> list[str]:
        """Those that have a record, a token or an event."""
        ...

    def close(self) -> None: ...


class Source(View, Protocol):
    """The store that is moved. Nothing in it changes."""

    def records(self, tenant: str) -> int:
        """How many the tenant has, tokens and answers among them."""
        ...

    def tag(self, tenant: str) -> str:
        """Changes whenever the tenant is written to."""
        ...

    def capture(self, into: Path, tenant: str) -> None:
        """Write all of a tenant as it is at one moment into a portable file, with its tokens, answers and events."""
        ...


class Target(View, Protocol):
    """The store that is filled."""

    @property
    def durable(self) -> bool:
        """Whether a tenant is live as soon as it was put; if not, all are at `finish`."""
        ...

    def put(self, file: Path, tenant: str) -> None:
        """Take a tenant over from its file, in the place of what was there."""
        ...

    def complete(self) -> None:
        """Let `rows`, `vectors` and `verify` read what was put. Nothing is put afterwards."""
        ...

    def verify(self) -> list[Finding]: ...

    def finish(self) -> None:
        """Make what was put live, if it is not: the commit point."""
        ...


class EmptyStore:
    """A target that is not there yet; fulfils `View`."""

    def tenants(self) -> list[str]:
        return []

    def rows(self, tenant: str, table: str, columns: Sequence[str], order: str) -> Iterator[tuple[Any, ...]]:
        return iter(())

    def vectors(self, tenant: str) -> Iterator[FileVector]:
        return iter(())

    def close(self) -> None:
        """Nothing is open."""
