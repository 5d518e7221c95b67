"""What is wrong with an argument, in our own words; never its value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

_TOLD = 5  # problems; a caller with more gets the rest after fixing these

_TEXT = "must be text"
_WHOLE = "must be a whole number"
_NUMBER = "must be a number"
_FLAG = "must be true or false"
_LIST = "must be a list"
_OBJECT = "must be an object"

_WORDS: dict[str, str] = {
    "string_type": _TEXT,
    "string_unicode": _TEXT,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "int_parsing_size": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "bool_type": _FLAG,
    "bool_parsing": _FLAG,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
}

_BOUNDED: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "string_too_short": lambda about: f"must have at least {_counted(about['min_length'], 'character')}",
    "string_too_long": lambda about: f"must have at most {_counted(about['max_length'], 'character')}",
    "too_short": lambda about: f"must have at least {_counted(about['min_length'], 'entry', 'entries')}",
    "too_long": lambda about: f"must have at most {_counted(about['max_length'], 'entry', 'entries')}",
    "greater_than_equal": lambda about: f"must be at least {about['ge']}",
    "less_than_equal": lambda about: f"must be at most {about['le']}",
    "greater_than": lambda about: f"must be more than {about['gt']}",
    "less_than": lambda about: f"must be less than {about['lt']}",
    "string_pattern_mismatch": lambda about: f"must match {about['pattern']}",
    "literal_error": lambda about: f"must be {about['expected']}".replace("'", ""),
    "value_error": lambda about: str(about["error"]),
}


def explain(error: ValidationError) -> str:
    """What is wrong, in words, without the value."""
    problems = []
    for one in error.errors(include_input=False, include_url=False)[:_TOLD]:
        where = ".".join(str(part) for part in one["loc"]) or "request"
        missing = one["type"] == "missing"
        problems.append(f"{where} is required" if missing else f"{where}: {_reason(one['type'], one.get('ctx', {}))}")
    return "; ".join(dict.fromkeys(problems))


def _reason(kind: str, about: Mapping[str, Any]) -> str:
    if kind in _BOUNDED:
        return _BOUNDED[kind](about)
    return _WORDS.get(kind, "has an invalid format")


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or f'{one}s'}"
