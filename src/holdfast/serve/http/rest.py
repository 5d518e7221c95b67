"""REST: every operation at its paths, as one ASGI app."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, unquote

from starlette.types import Receive, Scope, Send

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest, MethodNotAllowed, NotFound
from holdfast.core.model import Caller, Json
from holdfast.engine import Engine
from holdfast.ops.framework.call_metrics import counted
from holdfast.ops.framework.operation import Operation, Request, Stream
from holdfast.ops.registry import OPERATIONS
from holdfast.serve.http.auth import Auth
from holdfast.serve.http.idempotency import IdempotencyKeys, Reply
from holdfast.serve.http.request_body import read_body
from holdfast.serve.http.strict_json import MAX_VALUES, dumps, loads
from holdfast.serve.http.write_batcher import WriteBatcher

PREFIX = "/agentmemory"
BULK_VALUES = 50_000_000
SMALL_BODY = 65_536  # larger ones are parsed in a thread, so that other requests do not wait for it
# Redaction takes longest where many pairs of name and value stand: 2 kB of them took 17 ms. Of 3,350 hostile bodies
# within both numbers none took more than 4 ms, less than the 5 for which any thread may keep the interpreter.
QUICK_BODY = 2_048
QUICK_PAIRS = 32
_JOINTS = (b":", b"=", b",", b">")
_JSON = (b"content-type", b"application/json")


class Rest:
    """Finds the operation of a path, reads its arguments, runs it in a thread, sends the answer."""

    def __init__(self, engine: Engine, auth: Auth, pool: ThreadPoolExecutor, batcher: WriteBatcher):
        self._engine = engine
        self._auth = auth
        self._pool = pool
        self._batcher = batcher
        self.keys = IdempotencyKeys(lambda: engine.store)
        self._plain: dict[tuple[str, str], Operation] = {}
        self._patterns: list[tuple[str, re.Pattern[str], Operation]] = []
        for operation in OPERATIONS:
            for method, path in ((operation.method, operation.path), *operation.also):
                self._add(method, PREFIX + path, operation)

    def _add(self, method: str, path: str, operation: Operation) -> None:
        if "{" in path:
            pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))
            self._patterns.append((method, pattern, operation))
        else:
            self._plain[(method, path)] = operation

    def find(self, method: str, path: str) -> tuple[Operation, Json]:
        """The operation and the arguments that stand in its path.

        Raises:
            NotFound: nothing has that path.
            MethodNotAllowed: something has, with another method.
        """
        operation = self._plain.get((method, path))
        if operation is not None:
            return operation, {}
        matches = [(verb, match, op) for verb, pattern, op in self._patterns if (match := pattern.fullmatch(path))]
        for verb, match, op in matches:
            if verb == method:
                return op, {name: unquote(value) for name, value in match.groupdict().items()}
        if matches or any(known == path for _, known in self._plain):
            raise MethodNotAllowed(f"{method} is not allowed for this path")
        raise NotFound("path not found", hint="GET /openapi.json lists all paths.")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        operation, arguments = self.find(method, scope["raw_path"].decode("ascii", "replace").rstrip("/"))
        with counted(self._engine.metrics, operation.name):
            await self._answer(operation, arguments, scope, receive, send)

    async def _answer(self, operation: Operation, arguments: Json, scope: Scope, receive: Receive, send: Send) -> None:
        caller = Caller(scopes=frozenset({"read"})) if operation.unguarded else self._auth.caller(scope["headers"])
        if self._engine.fault is not None:
            await asyncio.get_running_loop().run_in_executor(self._pool, self._engine.try_again)
        # Before a byte of the body is read: a caller that may not do this must not make the server work.
        ctx = self._engine.context(caller)
        operation.allow(ctx)
        given, raw = await self._arguments(operation, scope, receive)
        key = _idempotency_key(scope) if operation.effect != "read" else None
        given.update(arguments)
        if operation.short and key is None:
            prepare = partial(operation.prepare, ctx, given)
            pool = None if not scope["query_string"] and _is_quick(raw) else self._pool
            reply = await self._batcher.run(prepare, partial(_finish, operation), pool)
        else:
            work = partial(self.run, operation, caller, given, key)
            reply = await asyncio.get_running_loop().run_in_executor(self._pool, work)
        if isinstance(reply, Stream):
            await self._stream(reply.pieces, send)
        else:
            await _send(send, *reply)

    async def _arguments(self, operation: Operation, scope: Scope, receive: Receive) -> tuple[Json, bytes]:
        """The arguments in the query and the body, and the body itself."""
        query = scope["query_string"]
        arguments: Json = dict(parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True)) if query else {}
        if scope["method"] in ("GET", "HEAD"):
            return arguments, b""
        settings = self._engine.settings
        most = settings.max_import if operation.bulk else settings.max_body
        raw = await read_body(scope, receive, limit=most, pause_seconds=settings.body_seconds)
        if not raw:
            return arguments, raw
        if len(raw) > SMALL_BODY:
            most_values = BULK_VALUES if operation.bulk else MAX_VALUES
            read = partial(loads, raw, max_values=most_values)
            body = await asyncio.get_running_loop().run_in_executor(self._pool, read)
        else:
            body = loads(raw)
        if not isinstance(body, dict):
            raise InvalidRequest(f"{operation.name}: the body must be a JSON object")
        return {**arguments, **body}, raw

    def run(self, operation: Operation, caller: Caller, arguments: Json, key: str | None) -> Reply | Stream:
        """The reply, made in a thread of the pool."""
        ctx = self._engine.context(caller)
        if key is None:
            answer = operation.call(ctx, arguments)
            return answer if isinstance(answer, Stream) else _reply(operation, answer)
        return self.keys.once(ctx, operation, key, arguments, _reply)

    async def _stream(self, pieces: Iterator[bytes], send: Send) -> None:
        loop = asyncio.get_running_loop()
        piece = await loop.run_in_executor(self._pool, next, pieces, None)  # what fails at once still gets a status
        await send({"type": "http.response.start", "status": 200, "headers": [_JSON]})
        while piece is not None:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            piece = await loop.run_in_executor(self._pool, next, pieces, None)
        await send({"type": "http.response.body", "body": b""})


def _is_quick(raw: bytes) -> bool:
    """Whether the body can be checked and cleaned in a moment, whatever stands in it."""
    return len(raw) <= QUICK_BODY and sum(map(raw.count, _JOINTS)) <= QUICK_PAIRS


def _finish(operation: Operation, prepared: tuple[CallContext, Request]) -> Reply:
    return _reply(operation, operation.answer(*prepared))


def _reply(operation: Operation, answer: Any) -> Reply:
    return operation.status_of(answer), dumps(answer)


def _idempotency_key(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"idempotency-key":
            return str(value.decode("latin-1"))
    return None


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [_JSON, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
