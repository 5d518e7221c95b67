"""Connections to PostgreSQL: a pool, which space each one sees, what its errors mean, and one connection as the word
index uses it.

Row security of the database lets a connection see the rows of the space that it names and no others (see schema.py). It
names one when it is taken from the pool; one that names none sees no row of any tenant.
"""

from __future__ import annotations

import re
import select
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any, Final, Literal, TypeAlias

import psycopg
from pgvector.psycopg import register_vector
from psycopg import errors
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.types.array import ListDumper
from psycopg_pool import ConnectionPool, PoolTimeout

from holdfast.core.cleanup import OnFailure
from holdfast.core.errors import (
    DataDamaged,
    Fault,
    InvalidSettings,
    StorageFull,
    StoreForbidden,
    StoreUnreachable,
)
from holdfast.store.postgres.connect_faults import connect_fault, login_refusal, takes_no_writes

Space: TypeAlias = int | Literal["", "*", "any"]
NO_SPACE: Final = ""  # sees no rows of tenants
EVERY_SPACE: Final = "*"  # for the few statements that are about all tenants
ANY_SPACE: Final = "any"  # whichever the connection sees: for tables without rows of tenants
_SEE = "SELECT set_config('holdfast.space', %s, %s)"


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that knows which space it sees outside of transactions, and on which timeline its server is: a
    standby that is promoted begins a new one."""

    sees: Space = NO_SPACE
    timeline: str = ""


Connect: TypeAlias = Callable[[Space], AbstractContextManager[Connection]]

POOL_SIZE = 16
# For a connection, and for a lock: a caller is answered in bounded time. An address may allow more (connect_timeout).
WAIT_SECONDS = 10.0
LOST_SECONDS = 1.0  # for a connection, while the database is known to be lost
# Parallel scans of one tenant's rows are slower than plain ones, and compiling a statement takes longer than its run.
_SETTINGS = (
    "SET max_parallel_workers_per_gather = 0",
    "SET jit = off",
    "SET statement_timeout = '60s'",
    "SET lock_timeout = '10s'",
)

CONNECT_SECONDS = 5  # for each host of the address


def conninfo(url: str) -> str:
    """The address with what Holdfast adds to it where it says nothing: of several hosts the one that takes writes, and
    how long to wait for each.

    Raises:
        InvalidSettings: it is no address. The message of the library may hold the password and is left out.
    """
    try:
        given = conninfo_to_dict(url)
        numbers = [*str(given.get("port", "")).split(","), str(given.get("connect_timeout", "")).removeprefix("-")]
        if not all(one.isdecimal() for one in numbers if one):
            raise psycopg.ProgrammingError
        return make_conninfo(
            url,
            target_session_attrs=given.get("target_session_attrs", "read-write"),
            connect_timeout=given.get("connect_timeout", CONNECT_SECONDS),
            application_name=given.get("application_name", "holdfast"),
            # A server that vanishes without a word is noticed within some 15 seconds.
            keepalives_idle=given.get("keepalives_idle", 5),
            keepalives_interval=given.get("keepalives_interval", 3),
            keepalives_count=given.get("keepalives_count", 3),
            tcp_user_timeout=given.get("tcp_user_timeout", 15_000),
        )
    except psycopg.ProgrammingError:
        raise InvalidSettings(
            "HOLDFAST_STORE: this is not an address of PostgreSQL",
            hint="Write postgresql://user@host:port/name, with special characters in percent encoding.",
        ) from None


class Pool:
    """Connections that are made when they are needed, and made anew when they are lost."""

    def __init__(self, url: str):
        """Make the first one.

        Raises:
            StoreUnreachable: no connection can be made.
        """
        address = conninfo(url)
        self._wait_seconds = max(WAIT_SECONDS, float(conninfo_to_dict(address)["connect_timeout"] or 0))
        self._pool = ConnectionPool(
            address,
            connection_class=Connection,
            min_size=1,
            max_size=POOL_SIZE,
            timeout=self._wait_seconds,
            # Then the next request tries: pauses that grow longer would outlast it.
            reconnect_timeout=self._wait_seconds,
            kwargs={"autocommit": True},
            check=_check,
            configure=_prepare,
            open=False,
        )
        self._lost: Fault | None = None
        with OnFailure(self._pool.close):
            self._pool.open()
            with faults(), self.connection() as db:
                db.execute("SELECT 1")

    @contextmanager
    def connection(self, space: Space = NO_SPACE) -> Iterator[Connection]:
        """A connection that sees the rows of a space. It keeps the name of the space when it goes back: a second
        statement for the same tenant need not set it again, and each user of a connection names its own."""
        with self._taken() as db:
            if space not in (db.sees, ANY_SPACE):
                db.execute(_SEE, (str(space), False))
                db.sees = space
            yield db

    @contextmanager
    def _taken(self) -> Iterator[Connection]:
        """A connection that is checked out. Once one was waited for in vain, the next requests wait only a little."""
        try:
            db = self._pool.getconn(self._wait_seconds if self._lost is None else LOST_SECONDS)
        except PoolTimeout as error:
            self._lost = fault_of(error)
            raise
        self._lost = None
        try:
            with db:
                yield db
        finally:
            self._pool.putconn(db)

    def failure(self) -> Fault | None:
        """Why no connection can be had, since the last try; None if one could."""
        return self._lost

    def close(self) -> None:
        self._pool.close()


def _check(db: Connection) -> None:
    """Whether a connection is still open, checked with the server only if it sent something: a connection that was
    ended is readable, and to check each time would double the round trips of a read."""
    poll = select.poll()
    poll.register(db.fileno(), select.POLLIN)
    if poll.poll(0):
        ConnectionPool.check_connection(db)


class NumberListDumper(ListDumper):
    """Lists of numbers without the search of each for characters to quote, which took longer than the search for the
    nearest of 10,000 records (bench/fleet/search.py)."""

    def dump(self, obj: list[Any]) -> Buffer | None:
        if set(map(type, obj)) == {int}:
            return f"{{{','.join(map(str, obj))}}}".encode()
        return super().dump(obj)


def _prepare(db: Connection) -> None:
    register_vector(db)
    db.adapters.register_dumper(list, NumberListDumper)
    for one in _SETTINGS:
        db.execute(one)
    row = db.execute("SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)").fetchone()
    db.timeline = row[0] if row is not None else ""


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """One connection of its own, without the limits of the pool's: for migrations and what takes long."""
    address = conninfo(url)
    try:
        db = Connection.connect(address, autocommit=True)
    except psycopg.OperationalError as error:
        raise login_refusal(error, address) or fault_of(error) from error
    with faults(), db:
        yield db


class _Faults(AbstractContextManager[None]):
    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, psycopg.Error | PoolTimeout):
            raise fault_of(error) from error
        if isinstance(error, ValueError):  # text that is no JSON where a record was written
            raise DataDamaged("store: a record cannot be read") from error


_FAULTS = _Faults()


def faults() -> AbstractContextManager[None]:
    """Turn what PostgreSQL raises inside the block into faults. Its messages may hold memory text and are left out."""
    return _FAULTS


def fault_of(error: psycopg.Error | PoolTimeout) -> Fault:
    """What an error of the database means for the caller."""
    if isinstance(error, errors.DiskFull | errors.OutOfMemory):
        return StorageFull("write: the database has no room")
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreForbidden("store: the database role lacks a privilege")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return takes_no_writes()
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None and (fault := connect_fault(error)):
        return fault
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | PoolTimeout):
        return StoreUnreachable(f"store: the database does not answer ({type(error).__name__})")
    return Fault(f"store: PostgreSQL refused ({type(error).__name__})", hint="Run holdfast verify.")


class View:
    """What an open transaction sees: one space after the other. The name of the space ends with the transaction."""

    def __init__(self, db: Connection):
        self.db = db
        self._sees: Space | None = None  # unknown

    def see(self, space: Space) -> Connection:
        if space not in (self._sees, ANY_SPACE):
            self.db.execute(_SEE, (str(space), True))
            self._sees = space
        return self.db

    def forget(self) -> None:
        """After a return to a savepoint, which also takes back the name of the space."""
        self._sees = None

    @contextmanager
    def connect(self, space: Space) -> Iterator[Connection]:
        yield self.see(space)


@contextmanager
def moment(pool: Pool) -> Iterator[View]:
    """A connection that sees one committed state until the block ends."""
    with pool.connection() as db:
        db.execute(_BEGIN)
        db.execute("SELECT 1")  # the state is fixed from the first statement on
        try:
            yield View(db)
        finally:
            if db.info.transaction_status != TransactionStatus.UNKNOWN:
                db.execute("ROLLBACK")


_LIST = re.compile(r"IN \(\?(?:, \?)*\)")
_VALUES = re.compile(rf"{_LIST.pattern}|\?")
_BEGIN = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"  # what is read in one transaction is of one moment


class Rows:
    """The rows of a statement; fulfils `fulltext.word_database.Answer`."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]]):
        self._cursor = cursor

    @property
    def get(self) -> Any:
        row = self._cursor.fetchone()
        return row[0] if row is not None and len(row) == 1 else row

    def fetchall(self) -> list[Any]:
        return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cursor.fetchall())  # they are all here: one by one took twice as long


class WordDatabase:
    """One connection as the word index uses it, with spaces in the place of tenants; fulfils
    `fulltext.word_database.Database`."""

    def __init__(self, db: Connection):
        self._db = db
        self._begins = False  # the transaction begins with the next statement, in one round trip

    def execute(self, sql: str, values: Any = (), /) -> Rows:
        if sql == "BEGIN":
            self._begins = True
            return Rows(self._db.cursor())
        statement, listed = _translated(sql), _listed(sql, values)
        if self._begins:
            self._begins = False
            with self._db.pipeline():
                self._db.execute(_BEGIN)
                first = self._db.execute(statement, listed, binary=True)
            return Rows(first)
        return Rows(self._db.execute(statement, listed, binary=True))

    def executemany(self, sql: str, many: Iterable[Any], /) -> None:
        with self._db.cursor() as cursor:
            cursor.executemany(_translated(sql), list(many))

    def get_autocommit(self) -> bool:
        return self._db.info.transaction_status == TransactionStatus.IDLE


def _translated(sql: str) -> bytes:
    """A statement of the word index in PostgreSQL's SQL. A list of values is one, so that a statement is prepared once
    and not for each number of them."""
    listed = _LIST.sub("= ANY(?)", sql)
    return re.sub(r"\btenant\b", "space", listed).replace("?", "%s").encode()


def _listed(sql: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """The values of a statement, those of a list as one."""
    rest = iter(values)
    return tuple(next(rest) if count is None else list(islice(rest, count)) for count in _counts(sql))


def _counts(sql: str) -> tuple[int | None, ...]:
    """What the values of a statement are, in order: None for one, for a list how many it has."""
    return tuple(one.count("?") if one.startswith("IN") else None for one in _VALUES.findall(sql))
