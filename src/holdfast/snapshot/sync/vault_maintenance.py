"""The vaults of a memory: how they are, what they lack, what is pruned from them and copied between them.

A vault is not trusted: what it holds is verified from its own bytes, and copied only if they are those of the manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial

from holdfast.core.errors import Fault, NotFound, SnapshotDamaged, SnapshotForeign, SnapshotTooNew, VaultDamaged
from holdfast.core.ports import Vault, VaultState
from holdfast.snapshot.bundle.types import ASKED_FOR, Code, Finding, Report
from holdfast.snapshot.chunks.gc import NOTHING, GcResult, sweep, unneeded
from holdfast.snapshot.chunks.leases import check_may_delete
from holdfast.snapshot.chunks.reader import PACKS
from holdfast.snapshot.journal.journal_compaction import JournalCompaction
from holdfast.snapshot.journal.journal_lines import read_lines
from holdfast.snapshot.journal.journal_queue import host_id
from holdfast.snapshot.remote.forks import Fork, find_forks, held_by, last_shared, not_here
from holdfast.snapshot.remote.layout import put
from holdfast.snapshot.remote.pack_copy import copy_chunks
from holdfast.snapshot.remote.transfer import (
    VaultEntry,
    deliver,
    is_missing,
    leftovers,
    list_vault,
    needed_packs,
    open_bundle,
    prefix_of,
    read_vaulted,
    take_out,
    with_packs,
)
from holdfast.snapshot.repo.context import JobResult, SnapshotContext
from holdfast.snapshot.repo.retention import RetentionItem, RetentionPlan, RetentionPolicy, plan
from holdfast.snapshot.repo.send_marks import note_sent
from holdfast.snapshot.resolve import SnapshotSelector, examine, sought
from holdfast.snapshot.sync.send_backlog import waiting
from holdfast.vault.byte_counter import ByteCounter

_UNUSABLE = (SnapshotDamaged, SnapshotTooNew, SnapshotForeign)


@dataclass(frozen=True, slots=True)
class VaultStatus:
    """The state of a vault for this memory."""

    state: VaultState
    snapshots: tuple[VaultEntry, ...]  # newest first
    missing: tuple[str, ...]  # in the repository, not in the vault
    leftovers: int  # files that belong to no snapshot
    packs: int = 0  # of snapshots that lie there as chunks
    pack_bytes: int = 0
    lines: tuple[Fork, ...] = ()  # of several hosts; none if only one sent
    absent: bool = False  # a folder that the first put will make


def standing(context: SnapshotContext, vault: Vault) -> VaultStatus:
    """The state of the vault, and what of the repository it lacks."""
    found = _look(context, vault)
    left = leftovers(vault, context.tenant, context.agent)
    packs = [one.size for one in vault.list(f"{prefix_of(context.tenant, context.agent)}{PACKS}/")]
    lacking = tuple(id for id, _ in _lacking(context, found))
    lines = tuple(find_forks(vault, context.tenant, context.agent, found))
    return VaultStatus(vault.state(), found, lacking, len(left), len(packs), sum(packs), lines, is_missing(vault))


def _look(context: SnapshotContext, vault: Vault) -> tuple[VaultEntry, ...]:
    """The snapshots of this memory in the vault, newest first, with a look at the packs that they need."""
    found = list_vault(vault, context.tenant, context.agent)
    return tuple(with_packs(vault, context.tenant, context.agent, found))


def _lacking(context: SnapshotContext, found: tuple[VaultEntry, ...]) -> list[tuple[str, int]]:
    """Whole snapshots of the repository that are not whole in the vault, newest first, with their sizes."""
    there = {one.id for one in found if not one.damaged}
    return [(one.id, one.size) for one in context.repo.each() if not one.damaged and one.id not in there]


# Sending and copying


@dataclass(frozen=True, slots=True)
class CopyResult:
    """What was sent, what is left to send, and what cannot be: it is damaged where it comes from."""

    sent: tuple[CopiedSnapshot, ...]
    remaining: tuple[tuple[str, int], ...]
    damaged: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CopiedSnapshot:
    """A snapshot that the vault has now: how large it is where it comes from, and how many bytes went over."""

    id: str
    size: int
    new_bytes: int


def sync(context: SnapshotContext, vault: Vault, limit: int) -> CopyResult:
    """Send so many of the repository's snapshots that the vault lacks, the newest first.

    What an interrupted run left in the vault is taken up again, not sent again.

    Raises:
        Conflict: the vault has other bytes under one of their names.
    """
    lacking = _lacking(context, _look(context, vault))
    sent, rest = [], tuple(lacking[limit:])
    with noted_moves(context, "sync", lacking) as result:
        for id, size in lacking[:limit]:
            counted = ByteCounter(vault)
            put(context, counted, id)
            context.moved("sync", counted.taken)
            sent.append(CopiedSnapshot(id, size, counted.taken))
            result.about = id
        result.message = _left(len(rest))
    _no_longer_wait(context, vault, {id for id, _ in rest})
    damaged = tuple((one.id, one.damaged) for one in context.repo.each() if one.damaged)
    return CopyResult(tuple(sent), rest, damaged)


def noted_moves(context: SnapshotContext, operation: str, lacking: Sized) -> AbstractContextManager[JobResult]:
    """Sending is reported by `snapshot status`, if there is anything to send."""
    return context.unlocked(operation) if lacking else nullcontext(JobResult())


def _left(number: int) -> str | None:
    return f"{number} more to upload" if number else None


def _no_longer_wait(context: SnapshotContext, vault: Vault, lacking: set[str]) -> None:
    """What waited for the vault of the settings is there now, if this is that vault."""
    if context.settings.vault and context.vault(context.settings.vault).place == vault.place:
        for id in set(waiting(context)) - lacking:
            note_sent(context.repo.root, id)


def copy(context: SnapshotContext, source: Vault, target: Vault, limit: int) -> CopyResult:
    """Copy so many of this memory's snapshots that the target lacks from one vault to another, the newest first.

    Raises:
        Conflict: the target has other bytes under one of their names.
    """
    there = {one.id for one in _look(context, target) if not one.damaged}
    lacking = [one for one in list_vault(source, context.tenant, context.agent) if one.id not in there]
    sent: list[CopiedSnapshot] = []
    damaged: list[tuple[str, str]] = []
    with noted_moves(context, "copy", lacking) as result:
        for position, one in enumerate(lacking):
            if len(sent) >= limit:
                result.message = _left(len(lacking) - position)
                return CopyResult(tuple(sent), _sizes(lacking[position:]), tuple(damaged))
            try:
                sent.append(_copy_one(context, source, target, one))
                result.about = one.id
            except (*_UNUSABLE, VaultDamaged) as fault:
                damaged.append((one.id, fault.message))
    return CopyResult(tuple(sent), (), tuple(damaged))


def _sizes(some: list[VaultEntry]) -> tuple[tuple[str, int], ...]:
    return tuple((one.id, one.size) for one in some)


def _copy_one(context: SnapshotContext, source: Vault, target: Vault, one: VaultEntry) -> CopiedSnapshot:
    files, counted = read_vaulted(source, context.tenant, context.agent, one.id), ByteCounter(target)
    if files.manifest.chunked:
        copy_chunks(context, source, counted, files)
    else:
        deliver(counted, files, partial(open_bundle, source, files.manifest))
    context.moved("copy", counted.taken)
    return CopiedSnapshot(one.id, one.size, counted.taken)


# Verifying


def verify_all(context: SnapshotContext, vault: Vault, named: SnapshotSelector) -> Iterator[Report]:
    """The report on each snapshot in the vault, newest first; each is fetched to a private place for it.

    The newest is requested as such, so that an old one in its place is noticed.
    """
    for number, one in enumerate(list_vault(vault, context.tenant, context.agent)):
        about = replace(named, name=one.id, newest=not number)
        try:
            with sought(context, about) as found:
                yield replace(examine(context, about, found), place=one.id)
        except (*_UNUSABLE, NotFound) as fault:
            yield Report(one.id, None, (Finding(_code(fault), fault.message),), ())


def _code(fault: Fault) -> Code:
    codes: dict[type[Fault], Code] = {SnapshotTooNew: "too_new", SnapshotForeign: "foreign"}
    return codes.get(type(fault), "damaged")


# Pruning


@dataclass(frozen=True, slots=True)
class VaultPruneResult:
    """What a policy keeps and removes, how many files of no snapshot went, and which packs."""

    plan: RetentionPlan
    removed: tuple[str, ...]
    leftovers: int
    swept: GcResult = NOTHING
    unswept: str | None = None  # why no pack was removed
    journal: int = 0  # objects of the journal that went


def prune_vault(
    context: SnapshotContext, vault: Vault, policy: RetentionPolicy, *, tidy: bool = False, dry_run: bool = False
) -> VaultPruneResult:
    """Remove what the policy does not keep, and the packs that none needs then; never the newest whole snapshot, nor
    the newest of another host that is not in this memory.

    With `tidy` also what was sent halfway, and packs whatever the leases: no process may be sending.

    Raises:
        VaultRefused: this host, or its credential, may only add; nothing was removed.
    """
    found = _look(context, vault)
    decided = _but_lines(
        context, vault, found, plan([_item(context, vault, one) for one in found], policy, context.clock.now_ms())
    )
    left = leftovers(vault, context.tenant, context.agent) if tidy else []
    if dry_run:
        return VaultPruneResult(decided, (), len(left), *_swept(lambda: _would_sweep(context, vault, decided.remove)))
    with context.unlocked("vault_prune"):
        check_may_delete(vault, prefix_of(context.tenant, context.agent), context.clock, context.entropy)
        for id in decided.remove:
            take_out(vault, context.tenant, context.agent, id)
        for one in left:
            vault.delete(one.name)
        swept = _swept(lambda: _sweep(context, vault, tidy=tidy))
        gone = _prune_journal(context, vault)
    return VaultPruneResult(decided, decided.remove, len(left), *swept, gone)


def _prune_journal(context: SnapshotContext, vault: Vault) -> int:
    """Remove what no moment needs, and what lies in larger objects as well; how many objects. A server that may delete
    does so itself, so little is left of its journal."""
    lines = read_lines(vault, context.tenant, context.agent)
    host = host_id(context.home, context.entropy)
    own = [one for one in lines.values() if one.header is not None and one.header.host == host]
    if not own:
        return 0
    keep = JournalCompaction(vault, context.repo, context.tenant, context.agent, host)
    now = context.clock.now_ms()
    gone = keep.expire(own[-1].id, now - context.settings.journal_keep * 1000, now)
    for one in own:
        with suppress(NotFound):  # a server puts the same together
            gone += keep.put_together(one.id)
    return gone


def _but_lines(
    context: SnapshotContext, vault: Vault, found: tuple[VaultEntry, ...], decided: RetentionPlan
) -> RetentionPlan:
    """The same plan, but that nothing is lost that no host has merged, nor what shows that there are several hosts."""
    lines = find_forks(vault, context.tenant, context.agent, found) if decided.remove else []
    others = {line.newest for line in not_here(lines, held_by(context))} if lines else set()
    if not others:
        return decided
    why = dict.fromkeys(last_shared(one.id for one in found), "of two hosts") | dict.fromkeys(others, "another host's")
    kept = dict(decided.keep) | {id: (why[id],) for id in decided.remove if id in why}
    keep = tuple((one.id, kept[one.id]) for one in found if one.id in kept)
    return RetentionPlan(keep, tuple(id for id in decided.remove if id not in why))


def _sweep(context: SnapshotContext, vault: Vault, *, tidy: bool) -> GcResult:
    prefix = prefix_of(context.tenant, context.agent)
    needed = partial(needed_packs, vault, context.tenant, context.agent)
    return sweep(vault, prefix, needed, context.clock, context.entropy, alone=tidy)


def _would_sweep(context: SnapshotContext, vault: Vault, removed: tuple[str, ...]) -> GcResult:
    needed = needed_packs(vault, context.tenant, context.agent, but=removed)
    sizes = unneeded(vault, prefix_of(context.tenant, context.agent), needed)
    return GcResult(len(sizes), sum(sizes.values()))


def _swept(work: Callable[[], GcResult]) -> tuple[GcResult, str | None]:
    """What was swept, or why nothing was: a snapshot whose needs cannot be determined."""
    try:
        return work(), None
    except (SnapshotDamaged, SnapshotTooNew) as fault:
        return GcResult(), fault.message


def _item(context: SnapshotContext, vault: Vault, one: VaultEntry) -> RetentionItem:
    try:
        about = read_vaulted(vault, context.tenant, context.agent, one.id).manifest.identity
    except (*_UNUSABLE, NotFound):
        return RetentionItem(one.id, one.sequence, 0, good=False, in_use=False, automatic=False)
    return RetentionItem(
        id=one.id,
        sequence=one.sequence,
        created_at=about.created_at,
        good=not one.damaged,
        in_use=False,
        automatic=about.created_by != ASKED_FOR,
    )
