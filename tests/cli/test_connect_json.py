"""JSON with comments: whatever the text, an edit makes the wanted value and touches nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from connect_homes import COMMAND, make_place
from hypothesis import given, strategies as st
from rows import each

from holdfast.cli.connect.agents.agent import rows
from holdfast.cli.connect.agents.shapes import grouped_hook, plain_server
from holdfast.cli.connect.agents.terminal_agents import CLAUDE_EVENTS
from holdfast.cli.connect.config_entries import JsonHooks, Server
from holdfast.cli.connect.formats.jsonc import parse
from holdfast.cli.connect.formats.jsonc_edit import rewrite, same
from holdfast.cli.connect.formats.refusal import Refusal
from holdfast.cli.connect.formats.text_format import JSON

NAMES = st.text(max_size=6) | st.sampled_from(["mcpServers", "hooks", "SessionStart", "holdfast", "//", "/*"])
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=5)


@st.composite
def written(draw: st.DrawFn, values: st.SearchStrategy[Any] = OBJECTS) -> tuple[str, Any, int]:
    """A JSON text with comments, trailing commas and any spacing; its value; and how many comments it has."""
    count = 0

    def gap() -> str:
        nonlocal count
        parts = draw(st.lists(st.sampled_from(["", " ", "\n", "\t", "\r\n", "//c", "/*c*/"]), max_size=3))
        count += sum(part.endswith(("c", "*/")) for part in parts)
        return "".join(part + "\n" if part == "//c" else part for part in parts)

    def show(value: Any) -> str:
        if not isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        opening, closing = "[]" if isinstance(value, list) else "{}"
        if not value:
            return opening + gap() + closing
        if isinstance(value, list):
            shown = [gap() + show(item) + gap() for item in value]
        else:
            shown = [gap() + json.dumps(key) + gap() + ":" + gap() + show(item) + gap() for key, item in value.items()]
        tail = "," + gap() if draw(st.booleans()) else ""
        return opening + ",".join(shown) + tail + closing

    value = draw(values)
    text = gap() + show(value) + gap()
    return text, value, count


@given(written(VALUES))
def test_a_text_with_comments_and_trailing_commas_is_read_as_its_value(made: tuple[str, Any, int]) -> None:
    text, value, count = made
    doc = parse(text)
    assert same(doc.value, value)
    assert len(doc.comments) == count


@given(OBJECTS, st.sampled_from([None, 1, 2, 4, "\t"]))
def test_plain_json_is_read_as_the_json_module_reads_it(value: dict[str, Any], indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    doc = parse(text)
    assert doc.value == json.loads(text)
    assert doc.root is not None
    assert [text[slot.node.start : slot.node.end] for slot in doc.root.slots if isinstance(slot.node.value, str)] == [
        json.dumps(item) for item in value.values() if isinstance(item, str)
    ]


@given(written(), OBJECTS)
def test_a_rewrite_gives_the_wanted_value_or_refuses(made: tuple[str, Any, int], wanted: dict[str, Any]) -> None:
    try:
        after = rewrite(made[0], wanted)
    except Refusal:
        assert made[2] > 0  # only a comment in the way is a reason
        return
    assert same(parse(after).value, wanted)


@given(written(), NAMES, VALUES)
def test_adding_a_key_keeps_every_character_and_comment(made: tuple[str, Any, int], name: str, item: Any) -> None:
    text, value, count = made
    if name in value:
        return
    after = rewrite(text, {**value, name: item})
    assert len(parse(after).comments) == count
    characters = iter(after)
    assert not value or all(character in characters for character in text)


@given(written(), NAMES, VALUES)
def test_adding_a_key_and_taking_it_out_again_keeps_value_and_comments(
    made: tuple[str, Any, int], name: str, item: Any
) -> None:
    text, value, count = made
    if name in value:
        return
    back = rewrite(rewrite(text, {**value, name: item}), value)
    assert same(parse(back).value, value)
    assert len(parse(back).comments) == count


@given(OBJECTS, st.sampled_from([None, 2, 4, "\t"]), NAMES, VALUES)
def test_on_plain_json_adding_and_taking_out_gives_the_same_bytes(
    value: dict[str, Any], indent: Any, name: str, item: Any
) -> None:
    text = json.dumps(value, indent=indent)
    if name not in value and value:
        assert rewrite(rewrite(text, {**value, name: item}), value) == text


@given(written(), written())
def test_server_and_hooks_go_in_and_out_of_any_settings_without_a_trace(
    made: tuple[str, Any, int], other: tuple[str, Any, int]
) -> None:
    place = make_place(COMMAND.parent)
    text, value, _ = made
    for entry in (Server(JSON, ("mcpServers",), plain_server), JsonHooks(rows(CLAUDE_EVENTS), grouped_hook)):
        try:
            after = entry.added(text, place)
        except Refusal:
            continue
        untouched = {key: item for key, item in value.items() if key not in ("mcpServers", "hooks")}
        assert same({key: parse(after).value[key] for key in untouched}, untouched)
        assert entry.added(after, place) == after
        assert entry.found(after, place)
        if not entry.found(text, place):
            assert same(parse(entry.removed(after, place, text)).value, value)


@each(
    "text",
    [
        "{",
        "}",
        '{"a"}',
        '{"a":}',
        '{"a":1,,}',
        "[1 2]",
        '{"a":1}x',
        "nul",
        "01",
        "+1",
        '"\t"',
        '"\\x"',
        "/* open",
        "NaN",
    ],
)
def test_what_is_not_json_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(Refusal, match="line 1:"):
        parse(text)


def test_deep_nesting_is_refused_instead_of_exhausting_the_stack() -> None:
    with pytest.raises(Refusal, match="nested too deeply"):
        parse("[" * 100_000)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text)
    except Refusal:
        return


def test_a_comment_in_a_value_that_would_be_replaced_is_a_reason_to_refuse() -> None:
    with pytest.raises(Refusal, match="comment"):
        rewrite('{"a": [1, /* two */ 2]}', {"a": 3})


def test_windows_line_ends_tabs_and_a_byte_order_mark_are_kept() -> None:
    text = '\ufeff{\r\n\t"a": 1\r\n}\r\n'
    assert rewrite(text, {"a": 1, "b": {"c": 2}}) == ('\ufeff{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": 2\r\n\t}\r\n}\r\n')


def test_a_comment_at_the_end_of_a_line_stays_with_its_line() -> None:
    after = rewrite('{\n  "a": 1 // one\n}\n', {"a": 1, "b": 2})
    assert after == '{\n  "a": 1, // one\n  "b": 2\n}\n'


def test_of_a_doubled_key_the_last_one_counts() -> None:
    assert parse(rewrite('{"a": 1, "a": {"b": 1}}', {"a": {"b": 1, "c": 2}})).value == {"a": {"b": 1, "c": 2}}
