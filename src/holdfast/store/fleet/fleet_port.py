"""The port of a fleet: what the servers of one memory share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from holdfast.core.model import Event


class News(Protocol):
    """What other servers did, for the parts of this one that keep something in memory. Calls come from a thread of the
    fleet, must return at once and never raise."""

    def happened(self, event: Event) -> None:
        """Another server committed it, for a tenant that is watched here."""
        ...

    def missed(self, tenant: str) -> None:
        """Events of a tenant that is watched here cannot be had any more."""
        ...

    def token_changed(self, id: str | None) -> None:
        """A token was revoked or changed; None: any may have been, while this server could not hear of it."""
        ...

    def switched(self, tenant: str | None) -> None:
        """Another memory is the tenant's now; None: any tenant's may be, as above."""
        ...


class Fleet(Protocol):
    """The servers of one memory, as one of them sees them."""

    @property
    def is_shared(self) -> bool:
        """Whether there may be other servers."""
        ...

    def start(self, news: News) -> None:
        """Take part until `stop`: keep what was claimed, and hear of what others do."""
        ...

    def stop(self) -> None: ...

    def watch(self, tenant: str) -> None:
        """Hear of what happens in a tenant's memory from now on; it is done when this returns."""
        ...

    def unwatch(self, tenant: str) -> None:
        """Hear no more of it."""
        ...

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

    def take_number(self, series: str, least: int) -> int:
        """The next number of a series: `least`, or one above the highest that any server took, if that is higher.
        Durable before it is returned; numbers may be left out."""
        ...

    def take_request(self, caller: str, tenant: str, rate: float, burst: float) -> float:
        """Take one request from a caller's allowance at all servers: `rate` a second, and `burst` at once. 0 if it may
        be made; else in how many seconds. Only where the memory is shared."""
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
