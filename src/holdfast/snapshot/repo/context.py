"""The snapshots of one memory: their owner, their folder, and the memory itself while it is open."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.context import CallContext
from holdfast.core.errors import Conflict, Fault
from holdfast.core.metrics import Metrics
from holdfast.core.model import Json, Lifecycle
from holdfast.core.ports import Clock, Entropy, Vault
from holdfast.settings import Settings
from holdfast.snapshot.keys.keyring import Keyring
from holdfast.snapshot.repo.jobs import Job, going_on, note_work
from holdfast.snapshot.repo.lock import SnapshotLock
from holdfast.snapshot.repo.paths import SHELVES, repo_folder
from holdfast.snapshot.repo.repository import SnapshotRepository
from holdfast.store.engine_port import OpenMemory
from holdfast.vault.vault_url import vault_from

DEFAULT_AGENT = "default"
_USED = ".vaults"  # beside the repositories: the folders that were put into


def no_listener(kind: Lifecycle, body: Json) -> None:
    """There is no listener."""


@dataclass(slots=True)
class JobResult:
    """The result of a job: the id of a snapshot, or the name of a generation."""

    about: str | None = None
    message: str | None = None  # what is still to be done


@dataclass(frozen=True, slots=True)
class SnapshotContext:
    """One memory's snapshots. Without `live` there is no memory yet; it can only be restored."""

    home: Path
    settings: Settings
    clock: Clock
    entropy: Entropy
    tenant: str
    live: OpenMemory | None = None
    publish: Callable[[Lifecycle, Json], None] = no_listener
    metrics: Metrics = dataclasses.field(default_factory=Metrics)

    @property
    def agent(self) -> str:
        """Whose memory the folder is. Several agents may write to it; a snapshot holds them all."""
        return self.settings.agent or DEFAULT_AGENT

    @property
    def repo(self) -> SnapshotRepository:
        return SnapshotRepository(repo_folder(self.home, self.tenant, self.agent), (self.tenant, self.agent))

    @property
    def keyring(self) -> Keyring:
        return Keyring(self.home / "keys", self.entropy)

    def vault(self, text: str) -> Vault:
        """The vault that is named.

        Raises:
            InvalidSettings: it is none.
        """
        return vault_from(text, self.settings, self.clock, self.entropy, self.home / SHELVES / _USED)

    @contextmanager
    def locked(self, operation: str) -> Iterator[JobResult]:
        """No other thread or process makes, restores or removes snapshots in this block; its end is counted and noted.

        Raises:
            SnapshotsBusy: another one did for too long.
        """
        with (
            self.counted(operation),
            SnapshotLock(self.home, operation, self.settings.snapshot_lock_seconds),
            self._noted(Job(operation, self.tenant, self.agent, self.clock.now_ms())) as result,
        ):
            yield result

    @contextmanager
    def unlocked(self, operation: str) -> Iterator[JobResult]:
        """Work in parallel to all other, such as sending to a vault; how it ended is counted and noted just as well."""
        work = Job(operation, self.tenant, self.agent, self.clock.now_ms(), locked=False)
        with self.counted(operation), going_on(self.home, work), self._noted(work) as result:
            yield result

    @contextmanager
    def _noted(self, work: Job) -> Iterator[JobResult]:
        result = JobResult()
        note_work(self.home, work)
        try:
            yield result
            work = dataclasses.replace(work, about=result.about, message=result.message)
        except Fault as fault:
            work = dataclasses.replace(work, code=fault.code, message=fault.message)
            raise
        except BaseException as error:
            work = dataclasses.replace(work, code="internal", message=f"unexpected {type(error).__name__}")
            raise
        finally:
            note_work(self.home, dataclasses.replace(work, ended=self.clock.now_ms()))

    @contextmanager
    def counted(self, operation: str) -> Iterator[None]:
        """Work in this block appears in the metrics, with its outcome and duration."""
        began, outcome = self.clock.steady(), "ok"
        try:
            yield
        except Fault as fault:
            outcome = fault.code
            raise
        finally:
            self.metrics.observe("holdfast_snapshot_duration_seconds", self.clock.steady() - began, operation=operation)
            self.metrics.count("holdfast_snapshot_total", operation=operation, outcome=outcome)

    def moved(self, operation: str, size: int) -> None:
        """Count the bytes of a snapshot that were written or read."""
        self.metrics.count("holdfast_snapshot_bytes_total", size, operation=operation)


def snapshot_context(ctx: CallContext) -> SnapshotContext:
    """The snapshots of the caller's memory.

    Raises:
        Conflict: it has none, as when a past memory is read.
    """
    live = ctx.live
    if live is None:
        raise Conflict(
            "snapshots: this memory has no data folder", hint="Open the data folder directly, without --url."
        )

    def publish(kind: Lifecycle, body: Json) -> None:
        # A restore may have replaced the store since `ctx` was made.
        dataclasses.replace(ctx, store=live.store).announce(kind, body)

    return SnapshotContext(live.path, ctx.settings, ctx.clock, ctx.entropy, ctx.tenant, live, publish, ctx.metrics)
