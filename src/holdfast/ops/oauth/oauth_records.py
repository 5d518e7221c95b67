"""What is stored for OAuth, as typed values: each is one row of the table `oauth`, in the default tenant.

A client registers before it is known whose memory it will read, and every server of a fleet has to know it: so the rows
belong to the place and not to a tenant, whatever tenant a grant is for.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal, Self

from holdfast.context import CallContext
from holdfast.core.model import DEFAULT_TENANT, Json, OAuthRecord
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.tables import OAUTH

ErrorCode = Literal[
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "invalid_scope",
    "invalid_target",
    "invalid_redirect_uri",
    "invalid_client_metadata",
    "unsupported_grant_type",
    "unsupported_response_type",
    "unsupported_token_type",
    "access_denied",
    "temporarily_unavailable",
]
SWEEP = 100  # rows that one write removes at most


class OAuthRefused(Exception):
    """A request that OAuth has an error code for. The text is for the developer of the client and quotes nothing of
    the request."""

    def __init__(self, error: ErrorCode, description: str):
        super().__init__(description)
        self.error: ErrorCode = error
        self.description = description


@dataclass(frozen=True, slots=True)
class Stored:
    """A row of the table. `id` and `expires_at` are columns, everything else is its content."""

    KIND: ClassVar[str]

    id: str
    expires_at: int

    @classmethod
    def get(cls, reader: Reader, id: str) -> Self | None:
        """The one with that id; one that has expired as well."""
        row = reader.get(OAUTH, DEFAULT_TENANT, f"{cls.KIND}-{id}")
        return cls._of(row) if row is not None else None

    @classmethod
    def find(cls, reader: Reader, limit: int, *conditions: Condition, order: str = "-seq") -> list[Self]:
        found = reader.find(OAUTH, DEFAULT_TENANT, *where(kind=cls.KIND), *conditions, order=order, limit=limit)
        return [cls._of(row) for row in found]

    @classmethod
    def count(cls, reader: Reader) -> int:
        return reader.count(OAUTH, DEFAULT_TENANT, *where(kind=cls.KIND))

    @classmethod
    def sweep(cls, tx: Tx, now: int) -> None:
        """Remove what has expired."""
        for one in cls.find(tx, SWEEP, Condition("expires_at", "<=", now), order="seq"):
            one.delete(tx)

    @classmethod
    def _of(cls, row: OAuthRecord) -> Self:
        lists = {name: tuple(value) for name, value in row.content.items() if isinstance(value, list)}
        return cls(row.id.removeprefix(f"{cls.KIND}-"), row.expires_at, **{**row.content, **lists})

    def put(self, ctx: CallContext, tx: Tx) -> None:
        """Store it, over the one with its id if there is one."""
        content: Json = asdict(self)
        del content["id"], content["expires_at"]
        id = f"{self.KIND}-{self.id}"
        seq, now = tx.next_seq(DEFAULT_TENANT), ctx.clock.now_ms()
        tx.replace(OAUTH, OAuthRecord(DEFAULT_TENANT, id, seq, self.KIND, content, now, self.expires_at))

    def delete(self, tx: Tx) -> bool:
        return tx.delete(OAUTH, DEFAULT_TENANT, f"{self.KIND}-{self.id}")

    def but(self, **changes: Any) -> Self:
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Client(Stored):
    """A program that registered. Its name is what it calls itself: nothing of it is proven."""

    KIND: ClassVar[str] = "client"

    name: str
    redirect_uris: tuple[str, ...]
    method: str  # how it authenticates at the token endpoint
    secret_hash: str  # "" of a public client
    registered_at: int
    approved: bool = False  # the owner consented at least once


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """What a client requests for its user, checked. `redirect_uri` is one that it registered."""

    client: str
    client_name: str
    redirect_uri: str
    challenge: str
    state: str
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Consent:
    """What the page's user chose, and who agreed to it."""

    tenant: str
    agent: str | None
    scopes: tuple[str, ...]
    by: str = ""  # the name of the owner's credential; "" until he agrees


@dataclass(frozen=True, slots=True)
class WaitingRequest(Stored):
    """A request that waits for `holdfast oauth approve`. Its id is the code that the page shows."""

    KIND: ClassVar[str] = "request"

    browser_hash: str  # of a secret that only the page has: who reads the code over a shoulder gets nothing
    request: Json  # an AccessRequest
    consent: Json  # a Consent

    @property
    def asked(self) -> AccessRequest:
        return AccessRequest(**{**self.request, "scopes": tuple(self.request["scopes"])})

    @property
    def chosen(self) -> Consent:
        return Consent(**{**self.consent, "scopes": tuple(self.consent["scopes"])})


@dataclass(frozen=True, slots=True)
class Grant(Stored):
    """What the owner granted a client: first a code, then a token, which has the same id, and what refreshes it."""

    KIND: ClassVar[str] = "grant"

    client: str
    client_name: str
    redirect_uri: str
    challenge: str
    tenant: str
    agent: str | None
    scopes: tuple[str, ...]
    code_hash: str
    family_hash: str = ""  # of the part that all refresh tokens of the grant share; "" until the code was exchanged
    refresh_hash: str = ""  # of the part that only the present one has
