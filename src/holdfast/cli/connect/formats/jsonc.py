"""JSON with comments and trailing commas, read into values that know their place in the text.

The json module drops the positions; an edit that keeps every other byte needs them. Nothing here knows
what the values mean.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from holdfast.cli.connect.formats.refusal import Refusal

_GAP = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_ATOM = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?![\w.])")

# Settings nest about ten deep at most; the reader takes two frames per level and Python stops at 1,000.
_DEEPEST = 200

_CLOSING = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Slot:
    """One member of an object or one item of a list; `comma` is where its comma stands, if it has one."""

    key: str | None
    start: int
    node: Node
    comma: int | None


@dataclass(frozen=True, slots=True)
class Node:
    """One value and the span of text it was read from; text[start:end] is exactly the value."""

    start: int
    end: int
    value: Any
    slots: tuple[Slot, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A text, its root value, and the spans of its comments. A blank text has no root."""

    text: str
    root: Node | None
    comments: tuple[tuple[int, int], ...] = ()

    @property
    def value(self) -> Any:
        """The plain value; a blank file counts as an empty object, as the agents themselves read it."""
        return {} if self.root is None else self.root.value

    def commented(self, start: int, end: int) -> bool:
        """Whether a comment stands inside the span."""
        return any(start <= at < end for at, _ in self.comments)


def parse(text: str) -> Document:
    """The document in the text.

    Raises:
        Refusal: the text is not JSON, even with comments and trailing commas allowed.
    """
    if not text.strip("\ufeff \t\r\n"):
        return Document(text, None)
    reader = _Reader(text)
    root = reader.value(0)
    reader.gap()
    if reader.pos != len(text):
        raise reader.refusal("there is text after the end of the value")
    return Document(text, root, tuple(reader.comments))


class _Reader:
    """A cursor over the text; each method reads one thing and moves past it."""

    def __init__(self, text: str):
        self.text = text
        self.pos = 1 if text.startswith("\ufeff") else 0
        self.comments: list[tuple[int, int]] = []

    def refusal(self, why: str) -> Refusal:
        return Refusal(f"line {self.text.count(chr(10), 0, self.pos) + 1}: {why}")

    def gap(self) -> None:
        while True:
            self.pos = self._end(_GAP)
            match = _COMMENT.match(self.text, self.pos)
            if match is None:
                return
            self.comments.append(match.span())
            self.pos = match.end()

    def value(self, depth: int) -> Node:
        self.gap()
        head = self.text[self.pos : self.pos + 1]
        if depth > _DEEPEST:
            raise self.refusal("values are nested too deeply")
        if head in _CLOSING:
            return self._container(head, depth)
        match = (_STRING if head == '"' else _ATOM).match(self.text, self.pos)
        if match is None:
            raise self.refusal("a value is missing or not valid JSON")
        node = Node(match.start(), match.end(), self._decoded(match.group()))
        self.pos = match.end()
        return node

    def _container(self, opening: str, depth: int) -> Node:
        start = self.pos
        slots: list[Slot] = []
        self.pos += 1
        self.gap()
        while not self.text.startswith(_CLOSING[opening], self.pos):
            if slots and slots[-1].comma is None:
                raise self.refusal(f"a comma or {_CLOSING[opening]} is missing")
            slots.append(self._slot(opening, depth))
            self.gap()
        self.pos += 1
        values = [slot.node.value for slot in slots]
        whole = dict(zip((slot.key for slot in slots), values, strict=True)) if opening == "{" else values
        return Node(start, self.pos, whole, tuple(slots))

    def _slot(self, opening: str, depth: int) -> Slot:
        start = self.pos
        key = self._key() if opening == "{" else None
        node = self.value(depth + 1)
        self.gap()
        comma = self.pos if self.text.startswith(",", self.pos) else None
        self.pos += 0 if comma is None else 1
        return Slot(key, start, node, comma)

    def _key(self) -> str:
        match = _STRING.match(self.text, self.pos)
        if match is None:
            raise self.refusal("a key in double quotes is missing")
        key = self._decoded(match.group())
        self.pos = match.end()
        self.gap()
        if not self.text.startswith(":", self.pos):
            raise self.refusal("a colon is missing after a key")
        self.pos += 1
        return str(key)

    def _decoded(self, token: str) -> Any:
        try:
            return json.loads(token)
        except ValueError:
            raise self.refusal("a string has an escape that JSON does not know") from None

    def _end(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.pos)
        return match.end() if match else self.pos
