"""Snapshots sent to a vault and fetched from it.

In the vault a snapshot has the same files as in the repository, below the two folder names of its memory. The manifest
is sent last and read first, so a snapshot that has one is whole there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from shlex import quote
from typing import BinaryIO

from holdfast.core.bundle_names import BUNDLES, CHUNK_INDEXES, MANIFEST, SIDECAR
from holdfast.core.disk import disk_faults
from holdfast.core.errors import Conflict, NotFound, SnapshotDamaged, SnapshotForeign, SnapshotTooNew, VaultRefused
from holdfast.core.ports import Upload, Vault, VaultObject
from holdfast.snapshot.bundle.hashed_copy import checked, copy_new, open_file
from holdfast.snapshot.bundle.manifest import is_id, read_manifest
from holdfast.snapshot.bundle.types import Identity, Manifest
from holdfast.snapshot.chunks.pack_download import fetch_packs, vaulted_packs
from holdfast.snapshot.chunks.packfile import PackEntry
from holdfast.snapshot.chunks.reader import PACKS
from holdfast.snapshot.repo.entries import MOST_MANIFEST, SnapshotEntry, check_names
from holdfast.snapshot.repo.latest import choose
from holdfast.snapshot.repo.paths import parse_id, place_of, sequence_of, split_name
from holdfast.snapshot.repo.repository import SnapshotRepository
from holdfast.snapshot.repo.snapshot_files import SnapshotFiles, read_files

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class VaultEntry:
    """A snapshot in a vault, as far as names and sizes show."""

    id: str
    size: int  # of all its files; packs belong to several
    damaged: str | None
    chunked: bool = False

    @property
    def sequence(self) -> int:
        return sequence_of(self.id)


def is_folder(vault: Vault) -> bool:
    """Whether it is a folder of this machine, or mounted on it."""
    return Path(vault.place).is_absolute()


def is_missing(vault: Vault) -> bool:
    """Whether the folder is missing, though its parent is there: a wrong name, a disk that is not mounted, or a vault
    that nothing was put into yet."""
    return is_folder(vault) and not Path(vault.place).exists()


def must_be_there(vault: Vault) -> None:
    """Before something is read from it: a missing folder must not count as an empty, sound vault.

    Raises:
        VaultRefused: it is a folder that does not exist.
    """
    if is_missing(vault):
        raise VaultRefused(f"vault: {vault.place} does not exist", hint="Correct its name, or mount its disk.")


def list_vault(vault: Vault, tenant: str, agent: str) -> list[VaultEntry]:
    """The snapshots of a memory in the vault, newest first; without a manifest it is no snapshot, or not yet."""
    prefix = prefix_of(tenant, agent)
    sizes: dict[str, dict[str, int]] = {}
    for one in vault.list(prefix):
        if parts := split_name(one.name.removeprefix(prefix)):
            sizes.setdefault(parts[0], {})[parts[1]] = one.size
    found = [
        VaultEntry(id, sum(some.values()), _missing(some), any(one in some for one in CHUNK_INDEXES))
        for id, some in sizes.items()
        if MANIFEST in some
    ]
    return sorted(found, key=lambda one: (one.sequence, one.id), reverse=True)


def leftovers(vault: Vault, tenant: str, agent: str) -> list[VaultObject]:
    """Files of snapshots without a manifest: sent halfway, or removed halfway."""
    prefix = prefix_of(tenant, agent)
    found = [(one, parts) for one in vault.list(prefix) if (parts := split_name(one.name.removeprefix(prefix)))]
    whole = {id for _, (id, suffix) in found if suffix == MANIFEST}
    return [one for one, (id, _) in found if id not in whole]


def take_out(vault: Vault, tenant: str, agent: str, id: str) -> None:
    """Remove a snapshot from the vault; the manifest goes first, so that an interrupted removal leaves no snapshot."""
    prefix = f"{prefix_of(tenant, agent)}{id}"
    there = [one.name for one in vault.list(f"{prefix}.")]
    for name in sorted(there, key=lambda name: name != f"{prefix}{MANIFEST}"):
        vault.delete(name)


def open_bundle(vault: Vault, manifest: Manifest) -> BinaryIO:
    """The bundle that a manifest in the vault names; its readers check whether it is the right one."""
    try:
        return vault.open(f"{prefix_of(manifest.identity.tenant, manifest.identity.agent)}{manifest.bundle_name}")
    except NotFound as error:
        raise SnapshotDamaged(f"vault: {manifest.bundle_name} is missing") from error


def _missing(sizes: dict[str, int]) -> str | None:
    bundles = [suffix for suffix in BUNDLES if suffix in sizes]
    if not bundles:
        return "its bundle is missing"
    # What was sent halfway in the other layout may lie beside it.
    bundle = next((suffix for suffix in bundles if f"{suffix}{SIDECAR}" in sizes), bundles[0])
    gone = [suffix for suffix in (f"{bundle}{SIDECAR}", f"{MANIFEST}{SIDECAR}") if suffix not in sizes]
    return f"missing: {', '.join(gone)}" if gone else None


def prefix_of(tenant: str, agent: str) -> str:
    """The prefix of a memory's names in a vault."""
    return "/".join((*place_of(tenant, agent), ""))


def send(repo: SnapshotRepository, id: str, vault: Vault) -> None:
    """Copy a snapshot to the vault. What is there already with the same bytes is left; so it can be tried again.

    Raises:
        SnapshotDamaged: the bytes in the repository are not those of the manifest.
        Conflict: the vault has other bytes under one of its names.
        VaultFull, UpstreamFailed: the vault did not take them.
    """
    with repo.hold(id) as one:
        files = read_files(repo.root, one.id)

        def bundle() -> BinaryIO:
            with disk_faults(f"send {files.id}"):
                return open_file(one.path)

        deliver(vault, files, bundle)


def deliver(vault: Vault, files: SnapshotFiles, bundle: Callable[[], BinaryIO]) -> None:
    """Put a snapshot's files, of which `bundle` opens the large one, wherever it comes from. Faults as of `send`."""
    identity = files.manifest.identity
    prefix = prefix_of(identity.tenant, identity.agent)
    items = _items(files, prefix, bundle)
    there = {named.name: named for named in vault.list(f"{prefix}{files.id}.")}
    for item in items:
        if item.parcel.name in there:
            _check_same(vault, there[item.parcel.name], item.sha256)
    _put_missing(vault, [item for item in items if item.parcel.name not in there])


@dataclass(frozen=True, slots=True)
class _Item:
    """One file of a snapshot on its way, and what its bytes must be."""

    parcel: Upload
    sha256: str


def _items(files: SnapshotFiles, prefix: str, bundle: Callable[[], BinaryIO]) -> list[_Item]:
    """All files of the snapshot in the order in which they are sent."""
    manifest = files.manifest

    def checked_bundle() -> BinaryIO:
        return checked(bundle(), manifest.bundle_name, manifest.bundle_size, manifest.bundle_sha256)

    return [
        _Item(Upload(f"{prefix}{manifest.bundle_name}", manifest.bundle_size, checked_bundle), manifest.bundle_sha256),
        *(
            _Item(Upload(f"{prefix}{name}", len(data), partial(BytesIO, data)), sha256(data).hexdigest())
            for name, data in files.small.items()
        ),
    ]


def _put_missing(vault: Vault, items: list[_Item]) -> None:
    try:
        return vault.put_all([item.parcel for item in items])
    except Conflict:
        pass  # another process just sent some of it
    for item in items:
        try:
            vault.put_all([item.parcel])
        except Conflict:
            _check_same(vault, vault.stat(item.parcel.name), item.sha256)


def _check_same(vault: Vault, there: VaultObject, digest: str) -> None:
    """Refuse other bytes in place of ours. The vault's account of them is enough: they are verified when used."""
    if (there.sha256 or _digest(vault, there.name)) != digest:
        raise Conflict(
            f"vault: {there.name} exists with different content", hint="Another writer may be using this vault."
        )


def _digest(vault: Vault, name: str) -> str:
    hashed = sha256()
    with _reading(vault, name) as stream:
        while piece := stream.read(_CHUNK):
            hashed.update(piece)
    return hashed.hexdigest()


@contextmanager
def _reading(vault: Vault, name: str) -> Iterator[BinaryIO]:
    with vault.open(name) as stream, disk_faults(f"vault: read {name}"):
        yield stream


def fetch(vault: Vault, tenant: str, agent: str, id: str | None, into: SnapshotRepository) -> SnapshotEntry:
    """Copy a snapshot of a memory, the latest if no id is given, from the vault to the repository.

    Its files must agree with each other; `verify` decides whether its signer can be trusted.

    Raises:
        NotFound: the vault has none.
        SnapshotDamaged, SnapshotTooNew: the vault's bytes are not those of a snapshot that can be read here.
        SnapshotForeign: it is of another memory.
        Conflict: another snapshot of that id is in the repository.
    """
    files = read_vaulted(vault, tenant, agent, latest_in(vault, tenant, agent).id if id is None else id)
    if (there := into.has(files)) is not None:
        return there
    manifest = files.manifest
    name = f"{prefix_of(tenant, agent)}{manifest.bundle_name}"
    _check_size(vault, name, manifest.bundle_size)
    with into.staging() as staging:
        target = staging / manifest.bundle_name
        with _reading(vault, name) as stream, disk_faults(f"fetch {files.id}"):
            copy_new(checked(stream, manifest.bundle_name, manifest.bundle_size, manifest.bundle_sha256), target)
        if manifest.chunked:
            fetch_packs(vault, prefix_of(tenant, agent), target, manifest, staging)
        into.put(target, manifest, files.data)
    return into.find(files.id)


@dataclass(frozen=True, slots=True)
class LatestInVault:
    """What `latest` means in a vault, and which newer ones were passed over, by their manifests."""

    id: str
    passed: tuple[Manifest, ...] = ()


def latest_in(vault: Vault, tenant: str, agent: str) -> LatestInVault:
    """The newest there that no restore or undo gave up. One that cannot be read is not passed over: nothing but its
    name shows that it is there, and an old one must not come in its place unnoticed.

    Raises:
        NotFound: the vault has none.
    """
    found = list_vault(vault, tenant, agent)
    if not found:
        raise NotFound(
            f"vault: {vault.place} has no snapshot of this memory",
            hint="Check the vault, and that AGENT_ID is the agent whose snapshots it has.",
        )
    read: list[Manifest] = []

    def identity_of(one: VaultEntry) -> Identity | None:
        try:
            read.append(vaulted_manifest(vault, tenant, agent, one.id))
        except (NotFound, SnapshotDamaged, SnapshotTooNew):
            return None
        return read[-1].identity

    chosen = choose(found, identity_of)
    if chosen is None:  # nothing else was ever sent
        return LatestInVault(found[0].id)
    return LatestInVault(chosen.id, tuple(one for one in read if one.identity.id != chosen.id))


def id_in(vault: Vault, tenant: str, agent: str, name: str) -> str:
    """The id in the vault that begins so.

    Raises:
        NotFound: there is none. Conflict: several ids begin so.
    """
    found = [name] if is_id(name) else [one.id for one in list_vault(vault, tenant, agent) if one.id.startswith(name)]
    if not found:
        raise NotFound(
            f"vault: {vault.place} has no snapshot {name[:60]!r}",
            hint=f"List its snapshots: holdfast vault list {quote(vault.place)}",
        )
    if len(found) > 1:
        raise Conflict(f"vault: several ids begin with {name[:60]!r}", hint="Use a longer prefix of the id.")
    return found[0]


def read_vaulted(vault: Vault, tenant: str, agent: str, id: str) -> SnapshotFiles:
    """The manifest in the vault, which must be of that memory and agree with both sidecars.

    Raises:
        NotFound: there is none.
        SnapshotDamaged, SnapshotTooNew, SnapshotForeign: it cannot be used.
    """
    files = _vaulted_manifest(vault, tenant, agent, id)
    prefix, manifest = prefix_of(tenant, agent), files.manifest
    if (manifest.identity.tenant, manifest.identity.agent) != (tenant, agent):
        raise SnapshotForeign(f"vault: {id} belongs to another memory")
    for name, content in files.sidecars.items():
        try:
            same = _small(vault, f"{prefix}{name}", len(content)) == content
        except NotFound as error:
            raise SnapshotDamaged(f"vault: {name} is missing") from error
        if not same:
            raise SnapshotDamaged(f"vault: {name} differs from the manifest")
    return files


def vaulted_manifest(vault: Vault, tenant: str, agent: str, id: str) -> Manifest:
    """The manifest in the vault, whether or not the rest agrees with it. Faults as of `read_vaulted`."""
    return _vaulted_manifest(vault, tenant, agent, id).manifest


def _vaulted_manifest(vault: Vault, tenant: str, agent: str, id: str) -> SnapshotFiles:
    parse_id(id)
    data = _small(vault, f"{prefix_of(tenant, agent)}{id}{MANIFEST}", MOST_MANIFEST)
    manifest = read_manifest(data)
    check_names(manifest, id)
    return SnapshotFiles(manifest, data)


def packs_of(vault: Vault, tenant: str, agent: str, id: str) -> tuple[PackEntry, ...]:
    """The packs that a snapshot in the vault needs; none if it lies there whole, or is gone by now.

    Raises:
        SnapshotDamaged, SnapshotTooNew: it cannot be determined.
    """
    prefix = prefix_of(tenant, agent)
    try:
        manifest = vaulted_manifest(vault, tenant, agent, id)
        return vaulted_packs(vault, prefix, manifest) if manifest.chunked else ()
    except NotFound:
        return ()
    except SnapshotDamaged:
        if any(one.name == f"{prefix}{id}{MANIFEST}" for one in vault.list(f"{prefix}{id}.")):
            raise
        return ()  # another process just removed it


def needed_packs(vault: Vault, tenant: str, agent: str, but: Collection[str] = ()) -> set[str]:
    """The packs that the snapshots in the vault need, but for those of these ids. Faults as of `packs_of`."""
    ids = (one.id for one in list_vault(vault, tenant, agent) if one.id not in but)
    return {pack.name for id in ids for pack in packs_of(vault, tenant, agent, id)}


def with_packs(vault: Vault, tenant: str, agent: str, found: list[VaultEntry]) -> list[VaultEntry]:
    """The same snapshots; those whose packs are not all there are damaged."""
    if not any(one.chunked for one in found):
        return found
    folder = f"{prefix_of(tenant, agent)}{PACKS}/"
    there = {one.name.removeprefix(folder): one.size for one in vault.list(folder)}
    return [_with_packs(vault, tenant, agent, one, there) if one.chunked else one for one in found]


def _with_packs(vault: Vault, tenant: str, agent: str, one: VaultEntry, there: dict[str, int]) -> VaultEntry:
    if one.damaged:
        return one
    try:
        packs = packs_of(vault, tenant, agent, one.id)
    except (SnapshotDamaged, SnapshotTooNew) as fault:
        return replace(one, damaged=fault.message)
    gone = sum(there.get(pack.name) != pack.size for pack in packs)
    return replace(one, damaged=f"{gone} of its {len(packs)} packs are missing") if gone else one


def _small(vault: Vault, name: str, most: int) -> bytes:
    data = bytearray()
    with _reading(vault, name) as stream:
        while len(data) <= most and (piece := stream.read(min(_CHUNK, most + 1 - len(data)))):
            data += piece
    if len(data) > most:
        raise SnapshotDamaged(f"vault: {name} is larger than {most} bytes")
    return bytes(data)


def _check_size(vault: Vault, name: str, size: int) -> None:
    """Checked before a disk is filled with what cannot be right."""
    try:
        there = vault.stat(name).size
    except NotFound as error:
        raise SnapshotDamaged(f"vault: {name} is missing") from error
    if there != size:
        raise SnapshotDamaged(f"vault: {name}: size differs from the manifest")
