"""The start of an empty data folder: what lies in the vault is brought back before anything is written.

While it cannot be, nothing is read and nothing is written. A memory that began empty in its place would look like the
newest one, would answer "nothing found", and its first write would keep the vault's memory from coming back by itself.
What hooks send meanwhile is refused for now and spooled by them.

A folder is empty without a generation, whatever keys, locks, logs or spooled events lie in it, and also with one that
holds no memory and never had a snapshot: a process that did not know the vault began that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.errors import (
    DataDamaged,
    Fault,
    IdentityNeeded,
    InvalidRequest,
    InvalidSettings,
    RestorePending,
    SnapshotDamaged,
    SnapshotOlder,
    SnapshotUntrusted,
    VaultRefused,
)
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.compacts import Compacts, is_colony
from holdfast.snapshot.finding import LATEST, Named
from holdfast.snapshot.memory import folders_of
from holdfast.snapshot.restore import plant, restore
from holdfast.snapshot.switching import ORIGIN
from holdfast.snapshot.vaulting import is_missing, list_vault
from holdfast.store.damage import RESTORE
from holdfast.store.folder import DataFolder
from holdfast.store.port import Reader
from holdfast.store.tables import ANSWERS, AUDIT, TOKENS

# What is done to a folder before there is any memory in it.
_PREPARING = frozenset({"token_create", "token_revoke", "key_new", "key_trust", "key_untrust", "key_follow"})
_LOOKED_AT = 100


def begin_from_vault(archive: Archive, folder: DataFolder) -> str | None:
    """Restore the newest snapshot of this memory into a folder without a generation; its id, or None if the vault holds
    none.

    Raises:
        RestorePending: it could not be restored; the hint says what to do.
        InvalidSettings: the settings name no vault.
    """
    with _pending(archive):
        if not has_any(archive):
            return None
        return plant(archive, Named(LATEST, vault=archive.settings.vault), folder).manifest.identity.id


def fill_from_vault(archive: Archive) -> str | None:
    """The same for a live memory with nothing in it. Its tokens stay. Faults as of `begin_from_vault`."""
    with _pending(archive):
        if not has_any(archive):
            return None
        return restore(archive, Named(LATEST, vault=archive.settings.vault)).manifest.identity.id


def is_blank(archive: Archive, reader: Reader) -> bool:
    """Whether a memory was begun here and nothing was ever put into it: no record, no snapshot, no restore."""
    folder = DataFolder(archive.home)
    if archive.shelf.newest_expected() or (archive.home / folder.current() / ORIGIN).exists():
        return False
    stored = set(reader.sizes()) - {table.name for table in (AUDIT, TOKENS, ANSWERS)}
    if stored or any(one.path.exists() for one in folders_of(archive)):
        return False
    done = reader.find(AUDIT, archive.tenant, limit=_LOOKED_AT)
    return len(done) < _LOOKED_AT and all(one.operation in _PREPARING for one in done)


def has_any(archive: Archive) -> bool:
    """Whether the vault holds a snapshot of this memory. One that cannot be asked is not empty."""
    place = archive.settings.vault
    if is_colony(place):
        return Compacts(archive, place).newest() is not None
    vault = archive.vault(place)
    if is_missing(vault):
        raise VaultRefused(
            f"vault: {vault.place} is not there, and this memory may be in it",
            hint="Mount the disk that it lies on, or set HOLDFAST_VAULT to where it is now: the memory then comes back "
            "by itself. Only if nothing was ever kept in this vault, make its folder.",
        )
    return bool(list_vault(vault, archive.tenant, archive.agent))


@contextmanager
def _pending(archive: Archive) -> Iterator[None]:
    try:
        yield
    except InvalidSettings:  # no vault that could be asked again
        raise
    except Fault as cause:
        pending = RestorePending(
            f"the memory in the vault was not restored yet: {_plain(cause.message)}",
            hint=_way_back(archive, cause),
            details={"cause": cause.code},
        )
        pending.exit_code = cause.exit_code
        raise pending from cause


def _plain(message: str) -> str:
    return message.removeprefix("snapshot: ").removeprefix("vault: ")


def _way_back(archive: Archive, cause: Fault) -> str:
    """The one command, or the one thing to do, that brings the memory back."""
    if isinstance(cause, SnapshotUntrusted):
        signer = cause.details.get("signer")
        if isinstance(signer, str):
            return f"If these snapshots are yours, trust the key that signed them: {_restoring('--trust', signer)}"
        return f"If these snapshots are yours, take them unsigned: {_restoring('--allow-unsigned')}"
    if isinstance(cause, SnapshotOlder):
        return f"If this is the newest that is left, take it: {_restoring('--allow-older')}"
    if isinstance(cause, IdentityNeeded | InvalidRequest):
        said = "" if isinstance(cause, IdentityNeeded) else f"{cause.message}. "
        return (
            f"{said}Set HOLDFAST_SNAPSHOT_IDENTITY to the file with the age identity that opens it, or name that file "
            f"once: {_restoring('--identity', 'FILE')}"
        )
    if isinstance(cause, SnapshotDamaged | DataDamaged):
        return _older(archive)
    return cause.hint


def _restoring(*words: str) -> str:
    return RESTORE.replace("--yes", " ".join((*words, "--yes")))


def _older(archive: Archive) -> str:
    """The newest in the vault is damaged: which one to begin with instead."""
    place = archive.settings.vault
    try:
        found = [] if is_colony(place) else list_vault(archive.vault(place), archive.tenant, archive.agent)
    except Fault:
        found = []
    whole = next((one.id for one in found[1:] if not one.damaged), None)
    if whole is None:
        return "The newest snapshot in the vault is damaged, and there is no older one. See: holdfast vault verify"
    return (
        "The newest snapshot in the vault is damaged. Begin with the one before it: "
        f"holdfast snapshot restore {whole} --yes"
    )
