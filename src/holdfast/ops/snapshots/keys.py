"""Operations on keys: the signing key of this memory, and trusted keys of others."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.model import CleanText, Json
from holdfast.core.times import iso
from holdfast.ops.framework.answers import Success
from holdfast.ops.framework.fields import CleanLabel, Name
from holdfast.ops.framework.operation import Nothing, Operation, Request
from holdfast.snapshot.keys.keyring import read_succession
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.repo.key_warnings import key_texts
from holdfast.store.unavailable import ClosedStore


class KeyNew(Request):
    replace: bool = Field(default=False, description="Replace an existing key. Its signatures stay trusted.")


class KeyAnswer(TypedDict):
    success: bool
    did: str
    warnings: list[str]  # that it has no copy yet


def key_new(ctx: CallContext, ask: KeyNew) -> KeyAnswer:
    """Create the signing key of this memory. The private key never leaves the data folder."""
    context = snapshot_context(ctx)
    did = context.keyring.new(replace=ask.replace)
    _audit(ctx, "key_new", did)
    return {"success": True, "did": did, "warnings": key_texts(context)}


class KeysAnswer(TypedDict):
    did: str | None
    trusted: list[Json]
    successions: list[str]
    warnings: list[str]


def key_show(ctx: CallContext, ask: Nothing) -> KeysAnswer:
    """Show the signing key of this memory, the trusted keys, and warnings about missing copies."""
    context = snapshot_context(ctx)
    keyring = context.keyring
    return {
        "did": keyring.own(),
        "trusted": [{"did": did, "note": note} for did, note in keyring.trusted().items()],
        "successions": [one.text for one in keyring.successions()],
        "warnings": key_texts(context),
    }


class KeyRotateAnswer(TypedDict):
    success: bool
    did: str
    old: str
    succession: str
    warnings: list[str]


def key_rotate(ctx: CallContext, ask: Nothing) -> KeyRotateAnswer:
    """Create a new signing key, signed by the old one as its successor. The old key stays trusted.

    Others who trust the old key can accept the new one: holdfast key follow STATEMENT.
    """
    context = snapshot_context(ctx)
    made = context.keyring.rotate(iso(ctx.clock.now_ms()))
    _audit(ctx, "key_rotate", made.new)
    said = {"did": made.new, "old": made.old, "succession": made.text}
    return {"success": True, **said, "warnings": key_texts(context)}  # type: ignore[typeddict-item]


class KeyFollow(Request):
    succession: str = Field(
        max_length=4_000, description="Succession statement, as printed by key rotate and key show."
    )


class KeyFollowAnswer(TypedDict):
    success: bool
    did: str


def key_follow(ctx: CallContext, ask: KeyFollow) -> KeyFollowAnswer:
    """Trust the successor of a trusted key, given the succession statement that the old key signed."""
    found = read_succession(ask.succession)
    snapshot_context(ctx).keyring.follow(found)
    _audit(ctx, "key_follow", found.new)
    return {"success": True, "did": found.new}


class KeyTrust(Request):
    did: Name = Field(description="did:key:z…")
    note: CleanLabel = Field(default=CleanText(""), description="Note on the owner of the key.")


def key_trust(ctx: CallContext, ask: KeyTrust) -> Success:
    """Trust snapshots signed with a key. First confirm through another channel whose key it is."""
    snapshot_context(ctx).keyring.trust(ask.did, ask.note)
    _audit(ctx, "key_trust", ask.did)
    return {"success": True}


class KeyUntrust(Request):
    did: Name = Field(description="did:key:z…")


def key_untrust(ctx: CallContext, ask: KeyUntrust) -> Success:
    """Stop trusting a key. Its snapshots are rejected from now on."""
    snapshot_context(ctx).keyring.untrust(ask.did)
    _audit(ctx, "key_untrust", ask.did)
    return {"success": True}


def _audit(ctx: CallContext, operation: str, did: str) -> None:
    if isinstance(ctx.store, ClosedStore) or ctx.follow is not None:  # there may be none without a trusted key
        return
    ctx.store.write(lambda tx: ctx.audit(tx, operation, (did,)))


KEY_OPERATIONS = (
    Operation(key_new, "POST", "/keys", effect="write", scope="root", status=201, cli="key new"),
    Operation(key_show, "GET", "/keys", scope="root", cli="key show"),
    Operation(key_rotate, "POST", "/keys/rotate", effect="write", scope="root", cli="key rotate"),
    Operation(
        key_follow,
        "POST",
        "/keys/follow",
        effect="write",
        scope="root",
        cli="key follow",
        positional=("succession",),
        on_copy=True,
    ),
    Operation(
        key_trust,
        "POST",
        "/keys/trust",
        effect="write",
        scope="root",
        cli="key trust",
        positional=("did",),
        on_copy=True,
    ),
    Operation(
        key_untrust,
        "POST",
        "/keys/untrust",
        effect="destroy",
        scope="root",
        cli="key untrust",
        positional=("did",),
        on_copy=True,
    ),
)
