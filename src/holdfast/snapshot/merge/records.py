"""One memory out of two of the same agent that diverged: what the other has comes into this one.

Nothing disappears: a record of either side is there afterwards, in its own row, as an earlier version of its memory, or
set aside in a note, unless one side removed it on purpose after the other had changed it last. The audit logs record
what was removed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

import orjson

from holdfast.core.model import EVERYBODY, Address, Memory, Note, Slot
from holdfast.snapshot.merge.conflict_rules import RULES, MergeRule, Prefer, Resolution, Side, same, set_aside, settle
from holdfast.snapshot.merge.versions import DivergedVersions, merge_line
from holdfast.store.port import Condition, Reader, Store, Table, Tx, where
from holdfast.store.queries.removals import removed_ids
from holdfast.store.tables import (
    ADDRESSES,
    AUDIT,
    COORDINATION,
    INSIGHTS,
    MEMORIES,
    NOTES,
    OBSERVATIONS,
    PAGE,
    RELATIONS,
    SESSIONS,
    SLOTS,
    STATEMENTS,
    TAGGING,
    reflected_key,
)

BATCH = 500
TITLE_CHARS = 80

How = Literal["version", "note", "address", "kept"]
"""What became of the one that lost: an earlier version, a note, another address. kept: removed on one side, and changed
on the other after that."""


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """A record that both sides changed."""

    table: str
    id: str
    winner: Side
    how: How
    base: str  # what it is called on each side; empty if it is not visible to all
    other: str


@dataclass
class MergedRecords:
    """The result of a merge, by table."""

    added: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    clashes: list[MergeConflict] = field(default_factory=list)

    @property
    def any(self) -> bool:
        """Whether anything was added or decided."""
        return bool(self.added or self.changed or self.removed or self.clashes)


@dataclass(frozen=True, slots=True)
class PutRecord:
    """A record to be stored: new, or in the place of the one that has its id."""

    table: Table[Any]
    record: Any
    known: Any | None


@dataclass(frozen=True, slots=True)
class DropRecord:
    table: Table[Any]
    id: str


Step = PutRecord | DropRecord


def merge_into(store: Store, other: Reader, tenant: str, prefer: Prefer) -> MergedRecords:
    """Bring the other memory into the store's. Repeating it changes nothing more."""
    return _RecordMerger(store, other, tenant, prefer).run()


class _RecordMerger:
    def __init__(self, store: Store, other: Reader, tenant: str, prefer: Prefer):
        self._store, self._other, self._tenant, self._prefer = store, other, tenant, prefer
        self._base = store.read()
        self._gone_base, self._gone_other = (removed_ids(side, tenant) for side in (self._base, other))
        self._gone: set[str] = set()  # removed here, or on the other side
        self._sessions: set[str] = set()  # whose observations are to be counted again
        self._done = MergedRecords()

    def run(self) -> MergedRecords:
        self._apply(self._lines())
        self._apply(self._addresses())
        self._apply(self._own_addresses())
        for rule in RULES:
            self._apply(self._records(rule))
            self._apply(self._removals(rule))
        self._apply(self._drawn())
        for id in sorted(self._gone):  # one by one: two of them may have written to the same slot
            self._apply(self._reflected(id))
        self._apply(self._recounted())
        return self._done

    # Memories

    def _lines(self) -> Iterator[Step]:
        seen: set[str] = set()
        for root in (*self._roots(self._other), *self._removed_roots()):
            if root not in seen:
                seen.add(root)
                yield from self._line(root)

    def _roots(self, side: Reader) -> Iterator[str]:
        return (one.root for one in side.each(MEMORIES, self._tenant))

    def _removed_roots(self) -> Iterator[str]:
        """The lines here of which the other side removed something."""
        for id in self._gone_other:
            known = self._base.get(MEMORIES, self._tenant, id)
            if known is not None:
                yield known.root

    def _line(self, root: str) -> Iterator[Step]:
        base, other = (_line_of(side, self._tenant, root) for side in (self._base, self._other))
        line = merge_line(base, other, self._gone_base, self._gone_other, self._prefer)
        known = {one.id: one for one in base}
        for one in line.versions:
            there = known.get(one.id)
            if there is None or not same(there, one):
                yield PutRecord(MEMORIES, one, there)
        for id in line.removed:
            self._gone.add(id)
            if id in known:
                yield DropRecord(MEMORIES, id)
        self._note_lost(base, other, line.versions)
        if line.apart is not None:
            self._clash_of(line.apart)

    def _note_lost(self, base: list[Memory], other: list[Memory], left: tuple[Memory, ...]) -> None:
        """A version that one side removed, and that stays because the other side changed it later."""
        here, there = ({one.id for one in side} for side in (base, other))
        for one in left:
            removed = (one.id in self._gone_base and one.id not in here) or (
                one.id in self._gone_other and one.id not in there
            )
            if removed:
                winner: Side = "base" if one.id in here else "other"
                name = _title(one)
                self._clash(MergeConflict("memories", one.id, winner, "kept", name if one.id in here else "", name))

    def _clash_of(self, apart: DivergedVersions) -> None:
        kept = apart.base if apart.winner == "base" else apart.other
        self._clash(
            MergeConflict("memories", kept.id, apart.winner, "version", _title(apart.base), _title(apart.other))
        )

    # Addresses

    def _addresses(self) -> Iterator[Step]:
        for one in self._other.each(ADDRESSES, self._tenant):
            known = self._base.get(ADDRESSES, self._tenant, one.id)
            if not _line_of(self._base, self._tenant, one.root):
                continue  # its memory was removed on purpose
            if known is None or not _line_of(self._base, self._tenant, known.root):
                yield PutRecord(ADDRESSES, one, known)
            elif known.root != one.root:
                yield from self._two_at(known, one)
            elif known.created_at < one.created_at:
                yield PutRecord(ADDRESSES, dataclasses.replace(one, kind=known.kind), known)
        for here in self._base.each(ADDRESSES, self._tenant):
            if not _line_of(self._base, self._tenant, here.root):
                yield DropRecord(ADDRESSES, here.id)

    def _two_at(self, known: Address, one: Address) -> Iterator[Step]:
        """Two memories at one address: one keeps it, the other gets a new one."""
        winner: Side = self._prefer if self._prefer != "newest" else self._newer_at(known, one)
        kept, lost = (known, one) if winner == "base" else (one, known)
        beside = self._free_beside(lost)
        if winner == "other":
            yield PutRecord(ADDRESSES, kept, known)
        if beside is not None:
            yield PutRecord(ADDRESSES, dataclasses.replace(lost, id=beside), None)
            for version in _line_of(self._base, self._tenant, lost.root):
                if version.uri == one.id:
                    yield PutRecord(MEMORIES, dataclasses.replace(version, uri=beside), version)
        self._clash(MergeConflict("addresses", one.id, winner, "address", known.root, one.root))

    def _newer_at(self, known: Address, one: Address) -> Side:
        times = [(_changed_at(self._base, self._tenant, each.root), each.root) for each in (known, one)]
        return "other" if times[1] > times[0] else "base"

    def _free_beside(self, lost: Address) -> str | None:
        """An address beside the one that was lost; None if the memory has got one already, as in an earlier merge."""
        number = 2
        while True:
            uri = f"{lost.id}~{number}"
            taken = self._base.get(ADDRESSES, self._tenant, uri)
            if taken is None:
                return uri
            if taken.root == lost.root:
                return None
            number += 1

    def _own_addresses(self) -> Iterator[Step]:
        """A line has one address of its own, which its latest version names; an earlier one leads on to it."""
        for one in self._base.each(ADDRESSES, self._tenant):
            head = next((version for version in _line_of(self._base, self._tenant, one.root) if version.latest), None)
            if head is None or not head.uri:
                continue
            if one.id == head.uri and one.kind != "own":
                yield PutRecord(ADDRESSES, dataclasses.replace(one, kind="own", moved_to=""), one)
            elif one.id != head.uri and one.kind == "own":
                yield PutRecord(ADDRESSES, dataclasses.replace(one, kind="moved", moved_to=head.uri), one)

    # Everything else

    def _records(self, rule: MergeRule) -> Iterator[Step]:
        for one in self._other.each(rule.table, self._tenant):
            known = self._base.get(rule.table, self._tenant, one.id)
            if known is None:
                yield from self._new(rule, one)
            elif not same(known, one):
                yield from self._settled(rule, known, one)

    def _new(self, rule: MergeRule, one: Any) -> Iterator[Step]:
        at = self._gone_base.get(one.id)
        if at is not None and rule.table is not AUDIT and getattr(one, rule.changed) <= at:
            self._remove(rule.table, one)
            return
        if at is not None and rule.table is not AUDIT:
            self._clash(MergeConflict(rule.table.name, one.id, "other", "kept", "", _title(one)))
        if rule.table is OBSERVATIONS:
            self._sessions.add(one.session_id)
        yield PutRecord(rule.table, one, None)

    def _settled(self, rule: MergeRule, known: Any, one: Any) -> Iterator[Step]:
        if rule.table is NOTES and known.kind == one.kind == "reflected":
            joined = dataclasses.replace(known, content=_joined(known, one))
            settled = Resolution(joined, "base", None)
        else:
            settled = settle(rule, known, one, self._prefer)
        if rule.table is NOTES and known.kind != PAGE:  # the server's own state: no one wrote what is replaced
            settled = dataclasses.replace(settled, lost=None)
        if not same(known, settled.record):
            yield PutRecord(rule.table, settled.record, known)
        if settled.lost is not None:
            note = set_aside(rule, settled.lost)
            if self._base.get(NOTES, self._tenant, note.id) is None:
                yield PutRecord(NOTES, note, None)
            self._clash(MergeConflict(rule.table.name, known.id, settled.winner, "note", _title(known), _title(one)))
        if rule.table is SESSIONS:
            self._sessions.add(known.id)

    def _removals(self, rule: MergeRule) -> Iterator[Step]:
        """What the other side removed on purpose since it was last changed here."""
        if rule.table is AUDIT:
            return
        for id, at in self._gone_other.items():
            known = self._base.get(rule.table, self._tenant, id)
            if known is None or self._other.get(rule.table, self._tenant, id) is not None:
                continue
            if getattr(known, rule.changed) > at:
                self._clash(MergeConflict(rule.table.name, id, "base", "kept", _title(known), ""))
                continue
            self._remove(rule.table, known)
            yield DropRecord(rule.table, id)

    def _remove(self, table: Table[Any], record: Any) -> None:
        self._gone.add(record.id)
        if table is OBSERVATIONS:
            self._sessions.add(record.session_id)

    def _drawn(self) -> Iterator[Step]:
        """What was drawn from a record goes with it, as when it is forgotten."""
        if not self._gone:
            return
        for insight in self._base.each(INSIGHTS, self._tenant):
            if not self._gone.isdisjoint(insight.source_ids):
                yield DropRecord(INSIGHTS, insight.id)
        ends = self._gone | {f"session:{id}" for id in self._gone}
        for statement in self._base.each(STATEMENTS, self._tenant):
            if statement.source_id in self._gone or statement.session_id in self._gone:
                ends.add(statement.id)
                yield DropRecord(STATEMENTS, statement.id)
        for one in self._base.each(COORDINATION, self._tenant, Condition("kind", "in", TAGGING)):
            if one.subject in self._gone:
                yield DropRecord(COORDINATION, one.id)
        for relation in self._base.each(RELATIONS, self._tenant):
            if relation.source_id in ends or relation.target_id in ends:
                yield DropRecord(RELATIONS, relation.id)

    def _reflected(self, id: str) -> Iterator[Step]:
        """Lines of slots that were written from a session that was removed."""
        note = self._base.get(NOTES, self._tenant, reflected_key(id))
        if note is None or self._base.get(SESSIONS, self._tenant, id) is not None:
            return
        yield DropRecord(NOTES, note.id)
        for slot_id, lines in orjson.loads(note.content).items():
            slot: Slot | None = self._base.get(SLOTS, self._tenant, slot_id)
            if slot is not None:
                left = "\n".join(one for one in slot.content.split("\n") if one not in lines)
                yield PutRecord(SLOTS, dataclasses.replace(slot, content=left), slot)

    def _recounted(self) -> Iterator[Step]:
        for id in sorted(self._sessions):
            session = self._base.get(SESSIONS, self._tenant, id)
            if session is None:
                continue
            count = self._base.count(OBSERVATIONS, self._tenant, *where(session_id=id))
            if count != session.observation_count:
                yield PutRecord(SESSIONS, dataclasses.replace(session, observation_count=count), session)

    # Writing

    def _clash(self, clash: MergeConflict) -> None:
        self._done.clashes.append(clash)

    def _apply(self, steps: Iterator[Step]) -> None:
        """Some at a time: what a step reads was written before it, but for those of its own batch."""
        while batch := list(islice(steps, BATCH)):
            self._store.write(lambda tx, some=batch: _write(tx, some, self._tenant))  # type: ignore[misc]
            for step in batch:
                self._count(step)

    def _count(self, step: Step) -> None:
        counts = self._done.removed if isinstance(step, DropRecord) else self._done.changed
        if isinstance(step, PutRecord) and step.known is None:
            counts = self._done.added
        counts[step.table.name] = counts.get(step.table.name, 0) + 1


def _write(tx: Tx, steps: Iterable[Step], tenant: str) -> None:
    for step in steps:
        if isinstance(step, DropRecord):
            tx.delete(step.table, tenant, step.id)
        else:
            seq = tx.next_seq(tenant) if step.known is None else step.known.seq
            tx.replace(step.table, dataclasses.replace(step.record, seq=seq))


def _line_of(side: Reader, tenant: str, root: str) -> list[Memory]:
    """All versions of a line; its first one, whose id names it, may be gone."""
    first = side.get(MEMORIES, tenant, root)
    later = side.find(MEMORIES, tenant, *where(root=root), Condition("parent_id", "not null"), order="version")
    return [*([first] if first is not None and first.parent_id is None else []), *later]


def _changed_at(side: Reader, tenant: str, root: str) -> int:
    return max((one.updated_at for one in _line_of(side, tenant, root)), default=0)


def _joined(one: Note, other: Note) -> str:
    """Which lines a session's reflection wrote on either side."""
    lines = orjson.loads(one.content)
    for slot, some in orjson.loads(other.content).items():
        lines[slot] = list(dict.fromkeys([*lines.get(slot, []), *some]))
    return orjson.dumps(lines).decode()


def _title(record: Any) -> str:
    """The first words of a record that is visible to all."""
    if EVERYBODY not in getattr(record, "audience", (EVERYBODY,)):
        return ""
    for name in ("content", "title", "label", "narrative", "message", "id"):
        text = str(getattr(record, name, "") or "").strip()
        if text:
            line = text.splitlines()[0].strip()
            return line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 1].rstrip()}…"
    return ""
