"""What redaction returns: the clean value and the kinds of what was removed, never the removed text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

# The two marks of the earlier system; clients and stored memories know them.
PRIVATE_MARK: Final = "[REDACTED]"
SECRET_MARK: Final = "[REDACTED_SECRET]"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule and how often it removed something."""

    rule: str
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class Redacted(Generic[T_co]):
    """A value that is safe to keep, and what was removed from it."""

    value: T_co
    findings: tuple[Finding, ...] = ()

    @property
    def count(self) -> int:
        return sum(finding.count for finding in self.findings)
