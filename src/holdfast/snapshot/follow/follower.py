"""One memory follows another host's journal: next object ─check→ pieces ─apply→ rows and place, in one commit.

The place stands in the store, so what a killed process had applied is neither applied again nor left out. Where the
journal does not lead on (another line took this one's place, or pieces were removed that a snapshot covers), the memory
is fetched anew beside the live one, which answers meanwhile.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from holdfast.core.background import FollowProgress
from holdfast.core.errors import Conflict, Fault, InvalidRequest, NotFound, SnapshotDamaged, VaultRefused
from holdfast.core.ports import Vault
from holdfast.snapshot.follow.follow_note import FollowNote, write_follow
from holdfast.snapshot.follow.follow_start import copy_of
from holdfast.snapshot.journal.journal_layout import JournalObject, list_journal
from holdfast.snapshot.journal.journal_lines import header_in
from holdfast.snapshot.journal.journal_moment import has_journal
from holdfast.snapshot.journal.journal_reader import Base, Trust
from holdfast.snapshot.journal.journal_rows import apply_rows, columns_of
from holdfast.snapshot.journal.journal_tail import find_next, read_next
from holdfast.snapshot.journal.other_lines import last_of
from holdfast.snapshot.journal.piece import Piece, changes_of
from holdfast.snapshot.remote.transfer import list_vault, must_be_there
from holdfast.snapshot.repo.context import SnapshotContext, no_listener
from holdfast.snapshot.resolve import identities_of
from holdfast.snapshot.restore import restore
from holdfast.snapshot.switch import live_of
from holdfast.store.journal.journal_port import ChangeLog, JournalPlace
from holdfast.store.port import Tx
from holdfast.vault.restriction import ReadOnly

# Bytes of pieces that belong to one moment and are applied at once. Of a larger write readers see a part for a while.
MOST_HELD = 32_000_000
LIST_SECONDS = 10.0  # between two lists of the journal, for lines that were begun and objects that were put together
RENEW_SECONDS = 30.0  # between two tries to fetch the memory anew

log = logging.getLogger("holdfast")


class Follower:
    """One tenant's copy. One thread at a time calls it; see `FollowProgress.turn`."""

    def __init__(self, context: SnapshotContext, note: FollowNote, progress: FollowProgress):
        """The context has to have a live memory."""
        settings = replace(context.settings, snapshot_before=(), vault_attempts=1)
        self._context = replace(context, settings=settings, publish=no_listener)
        self._note = note
        self._progress = progress
        self._vault: Vault | None = None
        self._listed: float | None = None
        self._renewed: float | None = None
        self._after: dict[str, str] = {}  # of each other line, which one it follows
        self._objects: list[JournalObject] = []  # of the line, at the last list
        self._last: dict[str, int] = {}  # of each line in the vault, the last piece
        self._held: list[Piece] = []  # that belong to the next moment, and were not applied yet
        self._trouble: Fault | None = None

    def look(self) -> bool:
        """Apply what came; whether anything did. Afterwards this memory has all that the vault had.

        Raises:
            Fault: it does not go on from here; the copy is as it was.
        """
        applied, vault = False, self._open()
        must_be_there(vault)
        self._trouble = None
        while self._step(vault):
            applied = True
        if self._trouble is not None:
            raise self._trouble
        if not self._held:
            clock = self._context.clock
            self._progress.report(reached=clock.steady(), reached_ms=clock.now_ms(), fault="", hint="")
        return applied

    def list_next(self) -> None:
        """Look at all that the vault has, the next time."""
        self._listed = None

    def _open(self) -> Vault:
        if self._vault is None:
            self._vault = ReadOnly(self._context.vault(self._note.vault))
        return self._vault

    @property
    def _changes(self) -> ChangeLog:
        found = live_of(self._context).own_store.change_log()
        if found is None:
            raise InvalidRequest("follow: this store keeps no journal")
        return found

    @property
    def _trust(self) -> Trust:
        context = self._context
        return Trust(context.tenant, context.agent, context.keyring)

    def _step(self, vault: Vault) -> bool:
        """Take one object, or fetch the memory anew; False if nothing is to be done."""
        place = self._changes.followed(self._context.tenant)
        if place is None:
            self._begin(vault)
            return True
        if place.line != self._progress.state.line:
            self._learn(vault, place)
        last = self._held[-1] if self._held else None
        base = Base(last.header.number, last.hash) if last else Base(place.number, place.hash)
        try:
            found = read_next(vault, self._trust, place.line, base) or self._find(vault, place, base)
            self._held += found
            return bool(found) and self._apply(place)
        except (SnapshotDamaged, Conflict) as fault:
            self._held = []
            self._renew(fault)
            return True

    def _begin(self, vault: Vault) -> None:
        """A copy of a snapshot that stands in no journal waits for one."""
        if not has_journal(vault, self._context.tenant, self._context.agent):
            raise NotFound(
                f"follow: {vault.place} has no journal of this memory",
                hint="Let the server of the other host run, with this vault and HOLDFAST_JOURNAL on.",
            )
        self._renew(NotFound("follow: it is not known how far this copy is"))

    def _learn(self, vault: Vault, place: JournalPlace) -> None:
        """Note whose journal it is."""
        objects = list_journal(vault, self._context.tenant, self._context.agent, place.line).get(place.line, [])
        header = header_in(vault, objects[-1:])
        self._progress.report(line=place.line, number=place.number, last_at=header.at if header else None)
        if header is not None and header.host != self._note.host:
            self._note = replace(self._note, host=header.host)
            write_follow(self._context.home, self._note)
            self._progress.report(host=header.host)

    def _find(self, vault: Vault, place: JournalPlace, base: Base) -> list[Piece]:
        """What comes next under another name, now and then; another line may have taken this one's place."""
        seen = [one for one in self._objects if one.line == place.line]
        if last_of(seen) > base.number and (found := find_next(vault, self._trust, place.line, base, seen)):
            return found  # of what was listed before: while a copy catches up, each of them comes next
        steady = self._context.clock.steady()
        if self._listed is not None and steady - self._listed < LIST_SECONDS:
            return []
        self._listed = steady
        lines = list_journal(vault, self._context.tenant, self._context.agent)
        self._last = {id: last_of(objects) for id, objects in lines.items()}
        self._objects = lines.get(place.line, [])
        if found := find_next(vault, self._trust, place.line, base, self._objects):
            return found
        if not lines and not list_vault(vault, self._context.tenant, self._context.agent):
            raise VaultRefused(
                f"follow: {vault.place} has nothing of this memory any more",
                hint="Mount its disk. This copy keeps what it has.",
            )
        if self._is_replaced(vault, lines, place):
            self._go_over()
        return []

    def _is_replaced(self, vault: Vault, lines: dict[str, list[JournalObject]], place: JournalPlace) -> bool:
        """Whether another line took the place of this one, or the same host began one of which nothing is known."""
        for id in lines.keys() - self._after.keys() - {place.line}:
            header = header_in(vault, lines[id])
            if header is None:
                continue
            own = header.host == self._note.host and id > place.line and header.after not in lines
            self._after[id] = place.line if own else header.after
        return any(self._leads_here(id, place.line) for id in lines)

    def past(self, line: str) -> dict[str, int]:
        """The other lines that were there at the last list and do not come after that one, and up to where."""
        return {id: number for id, number in self._last.items() if id in self._after and not self._leads_here(id, line)}

    def _leads_here(self, id: str, line: str) -> bool:
        seen = {id}
        while (id := self._after.get(id, "")) and id not in seen:
            if id == line:
                return True
            seen.add(id)
        return False

    def _go_over(self) -> None:
        """The line that took over is fetched; until it can be, this one is followed as before."""
        try:
            self._renew(SnapshotDamaged("follow: another line took the place of the one that is followed"))
            self._held = []
            self._listed = None
        except Fault as fault:
            self._trouble = fault

    def _apply(self, place: JournalPlace) -> bool:
        """Write what makes a moment whole, with the place; whether anything does."""
        tenant, held = self._context.tenant, self._held
        whole = max((at for at, one in enumerate(held, 1) if one.header.whole), default=0)
        if sum(len(one.data) for one in held) > MOST_HELD:
            whole = len(held)
        if not whole:
            return True  # what belongs to it may be there already
        pieces, last = held[:whole], held[whole - 1]
        identities = identities_of(self._context, copy_of(self._note))

        def apply(tx: Tx) -> None:
            for one in pieces:
                apply_rows(tx, tenant, changes_of(one, columns_of, identities))

        header = last.header
        reached = replace(place, number=header.number, hash=last.hash, place=header.place)
        self._changes.follow(tenant, reached, header.seq, apply)
        self._held = held[whole:]
        steady = self._context.clock.steady()
        self._progress.report(number=header.number, last_at=header.at, arrived=steady)
        return True

    def _renew(self, why: Fault) -> None:
        """Fetch the memory anew, beside the live one.

        Raises:
            Fault: why that is needed, if it cannot be done now.
        """
        steady = self._context.clock.steady()
        if self._renewed is not None and steady - self._renewed < RENEW_SECONDS:
            raise why
        self._renewed = steady
        log.warning("%s; the memory is fetched anew", why.message)
        try:
            made = restore(self._context, copy_of(self._note))
        except Fault as fault:
            log.warning("follow: it cannot be fetched: %s", fault.message)
            raise fault if isinstance(why, NotFound) else why from fault
        for note in made.journal.notes if made.journal else ():
            log.warning("follow: %s", note)
        self._held = []
        self._progress.report(line="", arrived=self._context.clock.steady())
