"""Clients: how they register by themselves (RFC 7591), and how they prove to be who registered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.context import CallContext
from holdfast.core.model import Json
from holdfast.core.times import DAY_MS
from holdfast.ops.oauth.oauth_records import Client, OAuthRefused
from holdfast.ops.oauth.redirect_uris import check_redirect_uri
from holdfast.ops.oauth.token_secret import CLIENT_PREFIX, ID_CHARS, SECRET_CHARS, hash_of, is_secret, joined, split
from holdfast.redact import redact_text
from holdfast.store.port import Condition, Tx

METHODS = ("none", "client_secret_post", "client_secret_basic")
GRANTS = ("authorization_code", "refresh_token")
MAX_CLIENTS = 500
MAX_REDIRECTS = 10
NAME_CHARS = 80
UNAPPROVED_MS = DAY_MS  # after it, a client that nobody consented to is forgotten
APPROVED_MS = 400 * DAY_MS  # since its last consent
# Where there is no room, the oldest client without a consent gives way; not one that may be at its consent page now.
HURRY_MS = 15 * 60_000


def register(ctx: CallContext, body: Mapping[str, Any]) -> Json:
    """Store a client; what it is told, its secret included, which is shown once.

    Raises:
        OAuthRefused: something it says cannot be taken, or there is no room.
    """
    name, uris, method = _name(body), _redirect_uris(body), _method(body)
    id, secret = ctx.entropy.hex(ID_CHARS), ctx.entropy.hex(SECRET_CHARS)
    now = ctx.clock.now_ms()
    secret_hash = "" if method == "none" else hash_of(secret)
    client = Client(id, now + UNAPPROVED_MS, name, uris, method, secret_hash, now)

    def store(tx: Tx) -> None:
        _make_room(tx, now)
        client.put(ctx, tx)

    ctx.store.write(store)
    given: Json = {
        "client_id": id,
        "client_id_issued_at": now // 1000,
        "client_name": name,
        "redirect_uris": list(uris),
        "token_endpoint_auth_method": method,
        "grant_types": list(GRANTS),
        "response_types": ["code"],
    }
    if secret_hash:
        given |= {"client_secret": joined(CLIENT_PREFIX, id, secret), "client_secret_expires_at": 0}
    return given


def _make_room(tx: Tx, now: int) -> None:
    Client.sweep(tx, now)
    if Client.count(tx) < MAX_CLIENTS:
        return
    # Before its consent a client ends a day after it registered, so the first to end is the oldest of those.
    for one in Client.find(tx, 1, Condition("expires_at", "<", now + UNAPPROVED_MS - HURRY_MS), order="expires_at"):
        if not one.approved:
            one.delete(tx)
            return
    raise OAuthRefused("temporarily_unavailable", "too many clients are registered; try again later")


def known_client(ctx: CallContext, id: str) -> Client | None:
    """The registered client, unless it has expired."""
    found = Client.get(ctx.store.read(), id) if len(id) == ID_CHARS else None
    return found if found is not None and ctx.clock.now_ms() < found.expires_at else None


def authenticated(ctx: CallContext, id: str, secret: str | None, method: str) -> Client:
    """The client, which has proven to be it in the way that it registered.

    Raises:
        OAuthRefused: it is unknown, or it did not.
    """
    client = known_client(ctx, id)
    if client is not None and client.method == method:
        parts = split(CLIENT_PREFIX, secret or "")
        if method == "none" or (parts is not None and parts[0] == id and is_secret(parts[1], client.secret_hash)):
            return client
    raise OAuthRefused("invalid_client", "the client is unknown, or did not authenticate as it registered")


def _name(body: Mapping[str, Any]) -> str:
    """What the client calls itself, as one short line without secrets or characters that are not shown."""
    given = body.get("client_name") or "a client without a name"
    if not isinstance(given, str) or len(given) > 1_000:
        raise _unusable("client_name must be a short text")
    shown = "".join(sign if sign.isprintable() else " " for sign in given)
    return redact_text(" ".join(shown.split())[:NAME_CHARS]).value or "a client without a name"


def _redirect_uris(body: Mapping[str, Any]) -> tuple[str, ...]:
    given = body.get("redirect_uris")
    if not isinstance(given, list) or not 0 < len(given) <= MAX_REDIRECTS:
        raise OAuthRefused("invalid_redirect_uri", f"redirect_uris must list 1 to {MAX_REDIRECTS} addresses")
    if not all(isinstance(one, str) for one in given):
        raise OAuthRefused("invalid_redirect_uri", "redirect_uris must be texts")
    return tuple(dict.fromkeys(check_redirect_uri(one) for one in given))


def _method(body: Mapping[str, Any]) -> str:
    for field, needed in (("grant_types", GRANTS[0]), ("response_types", "code")):
        given = body.get(field) or [needed]
        if not isinstance(given, list) or needed not in given:
            raise _unusable(f"{field} must include {needed}")
    # RFC 7591 has client_secret_basic where none is named.
    method = body.get("token_endpoint_auth_method") or "client_secret_basic"
    if method not in METHODS:
        raise _unusable(f"token_endpoint_auth_method must be one of {', '.join(METHODS)}")
    return str(method)


def _unusable(why: str) -> OAuthRefused:
    return OAuthRefused("invalid_client_metadata", why)
