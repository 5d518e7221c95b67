"""The port of a fleet: what the servers of one memory share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Fleet(Protocol):
    """The servers of one memory, as one of them sees them."""

    def start(self) -> None:
        """Take part until `stop`: keep what was claimed."""
        ...

    def stop(self) -> None: ...

    def claim(self, job: str, tenant: str | None = None, every: float = 0.0) -> bool:
        """Whether this server may do the job now, for a tenant or, without one, for all.

        It may if no other server has claimed it, and none finished it less than `every` seconds ago. The claim holds
        until it is released; that of a server that died ends by itself. To claim once more what is held already tells
        whether it still is.
        """
        ...

    def release(self, job: str, tenant: str | None = None, *, done: bool = True) -> None:
        """Let other servers have the job. `done`: it was finished, and `every` counts from now."""
        ...


@contextmanager
def claimed(fleet: Fleet, job: str, tenant: str | None = None, every: float = 0.0) -> Iterator[bool]:
    """Whether this server may do the job inside the block. A block that raises has not finished it."""
    granted = fleet.claim(job, tenant, every)
    try:
        yield granted
    except BaseException:
        if granted:
            fleet.release(job, tenant, done=False)
        raise
    if granted:
        fleet.release(job, tenant)
