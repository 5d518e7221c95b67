"""Vectors follow what was stored: work waits in the outbox, is embedded in batches and written in short transactions.

Nothing is lost by a crash or a failed embedder: an entry leaves the outbox in the transaction that stores its vector.
Rows that were stored while there was no embedder, or another one, are found and queued.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate

import numpy as np

from holdfast.core.errors import EmbedderUnavailable, Fault, Restoring, UpstreamFailed
from holdfast.core.model import CleanText
from holdfast.core.ports import Clock, Embedder, Vectors
from holdfast.store.fleet.fleet_port import Fleet
from holdfast.store.fleet.single_server import SingleServer
from holdfast.store.port import Condition, MadeVector, Reader, Store, Tx, Waiting
from holdfast.store.tables import TABLES
from holdfast.store.vector_values import text_hash

# Parts of texts embedded and vectors written at once: the write takes about 2 ms, so other writers wait no longer.
BATCH = 64
# Long texts are cut into parts and embedded in slices of so many, and so many characters: about a second on a slow
# machine. Between two slices a worker checks whether it has to stop.
TEXTS_AT_ONCE, SLICE_CHARS = 16, 16_000
# Of them, the newest of a long backlog.
NEWEST = 8
# Entries dropped at once when nothing embeds them.
DROPPED, DROP_SECONDS = 2_000, 5.0
# Rows checked for a missing vector before those found are queued.
LOOKED_AT = 2_000
PAUSE, LONGEST_PAUSE = 1.0, 300.0
JOB = "vectors"

log = logging.getLogger("holdfast")


class EmbedQueue:
    """Makes vectors step by step; one for each store."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        clock: Clock,
        stopped: Callable[[], bool] = lambda: False,
        fleet: Fleet | None = None,
    ):
        """`stopped` is called between slices: what is embedded by then is kept, the rest waits for the next start. Of
        a `fleet` each tenant's vectors are made by one server at a time."""
        self.store = store
        self._stopped = stopped
        self._fleet = fleet or SingleServer()
        self._claimed: set[str] = set()  # tenants whose vectors are made here now
        self._elsewhere: set[str] = set()  # and those whose are made by another server
        self._embedder = embedder
        self._clock = clock
        self._size = BATCH
        self._after = 0  # entries up to here failed alone; the others come first
        self._pause = 0.0
        self._resume = clock.steady()
        self._without_model = False  # why it pauses
        self._said: str | None = None  # what was logged last, so that it is logged once

    def step(self) -> bool:
        """Do one small piece of the work; False if there is nothing to do now."""
        if self._clock.steady() < self._resume and not self._has_model_again():
            return False
        more = False
        try:
            more = self._step()
        except Restoring:  # another store takes this one's place: nothing is wrong
            pass
        except Fault as fault:
            self.failed(fault)
        finally:
            if not more:
                self.release()
        return more

    def release(self) -> None:
        """Let other servers have the tenants whose vectors were made here."""
        claimed, self._claimed = self._claimed, set()
        self._elsewhere.clear()
        for tenant in claimed:
            with suppress(Fault):  # the database is away: the claim ends by itself
                self._fleet.release(JOB, tenant)

    def is_done(self) -> bool:
        """Whether every record that is to have a vector of the current model has it."""
        reader, model = self.store.read(), self._embedder.name if self._embedder else None
        if reader.followed_model() != model or reader.index_work(1):
            return False
        return model is None or reader.missing(model, 1) is None

    def failed(self, error: Exception) -> None:
        """Pause, longer each time, and log it once; all entries stay in the queue."""
        self._pause = min(max(PAUSE, 2 * self._pause), LONGEST_PAUSE)
        self._resume = self._clock.steady() + self._pause
        self._without_model = isinstance(error, EmbedderUnavailable)
        said = f"{error.message} ({error.code})" if isinstance(error, Fault) else f"unexpected {type(error).__name__}"
        if said != self._said:
            log.warning("vectors: %s; search uses keywords only until this works again", said)
        self._said = said

    def _has_model_again(self) -> bool:
        """Whether it paused for want of a model, and there is one now."""
        return self._without_model and self._embedder is not None and self._embedder.fault() is None

    def waiting(self, limit: int) -> list[Waiting]:
        """The first that wait for their vector, without those that failed alone."""
        return self.store.read().index_work(limit, self._after, without=self._elsewhere)

    def _step(self) -> bool:
        reader, embedder = self.store.read(), self._embedder
        model = embedder.name if embedder else None
        if reader.followed_model() != model:
            self.store.write(lambda tx: tx.follow_model(model))
        if embedder is None:
            return self._drop(reader)
        work = self._work(reader)
        if work:
            own = [one for one in work if self._may_make(one.tenant)]
            if own:
                self._make(reader, embedder, own)
            return True
        if self._look(reader, embedder.name):
            return True
        if not self._after:
            return False
        self._after = 0  # all others are done: once more from the first
        return self._step()

    def _work(self, reader: Reader) -> list[Waiting]:
        """The oldest that wait. Of a long backlog the newest too: what is written during an import need not wait for
        all of it."""
        work = reader.index_work(self._size, self._after, without=self._elsewhere)
        if len(work) < BATCH:
            return work
        newest = reader.index_work(NEWEST, self._after, newest=True, without=self._elsewhere)
        return list({_key(one): one for one in (*newest, *work[: BATCH - NEWEST])}.values())

    def _may_make(self, tenant: str) -> bool:
        """Whether the tenant's vectors are made here, claimed now if they were not."""
        if tenant not in self._claimed and tenant not in self._elsewhere:
            (self._claimed if self._fleet.claim(JOB, tenant) else self._elsewhere).add(tenant)
        return tenant in self._claimed

    def _drop(self, reader: Reader) -> bool:
        """Without an embedder nothing waits: the rows are found again when there is one."""
        work = sorted(reader.index_work(DROPPED), key=_key)  # a store may lock tenants in this order
        if work:
            self.store.write(lambda tx: tx.done(work))
        if len(work) < DROPPED:
            self._resume = self._clock.steady() + DROP_SECONDS
        return bool(work)

    def _look(self, reader: Reader, model: str) -> bool:
        missing = reader.missing(model, LOOKED_AT)
        if missing is not None:
            self.store.write(lambda tx: tx.queue(model, missing))
        return missing is not None

    def _make(self, reader: Reader, embedder: Embedder, work: list[Waiting]) -> None:
        texts = _texts(reader, work)
        try:
            made = self._vectors(reader, embedder, [one for one in work if _key(one) in texts], texts)
            made.sort(key=lambda one: _key(one.waiting))  # a store may lock tenants in this order
        except Exception:  # whatever it is: a single text must not hold up the others
            self._narrow(work)
            raise
        gone = sorted((one for one in work if _key(one) not in texts), key=_key)

        def write(tx: Tx) -> None:
            tx.put_vectors(embedder.name, made)
            tx.done(gone)

        self.store.write(write)
        self._recover()
        if len(made) + len(gone) < len(work):  # long ones: do not read and cut again and again what has to wait
            self._size = max(1, 2 * len(made))

    def _narrow(self, work: list[Waiting]) -> None:
        """A single text that is refused must not hold up the others: try fewer, then step over the one."""
        if len(work) == 1:
            self._after = work[0].seq
        self._size = max(1, len(work) // 4)

    def _recover(self) -> None:
        if self._said is not None:
            log.info("vectors: working again")
        self._size, self._pause, self._said = min(BATCH, 2 * self._size), 0.0, None

    def _vectors(
        self, reader: Reader, embedder: Embedder, work: list[Waiting], texts: dict[Key, CleanText]
    ) -> list[MadeVector]:
        """Of as many as one batch takes, at least one unless it is stopped; the others still wait."""
        hashes = {_key(one): text_hash(one.tenant, embedder.name, texts[_key(one)]) for one in work}
        known = {
            hash: numbers
            for hash, numbers in reader.known_vectors(list(hashes.values())).items()
            if numbers.shape[1] == embedder.dims
        }
        new = {hashes[_key(one)]: texts[_key(one)] for one in work if hashes[_key(one)] not in known}
        if new:
            known.update(zip(new, _embed_first(embedder, list(new.values()), self._stopped), strict=False))
        made = [(one, hashes[_key(one)]) for one in work]
        return [MadeVector(one, hash, known[hash]) for one, hash in made if hash in known]


Key = tuple[str, int]


def _key(one: Waiting) -> Key:
    """Numbers are given by tenant: two may have the same."""
    return one.tenant, one.seq


def _texts(reader: Reader, work: Sequence[Waiting]) -> dict[Key, CleanText]:
    """The text of each record that waits and is still there."""
    asked: dict[tuple[str, str], list[int]] = defaultdict(list)
    for one in work:
        asked[one.tenant, one.source].append(one.seq)
    texts: dict[Key, CleanText] = {}
    for table in TABLES:
        for (tenant, source), seqs in asked.items():
            if table.passage is not None and table.name == source:
                found = reader.find(table, tenant, Condition("seq", "in", seqs))
                texts.update({(tenant, record.seq): table.passage(record) for record in found})
    return texts


def _embed_first(embedder: Embedder, texts: list[CleanText], stopped: Callable[[], bool]) -> list[Vectors]:
    """The vectors of the first texts, a row for each part: of as many texts as have BATCH parts, at least of one.

    If it is stopped, of those that were done by then.
    """
    parts = _parts(embedder, texts, stopped)
    ends = list(accumulate(map(len, parts)))
    taken = max(1, bisect_right(ends, BATCH))
    rows: list[Vectors] = []
    for some in _slices([part for every in parts[:taken] for part in every]):
        if stopped():
            break
        rows.extend(_embed(embedder, some))
    whole = bisect_right(ends, len(rows))
    return np.split(np.asarray(rows[: ends[whole - 1]]), ends[: whole - 1]) if whole else []


def _parts(embedder: Embedder, texts: list[CleanText], stopped: Callable[[], bool]) -> list[list[CleanText]]:
    """Of as many of the first texts as have BATCH parts.

    Raises:
        UpstreamFailed: a text has none.
    """
    found: list[list[CleanText]] = []
    for at in range(0, len(texts), TEXTS_AT_ONCE):
        some = texts[at : at + TEXTS_AT_ONCE]
        parts = embedder.parts(some)
        if len(parts) != len(some) or not all(parts):
            raise UpstreamFailed("embedder: a text has no parts")
        found.extend(map(list, parts))
        if stopped() or sum(map(len, found)) >= BATCH:
            break
    return found


def _slices(parts: list[CleanText]) -> Iterator[list[CleanText]]:
    some: list[CleanText] = []
    chars = 0
    for part in parts:
        if some and chars + len(part) > SLICE_CHARS:
            yield some
            some, chars = [], 0
        some.append(part)
        chars += len(part)
    if some:
        yield some


def _embed(embedder: Embedder, texts: list[CleanText]) -> Vectors:
    """One row of length 1 for each text.

    Raises:
        UpstreamFailed: what came back are no such vectors.
    """
    made = np.asarray(embedder.embed(texts), dtype=np.float32)
    if made.shape != (len(texts), embedder.dims) or not np.isfinite(made).all():
        raise UpstreamFailed("embedder: the answer is not a vector for each text")
    lengths: Vectors = np.linalg.norm(made, axis=1, keepdims=True).astype(np.float32)
    lengths[lengths == 0] = 1
    return made / lengths
