"""Texts built to be slow or to slip through. Time is not measured: what is not linear would not end in time."""

from __future__ import annotations

import random

import pytest
from secret_samples import fill

from holdfast.redact import SECRET_MARK, redact_text, redact_value
from holdfast.redact.plain import PASSES

LONG = 400_000

UNITS = [
    "a",
    "password=",
    "password='a\"",
    'token="',
    "token:",
    "token: x\n",
    "key=",
    "<private>",
    "<private ",
    "</private>",
    "http://a:",
    "x://a:b@",
    "eyJ",
    "eyJ.",
    "AKIA",
    "-----BEGIN PRIVATE KEY-----\n",
    "kind: secret\ndata:\n",
    "curl -u ",
    "mysql -x ",
    "mnemonic abc ",
    "adobe = ",
    "data:image/png;base64,",
    "server=a;password",
    "cookie: a=",
    "\\u00",
    "[",
    '{"a":',
    '\\"password\\":',
    "[REDACTED_SECRET]",
    "密码",
]


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_run_of_the_same_is_redacted_in_time(unit: str) -> None:
    text = (unit * (LONG // len(unit) + 1))[:LONG]
    clean = redact_text(text).value
    assert redact_text(clean).value == clean


def test_a_secret_at_the_end_of_long_noise_is_found() -> None:
    noise = "".join(random.Random(3).choices([chr(code) for code in range(32, 127)], k=LONG)).replace("<", " ")
    token = fill("github-token", "ghp_{alnum:36}").text
    assert token not in redact_text(f"{noise} {token}").value


def test_a_chain_of_secrets_that_uncover_each_other_is_not_kept() -> None:
    link = fill("github-token", "ghp_{alnum:36}").text
    for links in (2, PASSES, 40):
        assert link not in redact_text("AKIA" + "A1" * 8 + link * links).value


def test_thousands_of_secret_keys_keep_their_fields() -> None:
    value = {fill("github-token", "ghp_{alnum:36}", seed).text: seed for seed in range(3_000)}
    assert list(redact_value(value).value.values()) == list(range(3_000))


def test_a_long_secret_is_removed_whole() -> None:
    assert redact_text("api_key=" + "a1B2" * 50_000).value == f"api_key={SECRET_MARK}"


def test_marks_that_stand_before_a_colon_do_not_make_what_follows_a_secret() -> None:
    token = fill("github-token", "ghp_{alnum:36}").text
    assert redact_text(f"{token}: value12345678").value == f"{SECRET_MARK}: value12345678"
