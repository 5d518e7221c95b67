"""The write batcher: all short requests that wait are carried out by one thread in one transaction, then answered.

Thirty-two threads that each write and wait spend most of their time handing the interpreter to each other; one
thread that takes all waiting requests at once did 1.6 times as much (bench/intake.py: 1,468 requests a second, 916
without it). It checks and cleans them too, all but those that may take long: these are prepared in threads of their own
first, so that they delay no other request.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from copy import copy
from queue import Empty, SimpleQueue
from typing import Any

from holdfast.core.errors import Fault, Restoring, StorageFailed, StorageFull
from holdfast.store.port import Store

# One batch holds the store's writer: enough to share the fsync, not so many that others wait long.
BATCH = 64

_OF_THE_DISK = (StorageFull, StorageFailed)


class _BatchedRequest:
    """One request on the batcher and its outcome."""

    __slots__ = ("answer", "error", "finish", "future", "loop", "prepare", "prepared")

    def __init__(self, prepare: Callable[[], Any], finish: Callable[[Any], Any], loop: asyncio.AbstractEventLoop):
        self.prepare: Callable[[], Any] | None = prepare  # until it has been called
        self.finish = finish
        self.loop = loop
        self.prepared: Any = None
        self.future: asyncio.Future[Any] = loop.create_future()
        self.answer: Any = None
        self.error: BaseException | None = None


class WriteBatcher:
    """A thread that carries out short writes in groups."""

    def __init__(self, store: Callable[[], Store]):
        """`store` gives the live one, which may become another at any time."""
        self._store = store
        self._arrived: list[_BatchedRequest] = []  # in this turn of the event loop; touched by it only
        self._waiting: SimpleQueue[list[_BatchedRequest]] = SimpleQueue()  # an empty list: no more will come
        self._under_way = 0  # changed by the event loop only
        self._thread = threading.Thread(target=self._drive, name="lane", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Carry out what waits, then end."""
        self._waiting.put([])
        self._thread.join()

    async def run(self, prepare: Callable[[], Any], finish: Callable[[Any], Any], pool: Executor | None) -> Any:
        """The result of `finish`, which is given that of `prepare`, once it is durable. A preparation that may take
        long is given to the pool. Only `finish` runs inside the write, and maybe twice."""
        ride = _BatchedRequest(prepare, finish, asyncio.get_running_loop())
        self._under_way += 1
        try:
            if pool is not None:
                pool.submit(self._board, ride)
            else:
                self._arrive(ride)
            return await ride.future
        finally:
            del ride  # an error propagates through this frame, which must not refer to it
            self._under_way -= 1

    def _arrive(self, ride: _BatchedRequest) -> None:
        """Those whose bytes came in the same turn of the event loop go together, instead of the first one alone."""
        if not self._arrived:
            ride.loop.call_soon(self._depart)
        self._arrived.append(ride)

    def _depart(self) -> None:
        rides, self._arrived = self._arrived, []
        for first in range(0, len(rides), BATCH):
            self._waiting.put(rides[first : first + BATCH])

    def _board(self, ride: _BatchedRequest) -> None:
        if not _is_prepared(ride):
            ride.loop.call_soon_threadsafe(_deliver, [ride])
        elif self._under_way == 1:  # no other request to share with: another hand-over would only cost time
            self._carry([ride])
            ride.loop.call_soon_threadsafe(_deliver, [ride])
        else:
            self._waiting.put([ride])

    def _drive(self) -> None:
        while self._drive_once():  # on its own: a thread that waits holds no ride, nor the store that it was for
            pass

    def _drive_once(self) -> bool:
        """Carry out what waits, once something does; False if nothing will come after it."""
        rides = self._waiting.get()
        last = not rides
        while not last and len(rides) <= BATCH // 2 and (more := self._next()) is not None:
            last = not more
            rides += more
        if rides:
            self._carry([ride for ride in rides if _is_prepared(ride)])
            rides[0].loop.call_soon_threadsafe(_deliver, rides)
        return not last

    def _next(self) -> list[_BatchedRequest] | None:
        try:
            return self._waiting.get_nowait()
        except Empty:
            return None

    def _carry(self, rides: list[_BatchedRequest]) -> None:
        """Finish all, those that came out of turn in writes after the first: each write waits at least for the memory
        that its first request needs."""
        while rides:
            self._carry_together(rides)
            left = [ride for ride in rides if isinstance(ride.error, Restoring) and ride.error.out_of_turn]
            if len(left) == len(rides):
                return self._carry_each(left)
            rides = left

    def _carry_each(self, rides: list[_BatchedRequest]) -> None:
        for ride in rides if len(rides) > 1 else ():
            self._carry_together([ride])

    def _carry_together(self, rides: list[_BatchedRequest]) -> None:
        """Finish all in one write; if that write fails, none of them happened."""

        def together(_: object) -> None:
            for ride in rides:
                _finish(ride)

        try:
            if len(rides) == 1:
                _finish(rides[0])
            elif rides:
                self._store().write(together, again=True)
        except Exception as error:  # noqa: BLE001 - no request on the batcher may wait for ever
            for ride in rides:
                ride.error = copy(error)


def _is_prepared(ride: _BatchedRequest) -> bool:
    """Whether the request can be carried out; it is prepared now if it is not yet."""
    try:
        if ride.prepare is not None:
            ride.prepared, ride.prepare = ride.prepare(), None
    except Exception as error:  # noqa: BLE001 - handed to the request that asked, which raises it
        ride.error = error
    return ride.error is None


def _finish(ride: _BatchedRequest) -> None:
    ride.answer = ride.error = None
    try:
        ride.answer = ride.finish(ride.prepared)
    except _OF_THE_DISK:
        raise
    except Exception as error:  # noqa: BLE001 - handed to the request that asked, which raises it
        ride.error = error


def _deliver(rides: list[_BatchedRequest]) -> None:
    for ride in rides:
        error, ride.error = ride.error, None
        if ride.future.cancelled():
            continue
        if isinstance(error, StopIteration):  # which a future refuses, and the rest would wait for ever
            ride.future.set_exception(RuntimeError("an operation ended its response too early"))
        elif error is not None:
            # A fault is passed on without its traceback: its frames hold the ride, that the error, and together the
            # store. For a bug the traceback is needed.
            ride.future.set_exception(error.with_traceback(None) if isinstance(error, Fault) else error)
        else:
            ride.future.set_result(ride.answer)
