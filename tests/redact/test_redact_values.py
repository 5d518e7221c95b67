"""JSON stays JSON, and the name of a field speaks for its value."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from rows import each
from secret_samples import fill

from holdfast.core.errors import InvalidRequest
from holdfast.redact import SECRET_MARK, redact_text, redact_value

TOKEN = fill("github-token", "ghp_{alnum:36}").text

NAMED = [
    ("password", "hunter2xx"),
    ("password", "swordfish"),
    ("Password", "correct horse battery staple"),
    ("db_password", "db-prod"),
    ("userPassword", "MyPassword"),
    ("passwd", "12345678"),
    ("passphrase", "open sesame 7"),
    ("pass", "hunter22"),
    ("password", "!Passw0rd"),
    ("password", "$Passw0rd"),
    ("password", "*hunter2"),
    ("password", "%hunter2"),
    ("password", "<hunter2"),
    ("password", "this.is.it2"),
    ("api_key", "1234567890"),
    ("api_key", "abcdef"),
    ("apiKey", "some-opaque-value"),
    ("X-Api-Key", "abc123def"),
    ("client_secret", "notverysecret"),
    ("secret", "s3cr3t!"),
    ("private_key", "0xabcdef0123"),
    ("access_token", "abc123def456"),
    ("refreshToken", "1a2b3c4d5e6f"),
    ("auth_token", "deadbeef12345678"),
    ("awsSecretAccessKey", "a1b2c3d4e5f6"),
]


@each("name, secret", NAMED)
def test_the_name_of_a_field_makes_its_value_a_secret(name: str, secret: str) -> None:
    assert redact_value({name: secret, "other": secret.upper()}).value[name] == SECRET_MARK


@each("name, secret", NAMED)
def test_a_secret_name_works_in_pairs_lists_and_command_lines(name: str, secret: str) -> None:
    assert redact_value([{"name": name, "value": secret}]).value == [{"name": name, "value": SECRET_MARK}]
    assert redact_value({name: [secret]}).value == {name: [SECRET_MARK]}
    assert redact_value(["run", f"--{name}", secret]).value == ["run", f"--{name}", SECRET_MARK]


@each(
    "name, value",
    [
        ("password", "required"),
        ("password", ""),
        ("password", "string"),
        ("password", "${DB_PASSWORD}"),
        ("password", "<your-password>"),
        ("password", "Enter your password"),
        ("password", "This field is required."),
        ("password", "your_password_here"),
        ("passwordHint", "the usual one, with the 7"),
        ("token", "next"),
        ("token_type", "Bearer"),
        ("nextPageToken", "abc123def456"),
        ("publicKey", "abc123def456abc1"),
        ("keyId", "abc123def456abc1"),
        ("sessionId", "550e8400-e29b-41d4-a716-446655440000"),
        ("secretName", "prod-db-2"),
        ("author", "john99smith"),
        ("auth", "oauth2"),
        ("cwd", "/home/bob/passwords2"),
        ("PWD", "/home/bob/x2"),
        ("max_tokens", "1500"),
        ("discord_user_id", "123456789012345678"),
    ],
)
def test_a_field_with_a_harmless_name_or_value_is_kept(name: str, value: str) -> None:
    assert redact_value({name: value}).value == {name: value}


def test_headers_keep_their_scheme_and_lose_their_credentials() -> None:
    headers = {"Authorization": "Basic dXNlcjpwYXNz", "Cookie": "sid=abcdef1234567890; theme=dark", "Accept": "*/*"}
    assert redact_value(headers).value == {
        "Authorization": f"Basic {SECRET_MARK}",
        "Cookie": f"sid={SECRET_MARK}; theme=dark",
        "Accept": "*/*",
    }


def test_booleans_and_null_are_untouched_under_any_name() -> None:
    value = {"token": True, "secret": None, "max_tokens": 1500, "token_budget": 2000, "n": 10**40, "port": 3111}
    assert redact_value(value).value == value


def test_a_number_whose_name_says_that_it_is_a_password_is_removed() -> None:
    assert redact_value({"user": "kim", "password": 84920174}).value == {"user": "kim", "password": SECRET_MARK}


def test_a_vendor_in_the_name_of_a_field_gives_its_key_away() -> None:
    sample = fill("heroku-word", "{uuid}").text
    assert redact_value({"heroku": sample, "request": sample}).value == {"heroku": SECRET_MARK, "request": sample}


def test_the_checksum_of_a_vendor_is_no_key() -> None:
    digest = fill("sentry-word", "{hex:64}").text
    value = {"sentry_release": digest, "sentry_sha256": digest}
    assert redact_value(value).value == value


def test_keys_are_redacted_and_no_field_is_lost() -> None:
    other = fill("github-token", "ghp_{alnum:36}", 1).text
    result = redact_value({TOKEN: 1, other: 2, "plain": 3})
    assert result.value == {SECRET_MARK: 1, f"2 {SECRET_MARK}": 2, "plain": 3}
    assert result.findings[0].count == 2


def test_json_inside_a_text_inside_json_stays_json() -> None:
    inner = json.dumps({"command": f"git push https://{TOKEN}@example.com", "n": 1})
    outer = json.dumps({"arguments": inner})
    clean = redact_value({"input": outer}).value["input"]
    opened = json.loads(json.loads(clean)["arguments"])
    assert opened == {"command": f"git push https://{SECRET_MARK}@example.com", "n": 1}


def test_json_inside_a_text_is_left_to_the_letter_when_it_holds_no_secret() -> None:
    text = '{ "token_budget" : 2000,\t"password":  "required" , "x": 1.50, "y": 1e2 }'
    assert redact_text(text).value == text


@each(
    "text",
    [
        '{"password":"hunter2xx","n":1}',
        '{"password": "hunter2xx", "n": 1}',
        '{\n  "password": "hunter2xx",\n  "n": 1\n}',
        '{\n    "password": "hunter2xx",\n    "n": 1\n}',
    ],
)
def test_json_inside_a_text_keeps_its_layout(text: str) -> None:
    assert redact_text(text).value == text.replace("hunter2xx", SECRET_MARK)


def test_escaped_letters_in_json_hide_nothing() -> None:
    text = '{"p\\u0061ssword": "hunter2xx", "note": "\\u003cprivate\\u003esecret\\u003c/private\\u003e"}'
    assert json.loads(redact_text(text).value) == {"password": SECRET_MARK, "note": "[REDACTED]"}
    assert "hunter2xx" not in json.dumps(redact_value({"a": [text]}).value)


def test_non_ascii_json_is_written_as_it_came() -> None:
    assert redact_text('{"名": "é", "password": "hunter2xx"}').value == '{"名": "é", "password": "[REDACTED_SECRET]"}'
    assert redact_text('{"\\u540d": "x", "password": "hunter2xx"}').value.startswith('{"\\u540d"')


@each(
    "text",
    [
        '{"password": "hunter2xx", "n": 1e999}',
        '{"password": "hunter2xx", "n": NaN}',
        '{"password": "hunter2xx", "a": 1, "a": 2}',
        '{"password": "hunter2xx", "cut',
        '{"a": 1}\n{"password": "hunter2xx"}\n',
        '[{"password": "hunter2xx"},]',
        "[" * 500 + '{"password": "hunter2xx"}' + "]" * 500,
        "[" * 3000 + '{"password": "hunter2xx"}' + "]" * 3000,
    ],
)
def test_what_cannot_be_written_again_as_json_is_redacted_as_text(text: str) -> None:
    assert redact_text(text).value == text.replace("hunter2xx", SECRET_MARK)


def test_tuples_stay_tuples_and_values_are_not_changed_in_place() -> None:
    value = ({"password": "hunter2xx"}, ["a"])
    assert redact_value(value).value == ({"password": SECRET_MARK}, ["a"])
    assert value[0]["password"] == "hunter2xx"


@each("value", [b"password=hunter2xx", {"a": datetime(2026, 1, 1)}, [{1, 2}], object()])  # noqa: DTZ001
def test_a_value_that_is_no_json_is_refused_without_being_shown(value: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        redact_value(value)
    assert "hunter2xx" not in str(caught.value)


def test_a_value_nested_too_deep_is_refused_and_one_less_deep_is_walked() -> None:
    def nested(levels: int) -> Any:
        value: Any = {"password": "hunter2xx"}
        for _ in range(levels):
            value = [value]
        return value

    assert "hunter2xx" not in json.dumps(redact_value(nested(150)).value)
    with pytest.raises(InvalidRequest):
        redact_value(nested(600))
