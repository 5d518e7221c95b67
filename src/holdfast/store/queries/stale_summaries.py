"""Which sessions' summaries are to be rebuilt, in notes: a statement was added, was replaced or holds again."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.model import Note
from holdfast.store.port import Tx
from holdfast.store.tables import NOTES, STATEMENTS, SUMMARIES, outdated_summary_key

OUTDATED = "outdated-summary"  # the kind of such notes


def mark_outdated(tx: Tx, tenant: str, now_ms: int, session_ids: Iterable[str]) -> None:
    """Mark the summaries of these sessions to be rebuilt, if they have one."""
    for session_id in dict.fromkeys(session_ids):
        id = outdated_summary_key(session_id)
        if tx.get(SUMMARIES, tenant, session_id) is not None and tx.get(NOTES, tenant, id) is None:
            tx.replace(NOTES, Note(tenant, id, tx.next_seq(tenant), OUTDATED, session_id, now_ms))


def mark_sessions_of(tx: Tx, tenant: str, now_ms: int, statement_ids: Iterable[str]) -> None:
    """The same for the sessions in which these statements were made."""
    said = [tx.get(STATEMENTS, tenant, id) for id in statement_ids]
    mark_outdated(tx, tenant, now_ms, [one.session_id for one in said if one is not None])
