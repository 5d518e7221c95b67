"""What operations on snapshots have in common: which one is meant, what of it a caller may see, the audit log."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from pydantic import Field

from holdfast.desk import Desk
from holdfast.errors import Forbidden, InvalidRequest, NotFound
from holdfast.model import Json
from holdfast.ops.declare import Request
from holdfast.ops.fields import Name
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.finding import LATEST, Named
from holdfast.snapshot.manifest import is_id
from holdfast.snapshot.shapes import shelved_shape
from holdfast.snapshot.shelved import Shelved


def root_for(desk: Desk, **given: object) -> None:
    """Files and places of the user who runs the server are for root alone."""
    for name, value in given.items():
        if value and not desk.caller.may("root"):
            raise Forbidden(f"{name}: this credential reaches no files of the server")


def check_whole(**given: str | None) -> None:
    """Whoever asks a server does not know which folder it stands in; the command line makes its paths whole."""
    for name, path in given.items():
        if path and not Path(path).expanduser().is_absolute():
            raise InvalidRequest(f"{name}: must be a whole path, from / on")


def shown(desk: Desk, one: Shelved) -> Json:
    """The snapshot as a caller may see it."""
    shape = shelved_shape(one)
    return shape | {"path": str(one.path)} if desk.caller.may("root") else shape


class SnapshotName(Request):
    id: Name = Field(description="Its id, the beginning of one, or latest.")


class SnapshotUse(Request):
    """A snapshot that is to be opened."""

    id: Name = Field(description="Its id, the beginning of one, latest, or the path of a bundle.")
    source: Name | None = Field(default=None, alias="from", description="Vault to fetch it from.")
    identity: Name | None = Field(default=None, description="File with the age identity that opens it.")
    allow_older: bool = Field(default=False, description="Though a newer one is known.")
    allow_unsigned: bool = Field(default=False, description="Though signatures are expected.")

    def named(self, desk: Desk, *, take_over: str | None = None, trust: str | None = None) -> Named:
        """What it means.

        Raises:
            Forbidden: it names a file or place of the server, and the caller is not root.
        """
        path = self.id if "/" in self.id or self.id.endswith((".json", ".zst", ".age", ".sha256")) else None
        root_for(desk, id=path, **{"from": self.source}, identity=self.identity)
        if (self.allow_older or self.allow_unsigned) and not desk.caller.may("admin"):
            raise Forbidden("allowOlder, allowUnsigned: only an admin may waive a check")
        return Named(
            self.id,
            self.source,
            self.identity,
            allow_older=self.allow_older,
            allow_unsigned=self.allow_unsigned,
            take_over=take_over,
            trust=trust,
        )


def also_in_vault(archive: Archive, named: Named) -> Named:
    """The same snapshot, in the vault of the settings if it is not here: the newest where none is here, or one by its
    whole id. So a command that brings a memory back needs no address."""
    if named.vault or not archive.settings.vault or not (named.name == LATEST or is_id(named.name)):
        return named
    try:
        archive.shelf.find(named.name)
    except NotFound:
        return dataclasses.replace(named, vault=archive.settings.vault)
    return named


def audit_snapshot(desk: Desk, operation: str, id: str, **details: Any) -> None:
    """In the store that is live now: a restore may have exchanged it."""
    now = dataclasses.replace(desk, store=desk.home.store) if desk.home else desk
    now.store.write(lambda tx: now.audit(tx, operation, (id,), None, **details))
