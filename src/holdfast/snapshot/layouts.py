"""In which layout a snapshot goes to a vault: whole, as it lies on the shelf, or as chunks that are stored once.

Chunks need a vault that can take them, the tar in the clear, and a signature by the key that signed the snapshot:
where one of them is missing the snapshot goes whole, which is always possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import zstandard

from holdfast.didkey import verify_signature
from holdfast.errors import NotFound, SnapshotDamaged, SnapshotsBusy, VaultRefused
from holdfast.ports import Parcel, Vault
from holdfast.snapshot.age import Pulled, fingerprint, read_identities, sealing
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.canonical import Malformed
from holdfast.snapshot.carrying import Files, read_files
from holdfast.snapshot.chunks.cutting import Plain, cut_tar
from holdfast.snapshot.chunks.fetching import vaulted_packs, vaulted_recipe
from holdfast.snapshot.chunks.gathering import PACKS, as_stored
from holdfast.snapshot.chunks.known import Known
from holdfast.snapshot.chunks.leases import condemned, leased
from holdfast.snapshot.chunks.packs import Entry
from holdfast.snapshot.chunks.recipe import recipe_bytes
from holdfast.snapshot.chunks.sending import Sending, check_there, packs_there
from holdfast.snapshot.copying import checked
from holdfast.snapshot.learning import known_folder, learn, trusted_packs
from holdfast.snapshot.locks import SnapshotLock
from holdfast.snapshot.manifest import manifest_bytes, recipe_name, signed_bytes
from holdfast.snapshot.pack import tar_again
from holdfast.snapshot.unpack import Plain as Opened, opened
from holdfast.snapshot.values import Body, Capture, Manifest
from holdfast.snapshot.vaulting import deliver, list_vault, prefix_of, read_vaulted, send, take_out

# Below, chunks would save little and cost several requests more, and four small files can be read by anybody.
_WORTH_CHUNKS = 4 << 20


@dataclass(frozen=True, slots=True)
class Fresh:
    """What a snapshot was just packed from, while it is still staged."""

    capture: Capture
    body: Body
    recipients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Clear:
    """The tar of a snapshot in the clear, and for whom it is encrypted again."""

    tar: AbstractContextManager[Plain]
    recipients: tuple[str, ...]


def put(archive: Archive, vault: Vault, id: str, fresh: Fresh | None = None) -> None:
    """Copy a snapshot from the shelf to the vault, in the layout of the settings if that can be.

    Raises:
        SnapshotDamaged: the bytes on the shelf are not those of the manifest.
        Conflict: the vault has other bytes under one of its names.
        SnapshotsBusy: another process or host sends it, or packs were removed meanwhile.
        StorageFull, StorageFailed, UpstreamFailed: the vault did not take it.
    """
    with archive.shelf.hold(id) as one:
        files = read_files(archive.shelf.root, one.id)
        clear = _clear(archive, files.manifest, one.path, fresh) if _wanted(archive, vault, files.manifest) else None
        if clear is None or _is_there_whole(vault, files):
            send(archive.shelf, id, vault)
        else:
            _send_chunks(archive, vault, files.manifest, clear)


def _wanted(archive: Archive, vault: Vault, manifest: Manifest) -> bool:
    layout = archive.settings.vault_layout
    if layout == "whole" or not vault.can.increments:
        return False
    return layout == "chunks" or manifest.body_size >= _WORTH_CHUNKS


def _clear(archive: Archive, manifest: Manifest, body: Path, fresh: Fresh | None) -> _Clear | None:
    """The snapshot's tar, if it can be had and its manifest be signed anew."""
    if manifest.signer is not None and manifest.signer != archive.keyring.own():
        return None
    if fresh is not None:
        return _Clear(_tar_of(fresh), fresh.recipients)
    if not manifest.encrypted:
        return _Clear(opened(body, manifest), ())
    recipients, identity = archive.settings.snapshot_recipients, archive.settings.snapshot_identity
    if not identity or tuple(fingerprint(one) for one in recipients) != manifest.recipients:
        return None
    return _Clear(opened(body, manifest, read_identities(Path(identity).expanduser())), recipients)


@contextmanager
def _tar_of(fresh: Fresh) -> Iterator[Plain]:
    tar = tar_again(fresh.capture, fresh.body, encrypted=bool(fresh.recipients))
    yield Opened(Pulled(tar), fresh.body.size)


def _is_there_whole(vault: Vault, files: Files) -> bool:
    """Whether the vault has the very files of the shelf already."""
    identity = files.manifest.identity
    found = {one.id: one for one in list_vault(vault, identity.tenant, identity.agent)}
    return identity.id in found and not found[identity.id].chunked


def _send_chunks(archive: Archive, vault: Vault, manifest: Manifest, clear: _Clear) -> None:
    key = b""
    if clear.recipients:
        key = archive.keyring.chunk_key("chunks", archive.tenant, archive.agent, *sorted(clear.recipients))
    folder = known_folder(archive, vault, key)
    with SnapshotLock(folder, "send", archive.settings.snapshot_lock_seconds):
        prefix = prefix_of(archive.tenant, archive.agent)
        if _is_whole_in(vault, prefix, manifest):
            return
        known = Known(folder)
        if old := known.lease():  # of a process that was killed: this one has its lock
            vault.delete(old)
        note = known.save_lease
        with leased(vault, prefix, manifest.identity.id, archive.clock, archive.entropy, note) as lease:
            _remove_halves(vault, archive, manifest.identity.id)
            recipe, packs = _put_packs(archive, vault, prefix, known, key, clear)
            sealed = _sealed_again(archive, manifest, recipe)
            lease.check()
            check_there(vault, prefix, packs)
            deliver(vault, Files(sealed, manifest_bytes(sealed)), partial(BytesIO, recipe))
            _look_back(archive, vault, prefix, sealed, packs)


def _put_packs(
    archive: Archive, vault: Vault, prefix: str, known: Known, key: bytes, clear: _Clear
) -> tuple[bytes, tuple[Entry, ...]]:
    """The recipe of the snapshot and its packs, all of which the vault has now."""
    there = trusted_packs(archive, packs_there(vault, prefix))
    known.load(there, key)
    if not known.entries and there:
        learn(archive, vault, known, there, key)
    seal = sealing(clear.recipients) if clear.recipients else as_stored
    try:
        with Sending(vault, prefix, known, key, seal, archive.entropy) as sending, clear.tar as plain:
            sent = sending.send(cut_tar(plain, key))
    except (Malformed, zstandard.ZstdError) as error:
        raise SnapshotDamaged("snapshot: its body on the shelf is damaged") from error
    archive.moved("chunks", sent.new_bytes)
    return recipe_bytes(sent.packs, sent.runs, seal), sent.packs


def _sealed_again(archive: Archive, manifest: Manifest, recipe: bytes) -> Manifest:
    """The manifest with the recipe for its body. What our key signed is signed again, if it really did."""
    name = recipe_name(manifest.identity.id, manifest.encrypted)
    sealed = replace(manifest, body_name=name, body_size=len(recipe), body_sha256=sha256(recipe).hexdigest())
    if manifest.signer is None or manifest.signature is None:
        return sealed
    if not verify_signature(manifest.signer, signed_bytes(manifest), manifest.signature):
        raise SnapshotDamaged("snapshot: the signature is not that of its manifest")
    claimed = replace(sealed, signature=None)
    return replace(claimed, signature=archive.keyring.sign(signed_bytes(claimed)))


def _is_whole_in(vault: Vault, prefix: str, manifest: Manifest) -> bool:
    """Whether the vault has the snapshot already, with all that it needs."""
    identity = manifest.identity
    try:
        there = read_vaulted(vault, identity.tenant, identity.agent, identity.id).manifest
        check_there(vault, prefix, vaulted_packs(vault, prefix, there))
        return True
    except (NotFound, SnapshotDamaged, SnapshotsBusy):
        return False


def _remove_halves(vault: Vault, archive: Archive, id: str) -> None:
    """Take away what an interrupted run left of the same snapshot, or what can no longer be restored of it: it would
    stand in the way of what is sent now. Packs stay."""
    take_out(vault, archive.tenant, archive.agent, id)


def _look_back(archive: Archive, vault: Vault, prefix: str, manifest: Manifest, packs: tuple[Entry, ...]) -> None:
    """Take the snapshot back if somebody removed a pack at the very last moment."""
    try:
        check_there(vault, prefix, packs)
    except SnapshotsBusy:
        take_out(vault, archive.tenant, archive.agent, manifest.identity.id)
        raise


def copy_chunks(archive: Archive, source: Vault, target: Vault, files: Files) -> None:
    """Copy a snapshot that lies in the source as chunks: the packs that the target lacks, then what names them.

    Raises:
        VaultRefused: the target takes no chunks.
        SnapshotDamaged: the source's bytes are not those of the manifest.
        SnapshotsBusy: another host sends it, or the target is about to remove a pack of it.
    """
    if not target.can.increments:
        raise VaultRefused(
            f"vault: {target.place} takes whole snapshots only, and {files.id} lies in chunks",
            hint="Send it from the memory it was made of: holdfast vault sync.",
        )
    prefix = prefix_of(archive.tenant, archive.agent)
    recipe = vaulted_recipe(source, prefix, files.manifest)
    packs = vaulted_packs(source, prefix, files.manifest)
    with leased(target, prefix, files.id, archive.clock, archive.entropy) as lease:
        going, there = condemned(target, prefix), packs_there(target, prefix)
        if any(one.name in going for one in packs):
            raise SnapshotsBusy("vault: somebody is about to remove packs of it", hint="Try again in a moment.")
        for one in packs:
            if there.get(one.name) != one.size:
                target.put_all([Parcel(f"{prefix}{PACKS}/{one.name}", one.size, partial(_pack, source, prefix, one))])
        lease.check()
        check_there(target, prefix, packs)
        deliver(target, files, partial(BytesIO, recipe))
        _look_back(archive, target, prefix, files.manifest, packs)


def _pack(vault: Vault, prefix: str, pack: Entry) -> BinaryIO:
    try:
        return checked(vault.open(f"{prefix}{PACKS}/{pack.name}"), f"pack {pack.name}", pack.size, pack.sha256)
    except NotFound as error:
        raise SnapshotDamaged(f"vault: pack {pack.name} is gone") from error
