"""The fleet of a memory that only one server can open, as of one in a data folder."""

from __future__ import annotations


class SingleServer:
    """Every job is granted to it; fulfils `fleet_port.Fleet`."""

    def start(self) -> None:
        """Nothing has to be kept."""

    def stop(self) -> None:
        """Nothing was begun."""

    def claim(self, job: str, tenant: str | None = None, every: float = 0.0) -> bool:
        return True

    def release(self, job: str, tenant: str | None = None, *, done: bool = True) -> None:
        """There is no other server."""
