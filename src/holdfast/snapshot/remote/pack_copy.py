"""A snapshot in chunks from one vault to another, or from the repository: packs are copied as they are, not cut
again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import BinaryIO

from holdfast.core.errors import NotFound, SnapshotDamaged, SnapshotsBusy, VaultRefused
from holdfast.core.ports import Upload, Vault
from holdfast.snapshot.bundle.hashed_copy import checked
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.chunks.leases import condemned, leased, nowhere, try_delete
from holdfast.snapshot.chunks.pack_download import vaulted_chunk_index, vaulted_packs
from holdfast.snapshot.chunks.packfile import PackEntry
from holdfast.snapshot.chunks.reader import PACKS
from holdfast.snapshot.chunks.writer import check_there, packs_there
from holdfast.snapshot.remote.cache_rebuild import believe_again, trusted_packs
from holdfast.snapshot.remote.transfer import deliver, prefix_of, take_out
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.snapshot_files import SnapshotFiles

_CHUNK = 1 << 20


class PackStays(Exception):
    """A pack in the vault is damaged and cannot be replaced from here; what needs it has to go another way."""


def remove_halves(vault: Vault, context: SnapshotContext, id: str) -> bool:
    """Take away what an interrupted run left of the same snapshot, or what can no longer be restored of it: it would
    stand in the way of what is sent now. Packs stay. False: it does, as this host may only add."""
    try:
        take_out(vault, context.tenant, context.agent, id)
    except VaultRefused:
        return False
    return True


def recheck_packs(
    context: SnapshotContext, vault: Vault, prefix: str, manifest: Manifest, packs: tuple[PackEntry, ...]
) -> None:
    """Take the snapshot back if another process removed a pack at the very last moment."""
    try:
        check_there(vault, prefix, packs)
    except SnapshotsBusy:
        remove_halves(vault, context, manifest.identity.id)
        raise


def copy_chunks(
    context: SnapshotContext,
    source: Vault,
    target: Vault,
    files: SnapshotFiles,
    noted: Callable[[str | None], None] = nowhere,
    *,
    again: bool = False,
) -> int:
    """Copy a snapshot that lies in the source as chunks: the packs that the target lacks, then what names them; the
    bytes of those packs. With `again` what the target has of it, which is not whole, makes room, and so do packs there
    that were found damaged: the source has the right ones.

    Raises:
        VaultRefused: the target takes no chunks.
        PackStays: a pack of the target is damaged, and this host may not remove it.
        SnapshotDamaged: the source's bytes are not those of the manifest.
        SnapshotsBusy: another host sends it, or the target is about to remove a pack of it.
    """
    if not target.can.increments:
        raise VaultRefused(
            f"vault: {target.place} supports whole snapshots only, and {files.id} is stored in chunks",
            hint="Upload it from the memory it was created in: holdfast vault sync",
        )
    prefix = prefix_of(context.tenant, context.agent)
    chunk_index = vaulted_chunk_index(source, prefix, files.manifest)
    packs = vaulted_packs(source, prefix, files.manifest)
    with leased(target, prefix, files.id, context.clock, context.entropy, noted) as lease:
        going, there = condemned(target, prefix), packs_there(target, prefix)
        if any(one.name in going for one in packs):
            raise SnapshotsBusy(
                "vault: another host is pruning it",
                hint="Retry in a few seconds. If no host is pruning the vault, run holdfast vault prune --tidy on it.",
            )
        if again:
            remove_halves(target, context, files.id)
            there = _without_damaged(context, target, prefix, packs, there)
        lacking = [one for one in packs if there.get(one.name) != one.size]
        for one in lacking:
            target.put_all([Upload(f"{prefix}{PACKS}/{one.name}", one.size, partial(_pack, source, prefix, one))])
        lease.check()
        check_there(target, prefix, packs)
        deliver(target, files, partial(BytesIO, chunk_index))
        recheck_packs(context, target, prefix, files.manifest, packs)
    return sum(one.size for one in lacking)


def _pack(vault: Vault, prefix: str, pack: PackEntry) -> BinaryIO:
    try:
        return checked(vault.open(f"{prefix}{PACKS}/{pack.name}"), f"pack {pack.name}", pack.size, pack.sha256)
    except NotFound as error:
        raise SnapshotDamaged(f"vault: pack {pack.name} is missing") from error


def _without_damaged(
    context: SnapshotContext, vault: Vault, prefix: str, packs: tuple[PackEntry, ...], there: dict[str, int]
) -> dict[str, int]:
    """The packs that are there, once those are removed that have other bytes than they should. Only what looks wrong or
    was found so is read: names are random, so nothing else can have one."""
    believed = trusted_packs(context, there)
    for one in packs:
        if one.name in there and believed.get(one.name) != one.size:
            if not _is_sound(vault, prefix, one):
                if not try_delete(vault, f"{prefix}{PACKS}/{one.name}"):
                    raise PackStays(one.name)
                there = {name: size for name, size in there.items() if name != one.name}
            believe_again(context, one.name)
    return there


def _is_sound(vault: Vault, prefix: str, pack: PackEntry) -> bool:
    try:
        with _pack(vault, prefix, pack) as stream:
            while stream.read(_CHUNK):
                pass
    except SnapshotDamaged:
        return False
    return True
