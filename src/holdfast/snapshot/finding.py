"""Which snapshot is meant: one on the shelf, a bundle at a path, or one in a vault. And whether it may be used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import Fault, NotFound
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.manifest import read_manifest
from holdfast.snapshot.shelf import parse_id
from holdfast.snapshot.unpack import read_identities
from holdfast.snapshot.values import Manifest, Report
from holdfast.snapshot.vaulting import fetch
from holdfast.snapshot.verify import Expect, fault_of, verify
from holdfast.vault.local import vault_from

LATEST = "latest"
SHELF = "shelf"
UNSIGNED = "unsigned"
SUFFIXES = (".manifest.json", ".tar.zst", ".tar.zst.age", ".sha256")


@dataclass(frozen=True, slots=True)
class Named:
    """What the caller said about a snapshot it wants to use."""

    name: str  # an id, the beginning of one, `latest`, or a path
    vault: str | None = None
    identity: str | None = None  # a file
    allow_older: bool = False
    allow_unsigned: bool = False
    take_over: str | None = None  # the agent that another agent's snapshot is restored as


@dataclass(frozen=True, slots=True)
class Found:
    """A bundle's folder and id. `own`: it lies on this memory's shelf and was named, so it may be an older one."""

    folder: Path
    id: str
    own: bool
    place: str  # whose newest snapshot is remembered

    @property
    def manifest_path(self) -> Path:
        return self.folder / f"{self.id}.manifest.json"


def find(archive: Archive, named: Named) -> Found:
    """The bundle that is meant; one in a vault is fetched to the shelf first.

    Raises:
        NotFound: there is none.
        Conflict: the beginning fits several.
    """
    if named.vault:
        vault = vault_from(named.vault)
        id = None if named.name == LATEST else named.name
        shelved = fetch(vault, archive.tenant, archive.agent, id, archive.shelf)
        return Found(archive.shelf.root, shelved.id, id is not None, vault.place)
    path = Path(named.name).expanduser()
    if _is_path(named.name) and path.parent.resolve() != archive.shelf.root.resolve():
        return Found(path.parent.resolve(), _id_of(path), False, made_here(archive))
    name = _id_of(path) if _is_path(named.name) else named.name
    return Found(archive.shelf.root, archive.shelf.find(name).id, name != LATEST, SHELF)


def made_here(archive: Archive) -> str:
    """The place of what this memory made itself, wherever a copy of it is met."""
    return f"{archive.tenant}/{archive.agent}"


def _is_path(name: str) -> bool:
    return "/" in name or name.endswith(SUFFIXES)


def _id_of(path: Path) -> str:
    """The id in a file's name; a folder with one bundle in it means that one."""
    name = path.name
    if path.is_dir():
        found = sorted(path.glob("*.manifest.json"))
        if len(found) != 1:
            raise NotFound("snapshot: the folder holds no bundle, or several", hint="Name the file of the one you mean.")
        name = found[0].name
    id = name.split(".", 1)[0]
    if parse_id(id) is None:
        raise NotFound("snapshot: no bundle has such a file name", hint="A bundle's files begin with its id.")
    return id


def examine(archive: Archive, named: Named, found: Found, *, members: bool = True) -> Report:
    """What verification says about the bundle, for this memory."""
    take_over = named.take_over is not None
    expect = Expect(
        tenant=archive.tenant,
        agent=None if take_over else archive.agent,
        mark=_mark(archive, found),
        allow_unsigned=named.allow_unsigned,
        older_is_note=found.own or named.allow_older,
    )
    identities = identities_of(archive, named)
    return verify(found.folder, found.id, archive.keyring, expect, identities, members, named.name)


def trusted(archive: Archive, named: Named, found: Found, *, members: bool = False) -> Manifest:
    """The manifest of a bundle that may be used.

    Raises:
        SnapshotDamaged, SnapshotUntrusted, SnapshotOlder, SnapshotTooNew, SnapshotForeign, IdentityNeeded: it may not.
    """
    report = examine(archive, named, found, members=members)
    fault = fault_of(report)
    if fault is not None:
        raise fault
    if report.manifest is None:  # then a finding says why, and is a fault
        raise NotFound("snapshot: no manifest")
    if found.place != SHELF:
        signer = report.manifest.signer or UNSIGNED
        archive.keyring.raise_mark(signer, found.place, report.manifest.identity.sequence)
    return report.manifest


def identities_of(archive: Archive, named: Named) -> tuple[str, ...]:
    """The age identities that may open it."""
    file = named.identity or archive.settings.snapshot_identity
    return read_identities(Path(file).expanduser()) if file else ()


def _mark(archive: Archive, found: Found) -> int:
    """The newest sequence number that is known where the bundle comes from."""
    if found.place == SHELF:
        return archive.shelf.newest_expected()
    try:
        signer = read_manifest(found.manifest_path.read_bytes()).signer
    except (Fault, OSError):  # verification says what is wrong with it
        return 0
    return archive.keyring.mark(signer or UNSIGNED, found.place)
