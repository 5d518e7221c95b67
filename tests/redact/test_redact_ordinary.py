"""What is no secret stays."""

from __future__ import annotations

import json

import pytest
from ordinary_texts import LINES, lockfile, picture
from rows import each

from holdfast.redact import redact_text, redact_value

pytestmark = pytest.mark.quick


@each("line", LINES)
def test_an_ordinary_line_comes_back_unchanged(line: str) -> None:
    result = redact_text(line)
    assert result.value == line
    assert result.findings == ()


@each("line", LINES)
def test_an_ordinary_line_stays_in_a_field_and_in_the_middle_of_a_text(line: str) -> None:
    value = {"tool_output": f"first\n{line}\nlast", "n": [line]}
    assert redact_value(value).value == value


def test_all_ordinary_lines_together_come_back_unchanged() -> None:
    text = "\n".join(LINES)
    assert redact_text(text).value == text


def test_a_lockfile_comes_back_unchanged_as_text_and_as_value() -> None:
    text = lockfile()
    assert redact_text(text).value == text
    assert redact_value(json.loads(text)).findings == ()


@each("size", [60, 5_000, 3_000_000])
def test_an_embedded_picture_comes_back_unchanged(size: int) -> None:
    text = f"![chart]({picture(size)}) and the password prompt"
    assert redact_text(text).value == text


def test_a_bare_picture_in_a_field_comes_back_unchanged() -> None:
    raw = "iVBORw0KGgo" + picture(200_000).partition(",")[2]
    value = {"type": "base64", "media_type": "image/png", "data": raw}
    assert redact_value(value).value == value


def test_a_secret_beside_a_picture_is_found_and_the_picture_stays() -> None:
    embedded = picture(20_000)
    result = redact_text(f"password=hunter2x\n{embedded}\npassword=hunter2y")
    assert result.value == f"password=[REDACTED_SECRET]\n{embedded}\npassword=[REDACTED_SECRET]"


def test_text_that_speaks_of_stand_ins_is_not_taken_for_one() -> None:
    text = "\x00payload 0\x00 " + picture(2_000) + " the password prompt"
    assert redact_text(text).value == text


def test_redaction_marks_of_the_earlier_system_are_left_as_they_are() -> None:
    text = 'password=[REDACTED_SECRET] and [REDACTED] and {"token": "[REDACTED_SECRET]"}: value12345'
    assert redact_text(text).value == text


@each("text", ["", " ", "\n", "a", "[REDACTED]", "{}", "[]", '""', "null", "\x00", "\ud800"])
def test_small_texts_come_back_unchanged(text: str) -> None:
    assert redact_text(text).value == text
