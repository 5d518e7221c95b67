"""Which values any store can keep: no NUL, no half surrogates, no endless numbers, no bottomless nesting."""

from __future__ import annotations

import re
from typing import Any

from holdfast.core.errors import InvalidRequest

DEPTH = 64
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def check_text(text: str) -> str:
    """The text.

    Raises:
        InvalidRequest: it holds NUL or half a surrogate pair; neither survives every store.
    """
    if _UNSTORABLE.search(text):
        raise InvalidRequest("contains a NUL or a lone surrogate, which cannot be stored")
    return text


def check_storable(value: Any, depth: int = 0) -> None:
    """Refuse what JSON or a store cannot hold, at any depth.

    Raises:
        InvalidRequest: the message names what is wrong, never the value.
    """
    if depth > DEPTH:
        raise InvalidRequest(f"is nested more than {DEPTH} deep")
    if isinstance(value, str):
        check_text(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            check_text(str(key))
            check_storable(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            check_storable(inner, depth + 1)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidRequest("contains an integer beyond 64 bits")
    elif isinstance(value, float) and value - value != 0:
        raise InvalidRequest("contains a number that is not finite")
