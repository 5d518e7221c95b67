"""LoCoMo through a running server: turns are remembered over REST with project and session, then asked for.

    python bench/through.py [--locomo PATH]

bench/quality.py compares ways of ranking; this measures what a client gets. All conversations lie in one memory, each
in a project of its own. Writes docs/benchmarks/through.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parent))
import sets
from intake import Server
from measure import FIGURES, Row, interval, mean, row

ROOT = Path(__file__).parent.parent
BATCH = 100
SHOWN = 100  # results asked for, so that the reciprocal rank is seen to its end


def remember(http: httpx.Client, collection: sets.Collection) -> dict[str, str]:
    """Which document each memory is."""
    known: dict[str, str] = {}
    for first in range(0, len(collection.documents), BATCH):
        some = collection.documents[first : first + BATCH]
        memories = [
            {
                "content": one.text,
                "project": collection.name,
                "sessionId": f"{collection.name}-{one.session}",
                "createdAt": one.at,
            }
            for one in some
        ]
        answer = http.post("/agentmemory/remember/batch", json={"memories": memories}).raise_for_status().json()
        known.update({made["memory"]["id"]: one.id for made, one in zip(answer["results"], some, strict=True)})
    return known


def settle(http: httpx.Client, total: int) -> None:
    """Wait until every memory has its vector."""
    pause = threading.Event()
    while http.get("/agentmemory/health").json()["index"].get("done", 0) < total:
        pause.wait(0.5)


def ask(http: httpx.Client, collection: sets.Collection, known: dict[str, str]) -> tuple[list[Row], list[Row]]:
    """Rows at turn level and at session level."""
    session = {document.id: document.session or "" for document in collection.documents}
    turns, sessions = [], []
    for query in collection.queries:
        body: dict[str, Any] = {"query": query.text, "project": collection.name, "limit": SHOWN, "format": "compact"}
        answer = http.post("/agentmemory/search", json=body).raise_for_status().json()
        found = [known[hit["id"]] for hit in answer["results"]]
        turns.append(row(collection.name, query.category, found, query.gold))
        gold = frozenset(session[id] for id in query.gold)
        sessions.append(row(collection.name, query.category, list(dict.fromkeys(session[id] for id in found)), gold))
    return turns, sessions


def lines(name: str, rows: Sequence[Row]) -> str:
    figures = " | ".join(f"{mean(rows, figure):.4f}" for figure in FIGURES)
    low, high = interval(rows, "recall10")
    return f"| {name} | {len(rows)} | {figures} | {low:.3f} to {high:.3f} |"


HEAD = """# LoCoMo through REST

Written by `make bench` with LOCOMO=path. Each conversation is a project, each of its sessions a session; the default
settings of the server, all conversations in one memory. How the ranking's constants were chosen is in quality.md.

| what | questions | R@5 | R@10 | any@10 | all@10 | MRR | 95 % of R@10 |
|---|---|---|---|---|---|---|---|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--locomo", type=Path, default=ROOT.parent / "shared" / "bench" / "locomo_first5.json")
    collections = sets.locomo(parser.parse_args().locomo)
    turns: list[Row] = []
    sessions: list[Row] = []
    text = ""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "memory")
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=120, trust_env=False) as http:
            known = [remember(http, collection) for collection in collections]
            settle(http, sum(len(collection.documents) for collection in collections))
            for collection, ids in zip(collections, known, strict=True):
                of_turns, of_sessions = ask(http, collection, ids)
                turns += of_turns
                sessions += of_sessions
                text += lines(f"{collection.name}, turns", of_turns) + "\n"
        server.stop()
    for category in dict.fromkeys(one.category for one in turns):
        text += lines(f"{category}, turns", [one for one in turns if one.category == category]) + "\n"
    text += lines("all, turns", turns) + "\n" + lines("all, sessions", sessions) + "\n"
    (ROOT / "docs" / "benchmarks" / "through.md").write_text(HEAD + text)
    sys.stdout.write(HEAD + text)


if __name__ == "__main__":
    main()
