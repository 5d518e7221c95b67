"""Forks: what several hosts sent to one vault, each going on from its own snapshots of the same memory.

Names show whether there are any: a host never uses a number twice, so two snapshots of one number are of two forks.
Only then are manifests read, for what follows what. Before the first such number forks are not distinguishable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from shlex import quote

from holdfast.core.errors import Fault, NotFound, SnapshotDamaged, SnapshotForeign, SnapshotTooNew
from holdfast.core.ports import Vault
from holdfast.core.times import iso
from holdfast.snapshot.bundle.types import Identity
from holdfast.snapshot.remote.colony import is_colony
from holdfast.snapshot.remote.transfer import VaultEntry, list_vault, vaulted_manifest
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.paths import sequence_of
from holdfast.store.port import where
from holdfast.store.tables import AUDIT
from holdfast.vault.restriction import ReadOnly

MOST_ENTRIES = 1_000


@dataclass(frozen=True, slots=True)
class Fork:
    """What one host sent since the fork, newest first, and what its newest records about itself."""

    ids: tuple[str, ...]
    created_at: int
    label: str
    signer: str | None

    @property
    def newest(self) -> str:
        return self.ids[0]


def find_forks(vault: Vault, tenant: str, agent: str, found: Sequence[VaultEntry]) -> list[Fork]:
    """The forks in a vault, that of the newest snapshot first; empty if there is only one."""
    since = first_shared(one.id for one in found)
    if since is None:
        return []
    ids = [one.id for one in found if one.sequence >= since and not one.damaged]
    read = {id: about for id in ids if (about := _read(vault, tenant, agent, id))}
    every = [one.id for one in found]
    chains = trace([id for id in ids if id in read], {id: about.identity.parent for id, about in read.items()}, every)
    if len(chains) < 2:
        return []
    return [_line(chain, read[chain[0]]) for chain in chains]


@dataclass(frozen=True, slots=True)
class _ForkInfo:
    identity: Identity
    signer: str | None


def _read(vault: Vault, tenant: str, agent: str, id: str) -> _ForkInfo | None:
    """What a snapshot claims about itself. It is not verified: this is only for display."""
    try:
        manifest = vaulted_manifest(vault, tenant, agent, id)
    except (NotFound, SnapshotDamaged, SnapshotForeign, SnapshotTooNew):
        return None
    return _ForkInfo(manifest.identity, manifest.signer)


def _line(chain: tuple[str, ...], about: _ForkInfo) -> Fork:
    return Fork(chain, about.identity.created_at, about.identity.label, about.signer)


def first_shared(ids: Iterable[str]) -> int | None:
    """The first number that two snapshots have; None if none has."""
    return min(_shared(ids), default=None)


def last_shared(ids: Iterable[str]) -> list[str]:
    """Those of the last number that two have: as long as they are there, it can be seen that there are forks."""
    every = list(ids)
    last = max(_shared(every), default=None)
    return [id for id in every if sequence_of(id) == last]


def _shared(ids: Iterable[str]) -> list[int]:
    return [number for number, count in Counter(map(sequence_of, ids)).items() if count > 1]


def trace(ids: Sequence[str], parents: Mapping[str, str | None], every: Sequence[str]) -> list[tuple[str, ...]]:
    """The ids, newest first, as forks.

    `every` are all ids in the vault, newest first. What has no parent began from what was the newest of them. Where a
    parent was pruned, the fork goes on with the only one that can have come before it; if there are several, it ends.
    """
    rest, chains = dict.fromkeys(ids), []
    while rest:
        chain: list[str] = []
        before = next(iter(rest))
        while before in rest:
            del rest[before]
            chain.append(before)
            before = _before(before, parents, every)
        chains.append(chain)
    return [tuple(chain) for chain in _joined(chains, parents, set(every))]


def _before(id: str, parents: Mapping[str, str | None], every: Sequence[str]) -> str:
    parent = parents[id]
    if parent is not None:
        return parent
    return next((one for one in every if sequence_of(one) < sequence_of(id)), "")


def _joined(chains: list[list[str]], parents: Mapping[str, str | None], every: Collection[str]) -> list[list[str]]:
    """The same, across snapshots that were pruned from the middle of a fork."""
    whole: list[list[str]] = []
    while chains:
        chain = chains.pop(0)
        while (gone := parents[chain[-1]]) is not None and gone not in every:
            earlier = [one for one in chains if sequence_of(one[0]) < sequence_of(gone)]
            if len(earlier) != 1:
                break
            chains.remove(earlier[0])
            chain = chain + earlier[0]
        whole.append(chain)
    return whole


def not_here(lines: Sequence[Fork], held: Collection[str]) -> list[Fork]:
    """Those whose newest snapshot this memory does not hold: neither made, restored nor merged here."""
    return [line for line in lines if line.newest not in held]


def fork_notices(lines: Sequence[Fork], held: Collection[str], place: str) -> list[str]:
    """For people: which forks this memory lacks, and how to bring them in."""
    return [
        f"Another host also wrote to this vault, and its newer records are not in this memory: {line.newest} "
        f"of {iso(line.created_at)}. Preview the merge: holdfast snapshot merge {line.newest} now --from "
        f"{quote(place)} --dry-run"
        for line in not_here(lines, held)
    ]


def held_by(context: SnapshotContext) -> set[str]:
    """Snapshots that are in this memory: those in its repository, and those that it was made of by its audit log.
    The log is part of the memory, so it knows this wherever it was restored."""
    held = {one.id for one in context.repo.each()}
    if context.live is None:
        return held
    with suppress(Fault):  # it cannot be opened, or not be read: the repository alone decides
        reader = context.live.store.read()
        for operation in ("snapshot_restore", "snapshot_merge"):
            for entry in reader.find(AUDIT, context.tenant, *where(operation=operation), limit=MOST_ENTRIES):
                held |= {*entry.target_ids, str(entry.details.get("other", ""))}
    return held


def fork_notices_of(context: SnapshotContext, text: str, found: Sequence[VaultEntry] | None = None) -> list[str]:
    """The same for a named vault. A Colony vault keeps too little to know."""
    if is_colony(text):
        return []
    vault = ReadOnly(context.vault(text))
    if found is None:
        found = list_vault(vault, context.tenant, context.agent)
    lines = find_forks(vault, context.tenant, context.agent, found)
    return fork_notices(lines, held_by(context), text) if lines else []
