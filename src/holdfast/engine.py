"""Composition root: opens the data folder and gives each caller a context. No logic."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.context import CallContext
from holdfast.core.background import (
    FollowProgress,
    FollowState,
    GuardProgress,
    JournalProgress,
    LearningProgress,
    QuestionLog,
    RecallCounter,
)
from holdfast.core.errors import CANNOT_OPEN, DataDamaged, Fault, Following, RestorePending, StorageFull
from holdfast.core.metrics import Metrics
from holdfast.core.model import DEFAULT_TENANT, Caller, Event
from holdfast.core.ports import Clock, Embedder, Entropy, Publisher
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.embedder import embedder_from, reranker_from
from holdfast.remote import summarizer_from
from holdfast.settings import Settings
from holdfast.snapshot.bundle.encryption import check_recipients
from holdfast.snapshot.drill.scratch import sweep_scratch
from holdfast.snapshot.follow.follow_note import FollowNote, read_follow, write_follow
from holdfast.snapshot.follow.follow_start import fill_copy, first_copy
from holdfast.snapshot.recovery.auto_restore import FirstRestore, first_restore, note_reported, note_restore
from holdfast.snapshot.recovery.bootstrap import begin_from_vault, fill_from_vault, is_blank
from holdfast.snapshot.recovery.pending_restore import end_waiting, is_waiting
from holdfast.snapshot.recovery.vault_mismatch import vault_mismatch
from holdfast.snapshot.remote.forks import fork_notices_of
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.restore import RestoreResult
from holdfast.snapshot.sources.restore_plan import settle_folders, sweep_staged
from holdfast.store.damage import REMEDY
from holdfast.store.data_folder import DataFolder, FolderLock
from holdfast.store.engine_port import Build, CapturedFile
from holdfast.store.engines import EMBEDDED, live_memory
from holdfast.store.fleet.fleet_port import Fleet, News
from holdfast.store.port import Store
from holdfast.store.unavailable import FollowerStore

log = logging.getLogger("holdfast")

LARGE_IMPORT = 10_000  # records written by one process
BEHIND_SECONDS = 60.0  # after which readers of a copy are told why it has nothing new
AGAIN_SECONDS = 5.0  # between two tries of a vault that could not be restored from


def _following(settings: Settings) -> FollowNote | None:
    """What the folder follows, or followed until it took over."""
    return read_follow(settings.folder) if settings.store == EMBEDDED else None


def _progress(note: FollowNote | None) -> FollowProgress | None:
    return FollowProgress(FollowState(note.vault, note.host)) if note is not None and not note.ended else None


def _plain(message: str) -> str:
    return message.removeprefix("follow: ").removeprefix("journal: ").removeprefix("vault: ")


class Engine:
    """The memory of one data folder, held by this process alone until it is closed."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        embedder: Embedder | None = None,
        *,
        rescue: bool = False,
    ):
        """Open the folder. With `rescue` a memory that cannot be opened is still held: its snapshots can be listed,
        verified and restored, and every other call gets the fault that opening it gave.

        Raises:
            DataLocked: another process has it open.
            DataDamaged, DataTooNew, RestorePending: it cannot be opened, and `rescue` is off.
            InvalidSettings: a model or a recipient of snapshots is none.
        """
        check_recipients(settings.snapshot_recipients)
        self.given = settings  # as they were given; a copy reads from the vault that it follows
        self._following = _following(settings)
        self.settings = self._following.applied(settings) if self._following else settings
        self.follow = _progress(self._following)
        self.clock = clock or SystemClock()
        self.entropy = entropy or SystemEntropy()
        self.summarizer = summarizer_from(settings, self.clock, self.entropy)
        self.embedder = embedder or embedder_from(settings, self.clock, self.entropy)
        self.reranker = reranker_from(settings, self.clock)
        self._started = (self.clock.now_ms(), self.clock.steady())
        self.recalls = RecallCounter()
        self.questions = QuestionLog()
        self.learning = LearningProgress()
        self.guard = GuardProgress()
        self.journal = JournalProgress()
        self.metrics = Metrics()
        self.publishers: list[Publisher] = []
        self.folder = DataFolder(settings.folder)
        self.folder.make()
        telling = self.clock if settings.nats_url else None
        self._live = live_memory(settings.store, self.folder, self.publish, telling)
        self._opened_at = 0
        self._tried_at = self.clock.steady()
        self._waited = False
        self._news: News | None = None  # what hears of other servers, if this is one
        self._trying = threading.Lock()
        self._restored = first_restore(self.folder.home)
        self._copy: FollowerStore | None = None  # the live store, as callers of a copy see it
        self._apart: RestorePending | None = None  # the vault holds another memory than this one
        self._lock = FolderLock(self.folder.home)
        self._lock.__enter__()
        try:
            self._live.recover()
            self._clear_leftovers()
            self._open(rescue)
        except BaseException:
            self._live.close_anyway()
            self._lock.__exit__()
            raise

    def _open(self, rescue: bool) -> None:
        try:
            self._begin()
        except StorageFull as fault:
            fault.hint = "Free disk space: the memory needs some to open. Nothing that was saved is lost."
            raise
        except CANNOT_OPEN as fault:
            if isinstance(fault, DataDamaged) and fault.hint == DataDamaged.hint:
                fault.hint = REMEDY
            if not rescue:
                raise
            self._live.refuse(fault)
        self._waited = is_waiting(self.folder.home)

    def _clear_leftovers(self) -> None:
        """Finish or remove what dead processes began. Only once, before requests are served: later it might be a
        restore of this process that is still being built."""
        self.folder.sweep()
        with suppress(Fault):  # the memory is there without them; doctor reports it, and snapshot mend repairs it
            settle_folders(self.folder)
            sweep_staged(self._context())
        sweep_scratch(self.folder.home)

    def _snapshots(self) -> SnapshotContext:
        return snapshot_context(self.context(Caller(name="first start")))

    def _context(self) -> SnapshotContext:
        return SnapshotContext(self.folder.home, self.settings, self.clock, self.entropy, DEFAULT_TENANT)

    def _begin(self) -> None:
        """Open the store; an empty folder is filled from the vault, if there is one, before anything reads it."""
        begun = None
        if not self._live.has_any():
            if self.follow is not None and self._following is not None:
                begun = first_copy(self._context(), self._following, self.folder)
            elif self.settings.vault:
                begun = begin_from_vault(self._context(), self.folder)
        self._live.open()
        if self.settings.vault and begun is None:
            begun = self._fill()
        self._live.accept()
        end_waiting(self.folder.home)
        if begun is not None:
            self._say_begun(begun)
        with suppress(Fault):  # a vault that cannot be reached stops no memory that is there
            self._apart = vault_mismatch(self._snapshots())
        self._opened_at = self._live.store.last_seq()

    def _fill(self) -> RestoreResult | None:
        """Restore the vault's memory if this one is empty; what came."""
        if self.follow is not None and self._following is not None:
            return fill_copy(self._snapshots(), self._following, self._live.opened())
        context = self._snapshots()
        with suppress(DataDamaged):  # the next reader gets it
            if is_blank(context, self._live.opened().read()):
                return fill_from_vault(context)
        return None

    def _say_begun(self, made: RestoreResult) -> None:
        """Log it, with what the vault holds beside it: there is no caller to report it to."""
        ctx, snapshot = self.context(Caller(name="first start")), made.manifest.identity
        if self.follow is not None:
            log.warning("follow: the memory was copied from %s", self.settings.vault)
            return
        past: dict[str, Any] = {"other": made.past} if made.past else {}
        ctx.store.write(lambda tx: ctx.audit(tx, "snapshot_restore", (snapshot.id,), None, **past))
        upto = made.journal.upto if made.journal else 0
        with suppress(Fault):  # a disk that is full now: the memory is there, and the log has it
            self._restored = note_restore(self.folder.home, snapshot, self.clock.now_ms(), upto)
        log.warning("%s", FirstRestore(snapshot.id, snapshot.created_at, 0, upto=upto).message)
        for note in made.journal.notes if made.journal else ():
            log.warning("%s", note)
        with suppress(Fault):  # the memory is there, whatever the vault answers now
            for warning in fork_notices_of(snapshot_context(ctx), self.settings.vault):
                log.warning("%s", warning)

    def trouble(self, tenant: str) -> Fault | None:
        """See `engine_port.OpenMemory.trouble`."""
        if (failure := self.own_store.failure(tenant)) is not None:
            return failure
        if self.follow is not None:
            return self._behind(self.follow.state)
        if self._apart is not None:
            with suppress(Fault):  # it is checked again the next time
                self._apart = vault_mismatch(self._snapshots())
        return self._apart

    def _behind(self, state: FollowState) -> Fault | None:
        """What readers of a copy have to know."""
        seconds = state.behind(self.clock.steady())
        if not state.fault or (seconds is not None and seconds < BEHIND_SECONDS):
            return None
        how = "since it was opened" if seconds is None else f"for {round(seconds)} s"
        return Following(f"follow: this copy has had nothing new {how}: {_plain(state.fault)}", hint=state.hint)

    def news(self) -> str | None:
        """See `engine_port.OpenMemory.news`."""
        found, now = self._restored, self.clock.now_ms()
        if found is None or not found.is_news(now):
            return None
        if found.told_at is None:
            with suppress(Fault):  # then it is reported again
                self._restored = note_reported(self.folder.home, found, now)
        return found.message

    def look_at_vault(self) -> None:
        """Notice a memory in the vault that was never restored here: its disk may be mounted by now. Faults as of
        `vault_mismatch`."""
        if self.fault is None and self._apart is None:
            self._apart = vault_mismatch(self._snapshots())
            if self._apart is not None:
                log.error("%s. %s", self._apart.message, self._apart.hint)

    @property
    def fault(self) -> Fault | None:
        """Why the memory cannot be used; None while it can."""
        return self._live.fault

    def try_again(self) -> None:
        """Open what could not be opened before: a vault may be there by now, or files that were put back."""
        waits = isinstance(self.fault, RestorePending) and not self._is_given_up()
        pause = AGAIN_SECONDS if waits else 0.0
        if self.fault is None or self.clock.steady() - self._tried_at < pause:
            return
        if self._trying.acquire(blocking=False):  # others are answered with the fault meanwhile
            try:
                self._open(rescue=True)
                if self.fault is None:
                    log.warning("the memory could be opened now")
                    if self._news is not None:
                        self.fleet.start(self._news)
            finally:
                self._tried_at = self.clock.steady()
                self._trying.release()

    def _is_given_up(self) -> bool:
        """Whether the user has declared since the last try that there is nothing to wait for."""
        return self._waited and not is_waiting(self.folder.home)

    @property
    def store(self) -> Store:
        """The live store. A caller that began with one keeps to it."""
        own = self._live.store
        if self.follow is None or self.fault is not None:
            return own
        copy = self._copy
        if copy is None or copy.inner is not own:
            copy = self._copy = FollowerStore(own, self._refusal)
        return copy

    @property
    def own_store(self) -> Store:
        """See `engine_port.OpenMemory.own_store`."""
        return self._live.store

    @property
    def following(self) -> FollowNote | None:
        """What this folder follows; None if it is a memory of its own."""
        return self._following if self.follow is not None else None

    def _refusal(self) -> Following:
        state = self.follow.state if self.follow is not None else FollowState("")
        host = f" of host {state.host}" if state.host else ""
        return Following(f"write: this is a read-only copy that follows the memory{host} in {state.vault}")

    def end_following(self) -> None:
        """See `engine_port.OpenMemory.end_following`."""
        note = read_follow(self.folder.home)
        if note is None or self.follow is None:
            return
        ended = replace(note, ended=max(1, self.clock.now_ms()))
        write_follow(self.folder.home, ended)
        self.settings = ended.applied(replace(self.given, port=self.settings.port))
        self._following, self.follow = ended, None
        log.warning("follow: this memory took over and takes writes")

    @property
    def fleet(self) -> Fleet:
        """The servers that have this memory open, with what they share."""
        return self._live.fleet

    def join_fleet(self, news: News) -> None:
        """Be one of the memory's servers until the engine is closed; from the moment on at which it can be opened."""
        self._news = news
        self.fleet.start(news)

    def exchange(self, build: Build, tenant: str) -> str:
        """Make the generation live whose name `build` gives; see `lifecycle.Memory.exchange`."""
        name = self._live.exchange(build, tenant)
        self.recalls.take()  # counted for records of the old store
        self.questions.take()  # answered with them
        self._opened_at = self._live.store.last_seq()
        return name

    @property
    def started(self) -> tuple[int, float]:
        """Wall and steady clock when the engine was made."""
        return self._started

    @property
    def path(self) -> Path:
        return self.folder.home

    def is_open(self) -> bool:
        return self._live.is_open()

    def content_tag(self, tenant: str) -> str:
        return self._live.content_tag(tenant)

    def size(self, tenant: str) -> int:
        return self._live.size(tenant)

    def capture(self, into: Path, tenant: str, *, check: bool = True) -> CapturedFile:
        return self._live.capture(into, tenant, check=check)

    def as_file(self, scratch: Path, tenant: str, *, check: bool = True) -> Path:
        return self._live.as_file(scratch, tenant, check=check)

    def undo_target(self, tenant: str) -> str | None:
        return self._live.undo_target(tenant)

    def unreadable(self, generation: str, tenant: str) -> str | None:
        return self._live.unreadable(generation, tenant)

    def context(self, caller: Caller) -> CallContext:
        """A caller's place at this engine."""
        return CallContext(
            self.store,
            self.clock,
            self.entropy,
            self.settings,
            caller,
            self.summarizer,
            self.embedder,
            self.reranker,
            recalls=self.recalls,
            questions=self.questions,
            learning=self.learning,
            guard=self.guard,
            journal=self.journal,
            follow=self.follow,
            started=self._started,
            metrics=self.metrics,
            live=self,
        )

    def close(self) -> None:
        """Close the store, then let others open the folder.

        What a large import wrote without a server is compacted first: the next to open it would read it row by row.
        """
        if self.fault is not None:
            self._live.close_anyway()
        elif self._live.is_open():
            if self.own_store.last_seq() - self._opened_at >= LARGE_IMPORT:
                with suppress(Fault):  # a full or failing disk must not keep the folder locked
                    self.store.compact_words()
            self._live.close()
        self._lock.__exit__()

    def publish(self, event: Event) -> None:
        """Hand a committed event, of this server or another, to what runs here."""
        for publisher in self.publishers:
            publisher.publish(event)
