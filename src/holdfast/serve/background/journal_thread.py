"""The threads that write the journal: one cuts pieces, one sends them, one keeps what lies in the vault small.

No request waits for any of them. What cannot be sent waits on the disk, within bounds.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from holdfast.core.background import BackgroundThread, JournalLag
from holdfast.core.errors import Fault, VaultRefused
from holdfast.core.model import DEFAULT_TENANT, Caller
from holdfast.core.ports import Vault
from holdfast.engine import Engine
from holdfast.snapshot.create import CreateOptions, create
from holdfast.snapshot.journal.journal_compaction import TOGETHER, JournalCompaction
from holdfast.snapshot.journal.journal_queue import read_note
from holdfast.snapshot.journal.journal_writer import JournalWriter
from holdfast.snapshot.journal.other_lines import LineWatch
from holdfast.snapshot.remote.colony import is_colony
from holdfast.snapshot.remote.transfer import is_missing
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.store.journal.journal_port import ChangeLog
from holdfast.store.port import Store

LOOK_SECONDS = 0.05  # between two looks whether anything was written
# Between two pieces. A write just after one waits so long, and until the next is sent: in all less than a second.
PIECE_SECONDS = 0.8
TEND_SECONDS = 600.0
WATCH_SECONDS = 20.0  # between two looks for other hosts
PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0)  # after one, two … failures in a row
END_SECONDS = 5.0  # for the last piece, when the server stops

log = logging.getLogger("holdfast")


def reported(work: Callable[[], None], what: str) -> Fault | None:
    """Run a step; the fault that it ended with. A bug in one must not end all later ones."""
    try:
        work()
    except Fault as fault:
        return fault
    except Exception as error:  # noqa: BLE001 - as above
        log.error("journal: %s failed with an unexpected %s", what, type(error).__name__)
        return Fault(f"journal: unexpected {type(error).__name__}")
    return None


class JournalThreads:
    """The journals of all tenants of one server; nothing where none is to be written."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self.writers: dict[str, JournalWriter] = {}
        self.sender = _Sender(self)
        self._cutter = _Cutter(self)
        self._tender = _Tender(self)

    def start(self) -> None:
        for one in (self._cutter, self.sender, self._tender):
            one.start()

    def stop(self) -> None:
        """Cut and send what was written last, for some seconds at most."""
        self._cutter.stop()
        self._tender.stop()
        self.sender.stop()
        self._engine.journal.clear()

    @property
    def engine(self) -> Engine:
        return self._engine

    def log(self) -> ChangeLog | None:
        """What the live store records for its journal, if it is to have one."""
        engine = self._engine
        if engine.fault is not None or engine.store.failure() is not None:
            return None
        return engine.store.change_log()

    def is_wanted(self) -> bool:
        settings = self._engine.settings
        return settings.journal and bool(settings.vault) and not is_colony(settings.vault)

    def context(self, tenant: str) -> SnapshotContext:
        """With one attempt for each request: this thread tries again by itself."""
        ctx = self._engine.context(Caller(tenant=tenant, name="journal"))
        return snapshot_context(replace(ctx, settings=replace(ctx.settings, vault_attempts=1)))

    def writer(self, tenant: str) -> JournalWriter:
        found = self.writers.get(tenant)
        if found is None:
            found = self.writers[tenant] = JournalWriter(self.context(tenant))
        return found

    def vault(self) -> Vault:
        return self.context(DEFAULT_TENANT).vault(self._engine.settings.vault)

    def report(self, tenant: str, fault: Fault | None) -> None:
        """Let those who ask know how far the vault is behind."""
        queue = self.writer(tenant).queue
        waiting = queue.all()
        since = waiting[0].header.since if waiting else None
        if since is None and fault is not None:
            since = self.writer(tenant).complete
        self._engine.journal.report(
            tenant, JournalLag(since, len(waiting), queue.size, fault.message if fault is not None else None)
        )


class _Cutter(BackgroundThread):
    """Makes a piece of what was written, for every tenant."""

    def __init__(self, journal: JournalThreads):
        super().__init__("journal")
        self._journal = journal
        self._store: Store | None = None
        self._seen = -1  # the last write that is in pieces
        self._quiet_until = 0  # nothing was written between it and this moment
        self._cut_at = 0.0
        self._off: bool | None = None  # until the next start

    def _loop(self) -> None:
        while not self._off and not self._stop.wait(LOOK_SECONDS):
            self._look()
        reported(self._cut, "cutting")
        self._journal.sender.wake()

    def _look(self) -> None:
        engine = self._journal.engine
        if engine.fault is not None:
            return
        store, now, moment = engine.store, engine.clock.steady(), engine.clock.now_ms()
        if store is self._store and store.last_seq() == self._seen:
            self._quiet_until = moment
            return
        if now - self._cut_at < PIECE_SECONDS:
            return
        self._cut_at = now
        fault = reported(self._cut, "cutting")
        if fault is not None:
            log.warning("journal: %s", fault.message.removeprefix("journal: "))
            self._cut_at = now + PAUSES[1]
            for tenant in self._journal.writers:
                self._journal.report(tenant, fault)
        self._journal.sender.wake()

    def _cut(self) -> None:
        changes = self._journal.log()
        if changes is None:
            return
        store = self._journal.engine.store
        if self._off is None:  # where every object is a commit, or nothing may be written, there is no journal
            self._off = not (self._journal.is_wanted() and self._journal.vault().can.increments)
        if self._off:
            if changes.is_on():
                changes.end()
            return
        new, seen = store is not self._store, store.last_seq()
        for tenant in sorted({DEFAULT_TENANT, *store.read().tenants()}) if new else changes.waiting():
            while self._journal.writer(tenant).cut(changes, self._quiet_until, self._journal.engine.journal.wrote):
                self._journal.sender.wake()
                if self._journal.writer(tenant).complete_now:
                    break
        self._store, self._seen = store, seen


class _Sender(BackgroundThread):
    """Puts pieces into the vault."""

    def __init__(self, journal: JournalThreads):
        super().__init__("journal-send")
        self._journal = journal
        self._awake = threading.Event()
        self._failures = 0
        self._vault: Vault | None = None
        self.sent = 0  # objects since the vault was tended

    def wake(self) -> None:
        self._awake.set()

    def stop(self) -> None:
        self._stop.set()
        self._awake.set()
        if self._thread.is_alive():
            self._thread.join(END_SECONDS)  # what is not sent by then waits on the disk

    def _loop(self) -> None:
        while not self._stop.is_set():
            if self._failures:
                self._stop.wait(PAUSES[min(self._failures, len(PAUSES)) - 1])
            else:
                self._awake.wait()
            self._awake.clear()
            self._send_all()

    def _send_all(self) -> None:
        failed = False
        for tenant, writer in list(self._journal.writers.items()):
            changes = self._journal.log()
            if changes is None:
                return
            fault = reported(lambda writer=writer, changes=changes: self._send(writer, changes), "sending")  # type: ignore[misc]
            if fault is not None:
                failed, self._vault = True, None
                if not self._failures:
                    log.warning("journal: it waits, as %s", fault.message)
            self._journal.report(tenant, fault)
        self._failures = self._failures + 1 if failed else 0

    def _send(self, writer: JournalWriter, changes: ChangeLog) -> None:
        if not writer.queue.all():
            return
        if self._vault is None:
            self._vault = self._journal.vault()
        if is_missing(self._vault):
            raise Fault(f"vault: {self._vault.place} does not exist")
        while writer.send(self._vault, changes):
            self.sent += 1


class _Tender(BackgroundThread):
    """Puts small objects together, removes what snapshots cover, and makes the snapshot that a large memory's line
    begins with."""

    def __init__(self, journal: JournalThreads):
        super().__init__("journal-tend")
        self._journal = journal
        self._tended = 0.0
        self._based: set[str] = set()  # lines for which a snapshot was made
        self._watched: float | None = None
        self._watches: dict[tuple[str, str], LineWatch] = {}  # by tenant and host
        self._told = False

    def _loop(self) -> None:
        while not self._stop.wait(PIECE_SECONDS):
            engine, sender = self._journal.engine, self._journal.sender
            if self._journal.writers:
                reported(self._base, "making a snapshot")
                self._watch()
            if sender.sent < TOGETHER and engine.clock.steady() - self._tended < TEND_SECONDS:
                continue
            self._tended, sender.sent = engine.clock.steady(), 0
            if fault := reported(self._tend, "compacting"):
                log.warning("journal: what lies in the vault stays as it is: %s", fault.message)

    def _watch(self) -> None:
        """Look for other hosts that write the same journal."""
        steady = self._journal.engine.clock.steady()
        if self._watched is not None and steady - self._watched < WATCH_SECONDS:
            return
        self._watched = steady
        fault = reported(self._look_for_others, "looking for other lines")
        self._journal.engine.journal.vault_fault = fault if isinstance(fault, VaultRefused) else None
        if fault:
            log.warning("journal: whether other hosts write it is not known: %s", fault.message)

    def _look_for_others(self) -> None:
        changes, journal = self._journal.log(), self._journal
        if changes is None:
            return
        for tenant, writer in list(journal.writers.items()):
            place = changes.place(tenant)
            if place is None or self._stop.is_set():
                continue
            context = journal.context(tenant)
            watch = self._watches.setdefault((tenant, writer.host), LineWatch(context, writer.folder, writer.host))
            found = watch.look(journal.vault(), place.line, read_note(writer.folder).after)
            notices = tuple(one.notice(context.settings.vault) for one in found)
            for notice in set(notices) - set(journal.engine.journal.others(tenant)):
                log.error("journal: %s", notice)
            journal.engine.journal.report_others(tenant, notices)

    def _tend(self) -> None:
        changes = self._journal.log()
        if changes is None:
            return
        now = self._journal.engine.clock.now_ms()
        for tenant, writer in list(self._journal.writers.items()):
            place = changes.place(tenant)
            if place is None or self._stop.is_set():
                continue
            context = self._journal.context(tenant)
            keep = JournalCompaction(self._journal.vault(), context.repo, tenant, context.agent, writer.host)
            keep.put_together(place.line)
            keep.expire(place.line, now - context.settings.journal_keep * 1000, now)
            if keep.all_stays and keep.vault.can.delete and not self._told:
                self._told = True
                log.warning(
                    "journal: this credential may not delete, so all pieces stay in the vault; "
                    "HOLDFAST_VAULT_APPEND_ONLY=true says that this is meant"
                )

    def _base(self) -> None:
        changes = self._journal.log()
        if changes is None:
            return
        for tenant in list(self._journal.writers):
            place = changes.place(tenant)
            if place is not None and not place.seeded and place.line not in self._based:
                self._based.add(place.line)
                create(self._journal.context(tenant), CreateOptions(label="scheduled", made_by="schedule"))
