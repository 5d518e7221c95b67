"""What strict JSON takes, and what it refuses."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from rows import each

from holdfast.core.errors import InvalidRequest
from holdfast.serve.http.strict_json import check_text, dumps, loads

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=30)
# Text that is nearly JSON: pieces that the screening looks at, in any order.
WORDS = rb"""{ } [ ] " : , \ \u0000 \u003a \ud800 u0000 a "a": "a":1 1 - .5 e999 NaN true""".split()
PIECES = st.sampled_from([*WORDS, b" ", b"\n", b"9" * 19, b"9" * 30, b"\xff", b"\xef\xbb\xbf"])


def refusal(raw: bytes, **limits: int) -> str:
    with pytest.raises(InvalidRequest) as caught:
        loads(raw, **limits)
    return caught.value.message


@given(value=VALUES, spread=st.booleans(), ascii_only=st.booleans())
def test_what_the_standard_library_wrote_is_read_as_the_same_value(value: Any, spread: bool, ascii_only: bool) -> None:
    raw = json.dumps(value, indent=2 if spread else None, ensure_ascii=ascii_only).encode()
    assert loads(raw) == value == json.loads(raw)


@given(value=VALUES)
def test_what_is_written_is_read_back_as_the_same_value(value: Any) -> None:
    assert loads(dumps(value)) == value


@settings(max_examples=1000)
@given(raw=st.binary() | st.lists(PIECES, max_size=40).map(b"".join))
def test_any_bytes_give_the_value_of_the_standard_library_or_an_invalid_request(raw: bytes) -> None:
    try:
        value = loads(raw)
    except InvalidRequest:
        return
    assert value == json.loads(raw)


def repeats(raw: bytes) -> bool:
    found = False

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        found = found or len(dict(pairs)) != len(pairs)
        return dict(pairs)

    json.loads(raw, object_pairs_hook=note)
    return found


KEYS = st.sampled_from(['"a"', '"b"', '"\\u0061"', '":"', '"\\u003a"', '"\\":"', '"\\\\"', '"a:b"'])
OBJECTS = st.recursive(
    KEYS | st.just("1"),
    lambda inner: st.lists(st.tuples(KEYS, st.sampled_from([":", " : "]), inner), max_size=4).map(
        lambda pairs: "{" + ",".join(key + colon + value for key, colon, value in pairs) + "}"
    ),
    max_leaves=12,
)


@settings(max_examples=1000)
@given(text=OBJECTS)
def test_an_object_is_refused_exactly_when_a_key_stands_in_it_twice(text: str) -> None:
    raw = text.encode()
    if repeats(raw):
        assert "duplicate key" in refusal(raw)
    else:
        assert loads(raw) == json.loads(raw)


def test_a_repeated_key_is_named_when_it_is_a_plain_word_and_only_measured_when_it_is_not() -> None:
    assert '"content"' in refusal(b'{"content": 1, "x": {}, "content": 2}')
    assert "my secret" not in refusal(b'{"my secret": 1, "my secret": 2}')


@each(
    "raw, reason",
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf{}", "remove the byte order mark"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b"[1, NaN]", "NaN and Infinity are not JSON, near character 4"),
        (b'{"a": -Infinity}', "NaN and Infinity"),
        (b"1e999", "infinity"),
        (b"-1e999", "infinity"),
        (b'"\\ud800"', "surrogate"),
        (b'"\\udc00\\ud800"', "surrogate"),
        (b'"a\\u0000b"', "NUL"),
        (b'{"a\\u0000": 1}', "NUL"),
        (b'"\\\\\\u0000"', "NUL"),
        (b'"a\x00b"', "control character"),
        (b"[1, 9223372036854775808]", "64 bits"),
        (b"-9223372036854775809", "64 bits"),
        (b"18446744073709551616", "64 bits"),
        (b"1" * 300, "64 bits"),
        (b"[" * 65 + b"]" * 65, "more than 64 deep"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "more than 64 deep"),
        (b"[" * 100_000 + b"]" * 100_000, "depth limit"),
        (b"[" * 300_000, "200000 values"),
        (b'{"a": 1,}', "near character"),
        (b"{'a': 1}", "near character"),
        (b"1 2", "near character"),
    ],
)
def test_json_that_would_change_on_its_way_is_refused_with_the_reason(raw: bytes, reason: str) -> None:
    assert reason in refusal(raw)


@each(
    "raw",
    [
        b"[" * 64 + b"]" * 64,
        b'"' + b"[" * 100_000 + b'"',
        b"[9223372036854775807, -9223372036854775808]",
        b'"99999999999999999999999"',
        b'{"at": 1763248282123456789}',
        b"12345678901234567890.5",
        b"0.12345678901234567890",
        b'"\\\\u0000"',
        b'"NaN, Infinity, \\ud83d\\ude00"',
        b'[{"a": 1}, {"a": 1}]',
        b'{"a": {"a": {"a": 1}}}',
        b'"\\u003a"',
    ],
)
def test_unusual_json_with_one_meaning_is_taken(raw: bytes) -> None:
    assert loads(raw) == json.loads(raw)


def test_the_number_of_values_is_capped_before_anything_is_built() -> None:
    assert "more than 100 values" in refusal(b"[" + b",".join([b"[]"] * 60) + b"]", max_values=100)
    assert len(loads(b"[" + b",".join([b"0"] * 90) + b"]", max_values=100)) == 90


def test_commas_and_brackets_inside_of_a_string_are_not_counted_as_values() -> None:
    raw = json.dumps("[,{" * 100).encode()
    assert loads(raw, max_values=100) == "[,{" * 100


def test_a_string_longer_than_the_cap_is_refused_and_one_as_long_is_taken() -> None:
    assert "longer than 50 bytes" in refusal(b'["' + b"x" * 51 + b'"]', max_string=50)
    assert loads(b'["' + b"x" * 50 + b'"]', max_string=50) == ["x" * 50]


def test_a_megabyte_of_escaped_quotes_without_an_end_is_refused_in_linear_time() -> None:
    raw = b'"' + b'\\"' * 500_000
    assert "near character" in refusal(raw, max_string=2_000_000)
    assert "longer than" in refusal(raw, max_string=10_000)


def test_a_refusal_never_carries_the_body_along() -> None:
    with pytest.raises(InvalidRequest) as caught:
        loads(b'{"password": "hunter2" oops}')
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_float_that_is_not_a_number_is_written_as_null() -> None:
    assert dumps([math.nan, math.inf, "é", 1.5]) == '[null,null,"é",1.5]'.encode()


@each("text, reason", [("a\0b", "NUL"), ("a\ud800", "surrogate"), ("x" * 16_001, "at most 16000")])
def test_a_parameter_that_cannot_be_stored_as_it_is_is_refused_by_name(text: str, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=f"project.*{reason}"):
        check_text(text, "project")


@given(text=TEXT)
def test_any_other_parameter_is_given_back_unchanged(text: str) -> None:
    assert check_text(text, "project") == text
