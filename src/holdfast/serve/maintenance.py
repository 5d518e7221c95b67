"""Background work of a running server: index follow-up, retention, decay, old answers, consolidation.

Each run is short and bounded; what is left waits for the next. A run that fails is logged and tried again:
nothing a user asked for depends on it.
"""

from __future__ import annotations

import dataclasses
import logging
import threading

from holdfast.desk import Desk
from holdfast.engine import Engine
from holdfast.errors import Fault
from holdfast.intake.forget import plan_sweep, sweep
from holdfast.keys import session_name
from holdfast.learn.flow import consolidate, summarize, unsummarized
from holdfast.learn.lessons import decay_lessons
from holdfast.model import Caller
from holdfast.serve.idempotency import drop_old_answers

INDEX_BATCH = 2_000
INDEX_SECONDS = 1.0
CONSOLIDATE_FROM = 3
SUMMARIZED_PER_RUN = 20

log = logging.getLogger("holdfast")


class Maintenance:
    """A thread that runs the background work until it is stopped."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="maintenance", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end and wait until it has."""
        self._stop.set()
        self._thread.join()

    def _loop(self) -> None:
        clock, due = self._engine.clock, 0.0
        while not self._stop.wait(INDEX_SECONDS):
            try:
                self.follow_index()
                if clock.steady() >= due:
                    due = clock.steady() + self._engine.settings.maintenance_seconds
                    self.sweep_all()
            except Fault as fault:
                log.warning("maintenance: %s (%s)", fault.message, fault.code)
            except Exception as error:  # noqa: BLE001 - a bug in one run must not end all later ones
                log.error("maintenance: unexpected %s", type(error).__name__)

    def follow_index(self) -> None:
        """Without an embedder nothing follows the outbox: entries are done as soon as the words are in."""
        store = self._engine.store
        while not self._stop.is_set() and store.read().pending():
            store.take_index_work(INDEX_BATCH)
        store.fold_words(stop=self._stop.is_set)

    def sweep_all(self) -> None:
        """Retention, decay and old answers of every tenant."""
        for tenant in self._engine.store.read().tenants():
            if self._stop.is_set():
                return
            desk = dataclasses.replace(self._engine.desk(Caller(tenant=tenant, name="maintenance")), whole=True)
            sweep(desk, plan_sweep(desk))
            decay_lessons(desk)
            drop_old_answers(desk)
            self._learn(desk)

    def _learn(self, desk: Desk) -> None:
        settings = self._engine.settings
        if settings.isolated:  # isolated agents must not be drawn together
            return
        if settings.auto_compress:
            for session in unsummarized(desk, None, SUMMARIZED_PER_RUN):
                if not self._stop.is_set():
                    summarize(desk, session_name(session.id))
        if settings.consolidation:
            consolidate(desk, None, CONSOLIDATE_FROM)
