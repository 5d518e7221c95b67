"""The order of candidates for a question: words, meaning, and what stands beside a record.

Pure functions over values. Nothing here knows the store, the embedder or the clock. What the parts count is fitted
(ranking_weights.py, docs/benchmarks/ranking.md); how the other constants were chosen is in docs/benchmarks/quality.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.core.times import DAY_MS
from holdfast.recall import signals
from holdfast.recall.ranking.neighbours import NeighbourPairs, neighbours
from holdfast.recall.ranking.ranking_weights import RankingWeights, weights_of
from holdfast.recall.time.dates import spans

Floats = NDArray[np.float64]

# BM25. A little below the usual 1.2 and 0.75: on conversations that finds slightly more (words alone .798 instead of
# .793); lower still finds less among records that differ much in length.
K1, B = 1.0, 0.6

# How far the share of the words may be from its middle: less where the best by meaning clearly leads the twentieth,
# more where twenty are alike. What the words themselves show (how much of the question the best match holds, how far
# both orders agree) does not help: what counts against words in conversations does not in code
# (docs/benchmarks/quality.md).
WORDS_RANGE = 0.15
WORDS_UNREAD = 0.8  # of a question in a script that the model does not know (Japanese R@10 .897 instead of .863)
LEAD_PLACE = 20
LEAD_USUAL = 0.3  # on the scale of the meaning; conversations have 0.23 on average, code and notes 0.33 to 0.45

# Words are on a fixed scale: BM25 over what a record would get that holds this share of the question's rarity, each
# term once. The best match of a LoCoMo question reaches 0.62 of it, that of a paraphrased question about code 0.29. So
# a question whose words hardly occur leaves the decision to the meaning; stretching the best match to 1 loses that
# (R@10 of our records without sessions .59 instead of .68). Long records repeat words and would get more than 1; there
# the best match is 1, or chance matches outweigh the meaning (library without sessions .709 instead of .721).
WORDS_SPREAD = 0.6

# Cosines are on a scale that is half their own spread and half the usual one: models differ in their spread, and a
# question whose vectors all look alike leaves the decision to the words.
MEANING_STRETCH = 0.5
MEANING_SPREAD = 0.5

# A record without a vector: from this much of the words' scale on, the best match by words is taken to be as near as
# the nearest; a match of less is chance. R@5 of records whose vector is missing among those of others: .437 instead of
# .280 (memories), .767 instead of .413 (long records), .673 instead of .593 (manual); with it .600, .887, .707.
WORDS_FULL = 0.3

# A record counts as at most so many times as long as usual: a rare word is one in a log of a thousand lines as well.
LONGEST = 4.0

DATE = 0.3
DATE_ALONE = 1.2  # of a question that names only days: more than all words that some text shares with it
DISCLOSED = 0.25  # of a memory for whose moment the question is: as much as half a perfect match of words
DEED = 0.35  # docs/benchmarks/agent_day.md: without it tools' output comes before what was concluded from it
ASKING_LENGTH = 50  # a record this long holds more than its questions

# Tie-breakers: together less than what one more matching word of a question brings.
RECENT = 0.006
IMPORTANT = 0.006
RECALLED = 0.003
RECENT_DAYS = 30.0  # half as much after each
RECALLS_HALF = 5  # recalls that bring half of it

MAX_WEIGHT = 1e6
MAX_LENGTH = 1e9


class Candidate(NamedTuple):
    """A record that may answer, with all that the order depends on."""

    seq: int  # identity; newer is larger
    session: str | None
    at: int  # ms since 1970: when it was said
    length: int  # terms in the record
    weights: Mapping[str, float]  # how often each of the question's terms occurs in it; absent: not at all
    cosine: float | None  # None: no vector (yet), or no embedder
    text: str
    importance: int  # 1 to 10
    recalls: int
    disclosure: str = ""  # when to recall it, in its writer's words
    did: bool = False  # what a tool did or printed, and no words of a person or an agent
    by_user: bool = False  # the user's own words


@dataclass(frozen=True, slots=True)
class RankingQuery:
    """The question: its text, its stemmed terms without stop-words, and its time."""

    text: str
    terms: tuple[str, ...]
    now: int
    read: float = 1.0  # how much of the text the embedder can read, 0 to 1
    model: str = ""  # whose vectors the cosines are of


@dataclass(frozen=True, slots=True)
class Corpus:
    """What the candidates were taken from."""

    documents: int
    average_length: float
    frequency: Mapping[str, int]  # in how many documents each term occurs


class ScoreParts(NamedTuple):
    """What made a score; they add up to it."""

    words: float
    meaning: float
    speaker: float
    date: float
    exact: float
    asking: float  # below zero: the record asks rather than states
    recent: float
    important: float
    recalled: float
    neighbours: float  # of words and meaning, how much stands beside the record: explains, is not added
    disclosed: float = 0.0
    deed: float = 0.0  # below zero: what a tool printed holds many words, and rarely the conclusion
    own: float = 0.0  # the user's own words, for a question about the user
    number: float = 0.0  # for a question after a number, a time or a version
    turn: float = 0.0  # of a turn: how near its prompt and answer are together, beside the other hits
    worth: float = 0.0  # what was stated in it
    newer: float = 0.0  # than the other hits; below zero: older
    reread: float = 0.0  # how well it answers, by a model that reads question and text together


class RankedCandidate(NamedTuple):
    seq: int
    score: float
    parts: ScoreParts


def rank(asked: RankingQuery, candidates: Sequence[Candidate], corpus: Corpus, limit: int) -> list[RankedCandidate]:
    """The best candidates, best first; the same whatever order they come in."""
    if not candidates or limit <= 0:
        return []
    rows = sorted(candidates, key=lambda row: (row.session or "", row.at, row.seq))
    moments = np.array([row.at for row in rows])
    scored = _score(asked, rows, moments, corpus)
    seqs = np.array([row.seq for row in rows])
    # Rounded, so that equal matches are equal whatever the order of the sums.
    best = np.lexsort((-seqs, -moments, -np.round(scored.total, 9)))[:limit]
    return list(map(RankedCandidate, seqs[best].tolist(), scored.total[best].tolist(), scored.parts(best)))


@dataclass(frozen=True, slots=True)
class _ScoredTable:
    total: Floats
    added: dict[str, Floats]
    beside: Floats

    def parts(self, places: NDArray[np.intp]) -> list[ScoreParts]:
        columns = {name: values[places].tolist() for name, values in (*self.added.items(), ("neighbours", self.beside))}
        # What turns add comes later (turn_hits.py), so the last fields keep their defaults.
        return list(map(ScoreParts, *(columns[name] for name in ScoreParts._fields if name in columns)))


def _score(asked: RankingQuery, rows: Sequence[Candidate], moments: NDArray[np.int64], corpus: Corpus) -> _ScoredTable:
    weights = weights_of(asked.model)
    known = features(asked, rows, moments, corpus)
    share = _share(known.meaning, asked.read, weights)
    added = {
        "words": share * known.words,
        "meaning": (1 - share) * known.meaning + weights.alone * asked.read * known.own_meaning,
        "speaker": weights.speaker * known.speaker,
        "date": known.date,
        "exact": weights.exact * known.exact,
        "asking": -weights.asking * known.asking,
        "own": weights.own * known.own,
        "number": weights.number * known.number,
        "disclosed": DISCLOSED * signals.disclosed([row.disclosure for row in rows], asked.terms),
        "deed": -DEED * np.array([row.did for row in rows], float),
        **_tie_breakers(rows, moments, asked.now, matched=bool(known.words.any() or known.meaning.any())),
    }
    beside = share * (known.words - known.own_words) + (1 - share) * (known.meaning - known.own_meaning)
    return _ScoredTable(np.sum(list(added.values()), axis=0), added, beside)


@dataclass(frozen=True, slots=True)
class RowFeatures:
    """What is known of each row before it is weighed; what is fitted is fitted on these (bench/ranking)."""

    words: Floats
    own_words: Floats  # without its neighbours
    meaning: Floats
    own_meaning: Floats
    date: Floats  # weighed already
    speaker: Floats
    exact: Floats
    asking: Floats
    own: Floats
    number: Floats


def features(asked: RankingQuery, rows: Sequence[Candidate], moments: NDArray[np.int64], corpus: Corpus) -> RowFeatures:
    """The features of rows that are in the order of their sessions and, within one, of time."""
    texts = [row.text for row in rows]
    lengths = np.maximum(1.0, np.array([row.length for row in rows], float))
    asking = signals.asking(texts)
    near = neighbours([row.session for row in rows], lengths, asking)
    frequencies = _frequencies(asked.terms, rows)
    words, own_words = _words(frequencies, lengths, near, asked.terms, corpus)
    meaning, own_meaning = _meaning([row.cosine for row in rows], own_words, near)
    return RowFeatures(
        words,
        own_words,
        meaning,
        own_meaning,
        _dated(asked, moments),
        speaker=signals.speakers(texts, asked.text),
        exact=signals.exact(texts, signals.names(asked.text), [bool(row.weights) for row in rows]),
        asking=asking * np.maximum(0, 1 - lengths / ASKING_LENGTH),
        own=signals.own([row.by_user for row in rows], texts, asked.text),
        number=signals.numbers(texts, asked.text),
    )


def _dated(asked: RankingQuery, moments: NDArray[np.int64]) -> Floats:
    """How near each row is to the days that the question names."""
    days = spans(asked.text, asked.now)
    alone = bool(days) and signals.asks_for_days_alone(asked.text, asked.now)
    return (DATE_ALONE if alone else DATE) * signals.dated(moments, days)


def _frequencies(terms: Sequence[str], rows: Sequence[Candidate]) -> Floats:
    """How often each term occurs in each row."""
    if not terms:
        return np.zeros((len(rows), 0))
    found: Floats = np.array([row.weights.get(term, 0.0) for row in rows for term in terms], float)
    return np.clip(np.nan_to_num(found), 0.0, MAX_WEIGHT).reshape(-1, len(terms))


def _words(
    frequencies: Floats, lengths: Floats, near: NeighbourPairs, terms: Sequence[str], corpus: Corpus
) -> tuple[Floats, Floats]:
    """BM25 of each row with its neighbours, and of it alone, on one scale."""
    if not terms:
        return np.zeros(len(lengths)), np.zeros(len(lengths))
    rarities = rarity(terms, corpus)
    around = near.sums(lengths)
    # The corpus' average is of records alone; these have neighbours, so theirs is as much longer.
    average = min(max(1.0, corpus.average_length), MAX_LENGTH) * around.sum() / lengths.sum()
    norm = (K1 * (1 - B + B * np.minimum(around / average, LONGEST)))[:, None]
    together = near.strongest(frequencies)
    score = (together * (K1 + 1) / (together + norm)) @ rarities
    alone = (frequencies * (K1 + 1) / (frequencies + norm)) @ rarities
    scale = max(WORDS_SPREAD * rarities.sum(), score.max())
    return score / scale, alone / scale


def rarity(terms: Sequence[str], corpus: Corpus) -> Floats:
    """Inverse document frequency, never below zero."""
    documents = max(1, corpus.documents)
    held = np.array([min(max(0, corpus.frequency.get(term, 0)), documents) for term in terms], float)
    return np.log1p((documents - held + 0.5) / (held + 0.5))


def _meaning(cosines: Sequence[float | None], words: Floats, near: NeighbourPairs) -> tuple[Floats, Floats]:
    """Nearness in meaning of each row with its neighbours, and of it alone; all zero if nothing has a vector."""
    values = _with_guesses(np.array([np.nan if cosine is None else cosine for cosine in cosines], float), words)
    together = near.sums(values) / near.sums(np.ones(len(values)))
    low = together.min()
    spread = together.max() - low
    if spread <= 0:
        return np.zeros(len(values)), np.zeros(len(values))
    scale = spread**MEANING_STRETCH * MEANING_SPREAD ** (1 - MEANING_STRETCH)
    return (together - low) / scale, (values - low) / scale


def _with_guesses(cosines: Floats, words: Floats) -> Floats:
    """The cosines, with a guess for each row whose vector is still to come.

    By its words: the best match of all is taken to be as near as the nearest, a row without a word of the question to
    be like most. So what was stored a moment ago stands where its words put it, and not below all that has a vector.
    """
    known = np.isfinite(cosines)
    if not known.any():
        return np.zeros(len(cosines))
    values = np.clip(np.where(known, cosines, 0.0), -1.0, 1.0)
    usual, nearest = np.median(values[known]), values[known].max()
    matched = words / max(WORDS_FULL, words.max())
    return np.where(known, values, usual + (nearest - usual) * matched)


def _share(meaning: Floats, read: float, weights: RankingWeights) -> float:
    """Share of the words: smaller, the clearer the meaning decides, as far as the question could be read."""
    if not meaning.any():
        return 1.0
    return read * _share_if_read(meaning, weights) + (1 - read) * WORDS_UNREAD


def _share_if_read(meaning: Floats, weights: RankingWeights) -> float:
    usual = weights.words
    clearer = weights.lead * (lead_of(meaning) - LEAD_USUAL)
    return float(np.clip(usual - clearer, usual - WORDS_RANGE, usual + WORDS_RANGE))


def lead_of(meaning: Floats) -> float:
    """How far the best leads the twentieth; as usual where there are too few to tell."""
    if len(meaning) < LEAD_PLACE:
        return LEAD_USUAL
    return float(meaning.max() - np.partition(meaning, -LEAD_PLACE)[-LEAD_PLACE])


def _tie_breakers(rows: Sequence[Candidate], moments: NDArray[np.int64], now: int, matched: bool) -> dict[str, Floats]:
    """Small differences between equal matches; where nothing matched, there is nothing but the newest."""
    days = np.maximum(0, now - moments) / DAY_MS
    importance = np.clip(np.array([row.importance for row in rows], float), 1, 10)
    recalls = np.maximum(0.0, np.array([row.recalls for row in rows], float))
    return {
        "recent": RECENT * np.exp2(-days / RECENT_DAYS),
        "important": matched * IMPORTANT * (importance - 1) / 9,
        "recalled": matched * RECALLED * recalls / (recalls + RECALLS_HALF),
    }
