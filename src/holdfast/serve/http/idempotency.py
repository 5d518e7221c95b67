"""Idempotency-Key: the first answer again, and never the same work twice.

A short operation stores the key and the answer together with its work. For any other the key is recorded before the
work begins: if the process dies between the two, a retry gets the answer that the outcome is unknown instead of being
carried out a second time. If only the database was away, the key is released, or its answer kept, once it is back.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections import deque
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import orjson

from holdfast.context import CallContext
from holdfast.core.errors import (
    OUTCOME,
    UNKNOWN,
    Conflict,
    Fault,
    InvalidRequest,
    QuotaReached,
    Restoring,
    StoreUnreachable,
)
from holdfast.core.model import Answer, Json
from holdfast.ops.framework.operation import Operation
from holdfast.store.port import Condition, Store, Tx
from holdfast.store.tables import ANSWERS

KEPT_MS = 24 * 3_600_000
MAX_KEY = 256
BATCH = 1_000
PAUSE_SECONDS = 1.0  # before what is late is tried again
Reply = tuple[int, bytes]
ReplyOf = Callable[[Operation, Any], Reply]  # the reply with an operation's answer

log = logging.getLogger("holdfast.serve")


class IdempotencyKeys:
    """Requests with a key, each carried out once."""

    def __init__(self, store: Callable[[], Store]):
        """`store` gives the live one."""
        self._store = store
        self._mutex = threading.Lock()
        self._late: deque[Callable[[Tx], object]] = deque()  # what could not be recorded, as the store was away
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def once(self, ctx: CallContext, operation: Operation, key: str, arguments: Json, reply: ReplyOf) -> Reply:
        """The reply to the request, or the one that the same request got before.

        A short operation is one write: the key, the work and the answer are stored together or not at all. For any
        other the key is claimed before the work begins.

        Raises:
            Conflict: the key was used for another request, or its first use has not ended.
        """
        if not key.isprintable() or not 1 <= len(key) <= MAX_KEY:
            raise InvalidRequest(f"Idempotency-Key: must be 1 to {MAX_KEY} printable characters")
        chat = ctx.caller.chat
        id = _digest(ctx.caller.name, operation.name, key, *((chat.umo, chat.sender_id) if chat else ()))
        request = _digest(orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode())
        claim = _Claim(ctx, id, request)
        if operation.short:
            return _in_one_write(claim, operation, arguments, reply)
        return self._claimed(claim, operation, arguments, reply)

    def _claimed(self, claim: _Claim, operation: Operation, arguments: Json, reply: ReplyOf) -> Reply:
        ctx = claim.ctx
        try:
            known = ctx.store.write(claim.take)
        except StoreUnreachable:  # it may have been stored all the same
            self._later(claim.release)
            raise
        if known is not None:
            return _again(known, claim.request)
        try:
            status, body = reply(operation, operation.call(ctx, arguments))
        except Fault as fault:
            if _did_nothing(fault):  # the key may be used again
                self._record(ctx.store, claim.release)
            raise
        if not operation.secret_answer:
            self._record(ctx.store, lambda tx: claim.keep(tx, status, body))
        return status, body

    def _record(self, store: Store, job: Callable[[Tx], object]) -> None:
        """Record what became of a request; later, if the store is away now: the caller's outcome is known already."""
        try:
            store.write(job)
        except (StoreUnreachable, Restoring):
            self._later(job)

    def _later(self, job: Callable[[Tx], object]) -> None:
        with self._mutex:
            self._late.append(job)
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._catch_up, name="idempotency", daemon=True)
                self._thread.start()

    def _catch_up(self) -> None:
        """Record what is late, until nothing is."""
        while not self._stop.wait(PAUSE_SECONDS):
            with self._mutex:
                if not self._late:
                    self._thread = None
                    return
                job = self._late[0]
            try:
                self._store().write(job)
            except Fault as fault:
                if fault.retryable:
                    continue
                log.warning("idempotency: a key could not be recorded: %s (%s)", fault.message, fault.code)
            with self._mutex:
                self._late.popleft()

    def stop(self) -> None:
        """Give up what is late, and wait until the thread has ended."""
        self._stop.set()
        if (thread := self._thread) is not None:
            thread.join()


class _Claim:
    """The use of a key by one request."""

    def __init__(self, ctx: CallContext, id: str, request: str):
        self.ctx = ctx
        self.id = id
        self.request = request
        self._seq = 0  # of the row that this request stored, and no other with the same key

    def take(self, tx: Tx) -> Answer | None:
        """Store the claim, or return what is stored under the key."""
        known = tx.get(ANSWERS, self.ctx.tenant, self.id)
        if known is None:
            self._seq = tx.next_seq(self.ctx.tenant)
            tx.add(ANSWERS, Answer(self.ctx.tenant, self.id, self._seq, self.request, 0, "", self.ctx.clock.now_ms()))
        return known

    def release(self, tx: Tx) -> None:
        if self._own(tx) is not None:
            tx.delete(ANSWERS, self.ctx.tenant, self.id)

    def keep(self, tx: Tx, status: int, body: bytes) -> None:
        if (known := self._own(tx)) is not None:
            tx.replace(ANSWERS, dataclasses.replace(known, status=status, body=body.decode()))

    def _own(self, tx: Tx) -> Answer | None:
        known = tx.get(ANSWERS, self.ctx.tenant, self.id)
        return known if known is not None and known.seq == self._seq and not known.body else None


def _in_one_write(claim: _Claim, operation: Operation, arguments: Json, reply: ReplyOf) -> Reply:
    prepared = operation.prepare(claim.ctx, arguments)

    def job(tx: Tx) -> Reply:
        known = claim.take(tx)
        if known is not None:
            return _again(known, claim.request)
        status, body = reply(operation, operation.answer(*prepared))
        claim.keep(tx, status, body)
        return status, body

    return claim.ctx.store.write(job, again=True)


def _did_nothing(fault: Fault) -> bool:
    """Whether a request that failed so stored nothing. A commit whose outcome is not known may have."""
    if fault.details.get(OUTCOME) == UNKNOWN:
        return False
    return fault.http_status < 500 or fault.retryable or isinstance(fault, QuotaReached)


def _again(known: Answer, request: str) -> Reply:
    if known.request_hash != request:
        raise Conflict("Idempotency-Key: already used for a different request", hint="Use a new key for a new request.")
    if not known.body:
        raise Conflict(
            "Idempotency-Key: the first request with this key has not completed",
            hint="Wait and retry. If the server was restarted meanwhile, check whether the write was stored.",
        )
    return known.status, known.body.encode()


def drop_old_answers(ctx: CallContext) -> int:
    """Forget answers older than a day."""

    old = Condition("created_at", "<", ctx.clock.now_ms() - KEPT_MS)

    def drop(tx: Tx) -> int:
        found = tx.find(ANSWERS, ctx.tenant, old, limit=BATCH)
        return sum(tx.delete(ANSWERS, ctx.tenant, one.id) for one in found)

    total = 0
    while ctx.store.read().find(ANSWERS, ctx.tenant, old, limit=1):
        total += ctx.store.write(drop)
    return total


def _digest(*parts: str) -> str:
    return sha256(chr(31).join(parts).encode()).hexdigest()[:40]
