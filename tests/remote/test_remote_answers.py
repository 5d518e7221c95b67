"""Each API is spoken as it is documented, and its unusable answers are told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st
from model_server import (
    ANSWER,
    INSTRUCTION,
    KEY,
    TEXT,
    ModelServer,
    anthropic_reply,
    gemini_reply,
    openai_reply,
    reply,
)
from rows import each

from holdfast.core.errors import UpstreamFailed
from holdfast.core.model import CleanText
from holdfast.core.ports import Summarizer
from holdfast.remote import anthropic, gemini, openai
from holdfast.remote.dialect import Dialect, Prompt, answer_in
from holdfast.remote.failure import MALFORMED, Failure

pytestmark = pytest.mark.quick

Make = Callable[..., Summarizer]
DIALECTS = [anthropic.DIALECT, openai.HOSTED, openai.COMPATIBLE, gemini.DIALECT]


def ask(summarizer: Summarizer) -> str:
    return summarizer.complete(CleanText(INSTRUCTION), CleanText(TEXT), max_tokens=300)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
def test_the_api_accepts_the_request_and_its_answer_comes_back(
    provider: str, summarizer_for: Make, server: ModelServer
) -> None:
    assert ask(summarizer_for(provider)) == ANSWER
    (seen,) = server.seen
    assert KEY not in seen.path
    assert KEY not in str(seen.body)


@pytest.mark.parametrize(
    ("provider", "header", "value"),
    [
        ("anthropic", "x-api-key", KEY),
        ("openai", "authorization", f"Bearer {KEY}"),
        ("gemini", "x-goog-api-key", KEY),
    ],
)
def test_the_key_travels_in_exactly_one_header(
    provider: str, header: str, value: str, summarizer_for: Make, server: ModelServer
) -> None:
    ask(summarizer_for(provider))
    carrying = {name: text for name, text in server.seen[0].headers.items() if KEY in text}
    assert carrying == {header: value}


def test_a_local_model_without_a_key_gets_no_authorization_header(summarizer_for: Make, server: ModelServer) -> None:
    assert ask(summarizer_for("openai", openai_key=None, llm_model="llama3.2")) == ANSWER
    assert "authorization" not in server.seen[0].headers
    assert server.seen[0].body["model"] == "llama3.2"
    assert server.seen[0].body["max_tokens"] == 300


def test_a_base_url_with_a_trailing_slash_works(summarizer_for: Make, server: ModelServer) -> None:
    assert ask(summarizer_for("openai", openai_url=f"{server.origin}/v1/")) == ANSWER


def prompt(model: str) -> Prompt:
    return Prompt(model, CleanText(INSTRUCTION), CleanText(TEXT), 300)


def test_openai_itself_is_asked_with_max_completion_tokens() -> None:
    body = openai.HOSTED.body(prompt("gpt-5.4-nano"))
    assert body["max_completion_tokens"] == 300
    assert "max_tokens" not in body


def test_only_the_default_openai_model_is_told_not_to_think_first() -> None:
    assert openai.HOSTED.body(prompt(openai.DEFAULT_MODEL))["reasoning_effort"] == "none"
    assert "reasoning_effort" not in openai.HOSTED.body(prompt("gpt-4o"))
    assert "reasoning_effort" not in openai.COMPATIBLE.body(prompt(openai.DEFAULT_MODEL))


def test_a_gemini_model_name_cannot_change_the_path() -> None:
    assert gemini.DIALECT.path(prompt("models/a/../b?key=1")) == "/models/a%2F..%2Fb%3Fkey%3D1:generateContent"


CUT, REFUSED, EMPTY, STOPPED = "cut off", "refused", "empty", "stopped"


@pytest.mark.parametrize(
    ("provider", "body", "words"),
    [
        ("anthropic", anthropic_reply(stop_reason="max_tokens"), CUT),
        ("anthropic", anthropic_reply(stop_reason="model_context_window_exceeded"), CUT),
        ("anthropic", anthropic_reply(stop_reason="refusal"), REFUSED),
        ("anthropic", anthropic_reply(stop_reason="tool_use"), STOPPED),
        ("anthropic", anthropic_reply(text=" \n"), EMPTY),
        ("anthropic", {**anthropic_reply(), "content": []}, EMPTY),
        ("openai", openai_reply(finish_reason="length"), CUT),
        ("openai", openai_reply(finish_reason="content_filter"), REFUSED),
        ("openai", openai_reply(text=None, refusal="I cannot"), REFUSED),
        ("openai", openai_reply(finish_reason="tool_calls"), STOPPED),
        ("openai", openai_reply(text=""), EMPTY),
        ("openai", openai_reply(text=None), EMPTY),
        ("gemini", gemini_reply(finish_reason="MAX_TOKENS"), CUT),
        ("gemini", gemini_reply(finish_reason="SAFETY"), REFUSED),
        ("gemini", gemini_reply(finish_reason="MALFORMED_RESPONSE"), STOPPED),
        ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, REFUSED),
        ("gemini", gemini_reply(text=""), EMPTY),
        ("gemini", {"candidates": [{"finishReason": "STOP", "content": {"role": "model"}}]}, EMPTY),
    ],
)
def test_an_answer_that_cannot_be_used_says_why(
    provider: str, body: dict[str, Any], words: str, summarizer_for: Make, server: ModelServer
) -> None:
    server.script.append(reply(200, body))
    with pytest.raises(UpstreamFailed) as caught:
        ask(summarizer_for(provider))
    assert words in str(caught.value)
    assert caught.value.details["provider"] == provider
    assert caught.value.details["status"] == 200
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>no</html>", b'{"cut', b"[]", b"null", b"\xff\xfe", b"[" * 200_000, b"{}"],
    ids=["nothing", "html", "cut", "list", "null", "bytes", "deep", "bare"],
)
def test_garbage_is_a_fault_and_is_not_asked_for_again(body: bytes, summarizer_for: Make, server: ModelServer) -> None:
    server.script.append(reply(200, body))
    with pytest.raises(UpstreamFailed, match="not valid for this API"):
        ask(summarizer_for())
    assert len(server.seen) == 1


@each("reason", ["stop", "eos", None])
def test_a_compatible_server_may_name_the_end_as_it_likes(reason: str | None) -> None:
    assert answer_in(openai_reply(finish_reason=reason), openai.COMPATIBLE) == ANSWER


def test_half_a_surrogate_pair_in_an_answer_becomes_storable_text(summarizer_for: Make, server: ModelServer) -> None:
    server.script.append(reply(200, openai_reply(text="tabs \ud83d")))
    assert ask(summarizer_for()) == "tabs ?"


def test_half_a_surrogate_pair_in_a_prompt_does_not_break_the_request(
    summarizer_for: Make, server: ModelServer
) -> None:
    server.script.append(reply(200, openai_reply()))
    broken = CleanText("tabs \ud83d")
    assert summarizer_for().complete(CleanText(INSTRUCTION), broken, max_tokens=9) == ANSWER


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
SAMPLES = [anthropic_reply(), openai_reply(), gemini_reply()]


def damaged(value: Any, path: list[int], put: Any) -> Any:
    """The sample with one of its nodes, found by following `path`, replaced."""
    if not path or not isinstance(value, (dict, list)) or not value:
        return put
    if isinstance(value, list):
        at = path[0] % len(value)
        return [damaged(item, path[1:], put) if i == at else item for i, item in enumerate(value)]
    name = list(value)[path[0] % len(value)]
    return {**value, name: damaged(value[name], path[1:], put)}


@given(
    dialect=st.sampled_from(DIALECTS),
    sample=st.sampled_from(SAMPLES),
    path=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    put=json_values,
)
def test_no_shape_of_answer_is_anything_but_text_or_a_failure(
    dialect: Dialect, sample: dict[str, Any], path: list[int], put: Any
) -> None:
    answer = answer_in(damaged(sample, path, put), dialect)
    assert isinstance(answer, Failure) or (isinstance(answer, str) and answer.strip())


@each("dialect", DIALECTS)
def test_another_apis_answer_is_malformed(dialect: Dialect) -> None:
    assert answer_in({"error": {"message": "no"}}, dialect) == MALFORMED
