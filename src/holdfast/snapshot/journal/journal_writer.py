"""Writing the journal of one memory: changes ─cut→ piece ─queue→ on disk ─send→ vault ─confirm→ store.

A commit records which rows it changed, in its own transaction. They are forgotten once the vault has confirmed the
piece with them, so whatever process dies in between, the next one goes on from there. A piece that was sent twice is
the same bytes; other bytes in its place were written by another process, and then a new line begins here, which holds
all of the memory, so that neither is lost nor mixed with the other.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from holdfast.core.errors import Conflict, NotFound, SnapshotDamaged, SnapshotTooNew
from holdfast.core.ports import Vault
from holdfast.snapshot.bundle.encryption import fingerprint, sealing
from holdfast.snapshot.journal.journal_layout import (
    MOST_OBJECT,
    JournalObject,
    last_number,
    list_journal,
    object_name,
    read_object,
)
from holdfast.snapshot.journal.journal_lines import placed_snapshots
from holdfast.snapshot.journal.journal_queue import (
    JournalQueue,
    LineNote,
    QueuedPiece,
    host_id,
    journal_folder,
    new_host_id,
    read_note,
    write_note,
)
from holdfast.snapshot.journal.journal_rows import columns_of
from holdfast.snapshot.journal.other_lines import known_lines, note_known
from holdfast.snapshot.journal.piece import Piece, PieceHeader, make_piece
from holdfast.snapshot.remote.transfer import is_folder
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.store.journal.journal_port import ChangeLog, Changes, JournalPlace
from holdfast.store.portable import store_schema
from holdfast.store.tables import COUNTED

SEED_ROWS = 100_000  # a larger memory begins its line with a snapshot
MOST_SENT = 8_000_000  # bytes in one object, unless one piece has more

log = logging.getLogger("holdfast")


def _unheard(tenant: str, line: str, number: int, rows: int) -> None:
    """Counts nothing."""


class JournalWriter:
    """The journal of one tenant's memory. One thread cuts, another may send at the same time."""

    def __init__(self, context: SnapshotContext):
        self._context = context
        self._folder = journal_folder(context.home, context.tenant, context.agent)
        self._host = host_id(context.home, context.entropy)
        self._note = read_note(self._folder)
        self.queue = JournalQueue(self._folder)
        self._sent = ""  # the last object that this process put into the vault
        self._complete = context.clock.now_ms()  # up to then all was in pieces
        self.complete_now = False  # whether the last cut left nothing
        self._turn = threading.Lock()  # a line is not begun while another thread cuts or confirms

    @property
    def host(self) -> str:
        return self._host

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def complete(self) -> int:
        """The moment up to which everything was cut."""
        return self._complete

    # Cutting

    def cut(
        self, changes: ChangeLog, quiet_until: int = 0, wrote: Callable[[str, str, int, int], None] = _unheard
    ) -> bool:
        """Make a piece of what was changed since the last one, if anything was; whether it was. Up to the moment
        `quiet_until` nothing was: nobody calls this while that is so. `wrote` hears of each piece and its records.

        Raises:
            DataDamaged: a changed row is not as it was written.
            StorageFull, StorageFailed: the piece could not be queued; it is cut again.
        """
        with self._turn:
            now = self._context.clock.now_ms()
            if self.complete_now:
                self._complete = max(self._complete, quiet_until)
            tip = self._tip(changes)
            if self.queue.size > self._context.settings.journal_backlog:
                changes.bound(self._context.tenant)
                self.complete_now = False
                return False
            found = changes.take(self._context.tenant, tip.place)
            if found is not None:
                self.queue.add(piece := self._piece(tip, now, found))
                records = sum(len(found.put.get(table.name, ())) for table in COUNTED)
                wrote(self._context.tenant, tip.line, piece.header.number, records)
            self.complete_now = found is None or found.whole
            if self.complete_now:
                self._complete = now
            return found is not None

    def _tip(self, changes: ChangeLog) -> JournalPlace:
        """The last piece that was cut; a line is begun if there is none."""
        confirmed = changes.place(self._context.tenant)
        if confirmed is None:
            return self._begin(changes)
        own = [one for one in self.queue.all() if one.header.line == confirmed.line]
        stale = [one for one in own if one.header.number <= confirmed.number]
        waiting = own[len(stale) :]
        if waiting and (waiting[0].header.number, waiting[0].header.previous) != (confirmed.number + 1, confirmed.hash):
            stale, waiting = own, []
        self.queue.remove(stale)
        if not waiting:
            return confirmed
        last = waiting[-1]
        return replace(confirmed, number=last.header.number, hash=last.hash, place=last.header.place)

    def _begin(self, changes: ChangeLog) -> JournalPlace:
        context = self._context
        now = context.clock.now_ms()
        line = f"{now:013d}-{context.entropy.hex(12)}"
        begun = changes.begin(context.tenant, line, SEED_ROWS)
        self._complete = now
        # Only now: were it noted and never begun, the next line would follow one that does not exist.
        self._note = LineNote(line, self._note.line)
        write_note(self._folder, self._note)
        return begun

    def _after(self, line: str) -> str:
        """Which line this one follows."""
        return self._note.after if self._note.line == line else self._note.line

    def _piece(self, tip: JournalPlace, now: int, found: Changes) -> Piece:
        context = self._context
        recipients = context.settings.snapshot_recipients
        keyring = context.keyring
        signs = context.settings.snapshot_sign or keyring.demands()
        header = PieceHeader(
            tenant=context.tenant,
            agent=context.agent,
            host=self._host,
            line=tip.line,
            number=tip.number + 1,
            previous=tip.hash,
            after=self._after(tip.line),
            seeded=tip.seeded,
            place=found.place,
            whole=found.whole,
            seq=found.seq,
            at=now,
            since=min(self._complete, now),
            schema=store_schema(),
            rows=0,
            size=0,
            sha256="",
            recipients=tuple(fingerprint(one) for one in recipients),
            signer=(keyring.own() or keyring.new()) if signs else None,
        )
        seal = sealing(recipients) if recipients else None
        return make_piece(header, found, columns_of, seal, keyring.sign if signs else None)

    # Sending

    def send(self, vault: Vault, changes: ChangeLog) -> bool:
        """Put what waits into the vault, as one object; whether anything did.

        Raises:
            Fault: the vault did not take it; it waits.
        """
        waiting = self._next()
        if not waiting:
            return False
        first = waiting[0].header
        if self._lacks(vault, first):
            self._give_up(changes, first.line, "the vault has lost pieces of this journal")
            return True
        data = b"".join(one.path.read_bytes() for one in waiting)
        name = object_name(first.tenant, first.agent, first.line, first.number)
        try:
            vault.put(name, BytesIO(data))
        except Conflict:
            there = read_object(vault, JournalObject(name, first.line, first.number, None, 0), MOST_OBJECT)
            waiting = _same(waiting, data, there)
            if not waiting:
                self._become_another(first.line, first.number - 1)
                self._give_up(changes, first.line, "another writer continues this journal in the vault")
                return True
        self._confirm(changes, waiting)
        self._sent = name
        return True

    def _lacks(self, vault: Vault, piece: PieceHeader) -> bool:
        """Whether what the piece follows is not in the vault: that was emptied, or its disk was not mounted when that
        was sent, which left it in the folder below."""
        if piece.number == 1 or (self._sent and _still_has(vault, self._sent)):
            return False
        objects = list_journal(vault, piece.tenant, piece.agent, piece.line).get(piece.line, [])
        try:
            if objects and last_number(vault, objects[-1]) >= piece.number - 1:
                return False
        except (SnapshotDamaged, SnapshotTooNew, NotFound):
            return True
        snapshots = placed_snapshots(vault, piece.tenant, piece.agent)  # pieces that one of them holds are removed
        return not any(one.line == piece.line and one.number >= piece.number - 1 for one in snapshots)

    def _next(self) -> list[QueuedPiece]:
        """The first pieces of one line, as many as go into one object."""
        found: list[QueuedPiece] = []
        size = 0
        for one in self.queue.all():
            if found and (one.header.line != found[0].header.line or size + one.size > MOST_SENT):
                break
            found.append(one)
            size += one.size
        return found

    def _confirm(self, changes: ChangeLog, sent: list[QueuedPiece]) -> None:
        with self._turn:
            last, known = sent[-1], changes.place(self._context.tenant)
            if known is not None and known.line == last.header.line and known.number < last.header.number:
                place = replace(known, number=last.header.number, hash=last.hash, place=last.header.place)
                changes.confirm(self._context.tenant, place)
            self.queue.remove(sent)

    def _become_another(self, line: str, number: int) -> None:
        """A copy of this folder writes the same line: from now on the two have different names, and what that one
        writes beyond what they share is another host's."""
        note_known(self._folder, {**(known_lines(self._folder) or {}), line: number})
        self._host = new_host_id(self._context.home, self._context.entropy)

    def _give_up(self, changes: ChangeLog, line: str, why: str) -> None:
        """This line cannot be continued; what follows it holds all of the memory."""
        log.warning("journal: %s; a new line begins here", why)
        with self._turn:
            self.queue.remove([one for one in self.queue.all() if one.header.line == line])
            known = changes.place(self._context.tenant)
            if known is not None and known.line == line:
                self._begin(changes)


def _same(waiting: list[QueuedPiece], data: bytes, there: bytes) -> list[QueuedPiece]:
    """Those of the pieces that the vault has already, if what it has is ours."""
    if not there or not data.startswith(there):
        return []
    found, end = [], 0
    for one in waiting:
        end += one.size
        if end > len(there):
            break
        found.append(one)
    return found


def _still_has(vault: Vault, name: str) -> bool:
    """Whether an object that was put is there. Only a folder is asked each time: it may be another disk by now."""
    if not is_folder(vault):
        return True
    try:
        vault.stat(name)
    except NotFound:
        return False
    return True
