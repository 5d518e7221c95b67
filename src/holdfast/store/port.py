"""The store's port: tables of records, conditions over their columns, one transaction per write.

Both engines fulfil it. Nothing here knows SQL, files or threads. Every call takes the tenant first, and no
call can reach across tenants except the few that say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from holdfast.model import Event, Token

R = TypeVar("R")
T = TypeVar("T")

Op = Literal["=", "!=", "<", "<=", ">", ">=", "in", "is null", "not null", "has", "until"]


@dataclass(frozen=True, slots=True)
class IndexText:
    """What the word index sees of a record, and the hashes that find its near-duplicates."""

    title: str
    body: str
    tags: str
    sketch: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)  # each is itself: looked up by identity many times in every write
class Table(Generic[R]):
    """One kind of record. `index` gives the searchable text of tables that recall looks into."""

    name: str
    record: type[R]
    index: Callable[[R], IndexText] | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """column op value. `has`: a list column contains the value. `until`: the column is empty or later."""

    column: str
    op: Op
    value: Any = None


def where(**equal: Any) -> tuple[Condition, ...]:
    """Equality conditions for every argument that is not None."""
    return tuple(Condition(column, "=", value) for column, value in equal.items() if value is not None)


@dataclass(frozen=True, slots=True)
class WordHit:
    """A record that holds the words, and how well (higher is better)."""

    seq: int
    score: float


class Reader(Protocol):
    """One consistent view of the committed store."""

    def get(self, table: Table[R], tenant: str, id: str) -> R | None: ...

    def find(
        self,
        table: Table[R],
        tenant: str,
        *conditions: Condition,
        order: str = "-seq",
        limit: int | None = None,
        offset: int = 0,
    ) -> list[R]:
        """Records that meet all conditions; `order` is a column, with a minus for descending."""
        ...

    def each(self, table: Table[R], tenant: str, *conditions: Condition, order: str = "seq") -> Iterator[R]:
        """The same, streamed: bounded memory whatever the number."""
        ...

    def count(self, table: Table[Any], tenant: str, *conditions: Condition) -> int: ...

    def words(
        self, table: Table[Any], tenant: str, query: str, conditions: Sequence[Condition], limit: int
    ) -> list[WordHit]:
        """Best matches of a query made by `words.query`, conditions applied before the limit."""
        ...

    def tokens_by_id(self, id: str) -> list[Token]:
        """Tokens of that id in any tenant: the one look-up made before the tenant is known."""
        ...

    def tenants(self) -> list[str]:
        """Every tenant that has records, for background work."""
        ...

    def pending(self, tenant: str | None = None) -> int:
        """Index work not yet done: of a tenant, or of all."""
        ...


class Tx(Reader, Protocol):
    """A write in progress. Nothing is visible to others, or acknowledged, before it is on disk."""

    def near(self, tenant: str, sketch: Sequence[int], limit: int) -> list[int]:
        """Sequence numbers of records that share hashes with the sketch, most first; some may be gone."""
        ...

    def next_seq(self) -> int:
        """The next place in the order of all writes; never given twice."""
        ...

    def add(self, table: Table[R], record: R) -> None:
        """Store a new record.

        Raises:
            Conflict: the tenant has a record of that id already.
        """
        ...

    def replace(self, table: Table[R], record: R) -> None:
        """Store a record over the one with its tenant and id, or as a new one."""
        ...

    def delete(self, table: Table[Any], tenant: str, id: str) -> bool:
        """Remove a record, its words and its sketch; False if there was none."""
        ...

    def publish(self, event: Event) -> None:
        """Hand an event to live readers once this write is on disk."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that verification found wrong."""

    kind: str  # row_changed, row_missing, row_added, counter_behind, schema_changed, page_damaged, index_out_of_step
    table: str
    id: str
    message: str


class Store(Protocol):
    def read(self) -> Reader:
        """A reader for this thread; each call sees the newest committed state."""
        ...

    def snapshot(self) -> AbstractContextManager[Reader]:
        """A reader for which time stands still until the block ends."""
        ...

    def write(self, job: Callable[[Tx], T], *, again: bool = False) -> T:
        """Run the job in a transaction and return its result once it is durable.

        Jobs of several threads share one commit; one that raises is rolled back alone. A write made inside
        another is part of it: durable when the outer one is. `again` says that the job may be run once more from
        its start, which lets the writes inside it be cheaper.

        Raises:
            StorageFull: no room; nothing was stored.
            StorageFailed: the disk failed; nothing was acknowledged and writing has stopped.
        """
        ...

    def take_index_work(self, limit: int) -> int:
        """Mark up to that many waiting index entries as done; how many there were."""
        ...

    def failure(self) -> str | None:
        """Why writing has stopped, or None while all is well."""
        ...

    def verify(self) -> list[Finding]:
        """Everything that is not as it was written."""
        ...

    def repair_index(self) -> int:
        """Build the word index anew from the rows; how many rows it covers."""
        ...

    def close(self) -> None: ...
