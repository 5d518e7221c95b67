"""What a store that keeps a journal in the vault records of its own writes, and the values a journal is made of.

The embedded store records in each commit which rows it changed, not what they hold. A piece of the journal has these
rows as they are when it is cut, so what was forgotten meanwhile is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Values = Sequence[Any]  # of a row in the order of its columns, its checksum last
Rows = Mapping[str, Sequence[Values]]  # by table
Numbers = Mapping[str, Sequence[int]]  # of rows, by table


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """The last piece of a tenant's journal that the vault has, and up to where in the order of writes it reaches."""

    line: str
    number: int
    hash: str  # "" before the first
    place: int
    seeded: bool  # the line holds all that was there when it began

    @property
    def text(self) -> str:
        """As a manifest has it."""
        return f"{self.line}:{self.number}:{self.hash}"


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows that were changed, as they are now, and those that are gone."""

    place: int  # up to here in the order of writes
    whole: bool  # nothing else was changed: with them the memory is as it was at one moment
    seq: int  # the counter of writes at that moment
    put: Rows
    gone: Numbers

    @property
    def count(self) -> int:
        return sum(map(len, self.put.values())) + sum(map(len, self.gone.values()))


class ChangeLog(Protocol):
    """The changes of a store that are still to be written to its journal."""

    def is_on(self) -> bool:
        """Whether commits record what they change."""
        ...

    def begin(self, tenant: str, line: str, seed_most: int) -> JournalPlace:
        """Begin a line: from now on all changes are recorded. Where the tenant has at most so many rows, all of them
        count as changed, so that the line holds the whole memory."""
        ...

    def end(self) -> None:
        """Record nothing more, and forget what was recorded."""
        ...

    def place(self, tenant: str) -> JournalPlace | None:
        """How far the vault has the tenant's journal; None if no line was begun."""
        ...

    def waiting(self) -> list[str]:
        """Tenants of whom changes are recorded that the vault has not confirmed."""
        ...

    def take(self, tenant: str, after: int) -> Changes | None:
        """The next changes after that place; None if there are none.

        Raises:
            DataDamaged: a row is not as it was written.
        """
        ...

    def bound(self, tenant: str) -> None:
        """Keep what waits small while the vault takes nothing."""
        ...

    def followed(self, tenant: str) -> JournalPlace | None:
        """Up to where this copy has another host's journal; None if that was never noted."""
        ...

    def follow(self, tenant: str, place: JournalPlace, seq: int, apply: Callable[[Any], None]) -> None:
        """Write what another host's journal has up to that place, and note the place in the same commit. `seq` is its
        counter of writes then."""
        ...

    def confirm(self, tenant: str, place: JournalPlace) -> None:
        """The vault has the journal up to there: what was recorded before is forgotten."""
        ...
