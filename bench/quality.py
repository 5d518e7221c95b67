"""How well the right records are found, beside simpler ways, on conversations, code sessions, notes, code and prose.

    python bench/quality.py [--locomo FILE] [--packages FOLDER] [--vectors FOLDER] [--depth N] [--embedder MODEL]
                            [--compare] [--chats FILE ...] [--sets locomo,locomo-long,assistant,assistant-long,coding,library,manual,packages]

Candidates come as in the store: the best by words, the best by vectors, and their neighbours. Prints the tables and
writes them into docs/benchmarks/quality.md below the mark. Vectors are kept in FOLDER, by the hash of their text.
With --compare only one table is made: R@10 and MRR of each set, with both local models. --chats adds conversations
of one's own, as files of turns (id, text, session, at) and questions (question, evidence, category).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
import coding
import sets
from measure import FIGURES, Row, interval, mean, row
from pool import Store, convex, ranked, rrf, terms

from holdfast.core.ports import Embedder
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.embedder import embedder_from
from holdfast.index import BERTS, LOCAL_MODELS
from holdfast.recall.rank import rank
from holdfast.settings import load

ROOT = Path(__file__).parent.parent
DEPTH = 100
MARK = "<!-- written by bench/quality.py from here on -->"
Vector = NDArray[np.float32]
Way = Callable[[Store, str, Vector], list[str]]


def by_rank(depth: int | None, vectors: bool = True) -> Way:
    def way(store: Store, question: str, vector: Vector) -> list[str]:
        asked = store.asked(question)
        candidates = store.candidates(asked.terms, vector if vectors else None, depth)
        found = rank(asked, candidates, store.corpus(asked.terms), 100)
        return [store.documents[one.seq - 1].id for one in found]

    return way


def fts5(stop: bool) -> Way:
    return lambda store, question, _: ranked(store, store.bm25(terms(question, stop)), positive=True)


def dense(store: Store, question: str, vector: Vector) -> list[str]:
    return ranked(store, store.cosines(vector))


def rrf60(store: Store, question: str, vector: Vector) -> list[str]:
    return rrf([fts5(True)(store, question, vector), dense(store, question, vector)])


def half(store: Store, question: str, vector: Vector) -> list[str]:
    return convex(store, store.bm25(terms(question)), store.cosines(vector))


def ways(depth: int) -> dict[str, Way]:
    return {
        "FTS5": fts5(stop=False),
        "FTS5, no stop-words": fts5(stop=True),
        "vectors": dense,
        "RRF 60": rrf60,
        "convex 0.5": half,
        "rank, no vectors": by_rank(depth, vectors=False),
        "rank": by_rank(depth),
        "rank, all rows": by_rank(None),
    }


class Vectors:
    """Vectors by the hash of their text, and those of questions, on disk."""

    def __init__(self, folder: Path, embedder: str):
        folder = folder / embedder
        self.embedder = embedder
        self.folder = folder
        self.asked = self._kept("asked")
        self.known = self._kept("cache")

    def _kept(self, name: str) -> dict[str, Vector]:
        path = self.folder / f"{name}.json"
        return (
            dict(zip(json.loads(path.read_text()), np.load(path.with_suffix(".npy")), strict=True))
            if path.exists()
            else {}
        )

    def _keep(self, name: str, vectors: dict[str, Vector]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{name}.json").write_text(json.dumps(list(vectors)))
        np.save(self.folder / f"{name}.npy", np.stack(list(vectors.values())))

    def in_parts(self, texts: Sequence[str]) -> list[Vector]:
        """For each text a row for each of its parts."""
        parts = self._embedder.parts(texts)
        ends = np.cumsum([len(some) for some in parts])
        return np.split(self.of([part for some in parts for part in some]), ends[:-1])

    def of(self, texts: Sequence[str]) -> Vector:
        missing = [text for text in dict.fromkeys(texts) if _hash(text) not in self.known]
        if missing:
            self._add(missing)
        return np.stack([self.known[_hash(text)] for text in texts])

    def of_questions(self, texts: Sequence[str]) -> list[Vector]:
        """Questions may have other vectors than texts have."""
        missing = [text for text in dict.fromkeys(texts) if text not in self.asked]
        if missing:
            self.asked |= {text: self._embedder.embed_query(text) for text in missing}
            self._keep("asked", self.asked)
        return [self.asked[text] for text in texts]

    @cached_property
    def _embedder(self) -> Embedder:
        made = embedder_from(load({"embedder": self.embedder}), SystemClock(), SystemEntropy())
        assert made is not None, "the settings name no embedder"
        return made

    def _add(self, texts: list[str]) -> None:
        self.known |= zip(map(_hash, texts), self._embedder.embed(texts), strict=True)
        self._keep("cache", self.known)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def collections(
    chosen: Sequence[str], locomo: Path, packages: Path, chats: Sequence[Path]
) -> dict[str, list[sets.Collection]]:
    made: dict[str, Callable[[], list[sets.Collection]]] = {
        "locomo": lambda: sets.locomo(locomo),
        "locomo-long": lambda: sets.at_length(sets.locomo(locomo)),
        "assistant": sets.assistant,
        "assistant-long": lambda: [*sets.at_length(sets.assistant()), sets.long_replies(sets.assistant())],
        "coding": coding.collections,
        "library": lambda: [sets.library(True), sets.library(False)],
        "manual": lambda: [sets.manual()],
        "packages": lambda: sets.packages(packages),
    }
    return {name: made[name]() for name in chosen} | {path.stem: sets.chats(path) for path in chats}


def measure(
    collection: sets.Collection, vectors: Vectors, depth: int, chosen: Sequence[str] = ()
) -> dict[tuple[str, str], list[Row]]:
    """Rows by way and level."""
    parts = vectors.in_parts([document.text for document in collection.documents])
    store = Store(collection, parts, LOCAL_MODELS[vectors.embedder].label)
    asked = vectors.of_questions([query.text for query in collection.queries])
    session = {document.id: document.session for document in collection.documents}
    rows: dict[tuple[str, str], list[Row]] = {}
    for name, way in ways(depth).items():
        if chosen and name not in chosen:
            continue
        for query, vector in zip(collection.queries, asked, strict=True):
            found = way(store, query.text, vector)
            rows.setdefault((name, "turn"), []).append(row(collection.name, query.category, found, query.gold))
            if all(session[id] for id in query.gold):
                sessions = list(dict.fromkeys(session[id] or id for id in found))
                gold = frozenset(session[id] or "" for id in query.gold)
                rows.setdefault((name, "session"), []).append(row(collection.name, query.category, sessions, gold))
    return rows


def table(rows: dict[tuple[str, str], list[Row]], level: str, title: str) -> list[str]:
    lines = [
        f"**{title}, {level} level**",
        "",
        "| way | R@5 | R@10 | 95 % of R@10 | any@10 | all@10 | MRR | 95 % of MRR |",
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for (name, of), found in rows.items():
        if of == level:
            r5, r10, any10, all10, mrr = (f"{mean(found, figure):.3f}" for figure in FIGURES)
            spans = [" to ".join(f"{end:.3f}" for end in interval(found, figure)) for figure in ("recall10", "mrr")]
            lines.append(f"| {name} | {r5} | {r10} | {spans[0]} | {any10} | {all10} | {mrr} | {spans[1]} |")
    return [*lines, ""]


def split(rows: dict[tuple[str, str], list[Row]], by: str, title: str) -> list[str]:
    """R@10 and MRR at turn level for each category, or each collection."""
    turn = {name: found for (name, level), found in rows.items() if level == "turn"}
    kinds = list(dict.fromkeys(getattr(one, by) for one in next(iter(turn.values()))))
    lines = [f"**{title}, R@10 / MRR by {by}**", "", f"| way | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
    for name, found in turn.items():
        cells = []
        for kind in kinds:
            part = [one for one in found if getattr(one, by) == kind]
            cells.append(f"{mean(part, 'recall10'):.3f} / {mean(part, 'mrr'):.3f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def report(name: str, group: list[sets.Collection], vectors: Vectors, depth: int) -> list[str]:
    rows: dict[tuple[str, str], list[Row]] = {}
    for collection in group:
        for key, found in measure(collection, vectors, depth).items():
            rows.setdefault(key, []).extend(found)
    documents = sum(len(collection.documents) for collection in group)
    queries = sum(len(collection.queries) for collection in group)
    lines = [f"## {name}: {documents} records, {queries} questions", ""]
    # Each of our own collections is another kind of data: their mean would say nothing.
    if len(group) > 1:
        lines += split(rows, "collection", name)
    if name in ("locomo", "assistant") or len(group) == 1:
        lines += table(rows, "turn", name) + table(rows, "session", name)
    if {query.category for one in group for query in one.queries} == {one.name for one in group}:
        return lines  # that would be the same table again
    return lines + split(rows, "category", name)


COMPARED = ("vectors", "rank")
MODELS = tuple(one.key for one in BERTS)


def compare(groups: dict[str, list[sets.Collection]], folder: Path, depth: int) -> list[str]:
    """R@10 and MRR of each set at turn level, by vectors alone and by the ranking, with each local model."""
    found: dict[tuple[str, str, str], str] = {}
    for model in MODELS:
        vectors = Vectors(folder, model)
        for name, group in groups.items():
            rows: dict[str, list[Row]] = {}
            for collection in group:
                for (way, level), some in measure(collection, vectors, depth, COMPARED).items():
                    if level == "turn":
                        rows.setdefault(way, []).extend(some)
            for way, some in rows.items():
                found[model, name, way] = f"{mean(some, 'recall10'):.3f} / {mean(some, 'mrr'):.3f}"
            print(model, name, {way: found[model, name, way] for way in rows}, file=sys.stderr)
    columns = [(way, model) for way in COMPARED for model in MODELS]
    lines = [f"| set | {' | '.join(f'{way}, {model}' for way, model in columns)} |", "|---" * (len(columns) + 1) + "|"]
    return lines + [f"| {name} | {' | '.join(found[model, name, way] for way, model in columns)} |" for name in groups]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--locomo", type=Path, default=ROOT.parent / "shared" / "bench" / "locomo_first5.json")
    options.add_argument("--packages", type=Path, help="a folder with Debian's Translation-<language>.xz")
    options.add_argument("--vectors", type=Path, default=ROOT / "build" / "vectors")
    options.add_argument("--depth", type=int, default=DEPTH)
    options.add_argument("--sets", default="locomo,locomo-long,assistant,assistant-long,coding,library,manual")
    options.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks" / "quality.md")
    options.add_argument("--embedder", default="minilm", choices=[*LOCAL_MODELS])
    options.add_argument("--compare", action="store_true")
    options.add_argument("--chats", type=Path, nargs="*", default=[])
    given = options.parse_args()
    if given.packages and "packages" not in given.sets:
        given.sets += ",packages"
    groups = collections(given.sets.split(","), given.locomo, given.packages, given.chats)
    if given.compare:
        print("\n".join(compare(groups, given.vectors, given.depth)))
        return
    vectors = Vectors(given.vectors, given.embedder)
    lines = [MARK, "", f"{given.depth} candidates by words and as many by vectors, with their neighbours.", ""]
    for name, group in groups.items():
        start = time.process_time()
        lines += report(name, group, vectors, given.depth)
        print(f"{name}: {time.process_time() - start:.0f} s", file=sys.stderr)
    print("\n".join(lines))
    before = given.out.read_text(encoding="utf-8").partition(MARK)[0] if given.out.exists() else ""
    given.out.write_text(before + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
