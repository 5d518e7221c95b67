"""Who is calling: from the bearer credential, compared in constant time; never from a parameter."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import unquote

from holdfast.core.errors import InvalidRequest, RestorePending, Unauthorized
from holdfast.core.model import TOKEN_CALLER, Caller, Chat, Scope, Token
from holdfast.engine import Engine
from holdfast.ops.oauth.token_secret import TOKEN_PREFIX, hash_of, is_same, split

UMO_HEADER, SENDER_HEADER = b"holdfast-umo", b"holdfast-sender"
CLOSED = "Run holdfast doctor on the machine that the server runs on."
KEPT_SECONDS, MOST_KEPT = 0.4, 10_000
_SCOPES: dict[str, Scope] = {"read": "read", "write": "write", "admin": "admin"}


@dataclass(frozen=True, slots=True)
class _Kept:
    at: float
    tokens: list[Token]
    refused: str  # the hash of a secret that none of them has

    def judges(self, digest: str, now: float) -> bool:
        """Whether it is known of a secret. One that is unknown may be newer: a token that was refreshed has another."""
        known = digest == self.refused or any(is_same(digest, one.secret_hash) for one in self.tokens)
        return known and now - self.at < KEPT_SECONDS


class TokenCache:
    """Tokens that were looked up a moment ago, where a look-up is a round trip to a database: without, a short list
    takes 2.2 times as long (bench/mechanisms.py).

    A token that another server revokes is forgotten at its notice. If that is lost, it is refused once it has been kept
    for `KEPT_SECONDS`.
    """

    def __init__(self, engine: Engine):
        self._engine = engine
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._forgotten = 0  # how often something was forgotten
        self._lock = threading.Lock()

    def tokens(self, id: str, digest: str) -> list[Token]:
        """Those of that id, for a secret with that hash."""
        if not self._engine.fleet.is_shared:
            return self._engine.store.read().tokens_by_id(id)
        now = self._engine.clock.steady()
        with self._lock:
            kept, before = self._kept.get(id), self._forgotten
        if kept is not None and kept.judges(digest, now):
            return kept.tokens
        found = self._engine.store.read().tokens_by_id(id)
        refused = "" if any(is_same(digest, one.secret_hash) for one in found) else digest
        with self._lock:
            if before == self._forgotten:  # else it may have been revoked since it was read
                self._keep(id, _Kept(now, found, refused))
        return found

    def has(self, id: str, digest: str) -> bool:
        """Whether a look-up of that id takes no time now."""
        if not self._engine.fleet.is_shared:
            return True
        with self._lock:
            kept = self._kept.get(id)
        return kept is not None and kept.judges(digest, self._engine.clock.steady())

    def _keep(self, id: str, kept: _Kept) -> None:
        self._kept[id] = kept
        self._kept.move_to_end(id)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def forget(self, id: str | None) -> None:
        with self._lock:
            self._forgotten += 1
            if id is None:
                self._kept.clear()
            else:
                self._kept.pop(id, None)


class Auth:
    """Turns credentials into callers. Without a secret, the server listens on loopback only and trusts it."""

    def __init__(self, engine: Engine, run_token: str):
        self._engine = engine
        self._secret = engine.settings.secret
        self._run_token = run_token
        self._kept = TokenCache(engine)

    def forget(self, id: str | None) -> None:
        """Look a token up again when it is used next; None: all of them."""
        self._kept.forget(id)

    def caller(self, headers: Iterable[tuple[bytes, bytes]]) -> Caller:
        """The caller of a request.

        Raises:
            Unauthorized: a credential is needed or the one given is not valid.
            InvalidRequest: the headers that name a chat name none.
        """
        headers = list(headers)
        caller, chat = self.of(self.credential(headers)), chat_of(headers)
        return replace(caller, chat=chat) if chat else caller

    def credential(self, headers: Iterable[tuple[bytes, bytes]]) -> str | None:
        """The bearer credential of a request, if it carries one.

        Raises:
            Unauthorized: there are several, or it is of another kind.
        """
        given = [value for name, value in headers if name == b"authorization"]
        if len(given) > 1:
            raise Unauthorized("more than one Authorization header")
        if not given:
            return None
        kind, _, credential = given[0].decode("latin-1").partition(" ")
        if kind.lower() != "bearer":
            raise Unauthorized("unauthorized")
        return credential.strip()

    def is_at_hand(self, credential: str | None) -> bool:
        """Whether a credential can be judged without a round trip to the store."""
        parts = split(TOKEN_PREFIX, credential or "")
        return parts is None or self._kept.has(parts[0], hash_of(parts[1]))

    def of(self, credential: str | None) -> Caller:
        """The caller with that credential.

        Raises:
            Unauthorized: it is missing though one is needed, or not valid.
        """
        if credential is None:
            if self._secret:
                raise Unauthorized("unauthorized")
            return Caller()
        # Both comparisons always run, so that the time taken discloses nothing about either.
        is_secret = is_same(credential, self._secret or "")
        is_run_token = is_same(credential, self._run_token)
        if (is_secret and self._secret) or is_run_token:
            return Caller(name="secret" if is_secret else "local", owner=is_run_token)
        return self._token(credential)

    def _token(self, credential: str) -> Caller:
        if parts := split(TOKEN_PREFIX, credential):
            id, digest = parts[0], hash_of(parts[1])
            now = self._engine.clock.now_ms()
            for token in self._tokens(id, digest):
                alive = token.revoked_at is None and (token.expires_at is None or now < token.expires_at)
                if is_same(digest, token.secret_hash) and alive:
                    scopes = frozenset(_SCOPES[scope] for scope in token.scopes if scope in _SCOPES)
                    return Caller(token.tenant, token.agent, scopes, f"{TOKEN_CALLER}{token.id}")
        raise Unauthorized("unauthorized")

    def _tokens(self, id: str, digest: str) -> list[Token]:
        """The caller is not known yet, so of the memory's state only that it is closed is reported."""
        if self._engine.fault is not None:
            raise RestorePending("no memory is open, so tokens cannot be checked", hint=CLOSED)
        return self._kept.tokens(id, digest)


def chat_of(headers: Iterable[tuple[bytes, bytes]]) -> Chat | None:
    """The chat that a connection is bound to by its headers; None if it is bound to none.

    A bot sets them, so that the language model behind it cannot speak for another chat by the arguments of a tool.

    Raises:
        InvalidRequest: one of them is there twice or no text, or the sender has no chat.
    """
    given = [(name, value) for name, value in headers if name in (UMO_HEADER, SENDER_HEADER)]
    if not given:
        return None
    try:
        named = {name: unquote(value.decode(), errors="strict") for name, value in given}
    except UnicodeDecodeError:
        raise InvalidRequest("Holdfast-Umo, Holdfast-Sender: must be UTF-8, percent-encoded") from None
    if len(named) < len(given) or UMO_HEADER not in named:
        raise InvalidRequest("Holdfast-Umo, Holdfast-Sender: must name one chat and one sender")
    return Chat(named[UMO_HEADER], named.get(SENDER_HEADER, ""))
