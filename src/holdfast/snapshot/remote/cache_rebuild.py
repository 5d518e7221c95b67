"""What a machine that knows nothing of a vault's packs can learn about them, and what it must forget.

The vault's operator could claim chunks that it lacks, and so keep them from being sent: directories are
trusted only if a snapshot names them, and that one is signed where signatures are expected.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from holdfast.core.didkey import verify_signature
from holdfast.core.disk import disk_faults, make_folder
from holdfast.core.errors import IdentityNeeded, NotFound, SnapshotDamaged, SnapshotForeign, SnapshotTooNew
from holdfast.core.ports import Vault
from holdfast.core.session_keys import key_of
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.encryption import opening, read_identities
from holdfast.snapshot.bundle.manifest import signed_bytes
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.chunks.cache import KnownPacks
from holdfast.snapshot.chunks.pack_download import vaulted_packs
from holdfast.snapshot.chunks.packfile import Seal, read_head
from holdfast.snapshot.chunks.reader import PACKS, as_stored
from holdfast.snapshot.remote.transfer import list_vault, prefix_of, read_vaulted
from holdfast.snapshot.repo.context import SnapshotContext

LOCAL_REPOSITORY = "shelf"  # as keyrings and cache keys on disk call it
_USELESS = (Malformed, IdentityNeeded, NotFound, SnapshotDamaged, SnapshotTooNew, SnapshotForeign)


def known_folder(context: SnapshotContext, place: str, key: bytes) -> Path:
    """Where this machine keeps what it knows of the packs in a vault, or in the repository; other keys make other ids,
    so they are kept apart."""
    about = key_of(place, context.tenant, context.agent, sha256(key).hexdigest() if key else "plain")
    return _folders(context) / sha256(about.encode()).hexdigest()[:32]


def _folders(context: SnapshotContext) -> Path:
    return context.home / "cache" / "chunks"


def forget(context: SnapshotContext, fault: SnapshotDamaged) -> None:
    """If the fault names a damaged pack: note it, so that no new snapshot refers to it."""
    name = fault.details.get("pack")
    if isinstance(name, str):
        with disk_faults("note a damaged pack"):
            make_folder(_damaged(context))
            (_damaged(context) / name).touch()


def trusted_packs(context: SnapshotContext, there: dict[str, int]) -> dict[str, int]:
    """Those that were never found damaged from here."""
    return {name: size for name, size in there.items() if not (_damaged(context) / name).exists()}


def believe_again(context: SnapshotContext, name: str) -> None:
    """The pack under the name of a damaged one is the right one now."""
    with disk_faults("note a damaged pack"):
        (_damaged(context) / name).unlink(missing_ok=True)


def _damaged(context: SnapshotContext) -> Path:
    return _folders(context) / "damaged"


def learn(context: SnapshotContext, vault: Vault, known: KnownPacks, there: dict[str, int], key: bytes) -> None:
    """Learn what the newest snapshot is made of, as far as it can be trusted and opened here; an older one may do."""
    identity = context.settings.snapshot_identity
    if key and not identity:
        return  # encrypted ones reveal nothing: everything is sent once more
    unseal = opening(read_identities(identity)) if key else as_stored
    for one in list_vault(vault, context.tenant, context.agent):
        if one.chunked and not one.damaged:
            try:
                manifest = read_vaulted(vault, context.tenant, context.agent, one.id).manifest
                if manifest.encrypted is bool(key) and _is_believed(context, manifest):
                    _learn_from(vault, manifest, known, there, key, unseal)
                    return
            except _USELESS:
                continue


def _learn_from(
    vault: Vault, manifest: Manifest, known: KnownPacks, there: dict[str, int], key: bytes, unseal: Seal
) -> None:
    prefix = prefix_of(manifest.identity.tenant, manifest.identity.agent)
    for pack in vaulted_packs(vault, prefix, manifest):
        if there.get(pack.name) == pack.size:
            with vault.open(f"{prefix}{PACKS}/{pack.name}") as stream:
                directory = read_head(stream, pack, unseal)
            if directory.key == key:
                known.learn(pack, directory)


def _is_believed(context: SnapshotContext, manifest: Manifest) -> bool:
    keyring = context.keyring
    if manifest.signer is None or manifest.signature is None:
        return not keyring.demands()
    if keyring.demands() and not keyring.accepts(manifest.signer):
        return False
    return verify_signature(manifest.signer, signed_bytes(manifest), manifest.signature)
