"""A client of OpenAI or Anthropic that remembers. Its class lies below the client's, so that it stays what it is.

Every call of these clients ends in `request`. Only there is something put in and taken out: the client's own retries,
streams, helpers and types stay as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from holdfast.client import Holdfast
from holdfast.core.errors import InvalidRequest
from holdfast.user_memory import Found, check_user
from holdfast.wrap.messages import Api, api_of, conversation_of, response_id, texts_of, turn_of, with_memories
from holdfast.wrap.recorder import FLUSH_SECONDS, Options, Recorder, Whose

C = TypeVar("C")

CLIENTS = ("openai", "anthropic")
NAME, HEARD = "_holdfast_recorder", "_holdfast_heard"  # what an object of ours has beside its own attributes


def remembering(
    client: C,
    *,
    user: str,
    memory: Holdfast | str | Path | None = None,
    project: str | None = None,
    session: str | None = None,
    options: Options | None = None,
) -> C:
    """A copy of the client that remembers what this user says.

    Args:
        client: OpenAI, AsyncOpenAI, Anthropic, AsyncAnthropic, or a class below one of them.
        user: Whose memories these are; no other user gets them.
        memory: A folder, the URL of a server, or a client of Holdfast. Default: as the command line has it.
        project, session: Keep and recall only what was said there.
        options: How many tokens of memories a request may get, and how long a call waits for them.

    Raises:
        InvalidRequest: it is another kind of client, or the user has no name.
    """
    check_user(user)
    kind = type(client)
    if not any(base.__module__.split(".")[0] in CLIENTS for base in kind.__mro__) or not hasattr(client, "copy"):
        raise InvalidRequest(
            f"remembering: a {kind.__name__} is no client of OpenAI or Anthropic",
            hint="Pass OpenAI(), AsyncOpenAI(), Anthropic() or AsyncAnthropic().",
        )
    wrapped: C = _made(client.copy(), Recorder(Whose(memory, user, project, session), options or Options()))
    return wrapped


def _made(client: Any, recorder: Recorder) -> Any:
    """The client as one that remembers."""
    if not hasattr(client, NAME):
        kind: Any = type(client)
        client.__class__ = _below(kind)
    setattr(client, NAME, recorder)
    return client


@lru_cache
def _below(kind: Any) -> type:
    """A class with the client's as its only base: an object that exists takes no class that is laid out otherwise."""

    def copy(self: Any, *args: Any, **changes: Any) -> Any:
        """A copy with the same memory."""
        return _made(kind.copy(self, *args, **changes), getattr(self, NAME))

    def flush_memory(self: Any, seconds: float = FLUSH_SECONDS) -> bool:
        """Wait until everything that was said is kept; whether it is."""
        recorder: Recorder = getattr(self, NAME)
        return recorder.flush(seconds)

    is_async = asyncio.iscoroutinefunction(kind.request)
    own = {
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
        "copy": copy,
        "with_options": copy,
        "flush_memory": flush_memory,
        "request": _async_request(kind) if is_async else _sync_request(kind),
    }
    return type(kind.__name__, (kind,), own)


def _sync_request(kind: Any) -> Callable[..., Any]:
    def request(self: Any, cast_to: Any, options: Any, **how: Any) -> Any:
        call = _call(getattr(self, NAME), options)
        if call is not None:
            call.put_in(call.waited())
        answer = kind.request(self, cast_to, options, **how)
        return answer if call is None else call.take_out(answer, streams=how.get("stream", False))

    return request


def _async_request(kind: Any) -> Callable[..., Any]:
    async def request(self: Any, cast_to: Any, options: Any, **how: Any) -> Any:
        call = _call(getattr(self, NAME), options)
        if call is not None:
            call.put_in(await call.awaited())
        answer = await kind.request(self, cast_to, options, **how)
        return answer if call is None else call.take_out(answer, streams=how.get("stream", False))

    return request


def _call(recorder: Recorder, options: Any) -> _Call | None:
    """The call, if it says something."""
    api, body = api_of(options.url), options.json_data
    is_post = options.method.lower() == "post"
    return _Call(recorder, api, options) if api and is_post and isinstance(body, dict) and body.get(api.said) else None


@dataclass
class _Call:
    recorder: Recorder
    api: Api
    options: Any
    ids: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.turn = turn_of(self.api, self.options.json_data)
        self.conversation = conversation_of(self.options.json_data)
        self.asked: Future[list[Found]] | None = self.recorder.recall(self.turn) if self.turn else None

    def waited(self) -> list[Found]:
        """The memories for the turn; none if they are not there in time."""
        try:
            return self.asked.result(self.recorder.wait_seconds) if self.asked else []
        except TimeoutError:
            self.recorder.late()
            return []

    async def awaited(self) -> list[Found]:
        """The same, without holding up other tasks."""
        try:
            asked = asyncio.wrap_future(self.asked) if self.asked else None
            return await asyncio.wait_for(asked, self.recorder.wait_seconds) if asked else []
        except TimeoutError:
            self.recorder.late()
            return []

    def put_in(self, found: list[Found]) -> None:
        """Change the request, if something is known that it does not say, and keep the user's turn."""
        body = self.options.json_data
        block, self.ids = self.recorder.block(found, texts_of(self.api, body), self.conversation)
        if block:
            self.options.json_data = with_memories(self.api, body, block)
        self.recorder.keep("user", self.turn)

    def take_out(self, answer: Any, *, streams: bool) -> Any:
        """The answer as it is. What it says is kept: at once, or when its stream has ended."""
        if hasattr(answer, "http_response"):  # asked for with its headers: read by the caller alone
            return answer
        if streams:
            return _watched(answer, self)
        self.heard(self.api.answer(answer), response_id(answer))
        return answer

    def heard(self, text: str, id: str) -> None:
        self.recorder.keep("assistant", text)
        for conversation in (id, self.conversation):
            self.recorder.note_shown(conversation, self.ids)


class _Heard:
    """What a stream has said so far."""

    def __init__(self, call: _Call):
        self._call, self._pieces, self._id = call, list[str](), ""

    def add(self, event: Any) -> None:
        self._pieces.append(self._call.api.piece(event))
        self._id = self._id or response_id(event)

    def end(self) -> None:
        """Of a stream that is closed early too: what was said was said. Once, however often it is read."""
        pieces, self._pieces = self._pieces, []
        if pieces:
            self._call.heard("".join(pieces), self._id)


def _watched(stream: Any, call: _Call) -> Any:
    """The stream, whose events are heard by one more."""
    kind: Any = type(stream)
    stream.__class__ = _async_stream(kind) if hasattr(kind, "__aiter__") else _sync_stream(kind)
    setattr(stream, HEARD, _Heard(call))
    return stream


@lru_cache
def _sync_stream(kind: Any) -> type:
    def each(self: Any) -> Iterator[Any]:
        heard: _Heard = getattr(self, HEARD)
        try:
            for event in kind.__iter__(self):
                heard.add(event)
                yield event
        finally:
            heard.end()

    def following(self: Any) -> Any:
        heard: _Heard = getattr(self, HEARD)
        try:
            event = kind.__next__(self)
        except StopIteration:
            heard.end()
            raise
        heard.add(event)
        return event

    return type(kind.__name__, (kind,), {"__module__": kind.__module__, "__iter__": each, "__next__": following})


@lru_cache
def _async_stream(kind: Any) -> type:
    async def each(self: Any) -> AsyncIterator[Any]:
        heard: _Heard = getattr(self, HEARD)
        try:
            async for event in kind.__aiter__(self):
                heard.add(event)
                yield event
        finally:
            heard.end()

    async def following(self: Any) -> Any:
        heard: _Heard = getattr(self, HEARD)
        try:
            event = await kind.__anext__(self)
        except StopAsyncIteration:
            heard.end()
            raise
        heard.add(event)
        return event

    return type(kind.__name__, (kind,), {"__module__": kind.__module__, "__aiter__": each, "__anext__": following})
