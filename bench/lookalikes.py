"""Nothing vanishes: turns that differ in one name, number or "not" stay apart, and every record is found by its own text.

    python bench/lookalikes.py [--half tuned|held] [--embedder none|local] [--data FOLDER]

Prints how many look-alikes became a version of the other one, how many rewordings did, and for each set how many
records a search for their own text does not show: neither as a hit nor in the group of one, among the first three.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import coding
import sets

from holdfast.core.model import Caller
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.embedder import embedder_from
from holdfast.engine import Engine
from holdfast.intake.embed_queue import EmbedQueue
from holdfast.ops.registry import BY_NAME
from holdfast.settings import load

ROOT = Path(__file__).parent.parent
BATCH = 500
FIRST = 3
START = 1_700_000_000_000  # ms since 1970
SEED = 20_261_118
WORDS_LEAST, WORDS_MOST = 6, 40

NAMES = "Priya Marek Ottilie Dmitri Noor Saskia Bram Yusuf Ines Kofi".split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
COUNTS = "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty".split()
_AUXILIARY = re.compile(r"\b(is|are|was|were|could|would|should|do|does|did|has|have)\b(?! not|n't)", re.IGNORECASE)
_CONTRACTED = re.compile(r"\b(is|are|was|were|could|would|should|do|does|did|has|have)n['’]t\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d{1,6}(?![\w.])")
_NAMED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_COUNTED = re.compile(rf"\b({'|'.join(COUNTS)})\b", re.IGNORECASE)
_DAY = re.compile(rf"\b({'|'.join(DAYS)})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pair:
    """A turn and another wording: of something else (a look-alike), or of the same."""

    kind: str
    old: str
    new: str
    same: bool = False


def turns(half: str) -> Iterator[str]:
    """Turns of the repository's sets of a middle length; which half a turn is in follows from its text."""
    wanted = {"tuned": 0, "held": 1}[half]
    for collection in (*sets.assistant(), *coding.collections()):
        for document in collection.documents:
            text = " ".join(document.text.split())
            halved = hashlib.sha256(text.encode()).digest()[0] % 2 == wanted
            if halved and WORDS_LEAST <= len(text.split()) <= WORDS_MOST:
                yield text


def pairs(half: str) -> list[Pair]:
    """Look-alikes and rewordings of the turns of one half, the same at each call."""
    chance = random.Random(f"{SEED} {half}")
    found = [one for text in dict.fromkeys(turns(half)) for one in (*_apart(text, chance), *_alike(text, chance))]
    return [one for one in found if one.old != one.new]


def _apart(text: str, chance: random.Random) -> Iterator[Pair]:
    """The turn with one thing changed."""
    if _NUMBER.search(text):
        yield Pair("number", text, _NUMBER.sub(lambda found: str(int(found[0]) + chance.randint(1, 9)), text, count=1))
    if _NAMED.search(text):
        yield Pair("name", text, _NAMED.sub(chance.choice(NAMES), text, count=1))
        low = text.lower()
        yield Pair("name in small letters", low, _NAMED.sub(chance.choice(NAMES), text, count=1).lower())
    for kind, pattern, words in (("number word", _COUNTED, COUNTS), ("day in small letters", _DAY, DAYS)):
        if found := pattern.search(text):
            other = chance.choice([word for word in words if word != found[0].lower()])
            yield Pair(kind, text.lower(), f"{text[: found.start()]}{other}{text[found.end() :]}".lower())
    if _AUXILIARY.search(text):
        yield Pair("not", text, _AUXILIARY.sub(r"\1 not", text, count=1))
        yield Pair("n't without its mark", text, _AUXILIARY.sub(r"\1nt", text, count=1))
        yield Pair("hardly", text, _AUXILIARY.sub(r"\1 hardly", text, count=1))
    if _CONTRACTED.search(text):
        yield Pair("not taken away", text, _CONTRACTED.sub(r"\1", text, count=1))
    named = list(dict.fromkeys(_NAMED.findall(text)))
    if len(named) > 1:
        one, other = named[:2]
        swapped = re.sub(rf"\b({one}|{other})\b", lambda found: other if found[0] == one else one, text)
        yield Pair("names exchanged", text.lower(), swapped.lower())


def _alike(text: str, chance: random.Random) -> Iterator[Pair]:
    """The same said a little differently."""
    yield Pair("small letters", text, text.lower(), same=True)
    yield Pair("other marks", text, text.rstrip(".!") + "!", same=True)
    yield Pair(
        "a word more", text, f"{text.rstrip('.!')}, {chance.choice(['please', 'by the way', 'as agreed'])}.", same=True
    )
    if re.search(r"\bdo not\b", text):
        yield Pair("contracted", text, re.sub(r"\bdo not\b", "don't", text), same=True)


def own_sets() -> list[sets.Collection]:
    """Every set that the repository has."""
    return [*sets.assistant(), *coding.collections(), sets.library(True), sets.manual()]


def other_sets(data: Path) -> list[sets.Collection]:
    """Those of a folder with other data; none if there is no such folder."""
    found = []
    if data.is_dir():
        found = sets.locomo(data / "locomo_first5.json")
        for path in sorted(data.glob("*_half.json")):
            found += [_chat(one) for one in json.loads(path.read_text(encoding="utf-8"))]
    return found


def _chat(entry: dict[str, Any]) -> sets.Collection:
    documents = []
    for turn in entry["turns"]:  # some have no time: they follow the turn before
        at = (
            int(datetime.fromisoformat(turn["at"]).timestamp() * 1000)
            if turn["at"]
            else documents[-1].at + sets.TURN_MS
        )
        documents.append(sets.Document(turn["id"], turn["text"], turn["session"], at))
    return sets.Collection(f"chat {entry['id']}", tuple(documents), ())


class Memory:
    """A new memory in a folder of its own."""

    def __init__(self, home: Path, embedder: str):
        given = {"home": str(home), "port": 0, "embedder": embedder, "daemon": False}
        settings = load(given, {})
        model = None if embedder == "none" else embedder_from(settings, SystemClock(), SystemEntropy())
        self.engine = Engine(settings, SystemClock(), SystemEntropy(), model)

    def call(self, operation: str, **arguments: Any) -> Any:
        return BY_NAME[operation].call(self.engine.context(Caller()), arguments)

    def remember(self, memories: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = []
        for first in range(0, len(memories), BATCH):
            answers += self.call("remember_batch", memories=list(memories[first : first + BATCH]))["results"]
        follower = EmbedQueue(self.engine.store, self.engine.embedder, SystemClock())
        while self.engine.embedder is not None and follower.step():
            pass
        return [one["memory"] for one in answers]


def became_versions(found: Sequence[Pair], embedder: str = "none") -> dict[str, tuple[int, int]]:
    """By kind how many of the pairs became versions of one memory, and of how many. Each pair has its own project."""
    counts: dict[str, tuple[int, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(Path(folder), embedder)
        both = [{"content": text, "project": f"p{at}"} for at, one in enumerate(found) for text in (one.old, one.new)]
        kept = memory.remember(both)
        memory.engine.close()
    for one, second in zip(found, kept[1::2], strict=True):
        versions, of = counts.get(one.kind, (0, 0))
        counts[one.kind] = (versions + (second["version"] > 1), of + 1)
    return counts


def lost(collection: sets.Collection, embedder: str = "none", dated: bool = True, most: int | None = None) -> list[str]:
    """Ids of the documents that a search for their own text does not show among the first three. All are stored; with
    `most` only about that many are asked for, spread over the set."""
    step = 1 if most is None else -(-len(collection.documents) // most)
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(Path(folder), embedder)
        start = 0 if min(one.at for one in collection.documents) else START  # some sets count from zero
        when = [{"sessionId": f"s-{one.session}", "createdAt": start + one.at} for one in collection.documents]
        texts = [one.text for one in collection.documents]
        kept = memory.remember(
            [{"content": text, **(at if dated else {})} for text, at in zip(texts, when, strict=True)]
        )
        missing = [
            document.id
            for document, made in list(zip(collection.documents, kept, strict=True))[::step]
            if made["id"] not in shown_ids(memory.call("search", query=document.text, limit=FIRST)["results"])
        ]
        memory.engine.close()
    return missing


def shown_ids(results: Sequence[dict[str, Any]]) -> set[str]:
    return {id for hit in results[:FIRST] for id in (hit["id"], *hit.get("also", ()))}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--half", choices=("tuned", "held"), default="tuned")
    options.add_argument("--embedder", default="none")
    options.add_argument("--data", type=Path, help="a folder with other data")
    options.add_argument("--only", default="", help="sets whose name begins so")
    options.add_argument("--no-pairs", action="store_true")
    options.add_argument("--undated", action="store_true", help="store without sessions and dates")
    given = options.parse_args()
    found = [] if given.no_pairs else pairs(given.half)
    for kind, (versions, of) in became_versions(found, given.embedder).items():
        print(f"{kind}: {versions} of {of} became versions", flush=True)
    for collection in [*own_sets(), *(other_sets(given.data) if given.data is not None else ())]:
        if collection.name.startswith(given.only):
            missing = lost(collection, given.embedder, not given.undated)
            print(
                f"{collection.name}: {len(missing)} of {len(collection.documents)} not found {missing[:8]}", flush=True
            )


if __name__ == "__main__":
    main()
