"""Why no connection can be made, told from the message of libpq, which has no code for it.

The messages are in the language of the server; in another than English all of them are a server that does not answer.
They name hosts and roles, so only what is recognised is reported, in words of our own.
"""

from __future__ import annotations

import re

import psycopg

from holdfast.core.errors import Fault, StoreLoginRefused, StoreUnreachable

_REFUSED_LOGIN = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|not permitted to log in"
    r"|(?:role|database) .* does not exist|permission denied for database"
)
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


def connect_fault(error: psycopg.OperationalError) -> Fault | None:
    """What kept a connection from being made; None if the message says nothing of that."""
    said = str(error)
    if _REFUSED_LOGIN.search(said):  # before the others: it may name TLS as well
        return StoreLoginRefused("store: the database server refused the login")
    if _NO_ROOM.search(said):
        return StoreUnreachable(
            "store: the database server has no connection left",
            hint="Raise max_connections on the server, or run fewer servers (docs/fleet.md).",
        )
    if _NO_WRITES.search(said):
        return takes_no_writes()
    if _TLS.search(said):
        return StoreUnreachable(
            "store: no TLS connection to the database server can be made",
            hint="Check sslmode and sslrootcert in HOLDFAST_STORE, and ssl on the server.",
        )
    reason = next((reason for pattern, reason in _REASONS if pattern.search(said)), None)
    return StoreUnreachable(f"store: the database does not answer: {reason}") if reason else None
