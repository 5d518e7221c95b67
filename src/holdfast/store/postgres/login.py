"""Why a server refuses a login, whatever language it speaks.

libpq has the code of such an error and gives only its message, in the language of the server. So a login that failed is
tried once more with a trace of the protocol, in which the code stands.
"""

from __future__ import annotations

import re
import select
import tempfile
from typing import IO

import psycopg
from psycopg import pq

from holdfast.core.system import SystemClock

SECONDS = 5.0  # for the second try
# invalid_authorization_specification, invalid_password; the database does not exist, or may not be connected to
_REFUSED = re.compile(r"28...|3D000|42501")
_CODE = re.compile(rb'ErrorResponse\t[^\n]*? C "([0-9A-Z]{5})"')
# What English servers say, for a libpq that does not trace logins.
_ENGLISH = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|not permitted to log in"
    r"|(?:role|database) .* does not exist|permission denied for database"
)


def is_refused(error: psycopg.Error, conninfo: str) -> bool:
    """Whether an attempt to connect failed because the server refused the login."""
    if not isinstance(error, psycopg.OperationalError) or error.sqlstate is not None:
        return False
    code = refusal_code(conninfo)
    return bool(_ENGLISH.search(str(error)) if code is None else _REFUSED.fullmatch(code))


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
    ends = steady() + SECONDS
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
