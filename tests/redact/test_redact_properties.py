"""What holds for every text and every value."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings, strategies as st
from ordinary_texts import LINES
from secret_samples import Sample, fill, templates

from holdfast.redact import PRIVATE_MARK, SECRET_MARK, redact_text, redact_value

TEMPLATES = templates()
samples = st.builds(
    lambda number, seed: fill(*TEMPLATES[number], seed), st.integers(0, len(TEMPLATES) - 1), st.integers(0, 20)
)
lines = st.integers(0, len(LINES) - 1).map(LINES.__getitem__)
# Pieces that open, close or continue what rules look for, so that texts are broken in every way.
pieces = st.sampled_from(
    [
        *("password", "password=", '"password": "', "token: ", "api_key=", "secret", "key", "is", "Bearer ", "Basic "),
        *(
            '"',
            "'",
            "`",
            "=",
            ":",
            " ",
            "\n",
            "\\n",
            "\\",
            '\\"',
            ",",
            ";",
            "&",
            "@host",
            "://user:",
            "--",
            "{",
            "}",
            "[",
            "]",
        ),
        *("<private>", "</private>", "<private ", "/>", PRIVATE_MARK, SECRET_MARK, '{"a": "', '"}', "Authorization: "),
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "data:image/png;base64,", "hunter2", "é", "密码"),
        *(
            "kind: Secret\ndata:\n  a: ",
            "curl -u ",
            "mysql -p",
            "cookie: a=",
            "Server=a;Password=",
            "$2b$12$",
            "x" * 30,
        ),
    ]
)
broken = st.lists(pieces | samples.map(lambda sample: sample.text) | lines, max_size=10).map("".join)
texts = st.text(max_size=80) | broken
names = st.sampled_from(["password", "name", "value", "key", "api_key", "Authorization", "heroku", "a"]) | texts
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts | broken.map(json.dumps)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=12
)
relaxed = settings(max_examples=150)


def is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False


def same_shape(before: Any, after: Any) -> bool:
    if isinstance(before, dict):
        pairs = zip(before.values(), after.values(), strict=True)
        return isinstance(after, dict) and all(same_shape(one, other) for one, other in pairs)
    if isinstance(before, list):
        return isinstance(after, list) and all(same_shape(one, other) for one, other in zip(before, after, strict=True))
    if isinstance(before, str):
        return isinstance(after, str) and (not is_json(before) or is_json(after))
    if isinstance(before, int | float) and after == SECRET_MARK:
        return True  # a number under the name of a password
    return before is after or before == after


@relaxed
@given(texts)
def test_redacting_a_text_again_changes_nothing(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once.value).value == once.value
    assert redact_text(once.value).findings == ()


@relaxed
@given(values)
def test_redacting_a_value_again_changes_nothing(value: Any) -> None:
    once = redact_value(value)
    assert redact_value(once.value).value == once.value
    assert redact_value(once.value).findings == ()


@relaxed
@given(values)
def test_a_value_keeps_its_shape_and_stays_json(value: Any) -> None:
    clean = redact_value(value).value
    assert same_shape(value, clean)
    json.dumps(clean)


@relaxed
@given(texts, texts, st.sampled_from(["<private>", "<PRIVATE>", '<private why="x">', "< private >"]))
def test_what_stands_in_a_private_block_never_leaks(before: str, after: str, tag: str) -> None:
    canary = "canary0word"
    for text in (f"{before}{tag}{canary}</private>{after}", f"{before}{tag}{canary}{after}"):
        assert canary not in redact_text(text).value
        assert canary not in json.dumps(redact_value({"a": [text]}).value)


@relaxed
@given(st.text(max_size=80), samples, st.text(max_size=80))
def test_a_secret_planted_in_any_text_never_survives(before: str, sample: Sample, after: str) -> None:
    clean = redact_text(f"{before}\n{sample.text}\n{after}").value
    assert not any(secret in clean for secret in sample.secrets)


@relaxed
@given(st.lists(lines, max_size=6), samples, st.lists(lines, max_size=6))
def test_a_secret_planted_between_ordinary_lines_is_the_only_thing_removed(
    before: list[str], sample: Sample, after: list[str]
) -> None:
    clean = redact_text("\n".join([*before, "", sample.text, "", *after])).value
    assert not any(secret in clean for secret in sample.secrets)
    assert clean.startswith("\n".join([*before, ""]))
    assert clean.endswith("\n".join(["", *after]))


@relaxed
@given(samples, st.sampled_from(['"%s"', "(%s)", "`%s`", "x = '%s';", "<b>%s</b>", "\\n%s\\n", "%s, %s", "a\t%s\r\nb"]))
def test_a_secret_is_found_between_any_marks(sample: Sample, frame: str) -> None:
    if sample.text.startswith(("ey", "A", "s", "g", "x", "d")) and "\n" not in sample.text and " " not in sample.text:
        clean = redact_text(frame.replace("%s", sample.text)).value
        assert not any(secret in clean for secret in sample.secrets)


@relaxed
@given(texts)
def test_a_text_without_findings_is_unchanged_and_with_findings_is_marked(text: str) -> None:
    result = redact_text(text)
    if result.findings:
        assert PRIVATE_MARK in result.value or SECRET_MARK in result.value
    else:
        assert result.value == text
