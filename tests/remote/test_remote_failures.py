"""A remote service that fails, stalls, floods or lies: always an UpstreamFailed, never a key or a prompt in it."""

from __future__ import annotations

import socket
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st
from model_server import ANSWER, INSTRUCTION, KEY, TEXT, ModelServer, openai_reply, reply
from still_time import NoChance, Pauses, StillClock

from holdfast.core.errors import UpstreamFailed
from holdfast.core.model import CleanText
from holdfast.core.ports import Summarizer
from holdfast.core.system import SystemClock
from holdfast.remote.address_policy import checked_site
from holdfast.remote.budget import HourlyBudget
from holdfast.remote.endpoint import ApiAccess, Endpoint
from holdfast.remote.exchange import seconds_to_wait

Make = Callable[..., Summarizer]
LEAKY = f"{KEY} {TEXT} {INSTRUCTION} body-of-the-answer".encode()


def ask(summarizer: Summarizer) -> str:
    return summarizer.complete(CleanText(INSTRUCTION), CleanText(TEXT), max_tokens=300)


def failing(summarizer: Summarizer) -> UpstreamFailed:
    """The fault of one call, checked for everything that no fault may hold."""
    with pytest.raises(UpstreamFailed) as caught:
        ask(summarizer)
    fault = caught.value
    shown = "".join(traceback.format_exception(fault)) + repr(fault) + str(fault.to_dict())
    for secret in (KEY, TEXT, INSTRUCTION, "body-of-the-answer"):
        assert secret not in shown
    assert fault.__context__ is None  # an httpx error would hold the request, and so the key
    return fault


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
def test_a_wrong_key_is_reported_at_once_with_its_setting(
    provider: str, summarizer_for: Make, server: ModelServer
) -> None:
    fault = failing(summarizer_for(provider, **{f"{provider}_key": KEY + "-wrong"}))
    assert fault.details["status"] in {401, 403}
    assert f"HOLDFAST_{provider.upper()}_KEY" in fault.hint
    assert not fault.retryable
    assert len(server.seen) == 1


def test_a_fault_names_provider_operation_and_status(summarizer_for: Make, server: ModelServer) -> None:
    server.script.append(reply(404, LEAKY))
    fault = failing(summarizer_for("gemini"))
    assert str(fault) == "gemini generateContent: the request failed (HTTP status 404)"
    assert fault.details == {"provider": "gemini", "operation": "generateContent", "status": 404}
    assert "HOLDFAST_LLM_MODEL" in fault.hint


def test_a_rate_limit_is_waited_out_as_long_as_the_server_asks(
    summarizer_for: Make, server: ModelServer, pauses: Pauses
) -> None:
    server.script.append(reply(429, LEAKY, Retry_After="7"))
    assert ask(summarizer_for()) == ANSWER
    assert pauses == [7.0]


def test_a_longer_wait_than_the_cap_fails_at_once(summarizer_for: Make, server: ModelServer, pauses: Pauses) -> None:
    server.script.append(reply(429, Retry_After="60"))
    fault = failing(summarizer_for(llm_seconds=600))
    assert fault.retryable
    assert pauses == []
    assert len(server.seen) == 1


def test_a_wait_beyond_the_time_limit_fails_at_once(summarizer_for: Make, server: ModelServer, pauses: Pauses) -> None:
    server.script.append(reply(503, Retry_After="15"))
    failing(summarizer_for(llm_seconds=10))
    assert pauses == []


def test_server_errors_are_tried_three_times_with_growing_waits(
    summarizer_for: Make, server: ModelServer, pauses: Pauses
) -> None:
    server.script.extend([reply(500, LEAKY), reply(502, LEAKY), reply(529, LEAKY), reply(200, openai_reply())])
    fault = failing(summarizer_for())
    assert "after 3 attempts (HTTP status 529)" in str(fault)
    assert len(server.seen) == 3
    assert pauses == pytest.approx([0.5, 1.0], rel=1e-6)


@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
def test_a_passing_failure_is_followed_by_success(status: int, summarizer_for: Make, server: ModelServer) -> None:
    server.script.append(reply(status))
    assert ask(summarizer_for()) == ANSWER


@pytest.mark.parametrize("status", [400, 402, 404, 413, 422])
def test_a_request_that_is_wrong_is_not_repeated(status: int, summarizer_for: Make, server: ModelServer) -> None:
    server.script.append(reply(status))
    assert failing(summarizer_for()).details["status"] == status
    assert len(server.seen) == 1


def test_a_redirect_is_not_followed(summarizer_for: Make, server: ModelServer) -> None:
    with ModelServer() as elsewhere:
        server.script.append(reply(307, Location=f"{elsewhere.origin}/v1/chat/completions"))
        fault = failing(summarizer_for())
        assert elsewhere.seen == []
    assert "redirect" in str(fault)
    assert "HOLDFAST_OPENAI_URL" in fault.hint


def test_a_huge_answer_is_cut_off(summarizer_for: Make, server: ModelServer) -> None:
    sent = threading.Event()

    def flood(request: object) -> None:
        try:
            reply(200, b" " * 50_000_000)(request)  # type: ignore[arg-type]
        except OSError:
            return  # hung up on, as it should be
        sent.set()

    server.script.append(flood)
    assert "larger than 2 MB" in str(failing(summarizer_for()))
    assert len(server.seen) == 1
    assert not sent.is_set()


def test_a_compressed_answer_is_not_unpacked(summarizer_for: Make, server: ModelServer) -> None:
    server.script.append(reply(200, b"\x1f\x8b\x08", Content_Encoding="gzip"))
    assert "not valid for this API" in str(failing(summarizer_for()))
    assert server.seen[0].headers["accept-encoding"] == "identity"


def test_cookies_are_not_kept(summarizer_for: Make, server: ModelServer) -> None:
    server.script.append(reply(200, openai_reply(), Set_Cookie="track=1; Path=/"))
    summarizer = summarizer_for()
    ask(summarizer)
    ask(summarizer)
    assert "cookie" not in server.seen[1].headers


def test_a_refused_connection_is_tried_again_and_then_reported(summarizer_for: Make, pauses: Pauses) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closing:
        port = closing.getsockname()[1]
    fault = failing(summarizer_for(openai_url=f"http://127.0.0.1:{port}/v1"))
    assert "could not connect" in str(fault)
    assert fault.details["status"] is None
    assert len(pauses) == 2


def test_a_server_that_hangs_up_is_tried_again(summarizer_for: Make, server: ModelServer) -> None:
    server.script.append(lambda request: request.connection.shutdown(socket.SHUT_RDWR))
    assert ask(summarizer_for()) == ANSWER


def test_an_answer_that_breaks_off_is_tried_again(summarizer_for: Make, server: ModelServer) -> None:
    def break_off(request: object) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")  # type: ignore[attr-defined]
        request.connection.shutdown(socket.SHUT_RDWR)  # type: ignore[attr-defined]

    server.script.append(break_off)
    assert ask(summarizer_for()) == ANSWER


def test_bytes_that_are_not_http_are_a_fault(summarizer_for: Make, server: ModelServer) -> None:
    server.script.extend([lambda request: request.wfile.write(LEAKY + b"\r\n\r\n") and None] * 3)
    assert "the connection was lost" in str(failing(summarizer_for()))


def impatient(server: ModelServer, seconds: float, pauses: Pauses) -> Endpoint:
    clock = SystemClock()
    site = checked_site("HOLDFAST_OPENAI_URL", f"{server.origin}/v1", keyed=True)
    access = ApiAccess("openai", "HOLDFAST_OPENAI", site, {"authorization": f"Bearer {KEY}"})
    budget = HourlyBudget(100, clock)
    return Endpoint(access, seconds=seconds, budget=budget, clock=clock, entropy=NoChance(), pause=pauses)


@pytest.mark.parametrize("play", ["hold", "drip_headers", "drip_body"])
def test_the_time_limit_holds_however_slowly_the_server_sends(play: str, server: ModelServer, pauses: Pauses) -> None:
    server.script.append(getattr(server, play))
    started = SystemClock().steady()
    with pytest.raises(UpstreamFailed, match="no response in time"):
        impatient(server, 0.3, pauses).post("/chat/completions", {"text": TEXT}, operation="chat completion")
    assert SystemClock().steady() - started < 5
    assert pauses == []


def test_the_time_limit_covers_all_attempts(
    summarizer_for: Make, server: ModelServer, pauses: Pauses, clock: StillClock
) -> None:
    def late(request: object) -> None:
        clock.at += 6
        reply(500)(request)  # type: ignore[arg-type]

    server.script.extend([late, late, late])
    failing(summarizer_for(llm_seconds=10))
    assert len(server.seen) == 2
    assert clock.at - 1000 < 13


def test_the_hourly_budget_rolls_with_the_clock(summarizer_for: Make, server: ModelServer, clock: StillClock) -> None:
    summarizer = summarizer_for(llm_calls_per_hour=2)
    ask(summarizer)
    clock.at += 1800
    ask(summarizer)
    fault = failing(summarizer)
    assert "limit of 2 requests per hour is reached" in str(fault)
    assert "HOLDFAST_LLM_CALLS_PER_HOUR" in fault.hint
    assert fault.retryable
    clock.at += 1800
    assert ask(summarizer) == ANSWER
    failing(summarizer)
    assert len(server.seen) == 3


def test_every_attempt_counts_against_the_budget(summarizer_for: Make, server: ModelServer) -> None:
    server.script.extend([reply(500), reply(500)])
    assert "limit of 2 requests" in str(failing(summarizer_for(llm_calls_per_hour=2)))
    assert len(server.seen) == 2


def test_a_budget_of_nothing_sends_nothing(summarizer_for: Make, server: ModelServer) -> None:
    assert not failing(summarizer_for(llm_calls_per_hour=0)).retryable
    assert server.seen == []


def test_many_threads_share_one_summarizer_and_one_budget(summarizer_for: Make, server: ModelServer) -> None:
    summarizer = summarizer_for(llm_calls_per_hour=20)

    def answered(_: int) -> bool:
        try:
            return ask(summarizer) == ANSWER
        except UpstreamFailed:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(answered, range(30))) == 20
    assert len(server.seen) == 20


def test_a_retry_date_is_counted_from_now() -> None:
    assert seconds_to_wait("Wed, 21 Oct 2026 07:28:10 GMT", 1_792_567_680_000) == 10.0
    assert seconds_to_wait("Wed, 21 Oct 2026 07:28:10 GMT", 1_792_567_699_000) == 0.0


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d{1,3} [A-Z][a-z]{2} \d{1,6} \d\d:\d\d:\d\d .{0,6}"))
def test_no_retry_after_header_breaks_the_call(header: str) -> None:
    wait = seconds_to_wait(header, 0)
    assert wait is None or wait >= 0
