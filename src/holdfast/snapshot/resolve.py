"""Which snapshot is meant: one in the repository, a bundle at a path, or one in a vault. And whether it may be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote

from holdfast.core.bundle_names import MANIFEST, is_bundle_path
from holdfast.core.disk import disk_faults, user_path
from holdfast.core.errors import Fault, InvalidRequest, NotFound, SnapshotDamaged, UpstreamFailed
from holdfast.core.ports import Vault
from holdfast.snapshot.bundle.encryption import read_identities
from holdfast.snapshot.bundle.manifest import is_id
from holdfast.snapshot.bundle.types import Identity, Manifest, Report
from holdfast.snapshot.journal.journal_layout import is_line
from holdfast.snapshot.journal.journal_lines import placed
from holdfast.snapshot.journal.journal_moment import Moment, find_line, find_moment, has_journal
from holdfast.snapshot.journal.journal_reader import Trust
from holdfast.snapshot.journal.journal_replay import fetch_base
from holdfast.snapshot.remote.cache_rebuild import forget
from holdfast.snapshot.remote.colony import ColonySnapshots, is_colony
from holdfast.snapshot.remote.transfer import fetch, id_in, latest_in, list_vault, must_be_there, vaulted_manifest
from holdfast.snapshot.repo.check_results import CheckResult, FileStamp, stamp_of, stamp_of_bundle
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.entries import read_manifest_of
from holdfast.snapshot.repo.key_warnings import note_opened
from holdfast.snapshot.repo.packs import packs_needed
from holdfast.snapshot.repo.repository import SnapshotRepository
from holdfast.snapshot.verify import Expectations, fault_of, is_genuine, verify
from holdfast.store.portable import store_schema
from holdfast.vault.restriction import ReadOnly

LATEST = "latest"
LOCAL_REPOSITORY = "shelf"  # as keyrings and cache keys on disk call it


@dataclass(frozen=True, slots=True)
class SnapshotSelector:
    """What the caller specified about the snapshot to use."""

    name: str  # an id, the beginning of one, `latest`, a path, or of what is in a vault a line of the journal
    vault: str | None = None
    identity: str | None = None  # a file
    allow_older: bool = False
    allow_unsigned: bool = False
    reading: bool = False  # it is only read: what was made here before there was a key need not be signed
    plain_before: bool = False  # what it replaces may be kept in the clear, though snapshots are encrypted
    take_over: str | None = None  # the agent that another agent's snapshot is restored as
    trust: str | None = None  # a did:key that the caller trusts for this one
    moment: int | None = None  # the memory as it was then; `name` does not count
    partial: bool = False  # what the journal lacks, or what of it cannot be used, is accepted and reported
    follows: bool = False  # the copy goes on from there: it notes which piece of the journal it has
    newest: bool = False  # it is the newest where it lies, so an older one is refused though its id was named


@dataclass(frozen=True, slots=True)
class ResolvedSnapshot:
    """A bundle's folder and id. `own`: it is in this memory's repository and was named, so it may be an older one."""

    folder: Path
    id: str
    own: bool
    place: str  # whose newest snapshot is remembered
    vouched: bool = False  # its signature was checked on the way here, where one is expected
    journal: Moment | None = None  # what the journal adds to it
    passed: int = 0  # the highest number of a newer one that `latest` passed over, and that is known to be genuine


@contextmanager
def sought(context: SnapshotContext, named: SnapshotSelector) -> Iterator[ResolvedSnapshot]:
    """The bundle that is meant, for the length of a block in which no process removes it.

    One in a vault is fetched to a private place: until it is verified it has no business in the repository.

    Raises:
        NotFound: there is none.
        Conflict: the beginning fits several.
    """
    if named.vault and is_colony(named.vault):
        compacts = ColonySnapshots(context, named.vault, named.identity)
        id = None if named.name == LATEST else named.name
        with context.repo.staging() as private:
            repo = SnapshotRepository(private / "fetched")
            yield ResolvedSnapshot(repo.root, compacts.fetch(id, repo).id, id is not None, compacts.place, vouched=True)
        return
    if named.moment is not None:
        with _at_moment(context, named, named.moment) as found:
            yield found
        return
    if named.vault:
        with context.repo.staging() as private:
            yield _from_vault(context, named, named.vault, private)
        return
    with _from_repository(context, named.name) as found:
        yield found


def _from_vault(context: SnapshotContext, named: SnapshotSelector, place: str, private: Path) -> ResolvedSnapshot:
    vault = ReadOnly(context.vault(place))
    must_be_there(vault)
    repo = SnapshotRepository(private / "fetched")
    if named.name == LATEST and has_journal(vault, context.tenant, context.agent):
        moment = find_moment(vault, _trust(context, named), None, _folder(private), partial=named.partial)
        if moment.pieces:
            return _with_journal(context, vault, named, moment, private)
    if is_line(named.name):
        moment = find_line(vault, _trust(context, named), named.name, _folder(private), partial=named.partial)
        return _with_journal(context, vault, named, moment, private)
    id, passed = _in_vault(context, vault, named.name)
    try:
        fetched = fetch(vault, context.tenant, context.agent, id, repo)
    except SnapshotDamaged as fault:
        forget(context, fault)
        if named.name == LATEST and (other := _without(context, vault, named, private, (id,))):
            return _with_journal(context, vault, named, other, private, (id,))
        fault.details = {**fault.details, "snapshot": id}
        fault.hint = f"Use another one. List them with: holdfast vault list {quote(place)}"
        raise
    own = named.name != LATEST and not named.newest
    return ResolvedSnapshot(repo.root, fetched.id, own, vault.place, passed=passed)


def _with_journal(
    context: SnapshotContext,
    vault: Vault,
    named: SnapshotSelector,
    moment: Moment,
    private: Path,
    damaged: tuple[str, ...] = (),
) -> ResolvedSnapshot:
    """What a moment begins with, and the journal that goes with it. A newer snapshot was not passed over by mistake:
    what it holds is in the journal, or later than the moment. A damaged one is done without where the journal goes on
    from an older one."""
    repo = SnapshotRepository(private / "fetched")
    try:
        base = fetch_base(context, vault, moment, repo)
    except SnapshotDamaged as fault:
        forget(context, fault)
        damaged = (*damaged, *filter(None, [moment.snapshot]))
        other = None if is_line(named.name) else _without(context, vault, named, private, damaged)
        if other is None:
            raise
        return _with_journal(context, vault, named, other, private, damaged)
    genuine = (one.identity.sequence for one in moment.newest if is_genuine(one, context.keyring))
    unsealed = moment.snapshot is None  # it was made here, of nothing
    own = named.moment is not None or named.name != LATEST
    return ResolvedSnapshot(
        repo.root, base.id, own, vault.place, vouched=unsealed, journal=moment, passed=max(genuine, default=0)
    )


def _without(
    context: SnapshotContext, vault: Vault, named: SnapshotSelector, private: Path, damaged: tuple[str, ...]
) -> Moment | None:
    """The same memory by an older snapshot and more of the journal; None if that lacks what the damaged ones held."""
    with suppress(Fault):
        needed = placed(vaulted_manifest(vault, context.tenant, context.agent, damaged[0]))
        trust, folder = _trust(context, named), _folder(private, f"journal-{len(damaged)}")
        found = find_moment(vault, trust, named.moment, folder, partial=named.partial, without=damaged)
        reached = found.fetched
        if reached and reached.pieces and reached.line == needed.line and reached.pieces[-1].number >= needed.number:
            base = f"snapshot {found.snapshot}" if found.snapshot else "none"
            said = (
                f"Damaged in the vault: {', '.join(damaged)}. The records are whole by an older snapshot and the "
                f"journal; memory folders and guarded files are those of {base}."
            )
            return replace(found, notes=(said, *found.notes))
    return None


def _trust(context: SnapshotContext, named: SnapshotSelector) -> Trust:
    return Trust(context.tenant, context.agent, context.keyring, named.allow_unsigned, named.trust)


def _folder(private: Path, name: str = "journal") -> Path:
    folder = private / name
    with disk_faults("fetch the journal"):
        folder.mkdir(mode=0o700)
    return folder


@contextmanager
def _at_moment(context: SnapshotContext, named: SnapshotSelector, moment: int) -> Iterator[ResolvedSnapshot]:
    """The memory of a moment: by the journal of the vault, or the newest snapshot from before, whichever is nearer."""
    here = _newest_before(context, moment) if named.vault is None else None
    with context.repo.staging() as private:
        there = _nearer_in_vault(context, named, moment, here, private)
        if there is not None:
            yield there
            return
    if here is None:
        raise NotFound(
            "snapshot: there is no snapshot from before that time",
            hint="List snapshots with: holdfast snapshot list",
        )
    with _from_repository(context, here.id) as found:
        yield found


def _nearer_in_vault(
    context: SnapshotContext, named: SnapshotSelector, moment: int, here: Identity | None, private: Path
) -> ResolvedSnapshot | None:
    """What the vault has of the moment, unless the repository is nearer. Without an answer of the vault, who only reads
    gets what is here."""
    place = named.vault or context.settings.vault
    if not place or is_colony(place):
        return None
    try:
        vault = ReadOnly(context.vault(place))
        must_be_there(vault)
        trust = _trust(context, named)
        found = find_moment(vault, trust, moment, _folder(private), partial=named.partial)
        if here is not None and here.created_at >= found.upto:
            return None
        return _with_journal(context, vault, named, found, private)
    except (UpstreamFailed, NotFound):
        if here is None or not named.reading:
            raise
        return None


def _newest_before(context: SnapshotContext, moment: int) -> Identity | None:
    """The newest whole snapshot in the repository that was made at that time or before."""
    for one in context.repo.each():
        if one.manifest is not None and not one.damaged and one.manifest.identity.created_at <= moment:
            return one.manifest.identity
    return None


@contextmanager
def _from_repository(context: SnapshotContext, name: str) -> Iterator[ResolvedSnapshot]:
    found = _find(context, name)
    if found.folder != context.repo.root:
        yield found
        return
    with context.repo.hold(found.id):
        yield found


def _in_vault(context: SnapshotContext, vault: Vault, name: str) -> tuple[str, int]:
    """The id that is meant there, and the highest number that was passed over for it."""
    if name != LATEST:
        return id_in(vault, context.tenant, context.agent, name), 0
    latest = latest_in(vault, context.tenant, context.agent)
    genuine = (one.identity.sequence for one in latest.passed if is_genuine(one, context.keyring))
    return latest.id, max(genuine, default=0)


def _find(context: SnapshotContext, name: str) -> ResolvedSnapshot:
    if not is_bundle_path(name):
        # For `latest` a newest one that is damaged or was given up may be passed over; a missing one may not.
        may_be_older = name != LATEST or context.repo.is_complete()
        return ResolvedSnapshot(context.repo.root, context.repo.find(name).id, may_be_older, LOCAL_REPOSITORY)
    path = user_path(name, "id")
    try:
        folder, id = (path if path.is_dir() else path.parent), _id_of(path)
    except OSError as error:
        raise NotFound(f"snapshot: the path cannot be read: {error.strerror}") from error
    if path.parent.resolve() != context.repo.root.resolve():
        return ResolvedSnapshot(folder.resolve(), id, False, made_here(context))
    return ResolvedSnapshot(context.repo.root, context.repo.find(id).id, True, LOCAL_REPOSITORY)


def made_here(context: SnapshotContext) -> str:
    """The place of what this memory made itself, wherever a copy of it is met."""
    return f"{context.tenant}/{context.agent}"


def _id_of(path: Path) -> str:
    """The id in a file's name; a folder with one bundle in it means that one."""
    name = path.name
    if path.is_dir():
        found = sorted(path.glob(f"*{MANIFEST}"))
        if len(found) != 1:
            raise NotFound("snapshot: the folder contains no bundle, or several", hint="Pass one file of the bundle.")
        name = found[0].name
    id = name.split(".", 1)[0]
    if not is_id(id):
        raise NotFound("snapshot: not a file name of a bundle", hint="File names of a bundle begin with its id.")
    return id


def examine(
    context: SnapshotContext,
    named: SnapshotSelector,
    found: ResolvedSnapshot,
    *,
    members: bool = True,
    raw: bool = True,
) -> Report:
    """The verification of the bundle, for this memory. Without `raw` its bytes are not read."""
    here = found.place == LOCAL_REPOSITORY
    expect = Expectations(
        tenant=context.tenant,
        agent=None if named.take_over else context.agent,
        mark=context.repo.newest_expected() if here else 0,
        allow_unsigned=named.allow_unsigned or found.vouched or (named.reading and here),
        older_is_note=found.own or named.allow_older,
        schema=(("store", store_schema()),),
        signer=named.trust,
        passed=found.passed,
    )
    identities = identities_of(context, named)
    place = None if here else found.place
    looks = stamp_of_bundle(
        found.folder, found.id
    )  # before its bytes are read: what changes meanwhile is not remembered
    with context.counted("verify"):
        report = verify(found.folder, found.id, context.keyring, expect, identities, members, place, raw)
    if here and looks is not None:
        _remember(context, found.id, looks, report)
        _mark_other_snapshots(context, found.id, report)
    if report.sound and "members" in report.checked and report.manifest is not None:
        note_opened(context, report.manifest, identities)
    return replace(
        report, place=named.name if is_bundle_path(named.name) else found.id
    )  # latest may be another one soon


def _remember(context: SnapshotContext, id: str, looks: FileStamp, report: Report) -> None:
    """For the list. A failure to note it does not change the result."""
    if report.digest is None or "bytes" not in report.checked:
        return
    damage = next((one.message for one in report.findings if one.code == "damaged"), None)
    with suppress(Fault):
        context.repo.remember(id, CheckResult(looks, report.digest, context.clock.now_ms(), damage))


def _mark_other_snapshots(context: SnapshotContext, id: str, report: Report) -> None:
    """A damaged pack is damage of every snapshot that needs it, also of those that were read while it was whole."""
    repo, damaged = context.repo, set(report.packs)
    others = [one for one in repo.each() if one.id != id and not one.damaged] if damaged else []
    for one in others:
        with suppress(Fault, OSError):  # as above; and one that just goes need not be noted
            looks, digest = stamp_of(one.path), read_manifest_of(repo.root, one.id)[1]
            shared = damaged & packs_needed(one)
            if looks is not None and shared:
                reason = f"snapshot: pack {min(shared)} is damaged"
                repo.remember(one.id, CheckResult(looks, digest, context.clock.now_ms(), reason))


def trusted(
    context: SnapshotContext, named: SnapshotSelector, found: ResolvedSnapshot, *, raw: bool = True
) -> Manifest:
    """The manifest of a bundle that may be used. Its members are checked as they are unpacked. Without `raw` its bytes
    are not read: for callers that have its contents already.

    Raises:
        SnapshotDamaged, SnapshotUntrusted, SnapshotOlder, SnapshotTooNew, SnapshotForeign, IdentityNeeded: it may not.
    """
    report = examine(context, named, found, members=False, raw=raw)
    fault = fault_of(report)
    if fault is not None or report.manifest is None:  # without a manifest there is a finding with the reason
        fault = fault or SnapshotDamaged("snapshot: it has no manifest")
        fault.details = {**fault.details, "snapshot": found.id}
        raise fault
    manifest = report.manifest
    if named.take_over and named.take_over != context.agent:
        raise InvalidRequest(
            f"as: this memory belongs to {context.agent}", hint="Pass --as with the agent of this memory."
        )
    if found.place != LOCAL_REPOSITORY:
        context.keyring.raise_mark(manifest.signer, found.place, manifest.identity.sequence)
    return manifest


def identities_of(context: SnapshotContext, named: SnapshotSelector) -> tuple[str, ...]:
    """The age identities that may open it."""
    file = named.identity or context.settings.snapshot_identity
    return read_identities(file) if file else ()


def highest_at(context: SnapshotContext, named: SnapshotSelector, manifest: Manifest) -> int:
    """The highest number of a snapshot of this memory where this one comes from. What is made afterwards gets a higher
    one, so that it is the newest there."""
    if not named.vault or is_colony(named.vault):
        return manifest.identity.sequence
    found = list_vault(context.vault(named.vault), context.tenant, context.agent)
    return max((one.sequence for one in found), default=manifest.identity.sequence)
