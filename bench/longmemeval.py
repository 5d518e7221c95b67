"""LongMemEval through a running server: each question's haystack is remembered in a project of its own, then asked.

    python bench/longmemeval.py longmemeval_s_cleaned.json [--questions N] [--out FILE]

The files are those that LongMemEval publishes (`longmemeval_s`, `_m` or `_oracle`, also the cleaned ones); they are not
part of this repository. Retrieval only, no language model. Prints, for turns and for sessions, how often any record of
the evidence is among the first 5 and 10 ("any"), how often all of them are ("all", strict), which share of them is,
and the mean reciprocal rank. Abstention questions have no evidence and are left out, as are questions whose evidence no
turn is marked with at turn level. --questions takes the first N of each type.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parent))
from intake import Server
from sets import TURN_MS, Collection, Document, Query
from through import SHOWN, remember, settle

ABSTENTION = "_abs"
DEPTHS = (5, 10)


@dataclass(frozen=True, slots=True)
class Instance:
    """One question with its haystack: turns as records, and which sessions answer it."""

    collection: Collection  # its one query has the turns that answer; none if no turn is marked
    sessions: frozenset[str]


def instances(rows: Sequence[dict[str, Any]]) -> Iterator[Instance]:
    """The questions that have an answer."""
    for row in rows:
        if row["question_id"].endswith(ABSTENTION):
            continue
        documents, gold = [], set()
        dated = zip(row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"], strict=True)
        for number, (session, date, turns) in enumerate(dated):
            for place, turn in enumerate(turns):
                if not turn["content"].strip():
                    continue
                id = f"{number}:{place}"  # some haystacks hold a session twice
                at = _moment(date) + place * TURN_MS
                documents.append(Document(id, f"{turn['role']}: {turn['content']}", session, at))
                if turn.get("has_answer"):
                    gold.add(id)
        query = Query(row["question"], frozenset(gold), row["question_type"])
        sessions = frozenset(row["answer_session_ids"])
        yield Instance(Collection(row["question_id"], tuple(documents), (query,)), sessions)


def _moment(date: str) -> int:
    """`2023/05/30 (Tue) 23:40`, or without weekday or time."""
    words = [word for word in date.split() if not word.startswith("(")]
    form = "%Y/%m/%d %H:%M" if len(words) > 1 else "%Y/%m/%d"
    return int(datetime.strptime(" ".join(words), form).replace(tzinfo=UTC).timestamp() * 1000)


def figures(found: Sequence[str], gold: frozenset[str]) -> dict[str, float]:
    """What is told of one ranked list."""
    told: dict[str, float] = {}
    for depth in DEPTHS:
        held = len(gold.intersection(found[:depth]))
        told |= {f"any@{depth}": held > 0, f"all@{depth}": held == len(gold), f"R@{depth}": held / len(gold)}
    places = [place for place, id in enumerate(found) if id in gold]
    return told | {"MRR": 1 / (places[0] + 1) if places else 0.0}


def few(every: Sequence[Instance], most: int) -> list[Instance]:
    """The first of each type."""
    seen: Counter[str] = Counter()
    kept = []
    for one in every:
        kind = one.collection.queries[0].category
        seen[kind] += 1
        kept += [one] if seen[kind] <= most else []
    return kept


def measure(every: Sequence[Instance]) -> dict[tuple[str, str], list[dict[str, float]]]:
    """Figures of each question, by level and type."""
    told: dict[tuple[str, str], list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "memory")
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=600, trust_env=False) as http:
            known = [remember(http, one.collection) for one in every]
            settle(http, sum(len(one.collection.documents) for one in every))
            for one, ids in zip(every, known, strict=True):
                query = one.collection.queries[0]
                found = _search(http, one.collection.name, query.text, ids)
                session = {document.id: document.session or "" for document in one.collection.documents}
                sessions = list(dict.fromkeys(session[id] for id in found))
                told.setdefault(("sessions", query.category), []).append(figures(sessions, one.sessions))
                if query.gold:
                    told.setdefault(("turns", query.category), []).append(figures(found, query.gold))
        server.stop()
    return told


def _search(http: httpx.Client, project: str, question: str, ids: dict[str, str]) -> list[str]:
    body: dict[str, Any] = {"query": question, "project": project, "limit": SHOWN, "format": "compact"}
    answer = http.post("/agentmemory/search", json=body).raise_for_status().json()
    # What says the same is one hit that names the others.
    return [ids[id] for hit in answer["results"] for id in (hit["id"], *hit.get("also", ())) if id in ids]


def table(told: dict[tuple[str, str], list[dict[str, float]]]) -> str:
    rows = dict(sorted(told.items()))
    for level in ("turns", "sessions"):
        rows[level, "all types"] = [one for (of, _), some in told.items() for one in some if of == level]
    names = list(next(iter(told.values()))[0])
    lines = [f"| level | type | questions | {' | '.join(names)} |", "|---" * (len(names) + 3) + "|"]
    for (level, kind), some in rows.items():
        if some:
            cells = (f"{sum(one[name] for one in some) / len(some):.3f}" for name in names)
            lines.append(f"| {level} | {kind} | {len(some)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("file", type=Path)
    options.add_argument("--questions", type=int, help="of each type; all if left out")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    every = list(instances(json.loads(given.file.read_text(encoding="utf-8"))))
    made = table(measure(few(every, given.questions) if given.questions else every))
    if given.out:
        given.out.write_text(made, encoding="utf-8")
    sys.stdout.write(made)


if __name__ == "__main__":
    main()
