"""Types of arguments: bounded, free of characters no store can keep, and redacted as they are read.

Every text that may be stored has a Clean type, so that it has been through redaction before an operation
sees it; what was found is collected for the audit entry, by kind only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import CleanText, Json
from holdfast.core.times import parse_time
from holdfast.recall.time.moments import parse_moment
from holdfast.redact import redact_text, redact_value
from holdfast.text.text_checks import check_storable, check_text

NAME_CHARS = 512
LINE_CHARS = 4_000
LABEL_CHARS = 200
TEXT_CHARS = 1_000_000
ITEM_CHARS = 1_024
ITEMS = 200

_findings: ContextVar[set[str] | None] = ContextVar("findings", default=None)


@contextmanager
def collect_findings() -> Iterator[set[str]]:
    """The kinds of secrets removed while arguments are read inside the block."""
    found: set[str] = set()
    token = _findings.set(found)
    try:
        yield found
    finally:
        _findings.reset(token)


def _note(kinds: Iterator[str]) -> None:
    found = _findings.get()
    if found is not None:
        found.update(kinds)


def storable(text: str) -> str:
    """The text, unless no store can keep it; as the error that pydantic expects."""
    try:
        return check_text(text)
    except InvalidRequest as fault:
        raise ValueError(fault.message) from fault


def _clean(text: str) -> str:
    result = redact_text(storable(text))
    _note(finding.rule for finding in result.findings)
    return result.value


def _clean_json(value: Any) -> Any:
    try:
        check_storable(value)
    except InvalidRequest as fault:
        raise ValueError(fault.message) from fault
    result = redact_value(value)
    _note(finding.rule for finding in result.findings)
    return result.value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def _split(value: Any) -> Any:
    """A list as it is; comma-separated text as a list."""
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _time(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("must be a time such as 2026-11-15T20:41:34Z")
    try:
        return parse_time(str(value), "time")
    except InvalidRequest as error:
        raise ValueError("must be a time such as 2026-11-15T20:41:34Z") from error


def _when(value: Any) -> Any:
    """A time as its milliseconds; other text stays, to be read as words once the current time is known."""
    try:
        return _time(value)
    except ValueError:
        if isinstance(value, str):
            return storable(value)
        raise


def moment(ctx: CallContext, when: int | str | None, name: str) -> int | None:
    """The milliseconds that an argument of type When means now.

    Raises:
        InvalidRequest: it is text, but neither a time nor words for one.
    """
    if not isinstance(when, str):
        return when
    at = parse_moment(when, ctx.clock.now_ms())
    if at is None:
        raise InvalidRequest(
            f"{name} is not a valid time: use a time such as 2026-11-15T20:41:34Z or a phrase such as yesterday",
            hint="Examples: 14:03:20, yesterday, 3 days ago, last week, last Friday, May 2026, 12 May 2026.",
        )
    return at


_LIST_SCHEMA = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_TIME_SCHEMA = {"type": "string", "format": "date-time"}
_WHEN_SCHEMA = {
    "type": "string",
    "description": "A time such as 2026-11-15T20:41:34Z, or a phrase: yesterday, 3 days ago, last week, May 2026.",
}

_after = AfterValidator
CleanName = Annotated[CleanText, Field(max_length=NAME_CHARS), _after(_not_blank), _after(_clean)]
CleanLine = Annotated[CleanText, Field(max_length=LINE_CHARS), _after(_clean)]
# A bound that a field adds to one of these is not applied (its text was cleaned by then), so each bound has its type.
CleanLabel = Annotated[CleanText, Field(max_length=LABEL_CHARS), _after(_clean)]
CleanBody = Annotated[CleanText, Field(max_length=TEXT_CHARS), _after(_not_blank), _after(_clean)]
CleanAny = Annotated[CleanText, _after(_clean)]  # of any length: the operation says itself what is too long
CleanLoose = Annotated[CleanText, Field(max_length=TEXT_CHARS), _after(_clean)]
CleanItem = Annotated[CleanText, Field(max_length=ITEM_CHARS), _after(_clean)]
CleanList = Annotated[
    tuple[CleanItem, ...], Field(max_length=ITEMS), BeforeValidator(_split), WithJsonSchema(_LIST_SCHEMA)
]
CleanJson = Annotated[Json, _after(_clean_json)]

# Arguments that only select are not stored, so they are not redacted: a query may name what a memory holds.
Name = Annotated[str, Field(min_length=1, max_length=NAME_CHARS), _after(storable)]
Query = Annotated[str, Field(max_length=TEXT_CHARS), _after(_not_blank), _after(storable)]
Names = Annotated[tuple[Name, ...], Field(max_length=1_000), BeforeValidator(_split), WithJsonSchema(_LIST_SCHEMA)]
Time = Annotated[int, BeforeValidator(_time), WithJsonSchema(_TIME_SCHEMA)]
When = Annotated[int | str, BeforeValidator(_when), WithJsonSchema(_WHEN_SCHEMA)]
Label = Annotated[str, Field(max_length=64, pattern=r"^[a-z][a-z0-9_]*$")]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def limit(default: int, most: int) -> Any:
    """A page size: at least 1, at most `most`."""
    return Field(default=default, ge=1, le=most, description=f"Maximum number of results (up to {most}).")


Offset = Annotated[int, Field(ge=0, le=100_000_000)]
