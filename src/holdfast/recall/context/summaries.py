"""Summaries of sessions, read so that a damaged one takes nothing else away."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.model import Summary
from holdfast.store.port import Condition, Reader
from holdfast.store.tables import SUMMARIES


def summaries_of(reader: Reader, tenant: str, sessions: Iterable[str]) -> dict[str, Summary]:
    """The summaries that these sessions have, by the session's id.

    They are read as a list, which goes on without a row that does not match its checksum: sessions and a context are
    worth having without one summary.
    """
    ids = list(sessions)
    found = reader.find(SUMMARIES, tenant, Condition("id", "in", ids)) if ids else []
    return {one.id: one for one in found}
