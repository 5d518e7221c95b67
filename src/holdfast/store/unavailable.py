"""A store that cannot be opened: every call on it raises the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import NoReturn, TypeVar

from holdfast.core.errors import Fault
from holdfast.store.port import Finding, Reader, Tx, Usage

T = TypeVar("T")


class ClosedStore:
    """Fulfils `port.Store` by raising the fault that opening it raised."""

    def __init__(self, fault: Fault):
        self._fault = fault

    def _refuse(self) -> NoReturn:
        raise self._fault

    def read(self) -> Reader:
        self._refuse()

    def snapshot(self) -> AbstractContextManager[Reader]:
        self._refuse()

    def write(self, job: Callable[[Tx], T], *, again: bool = False) -> T:
        self._refuse()

    def usage(self, tenant: str) -> Usage:
        self._refuse()

    def last_seq(self, tenant: str | None = None) -> int:
        self._refuse()

    def last_seqs(self, *, own: bool = False) -> Mapping[str, int]:
        self._refuse()

    def compact_words(
        self, least: int | None = None, stop: Callable[[], bool] = lambda: False, thorough: bool = False
    ) -> int:
        self._refuse()

    def change_log(self) -> None:
        self._refuse()

    def failure(self, tenant: str | None = None) -> Fault | None:
        return self._fault

    def check_pages(self) -> bool:
        self._refuse()

    def verify(self) -> list[Finding]:
        self._refuse()

    def repair_index(self) -> int:
        self._refuse()

    def close(self) -> None:
        """Nothing is open."""
