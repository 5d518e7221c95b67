"""JSON values without secrets, field by field, so that JSON stays JSON.

The name of a field decides about its value: what lies under "password" is a password even if it looks like a word.
Text that is itself JSON is opened, cleaned inside and written again, but only when something was found in it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson

from holdfast.core.errors import InvalidRequest
from holdfast.redact.checks import CHECKS
from holdfast.redact.plain import PASSES, Counts, clean_bytes, clean_text, to_bytes, to_text
from holdfast.redact.result import SECRET_MARK
from holdfast.redact.rules import Rule, RuleBook
from holdfast.redact.scan import find_secrets, near_counts, without_marks
from holdfast.redact.traits import Candidate

# Python's own stack ends near a thousand frames; a walk takes two for each level, and the server some before it.
DEPTH = 200

# Parts of a value without any keyword are passed whole; below this level writing them out again costs more than
# it saves.
SHALLOW = 8

# Types that orjson would write although they are no JSON values must reach the walk, which refuses them.
STRICT = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS

# {"name": "PASSWORD", "value": "…"}: environments, headers and tags are often written as such pairs.
PAIR_NAMES = ("name", "Name", "key", "Key", "header", "variable")
PAIR_VALUES = frozenset({"value", "Value", "val", "default", "content"})
BRACKETS = {"{": "}", "[": "]", '"': '"'}


class JsonRedaction:
    """One redaction of one value; `counts` gathers what was removed."""

    def __init__(self, book: RuleBook, counts: Counts) -> None:
        self.book = book
        self.counts = counts
        self.seen: dict[str, list[Rule]] = {}

    def value(self, value: Any, name: str = "", depth: int = 0) -> Any:
        """The value without secrets, where `name` is the field it lies in.

        Raises:
            InvalidRequest: it is no JSON value, or nested deeper than can be walked.
        """
        if isinstance(value, str):
            return self.field(name, value, depth) if name else self.text(value, depth)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return self.number(name, value, depth)
        if depth < SHALLOW and not self.called(name) and self.is_quiet(value):
            return value
        if depth >= DEPTH:
            raise InvalidRequest(f"The value cannot be redacted: it is nested deeper than {DEPTH} levels.")
        if isinstance(value, dict):
            return self.mapping(value, name, depth + 1)
        if isinstance(value, list | tuple):
            items = self.items(value, name, depth + 1)
            return items if isinstance(value, list) else tuple(items)
        raise InvalidRequest(f"The value cannot be redacted: a {type(value).__name__} is no JSON value.")

    def number(self, name: str, value: float, depth: int) -> Any:
        """The number, unless the field's name marks it as a secret: a password may be all digits."""
        if not self.called(name):
            return value
        shown = self.field(name, str(value), depth)
        return value if shown == str(value) else shown

    def called(self, name: str) -> list[Rule]:
        """The rules that the name of a field calls for; names repeat, so each is matched once."""
        if not name:
            return []
        if name not in self.seen:
            self.seen[name] = [self.book.rules[index] for index in self.book.calls(to_bytes(name) + b": ")]
        return self.seen[name]

    def is_quiet(self, value: Any) -> bool:
        """Whether no keyword stands anywhere in the value: one pass over its JSON instead of one for each text."""
        try:
            data = orjson.dumps(value, option=STRICT)
        except (TypeError, ValueError):
            return False
        return is_quiet(self.book, data)

    def mapping(self, fields: dict[Any, Any], name: str, depth: int) -> dict[Any, Any]:
        clean: dict[Any, Any] = {}
        numbers: Counter[str] = Counter()
        pair = next((fields[key] for key in PAIR_NAMES if isinstance(fields.get(key), str)), None)
        paired = name if pair is None else clean_text(self.book, pair, Counts())
        for key, value in fields.items():
            shown = self.key(key, clean, numbers)
            inner = paired if key in PAIR_VALUES else shown if isinstance(shown, str) else name
            clean[shown] = self.value(value, inner, depth)
        return clean

    def key(self, key: Any, taken: dict[Any, Any], numbers: Counter[str]) -> Any:
        """The key without secrets; those that become the same get numbers, so that no field is lost."""
        if not isinstance(key, str):
            return key
        clean = shown = clean_text(self.book, key, self.counts)
        while shown in taken:
            numbers[clean] += 1
            shown = f"{numbers[clean] + 1} {clean}"
        return shown

    def items(self, values: list[Any] | tuple[Any, ...], name: str, depth: int) -> list[Any]:
        clean: list[Any] = []
        flag = ""
        for value in values:
            shown = self.value(value, flag or name, depth)
            flag = shown.lstrip("-") if isinstance(shown, str) and is_flag(shown) else ""
            clean.append(shown)
        return clean

    def text(self, text: str, depth: int) -> str:
        """The text without secrets; if it is JSON it still is."""
        data = to_bytes(text)
        return text if is_quiet(self.book, data) else self.loud(text, data, depth)

    def loud(self, text: str, data: bytes, depth: int) -> str:
        """The same for a text, and its bytes, in which a keyword stands."""
        clean = self.inside(text, depth)
        if clean is None:
            clean = to_text(clean_bytes(self.book, data, self.counts))
            # Without its secrets a broken text may be JSON, which is read field by field.
            if opened_json(clean) is None:
                return clean
        return clean if clean == text else self.text(clean, depth + 1)

    def inside(self, text: str, depth: int) -> str | None:
        """The text cleaned field by field; None if it is no JSON, or nested too deep to be read as such."""
        opened = opened_json(text) if depth < DEPTH else None
        if opened is None:
            return None
        before = self.counts.copy()
        try:
            clean = self.value(opened, "", depth + 1)
        except InvalidRequest:
            self.counts.clear()
            self.counts.update(before)
            return None
        return written_json(clean, text) if self.counts != before else text

    def field(self, name: str, text: str, depth: int) -> str:
        """The text of a field, judged by its name too."""
        called = self.called(name)
        if not called:
            return self.text(text, depth)
        for _ in range(PASSES):
            if isinstance(opened_json(text), dict | list):
                return self.text(text, depth)
            rule = next((rule for rule in called if self.names(rule, name, text)), None)
            if rule is not None:
                self.counts[rule.id] += 1
                return SECRET_MARK
            clean = self.line(to_bytes(name) + b": ", self.text(text, depth))
            if clean == text:
                return text
            text = clean
        return SECRET_MARK

    def names(self, rule: Rule, name: str, text: str) -> bool:
        """Whether by this rule the text under this name is a secret as a whole."""
        rest = without_marks(text)
        if rule.form == "pattern" or not rest or (found := rule.key.search(to_bytes(name))) is None:
            return False
        if rule.form == "near":
            return rule.value.fullmatch(to_bytes(rest)) is not None and near_counts(
                self.book, rule, to_text(found.group(1)), rest
            )
        told = to_text(found.group()).lower()
        before = to_text(to_bytes(name)[: found.start()])
        candidate = Candidate(rest, told, before, operator=":", quoted=True, field=True)
        return CHECKS[rule.check](candidate, self.book.words)

    def line(self, head: bytes, text: str) -> str:
        """The text as it would read after its name, as in the lines of an HTTP header."""
        data = head + to_bytes(text)
        inside = [span for span in find_secrets(self.book, data, self.book.calls(data)) if span.start >= len(head)]
        for span in reversed(inside):
            data = data[: span.start] + SECRET_MARK.encode() + data[span.end :]
            self.counts[self.book.rules[span.rule].id] += 1
        return to_text(data[len(head) :])


def is_quiet(book: RuleBook, data: bytes) -> bool:
    """Whether no keyword stands in the data, nor in JSON that it may hold."""
    # JSON inside a text may spell letters as \u0070; such a text must be opened to be read.
    return b"\\u" not in data and book.is_quiet(data)


def is_flag(text: str) -> bool:
    """Whether the next item of a command line may be this one's value."""
    return 2 < len(text) < 64 and text[0] == "-" and "=" not in text and not text.isspace()


def opened_json(text: str) -> Any:
    """The object, list or text that this text is JSON of; None for anything else."""
    stripped = text.strip()
    if len(stripped) < 2 or BRACKETS.get(stripped[0]) != stripped[-1]:
        return None
    try:
        opened = json.loads(stripped, parse_float=_finite, parse_constant=_refuse, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return opened if isinstance(opened, dict | list | str) else None


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError
    return number


def _refuse(text: str) -> None:
    raise ValueError


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these fields; one with a field twice cannot be written again without loss."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError
    return fields


def written_json(value: Any, like: str) -> str:
    """The value as JSON in the layout of the text it came from."""
    dumps: Callable[..., str] = json.dumps
    if "\n" in like.strip():
        second = like.strip().split("\n", 2)[1]
        indent = len(second) - len(second.lstrip(" "))
        return dumps(value, ensure_ascii=like.isascii(), indent=indent or None)
    tight = '": ' not in like and '", ' not in like
    return dumps(value, ensure_ascii=like.isascii(), separators=(",", ":") if tight else None)
