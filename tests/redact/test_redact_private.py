"""What its author marked as private is not kept."""

from __future__ import annotations

from rows import each

from holdfast.redact import redact_text, redact_value

BLOCKS = {
    "a <private>x</private> b": "a [REDACTED] b",
    "a <PRIVATE>x</Private> b": "a [REDACTED] b",
    "a <private>x\ny\nz</private> b": "a [REDACTED] b",
    "<private>x</private><private>y</private>": "[REDACTED][REDACTED]",
    "a < private >x</ private > b": "a [REDACTED] b",
    'a <private reason="health" level=2>x</private> b': "a [REDACTED] b",
    "a <private\n>x</private\n> b": "a [REDACTED] b",
    "a <private>x <private>y</private> z</private> b": "a [REDACTED] b",
    "a <private>x <private>y</private> z": "a [REDACTED]",
    "a <private>x": "a [REDACTED]",
    "a <private></private> b": "a [REDACTED] b",
    "a &lt;private&gt;x&lt;/private&gt; b": "a [REDACTED] b",
    "a \\u003cprivate\\u003ex\\u003c/private\\u003e b": "a [REDACTED] b",
    "a <private>é密\ud800</private> b": "a [REDACTED] b",
    "a </private> b <private>x": "a </private> b [REDACTED]",
}


@each("text, clean", BLOCKS.items())
def test_a_private_block_is_replaced_by_its_mark(text: str, clean: str) -> None:
    result = redact_text(text)
    assert result.value == clean
    assert {finding.rule for finding in result.findings} == {"private-block"}


@each(
    "text",
    ["a </private> b", "a private b", "<privateer>x</privateer>", "a <private/> b", "a <private b", "a <private "],
)
def test_what_is_no_open_tag_is_left_alone(text: str) -> None:
    assert redact_text(text).value == text


def test_a_private_block_in_a_field_does_not_reach_into_the_next_field() -> None:
    value = {"a": "x <private>y", "b": "z", "c": ["<private>1</private>", 2]}
    assert redact_value(value).value == {"a": "x [REDACTED]", "b": "z", "c": ["[REDACTED]", 2]}


def test_a_private_block_in_json_inside_a_text_leaves_the_json_whole() -> None:
    assert redact_text('{"a": "x <private>y", "b": 1}').value == '{"a": "x [REDACTED]", "b": 1}'


def test_a_secret_that_a_private_block_stands_in_goes_with_it() -> None:
    assert redact_text('password="ab<private>c</private>d9ef"').value == 'password="[REDACTED_SECRET]"'
