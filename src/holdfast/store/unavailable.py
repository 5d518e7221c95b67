"""Stores that refuse: one that cannot be opened, and one that follows another host and takes no writes from callers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import NoReturn, TypeVar

from holdfast.core.errors import Fault, Following
from holdfast.store.port import Finding, Reader, Store, Tx, Usage

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


class FollowerStore:
    """A store whose writes are refused; fulfils `port.Store`. What is derived, such as vectors, goes to `inner`."""

    def __init__(self, inner: Store, refusal: Callable[[], Following]):
        self.inner = inner
        self._refusal = refusal

    def write(self, job: Callable[[Tx], T], *, again: bool = False) -> T:
        raise self._refusal()

    def read(self) -> Reader:
        return self.inner.read()

    def snapshot(self) -> AbstractContextManager[Reader]:
        return self.inner.snapshot()

    def usage(self, tenant: str) -> Usage:
        return self.inner.usage(tenant)

    def last_seq(self, tenant: str | None = None) -> int:
        return self.inner.last_seq(tenant)

    def last_seqs(self, *, own: bool = False) -> Mapping[str, int]:
        return self.inner.last_seqs(own=own)

    def compact_words(
        self, least: int | None = None, stop: Callable[[], bool] = lambda: False, thorough: bool = False
    ) -> int:
        return self.inner.compact_words(least, stop, thorough)

    def change_log(self) -> None:
        """It writes no journal."""

    def failure(self, tenant: str | None = None) -> Fault | None:
        return self.inner.failure(tenant) or self._refusal()

    def check_pages(self) -> bool:
        return self.inner.check_pages()

    def verify(self) -> list[Finding]:
        return self.inner.verify()

    def repair_index(self) -> int:
        raise self._refusal()

    def close(self) -> None:
        self.inner.close()
