"""Which writers send chunks to a vault now, and which packs are about to be removed from it.

    <memory>/leases/<snapshot id>.<milliseconds>.<random>   a writer sends this snapshot
    <memory>/ended/<as a lease>                             that lease has ended, and could not be taken away
    <memory>/condemned/<milliseconds>.<random>              packs that are about to go, a name a line

Why nothing that a new snapshot refers to is removed, though no process waits for another: a writer puts its lease, then
looks what is condemned, then what is there, and refers to no pack that is condemned; its manifest is put before its
lease is taken away. A sweep condemns first, then looks for leases; with none there, it reads the manifests
again, and only then removes what is still not needed. So a writer that did not see the condemnation has a lease
that the sweep sees, or a manifest that it reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO

from holdfast.core.errors import Conflict, Fault, NotFound, SnapshotsBusy, VaultRefused
from holdfast.core.ports import Clock, Entropy, Vault, VaultObject
from holdfast.vault.streams import read_whole

LEASES, ENDED, CONDEMNED = "leases/", "ended/", "condemned/"
# A lease whose writer died has expired after a week, and a writer gives up long before: only a host whose clock is
# days wrong could take the lease of a living writer away, which looks once more before and after it commits.
DEAD_AFTER_MS = 7 * 24 * 3_600_000
GIVE_UP_SECONDS = 2 * 24 * 3_600
_CHANCE = 16
_WHEN = re.compile(r"[./](?P<ms>\d{1,15})\.[0-9a-f]{16}$", re.ASCII)
_PACK = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Lease:
    """That a snapshot is being sent."""

    vault: Vault
    prefix: str
    name: str
    clock: Clock
    since: float

    def check(self) -> None:
        """Refuse to go on when another process may have taken the writer for dead.

        Raises:
            SnapshotsBusy: the lease is gone or too old.
        """
        there = any(one.name == self.name for one in leases(self.vault, self.prefix))
        if not there or self.clock.steady() - self.since > GIVE_UP_SECONDS:
            raise SnapshotsBusy("vault: the lease expired during the upload", hint="Run holdfast vault sync to resume.")


def nowhere(name: str | None) -> None:
    """Does not record the name."""


@contextmanager
def leased(
    vault: Vault, prefix: str, id: str, clock: Clock, entropy: Entropy, noted: Callable[[str | None], None] = nowhere
) -> Iterator[Lease]:
    """A lease for as long as the block runs. No other process sends the same snapshot meanwhile.

    Raises:
        SnapshotsBusy: another process does.
    """
    name = f"{prefix}{LEASES}{id}.{clock.now_ms()}.{entropy.hex(_CHANCE)}"
    lease = Lease(vault, prefix, name, clock, clock.steady())
    noted(name)  # first: a process killed in between leaves the name of a lease that never was: harmless
    vault.put(name, BytesIO(b""))
    try:
        own = f"{prefix}{LEASES}{id}."
        others = [one for one in leases(vault, prefix) if one.name.startswith(own) and one.name != name]
        if any(is_alive(one, clock) for one in others):
            raise SnapshotsBusy(
                f"vault: another host is uploading {id}", hint="Retry when the other host has finished."
            )
        yield lease
    finally:
        # A lease that stays holds up sweeping only, until the next one from here takes it away, or for a week.
        with suppress(Fault):
            end_lease(vault, name)
            noted(None)


def end_lease(vault: Vault, name: str) -> None:
    """Take a lease away; where this host may only add, note beside it that it has ended."""
    if not try_delete(vault, name):
        prefix, _, lease = name.rpartition(LEASES)
        with suppress(Conflict):
            vault.put(f"{prefix}{ENDED}{lease}", BytesIO(b""))


def try_delete(vault: Vault, name: str) -> bool:
    """Whether the bytes are gone: they stay where this host, or its credential, may only add."""
    if not vault.can.delete:
        return False
    try:
        vault.delete(name)
    except VaultRefused:
        return False
    return True


def is_alive(one: VaultObject, clock: Clock) -> bool:
    """Whether the process that put a lease or a condemnation may still be at work. One with a future time may be."""
    found = _WHEN.search(one.name)
    return found is None or clock.now_ms() - int(found["ms"]) < DEAD_AFTER_MS


def leases(vault: Vault, prefix: str) -> list[VaultObject]:
    """Those that have not ended."""
    ended = {one.name.removeprefix(f"{prefix}{ENDED}") for one in vault.list(f"{prefix}{ENDED}")}
    return [one for one in vault.list(f"{prefix}{LEASES}") if one.name.removeprefix(f"{prefix}{LEASES}") not in ended]


def remove_dead(vault: Vault, prefix: str, clock: Clock, *, alone: bool) -> None:
    """Remove leases that have ended, and leases and condemnations of processes that died; all of them if `alone`."""
    ended = list(vault.list(f"{prefix}{ENDED}"))
    alive = {one.name for one in leases(vault, prefix)}
    for one in (*vault.list(f"{prefix}{LEASES}"), *vault.list(f"{prefix}{CONDEMNED}")):
        over = one.name.startswith(f"{prefix}{LEASES}") and one.name not in alive
        if alone or over or not is_alive(one, clock):
            vault.delete(one.name)
    for one in ended:  # after its lease, which would count again without it
        vault.delete(one.name)


def condemned(vault: Vault, prefix: str) -> set[str]:
    """Packs that are about to go."""
    return set().union(*(_read(vault, one) for one in vault.list(f"{prefix}{CONDEMNED}")))


def _read(vault: Vault, one: VaultObject) -> set[str]:
    try:
        with vault.open(one.name) as stream:
            return set(_PACK.findall(read_whole(stream, one.size).decode("ascii", "replace")))
    except NotFound:
        return set()  # the sweep just ended: what it removed is listed no more


@contextmanager
def condemning(vault: Vault, prefix: str, packs: Iterable[str], clock: Clock, entropy: Entropy) -> Iterator[None]:
    """Within the block the packs are marked as about to go: a writer that begins now does not refer to them.

    A process may remove only what it condemned itself: others may withdraw their condemnations.
    """
    name = _condemnation(prefix, clock, entropy)
    vault.put(name, BytesIO("".join(f"{one}\n" for one in sorted(packs)).encode()))
    try:
        yield
    finally:
        with suppress(Fault):  # if it stays, packs that it names are sent again instead of referred to, for a week
            vault.delete(name)


def check_may_delete(vault: Vault, prefix: str, clock: Clock, entropy: Entropy) -> None:
    """Refuse work that removes before any of it is done: what is condemned and stays would hold up writers.

    Raises:
        VaultRefused: this credential may not delete.
    """
    name = _condemnation(prefix, clock, entropy)
    if vault.can.delete:
        vault.put(name, BytesIO(b""))  # condemns nothing
    try:
        vault.delete(name)
    except VaultRefused as fault:
        fault.hint = "Prune with keys that may delete: holdfast vault prune --credentials FILE"
        raise


def _condemnation(prefix: str, clock: Clock, entropy: Entropy) -> str:
    return f"{prefix}{CONDEMNED}{clock.now_ms()}.{entropy.hex(_CHANCE)}"
