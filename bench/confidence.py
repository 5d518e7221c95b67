"""How sure a search is that it answers: fits the numbers of src/holdfast/recall/confidence, and measures them.

    python bench/confidence.py [--shared FOLDER] [--vectors FOLDER] [--embedders minilm,gte-small,none] [--kept]

Each question is asked where its answer lies, and where none does: in another conversation of its set, in another set,
and in one store with all other sets. For each embedder this writes its part of calibration.json, fitted on all sets,
and for docs/benchmarks/confidence.md what was measured on each set, and each conversation, when it was left out.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
import coding
import coding_stories
import confidence_page
import sets
from pool import Store
from quality import Vectors
from sets import Collection, Document

from holdfast.index import LOCAL_MODELS
from holdfast.recall.confidence import Calibration, HitSigns, signs_of
from holdfast.recall.confidence.calibration import TABLE, WORDS
from holdfast.recall.confidence.signs import FIRST, answered, chosen, match, size
from holdfast.recall.rank import rank

ROOT = Path(__file__).parent.parent
Floats = NDArray[np.float64]
DEPTH, SHOWN = 100, 10
# What a record is worth that holds all of the question's words, in likeness: between .25 and .5 nothing changes.
COVERED = 0.35
LARGE_ASKED = 60  # questions of each set that are asked in the large store too, with their answer and without
# How much each kind of question counts in a fit, and in what is reported for a set: as many with an answer as without.
SHARES = {"own": 0.8, "other": 0.6, "set": 0.2, "large own": 0.2, "large none": 0.2}
ADVERSARIAL = "adversarial"
SEED = 5
KEPT = ROOT / "build" / "confidence"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question in one store."""

    set: str
    conversation: str
    kind: str  # own, other, set, large own, large none, part
    category: str
    documents: int
    matches: tuple[float, ...]  # of each hit
    gold: tuple[bool, ...]

    @property
    def best(self) -> float:
        return max(self.matches[:FIRST])

    @property
    def has_answer(self) -> bool:
        return self.kind.endswith("own") and self.category != ADVERSARIAL


Sets = dict[str, list[list[Collection]]]


def groups(shared: Path) -> Sets:
    """The sets, each as lists of conversations of one kind: a question of one has no answer in the others.

    Both sets of one assistant's chats stand two apart: a set's questions are asked in the one before it, and every
    second set is in one of the large stores.
    """
    levels = zip(*([*sets.at_length([one]), sets.long_replies([one])] for one in sets.assistant()), strict=True)
    found = {
        "assistant": [sets.assistant()],
        "coding": [_parts(one, 3, _story) for one in coding.collections()],
        "assistant-long": [[_named(one, str(number)) for number, one in enumerate(level)] for level in levels],
        "library": [[sets.library(True)]],
        "manual": [[sets.manual()]],
    }
    if (shared / "locomo_first5.json").exists():
        found["locomo"] = [sets.locomo(shared / "locomo_first5.json")]
    for path in sorted(shared.glob("*_half.json")):
        found[path.stem.removesuffix("_half")] = [sets.chats(path)]
    return found


def _named(one: Collection, more: str) -> Collection:
    return replace(one, name=f"{one.name} {more}")


def _story(document: Document) -> str:
    """The story that a record of bench/coding.py tells: it is told of several services, and each telling would do."""
    name, _, number = document.id.partition(":")
    if name in ("note", "other"):
        return f"note {number}"
    return document.id if name == "fact" else f"story {_STORIES[int(name.removeprefix('session-'))]}"


def _stories() -> list[int]:
    """The number of the story of each session, as bench/coding.py draws them."""
    chance = random.Random(coding.SEED)
    plan = [
        at
        for at, _ in enumerate(coding_stories.STORIES)
        for _ in chance.sample(coding_stories.SERVICES, coding.TELLINGS)
    ]
    chance.shuffle(plan)
    return plan


_STORIES = _stories()


def _parts(whole: Collection, count: int, unit: Callable[[Document], str]) -> list[Collection]:
    """A collection in so many, its units dealt out in turn; each question goes with what answers it."""
    names = dict.fromkeys(unit(one) for one in whole.documents)
    place = {name: number % count for number, name in enumerate(names)}
    of = {one.id: place[unit(one)] for one in whole.documents}
    found = []
    for part in range(count):
        documents = tuple(one for one in whole.documents if of[one.id] == part)
        queries = tuple(one for one in whole.queries if {of[id] for id in one.gold} == {part})
        found.append(Collection(f"{whole.name} {part}", documents, queries))
    return found


def scale_of(embedded: bool) -> Calibration:
    """How a match is made of likeness and words, before anything is fitted."""
    return Calibration(float(embedded), COVERED if embedded else 1.0, (0, 0, 0), (0, 0, 0))


class Asking:
    """Asks questions as a search does, with the vectors of one embedder or without any."""

    def __init__(self, vectors: Vectors | None):
        self.vectors = vectors
        self.scale = scale_of(vectors is not None)
        self._stores: dict[str, Store] = {}

    def embed(self, texts: Sequence[str]) -> Sequence[NDArray[np.float32] | None]:
        return self.vectors.of_questions(texts) if self.vectors else [None] * len(texts)

    def store(self, one: Collection) -> Store:
        if one.name not in self._stores:
            texts = [document.text for document in one.documents]
            parts = self.vectors.in_parts(texts) if self.vectors else [np.zeros((1, 1), np.float32)] * len(texts)
            model = LOCAL_MODELS[self.vectors.embedder].label if self.vectors else ""
            self._stores[one.name] = Store(one, parts, model)
        return self._stores[one.name]

    def hits(self, one: Collection, text: str, vector: NDArray[np.float32] | None) -> list[tuple[str, float]]:
        """The first hits: their documents, and how well each matches."""
        store = self.store(one)
        asked = store.asked(text)
        corpus = store.corpus(asked.terms)
        candidates = store.candidates(asked.terms, vector, DEPTH)
        rows = {row.seq: row for row in candidates}
        signs = signs_of(asked.terms, corpus, asked.read)
        found = [rows[one.seq] for one in rank(asked, candidates, corpus, SHOWN)]
        matches = [match(HitSigns(row.cosine, signs.covered(row.weights)), self.scale) for row in found]
        named = [(store.documents[row.seq - 1].id, like) for row, like in zip(found, matches, strict=True)]
        return named or [("", 0.0)]


def large(sets_: Sets) -> list[Collection]:
    """Every second set in one store, and the others in another; of each set the first form of its conversations."""
    names = list(sets_)
    return [_everything(f"store {side}", [one for name in names[side::2] for one in sets_[name][0]]) for side in (0, 1)]


def _everything(name: str, chosen: Sequence[Collection]) -> Collection:
    documents = [
        replace(row, id=f"{one.name}/{row.id}", session=row.session and f"{one.name}/{row.session}")
        for one in chosen
        for row in one.documents
    ]
    return Collection(name, tuple(documents), ())


def ask_all(asking: Asking, sets_: Sets) -> Iterator[Asked]:
    """Every question of every set, in each store in which it is asked."""
    names = list(sets_)
    stores = large(sets_)
    for at, name in enumerate(names):
        start = time.process_time()
        away = sets_[names[at - 1]][0]
        for form in sets_[name]:
            for number, one in enumerate(form):
                yield from _of_conversation(asking, name, one, [*form[number + 1 :], *form[:number]], away)
        yield from _in_large(asking, name, sets_[name][0], stores[at % 2], stores[1 - at % 2])
        print(f"{name}: {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)


def _of_conversation(
    asking: Asking, name: str, one: Collection, others: Sequence[Collection], away: Sequence[Collection]
) -> Iterator[Asked]:
    vectors = asking.embed([query.text for query in one.queries])
    for number, (query, vector) in enumerate(zip(one.queries, vectors, strict=True)):
        places = {"own": one, "set": away[number % len(away)]}
        if others:
            places["other"] = others[number % len(others)]
        for kind, place in places.items():
            found = asking.hits(place, query.text, vector)
            gold = tuple(kind == "own" and query.category != ADVERSARIAL and id in query.gold for id, _ in found)
            matches = tuple(like for _, like in found)
            yield Asked(name, one.name, kind, query.category, len(place.documents), matches, gold)


def _in_large(
    asking: Asking, name: str, form: Sequence[Collection], holding: Collection, other: Collection
) -> Iterator[Asked]:
    asked = [(one, query) for one in form for query in one.queries if query.category != ADVERSARIAL]
    chosen = random.Random(SEED).sample(asked, min(LARGE_ASKED, len(asked)))
    vectors = asking.embed([query.text for _, query in chosen])
    for kind, store in (("large own", holding), ("large none", other)):
        for (one, query), vector in zip(chosen, vectors, strict=True):
            found = asking.hits(store, query.text, vector)
            gold = tuple(
                kind == "large own" and id in {f"{one.name}/{known}" for known in query.gold} for id, _ in found
            )
            matches = tuple(like for _, like in found)
            yield Asked(name, one.name, kind, query.category, len(store.documents), matches, gold)


class Columns:
    """Questions as arrays, and their hits, so that fits on many parts of them are fast. Adversarial ones are not fitted."""

    def __init__(self, rows: Sequence[Asked]):
        used = np.array([row.category != ADVERSARIAL for row in rows])
        self.answers = np.array([row.has_answer for row in rows])
        self.memory = np.array([[row.best, size(row.documents)] for row in rows])
        self.set = np.array([row.set for row in rows])
        self.share = np.array([SHARES[row.kind] for row in rows]) * used
        self.cell = np.array([f"{row.set} {row.kind}" for row in rows])
        self.of = np.repeat(np.arange(len(rows)), [len(row.matches) for row in rows])
        self.hit = np.array(
            [(like - row.best, math.log1p(place)) for row in rows for place, like in enumerate(row.matches)]
        )
        self.gold = np.array([float(one) for row in rows for one in row.gold])

    def weights(self, mine: NDArray[np.bool_]) -> Floats:
        """Each set counts alike, and within it each kind by its share; as many questions with an answer as without."""
        found = self.share * mine
        for cell in np.unique(self.cell[mine]):
            found[self.cell == cell] /= max(1, (mine & (self.cell == cell)).sum())
        for name in np.unique(self.set[mine]):
            for side in (True, False):
                one = (self.set == name) & (self.answers == side)
                found[one] /= found[one].sum() or 1.0
        return found * mine.sum() / found.sum()

    def fit(self, mine: NDArray[np.bool_], scale: Calibration) -> Calibration:
        """The numbers that say best which of these questions had an answer, and which hits were it."""
        weight = self.weights(mine)
        memory = logistic_fit(self.memory, self.answers.astype(float), weight)
        of_answers = (weight * self.answers)[self.of]
        return replace(scale, memory=memory, hit=logistic_fit(self.hit, self.gold, of_answers))  # type: ignore[arg-type]


def logistic_fit(features: Floats, truth: Floats, weight: Floats) -> tuple[float, ...]:
    """Weights of a logistic regression, the constant first."""
    table = np.column_stack([np.ones(len(features)), features])
    numbers = np.zeros(table.shape[1])
    for _ in range(50):
        said = 1 / (1 + np.exp(-table @ numbers))
        slope = table.T @ (weight * (said - truth))
        bend = (table * (weight * said * (1 - said))[:, None]).T @ table + 1e-6 * np.eye(len(numbers))
        step = np.linalg.solve(bend, slope)
        numbers -= step
        if np.abs(step).max() < 1e-9:
            break
    return tuple(round(float(one), 4) for one in numbers)


@dataclass(frozen=True, slots=True)
class Said:
    """A question with what was said about it by numbers that had not seen it."""

    asked: Asked
    memory: float
    hits: tuple[float, ...]


def say(row: Asked, scale: Calibration) -> Said:
    memory = answered(row.best, row.documents, scale)
    hits = (memory * chosen(like - row.best, place, scale) for place, like in enumerate(row.matches))
    return Said(row, memory, tuple(hits))


def left_out(rows: Sequence[Asked], columns: Columns, scale: Calibration, part: Callable[[Asked], str]) -> list[Said]:
    """What is said of each part by numbers that were fitted on all others."""
    found = []
    parts = np.array([part(row) for row in rows])
    for name in dict.fromkeys(parts.tolist()):
        numbers = columns.fit(parts != name, scale)
        found += [say(rows[at], numbers) for at in np.flatnonzero(parts == name)]
    return found


def measured_rows(name: str, given: argparse.Namespace, sets_: Sets) -> list[Asked]:
    """Every question as it was asked with this embedder, now or, with --kept, by an earlier run."""
    kept = given.kept and KEPT / f"{name}.json"
    if not kept:
        KEPT.mkdir(parents=True, exist_ok=True)
        kept = KEPT / f"{name}.json"
        asking = Asking(None if name == "none" else Vectors(given.vectors, name))
        rows = [asdict(row) for row in ask_all(asking, sets_)]
        kept.write_text(json.dumps(rows), encoding="utf-8")
    return [
        Asked(**{**row, "matches": tuple(row["matches"]), "gold": tuple(row["gold"])})
        for row in json.loads(kept.read_text(encoding="utf-8"))
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--shared", type=Path, default=ROOT.parent / "shared" / "bench")
    options.add_argument("--vectors", type=Path, default=ROOT / "build" / "vectors")
    options.add_argument("--embedders", default=",".join((*LOCAL_MODELS, "none")))
    options.add_argument("--kept", action="store_true", help="use what the last run measured")
    given = options.parse_args()
    sets_ = groups(given.shared)
    measured: dict[str, tuple[Calibration, list[Said], list[Said]]] = {}
    table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    for name in given.embedders.split(","):
        rows = measured_rows(name, given, sets_)
        columns, scale = Columns(rows), scale_of(name != "none")
        numbers = columns.fit(np.ones(len(rows), np.bool_), scale)
        label = WORDS if name == "none" else LOCAL_MODELS[name].label
        table[label] = asdict(numbers)
        by_set = left_out(rows, columns, scale, lambda row: row.set)
        by_conversation = left_out(rows, columns, scale, lambda row: f"{row.set} {row.conversation}")
        measured[label] = (numbers, by_set, by_conversation)
    confidence_page.write(ROOT / "docs" / "benchmarks", measured)
    TABLE.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
