"""What operations on snapshots have in common: which one is meant, what of it a caller may see, the audit log."""

from __future__ import annotations

import dataclasses
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pydantic import Field

from holdfast.context import CallContext
from holdfast.core.bundle_names import is_bundle_path
from holdfast.core.didkey import InvalidDidKey, public_key
from holdfast.core.disk import user_path
from holdfast.core.errors import Forbidden, InvalidRequest
from holdfast.core.model import Json
from holdfast.ops.framework.fields import Name
from holdfast.ops.framework.operation import Request
from holdfast.snapshot.recovery.alternatives import offered
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.entries import SnapshotEntry
from holdfast.snapshot.resolve import SnapshotSelector
from holdfast.snapshot.sync.vault_target import VaultTarget, target_of
from holdfast.snapshot.wire import entry_wire


def root_for(ctx: CallContext, **given: object) -> None:
    """Files and places of the user who runs the server are for root alone."""
    for name, value in given.items():
        if value and not ctx.caller.may("root"):
            raise Forbidden(f"{name}: this credential may not read or write files on the server")


def check_whole(**given: str | None) -> None:
    """Whoever asks a server does not know which folder it stands in; the command line makes its paths whole."""
    for name, path in given.items():
        if path and not user_path(path, name).is_absolute():
            raise InvalidRequest(f"{name}: must be an absolute path")


def check_did(**given: str | None) -> None:
    """Refuse what is no key before anything is done with it."""
    for name, did in given.items():
        try:
            if did:
                public_key(did)
        except InvalidDidKey as error:
            raise InvalidRequest(
                f"{name}: {error}",
                hint="Copy the complete did:key of the signer from holdfast snapshot show or from the error message.",
            ) from error


def shown(ctx: CallContext, one: SnapshotEntry) -> Json:
    """The snapshot as a caller may see it."""
    shape = entry_wire(one)
    return shape | {"path": str(one.path)} if ctx.caller.may("root") else shape


class SnapshotName(Request):
    id: Name = Field(description="Id of the snapshot, a prefix of the id, or latest.")


class SnapshotUse(Request):
    """A snapshot that is to be opened."""

    id: Name = Field(description="Id of the snapshot, a prefix of the id, latest, or the path of a bundle.")
    source: Name | None = Field(default=None, alias="from", description="Vault to fetch the snapshot from.")
    identity: Name | None = Field(default=None, description="File with the age identity that decrypts it.")
    allow_older: bool = Field(default=False, description="Accept the snapshot although a newer one is known to exist.")
    allow_unsigned: bool = Field(
        default=False, description="Accept an unsigned snapshot where signatures are required."
    )

    def named(self, ctx: CallContext, *, take_over: str | None = None, trust: str | None = None) -> SnapshotSelector:
        """What it means.

        Raises:
            Forbidden: it names a file or place of the server, and the caller is not root.
            InvalidRequest: the path of a bundle is not absolute.
        """
        path = self.id if is_bundle_path(self.id) else None
        root_for(ctx, id=path, **{"from": self.source}, identity=self.identity)
        check_whole(id=path)
        if (self.allow_older or self.allow_unsigned) and not ctx.caller.may("admin"):
            raise Forbidden("allowOlder, allowUnsigned: skipping a check requires the scope admin")
        return SnapshotSelector(
            self.id,
            self.source,
            self.identity,
            allow_older=self.allow_older,
            allow_unsigned=self.allow_unsigned,
            take_over=take_over,
            trust=trust,
        )


def offering(
    ctx: CallContext, context: SnapshotContext, named: SnapshotSelector, command: str
) -> AbstractContextManager[None]:
    """Let a refusal name what to use instead, which may be a place of the server: for root alone."""
    return offered(context, named, command) if ctx.caller.may("root") else nullcontext()


def audit_snapshot(ctx: CallContext, operation: str, id: str, **details: Any) -> None:
    """In the store that is live now: a restore may have exchanged it."""
    now = dataclasses.replace(ctx, store=ctx.live.store) if ctx.live else ctx
    now.store.write(lambda tx: now.audit(tx, operation, (id,), None, **details))


class VaultName(Request):
    vault: Name | None = Field(
        default=None,
        description="A folder, file:///…, s3://…, gs://…, az://…, hf://… or colony:. Default: HOLDFAST_VAULT.",
    )

    def named(self, context: SnapshotContext) -> str:
        """The text that names the vault.

        Raises:
            InvalidRequest: neither the request nor the settings do.
        """
        text = self.vault or context.settings.vault
        if not text:
            raise InvalidRequest("vault: none given", hint="Pass a vault, or set HOLDFAST_VAULT.")
        return text

    def target(self, context: SnapshotContext) -> VaultTarget:
        return target_of(context, self.named(context))
