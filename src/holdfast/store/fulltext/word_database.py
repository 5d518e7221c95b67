"""What the word index needs of a database: statements of the SQL that all engines share, with `?` for each value.

Rows are kept by tenant. An engine whose tables are keyed otherwise translates the statements, and gives its own key
where a tenant is expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol


class Answer(Protocol):
    """The rows of a statement."""

    @property
    def get(self) -> Any:
        """The first row, or its value if it has only one; None if there is no row."""
        ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """One connection."""

    def execute(self, sql: str, values: Any = ..., /) -> Answer: ...

    def executemany(self, sql: str, many: Iterable[Any], /) -> Any: ...

    def get_autocommit(self) -> bool:
        """Whether no transaction is open."""
        ...
