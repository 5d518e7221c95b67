"""What a sentinel watches for: whether its settings can be understood, and whether they are met. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Json

LONGEST_MS = 366 * 86_400_000
PATTERN_CHARS = 500
_OPERATORS = {"gt": "more than", "lt": "less than", "eq": "exactly"}
# Only what can be looked for in the time that the text takes to read: an expression with more could take hours.
_OTHER_SIGNS = re.compile(r"[\\()\[\]{}+?^$]")


def check_config(type: str, config: Json, metrics: Collection[str]) -> Json:
    """The settings that a sentinel of the type needs, without others.

    Raises:
        InvalidRequest: one is missing or cannot be understood.
    """
    if type == "timer":
        return {"durationMs": _duration(config.get("durationMs"))}
    if type == "threshold":
        return _threshold(config, metrics)
    if type == "pattern":
        return {"pattern": _pattern(config.get("pattern"))}
    return config


def _duration(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_MS:
        raise InvalidRequest(f"config: a timer needs durationMs, a number from 1 to {LONGEST_MS}")
    return int(value) or 1


def _threshold(config: Json, metrics: Collection[str]) -> Json:
    metric, operator, value = (config.get(name) for name in ("metric", "operator", "value"))
    if metric not in metrics:
        raise InvalidRequest(f"config: metric must be one of {', '.join(metrics)}")
    if operator not in _OPERATORS:
        raise InvalidRequest(f"config: operator must be one of {', '.join(_OPERATORS)}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRequest("config: a threshold needs value, a number")
    return {"metric": metric, "operator": operator, "value": value}


def _pattern(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > PATTERN_CHARS:
        raise InvalidRequest(f"config: a pattern needs pattern, a text of up to {PATTERN_CHARS} characters")
    if _OTHER_SIGNS.search(value):
        raise InvalidRequest(
            "config: a pattern is plain text, with | between alternatives and .* for anything",
            hint="Leave out the signs \\ ( ) [ ] { } + ? ^ $.",
        )
    return value


def is_reached(now: float, operator: str, value: float) -> bool:
    return {"gt": now > value, "lt": now < value, "eq": now == value}[operator]


def matches(pattern: str, text: str) -> bool:
    """Whether one of the alternatives stands in the text, whatever its case; what `.*` joins stands in that order."""
    text = text.casefold()
    return any(_in_order(one.casefold().split(".*"), text) for one in pattern.split("|") if one.strip(".* "))


def _in_order(pieces: list[str], text: str) -> bool:
    at = 0
    for piece in pieces:
        place = text.find(piece, at)
        if place < 0:
            return False
        at = place + len(piece)
    return True
