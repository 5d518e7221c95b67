"""By how much a transaction changes what quotas count."""

from __future__ import annotations

from holdfast.store.port import Usage

_NONE = (0, 0)


class Growth:
    """By how much the memories of tenants grew in a transaction."""

    def __init__(self) -> None:
        self._by: dict[str, tuple[int, int]] = {}

    def add(self, tenant: str, records: int, length: int) -> None:
        have = self._by.get(tenant, _NONE)
        self._by[tenant] = (have[0] + records, have[1] + length)

    def added(self, tenant: str, before: Usage) -> Usage:
        records, length = self._by.get(tenant, _NONE)
        return Usage(before.records + records, before.bytes + length)

    def removed(self, tenant: str, after: Usage) -> Usage:
        records, length = self._by.get(tenant, _NONE)
        return Usage(after.records - records, after.bytes - length)

    def has(self, tenant: str) -> bool:
        """Whether anything that counts was written."""
        return tenant in self._by

    def mark(self) -> dict[str, tuple[int, int]]:
        return dict(self._by)

    def go_back(self, mark: dict[str, tuple[int, int]]) -> None:
        """To what it was when the mark was made: what was written since was undone."""
        self._by = dict(mark)
