"""What a vault is to a memory, whichever kind it is: bundles of everything, or compact snapshots in a Colony vault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from holdfast.colony.file_names import began
from holdfast.core.errors import ColonyMemoryError, InvalidRequest, NotFound, SnapshotForeign
from holdfast.core.ports import Vault, VaultState
from holdfast.snapshot.browse import laid_out, past
from holdfast.snapshot.bundle.types import Finding, Report
from holdfast.snapshot.remote.colony import ColonySnapshots, is_colony
from holdfast.snapshot.remote.forks import Fork, find_forks
from holdfast.snapshot.remote.layout import StagedMemory, put
from holdfast.snapshot.remote.transfer import VaultEntry, list_vault, must_be_there, with_packs
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.entries import SnapshotEntry
from holdfast.snapshot.repo.retention import RetentionItem, RetentionPolicy, plan
from holdfast.snapshot.resolve import LATEST, SnapshotSelector, examine, sought
from holdfast.snapshot.sources.capture import live_memory
from holdfast.snapshot.sync.vault_maintenance import (
    CopiedSnapshot,
    CopyResult,
    VaultPruneResult,
    VaultStatus,
    copy,
    prune_vault,
    standing,
    sync,
    verify_all,
)
from holdfast.store.port import Reader
from holdfast.store.portable import open_past
from holdfast.vault.restriction import ReadOnly


class VaultTarget(Protocol):
    """A vault as the operations on vaults see it."""

    @property
    def place(self) -> str:
        """Where it is, without credentials."""
        ...

    def standing(self) -> VaultStatus:
        """Its state, and what of the repository it lacks."""
        ...

    def list(self) -> list[VaultEntry]:
        """This memory's snapshots in it, newest first."""
        ...

    def lines(self, found: Sequence[VaultEntry]) -> Sequence[Fork]:
        """The forks of these snapshots, if several hosts sent them; that of the newest first."""
        ...

    def reports(self, named: SnapshotSelector) -> Iterator[Report]:
        """The report on each of them."""
        ...

    def prune(self, policy: RetentionPolicy, *, tidy: bool, dry_run: bool) -> VaultPruneResult:
        """Remove what the policy does not keep."""
        ...

    def sync(self, limit: int) -> CopyResult:
        """Send what it lacks."""
        ...

    def lacking(self, ids: Iterable[str]) -> set[str]:
        """Those of the repository's snapshots that it should have and has not got."""
        ...

    def send(self, id: str, fresh: StagedMemory | None = None) -> None:
        """Send one snapshot of the repository; `fresh` is what it was packed from, if that is still there."""
        ...


def target_of(context: SnapshotContext, text: str) -> VaultTarget:
    """The vault that is named.

    Raises:
        InvalidSettings: it is none.
    """
    return ColonyTarget(context, text) if is_colony(text) else BundleTarget(context, text)


class BundleTarget:
    """A vault that takes whole bundles."""

    def __init__(self, context: SnapshotContext, text: str):
        self._context = context
        self.vault: Vault = context.vault(text)

    @property
    def place(self) -> str:
        return self.vault.place

    def standing(self) -> VaultStatus:
        return standing(self._context, self.vault)

    def list(self) -> list[VaultEntry]:
        must_be_there(self.vault)
        tenant, agent = self._context.tenant, self._context.agent
        return with_packs(self.vault, tenant, agent, list_vault(self.vault, tenant, agent))

    def lines(self, found: Sequence[VaultEntry]) -> Sequence[Fork]:
        return find_forks(self.vault, self._context.tenant, self._context.agent, found)

    def reports(self, named: SnapshotSelector) -> Iterator[Report]:
        must_be_there(self.vault)
        return verify_all(self._context, self.vault, named)

    def prune(self, policy: RetentionPolicy, *, tidy: bool, dry_run: bool) -> VaultPruneResult:
        must_be_there(self.vault)
        return prune_vault(self._context, self.vault, policy, tidy=tidy, dry_run=dry_run)

    def sync(self, limit: int) -> CopyResult:
        return sync(self._context, self.vault, limit)

    def lacking(self, ids: Iterable[str]) -> set[str]:
        there = list_vault(self.vault, self._context.tenant, self._context.agent)  # the first put makes its folder
        return set(ids) - {one.id for one in there if not one.damaged}

    def send(self, id: str, fresh: StagedMemory | None = None) -> None:
        with self._context.unlocked("send") as result:
            put(self._context, self.vault, id, fresh)
            result.about = id


class ColonyTarget:
    """A Colony vault: the newest snapshot in short, and a few before it. Ids are the Colony's own."""

    def __init__(self, context: SnapshotContext, text: str):
        self._context, self._text = context, text

    @cached_property
    def _snapshots(self) -> ColonySnapshots:
        return ColonySnapshots(self._context, self._text)

    @property
    def place(self) -> str:
        return self._snapshots.place

    def list(self) -> list[VaultEntry]:
        whole = [VaultEntry(one.snapshot_id, one.byte_size, None) for one in self._snapshots.each()]
        return whole + [VaultEntry(id, 0, reason) for id, reason in self._snapshots.refused()]

    def lines(self, found: Sequence[VaultEntry]) -> Sequence[Fork]:
        return ()  # it keeps too few to know

    def standing(self) -> VaultStatus:
        free, used = self._snapshots.state()
        missing = (newest.id,) if (newest := self._unsent()) else ()
        return VaultStatus(VaultState(free=free, used=used), tuple(self.list()), missing, 0)

    def _unsent(self) -> SnapshotEntry | None:
        """The newest snapshot of the repository, if the vault has none of it. Older ones are not sent: there is no
        room."""
        newest = self._context.repo.newest()
        if newest is None or newest.manifest is None:
            return None
        lacks = self._snapshots.newest() is None or not self._snapshots.is_sent(newest.manifest.identity)
        return newest if lacks else None

    def reports(self, named: SnapshotSelector) -> Iterator[Report]:
        for number, one in enumerate(self.list()):
            if one.damaged:
                yield Report(one.id, None, (Finding("damaged", one.damaged),), ())
                continue
            about = replace(named, name=one.id if number else LATEST)
            try:
                with sought(self._context, about) as found:
                    yield replace(examine(self._context, about, found), place=one.id)
            except (ColonyMemoryError, SnapshotForeign) as fault:
                yield Report(one.id, None, (Finding("damaged", fault.message),), ())

    def prune(self, policy: RetentionPolicy, *, tidy: bool, dry_run: bool) -> VaultPruneResult:
        found = self._snapshots.each()
        items = [
            RetentionItem(
                one.snapshot_id, len(found) - at, _millis(one.snapshot_id), good=True, in_use=False, automatic=False
            )
            for at, one in enumerate(found)
        ]
        decided = plan(items, policy, self._context.clock.now_ms())
        if dry_run:
            return VaultPruneResult(decided, (), 0)
        with self._context.unlocked("vault_prune"):
            for id in decided.remove:
                self._snapshots.remove(id)
            if tidy:
                self._snapshots.tidy()
        return VaultPruneResult(decided, decided.remove, 0)

    def sync(self, limit: int) -> CopyResult:
        newest = self._unsent()
        if newest is None or limit < 1:
            return CopyResult((), ())
        size = self._sent(newest)
        return CopyResult((CopiedSnapshot(newest.id, size, size),), ())

    def lacking(self, ids: Iterable[str]) -> set[str]:
        newest = self._unsent()
        return {newest.id} & set(ids) if newest else set()

    def send(self, id: str, fresh: StagedMemory | None = None) -> None:
        self._sent(self._context.repo.find(id))

    def _sent(self, one: SnapshotEntry) -> int:
        if one.manifest is None:
            raise NotFound(f"vault: snapshot {one.id} cannot be read")
        with self._context.unlocked("sync") as result, self._read(one) as reader:
            made = self._snapshots.send(reader, one.manifest.identity)
            result.about = one.id
        self._context.moved("sync", made.size)
        return made.size

    @contextmanager
    def _read(self, one: SnapshotEntry) -> Iterator[Reader]:
        """The store of a snapshot. One that is encrypted for other recipients cannot be read here; the newest is then
        as the memory is now."""
        context = self._context
        if one.manifest is not None and one.manifest.encrypted and not context.settings.snapshot_identity:
            with context.repo.staging() as staging:
                live_memory(context).capture(staging / "now.db", context.tenant)
                store = open_past(staging / "now.db")
                try:
                    yield store.read()
                finally:
                    store.close()
            return
        with past(context, SnapshotSelector(one.id)) as then:
            yield then.store.read()

    def take(self, text: str) -> CopyResult:
        """The newest snapshot of another vault, in short."""
        with laid_out(self._context, SnapshotSelector(LATEST, vault=text)) as laid:
            store = open_past(laid.database)
            try:
                made = self._snapshots.send(store.read(), laid.manifest.identity)
            finally:
                store.close()
        return CopyResult((CopiedSnapshot(laid.manifest.identity.id, made.size, made.size),), ())


def _millis(id: str) -> int:
    when = began(id)
    return int(when.timestamp() * 1000) if when else 0


def copy_between_vaults(context: SnapshotContext, source: str, target: str, limit: int) -> tuple[str, CopyResult]:
    """Copy what the target lacks; where that is, and what was copied.

    Raises:
        InvalidRequest: both are the same, or the source holds compact snapshots only, which are no bundles.
    """
    if is_colony(source):
        raise InvalidRequest(
            "vault_copy: compact snapshots of a Colony vault cannot be copied to other vaults",
            hint="Restore the newest one, then run holdfast snapshot create --to VAULT.",
        )
    one, other = BundleTarget(context, source), target_of(context, target)
    if one.place == other.place:
        raise InvalidRequest("vault_copy: source and target are the same vault")
    must_be_there(one.vault)
    if isinstance(other, ColonyTarget):
        return other.place, other.take(source)
    assert isinstance(other, BundleTarget)
    return other.place, copy(context, ReadOnly(one.vault), other.vault, limit)
