"""What keeps the snapshots of a memory in a vault from being removed: a lock of the place, or a credential that may
only add. Without either, who takes over this machine can erase them."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from holdfast.core.bundle_names import MANIFEST
from holdfast.core.errors import NotFound, SnapshotDamaged, SnapshotTooNew, VaultRefused
from holdfast.core.ports import Protection, Vault
from holdfast.snapshot.chunks.leases import LEASES
from holdfast.snapshot.chunks.reader import PACKS
from holdfast.snapshot.remote.transfer import VaultEntry, is_folder, packs_of, prefix_of, vaulted_manifest
from holdfast.snapshot.repo.context import SnapshotContext

MOST_LOOKED_AT = 300  # names of one snapshot
_AT_ONCE = 8
_WEAKEST_FIRST = ("nothing", "unknown", "governed", "attribute", "lock", "hold")


@dataclass(frozen=True, slots=True)
class VaultProtection:
    """How the newest snapshot in a vault is protected, by that of its files that is protected least."""

    add_only: bool  # the setting of this host
    may_delete: bool | None  # whether the credential of this host may delete; None where it has none
    newest: Protection | None  # None: there is no snapshot
    looked_at: int = 0

    @property
    def any(self) -> bool:
        """Whether anything keeps it."""
        return self.may_delete is False or (self.newest is not None and self.newest.by not in ("nothing", "unknown"))


def look_at_protection(context: SnapshotContext, text: str, found: tuple[VaultEntry, ...]) -> VaultProtection:
    """How the newest of these snapshots in the vault that is named is protected. Tries to remove a name that does not
    exist, which tells whether the credential may delete."""
    add_only = context.settings.vault_append_only
    settings = dataclasses.replace(context.settings, vault_append_only=False)
    vault = dataclasses.replace(context, settings=settings).vault(text)
    newest = next((one for one in found if not one.damaged), None)
    kept = _protections(context, vault, newest) if newest else []
    return VaultProtection(add_only, _may_delete(context, vault), _weakest(kept), len(kept))


def _may_delete(context: SnapshotContext, vault: Vault) -> bool | None:
    if is_folder(vault) or not vault.can.increments:
        return None
    try:
        vault.delete(f"{prefix_of(context.tenant, context.agent)}{LEASES}none.0.{context.entropy.hex(16)}")
    except VaultRefused:
        return False
    return True


def _protections(context: SnapshotContext, vault: Vault, one: VaultEntry) -> list[Protection]:
    prefix = prefix_of(context.tenant, context.agent)
    try:
        bundle = vaulted_manifest(vault, context.tenant, context.agent, one.id).bundle_name
        packs = packs_of(vault, context.tenant, context.agent, one.id)
    except (NotFound, SnapshotDamaged, SnapshotTooNew):
        return []
    names = [f"{prefix}{one.id}{MANIFEST}", f"{prefix}{bundle}", *(f"{prefix}{PACKS}/{pack.name}" for pack in packs)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(vault.protection, names[:MOST_LOOKED_AT]))


def _weakest(found: list[Protection]) -> Protection | None:
    """What keeps the least protected of them, and until when all of them are kept."""
    if not found:
        return None
    ends = [one.until for one in found if one.until is not None]
    return Protection(min((one.by for one in found), key=_WEAKEST_FIRST.index), min(ends, default=None))
