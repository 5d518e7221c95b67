"""The fleet of a memory that only one server can open, as of one in a data folder."""

from __future__ import annotations

from holdfast.store.fleet.fleet_port import News


class SingleServer:
    """Every job is granted to it; fulfils `fleet_port.Fleet`."""

    is_shared = False

    def start(self, news: News) -> None:
        """There is no news."""

    def stop(self) -> None:
        """Nothing was begun."""

    def watch(self, tenant: str) -> None:
        """All that happens, happens here."""

    def unwatch(self, tenant: str) -> None:
        """Nothing was watched."""

    def claim(self, job: str, tenant: str | None = None, every: float = 0.0) -> bool:
        return True

    def release(self, job: str, tenant: str | None = None, *, done: bool = True) -> None:
        """There is no other server."""

    def take_number(self, series: str, least: int) -> int:
        return least

    def take_request(self, caller: str, tenant: str, rate: float, burst: float) -> float:
        return 0.0
