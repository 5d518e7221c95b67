"""Recall for one of many users: beside the same search where only that user's memories are stored.

    python bench/chats.py [--users 500] [--each 20] [--searches 300]

Prints the median of the processor time of each, and their ratio, which should stay below 1.5.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from holdfast.core.model import Caller
from holdfast.engine import Engine
from holdfast.ops.registry import BY_NAME
from holdfast.settings import load

WORDS, WORDS_EACH, ASKED = 3_000, 25, 6
BATCH = 1_000
OPERATIONS = ("search", "memories", "context")


def vocabulary(chance: random.Random) -> list[str]:
    syllables = [consonant + vowel for consonant in "bcdfgklmnprst" for vowel in "aeiou"]
    return ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(WORDS)]


def filled(home: Path, words: Sequence[str], users: Iterable[int], each: int) -> Engine:
    """A memory in which each user told something in private."""
    engine = Engine(load({"home": str(home), "embedder": "none"}, {}))
    said = [
        {"content": " ".join(random.Random(f"{user} {number}").choices(words, k=WORDS_EACH)), **chat(user)}
        for number in range(each)
        for user in users
    ]
    for start in range(0, len(said), BATCH):
        answer = BY_NAME["remember_batch"].call(engine.context(Caller()), {"memories": said[start : start + BATCH]})
        assert answer["success"]
    engine.store.compact_words()
    return engine


def chat(user: int) -> dict[str, str]:
    return {"umo": f"bench:private:{user}", "senderId": str(user)}


def median_ms(engine: Engine, operation: str, questions: Sequence[str], user: int) -> float:
    times = []
    for question in questions:
        asked = chat(user) if operation == "memories" else {"query": question, **chat(user)}
        began = time.thread_time()
        BY_NAME[operation].call(engine.context(Caller()), asked)
        times.append(time.thread_time() - began)
    return statistics.median(times) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--searches", type=int, default=300)
    given = parser.parse_args()
    chance = random.Random(9)
    words = vocabulary(chance)
    questions = [" ".join(chance.choices(words, k=ASKED)) for _ in range(given.searches)]
    user = given.users // 2
    with tempfile.TemporaryDirectory() as folder:
        many = filled(Path(folder) / "many", words, range(given.users), given.each)
        alone = filled(Path(folder) / "alone", words, [user], given.each)
        for operation in OPERATIONS:
            # Twice in turn, the better of each: other work on the machine disturbs one or the other.
            rounds = [
                (median_ms(many, operation, questions, user), median_ms(alone, operation, questions, user))
                for _ in range(2)
            ]
            slow, fast = min(one for one, _ in rounds), min(one for _, one in rounds)
            print(f"{operation}: {slow:.2f} ms among {given.users} users, {fast:.2f} ms alone, {slow / fast:.2f}×")
        many.close()
        alone.close()


if __name__ == "__main__":
    main()
