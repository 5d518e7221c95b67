"""Embedders behind an API: right vectors or an UpstreamFailed, never a key, a text or an answer in it."""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from model_server import KEY, ModelServer, numbers_of, openai_vectors, reply
from rows import each
from still_time import NoChance, Pauses, StillClock

from holdfast.core.errors import InvalidSettings, UpstreamFailed
from holdfast.core.ports import Embedder
from holdfast.core.system import SystemClock
from holdfast.embedder import embedder_from
from holdfast.index import LOCAL_MODELS
from holdfast.remote.embed_dialects import GEMINI, OPENAI, EmbedRequest, texts_per_request, vectors_in
from holdfast.remote.embedders import PART_CHARS, _parts
from holdfast.remote.exchange import MAX_ANSWER_BYTES
from holdfast.remote.failure import Failure
from holdfast.settings import Settings

Make = Callable[..., Embedder]
SETTINGS = Callable[..., Settings]
TEXT = "the user prefers tabs over spaces"
PROVIDERS = pytest.mark.parametrize("provider", ["openai", "gemini"])


@pytest.fixture
def embedder_for(settings_for: SETTINGS, clock: StillClock, pauses: Pauses) -> Make:
    def make(embedder: str = "openai", **changes: object) -> Embedder:
        made = embedder_from(settings_for(embedder=embedder, **changes), clock, NoChance(), pause=pauses)
        assert made is not None
        return made

    return make


def failing(use: Callable[[], object]) -> UpstreamFailed:
    """The fault of one call, checked for everything that no fault may hold."""
    with pytest.raises(UpstreamFailed) as caught:
        use()
    fault = caught.value
    shown = "".join(traceback.format_exception(fault)) + repr(fault) + str(fault.to_dict())
    for hidden in (KEY, TEXT, "body-of-the-answer"):
        assert hidden not in shown
    assert fault.__context__ is None
    return fault


def rows_of(texts: list[str], dims: int) -> np.ndarray:
    rows = np.array([numbers_of(text, dims) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@PROVIDERS
def test_each_text_gets_its_own_row_of_length_one(provider: str, embedder_for: Make) -> None:
    embedder = embedder_for(provider)
    texts = [f"text {number}" for number in range(250)]

    rows = embedder.embed(texts)

    assert rows.dtype == np.float32
    assert np.allclose(rows, rows_of(texts, embedder.dims), atol=1e-6)
    assert np.allclose(embedder.embed_query(TEXT), rows_of([TEXT], embedder.dims)[0], atol=1e-6)


@given(st.integers(0, 40_000))
def test_a_long_text_is_sent_in_parts_that_small_models_read(length: int) -> None:
    text = "".join(chr(97 + place % 26) for place in range(length))
    parts = _parts(text)
    assert "".join(parts) == text
    assert len(parts) == max(1, -(-length // PART_CHARS))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_names_say_provider_model_and_size(embedder_for: Make) -> None:
    assert embedder_for("gemini").name == "gemini/gemini-embedding-001/768"
    assert embedder_for("openai").name == "openai/text-embedding-3-small/1536"
    assert embedder_for("openai", embedder_dims=512).name == "openai/text-embedding-3-small/512"
    assert embedder_for("openai", embedder_model="nomic-embed-text:latest").dims == 768


@PROVIDERS
def test_the_size_that_is_set_is_asked_for(provider: str, embedder_for: Make) -> None:
    assert embedder_for(provider, embedder_dims=256).embed([TEXT]).shape == (1, 256)


def test_a_question_is_marked_as_one_for_gemini(embedder_for: Make, server: ModelServer) -> None:
    embedder = embedder_for("gemini")
    embedder.embed([TEXT])
    embedder.embed_query(TEXT)
    kinds = [seen.body["requests"][0]["taskType"] for seen in server.seen]
    assert kinds == ["RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"]


@PROVIDERS
def test_an_empty_text_gets_a_row_too(provider: str, embedder_for: Make) -> None:
    rows = embedder_for(provider).embed(["", " \n", TEXT])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


@PROVIDERS
def test_nothing_to_embed_sends_nothing(provider: str, embedder_for: Make, server: ModelServer) -> None:
    embedder = embedder_for(provider)
    embedder.prepare()
    assert embedder.embed([]).shape == (0, embedder.dims)
    assert server.seen == []


def test_a_huge_text_is_sent_in_part(embedder_for: Make, server: ModelServer) -> None:
    embedder_for("openai").embed(["x" * 1_000_000])
    assert len(server.seen[0].body["input"][0]) == 16_000


def test_half_a_surrogate_pair_is_sent_as_json_writes_it(embedder_for: Make, server: ModelServer) -> None:
    server.script.append(reply(200, openai_vectors(["any"], 1536)))
    assert embedder_for().embed(["a\ud800b"]).shape == (1, 1536)


@each("dims", [1, 256, 768, 1536, 3072, 8192])
def test_requests_are_small_enough_for_their_answers(dims: int) -> None:
    for dialect in (GEMINI, OPENAI):
        count = texts_per_request(dialect, dims, MAX_ANSWER_BYTES)
        assert 1 <= count <= 256
        for number, indent in ((-0.012345678, 4), (-0.01234567812345678, None)):
            printed = json.dumps({"embeddings": [{"values": [number] * dims}] * count}, indent=indent)
            assert len(printed) < MAX_ANSWER_BYTES


# Answers that are not what was asked for


def _short(texts: list[str]) -> dict[str, Any]:
    return openai_vectors(texts[:-1], 768)


def _wrong_size(texts: list[str]) -> dict[str, Any]:
    return openai_vectors(texts, 767)


def _with(number: Any) -> Callable[[list[str]], dict[str, Any]]:
    def make(texts: list[str]) -> dict[str, Any]:
        answer = openai_vectors(texts, 768)
        answer["data"][0]["embedding"][5] = number
        return answer

    return make


def _all_zero(texts: list[str]) -> dict[str, Any]:
    answer = openai_vectors(texts, 768)
    answer["data"][0]["embedding"] = [0.0] * 768
    return answer


def _same_index(texts: list[str]) -> dict[str, Any]:
    answer = openai_vectors(texts, 768)
    for row in answer["data"]:
        row["index"] = 0
    return answer


def _no_list(texts: list[str]) -> dict[str, Any]:
    return {"data": {"body-of-the-answer": KEY}}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (_short, "wrong number of vectors"),
        (_wrong_size, "wrong dimensions"),
        (_with(float("nan")), "an invalid number"),
        (_with(float("inf")), "an invalid number"),
        (_with(10**400), "an invalid number"),
        (_with("body-of-the-answer"), "not valid for this API"),
        (_with(None), "not valid for this API"),
        (_with(True), "not valid for this API"),
        (_all_zero, "is zero"),
        (_same_index, "not valid for this API"),
        (_no_list, "not valid for this API"),
    ],
)
def test_an_answer_that_cannot_be_right_is_a_failure(
    answer: Callable[[list[str]], dict[str, Any]], said: str, embedder_for: Make, server: ModelServer
) -> None:
    texts = [TEXT, "another"]
    server.script.append(reply(200, answer(texts)))
    fault = failing(lambda: embedder_for("openai", embedder_model="nomic-embed-text").embed(texts))
    assert said in str(fault)
    assert str(fault).startswith("openai embeddings: ")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["data", "embeddings", "values", "index", "embedding"]), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["data", "embeddings"]), json_values))
def test_any_json_is_vectors_or_a_failure(answer: dict[str, Any]) -> None:
    for dialect in (GEMINI, OPENAI):
        found = vectors_in(answer, dialect, EmbedRequest("m", 2, ["a", "b"]))
        assert isinstance(found, Failure) or found.shape == (2, 2)


def test_large_and_tiny_numbers_keep_their_direction() -> None:
    answer = {"embeddings": [{"values": [3e200, 4e200]}, {"values": [3e-200, 4e-200]}]}
    found = vectors_in(answer, GEMINI, EmbedRequest("m", 2, ["a", "b"]))
    assert np.allclose(found, [[0.6, 0.8], [0.6, 0.8]])


# Services that fail


@PROVIDERS
def test_a_wrong_key_is_reported_with_its_setting(provider: str, embedder_for: Make, server: ModelServer) -> None:
    fault = failing(lambda: embedder_for(provider, **{f"{provider}_key": KEY + "-wrong"}).embed([TEXT]))
    assert f"HOLDFAST_{provider.upper()}_KEY" in fault.hint
    assert len(server.seen) == 1


def test_hints_name_the_settings_of_the_embedder(embedder_for: Make, server: ModelServer) -> None:
    server.script.append(reply(404, b"body-of-the-answer"))
    assert "HOLDFAST_EMBEDDER_MODEL" in failing(lambda: embedder_for().embed([TEXT])).hint
    server.script.append(reply(200, _wrong_size([TEXT])))
    fault = failing(lambda: embedder_for(embedder_model="nomic-embed-text").embed([TEXT]))
    assert "HOLDFAST_EMBEDDER_DIMS" in fault.hint
    assert (
        "HOLDFAST_EMBEDDER_CALLS_PER_HOUR"
        in failing(lambda: embedder_for(embedder_calls_per_hour=0).embed([TEXT])).hint
    )


def test_a_rate_limit_is_waited_out(embedder_for: Make, server: ModelServer, pauses: Pauses) -> None:
    server.script.append(reply(429, Retry_After="7"))
    assert embedder_for().embed([TEXT]).shape == (1, 1536)
    assert pauses == [7.0]


def test_a_huge_answer_is_cut_off(embedder_for: Make, server: ModelServer) -> None:
    sent = threading.Event()

    def flood(request: object) -> None:
        try:
            reply(200, b" " * 50_000_000)(request)  # type: ignore[arg-type]
        except OSError:
            return
        sent.set()

    server.script.append(flood)
    assert "larger than 2 MB" in str(failing(lambda: embedder_for().embed([TEXT])))
    assert not sent.is_set()


def test_a_server_that_never_answers_ends_in_time(settings_for: SETTINGS, server: ModelServer) -> None:
    server.script.append(server.hold)
    made = embedder_from(settings_for(embedder="openai", embedder_seconds=1), SystemClock(), NoChance())
    assert made is not None
    fault = failing(lambda: made.embed([TEXT]))
    assert "no response in time" in str(fault)
    assert "HOLDFAST_EMBEDDER_SECONDS" in fault.hint


def test_after_a_failed_question_the_next_ones_do_not_wait(
    embedder_for: Make, server: ModelServer, clock: StillClock
) -> None:
    embedder = embedder_for()
    server.script.append(reply(400))
    failing(lambda: embedder.embed_query(TEXT))
    failing(lambda: embedder.embed_query(TEXT))
    assert len(server.seen) == 1
    clock.at += 31
    assert embedder.embed_query(TEXT).shape == (1536,)


# Settings


def test_the_default_is_on_this_machine_and_none_is_none(settings_for: SETTINGS, clock: StillClock) -> None:
    default = embedder_from(settings_for(), clock, NoChance())
    assert default is not None
    assert default.name in {one.name for one in LOCAL_MODELS.values()}
    assert embedder_from(settings_for(embedder="none"), clock, NoChance()) is None


@PROVIDERS
def test_a_provider_without_a_key_is_refused(provider: str, embedder_for: Make) -> None:
    with pytest.raises(InvalidSettings, match="requires an API key"):
        embedder_for(provider, **{f"{provider}_key": None, "openai_url": "https://api.openai.com/v1"})


def test_a_model_of_unknown_size_needs_the_size(embedder_for: Make) -> None:
    with pytest.raises(InvalidSettings, match="HOLDFAST_EMBEDDER_DIMS"):
        embedder_for("openai", embedder_model="some-new-model")
    assert embedder_for("openai", embedder_model="some-new-model", embedder_dims=100).dims == 100


def test_the_key_of_the_provider_is_not_sent_to_another_url(embedder_for: Make, server: ModelServer) -> None:
    with ModelServer() as other:
        embedder_for(embedder_url=f"{other.origin}/v1").embed([TEXT])
    assert server.seen == []
    assert "authorization" not in other.seen[0].headers


def test_the_key_for_an_own_url_is_sent_there(embedder_for: Make, server: ModelServer) -> None:
    with ModelServer() as other:
        embedder_for(embedder_url=f"{other.origin}/v1", embedder_key=KEY, openai_key=None).embed([TEXT])
    assert other.seen[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("url", ["http://169.254.169.254/v1", "ftp://host", "http://user:pw@host/v1", "nonsense"])
def test_a_url_that_nothing_may_be_sent_to_is_refused(url: str, embedder_for: Make) -> None:
    for embedder in ("openai", "gemini", "minilm"):
        with pytest.raises(InvalidSettings, match="HOLDFAST_EMBEDDER_URL") as caught:
            embedder_for(embedder, embedder_url=url)
        assert "pw" not in str(caught.value)


@PROVIDERS
def test_it_is_taken_to_read_every_script(provider: str, embedder_for: Make) -> None:
    assert embedder_for(provider).reads("鍵はどこ?") == 1.0
