"""Search by words: over segments and over the rows that are not yet compacted.

What changes seldom is kept in memory: which docs a segment holds, how long they are, which are gone. The
postings of the question's words are read for each question.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.store.fulltext.bm25 import PartPostings, TenantView
from holdfast.store.fulltext.parts import Mask, Part, Posting, ScopeBounds, Seqs, Tail
from holdfast.store.fulltext.postings import gone_after, rows_after
from holdfast.store.fulltext.word_database import Database
from holdfast.store.port import WordCount, WordHits

# What is kept in memory of the words of all tenants together, in bytes: see `Tail.size`. Past it the tenant that was
# searched longest ago is read anew when needed. A doc that is compacted takes its numbers, and some masks.
HELD, COMPACTED_BYTES = 24_000_000, 110
AT_ONCE = 1_000  # rows


class TenantWords:
    """What is cached of one tenant's words."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.version = -1
        self.place: int | None = None  # up to which change this is known, where the database has a number for it
        self.segments: dict[int, Part] = {}
        self.tail = Tail()
        self.seen = 0  # the last doc in the tail, or compacted
        self.heard = 0  # the last place in the list of gone docs
        self.documents = 0
        self.words = 0.0

    def catch_up(self, db: Database, tenant: str, place: int | None = None) -> bool:
        """Bring this to the moment that `db` sees, of which the place may be known; False if this is already past
        it."""
        if place is not None and place == self.place:
            return True
        state: Any = db.execute("SELECT version, folded FROM word_states WHERE tenant = ?", (tenant,)).get or (0, 0)
        version, compacted = state
        if version < self.version:
            return False
        if version > self.version:
            self._load(db, tenant, version, compacted)
        rows = rows_after(db, tenant, self.seen)
        while some := list(islice(rows, AT_ONCE)):
            self.tail.add(some)
            self.seen = some[-1].doc
            self.documents += len(some)
            self.words += sum(row.length for row in some)
        gone = gone_after(db, tenant, self.heard)
        if gone:
            self._kill([doc for _, doc in gone])
            self.heard = gone[-1][0]
        self.place = None if place is None else max(place, self.place or 0)
        return True

    def _load(self, db: Database, tenant: str, version: int, compacted: int) -> None:
        self.segments = _segments(db, tenant, self.segments)
        self.tail, self.seen, self.heard, self.version = Tail(), compacted, 0, version
        self.documents = sum(int(part.live.sum()) for part in self.segments.values())
        self.words = sum(float(part.lengths[part.live].sum()) for part in self.segments.values())

    def parts(self, terms: Sequence[str], bounds: ScopeBounds) -> list[tuple[int | None, PartPostings]]:
        """The segments by their numbers, and the tail, as they are now."""
        held: list[tuple[int | None, Part]] = list(self.segments.items())
        if self.tail.docs:
            held.append((None, self.tail.part([*terms, *bounds.terms()])))
        return [(segment, PartPostings(part, part.live, part.dead)) for segment, part in held]

    def size(self) -> int:
        """What this takes in memory, about, in bytes."""
        compacted = sum(len(part.docs) for part in self.segments.values())
        return 1 + self.tail.size() + COMPACTED_BYTES * compacted

    def _kill(self, docs: Sequence[int]) -> None:
        parts: list[Tail | Part] = [self.tail, *self.segments.values()]
        for part in parts:
            lengths = part.kill(docs)
            self.documents -= len(lengths)
            self.words -= float(lengths.sum())


def _segments(db: Database, tenant: str, known: Mapping[int, Part]) -> dict[int, Part]:
    """All segments of a tenant; only those are read that are not known."""
    sql = "SELECT segment, docs, seqs, ats, lengths FROM word_segments WHERE tenant = ?"
    if not known:  # in one round trip
        return {segment: _part(*packed) for segment, *packed in db.execute(sql, (tenant,)).fetchall()}
    rows: Any = db.execute("SELECT segment FROM word_segments WHERE tenant = ?", (tenant,)).fetchall()
    lacking = [segment for (segment,) in rows if segment not in known]
    found = db.execute(f"{sql} AND segment IN ({_marks(lacking)})", (tenant, *lacking)).fetchall() if lacking else ()
    read = {segment: _part(*packed) for segment, *packed in found}
    return {segment: read.get(segment) or known[segment] for (segment,) in rows}


def _part(docs: bytes, seqs: bytes, ats: bytes, lengths: bytes) -> Part:
    of_doc, of_seq, of_time = (np.frombuffer(packed, "<i8") for packed in (docs, seqs, ats))
    long, live = np.frombuffer(lengths, "<u4").astype(np.float64), np.ones(len(of_doc), np.bool_)
    return Part(of_doc, of_seq, of_time, long, live, by_seq=np.argsort(of_seq, kind="stable"))


PlaceOf = Callable[[Database, Any], int]  # a number that grows with each change of a tenant's words
Check = Callable[[list[int]], set[int]]  # those of given records that meet what the index does not know


@dataclass(frozen=True, slots=True)
class _Candidates:
    """A question's share of a tenant's words; fulfils `port.Candidates`."""

    view: TenantView
    terms: Sequence[str]
    check: Check | None

    def counted(self, seqs: Sequence[int]) -> dict[int, WordCount]:
        return self.view.counted(self.terms, seqs)

    def meeting(self, seqs: Sequence[int]) -> set[int]:
        inside = self.view.meeting(seqs)
        return inside if self.check is None else self.check(list(inside))

    def complete(self, longest: int, most: int) -> list[int]:
        found = self.view.complete(self.terms, longest)
        if self.check is not None and found:
            met = self.check(found)
            found = [seq for seq in found if seq in met]
        return found[:most]


class WordIndex:
    """The words of all tenants, as far as this process has read them; shared by its readers."""

    def __init__(self, place_of: PlaceOf | None = None) -> None:
        """With `place_of` one look tells that nothing changed: where each is a round trip."""
        self._place_of = place_of
        self._lock = threading.Lock()
        self._tenants: OrderedDict[str, TenantWords] = OrderedDict()  # the last used last
        self._sizes: dict[str, int] = {}
        self._held = 0

    def search(
        self,
        db: Database,
        tenant: str,
        terms: Sequence[str],
        bounds: ScopeBounds,
        limit: int,
        check: Check | None,
    ) -> WordHits:
        """The best `limit` records that hold any of the terms, lie in the bounds and pass the check."""
        view = self._look(db, tenant, terms, bounds)
        whole = None if bounds.of_few else view.overall(terms)
        # What is rare in a project need not be rare in the whole memory, and the other way round.
        usual = whole if whole and not view.is_narrow else view.inside(terms)
        best = view.best(whole or usual, limit, check)
        shown = usual.documents, usual.average, usual.frequency
        return WordHits(best, view.count, *shown, _Candidates(view, terms, check))

    def members(self, db: Database, tenant: str, bounds: ScopeBounds, most: int) -> Seqs | None:
        """The seqs of every record in the bounds, in order; None if they are more than `most`."""
        gathered = self._look(db, tenant, (), bounds).gathered
        if sum(one.count for one in gathered) > most:
            return None
        return np.sort(_inside(gathered, "seqs"))

    def count(self, db: Database, tenant: str, bounds: ScopeBounds) -> int:
        """How many records lie in the bounds."""
        return sum(one.count for one in self._look(db, tenant, (), bounds).gathered)

    def times(self, db: Database, tenant: str, bounds: ScopeBounds) -> NDArray[np.int64]:
        """When each record in the bounds was said, in no order."""
        return _inside(self._look(db, tenant, (), bounds).gathered, "ats")

    def last(self, db: Database, tenant: str, bounds: ScopeBounds, limit: int) -> Seqs:
        """The highest `limit` seqs of the records in the bounds, in order."""
        seqs = _inside(self._look(db, tenant, (), bounds).gathered, "seqs")
        if len(seqs) > limit:
            seqs = np.partition(seqs, len(seqs) - limit)[len(seqs) - limit :]
        return np.sort(seqs)

    def listed(self, db: Database, tenant: str, scopes: Sequence[str], bounds: ScopeBounds) -> dict[str, Seqs]:
        """The seqs that meet each scope and lie in the bounds, by when they were said."""
        gathered = self._look(db, tenant, scopes, bounds).gathered
        return {scope: _in_order(gathered, scope) for scope in scopes}

    def _look(self, db: Database, tenant: str, terms: Sequence[str], bounds: ScopeBounds) -> TenantView:
        """A consistent view of the tenant's words: what is cached and what is read belong together."""
        if not db.get_autocommit():  # inside a write, or a read transaction: nothing cached is true of it
            private = TenantWords()
            private.catch_up(db, tenant)
            gathered = _gather(db, tenant, private.parts(terms, bounds), terms, bounds)
            return TenantView(private.documents, private.words, gathered)
        with self._lock:
            words = self._tenants.setdefault(tenant, TenantWords())
        while True:
            db.execute("BEGIN")
            try:
                place = self._place_of(db, tenant) if self._place_of else None
                with words.lock:
                    parts = words.parts(terms, bounds) if words.catch_up(db, tenant, place) else None
                    sizes = words.documents, words.words
                    self._hold(tenant, words)
                if parts is not None:
                    return TenantView(*sizes, _gather(db, tenant, parts, terms, bounds))
            finally:
                db.execute("ROLLBACK")

    def _hold(self, tenant: str, words: TenantWords) -> None:
        """Note what a tenant's words take, and evict others if that is too much."""
        with self._lock:
            if self._tenants.get(tenant) is not words:  # evicted meanwhile
                return
            self._tenants.move_to_end(tenant)
            self._held += words.size() - self._sizes.get(tenant, 0)
            self._sizes[tenant] = words.size()
            while self._held > HELD and len(self._tenants) > 1:
                oldest, _ = self._tenants.popitem(last=False)
                self._held -= self._sizes.pop(oldest, 0)


def _inside(gathered: Sequence[PartPostings], column: Literal["seqs", "ats"]) -> NDArray[np.int64]:
    """A column of everything in the bounds."""
    return np.concatenate([np.zeros(0, np.int64), *(getattr(one.part, column)[one.inside] for one in gathered)])


def _in_order(gathered: Sequence[PartPostings], scope: str) -> Seqs:
    seqs, ats = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for one in gathered:
        if scope in one.postings:
            places = one.postings[scope].places
            places = places[one.inside[places]]
            seqs.append(one.part.seqs[places])
            ats.append(one.part.ats[places])
    every = np.concatenate(seqs)
    return every[np.lexsort((every, np.concatenate(ats)))]


def _gather(
    db: Database,
    tenant: str,
    parts: Sequence[tuple[int | None, PartPostings]],
    terms: Sequence[str],
    bounds: ScopeBounds,
) -> list[PartPostings]:
    """The parts with what lies in the bounds and, if anything does, where the terms stand."""
    _bound(db, tenant, parts, bounds)
    gathered = [one for _, one in parts]
    if any(one.count for one in gathered):
        found = _postings(db, tenant, [segment for segment, _ in parts if segment is not None], set(terms))
        for segment, one in parts:
            one.postings = one.part.postings if segment is None else found.get(segment, {})
    return gathered


def _bound(db: Database, tenant: str, parts: Sequence[tuple[int | None, PartPostings]], bounds: ScopeBounds) -> None:
    wanted = set(bounds.terms())
    # Taken now: another question, or this one's other scopes, may evict them from the part's cache.
    known = [{term: mask for term in wanted if (mask := one.part.masks.get(term)) is not None} for _, one in parts]
    lacking = {segment for (segment, _), masks in zip(parts, known, strict=True) if len(masks) < len(wanted)}
    missing = {term for masks in known for term in wanted - masks.keys()}
    found = _postings(db, tenant, [segment for segment in lacking if segment is not None], missing)
    for (segment, one), masks in zip(parts, known, strict=True):
        postings = one.part.postings if segment is None else found.get(segment, {})
        made: dict[str, Mask] = {term: one.part.mask(term, postings.get(term)) for term in wanted - masks.keys()}
        one.bound(bounds, masks | made)


def _postings(
    db: Database, tenant: str, segments: Iterable[int], terms: Collection[str]
) -> dict[int, dict[str, Posting]]:
    """Where the terms stand, by segment."""
    found: dict[int, dict[str, Posting]] = defaultdict(dict)
    listed = sorted(segments)
    if terms and listed:
        sql = (
            "SELECT segment, term, places, weights FROM word_postings "
            f"WHERE tenant = ? AND segment IN ({_marks(listed)}) AND term IN ({_marks(terms)})"
        )
        rows: Any = db.execute(sql, (tenant, *listed, *terms))
        for segment, term, at, weights in rows:
            found[segment][term] = Posting(np.frombuffer(at, "<u2"), np.frombuffer(weights, "<u2"))
    return found


def _marks(values: Collection[Any]) -> str:
    return ", ".join("?" * len(values))
