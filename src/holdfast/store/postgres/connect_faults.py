"""Why no connection can be made.

libpq has the message of the server and no code for it. The messages are in the language of the server; in another than
English all of them are a server that does not answer. They name hosts and roles, so only what is recognised is
reported, in words of our own. A refused login is known by its code in any language: a login
that failed is tried once more with a trace of the protocol, in which the code stands.
"""

from __future__ import annotations

import re
import select
import tempfile
from typing import IO

import psycopg
from psycopg import pq

from holdfast.core.errors import Fault, StoreLoginRefused, StoreUnreachable
from holdfast.core.system import SystemClock

SECOND_TRY_SECONDS = 5.0
# What a code says, and no more: a server that asks for a password answers the same if there is no such role.
_REFUSALS = {
    "28P01": ("the password is wrong, or there is no such role", "Check the role and the password in HOLDFAST_STORE."),
    "28000": (
        "there is no such role, or it may not log in this way",
        "Check the role in HOLDFAST_STORE, its LOGIN attribute, and pg_hba.conf of the server.",
    ),
    "3D000": (
        "there is no such database",
        "Check the name of the database at the end of HOLDFAST_STORE, or create it: CREATE DATABASE.",
    ),
    "42501": (
        "the role may not connect to this database",
        "Let the owner of the database run: GRANT CONNECT ON DATABASE name TO role",
    ),
}
_TOO_MANY_CONNECTIONS = "53300"
_REFUSED = re.compile(r"28...|3D000|42501")
_NO_PASSWORD = re.compile(r"no password supplied")
_CODE = re.compile(rb'ErrorResponse\t[^\n]*? C "([0-9A-Z]{5})"')
# What English servers say, for a libpq that does not trace logins.
_ENGLISH = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|not permitted to log in"
    r"|(?:role|database) .* does not exist|permission denied for database"
)
_NO_POSTGRES = re.compile(r"invalid response to SSL negotiation|expected authentication request")
_TLS = re.compile(r"\bSSL\b|certificate|root\.crt")
_NO_ROOM = re.compile(r"too many (?:clients|connections)|remaining connection slots")
_NO_WRITES = re.compile(r"read-only|hot standby")
_READ_ONLY = "Check whether it is a standby or set to read-only; HOLDFAST_STORE may name several hosts."
_REASONS = (
    (re.compile(r"resolve host|translate host name"), "the name of its host is not known"),
    (re.compile(r"Connection refused|No such file or directory"), "no server listens at this address"),
    (re.compile(r"time(?:d )?out", re.I), "its host did not respond in time"),
    (re.compile(r"starting up|shutting down|recovery mode|not yet accepting"), "it is starting or stopping"),
)


def takes_no_writes() -> StoreUnreachable:
    """The fault of a server that only answers questions."""
    return StoreUnreachable("store: the database takes no writes", hint=_READ_ONLY)


def _no_connection_left() -> StoreUnreachable:
    return StoreUnreachable(
        "store: the database server has no connection left",
        hint="Raise max_connections on the server, or run fewer servers (docs/fleet.md).",
    )


def connect_fault(error: psycopg.OperationalError) -> Fault | None:
    """What kept a connection from being made; None if the message says nothing of that."""
    said = str(error)
    if _NO_ROOM.search(said):
        return _no_connection_left()
    if _NO_WRITES.search(said):
        return takes_no_writes()
    if _NO_POSTGRES.search(said):
        return StoreUnreachable(
            "store: what answers at this address is no PostgreSQL server",
            hint="Check the host and the port in HOLDFAST_STORE.",
        )
    if _TLS.search(said):
        return StoreUnreachable(
            "store: no TLS connection to the database server can be made",
            hint="Check sslmode and sslrootcert in HOLDFAST_STORE, and ssl on the server.",
        )
    reason = next((reason for pattern, reason in _REASONS if pattern.search(said)), None)
    return StoreUnreachable(f"store: the database does not answer: {reason}") if reason else None


def login_refusal(error: psycopg.OperationalError, conninfo: str) -> StoreLoginRefused | StoreUnreachable | None:
    """The fault of an attempt to connect that failed because the server refused the login or has no connection left,
    with what the server tells of the reason; None if it failed for another."""
    if error.sqlstate is not None:
        return None
    code = refusal_code(conninfo)
    if code == _TOO_MANY_CONNECTIONS:
        return _no_connection_left()
    if not (_ENGLISH.search(str(error)) if code is None else _REFUSED.fullmatch(code)):
        return None
    said = "store: the database server refused the login"
    if code in _REFUSALS:
        reason, hint = _REFUSALS[code]
        return StoreLoginRefused(f"{said}: {reason}", hint=hint)
    if code is None and _NO_PASSWORD.search(str(error)):
        return StoreLoginRefused(
            f"{said}: it asks for a password, and none was given",
            hint="Put it into HOLDFAST_STORE, PGPASSWORD or ~/.pgpass.",
        )
    return StoreLoginRefused(said)


def refusal_code(conninfo: str) -> str | None:
    """The SQLSTATE of the last error that a server answers a login with; None if none does."""
    with tempfile.TemporaryFile() as trace:  # readable by this user alone, and nameless: it holds proofs of a password
        try:
            _try_login(conninfo, trace)
        except psycopg.Error:  # no tracing on this system, or no address
            return None
        trace.seek(0)
        found = _CODE.findall(trace.read())
    return found[-1].decode() if found else None


def _try_login(conninfo: str, trace: IO[bytes]) -> None:
    steady = SystemClock().steady
    ends = steady() + SECOND_TRY_SECONDS
    login = pq.PGconn.connect_start(conninfo.encode())
    try:
        login.trace(trace.fileno())
        while steady() < ends:
            state = login.connect_poll()
            if state not in (pq.PollingStatus.READING, pq.PollingStatus.WRITING):
                break
            ready = select.poll()
            ready.register(login.socket, select.POLLIN if state == pq.PollingStatus.READING else select.POLLOUT)
            ready.poll(1000 * (ends - steady()))
        login.untrace()  # writes out what it holds
    finally:
        login.finish()
