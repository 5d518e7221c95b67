"""Plain text without private blocks and secrets. Knows nothing of JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from holdfast.redact.pictures import put_back, set_aside
from holdfast.redact.private import remove_private
from holdfast.redact.result import SECRET_MARK, Finding
from holdfast.redact.rules import RuleBook
from holdfast.redact.scan import Span, find_secrets

# Removing a secret can uncover the next one, which had no word boundary before. Ordinary text is clean after one
# pass and the second confirms it; text that still yields after eight was crafted for it, and nothing of it is kept.
PASSES = 8

PRIVATE = "private-block"

Counts = Counter[str]


def clean_text(book: RuleBook, text: str, counts: Counts) -> str:
    """The text without secrets; what was removed is added to the counts. Cleaning it again changes nothing."""
    data = to_bytes(text)
    if book.is_quiet(data):
        return text
    return to_text(clean_bytes(book, data, counts))


def clean_bytes(book: RuleBook, data: bytes, counts: Counts) -> bytes:
    shown, payloads = set_aside(data)
    return put_back(_clean_shown(book, shown, counts), payloads)


def _clean_shown(book: RuleBook, data: bytes, counts: Counts) -> bytes:
    for _ in range(PASSES):
        shown, blocks = remove_private(data)
        found = find_secrets(book, shown, book.calls(shown))
        if not blocks and not found:
            return data
        data = _replaced(shown, found)
        counts.update([PRIVATE] * blocks)
        counts.update(book.rules[span.rule].id for span in found)
    return SECRET_MARK.encode()


def _replaced(data: bytes, found: Iterable[Span]) -> bytes:
    pieces, kept_to = [], 0
    for span in found:
        pieces += [data[kept_to : span.start], SECRET_MARK.encode()]
        kept_to = span.end
    return b"".join(pieces) + data[kept_to:]


def findings(book: RuleBook, counts: Counts) -> tuple[Finding, ...]:
    """What was removed, in the order of the book."""
    kinds = {rule.id: rule.kind for rule in book.rules} if counts else {}
    first = (Finding(PRIVATE, PRIVATE, counts[PRIVATE]),) if counts[PRIVATE] else ()
    return first + tuple(Finding(rule, kind, counts[rule]) for rule, kind in kinds.items() if counts[rule])


def to_bytes(text: str) -> bytes:
    """UTF-8; lone surrogates, which JSON allows, pass through."""
    return text.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
