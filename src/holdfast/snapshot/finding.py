"""Which snapshot is meant: one on the shelf, a bundle at a path, or one in a vault. And whether it may be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.errors import Fault, InvalidRequest, NotFound, SnapshotDamaged
from holdfast.snapshot.age import read_identities
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.checked import Checked, Looks, looks_of, looks_of_body
from holdfast.snapshot.compacts import Compacts, is_colony
from holdfast.snapshot.key_care import note_opened
from holdfast.snapshot.learning import forget
from holdfast.snapshot.manifest import is_id
from holdfast.snapshot.shelf import Shelf
from holdfast.snapshot.shelf_packs import packs_needed
from holdfast.snapshot.shelved import read_manifest_of
from holdfast.snapshot.values import Manifest, Report
from holdfast.snapshot.vaulting import fetch, list_vault, must_be_there
from holdfast.snapshot.verify import Expect, fault_of, verify
from holdfast.store.sqlite.connect import store_schema
from holdfast.vault.readonly import ReadOnly

LATEST = "latest"
SHELF = "shelf"
SUFFIXES = (".manifest.json", ".tar.zst", ".tar.zst.age", ".chunks", ".chunks.age", ".sha256")


@dataclass(frozen=True, slots=True)
class Named:
    """What the caller said about a snapshot it wants to use."""

    name: str  # an id, the beginning of one, `latest`, or a path
    vault: str | None = None
    identity: str | None = None  # a file
    allow_older: bool = False
    allow_unsigned: bool = False
    reading: bool = False  # it is only looked at: what was made here before there was a key need not be signed
    plain_before: bool = False  # what it replaces may be kept in the clear, though snapshots are encrypted
    take_over: str | None = None  # the agent that another agent's snapshot is restored as
    trust: str | None = None  # a did:key that the caller trusts for this one


@dataclass(frozen=True, slots=True)
class Found:
    """A bundle's folder and id. `own`: it lies on this memory's shelf and was named, so it may be an older one."""

    folder: Path
    id: str
    own: bool
    place: str  # whose newest snapshot is remembered
    vouched: bool = False  # its signature was checked on the way here, where one is expected


@contextmanager
def sought(archive: Archive, named: Named) -> Iterator[Found]:
    """The bundle that is meant, for the length of a block in which nobody removes it.

    One in a vault is fetched to a private place: until it is verified it has no business on the shelf.

    Raises:
        NotFound: there is none.
        Conflict: the beginning fits several.
    """
    if named.vault and is_colony(named.vault):
        compacts = Compacts(archive, named.vault, named.identity)
        id = None if named.name == LATEST else named.name
        with archive.shelf.staging() as private:
            shelf = Shelf(private / "fetched")
            yield Found(shelf.root, compacts.fetch(id, shelf).id, id is not None, compacts.place, vouched=True)
        return
    if named.vault:
        vault = ReadOnly(archive.vault(named.vault))
        must_be_there(vault)
        id = None if named.name == LATEST else named.name
        with archive.shelf.staging() as private:
            shelf = Shelf(private / "fetched")
            try:
                fetched = fetch(vault, archive.tenant, archive.agent, id, shelf)
            except SnapshotDamaged as fault:
                forget(archive, fault)
                fault.hint = f"Use another one: holdfast vault list {named.vault} shows them."
                raise
            yield Found(shelf.root, fetched.id, id is not None, vault.place)
        return
    found = _find(archive, named.name)
    if found.folder != archive.shelf.root:
        yield found
        return
    with archive.shelf.hold(found.id):
        yield found


def _find(archive: Archive, name: str) -> Found:
    path = Path(name).expanduser()
    if _is_path(name) and path.parent.resolve() != archive.shelf.root.resolve():
        folder = path if path.is_dir() else path.parent
        return Found(folder.resolve(), _id_of(path), False, made_here(archive))
    id = archive.shelf.find(_id_of(path) if _is_path(name) else name).id
    return Found(archive.shelf.root, id, name != LATEST, SHELF)


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
            raise NotFound("snapshot: the folder holds no bundle, or several", hint="Name one file of it.")
        name = found[0].name
    id = name.split(".", 1)[0]
    if not is_id(id):
        raise NotFound("snapshot: no bundle has such a file name", hint="A bundle's files begin with its id.")
    return id


def examine(archive: Archive, named: Named, found: Found, *, members: bool = True, raw: bool = True) -> Report:
    """What verification says about the bundle, for this memory. Without `raw` its body is not read."""
    here = found.place == SHELF
    expect = Expect(
        tenant=archive.tenant,
        agent=None if named.take_over else archive.agent,
        mark=archive.shelf.newest_expected() if here else 0,
        allow_unsigned=named.allow_unsigned or found.vouched or (named.reading and here),
        older_is_note=found.own or named.allow_older,
        schema=(("store", store_schema()),),
        signer=named.trust,
    )
    identities = identities_of(archive, named)
    place = None if here else found.place
    looks = looks_of_body(found.folder, found.id)  # before its bytes are read: what changes meanwhile is not remembered
    with archive.counted("verify"):
        report = verify(found.folder, found.id, archive.keyring, expect, identities, members, place, raw)
    if here and looks is not None:
        _remember(archive, found.id, looks, report)
        _tell_others(archive, found.id, report)
    if report.sound and "members" in report.checked and report.manifest is not None:
        note_opened(archive, report.manifest, identities)
    return replace(report, place=named.name if _is_path(named.name) else found.id)  # latest may be another one soon


def _remember(archive: Archive, id: str, looks: Looks, report: Report) -> None:
    """For the list. A disk that takes no note of it does not change what was found."""
    if report.digest is None or "bytes" not in report.checked:
        return
    damage = next((one.message for one in report.findings if one.code == "damaged"), None)
    with suppress(Fault):
        archive.shelf.remember(id, Checked(looks, report.digest, archive.clock.now_ms(), damage))


def _tell_others(archive: Archive, id: str, report: Report) -> None:
    """A damaged pack is damage of every snapshot that needs it, also of those that were read while it was whole."""
    shelf, damaged = archive.shelf, set(report.packs)
    others = [one for one in shelf.each() if one.id != id and not one.damaged] if damaged else []
    for one in others:
        with suppress(Fault, OSError):  # as above; and one that just goes need not be told
            looks, digest = looks_of(one.path), read_manifest_of(shelf.root, one.id)[1]
            shared = damaged & packs_needed(one)
            if looks is not None and shared:
                reason = f"snapshot: pack {min(shared)} is damaged"
                shelf.remember(one.id, Checked(looks, digest, archive.clock.now_ms(), reason))


def trusted(archive: Archive, named: Named, found: Found, *, raw: bool = True) -> Manifest:
    """The manifest of a bundle that may be used. Its members are checked as they are unpacked. Without `raw` its body
    is not read: for whoever has what is in it already.

    Raises:
        SnapshotDamaged, SnapshotUntrusted, SnapshotOlder, SnapshotTooNew, SnapshotForeign, IdentityNeeded: it may not.
    """
    report = examine(archive, named, found, members=False, raw=raw)
    fault = fault_of(report)
    if fault is not None or report.manifest is None:  # without a manifest there is a finding that says why
        raise fault or SnapshotDamaged("snapshot: it has no manifest")
    manifest = report.manifest
    if named.take_over and named.take_over != archive.agent:
        raise InvalidRequest(
            f"as: this memory is that of {archive.agent}", hint="Say --as with the name of this memory's own agent."
        )
    if found.place != SHELF:
        archive.keyring.raise_mark(manifest.signer, found.place, manifest.identity.sequence)
    return manifest


def identities_of(archive: Archive, named: Named) -> tuple[str, ...]:
    """The age identities that may open it."""
    file = named.identity or archive.settings.snapshot_identity
    return read_identities(Path(file).expanduser()) if file else ()


def highest_at(archive: Archive, named: Named, manifest: Manifest) -> int:
    """The highest number of a snapshot of this memory where this one comes from. What is made afterwards gets a higher
    one, so that it is the newest there."""
    if not named.vault or is_colony(named.vault):
        return manifest.identity.sequence
    found = list_vault(archive.vault(named.vault), archive.tenant, archive.agent)
    return max((one.sequence for one in found), default=manifest.identity.sequence)
