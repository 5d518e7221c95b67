"""What is not as it should be, and what to do about it: the one place that decides, for the page, doctor and checks.

Pure: it is handed what was measured. Texts are for people; the code and values let a page say it in another language.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from holdfast.core.errors import Fault, Following, RestorePending, StorageFailed
from holdfast.core.model import Json
from holdfast.core.times import DAY_MS
from holdfast.local.spool_space import LOW_SPACE
from holdfast.recall.check.check_report import CheckReport
from holdfast.snapshot.drill.drill_status import DrillStatus
from holdfast.snapshot.guard.guard_status import GuardStatus
from holdfast.snapshot.repo.key_warnings import KeyWarning

Level = Literal["error", "warning", "note"]

MANY_PENDING = 10_000
NEAR_QUOTA = 0.9
QUOTA_SETTINGS = {"records": "HOLDFAST_QUOTA_RECORDS", "bytes": "HOLDFAST_QUOTA_BYTES"}
MANY_EVENTS = 1_000
MANY_SPOOLED = 100
# With a schedule one round may fail and the next succeed; without one a week is usual.
ROUNDS, BY_HAND_MS = 3, 7 * DAY_MS
# One that was just made is being sent; the server retries each minute.
SENT_BY_THEN_MS = 600_000
JOURNAL_SENT_BY_THEN_S = 60


@dataclass(frozen=True, slots=True)
class Warned:
    code: str
    level: Level
    message: str
    hint: str
    values: Json = field(default_factory=dict)

    def shape(self) -> Json:
        return {
            "code": self.code,
            "level": self.level,
            "message": self.message,
            "hint": self.hint,
            "values": self.values,
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """What the warnings follow from. None: the caller may not know it, or there is none."""

    trouble: Fault | None = None  # why nothing is written, or what all callers have to know
    kept_damaged: tuple[tuple[str, str], ...] = ()  # damaged generations that are not live: name, and what to do
    free_bytes: int | None = None
    pending: int = 0
    events: int = 0
    records: int = 0
    snapshots: int | None = None  # None where there is no repository to look at
    snapshot_age_ms: int | None = None
    snapshot_every_s: int = 0
    signed: bool = False
    damaged: tuple[str, ...] = ()
    vault: bool = False
    waiting: int = 0  # snapshots that the vault does not have
    waiting_ms: int = 0  # since the first of them was made
    journal_s: float = 0  # since the vault has lacked writes
    journal_fault: str = ""
    vault_fault: Fault | None = None  # why it refuses even to be looked at
    others: tuple[str, ...] = ()  # what other hosts write to the same journal
    follow: str = ""  # the vault that this copy follows
    follow_host: str = ""
    follow_s: float | None = None  # since it had all that the vault has
    keys: tuple[KeyWarning, ...] = ()
    encrypted: bool = False
    embedder: bool = True
    spooled: int = 0  # requests of hooks that the server has not processed
    restored: str = ""  # the message about a restore that no caller requested
    quotas: tuple[tuple[str, int, int], ...] = ()  # what is limited, how much is used, and the limit
    drill: DrillStatus = field(default_factory=DrillStatus)
    guard: GuardStatus = field(default_factory=GuardStatus)
    recall: CheckReport | None = None  # the last check of the kept questions
    unspooled: int = 0  # those that it could not process, or that found no room


def warnings(found: Measured) -> list[Warned]:
    """The worst first."""
    every = [*_storage(found), *_quotas(found), *_backlog(found), *_hooks(found), *_snapshots(found)]
    every += [*_vault(found), *_journal(found), *_follow(found), *_drills(found), *_guard(found), *_recall(found)]
    every += [*_keys(found), *_advice(found)]
    return sorted(every, key=lambda one: ("error", "warning", "note").index(one.level))


def _storage(found: Measured) -> Iterator[Warned]:
    yield from _trouble(found.trouble)
    if found.kept_damaged:
        names = ", ".join(name for name, _ in found.kept_damaged)
        hint = found.kept_damaged[0][1]
        message = f"Damaged database files have been kept: {names}"
        yield Warned("damaged_kept", "note", message, hint, {"names": names, "hint": hint})
    if found.free_bytes is not None and found.free_bytes < LOW_SPACE:
        free = found.free_bytes // 1_000_000
        yield Warned(
            "disk_low",
            "error",
            f"Only {free} MB are free on the disk",
            "Free disk space, or remove old snapshots: holdfast snapshot prune --keep 5",
            {"free": found.free_bytes},
        )


def _quotas(found: Measured) -> Iterator[Warned]:
    for name, used, limit in found.quotas:
        if used < limit * NEAR_QUOTA:
            continue
        full = used >= limit
        yield Warned(
            "quota_reached" if full else "quota_near",
            "error" if full else "warning",
            f"This memory has {used} of {limit} {name}" + (": new ones are refused" if full else ""),
            f"Forget what is no longer needed, or raise {QUOTA_SETTINGS[name]}.",
            {"quota": name, "used": used, "limit": limit},
        )


def _trouble(fault: Fault | None) -> Iterator[Warned]:
    if isinstance(fault, StorageFailed):
        message = f"Writes are disabled: {fault.message}"
        yield Warned(
            "storage_failed", "error", message, "Check the disk, then restart the server.", {"why": fault.message}
        )
    elif isinstance(fault, Following):
        message = f"{fault.message[:1].upper()}{fault.message[1:]}"
        yield Warned("follow_behind", "error", message, fault.hint, {"why": fault.message, "hint": fault.hint})
    elif fault is not None:
        code = "restore_pending" if isinstance(fault, RestorePending) else "data_damaged"
        message = f"{fault.message[:1].upper()}{fault.message[1:]}"
        yield Warned(code, "error", message, fault.hint, {"why": fault.message, "hint": fault.hint})


def _backlog(found: Measured) -> Iterator[Warned]:
    if found.pending >= MANY_PENDING:
        yield Warned(
            "index_behind",
            "warning",
            f"{found.pending} records have no embedding yet and are found by keywords only",
            "Keep the server running. If the number does not fall, run: holdfast doctor",
            {"pending": found.pending},
        )
    if found.events >= MANY_EVENTS:
        yield Warned(
            "events_behind",
            "warning",
            f"{found.events} events are waiting for the NATS server",
            "Check that the NATS server in HOLDFAST_NATS_URL is reachable.",
            {"pending": found.events},
        )


def _hooks(found: Measured) -> Iterator[Warned]:
    # A few are processed within seconds, unless the memory takes no writes.
    if found.spooled >= MANY_SPOOLED or (found.spooled and found.trouble is not None):
        yield Warned(
            "spool_behind",
            "warning",
            f"{found.spooled} hook events are waiting to be stored",
            "Keep the server running. If the number does not fall, run: holdfast doctor",
            {"waiting": found.spooled},
        )
    if found.unspooled:
        yield Warned(
            "spool_refused",
            "warning",
            f"{found.unspooled} hook events could not be stored",
            "Run holdfast doctor to see where they are and why.",
            {"refused": found.unspooled},
        )


def _snapshots(found: Measured) -> Iterator[Warned]:
    if found.restored:
        hint = "Save again what was saved after that time."
        yield Warned("restored", "warning", found.restored, hint)
    if found.damaged:
        yield Warned(
            "snapshot_damaged",
            "error",
            f"damaged among the newest snapshots: {len(found.damaged)}",
            # A memory that is damaged itself, or not there yet, makes no snapshot.
            "List them with holdfast snapshot list. The name latest selects the newest intact one."
            if found.trouble is not None
            else "List them with holdfast snapshot list. Create a new one: holdfast snapshot create",
            {"count": len(found.damaged), "ids": list(found.damaged)},
        )
    if found.snapshots == 0 and found.records and found.trouble is None and not found.follow:
        yield Warned(
            "no_snapshot",
            "warning",
            "This machine has no snapshot of this memory yet",
            "Create one: holdfast snapshot create",
        )
    age = found.snapshot_age_ms
    if age is not None and age > _too_old(found.snapshot_every_s):
        yield Warned(
            "snapshot_old",
            "warning",
            f"The last good snapshot is {age // DAY_MS} days old",
            "Create one: holdfast snapshot create",
            {"days": age // DAY_MS},
        )


def _vault(found: Measured) -> Iterator[Warned]:
    if (fault := found.vault_fault) is not None:
        message = f"Nothing is copied to the vault: {fault.message.removeprefix('vault: ')}"
        yield Warned("vault_refused", "error", message, fault.hint, {"why": fault.message, "hint": fault.hint})
    if found.waiting and found.waiting_ms > SENT_BY_THEN_MS:
        yield Warned(
            "vault_behind",
            "warning",
            f"Snapshots not yet copied to the vault: {found.waiting}",
            "Check the vault with holdfast vault status, then copy them: holdfast vault sync",
            {"count": found.waiting},
        )


def _journal(found: Measured) -> Iterator[Warned]:
    if found.journal_s > JOURNAL_SENT_BY_THEN_S:
        why = f": {found.journal_fault}" if found.journal_fault else ""
        yield Warned(
            "journal_behind",
            "warning",
            f"The vault lacks the writes of the last {round(found.journal_s / 60)} minutes{why}",
            "They are kept here and sent once the vault answers. Check it with: holdfast vault status",
            {"count": round(found.journal_s / 60)},
        )


def _follow(found: Measured) -> Iterator[Warned]:
    for one in found.others:
        message, _, hint = one.partition(". ")
        yield Warned("other_line", "error", message, hint, {"why": message, "hint": hint})
    if found.follow:
        behind = "not there yet" if found.follow_s is None else f"{round(found.follow_s)} s behind"
        host = f" of host {found.follow_host}" if found.follow_host else ""
        yield Warned(
            "following",
            "note",
            f"This is a read-only copy of the memory{host}, {behind}",
            "To let it take over once that host is stopped: holdfast promote",
            {"host": found.follow_host, "seconds": round(found.follow_s or 0)},
        )


def _drills(found: Measured) -> Iterator[Warned]:
    drill = found.drill
    if drill.alarm:
        yield Warned("drill_failed", "error", drill.alarm, drill.remedy, {"id": drill.failed and drill.failed.snapshot})
    elif drill.locked:
        message = "The last restore drill could not decrypt its snapshot: nothing was restored"
        yield Warned("drill_locked", "note", message, drill.remedy)
    if drill.every_s and found.snapshots and drill.unproven_ms > ROUNDS * drill.every_s * 1000:
        days = drill.unproven_ms // DAY_MS
        yield Warned(
            "drill_old",
            "warning",
            f"No restore was proven for {days} days",
            "Keep the server running, or restore a snapshot beside the live memory now: holdfast drill",
            {"days": days},
        )


def _guard(found: Measured) -> Iterator[Warned]:
    guard, see = found.guard, "See which and why: holdfast guard status"
    if guard.fault:
        yield Warned("guard_fault", "error", f"Guarded files are not taken: {guard.fault}", see, {"why": guard.fault})
    if guard.missing:
        names = ", ".join(guard.missing)
        yield Warned(
            "guard_missing",
            "warning",
            f"The folder of a guarded place does not exist: {names}",
            "Bring it back with holdfast guard restore, or stop guarding it with holdfast guard remove.",
            {"names": names},
        )
    if guard.scanned:
        hint = "Changes are found once a minute. Raise the limits of the kernel, or guard fewer folders."
        yield Warned("guard_unwatched", "warning", f"Guarded places are not watched: {guard.scanned}", hint)
    if guard.left:
        message = f"Guarded files that are not taken: {guard.left}"
        yield Warned("guard_left", "note", message, see, {"count": guard.left})


def _recall(found: Measured) -> Iterator[Warned]:
    if found.recall is not None and found.recall.changed:
        changed, asked = found.recall.changed, found.recall.asked
        yield Warned(
            "recall_changed",
            "warning",
            f"{changed} of {asked} questions would now be answered differently",
            "See which with holdfast recall-check; take the new answers as right: holdfast recall-check --accept",
            {"count": changed, "asked": asked},
        )


def _keys(found: Measured) -> Iterator[Warned]:
    for one in found.keys:
        yield Warned(one.code, "warning", one.message, one.hint)


def _too_old(every_s: int) -> int:
    return max(ROUNDS * every_s * 1000, DAY_MS) if every_s else BY_HAND_MS


def _advice(found: Measured) -> Iterator[Warned]:
    if found.snapshots:
        if not found.vault:
            yield Warned(
                "no_vault",
                "note",
                "Snapshots exist on this machine only",
                "Set HOLDFAST_VAULT to copy them to a second location",
            )
        elif not found.encrypted:
            yield Warned(
                "vault_plain",
                "note",
                "Snapshots in the vault are not encrypted",
                "Set HOLDFAST_SNAPSHOT_RECIPIENTS to encrypt them",
            )
        if not found.signed:
            yield Warned(
                "unsigned",
                "note",
                "The last snapshot is not signed",
                "Set HOLDFAST_SNAPSHOT_SIGN=true to sign snapshots",
            )
    if not found.embedder:
        yield Warned(
            "no_embedder",
            "note",
            "Search uses keywords only",
            "Set HOLDFAST_EMBEDDER=local to enable semantic search",
        )
