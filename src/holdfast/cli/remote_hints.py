"""Commands that a running server carries out: whose keys and addresses of vaults they use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.core.errors import (
    ColonyRefused,
    ColonyUnreachable,
    Fault,
    InvalidSettings,
    VaultRefused,
    VaultUnauthorized,
    VaultUnreachable,
)
from holdfast.transport import RemoteConnection

if TYPE_CHECKING:
    from holdfast.connection import Connection

_BY_SETTINGS: tuple[type[Fault], ...] = (
    InvalidSettings, VaultUnauthorized, VaultRefused, VaultUnreachable, ColonyRefused, ColonyUnreachable,
)  # fmt: skip


@contextmanager
def whose_settings(connection: Connection) -> Iterator[None]:
    """Report that a server did the work: a key just set in this shell does not reach a server that already runs."""
    try:
        yield
    except _BY_SETTINGS as fault:
        if isinstance(connection, RemoteConnection):
            said = f"Done by the server at {connection.place}, with the settings it was started with."
            fault.hint = f"{fault.hint} {said}"
        raise
