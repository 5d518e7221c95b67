"""Text and JSON values without secrets and without what their author marked as private.

Everything that Holdfast stores, sends on or logs from a caller comes through here once. Rules are data, in
rules.toml. Findings name rules and kinds; a secret's value is never in a result, a message or a log.
"""

from __future__ import annotations

from typing import TypeVar

from holdfast.core.model import CleanText
from holdfast.redact.json_walk import JsonRedaction, is_quiet
from holdfast.redact.plain import Counts, findings, to_bytes
from holdfast.redact.result import PRIVATE_MARK, SECRET_MARK, Finding, Redacted
from holdfast.redact.rules import default_rules

__all__ = ["PRIVATE_MARK", "SECRET_MARK", "Finding", "Redacted", "redact_text", "redact_value"]

T = TypeVar("T")


def redact_text(text: str) -> Redacted[CleanText]:
    """The text without secrets; text that is JSON stays JSON. Redacting again changes nothing."""
    book, data = default_rules(), to_bytes(text)
    if is_quiet(book, data):
        return Redacted(CleanText(text), ())
    counts = Counts()
    clean = JsonRedaction(book, counts).loud(text, data, 0)
    return Redacted(CleanText(clean), findings(book, counts))


def redact_value(value: T) -> Redacted[T]:
    """The JSON value without secrets, in the same shape; numbers, booleans and null are left as they are.

    Raises:
        InvalidRequest: it is no JSON value, or nested deeper than 200 levels.
    """
    book, counts = default_rules(), Counts()
    clean: T = JsonRedaction(book, counts).value(value)
    return Redacted(clean, findings(book, counts))
