"""Idempotency-Key: the first answer again, and never the same work twice.

The key is recorded before the work begins. If the process dies between the two, a retry gets the answer that the
outcome is unknown instead of being carried out a second time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from hashlib import sha256

import orjson

from holdfast.context import CallContext
from holdfast.core.errors import Conflict, Fault, InvalidRequest
from holdfast.core.model import Answer, Json
from holdfast.ops.framework.operation import Operation
from holdfast.store.port import Condition, Tx
from holdfast.store.tables import ANSWERS

KEPT_MS = 24 * 3_600_000
MAX_KEY = 256
BATCH = 1_000
Reply = tuple[int, bytes]


def once(ctx: CallContext, operation: Operation, key: str, arguments: Json, run: Callable[[], Reply]) -> Reply:
    """The reply of `run`, or the one that the same request got before.

    Raises:
        Conflict: the key was used for another request, or its first use has not ended.
    """
    if not key.isprintable() or not 1 <= len(key) <= MAX_KEY:
        raise InvalidRequest(f"Idempotency-Key: must be 1 to {MAX_KEY} printable characters")
    chat = ctx.caller.chat
    id = _digest(ctx.caller.name, operation.name, key, *((chat.umo, chat.sender_id) if chat else ()))
    request = _digest(orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode())
    known = ctx.store.write(lambda tx: _claim(ctx, tx, id, request))
    if known is not None:
        return _again(known, request)
    try:
        status, body = run()
    except Fault as fault:
        if fault.http_status < 500 or fault.retryable:  # nothing was done: the key may be used again
            ctx.store.write(lambda tx: tx.delete(ANSWERS, ctx.tenant, id))
        raise
    if not operation.secret_answer:
        ctx.store.write(lambda tx: _keep(ctx, tx, id, status, body))
    return status, body


def _claim(ctx: CallContext, tx: Tx, id: str, request: str) -> Answer | None:
    known = tx.get(ANSWERS, ctx.tenant, id)
    if known is None:
        tx.add(ANSWERS, Answer(ctx.tenant, id, tx.next_seq(ctx.tenant), request, 0, "", ctx.clock.now_ms()))
    return known


def _again(known: Answer, request: str) -> Reply:
    if known.request_hash != request:
        raise Conflict("Idempotency-Key: already used for a different request", hint="Use a new key for a new request.")
    if not known.body:
        raise Conflict(
            "Idempotency-Key: the first request with this key has not completed",
            hint="Wait and retry. If the server was restarted meanwhile, check whether the write was stored.",
        )
    return known.status, known.body.encode()


def _keep(ctx: CallContext, tx: Tx, id: str, status: int, body: bytes) -> None:
    known = tx.get(ANSWERS, ctx.tenant, id)
    if known is not None:
        tx.replace(ANSWERS, dataclasses.replace(known, status=status, body=body.decode()))


def drop_old_answers(ctx: CallContext) -> int:
    """Forget answers older than a day."""

    def drop(tx: Tx) -> int:
        old = Condition("created_at", "<", ctx.clock.now_ms() - KEPT_MS)
        found = tx.find(ANSWERS, ctx.tenant, old, limit=BATCH)
        return sum(tx.delete(ANSWERS, ctx.tenant, one.id) for one in found)

    total = 0
    while dropped := ctx.store.write(drop):
        total += dropped
    return total


def _digest(*parts: str) -> str:
    return sha256(chr(31).join(parts).encode()).hexdigest()[:40]
