"""Secrets in the form in which they are handed out, `prefix_id_secret`, and the hashes that are stored of them."""

from __future__ import annotations

import hmac
from hashlib import sha256

TOKEN_PREFIX = "hft"  # noqa: S105 - the public beginning of every token
CODE_PREFIX, REFRESH_PREFIX, CLIENT_PREFIX = "hfc", "hfr", "hfs"
ID_CHARS, SECRET_CHARS = 16, 48


def hash_of(secret: str) -> str:
    """What is stored of a secret. It is random and long, so nothing slower is needed."""
    return sha256(secret.encode()).hexdigest()


def is_same(one: str, other: str) -> bool:
    """Whether two secrets or hashes are the same, compared in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())


def is_secret(secret: str, stored: str) -> bool:
    """Whether the hash is that of the secret."""
    return is_same(hash_of(secret), stored)


def joined(prefix: str, id: str, *secrets: str) -> str:
    return "_".join((prefix, id, *secrets))


def split(prefix: str, text: str, secrets: int = 1) -> tuple[str, ...] | None:
    """The id and the secrets of such a text; None if it has another form."""
    begin, *parts = text.split("_")
    return tuple(parts) if begin == prefix and len(parts) == secrets + 1 and all(parts) else None
