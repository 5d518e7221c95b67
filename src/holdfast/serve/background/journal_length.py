"""Whether a journal has grown so long since the newest snapshot that the next one is due before its time.

A row of the journal takes some ten times as long to restore as one of a snapshot, since its words are made anew. So the
time of a restore is bounded by the rows that come after the newest snapshot.
"""

from __future__ import annotations

import dataclasses

from holdfast.core.errors import Fault
from holdfast.engine import Engine
from holdfast.snapshot.journal.journal_layout import list_journal
from holdfast.snapshot.journal.journal_lines import PlacedSnapshot, placed
from holdfast.snapshot.remote.colony import is_colony
from holdfast.snapshot.repo.context import SnapshotContext

LEAST_RECORDS = 2_000  # fewer are restored in half a second
HEAD_BYTES, RECORD_BYTES = 800, 200  # of a piece and of a record in it, to guess how many an earlier process wrote
REST = 10  # a snapshot for this reason comes after ten times as long as the last one took


class JournalLength:
    """Counts what was written since the newest snapshot of each tenant."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._guessed: set[str] = set()  # tenants of which the pieces of earlier processes are counted
        self._records: dict[str, tuple[str, int]] = {}  # by tenant: when this snapshot was the newest
        self._rest_until: dict[str, float] = {}

    def is_due(self, context: SnapshotContext) -> bool:
        """Whether the journal is too long."""
        settings, newest = context.settings, context.repo.newest()
        if not (settings.journal and settings.journal_share and settings.vault) or is_colony(settings.vault):
            return False
        if newest is None or newest.manifest is None or self._engine.store.change_log() is None:
            return False
        base = placed(newest.manifest)
        self._guess(context, base)
        records = self._engine.journal.records_after(context.tenant, base.line, base.number)
        if records < LEAST_RECORDS or self._engine.clock.steady() < self._rest_until.get(context.tenant, 0):
            return False
        return records * 100 >= settings.journal_share * self._size(context.tenant, newest.id, records)

    def made(self, context: SnapshotContext, began: float) -> None:
        """A snapshot was made for this reason."""
        now = self._engine.clock.steady()
        self._rest_until[context.tenant] = now + REST * (now - began)

    def _guess(self, context: SnapshotContext, base: PlacedSnapshot) -> None:
        """Count what lies in the vault already, once."""
        if context.tenant in self._guessed:
            return
        once = dataclasses.replace(context.settings, vault_attempts=1)
        try:
            vault = dataclasses.replace(context, settings=once).vault(once.vault)
            found = list_journal(vault, context.tenant, context.agent)
        except Fault:  # the next look asks again
            return
        self._guessed.add(context.tenant)
        counted = self._engine.journal.counted_from(context.tenant)
        sizes = [
            max(0, one.size - HEAD_BYTES)
            for objects in found.values()
            for one in objects
            if (one.line, one.first) > (base.line, base.number) and (counted is None or (one.line, one.first) < counted)
        ]
        self._engine.journal.wrote(context.tenant, base.line, base.number + 1, sum(sizes) // RECORD_BYTES)

    def _size(self, tenant: str, newest: str, since: int) -> int:
        """How many records the newest snapshot has, about."""
        known = self._records.get(tenant)
        if known is None or known[0] != newest:  # counting reads every row
            known = self._records[tenant] = (newest, max(0, self._engine.store.usage(tenant).records - since))
        return known[1]
