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
    Unauthorized,
    VaultRefused,
    VaultUnauthorized,
    VaultUnreachable,
)
from holdfast.settings import named_by
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
    except Unauthorized as fault:
        if isinstance(connection, RemoteConnection):
            fault.hint = f"Set {secret_variable()} to the secret of the server at {connection.place}, or to a token."
        raise
    except _BY_SETTINGS as fault:
        if isinstance(connection, RemoteConnection):
            said = f"Done by the server at {connection.place}, with the settings it was started with."
            fault.hint = f"{fault.hint} {said}"
        raise


def secret_variable() -> str:
    """The variable that the secret of this process comes from, or where none is set the one to set."""
    return named_by("secret") or "HOLDFAST_SECRET"
