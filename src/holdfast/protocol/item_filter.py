"""Filters on the values of items: equal, or compared by operators such as $gt. Pure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.core.errors import InvalidRequest

_EQUAL: Mapping[str, Callable[[Any, Any], Any]] = {"$eq": operator.eq, "$ne": operator.ne}
_ORDER: Mapping[str, Callable[[Any, Any], Any]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS = (*_EQUAL, *_ORDER)


def matches(value: Any, wanted: Any) -> bool:
    """Whether a value is as a filter wants it. Fields that the filter does not name are not looked at.

    Raises:
        InvalidRequest: an operator is unknown.
    """
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all([_holds(name, value, one) for name, one in wanted.items()])
        return isinstance(value, Mapping) and all(matches(value.get(name), one) for name, one in wanted.items())
    if isinstance(wanted, list | tuple):
        alike = isinstance(value, list | tuple) and len(value) == len(wanted)
        return alike and all(map(matches, value, wanted))
    return bool(value == wanted)


def _holds(name: str, value: Any, operand: Any) -> bool:
    if name in _EQUAL:
        return bool(_EQUAL[name](value, operand))
    if name not in _ORDER:
        raise InvalidRequest(f"filter: unknown operator; the operators are {', '.join(OPERATORS)}")
    return _is_ordered(value, operand) and bool(_ORDER[name](value, operand))


def _is_ordered(value: Any, operand: Any) -> bool:
    """Two numbers, or two texts: nothing else comes before another."""
    both = (value, operand)
    return all(isinstance(one, str) for one in both) or all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in both
    )
