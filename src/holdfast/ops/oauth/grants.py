"""From a code to a token, from a refresh token to the next, and the end of both.

A grant and its token have one id, so `holdfast token revoke` ends both. A refresh token has two secrets: one that all
of a grant share and one that only the present one has. A caller with the first and without the second has a token that
was used already: it was stolen, now or then, and everything that was granted ends.
"""

from __future__ import annotations

import dataclasses
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256

from holdfast.context import CallContext
from holdfast.core.model import CleanText, Json, Token
from holdfast.core.times import DAY_MS
from holdfast.ops.oauth.consents import asked_scopes, audit_for, check_resource
from holdfast.ops.oauth.oauth_records import Client, Grant, OAuthRefused
from holdfast.ops.oauth.token_secret import (
    CODE_PREFIX,
    REFRESH_PREFIX,
    SECRET_CHARS,
    TOKEN_PREFIX,
    hash_of,
    is_same,
    is_secret,
    joined,
    split,
)
from holdfast.store.port import Tx
from holdfast.store.tables import TOKENS

TOKEN_SECONDS = 3_600
REFRESH_MS = 30 * DAY_MS  # since it was used last
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_Exchange = Callable[[CallContext, Tx, Client, Mapping[str, str]], Json | OAuthRefused]


def exchange(ctx: CallContext, client: Client, params: Mapping[str, str], resource: str) -> Json:
    """The answer of the token endpoint: a code or a refresh token for the next tokens.

    Raises:
        OAuthRefused: it is not valid. What that ended has ended.
    """
    ways: dict[str, _Exchange] = {"authorization_code": _from_code, "refresh_token": _from_refresh_token}
    way = ways.get(params.get("grant_type", ""))
    if way is None:
        raise OAuthRefused("unsupported_grant_type", f"grant_type must be one of {', '.join(ways)}")
    check_resource(params, resource)
    # What is refused may have ended a grant, and an exception would undo that.
    answer = ctx.store.write(lambda tx: way(ctx, tx, client, params))
    if isinstance(answer, OAuthRefused):
        raise answer
    return answer


def revoke(ctx: CallContext, client: Client, text: str) -> None:
    """End what the client's token belongs to (RFC 7009). One that is not valid is no error."""
    parts = split(REFRESH_PREFIX, text, 2) or split(TOKEN_PREFIX, text) or ("", "")
    id, secret = parts[0], parts[1]

    def end(tx: Tx) -> None:
        grant = Grant.get(tx, id)
        if grant is None or grant.client != client.id:
            return
        hashes = [grant.family_hash] if len(parts) == 3 else [one.secret_hash for one in tx.tokens_by_id(id)]
        if any(is_secret(secret, one) for one in hashes):
            _end(ctx, tx, grant, "oauth_revoke")

    if id:
        ctx.store.write(end)


def _from_code(ctx: CallContext, tx: Tx, client: Client, params: Mapping[str, str]) -> Json | OAuthRefused:
    id, secret = split(CODE_PREFIX, params.get("code", "")) or ("", "")
    grant = Grant.get(tx, id)
    if grant is None or not is_secret(secret, grant.code_hash):
        return _refused("the code is not valid")
    if grant.family_hash:
        _end(ctx, tx, grant, "oauth_code_reuse")
        return _refused("the code was used before; what it gave is revoked")
    right = (
        grant.client == client.id
        and ctx.clock.now_ms() < grant.expires_at
        and params.get("redirect_uri", grant.redirect_uri) == grant.redirect_uri
        and _proves(params.get("code_verifier", ""), grant.challenge)
    )
    if not right:  # who has a code and not the rest has stolen it: it has one try
        grant.delete(tx)
        return _refused("the code has expired, or is another client's, redirect_uri's or code_verifier's")
    return _issue(ctx, tx, grant, ctx.entropy.hex(SECRET_CHARS), grant.scopes)


def _from_refresh_token(ctx: CallContext, tx: Tx, client: Client, params: Mapping[str, str]) -> Json | OAuthRefused:
    id, family, secret = split(REFRESH_PREFIX, params.get("refresh_token", ""), 2) or ("", "", "")
    grant = Grant.get(tx, id)
    if grant is None or grant.client != client.id or not is_secret(family, grant.family_hash):
        return _refused("the refresh token is not valid")
    alive = any(one.revoked_at is None for one in tx.tokens_by_id(id))
    if not alive or grant.expires_at <= ctx.clock.now_ms():
        return _refused("the refresh token has expired or was revoked")
    if not is_secret(secret, grant.refresh_hash):
        _end(ctx, tx, grant, "oauth_refresh_reuse")
        return _refused("the refresh token was used before; what was granted is revoked")
    try:
        scopes = asked_scopes(params.get("scope"), grant.scopes)
    except OAuthRefused as refused:
        return refused
    return _issue(ctx, tx, grant, family, scopes)


def _issue(ctx: CallContext, tx: Tx, grant: Grant, family: str, scopes: tuple[str, ...]) -> Json:
    """Store the next token and the next refresh token over those before; the answer for the client."""
    now, secret, next_secret = ctx.clock.now_ms(), ctx.entropy.hex(SECRET_CHARS), ctx.entropy.hex(SECRET_CHARS)
    before = next((one for one in tx.tokens_by_id(grant.id) if one.tenant == grant.tenant), None)
    token = Token(
        tenant=grant.tenant,
        id=grant.id,
        seq=tx.next_seq(grant.tenant),
        name=CleanText(grant.client_name),
        secret_hash=hash_of(secret),
        agent=grant.agent,
        scopes=scopes,
        created_at=before.created_at if before else now,
        expires_at=now + TOKEN_SECONDS * 1000,
        revoked_at=None,
    )
    tx.replace(TOKENS, token)
    grant.but(expires_at=now + REFRESH_MS, family_hash=hash_of(family), refresh_hash=hash_of(next_secret)).put(ctx, tx)
    _audit(ctx, tx, grant, "oauth_refresh" if before else "oauth_token")
    return {
        "access_token": joined(TOKEN_PREFIX, grant.id, secret),
        "token_type": "Bearer",
        "expires_in": TOKEN_SECONDS,
        "scope": " ".join(scopes),
        "refresh_token": joined(REFRESH_PREFIX, grant.id, family, next_secret),
    }


def _end(ctx: CallContext, tx: Tx, grant: Grant, why: str) -> None:
    for token in tx.tokens_by_id(grant.id):
        tx.replace(TOKENS, revoked(token, ctx.clock.now_ms()))
    _audit(ctx, tx, grant, why)


def _audit(ctx: CallContext, tx: Tx, grant: Grant, what: str) -> None:
    audit_for(ctx, grant.tenant).audit(tx, what, (grant.id,), agent=grant.agent, client=grant.client)


def revoked(token: Token, now: int) -> Token:
    return dataclasses.replace(token, revoked_at=token.revoked_at or now)


def _proves(verifier: str, challenge: str) -> bool:
    """Whether the client is the one that began: PKCE with S256."""
    made = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    return bool(_VERIFIER.fullmatch(verifier)) and is_same(made, challenge)


def _refused(why: str) -> OAuthRefused:
    return OAuthRefused("invalid_grant", why)
