"""The store's port: tables of records, conditions over their columns, one transaction per write.

SQLite (store/sqlite) and PostgreSQL (store/postgres) are its engines. Nothing here knows SQL, files or threads. Every
call takes the tenant first, and no call can reach across tenants except the few whose docstring says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.core.errors import DataReadOnly, Fault
from holdfast.core.model import CleanText, Dispatch, Event, Json, Token
from holdfast.store.journal.journal_port import ChangeLog
from holdfast.store.vector_values import StoredVectors, VectorHit

R = TypeVar("R")
T = TypeVar("T")

Op = Literal["=", "!=", "<", "<=", ">", ">=", "in", "is null", "not null", "has", "any", "until"]


@dataclass(frozen=True, slots=True)
class IndexText:
    """What the word index sees of a record, and the hashes that find its near-duplicates."""

    title: str
    body: str
    tags: str
    sketch: tuple[int, ...] = ()
    scopes: tuple[str, ...] = ()  # made by `scope`: what conditions of a search this record can meet
    at: int = 0  # when it was said
    codes: str = ""  # words by which names in it are also found; they do not make it longer


SCOPE = "\x01"  # the first character of a term that is no word; no word has it
SCOPE_CHARS = 64


def scope(table: str, column: str = "", value: Any = "") -> str:
    """A condition in the index of words: rows of the table whose column is, or holds, the value."""
    text = str(int(value)) if isinstance(value, bool) else str(value)
    if len(text) > SCOPE_CHARS or not text.isprintable():
        text = blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return f"{SCOPE}{table}.{column}={text}" if column else f"{SCOPE}{table}"


@dataclass(frozen=True, eq=False)  # each is itself: looked up by identity many times in every write
class Table(Generic[R]):
    """One kind of record. `index` gives the searchable text of tables that recall looks into, `scoped` the columns
    whose values it lists there, `passage` the text whose meaning their vectors stand for."""

    name: str
    record: type[R]
    index: Callable[[R], IndexText] | None = None
    passage: Callable[[R], CleanText] | None = None
    scoped: tuple[str, ...] = ()
    timed: str = ""  # the column that holds the time
    told: bool = False  # memory: every write of it is published to the broker, if there is one
    counted: bool = False  # its records and their text count towards a quota

    def scopes(self, record: R) -> tuple[str, ...]:
        """What conditions the record meets."""
        found = [scope(self.name)]
        for column in self.scoped:
            value = getattr(record, column)
            if isinstance(value, tuple):
                found += [scope(self.name, column, one) for one in value]
            elif value is not None:
                found.append(scope(self.name, column, value))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Condition:
    """column op value. `has`: a list column contains the value. `any`: it contains one of the values. `until`: the
    column is empty or later."""

    column: str
    op: Op
    value: Any = None


def where(**equal: Any) -> tuple[Condition, ...]:
    """Equality conditions for every argument that is not None."""
    return tuple(Condition(column, "=", value) for column, value in equal.items() if value is not None)


class WordHit(NamedTuple):
    """A record that holds the words, and how well (higher is better)."""

    seq: int
    score: float


class WordCount(NamedTuple):
    """A record's length in words, and the weight of each query term that it holds."""

    length: int
    weights: dict[str, float]


class Candidates(Protocol):
    """The records among which words were looked for, as they were at that moment."""

    def counted(self, seqs: Sequence[int]) -> dict[int, WordCount]:
        """How often given records hold the terms of the query, by seq."""
        ...

    def meeting(self, seqs: Sequence[int]) -> set[int]:
        """Those of given records that meet the conditions."""
        ...

    def complete(self, longest: int, most: int) -> list[int]:
        """Records within the conditions that hold every term of the query and have at most so many terms, the shortest
        first and of equals the newest; at most `most`."""
        ...


@dataclass(frozen=True, slots=True)
class WordHits:
    """The best matches, and what is usual among the records they were taken from."""

    hits: list[WordHit]
    inside: (
        int  # records within the conditions, whatever their words; more than meet all if some need a look at the row
    )
    documents: int
    average_length: float
    frequency: dict[str, int]  # in how many records each term of the query stands
    among: Candidates


@dataclass(frozen=True, slots=True)
class Waiting:
    """A record that waits for its vector. The ticket changes with its text."""

    tenant: str
    source: str
    seq: int
    ticket: int


@dataclass(frozen=True, slots=True)
class MadeVector:
    """The vector of a record that waited, one row for each part of its text, and the hash of that text."""

    waiting: Waiting
    hash: bytes
    numbers: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Missing:
    """Records of a table, up to a sequence number, that have no vector of the model."""

    source: str
    upto: int
    rows: tuple[tuple[int, str], ...]  # sequence number and tenant
    tenant: str | None = None  # whose records were looked through; None: of all


class Usage(NamedTuple):
    """What a tenant's memory holds of what quotas count (`tables.COUNTED`)."""

    records: int
    bytes: int  # of their text, in UTF-8


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

    def spread(self, table: Table[Any], tenant: str, width: int, *conditions: Condition) -> dict[int, int]:
        """How many records lie in each span of so many milliseconds, by the span's number since 1970. The table must
        have a time."""
        ...

    def newest(self, table: Table[Any], tenant: str, limit: int, *conditions: Condition) -> NDArray[np.int64]:
        """The seqs of the last stored records that meet the conditions, in order. The table must be in the index of
        words, and its scopes cover the conditions."""
        ...

    def words(
        self, table: Table[Any], tenant: str, query: Sequence[str], conditions: Sequence[Condition], limit: int
    ) -> WordHits:
        """Best matches of a query made by `words.query`, conditions applied before the limit."""
        ...

    def beside(
        self,
        table: Table[Any],
        tenant: str,
        column: str,
        around: Mapping[str, Sequence[int]],
        reach: int,
        conditions: Sequence[Condition] = (),
    ) -> dict[str, list[int]]:
        """For each value of a scoped column, such as a session: the records that stand at most `reach` places from
        the given ones among all of that value, by when they were said.

        Where the conditions are those of a caller in a chat, what it may not see takes no place.
        """
        ...

    def within(
        self, table: Table[Any], tenant: str, conditions: Sequence[Condition], most: int
    ) -> NDArray[np.int64] | None:
        """The seqs of all records that meet the conditions, in order; None if they are more than `most`."""
        ...

    def values(
        self, table: Table[Any], tenant: str, columns: Sequence[str], seqs: Sequence[int], *conditions: Condition
    ) -> list[tuple[Any, ...]]:
        """Some columns, as they are stored, of those of the records that meet the conditions."""
        ...

    def recalls(self, tenant: str, seqs: Sequence[int]) -> dict[int, int]:
        """How often searches returned these records, by seq; without those that none returned."""
        ...

    def last_recalls(self, tenant: str, seqs: Sequence[int]) -> dict[int, tuple[int, int]]:
        """The same, each with the moment of its last recall; 0 where that is not known."""
        ...

    def tokens_by_id(self, id: str) -> list[Token]:
        """Tokens of that id in any tenant: the one look-up made before the tenant is known."""
        ...

    def tenants(self) -> list[str]:
        """Every tenant that has records, for background work."""
        ...

    def sizes(self) -> dict[str, int]:
        """How many records each table holds, of all tenants; without those that hold none."""
        ...

    def dispatches(self, limit: int, after: int = 0) -> list[Dispatch]:
        """The first events of any tenant that wait for the broker, from a place on; those of a tenant in the order of
        its writes."""
        ...

    def undispatched(self, tenant: str | None = None) -> int:
        """How many events wait for the broker: of a tenant, or of all."""
        ...

    def nearest(
        self,
        tenant: str,
        model: str,
        query: NDArray[np.float32],
        limit: int,
        allowed: NDArray[np.int64] | None = None,
        among: Candidates | None = None,
    ) -> list[VectorHit]:
        """Records of which a part is nearest in meaning to the query's vector, best first; `allowed` holds the only
        ones to look at.

        Only records that meet the conditions of `among` count; where few do, fewer are found than there are. Only
        vectors of that model count: while records wait for theirs, they are not found.
        """
        ...

    def vectors(self, tenant: str, model: str, dims: int, seqs: Sequence[int] | NDArray[np.int64]) -> StoredVectors:
        """The vectors of these records; without those that have none of the model, or of so many numbers."""
        ...

    def pending(self, tenant: str | None = None) -> int:
        """Records that are queued for their vector: of a tenant, or of all."""
        ...

    def with_vector(self, tenant: str, model: str) -> int:
        """How many records have their vector of the model."""
        ...

    def index_work(
        self, limit: int, after: int = 0, *, newest: bool = False, without: Collection[str] = ()
    ) -> list[Waiting]:
        """The first records of any tenant, but for some, that wait for their vector, from a sequence number on; or the
        newest, newest first."""
        ...

    def known_vectors(self, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Vectors that were made before, a row for each part, by the hash of tenant, model and text."""
        ...

    def followed_model(self) -> str | None:
        """The model whose vectors are being made or are complete; None if there is none."""
        ...

    def missing(self, model: str, limit: int) -> Missing | None:
        """The next rows to look at for missing vectors, `limit` of them; None once all were looked through."""
        ...


class Tx(Reader, Protocol):
    """A write in progress. Nothing is visible to others, or acknowledged, before it is on disk."""

    def near(self, tenant: str, sketch: Sequence[int], limit: int) -> list[int]:
        """Sequence numbers of records that share hashes with the sketch, most first; some may be gone."""
        ...

    def next_seq(self, tenant: str) -> int:
        """The next place in the order of all writes to the tenant's memory; never given twice in it. A reader that
        sees one sees every smaller one that was given there."""
        ...

    def add(self, table: Table[R], record: R) -> None:
        """Store a new record. Its seq is one that `next_seq` gave; that of a deleted record is never used again.

        Raises:
            Conflict: the tenant has a record of that id already.
        """
        ...

    def replace(self, table: Table[R], record: R) -> None:
        """Store a record over the one with its tenant and id, or as a new one."""
        ...

    def index_again(self, table: Table[R], record: R) -> None:
        """Write the words of a stored record anew, if they differ from those it has."""
        ...

    def delete(self, table: Table[Any], tenant: str, id: str) -> bool:
        """Remove a record, its words, its sketch, its vector and its recalls; False if there was none."""
        ...

    def add_recalls(self, counts: Mapping[tuple[str, int], int], at: int = 0) -> None:
        """Add how often searches returned records, by tenant and seq, and until when; a record that is gone is passed
        over."""
        ...

    def put_vectors(self, model: str, made: Sequence[MadeVector]) -> int:
        """Store vectors and end their waiting, but not of records that changed meanwhile; how many were stored."""
        ...

    def done(self, work: Sequence[Waiting]) -> None:
        """End the waiting of records that are gone, or for which no vector is made."""
        ...

    def follow_model(self, model: str | None) -> None:
        """From now on vectors are made by this model: every row is to be checked. None: no vectors are made."""
        ...

    def queue(self, model: str, missing: Missing) -> None:
        """Let these rows wait for their vector, and note how far the table was looked through."""
        ...

    def publish(self, event: Event) -> None:
        """Hand an event to live readers once this write is on disk."""
        ...

    def dispatch(self, kind: str, tenant: str, agent: str | None, body: Json) -> None:
        """Let an event wait for the broker; nothing happens where there is none. Writes of memory do it themselves."""
        ...

    def dispatched(self, sent: Sequence[Dispatch]) -> None:
        """End the waiting of the first events, as `dispatches` gave them: the broker has them."""
        ...

    def take_over(self, waiting: Sequence[Dispatch]) -> None:
        """Let events that wait in another store wait here, behind those that do already."""
        ...

    def usage(self, tenant: str) -> Usage:
        """What the tenant's memory holds, with what this write has done so far."""
        ...

    def take_allowance(self, tenant: str, name: str, rate: float, burst: float, now: float) -> float:
        """As `Fleet.take_request`, undone with this write; `now`: of a steady clock, if the store has none."""
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
        """A reader that sees one committed state until the block ends."""
        ...

    def write(self, job: Callable[[Tx], T], *, again: bool = False) -> T:
        """Run the job in a transaction and return its result once it is durable.

        Jobs of several threads share one commit; one that raises is rolled back alone. A write made inside
        another is part of it: durable when the outer one is. `again` allows the job to be run once more from its
        start, where a connection was lost. A job that another server's lock kept from storing anything
        is run again in any case.

        Raises:
            StorageFull: no room; nothing was stored.
            StorageFailed: the disk failed; nothing was acknowledged and writing has stopped.
        """
        ...

    def usage(self, tenant: str) -> Usage:
        """What the tenant's memory holds."""
        ...

    def last_seq(self, tenant: str | None = None) -> int:
        """The last place given in the order of writes to the tenant's memory, or a later one; without a tenant, a
        number that moves whenever a record of any is stored."""
        ...

    def last_seqs(self, *, own: bool = False) -> Mapping[str, int]:
        """The last place by tenant, of all that have a memory. `own`: at least of those that this process wrote to
        since it opened the store, as far as it wrote, which costs no look into a database elsewhere."""
        ...

    def compact_words(self, least: int | None = None, stop: Callable[[], bool] = ..., thorough: bool = False) -> int:
        """Gather the words of new rows where a search adds them up faster; how many parts were written.

        Nothing depends on it but speed: rows that are not compacted are still found.
        """
        ...

    def change_log(self) -> ChangeLog | None:
        """What a journal in the vault still lacks; None for engines that archive their own log."""
        ...

    def failure(self, tenant: str | None = None) -> Fault | None:
        """The fault that every write gets, or None while all is well; with a tenant also the fault that writes to its
        memory get, where tenants have theirs apart."""
        ...

    def check_pages(self) -> bool:
        """Whether all of it can be read, without comparing anything: much quicker than `verify`."""
        ...

    def verify(self) -> list[Finding]:
        """Everything that is not as it was written."""
        ...

    def repair_index(self) -> int:
        """Rebuild the word index from the rows, and drop vectors that are wrong; how many rows it covers."""
        ...

    def close(self) -> None: ...


def is_damaged(store: Store, tenant: str) -> bool:
    """Whether it is open, and the tenant's memory is known to be damaged and takes no writes."""
    return isinstance(store.failure(tenant), DataReadOnly)
