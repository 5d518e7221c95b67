"""The plain way, for comparison: the newest messages until the budget is full, and BM25 over whole turns."""

from __future__ import annotations

import math
import re
from collections import Counter

from agent_day.script import Scenario
from holdfast.text.tokens import estimate

SATURATION, LENGTH = 1.2, 0.75
_WORD = re.compile(r"[^\W_]+")
_STOP = frozenset(
    "the and are was were did does done has have had not for from with that this these those what which when where who "
    "whom why how our ours you your they them their its can could may might must shall should will would there here "
    "any all some into onto than then but use uses used get gets got make made still again after before "
    "der die das den dem des ein eine einen einem und oder ist sind war waren wie was wo warum weshalb wer ich wir "
    "uns ihr sie auf mit von für noch nicht kein keine darf habe haben wird werden".split()
)


def context(scenario: Scenario, budget: int) -> str:
    """The newest messages, newest first, as long as they fit whole."""
    messages = [f"{who}: {text}" for turn in scenario.turns() for who, text in _messages(turn.prompt, turn.said)]
    taken: list[str] = []
    left = budget
    for message in reversed(messages):
        left -= estimate(message)
        if left < 0:
            break
        taken.append(message)
    return "\n".join(taken)


def _messages(prompt: str, said: list[str]) -> list[tuple[str, str]]:
    return [("user", prompt), *(("assistant", text) for text in said)]


class Turns:
    """BM25 over the turns of one project, prompt and answer together."""

    def __init__(self, scenario: Scenario):
        self._texts = [turn.whole for turn in scenario.turns()]
        self._bags = [Counter(_words(text)) for text in self._texts]
        self._holding = Counter(word for bag in self._bags for word in bag)
        self._mean = sum(bag.total() for bag in self._bags) / len(self._bags)

    def recall(self, question: str, limit: int = 5) -> list[str]:
        words = set(_words(question))
        order = sorted(range(len(self._bags)), key=lambda n: (-self._weight(words, self._bags[n]), -n))
        return [self._texts[n] for n in order[:limit]]

    def _weight(self, words: set[str], bag: Counter[str]) -> float:
        size = 1 - LENGTH + LENGTH * bag.total() / self._mean
        return sum(
            self._rarity(word) * bag[word] * (SATURATION + 1) / (bag[word] + SATURATION * size)
            for word in words
            if bag[word]
        )

    def _rarity(self, word: str) -> float:
        holding = self._holding[word]
        return math.log(1 + (len(self._bags) - holding + 0.5) / (holding + 0.5))


def _words(text: str) -> list[str]:
    # Cutting words to six letters is the plainest stemmer that helps at all.
    return [word[:6] for word in _WORD.findall(text.lower()) if len(word) > 2 and word not in _STOP]
