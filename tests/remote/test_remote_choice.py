"""Which summarizer the settings lead to."""

from __future__ import annotations

import dataclasses

import pytest
from model_server import KEY
from rows import each
from still_time import NoChance, StillClock

from holdfast.core.errors import InvalidSettings
from holdfast.core.ports import Summarizer
from holdfast.remote import summarizer_from
from holdfast.settings import Settings, load

LOCAL = "http://127.0.0.1:11434/v1"


def settings(**changes: object) -> Settings:
    return dataclasses.replace(load({}, {}), **changes)  # type: ignore[arg-type]


def chosen(**changes: object) -> Summarizer | None:
    return summarizer_from(settings(**changes), StillClock(), NoChance())


def name_of(**changes: object) -> str:
    made = chosen(**changes)
    assert made is not None
    return made.name


def test_without_keys_auto_finds_no_summarizer() -> None:
    assert chosen() is None


def test_none_finds_no_summarizer_even_with_keys() -> None:
    assert chosen(llm="none", anthropic_key=KEY, openai_key=KEY, gemini_key=KEY) is None


def test_auto_prefers_anthropic_then_openai_then_gemini() -> None:
    keys = {"anthropic_key": KEY, "openai_key": KEY, "gemini_key": KEY}
    assert name_of(**keys).startswith("anthropic/")
    assert name_of(**{**keys, "anthropic_key": None}).startswith("openai/")
    assert name_of(gemini_key=KEY).startswith("gemini/")


def test_auto_takes_a_local_model_without_a_key_before_gemini() -> None:
    assert name_of(openai_url=LOCAL, gemini_key=KEY).startswith("openai/")


def test_a_trailing_slash_does_not_make_the_openai_url_a_local_model() -> None:
    assert chosen(openai_url="https://api.openai.com/v1/") is None


@each("provider", ["anthropic", "openai", "gemini"])
def test_a_named_provider_without_its_key_is_invalid(provider: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        chosen(llm=provider)
    assert f"HOLDFAST_{provider.upper()}_KEY" in caught.value.hint


def test_openai_at_another_url_needs_no_key() -> None:
    assert name_of(llm="openai", openai_url=LOCAL, llm_model="llama3.2") == "openai/llama3.2"


def test_the_model_setting_overrides_the_default() -> None:
    assert name_of(anthropic_key=KEY, llm_model="claude-opus-5") == "anthropic/claude-opus-5"


@each("key", ["line\nbreak" + KEY, KEY + "é", "two words " + KEY, "\x00" + KEY])
def test_a_key_that_no_header_can_carry_is_invalid_and_not_shown(key: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        chosen(llm="gemini", gemini_key=key)
    assert KEY not in repr(caught.value)
    assert "HOLDFAST_GEMINI_KEY" in str(caught.value)


def test_choosing_sends_nothing_and_shows_no_key() -> None:
    made = chosen(llm="anthropic", anthropic_key=KEY)
    assert KEY not in repr(made)
    assert KEY not in repr(vars(made))
