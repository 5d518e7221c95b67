"""Turn a JSON text into one that holds another value, by touching only the spans that differ.

Entries define what the value should become; this finds the smallest edits that make it so. Comments,
order, spacing and spelling outside those spans stay byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from holdfast.cli.connect.formats.jsonc import Document, Node, Slot, parse
from holdfast.cli.connect.formats.refusal import Refusal

_INDENT = re.compile(r"[ \t]*")
_SAME_LINE_COMMENTS = re.compile(r"(?:[ \t]*(?:/\*.*?\*/|//[^\r\n]*))*", re.DOTALL)
_REST_OF_LINE = re.compile(r"[ \t]*(?:\r?\n|$)")


@dataclass(frozen=True, slots=True)
class Edit:
    start: int
    end: int
    text: str


def rewrite(text: str, value: Any) -> str:
    """The text changed as little as possible so that it holds the value.

    Raises:
        Refusal: the text is not JSON, or the change would destroy a comment.
    """
    before = parse(text)
    if before.root is None:
        newline = _newline(text)
        return text + json.dumps(value, indent=2, ensure_ascii=False).replace("\n", newline) + newline
    # Removals first and on their own: the commas of an insertion depend on what is left to stand beside.
    shorter = _applied(text, _removals(before, before.root, value))
    middle = before if shorter == text else parse(shorter)
    after = _applied(shorter, _changes(middle, middle.root, value)) if middle.root else shorter
    if not same(parse(after).value, value):
        raise Refusal("the change cannot be made without touching other settings")
    return after


def same(left: Any, right: Any) -> bool:
    """Equality as JSON sees it: 1, 1.0 and true are three different things, the order of keys is not."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def _applied(text: str, edits: Iterable[Edit]) -> str:
    parts, at = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < at:
            raise Refusal("two changes overlap")
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])


def _removals(doc: Document, node: Node, value: Any) -> Iterator[Edit]:
    gone: list[Slot] = []
    kept: list[Slot] = []
    for slot, wanted, stays in _pairs(node, value):
        (kept if stays else gone).append(slot)
        if stays:
            yield from _removals(doc, slot.node, wanted)
    for slot in gone:
        yield from _without(doc.text, slot)
    if gone and kept and gone[-1] is node.slots[-1] and gone[-1].comma is None:
        comma = kept[-1].comma
        if comma is not None:
            spaces = _INDENT.match(doc.text, comma + 1)
            inline = spaces is not None and any(slot.start == spaces.end() for slot in gone)
            yield Edit(comma, spaces.end() if spaces and inline else comma + 1, "")


def _pairs(node: Node, value: Any) -> Iterator[tuple[Slot, Any, bool]]:
    """Each slot with the value it should have and whether it stays; nothing when the kinds differ."""
    if isinstance(node.value, dict) and isinstance(value, dict):
        for slot in node.slots:
            yield slot, value.get(slot.key), slot.key in value
    elif isinstance(node.value, list) and isinstance(value, list):
        surplus, at = len(node.slots) - len(value), 0
        for slot in node.slots:
            stays = surplus <= 0 or (at < len(value) and same(slot.node.value, value[at]))
            yield slot, value[at] if stays and at < len(value) else None, stays
            at, surplus = (at + 1, surplus) if stays else (at, surplus - 1)


def _without(text: str, slot: Slot) -> Iterator[Edit]:
    """Take out a slot with its comma, and with its line when nothing else stands on it."""
    end = slot.node.end
    if slot.comma is not None:
        if text[end : slot.comma].strip():  # a comment stands between: it stays
            yield Edit(slot.comma, slot.comma + 1, "")
        else:
            end = slot.comma + 1
    line = text.rfind("\n", 0, slot.start) + 1
    rest = _REST_OF_LINE.match(text, end)
    if rest and not text[line : slot.start].strip():
        yield Edit(line, rest.end(), "")
    else:
        spaces = _INDENT.match(text, end) if slot.comma is not None else None
        yield Edit(slot.start, spaces.end() if spaces and end > slot.node.end else end, "")


def _changes(doc: Document, node: Node, value: Any) -> Iterator[Edit]:
    if same(node.value, value):
        return
    if isinstance(node.value, dict) and isinstance(value, dict):
        last = {slot.key: slot for slot in node.slots}  # of a doubled key the last one counts
        for key, slot in last.items():
            yield from _changes(doc, slot.node, value[str(key)])
        yield from _inserted(doc, node, [(key, value[key]) for key in value if key not in last])
    elif isinstance(node.value, list) and isinstance(value, list):
        for slot, wanted in zip(node.slots, value, strict=False):
            yield from _changes(doc, slot.node, wanted)
        yield from _inserted(doc, node, [(None, item) for item in value[len(node.slots) :]])
    elif doc.commented(node.start, node.end):
        raise Refusal("a value to be replaced contains a comment")
    else:
        yield Edit(node.start, node.end, _Layout(doc).pretty(value, _line_indent(doc.text, node.start)))


def _inserted(doc: Document, node: Node, new: list[tuple[str | None, Any]]) -> Iterator[Edit]:
    if not new:
        return
    layout, text = _Layout(doc), doc.text
    spread = "\n" in text[node.start : node.slots[0].start] if node.slots else not layout.one_line
    indent = _child_indent(doc, node, layout.unit)
    lead = layout.newline + indent if spread else ""
    shown = [lead + layout.slot(key, value, indent if spread else None) for key, value in new]
    body = ("," if spread else layout.comma).join(shown)
    if node.slots:
        yield from _after_last(text, node.slots[-1], body if spread else layout.space + body, spread)
    elif text[node.start + 1 : node.end - 1].strip():
        yield Edit(node.start + 1, node.start + 1, body)  # only a comment inside: stay before it
    else:
        tail = layout.newline + _line_indent(text, node.start) if spread else ""
        yield Edit(node.start + 1, node.end - 1, body + tail)


def _after_last(text: str, last: Slot, body: str, spread: bool) -> Iterator[Edit]:
    """Put new slots after the last one, and after the comments that stand on its line."""
    end = last.node.end if last.comma is None else last.comma + 1
    comments = _SAME_LINE_COMMENTS.match(text, end) if spread else None
    at = comments.end() if comments else end
    comma = "," if last.comma is None else ""
    if at == end:
        yield Edit(end, end, comma + body)
    else:
        yield Edit(end, end, comma)
        yield Edit(at, at, body)


class _Layout:
    """How the document is written: its newline, its indentation, and whether it is all on one line."""

    def __init__(self, doc: Document):
        self.newline = _newline(doc.text)
        root = doc.root
        self.one_line = bool(root and root.slots and "\n" not in doc.text[root.start : root.end])
        self.tight = self.one_line and re.search(r'[{,]"[^"]*":[^ ]', doc.text) is not None
        self.space = "" if self.tight else " "
        self.comma = "," + self.space
        self.unit = "  "
        if root and root.slots and "\n" in doc.text[root.start : root.slots[0].start]:
            self.unit = _line_indent(doc.text, root.slots[0].start) or "  "

    def slot(self, key: str | None, value: Any, indent: str | None) -> str:
        """One member or item; without an indent everything stays on one line."""
        name = "" if key is None else json.dumps(key, ensure_ascii=False) + ":" + self.space
        if indent is None:
            separators = (self.comma, ":" + self.space)
            return name + json.dumps(value, ensure_ascii=False, separators=separators)
        return name + self.pretty(value, indent)

    def pretty(self, value: Any, indent: str) -> str:
        if self.one_line:
            return json.dumps(value, ensure_ascii=False, separators=(self.comma, ":" + self.space))
        shown = json.dumps(value, indent=self.unit, ensure_ascii=False)
        return shown.replace("\n", self.newline + indent)


def _child_indent(doc: Document, node: Node, unit: str) -> str:
    if node.slots and "\n" in doc.text[node.start : node.slots[0].start]:
        return _line_indent(doc.text, node.slots[0].start)
    return _line_indent(doc.text, node.start) + unit


def _line_indent(text: str, at: int) -> str:
    match = _INDENT.match(text, text.rfind("\n", 0, at) + 1)
    return match.group() if match else ""


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
