"""Notices from server to server, by NOTIFY: ids of what changed, never what it is.

They arrive once the transaction that sent them is committed, or not at all if the connection that listens is lost.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import orjson
from psycopg import sql

from holdfast.store.postgres.pool import Connection

# Of a database several schemas may each hold a memory.
_CHANNEL = "'holdfast_' || current_schema()::regnamespace::oid::text"


@dataclass(frozen=True, slots=True)
class Notice:
    """`events`: of a space were logged. `token`: one was changed. `switched`: a tenant has another space."""

    kind: Literal["events", "token", "switched"]
    space: int = 0
    tenant: str = ""
    token: str = ""


def notify(db: Connection, notice: Notice) -> None:
    """Send a notice with the commit of the transaction."""
    db.execute(f"SELECT pg_notify({_CHANNEL}, %s)".encode(), (orjson.dumps(asdict(notice)).decode(),))


def listen(db: Connection) -> None:
    """Receive the notices that are sent from now on."""
    row = db.execute(f"SELECT {_CHANNEL}".encode()).fetchone()
    if row is not None:
        db.execute(sql.SQL("LISTEN {}").format(sql.Identifier(row[0])))


def read_notice(payload: str) -> Notice | None:
    """The notice of a payload; None if it is none, as of a later version or of another program."""
    try:
        return Notice(**orjson.loads(payload))
    except (ValueError, TypeError):
        return None
