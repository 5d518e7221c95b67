"""Where the secrets are in a text: spans of bytes, each with the rule that found it. Changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from holdfast.redact.checks import CHECKS
from holdfast.redact.percent import unescaped
from holdfast.redact.result import PRIVATE_MARK, SECRET_MARK
from holdfast.redact.rules import Rule, RuleBook
from holdfast.redact.traits import JUDGED, SEPARATORS, Candidate, entropy, has_digit, is_spelled

MARKED = "[REDACTED"
# A rejected value longer than this is skipped whole: nothing but a run without blanks is so long, and searching
# it again at every byte would make "token:token:token:…" quadratic.
REREAD = 256
# A value of known length below this may be a word of that length, so it must have a digit.
LONG = 32
NAME = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
SECRET_NAME = re.compile("key|token|secret|client", re.IGNORECASE)
OPERATOR = re.compile(rb"[=:>,(|]|\xe2\x86\x92|\b(?:is|was|to|as)\b", re.IGNORECASE)
FLAG = re.compile(rb"(?:--?[\w-]*|\bsetx?\s+(?:-\w+\s+)*\w*)\Z")
QUOTES = (b'"', b"'", b"`")


class Span(NamedTuple):
    start: int
    end: int
    rule: int  # its place in the book


def find_secrets(book: RuleBook, data: bytes, calls: list[int]) -> list[Span]:
    """The secrets in the data, in order and without overlap; where rules meet, the one higher in the book counts."""
    found = _found(book, data, calls)
    if (read := unescaped(data)) is not None:
        found += [
            Span(read.origin(start), read.origin(end), rule)
            for start, end, rule in _found(book, read.data, book.calls(read.data))
        ]
    return _merged([_whole(data, span) for span in found])


def _found(book: RuleBook, data: bytes, calls: list[int]) -> list[Span]:
    return [Span(start, end, index) for index in calls for start, end in _matches(book, book.rules[index], data)]


def _matches(book: RuleBook, rule: Rule, data: bytes) -> Iterator[tuple[int, int]]:
    if rule.form == "names":
        return _named(book, rule, data)
    if rule.form == "near":
        return _near(book, rule, data)
    return _patterned(book, rule, data)


def _patterned(book: RuleBook, rule: Rule, data: bytes) -> Iterator[tuple[int, int]]:
    for match in rule.search.finditer(data):
        start, end = match.span(rule.group)
        if rule.within is not None:
            for inner in rule.within.finditer(data[start:end]):
                left, right = inner.span(1)
                if _counts(book, rule, data, match.start(), start + left, start + right):
                    yield start + left, start + right
        elif start < end and _counts(book, rule, data, match.start(), start, end):
            yield start, end


def _near(book: RuleBook, rule: Rule, data: bytes) -> Iterator[tuple[int, int]]:
    for match in rule.search.finditer(data):
        start, end = match.span(2)
        name = _text(match.group(1))
        if _is_joined(data, match, name) and near_counts(book, rule, name, _text(data[start:end])):
            yield start, end


def _is_joined(data: bytes, match: Any, name: str) -> bool:
    """Whether an operator joins name and value; a blank does only after a flag, `set`, or a name such as secret."""
    if OPERATOR.search(data[match.start(1) : match.start(2)]) or SECRET_NAME.search(name):
        return True
    return FLAG.search(data[max(0, match.start() - 48) : match.start()]) is not None


def near_counts(book: RuleBook, rule: Rule, name: str, value: str) -> bool:
    """Whether a value of the vendor's format is its key, and not a digest that happens to be as long."""
    if any(_stem(part) in book.words.digest for part in SEPARATORS.split(name.lower())):
        return False
    digit = has_digit(value)
    # Few digits in a random key make it look spelled; where the name is clear, one digit is enough.
    spelled = is_spelled(value) and not (digit and SECRET_NAME.search(name))
    if not rule.check and (spelled or (len(value) < LONG and not digit)):
        return False
    return _worth(book, rule, Candidate(value))


def _stem(word: str) -> str:
    return word.strip("\"'`]) \t\r\n\\").rstrip("0123456789")


def _named(book: RuleBook, rule: Rule, data: bytes) -> Iterator[tuple[int, int]]:
    place = 0
    while (match := rule.search.search(data, place)) is not None:
        group = next(number for number in (3, 4, 5, 6, 7) if match.span(number)[0] >= 0)
        start, end = match.span(group)
        if start < end and _is_pair(data, match, group) and _worth(book, rule, _candidate(data, match, group)):
            yield start, end
            place = match.end()
        else:
            place = max(start, match.end(2)) if group != 7 or end - start <= REREAD else end


def _name_before(data: bytes, place: int) -> bytes:
    head = data[max(0, place - 24) : place]
    return head[len(head.rstrip(NAME)) :]


def _is_pair(data: bytes, match: Any, group: int) -> bool:
    """A comma joins name and value only in quotes, as in put("password", "…"); > only in <password>…</password>."""
    operator = match.group(2).strip()
    if operator == b",":
        return group != 7 and data[match.end(1) : match.start(2)].strip(b"\\") in QUOTES
    if operator == b"|":
        # A table's row, not a pipe: the next cell begins right after the value.
        return data[match.end(group) : match.end(group) + 3].lstrip(b" `\"'").startswith(b"|")
    return operator != b">" or (group == 7 and data[match.end(7) : match.end(7) + 1] == b"<")


def _candidate(data: bytes, match: Any, group: int) -> Candidate:
    start, end = match.span(group)
    first = match.start(1)
    return Candidate(
        value=_text(data[start:end]),
        name=_text(match.group(1)).lower(),
        before=_text(_name_before(data, first)),
        operator=_text(match.group(2)),
        quoted=group != 7,
        after=_text(data[end : end + 1]),
    )


def _counts(book: RuleBook, rule: Rule, data: bytes, first: int, start: int, end: int) -> bool:
    if not rule.check and not rule.entropy:
        return MARKED.encode() not in data[start:end] or _worth(book, rule, Candidate(_text(data[start:end])))
    candidate = Candidate(
        value=_text(data[start:end]),
        name=_text(data[first:start]).lower(),
        before=_text(_name_before(data, first)),
        operator="=",
        after=_text(data[end : end + 1]),
    )
    return _worth(book, rule, candidate)


def _worth(book: RuleBook, rule: Rule, candidate: Candidate) -> bool:
    """Whether the value passes the rule's own floor and check; a mark of an earlier redaction is no part of it."""
    if candidate.before.endswith("REDACTED_"):
        return False
    if MARKED in candidate.value:
        candidate = replace(candidate, value=without_marks(candidate.value))
        if not candidate.value:
            return False
    if rule.entropy and entropy(candidate.value) < rule.entropy:
        return False
    return not rule.check or CHECKS[rule.check](candidate, book.words)


def without_marks(text: str) -> str:
    return text.replace(SECRET_MARK, "").replace(PRIVATE_MARK, "")


def _text(data: bytes) -> str:
    return data[:JUDGED].decode("utf-8", "replace")


def _whole(data: bytes, span: Span) -> Span:
    """The span widened to whole characters: rules see bytes and may end inside one."""
    start, end, rule = span
    while start > 0 and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return Span(start, end, rule)


def _merged(found: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(found):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Span(last.start, max(last.end, span.end), min(last.rule, span.rule))
        else:
            merged.append(span)
    return merged
