"""Reading a body: what is taken, and what is refused before, while and after it arrives."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from rows import each
from starlette.types import Message

from holdfast.core.errors import InvalidRequest, RequestTimeout, TooLarge, UnsupportedMedia
from holdfast.serve.http import request_body
from holdfast.serve.http.request_body import read_body

pytestmark = pytest.mark.quick

JSON = (b"content-type", b"application/json")
CHUNKED = (b"transfer-encoding", b"chunked")


def of_length(length: int) -> tuple[bytes, bytes]:
    return b"content-length", str(length).encode()


def part(body: bytes, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def arriving(*messages: Message) -> Callable[[], Awaitable[Message]]:
    """A client that sends these, and then nothing for ever."""
    waiting = list(messages)

    async def receive() -> Message:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop(0)

    return receive


class Jumps(selectors.DefaultSelector):
    """Waits for nothing: the clock is at once where the loop would have woken up."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        self.now += timeout or 0.0
        return super().select(None if timeout is None else 0)


def run(body: Coroutine[Any, Any, bytes]) -> bytes:
    """Run it on a clock that moves by its pauses alone, so that a busy machine makes none longer."""
    selector = Jumps()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(body)


def read(
    headers: list[tuple[bytes, bytes]], *messages: Message, limit: int = 100, pause_seconds: float = 0.05
) -> bytes:
    scope: dict[str, Any] = {"type": "http", "headers": headers}
    return run(read_body(scope, arriving(*messages), limit=limit, pause_seconds=pause_seconds))


def test_a_body_is_given_whole_however_many_parts_it_came_in() -> None:
    assert read([JSON, of_length(2)], part(b"{}")) == b"{}"
    assert read([JSON, of_length(4)], part(b"{", True), part(b"}", True), part(b"  ")) == b"{}  "
    assert read([JSON, CHUNKED], part(b"{", True), part(b"", True), part(b"}", True), part(b"")) == b"{}"


def test_a_request_without_a_body_is_not_waited_for_and_needs_no_content_type() -> None:
    assert read([]) == b""
    assert read([of_length(0)]) == b""
    assert read([CHUNKED], part(b"")) == b""


@each("media", ["application/json", "Application/JSON; charset=utf-8", "application/ld+json"])
def test_a_body_that_is_declared_as_json_is_taken(media: str) -> None:
    assert read([(b"content-type", media.encode()), of_length(2)], part(b"{}")) == b"{}"


@each(
    "media",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/json",
        "text/plain; application/json",
        "application/jsonp",
        "",
    ],
)
def test_a_body_that_a_web_page_could_send_unasked_is_refused_before_it_is_read(media: str) -> None:
    with pytest.raises(UnsupportedMedia):
        read([(b"content-type", media.encode()), of_length(2)])


def test_a_body_without_a_content_type_is_refused() -> None:
    with pytest.raises(UnsupportedMedia):
        read([of_length(2)])
    with pytest.raises(UnsupportedMedia):
        read([CHUNKED], part(b"{}"))


@each("coding", [b"gzip", b"br", b"identity, gzip", b"x-unknown"])
def test_a_compressed_body_is_refused_before_it_is_read(coding: bytes) -> None:
    with pytest.raises(UnsupportedMedia, match="compressed"):
        read([JSON, of_length(2), (b"content-encoding", coding)])


def test_a_body_that_is_encoded_as_itself_is_taken() -> None:
    assert read([JSON, of_length(2), (b"content-encoding", b"Identity")], part(b"{}")) == b"{}"


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_read() -> None:
    with pytest.raises(TooLarge, match="100 bytes"):
        read([JSON, of_length(101)])


def test_a_body_of_unknown_length_is_refused_as_soon_as_it_is_too_large() -> None:
    with pytest.raises(TooLarge):
        read([JSON, CHUNKED], part(b"x" * 60, True), part(b"x" * 60, True))
    assert len(read([JSON, CHUNKED], part(b"x" * 60, True), part(b"x" * 40))) == 100


@each("length", [b"-1", b"+5", b"0x10", b"1e3", b"", b"9" * 30])
def test_a_content_length_that_is_not_a_number_is_refused(length: bytes) -> None:
    with pytest.raises(InvalidRequest):
        read([JSON, (b"content-length", length)])


def test_a_client_that_pauses_for_too_long_is_refused() -> None:
    with pytest.raises(RequestTimeout):
        read([JSON, of_length(10)], part(b"{", True))


def test_a_client_that_sends_a_byte_now_and_then_is_refused_although_no_pause_is_long() -> None:
    sent = 0

    async def trickle() -> Message:
        nonlocal sent
        sent += 1
        await asyncio.sleep(0.01)  # the pause is the subject here
        return part(b" ", True)

    scope = {"type": "http", "headers": [JSON, of_length(1_000_000)]}
    with pytest.raises(RequestTimeout):
        run(read_body(scope, trickle, limit=1_000_000, pause_seconds=0.5))
    assert sent > 1


def test_a_client_that_keeps_the_pace_is_given_the_time_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "SLOWEST_BYTES_PER_SECOND", 100)
    left = 120

    async def steady() -> Message:
        nonlocal left
        left -= 1
        await asyncio.sleep(0.01)  # 100 bytes every 10 ms: a hundred times the pace, for longer than one pause
        return part(b"x" * 100, left > 0)

    scope = {"type": "http", "headers": [JSON, CHUNKED]}
    assert len(run(read_body(scope, steady, limit=20_000, pause_seconds=1))) == 12_000


def test_a_client_that_was_fast_may_still_not_pause_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "SLOWEST_BYTES_PER_SECOND", 1)
    scope = {"type": "http", "headers": [JSON, CHUNKED]}
    reading = read_body(scope, arriving(part(b"x" * 99, True)), limit=100, pause_seconds=0.05)

    async def before_the_bytes_are_used_up() -> bytes:
        return await asyncio.wait_for(reading, 60)  # at that pace they are worth 99 seconds

    with pytest.raises(RequestTimeout):
        run(before_the_bytes_are_used_up())


def test_a_client_that_goes_away_leaves_no_half_body_behind() -> None:
    with pytest.raises(InvalidRequest, match="disconnected"):
        read([JSON, of_length(10)], part(b"{}", True), {"type": "http.disconnect"})
