"""Search by words: BM25 over segments and over the rows that are not yet folded, exact to the last digit.

What changes seldom is kept in memory: which docs a segment holds, how long they are, which are gone. The
postings of the question's words are read for each question. Formula and constants are those of FTS5's bm25().
"""

from __future__ import annotations

import math
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from holdfast.store.port import WordCount, WordHit, WordHits
from holdfast.store.sqlite.wordrows import Postings, WordRow, gone_after, post, rows_after

K1, B = 1.2, 0.75
HALF = 0.5
LEAST_IDF = 1e-6  # FTS5's: a word that stands nearly everywhere still counts a trace
MASKS = 16  # scopes of one segment kept in memory, 64 kB each
# Rows that are remembered of all tenants together, if not folded: 3.4 kB each where they have 60 words. A folded one
# takes a fiftieth of that. Past it the tenant that was not asked for longest is read anew when it is asked again.
HELD, FOLDED = 100_000, 50

Floats = NDArray[np.float64]
Places = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Each scope must be met by one of its terms; the time must lie from `since` to `until`, both included."""

    scopes: tuple[tuple[str, ...], ...] = ()
    since: int | None = None
    until: int | None = None

    def terms(self) -> list[str]:
        return [term for some in self.scopes for term in some]


@dataclass(frozen=True, slots=True)
class Posting:
    """Where a term stands in a part, and how heavily."""

    places: Places
    weights: NDArray[np.uint16]


@dataclass(slots=True)
class Part:
    """Docs in order: a segment, or the tail for one search."""

    docs: NDArray[np.int64]
    seqs: NDArray[np.int64]
    ats: NDArray[np.int64]
    lengths: Floats
    live: Mask
    dead: bool = False
    masks: dict[str, Mask] = field(default_factory=dict)
    normed: tuple[float, Floats] | None = None
    by_seq: NDArray[np.int64] | None = None  # places in the order of their seqs, once that was asked for
    postings: dict[str, Posting] = field(default_factory=dict)  # the tail's; a segment's are read when asked for

    def norms(self, average: float) -> Floats:
        """What each doc's length takes from a match; the same until the average changes, which a write does."""
        known = self.normed
        if known is None or known[0] != average:
            known = self.normed = (average, K1 * (1 - B + B * self.lengths / average))
        return known[1]

    def places_of(self, seqs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Those of the seqs that stand here and are not gone, and their places."""
        if self.by_seq is None:
            self.by_seq = np.argsort(self.seqs, kind="stable")
        # The last of equals: a record that was stored again stands here twice, and only the later one may live.
        at = np.searchsorted(self.seqs, seqs, side="right", sorter=self.by_seq)
        places = self.by_seq[np.maximum(at - 1, 0)]
        here = (self.seqs[places] == seqs) & self.live[places]
        return seqs[here], places[here]

    def kill(self, docs: Sequence[int]) -> Floats:
        """Mark docs as gone; the lengths of those that lived here. Whoever looks at the part keeps what it saw."""
        wanted = np.array(docs, np.int64)
        at = np.minimum(np.searchsorted(self.docs, wanted), len(self.docs) - 1)
        places = np.unique(at[(self.docs[at] == wanted) & self.live[at]])
        if len(places):
            self.live, self.dead = self.live.copy(), True
            self.live[places] = False
        lengths: Floats = self.lengths[places]
        return lengths


class Tail:
    """Rows that are not yet folded, by term."""

    def __init__(self) -> None:
        self.docs, self.seqs, self.ats, self.lengths = array("q"), array("q"), array("q"), array("d")
        self.live = bytearray()
        self.places: dict[int, int] = {}
        self.postings: Postings = {}

    def add(self, row: WordRow) -> None:
        place = self.places[row.doc] = len(self.docs)
        self.docs.append(row.doc)
        self.seqs.append(row.seq)
        self.ats.append(row.at)
        self.lengths.append(row.length)
        self.live.append(1)
        post(self.postings, "I", place, row)

    def kill(self, docs: Sequence[int]) -> Floats:
        lengths: list[float] = []
        for doc in docs:
            place = self.places.get(doc)
            if place is not None and self.live[place]:
                self.live[place] = 0
                lengths.append(self.lengths[place])
        return np.array(lengths)

    def part(self, terms: Sequence[str]) -> Part:
        """A copy that stands still, with the postings of these terms."""
        held = {term: self.postings[term] for term in terms if term in self.postings}
        return Part(
            np.array(self.docs, np.int64),
            np.array(self.seqs, np.int64),
            np.array(self.ats, np.int64),
            np.array(self.lengths, np.float64),
            np.frombuffer(bytes(self.live), np.bool_),
            dead=True,
            postings={term: Posting(np.array(at), np.array(weights)) for term, (at, weights) in held.items()},
        )


class TenantWords:
    """What is remembered of one tenant's words."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.version = -1
        self.segments: dict[int, Part] = {}
        self.tail = Tail()
        self.seen = 0  # the last doc in the tail, or folded
        self.heard = 0  # the last place in the list of the gone
        self.documents = 0
        self.words = 0.0

    def catch_up(self, db: apsw.Connection, tenant: str) -> bool:
        """Bring this to the moment that `db` sees; False if this is already past it."""
        state: Any = db.execute("SELECT version, folded FROM word_states WHERE tenant = ?", (tenant,)).get or (0, 0)
        version, folded = state
        if version < self.version:
            return False
        if version > self.version:
            self._load(db, tenant, version, folded)
        for row in rows_after(db, tenant, self.seen):
            self.tail.add(row)
            self.seen = row.doc
            self._count(row.length)
        gone = gone_after(db, tenant, self.heard)
        if gone:
            self._kill([doc for _, doc in gone])
            self.heard = gone[-1][0]
        return True

    def _load(self, db: apsw.Connection, tenant: str, version: int, folded: int) -> None:
        rows: Any = db.execute("SELECT segment FROM word_segments WHERE tenant = ?", (tenant,)).fetchall()
        self.segments = {segment: self.segments.get(segment) or _segment(db, tenant, segment) for (segment,) in rows}
        self.tail, self.seen, self.heard, self.version = Tail(), folded, 0, version
        self.documents = sum(int(part.live.sum()) for part in self.segments.values())
        self.words = sum(float(part.lengths[part.live].sum()) for part in self.segments.values())

    def parts(self, terms: Sequence[str], bounds: Bounds) -> list[tuple[int | None, Part]]:
        """The segments by their numbers, and the tail as it is now."""
        tail = self.tail.part([*terms, *bounds.terms()]) if self.tail.docs else None
        still = [(segment, replace(part)) for segment, part in self.segments.items()]
        return [*still, *([(None, tail)] if tail else [])]

    def size(self) -> int:
        """What this takes in memory, in rows that are not folded."""
        return 1 + len(self.tail.docs) + sum(len(part.docs) for part in self.segments.values()) // FOLDED

    def _count(self, length: float) -> None:
        self.documents += 1
        self.words += length

    def _kill(self, docs: Sequence[int]) -> None:
        parts: list[Tail | Part] = [self.tail, *self.segments.values()]
        for part in parts:
            lengths = part.kill(docs)
            self.documents -= len(lengths)
            self.words -= float(lengths.sum())


def _segment(db: apsw.Connection, tenant: str, segment: int) -> Part:
    sql = "SELECT docs, seqs, ats, lengths FROM word_segments WHERE tenant = ? AND segment = ?"
    row: Any = db.execute(sql, (tenant, segment)).get
    docs, seqs, ats = (np.frombuffer(packed, "<i8") for packed in row[:3])
    lengths, live = np.frombuffer(row[3], "<u4").astype(np.float64), np.ones(len(docs), np.bool_)
    return Part(docs, seqs, ats, lengths, live, by_seq=np.argsort(seqs, kind="stable"))


class WordIndex:
    """The words of all tenants, as far as this process has looked at them; shared by its readers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tenants: OrderedDict[str, TenantWords] = OrderedDict()  # the last asked last
        self._sizes: dict[str, int] = {}
        self._held = 0

    def search(
        self,
        db: apsw.Connection,
        tenant: str,
        terms: Sequence[str],
        bounds: Bounds,
        limit: int,
        check: Callable[[list[int]], set[int]] | None,
    ) -> WordHits:
        """The best `limit` records that hold any of the terms, lie in the bounds and pass the check."""
        view = self._look(db, tenant, terms, bounds)
        frequency = {term: sum(one.frequency(term) for one in view.gathered) for term in terms}
        counts = _counts(view, terms, frequency)
        inside = [one for one in view.gathered if one.allowed.any()]
        for one in inside:
            one.score(terms, frequency, view.documents, view.average)
        return WordHits(_checked(inside, limit, check), *counts, partial(_counted, view.gathered, terms))

    def members(self, db: apsw.Connection, tenant: str, bounds: Bounds, most: int) -> NDArray[np.int64] | None:
        """The seqs of every record in the bounds, in order; None if they are more than `most`."""
        gathered = self._look(db, tenant, (), bounds).gathered
        kept = [(one.part.seqs, one.allowed & one.part.live) for one in gathered]
        if sum(int(np.count_nonzero(mask)) for _, mask in kept) > most:
            return None
        return np.sort(np.concatenate([np.zeros(0, np.int64), *(seqs[mask] for seqs, mask in kept)]))

    def listed(self, db: apsw.Connection, tenant: str, scopes: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        """The seqs that meet each scope, by when they were said."""
        gathered = self._look(db, tenant, scopes, Bounds()).gathered
        return {scope: _in_order(gathered, scope) for scope in scopes}

    def _look(self, db: apsw.Connection, tenant: str, terms: Sequence[str], bounds: Bounds) -> View:
        """One moment of the tenant's words: what is remembered and what is read belong together."""
        if not db.get_autocommit():  # inside a write, or a moment that stands still: nothing remembered is true of it
            private = TenantWords()
            private.catch_up(db, tenant)
            gathered = _gather(db, tenant, private.parts(terms, bounds), terms, bounds)
            return View(private.documents, private.words, gathered)
        with self._lock:
            words = self._tenants.setdefault(tenant, TenantWords())
        while True:
            db.execute("BEGIN")
            try:
                with words.lock:
                    parts = words.parts(terms, bounds) if words.catch_up(db, tenant) else None
                    sizes = words.documents, words.words
                    self._hold(tenant, words)
                if parts is not None:
                    return View(*sizes, _gather(db, tenant, parts, terms, bounds))
            finally:
                db.execute("ROLLBACK")

    def _hold(self, tenant: str, words: TenantWords) -> None:
        """Note what a tenant's words take, and let go of others if that is too much."""
        with self._lock:
            if self._tenants.get(tenant) is not words:  # let go of meanwhile
                return
            self._tenants.move_to_end(tenant)
            self._held += words.size() - self._sizes.get(tenant, 0)
            self._sizes[tenant] = words.size()
            while self._held > HELD and len(self._tenants) > 1:
                oldest, _ = self._tenants.popitem(last=False)
                self._held -= self._sizes.pop(oldest, 0)


def _counts(view: View, terms: Sequence[str], frequency: dict[str, int]) -> tuple[int, int, float, dict[str, int]]:
    """How many records lie in the bounds; then how many there are, how long, and how many hold each term: of those in
    the bounds if these are few, else of all.

    What is rare in a project need not be rare in the whole memory, and the other way round.
    """
    held = [one.allowed & one.part.live for one in view.gathered]
    documents = sum(int(np.count_nonzero(mask)) for mask in held)
    if not documents or 2 * documents > view.documents:
        return documents, view.documents, view.average, frequency
    words = sum(float(one.part.lengths @ mask) for one, mask in zip(view.gathered, held, strict=True))
    inside = {
        term: sum(
            int(np.count_nonzero(mask[one.postings[term].places]))
            for one, mask in zip(view.gathered, held, strict=True)
            if term in one.postings
        )
        for term in terms
    }
    return documents, documents, words / documents, inside


def _counted(gathered: Sequence[Gathered], terms: Sequence[str], seqs: Sequence[int]) -> dict[int, WordCount]:
    found: dict[int, WordCount] = {}
    wanted = np.array(seqs, np.int64)
    for one in gathered:
        here, places = one.part.places_of(wanted)
        weights: list[dict[str, float]] = [{} for _ in here]
        for term in terms:
            for at, weight in one.weighed(term, places):
                weights[at][term] = weight
        lengths = one.part.lengths[places].tolist()
        found.update(zip(here.tolist(), map(WordCount, lengths, weights), strict=True))
    return found


def _in_order(gathered: Sequence[Gathered], scope: str) -> NDArray[np.int64]:
    seqs, ats = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for one in gathered:
        if scope in one.postings:
            places = one.postings[scope].places
            places = places[one.part.live[places]]
            seqs.append(one.part.seqs[places])
            ats.append(one.part.ats[places])
    every = np.concatenate(seqs)
    return every[np.lexsort((every, np.concatenate(ats)))]


class View:
    """A question's share of a tenant's words."""

    def __init__(self, documents: int, words: float, gathered: list[Gathered]):
        self.documents = documents
        self.average = words / documents if documents else 0.0
        self.gathered = gathered


class Gathered:
    """One part with the postings of a question, and the scores they make."""

    def __init__(self, part: Part, postings: dict[str, Posting], allowed: Mask):
        self.part = part
        self.postings = postings
        self.allowed = allowed
        self.scores: Floats = np.zeros(0)

    def frequency(self, term: str) -> int:
        posting = self.postings.get(term)
        if posting is None:
            return 0
        return int(np.count_nonzero(self.part.live[posting.places])) if self.part.dead else len(posting.places)

    def weighed(self, term: str, places: NDArray[np.int64]) -> Iterable[tuple[int, float]]:
        """Which of the places hold the term, by their number in the list, and how heavily."""
        posting = self.postings.get(term)
        if posting is None:
            return ()
        at = np.minimum(np.searchsorted(posting.places, places), len(posting.places) - 1)
        held = np.flatnonzero(posting.places[at] == places)
        return zip(held.tolist(), (posting.weights[at[held]] * HALF).tolist(), strict=True)

    def score(self, terms: Sequence[str], frequency: dict[str, int], documents: int, average: float) -> None:
        self.scores = np.zeros(len(self.part.docs))
        if not average:  # nothing is left that could match
            return
        norms = self.part.norms(average)
        for term in terms:
            posting = self.postings.get(term)
            if posting is None or not frequency[term]:  # all that held it are gone, and with no record no average
                continue
            idf = math.log((documents - frequency[term] + 0.5) / (frequency[term] + 0.5))
            weight = posting.weights * HALF
            norm = norms[posting.places]
            norm += weight
            weight *= K1 + 1
            weight /= norm
            weight *= max(idf, LEAST_IDF)
            self.scores[posting.places] += weight
        self.scores *= self.allowed & self.part.live

    def best(self, limit: int, above: float) -> tuple[Floats, NDArray[np.int64]]:
        """The best scores at or above a bound, and their seqs."""
        at = np.flatnonzero(self.scores >= above) if above > 0 else np.flatnonzero(self.scores)
        if len(at) > limit:
            at = at[np.argpartition(self.scores[at], len(at) - limit)[len(at) - limit :]]
            # Equals of the last one stay: the newest of them is decided later.
            at = np.flatnonzero(self.scores >= self.scores[at].min())
        return self.scores[at], self.part.seqs[at]


def _gather(
    db: apsw.Connection,
    tenant: str,
    parts: Sequence[tuple[int | None, Part]],
    terms: Sequence[str],
    bounds: Bounds,
) -> list[Gathered]:
    """The parts with what lies in the bounds and, if anything does, where the terms stand."""
    gathered = [_bounded(db, tenant, segment, part, bounds) for segment, part in parts]
    if any(one.allowed.any() for one in gathered):
        for (segment, _), one in zip(parts, gathered, strict=True):
            if segment is not None:
                one.postings = _postings(db, tenant, segment, set(terms))
    return gathered


def _bounded(db: apsw.Connection, tenant: str, segment: int | None, part: Part, bounds: Bounds) -> Gathered:
    # Taken now: another question, or this one's other scopes, may push them out of the part's memory.
    masks = {term: mask for term in bounds.terms() if (mask := part.masks.get(term)) is not None}
    found = part.postings
    if segment is not None:
        found = _postings(db, tenant, segment, {term for term in bounds.terms() if term not in masks})
    return Gathered(part, found, _allowed(part, found, masks, bounds))


def _postings(db: apsw.Connection, tenant: str, segment: int, terms: set[str]) -> dict[str, Posting]:
    if not terms:
        return {}
    marks = ", ".join("?" * len(terms))
    sql = f"SELECT term, places, weights FROM word_postings WHERE tenant = ? AND segment = ? AND term IN ({marks})"
    rows: Any = db.execute(sql, (tenant, segment, *terms))
    return {term: Posting(np.frombuffer(at, "<u2"), np.frombuffer(weights, "<u2")) for term, at, weights in rows}


def _allowed(part: Part, postings: dict[str, Posting], masks: dict[str, Mask], bounds: Bounds) -> Mask:
    allowed = np.ones(len(part.docs), np.bool_)
    for some in bounds.scopes:
        met = np.zeros(len(part.docs), np.bool_)
        for term in some:
            met |= masks[term] if term in masks else _mask(part, postings, term)
        allowed &= met
    if bounds.since is not None:
        allowed &= part.ats >= bounds.since
    if bounds.until is not None:
        allowed &= part.ats <= bounds.until
    return allowed


def _mask(part: Part, postings: dict[str, Posting], term: str) -> Mask:
    mask = np.zeros(len(part.docs), np.bool_)
    if term in postings:
        mask[postings[term].places] = True
    if len(part.masks) >= MASKS:
        part.masks.clear()
    part.masks[term] = mask  # a segment never changes: what changes is gone and stands in another
    return mask


def _checked(gathered: Sequence[Gathered], limit: int, check: Callable[[list[int]], set[int]] | None) -> list[WordHit]:
    """The best hits that pass; more are looked at until enough do or none are left."""
    asked = limit if check is None else max(4 * limit, 64)
    while True:
        hits = _top(gathered, asked)
        passed = check([hit.seq for hit in hits]) if check else None
        kept = hits if passed is None else [hit for hit in hits if hit.seq in passed]
        if passed is None or len(kept) >= limit or len(hits) < asked:
            return kept[:limit]
        asked *= 8


def _top(gathered: Sequence[Gathered], limit: int) -> list[WordHit]:
    scores, seqs, above = np.zeros(0), np.zeros(0, np.int64), 0.0
    for one in gathered:
        more, of = one.best(limit, above)
        if not len(more):
            continue
        scores, seqs = np.concatenate((scores, more)), np.concatenate((seqs, of))
        if len(scores) > limit:
            above = float(np.partition(scores, len(scores) - limit)[len(scores) - limit])
            keep = scores >= above
            scores, seqs = scores[keep], seqs[keep]
    order = np.lexsort((-seqs, -scores))[:limit]
    return [WordHit(int(seqs[at]), float(scores[at])) for at in order]
