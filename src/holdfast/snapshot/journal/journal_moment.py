"""Which snapshot and which pieces of the journal make the memory of a moment, and what is missing of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote

from holdfast.core.errors import Fault, NotFound, SnapshotDamaged
from holdfast.core.ports import Vault
from holdfast.core.times import iso
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.journal.journal_layout import journal_prefix
from holdfast.snapshot.journal.journal_lines import (
    JournalLine,
    PlacedSnapshot,
    followers,
    last_written,
    orphans,
    placed_snapshots,
    read_lines,
    reason,
    roots,
)
from holdfast.snapshot.journal.journal_reader import Base, FetchedLine, Trust, fetch_line
from holdfast.snapshot.repo.latest import is_given_up

PARTIAL_HINT = "To restore what comes before it, pass --partial as well."
GAP_MS = 3_000  # between two pieces of a line that is written to


@dataclass(frozen=True, slots=True)
class Moment:
    """A memory as it was: a snapshot, or nothing, and what the journal adds to it."""

    snapshot: str | None  # None: the line begins with nothing
    fetched: FetchedLine | None  # None: the journal adds nothing
    past: str = ""  # where it begins with nothing: the newest snapshot of the lines before
    made: int = 0  # when the snapshot was made
    newest: tuple[Manifest, ...] = ()  # of all snapshots there
    missing: tuple[str, ...] = ()  # what is known to have been written and cannot be restored
    notes: tuple[str, ...] = ()

    @property
    def upto(self) -> int:
        """The moment that it is."""
        return (self.fetched.upto if self.fetched else None) or self.made

    @property
    def signers(self) -> set[str]:
        return self.fetched.signers if self.fetched else set()

    @property
    def pieces(self) -> int:
        return len(self.fetched.pieces) if self.fetched else 0


def has_journal(vault: Vault, tenant: str, agent: str) -> bool:
    """Whether the vault has any piece of the memory's journal."""
    return any(True for _ in vault.list(journal_prefix(tenant, agent)))


def find_moment(
    vault: Vault,
    trust: Trust,
    moment: int | None,
    into: Path,
    *,
    partial: bool = False,
    without: Collection[str] = (),
) -> Moment:
    """The memory as the vault has it of that moment, or of its last one; pieces are fetched into a private folder. It
    begins with none of the snapshots in `without`.

    Raises:
        NotFound: nothing from before that time is there.
        SnapshotDamaged and others: a piece cannot be used, and not all up to the moment could be restored without it;
            with `partial` that is reported instead.
    """
    found = _search(vault, trust, moment, into, partial, without)
    if found.fetched is not None and isinstance(found.fetched.problem, SnapshotDamaged):
        # A server may just have put pieces together: then they lie elsewhere by now.
        found = _search(vault, trust, moment, into, partial, without)
    return _judged(found, moment, partial)


def find_line(vault: Vault, trust: Trust, id: str, into: Path, *, partial: bool = False) -> Moment:
    """The memory as a line left it, whatever took its place since. Faults as of `find_moment`."""
    line = read_lines(vault, trust.tenant, trust.agent).get(id)
    if line is None:
        raise NotFound(f"journal: {vault.place} has no line {id}", hint="See its lines: holdfast vault status")
    snapshots = placed_snapshots(vault, trust.tenant, trust.agent)
    base = next((one for one in snapshots if one.line == id), None)
    if base is None and not line.is_from_nothing:
        raise SnapshotDamaged(f"journal: {_unusable(line, 'no snapshot of it is in the vault')}".rstrip("."))
    fetched = fetch_line(vault, line, Base(base.number, base.hash) if base else Base(), None, trust, into)
    if base is None and not fetched.pieces:
        raise fetched.problem or NotFound(f"journal: line {id} has nothing that can be used yet")
    made = base.identity.created_at if base else 0
    newest = tuple(one.manifest for one in snapshots)
    found = Moment(base.identity.id if base else None, fetched, "", made, newest)
    return _judged(found, None, partial)


def _search(
    vault: Vault, trust: Trust, moment: int | None, into: Path, partial: bool, without: Collection[str]
) -> Moment:
    lines = read_lines(vault, trust.tenant, trust.agent)
    every = placed_snapshots(vault, trust.tenant, trust.agent)
    snapshots = [one for one in every if one.identity.id not in without]
    newest = next((one for one in snapshots if _is_before(one, moment)), None)
    manifests = tuple(one.manifest for one in every)
    missing: list[str] = []
    for line in _candidates(lines, newest, moment):
        base = next((one for one in snapshots if one.line == line.id and _is_before(one, moment)), None)
        if base is None and not line.is_from_nothing:
            missing.append(_unusable(line, "no snapshot of it reached the vault"))
            continue
        at = Base(base.number, base.hash) if base else Base()
        fetched = fetch_line(vault, line, at, moment, trust, into)
        if base is None and not fetched.pieces:
            if fetched.next is not None and fetched.next.number == 1:
                continue  # nothing was written until after the moment
            missing.append(_unusable(line, reason(fetched.problem) if fetched.problem else "it did not become whole"))
            if fetched.problem is not None and not partial:
                raise fetched.problem
            continue
        made = base.identity.created_at if base else 0
        notes = _notes(vault, lines, line, moment)
        id, past = (base.identity.id, "") if base else (None, _past(snapshots, lines, line))
        return Moment(id, fetched, past, made, manifests, tuple(missing), notes)
    if newest is None:
        raise NotFound(
            f"vault: {vault.place} has nothing of this memory from before that time",
            hint=" ".join((*missing, f"List its snapshots: holdfast vault list {quote(vault.place)}")),
        )
    return Moment(newest.identity.id, None, "", newest.identity.created_at, manifests, tuple(missing))


def _candidates(lines: dict[str, JournalLine], newest: PlacedSnapshot | None, moment: int | None) -> list[JournalLine]:
    """The lines that may lead to the moment, the likeliest first: those that took the place of the newest snapshot's,
    then that one itself, unless it was given up: then the last memory is not what followed it."""

    def with_followers(root: JournalLine) -> list[JournalLine]:
        return [*followers(lines, root.id, moment), root]

    if newest is not None and newest.line:
        given_up = moment is None and is_given_up(newest.identity)
        own = [lines[newest.line]] if newest.line in lines and not given_up else []
        lost = orphans(lines, newest.identity.created_at, moment)
        found = [*followers(lines, newest.line, moment), *(one for root in lost for one in with_followers(root))]
        return [*sorted(found, key=lambda one: one.id, reverse=True), *own]
    begun = roots(lines, newest.identity.created_at if newest else 0, moment)
    return [one for root in begun[:1] for one in with_followers(root)]


def _past(snapshots: list[PlacedSnapshot], lines: dict[str, JournalLine], line: JournalLine) -> str:
    """The newest snapshot that was made before the line began by those that it follows; "" if there is none."""
    path: set[str] = set()
    while line.after in lines and line.after not in path:
        before = lines[line.after]
        path.add(before.id)
        for one in snapshots:
            if one.line == before.id and one.identity.created_at <= line.begun:
                return one.identity.id
        line = before
    return ""


def _is_before(one: PlacedSnapshot, moment: int | None) -> bool:
    return moment is None or one.identity.created_at <= moment


def _unusable(line: JournalLine, why: str) -> str:
    return f"What was written after {iso(line.begun)} in line {line.id} cannot be restored: {why}."


def _notes(vault: Vault, lines: dict[str, JournalLine], used: JournalLine, moment: int | None) -> tuple[str, ...]:
    """What leads elsewhere at that moment: other hosts wrote it, and nothing of it is in the memory."""
    notes, path, line = [], {used.id}, used
    while line.after in lines and line.after not in path:
        before = lines[line.after]
        if (last := last_written(vault, before)) > line.begun:
            notes.append(
                f"Line {before.id} of the journal was written to until {iso(last)}, after line {line.id} had taken its "
                f"place: by another host. What it wrote since {iso(line.begun)} is not included."
            )
        line = before
        path.add(line.id)
    known = [one for one in lines.values() if moment is None or one.begun <= moment]
    apart = [one.id for one in known if one.id not in path and one.begun >= used.begun]
    if apart:
        notes.append(f"Other lines of the journal are not included, {len(apart)} in all: {', '.join(apart[:5])}.")
    return tuple(notes)


def _judged(found: Moment, moment: int | None, partial: bool) -> Moment:
    """The moment with what is missing of it said, or the fault if that is not accepted."""
    fetched = found.fetched
    missing = list(found.missing)
    if fetched is not None and fetched.problem is not None:
        upto = f"up to {iso(fetched.upto)}" if fetched.upto else "up to the snapshot"
        more = f"at least {fetched.lost} pieces" if fetched.lost else "what comes"
        missing.append(f"The journal can be used {upto}; {more} after it cannot: {reason(fetched.problem)}.")
        if not partial:
            raise _refused(fetched.problem, missing[-1])
    if missing and not partial:
        raise _refused(SnapshotDamaged(""), missing[0])
    notes = list(found.notes)
    if fetched is not None and fetched.next is not None and moment is not None:
        last = fetched.upto or 0
        if fetched.next.since < moment and fetched.next.at - max(last, fetched.next.since) > GAP_MS:
            notes.append(
                f"The journal has no moment between {iso(max(last, fetched.next.since))} and {iso(fetched.next.at)}: "
                "the vault could not be reached, or the server did not run. The memory is as it was before."
            )
    return replace(found, missing=tuple(missing), notes=tuple(notes))


def _refused(problem: Fault, message: str) -> Fault:
    fault = type(problem)(f"journal: {message[0].lower()}{message[1:].rstrip('.')}")
    fault.hint = f"{PARTIAL_HINT} {problem.hint}" if "signer" in problem.details else PARTIAL_HINT
    fault.details = {**problem.details, "missing": message}
    return fault
