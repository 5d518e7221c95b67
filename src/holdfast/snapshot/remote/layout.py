"""In which layout a snapshot goes to a vault: whole, or as chunks that are stored once.

It can always be sent as it is in the repository. The other layout needs the tar in the clear, and a signature by
the key that signed the snapshot: where one of them is missing it is sent as it is, if the vault takes that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import zstandard

from holdfast.core.age import PullReader
from holdfast.core.didkey import verify_signature
from holdfast.core.errors import NotFound, SnapshotDamaged, SnapshotsBusy, VaultRefused
from holdfast.core.ports import Vault
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.encryption import fingerprint, read_identities, sealing
from holdfast.snapshot.bundle.hashed_copy import open_file
from holdfast.snapshot.bundle.manifest import bundle_name, chunk_index_name, manifest_bytes, read_manifest, signed_bytes
from holdfast.snapshot.bundle.reader import DecompressedTar, opened
from holdfast.snapshot.bundle.types import BundleFile, Capture, Manifest
from holdfast.snapshot.bundle.writer import pack_tar, tar_again
from holdfast.snapshot.chunks.cache import KnownPacks
from holdfast.snapshot.chunks.chunk_index import chunk_index_bytes, read_packs
from holdfast.snapshot.chunks.chunker import ByteReader, cut_tar
from holdfast.snapshot.chunks.leases import end_lease, leased
from holdfast.snapshot.chunks.pack_download import vaulted_packs
from holdfast.snapshot.chunks.packfile import Seal
from holdfast.snapshot.chunks.reader import as_stored
from holdfast.snapshot.chunks.writer import ChunkWriter, WrittenChunks, check_there, packs_there
from holdfast.snapshot.remote.cache_rebuild import known_folder, learn, trusted_packs
from holdfast.snapshot.remote.pack_copy import PackStays, copy_chunks, recheck_packs, remove_halves
from holdfast.snapshot.remote.transfer import deliver, list_vault, prefix_of, read_vaulted, send
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.lock import SnapshotLock
from holdfast.snapshot.repo.paths import SHELVES
from holdfast.snapshot.repo.snapshot_files import SnapshotFiles, read_files
from holdfast.vault.local import LocalVault
from holdfast.vault.restriction import ReadOnly

# Below, chunks would save little and cost several requests more, and four small files can be read by any tool.
_WORTH_CHUNKS = 4 << 20
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class StagedMemory:
    """What a snapshot was just packed from, while it is still staged."""

    capture: Capture
    bundle: BundleFile
    recipients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _DecryptedTar:
    """The tar of a snapshot in the clear, and for whom it is encrypted again."""

    tar: AbstractContextManager[ByteReader]
    recipients: tuple[str, ...]


def put(context: SnapshotContext, vault: Vault, id: str, fresh: StagedMemory | None = None) -> None:
    """Copy a snapshot from the repository to the vault, in the layout of the settings if that can be.

    Raises:
        SnapshotDamaged: the bytes in the repository are not those of the manifest.
        Conflict: the vault has other bytes under one of its names.
        SnapshotsBusy: another process or host sends it, or packs were removed meanwhile.
        StorageFull, StorageFailed, UpstreamFailed: the vault did not take it.
    """
    with context.repo.hold(id) as one:
        files = read_files(context.repo.root, one.id)
        if files.manifest.chunked and takes_chunks(context, vault):
            try:
                _copy_from_repo(context, vault, files)
            except PackStays:
                _refuse_damaged(vault, files.manifest)
                _send_whole(context, vault, files.manifest, _clear(context, files.manifest, one.path, fresh))
        elif files.manifest.chunked:
            _send_whole(context, vault, files.manifest, _clear(context, files.manifest, one.path, fresh))
        else:
            wanted = takes_chunks(context, vault) and _is_worth_chunks(context, files.manifest)
            clear = _clear(context, files.manifest, one.path, fresh) if wanted else None
            if clear is None or _is_there_whole(vault, files):
                send(context.repo, id, vault)
            else:
                _send_chunks(context, vault, files.manifest, clear)


def takes_chunks(context: SnapshotContext, vault: Vault) -> bool:
    """Whether snapshots may lie in the vault as chunks."""
    return context.settings.vault_layout != "whole" and vault.can.increments


def _is_worth_chunks(context: SnapshotContext, manifest: Manifest) -> bool:
    return context.settings.vault_layout == "chunks" or manifest.bundle_size >= _WORTH_CHUNKS


def repo_as_vault(context: SnapshotContext) -> Vault:
    """All repositories of the data folder, which are laid out as a vault is, to be read."""
    return ReadOnly(LocalVault(context.home / SHELVES))


def key_and_seal(context: SnapshotContext, recipients: Sequence[str]) -> tuple[bytes, Seal]:
    """The key that names chunks for these recipients, and what seals them."""
    if not recipients:
        return b"", as_stored
    key = context.keyring.chunk_key("chunks", context.tenant, context.agent, *sorted(recipients))
    return key, sealing(recipients)


def _clear(
    context: SnapshotContext, manifest: Manifest, bundle: Path, fresh: StagedMemory | None
) -> _DecryptedTar | None:
    """The snapshot's tar, if it can be had and its manifest be signed anew."""
    if manifest.signer is not None and manifest.signer != context.keyring.own():
        return None
    if fresh is not None:
        return _DecryptedTar(_tar_of(fresh), fresh.recipients)
    if not manifest.encrypted:
        return _DecryptedTar(opened(bundle, manifest), ())
    recipients, identity = context.settings.snapshot_recipients, context.settings.snapshot_identity
    if not identity or tuple(fingerprint(one) for one in recipients) != manifest.recipients:
        return None
    return _DecryptedTar(opened(bundle, manifest, read_identities(identity)), recipients)


@contextmanager
def _tar_of(fresh: StagedMemory) -> Iterator[ByteReader]:
    tar = tar_again(fresh.capture, fresh.bundle, encrypted=bool(fresh.recipients))
    yield DecompressedTar(PullReader(tar), sum(one.size for one in fresh.bundle.artifacts))


def _is_there_whole(vault: Vault, files: SnapshotFiles) -> bool:
    """Whether the vault has the very files of the repository already."""
    identity = files.manifest.identity
    found = {one.id: one for one in list_vault(vault, identity.tenant, identity.agent)}
    return identity.id in found and not found[identity.id].chunked


def _send_whole(context: SnapshotContext, vault: Vault, manifest: Manifest, clear: _DecryptedTar | None) -> None:
    """Send what lies in the repository as chunks to a vault that takes none: packed into one bundle on the way."""
    if clear is None:
        raise VaultRefused(
            f"vault: {vault.place} supports whole snapshots only, and {manifest.identity.id} is stored in "
            "chunks that cannot be decrypted and resealed here",
            hint="Use a vault that supports chunks, or set HOLDFAST_SNAPSHOT_IDENTITY and "
            "HOLDFAST_SNAPSHOT_RECIPIENTS.",
        )
    if _is_listed(vault, manifest):
        return
    with context.repo.staging() as staging:
        name = bundle_name(manifest.identity.id, manifest.encrypted)
        with _repo_damage(), clear.tar as plain:
            size, digest = pack_tar(_pieces(plain), staging / name, clear.recipients)
        sealed = _sealed_again(context, manifest, name, size, digest)
        deliver(vault, SnapshotFiles(sealed, manifest_bytes(sealed)), partial(open_file, staging / name))


def _pieces(plain: ByteReader) -> Iterator[memoryview]:
    while piece := plain.some(_PIECE):
        yield piece


def _is_listed(vault: Vault, manifest: Manifest) -> bool:
    identity = manifest.identity
    found = list_vault(vault, identity.tenant, identity.agent)
    return any(one.id == identity.id and not one.damaged for one in found)


@contextmanager
def _repo_damage() -> Iterator[None]:
    try:
        yield
    except (Malformed, zstandard.ZstdError) as error:
        raise SnapshotDamaged("snapshot: its bundle in the repository is damaged") from error


def _send_chunks(context: SnapshotContext, vault: Vault, manifest: Manifest, clear: _DecryptedTar) -> None:
    key, seal = key_and_seal(context, clear.recipients)
    with _sender(context, vault, manifest, key) as known:
        if known is None:
            return
        prefix, id = prefix_of(context.tenant, context.agent), manifest.identity.id
        with leased(vault, prefix, id, context.clock, context.entropy, known.save_lease) as lease:
            if remove_halves(vault, context, id):
                sent = _put_packs(context, vault, prefix, known, key, seal, clear)
                chunk_index = chunk_index_bytes(sent.packs, sent.runs, seal)
                name, digest = chunk_index_name(id, manifest.encrypted), sha256(chunk_index).hexdigest()
                sealed = _sealed_again(context, manifest, name, len(chunk_index), digest)
                known.save_delivery(manifest_bytes(sealed), chunk_index)
            else:
                sealed, chunk_index = _begun(vault, manifest, known)
            packs = read_packs(chunk_index)
            lease.check()
            check_there(vault, prefix, packs)
            deliver(vault, SnapshotFiles(sealed, manifest_bytes(sealed)), partial(BytesIO, chunk_index))
            recheck_packs(context, vault, prefix, sealed, packs)


def _begun(vault: Vault, manifest: Manifest, known: KnownPacks) -> tuple[Manifest, bytes]:
    """The manifest and the chunk index of a delivery that was interrupted, where none of it can be removed."""
    _refuse_damaged(vault, manifest)
    found = known.delivery()
    sealed = read_manifest(found[0]) if found else None
    if found is None or sealed is None or sealed.identity != manifest.identity:
        raise _stays(manifest)
    return sealed, found[1]


def _refuse_damaged(vault: Vault, manifest: Manifest) -> None:
    """Refuse to send what lies in the vault already and is not whole, where this host may only add."""
    identity = manifest.identity
    if any(one.id == identity.id for one in list_vault(vault, identity.tenant, identity.agent)):
        raise _stays(manifest)


def _stays(manifest: Manifest) -> VaultRefused:
    return VaultRefused(
        f"vault: {manifest.identity.id} is damaged there, and this host may not replace it",
        hint="The next snapshot is complete by itself. With keys that may delete, holdfast vault sync replaces it.",
    )


@contextmanager
def _sender(context: SnapshotContext, vault: Vault, manifest: Manifest, key: bytes) -> Iterator[KnownPacks | None]:
    """The only sender on this machine to the vault with that key, and what it knows of the packs there; None
    if the vault has the snapshot already."""
    folder = known_folder(context, vault.place, key)
    with SnapshotLock(folder, "send", context.settings.snapshot_lock_seconds):
        if _is_whole_in(vault, prefix_of(context.tenant, context.agent), manifest):
            yield None
            return
        known = KnownPacks(folder)
        if old := known.lease():  # of a process that was killed: this one has its lock
            end_lease(vault, old)
        yield known


def _copy_from_repo(context: SnapshotContext, vault: Vault, files: SnapshotFiles) -> None:
    """Copy what lies in the repository as chunks: packs are copied, not cut again."""
    with _sender(context, vault, files.manifest, b"") as known:
        if known is not None:
            sent = copy_chunks(context, repo_as_vault(context), vault, files, known.save_lease, again=True)
            context.moved("chunks", sent)


def _put_packs(
    context: SnapshotContext, vault: Vault, prefix: str, known: KnownPacks, key: bytes, seal: Seal, clear: _DecryptedTar
) -> WrittenChunks:
    """What the snapshot consists of, all of which the vault has now."""
    there = trusted_packs(context, packs_there(vault, prefix))
    known.load(there, key)
    if not known.entries and there:
        learn(context, vault, known, there, key)
    with _repo_damage(), ChunkWriter(vault, prefix, known, key, seal, context.entropy) as sending, clear.tar as plain:
        sent = sending.send(cut_tar(plain, key))
    context.moved("chunks", sent.new_bytes)
    return sent


def _sealed_again(context: SnapshotContext, manifest: Manifest, name: str, size: int, digest: str) -> Manifest:
    """The manifest with another bundle. What our key signed is signed again, if it really did."""
    sealed = replace(manifest, bundle_name=name, bundle_size=size, bundle_sha256=digest)
    if manifest.signer is None or manifest.signature is None:
        return sealed
    if not verify_signature(manifest.signer, signed_bytes(manifest), manifest.signature):
        raise SnapshotDamaged("snapshot: the signature does not match the manifest")
    claimed = replace(sealed, signature=None)
    return replace(claimed, signature=context.keyring.sign(signed_bytes(claimed)))


def _is_whole_in(vault: Vault, prefix: str, manifest: Manifest) -> bool:
    """Whether the vault has the snapshot already, with all that it needs."""
    identity = manifest.identity
    try:
        there = read_vaulted(vault, identity.tenant, identity.agent, identity.id).manifest
        if there.chunked:
            check_there(vault, prefix, vaulted_packs(vault, prefix, there))
        return True
    except (NotFound, SnapshotDamaged, SnapshotsBusy):
        return False
