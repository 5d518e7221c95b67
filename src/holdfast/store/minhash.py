"""How similar two texts are, and small sketches that find similar ones without reading them all."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import repeat
from zlib import crc32

from holdfast.store.tokenizer import STOP_WORDS

_WORD = re.compile(r"[^\W_]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

# Two texts of Jaccard 0.7 share none of their 8 smallest hashes once in 15,000 times (0.3 to the 8th).
SKETCH_HASHES = 8


def distinct_words(text: str) -> frozenset[str]:
    """The text's words, lower-cased; a CJK character counts as a word."""
    spaced = _CJK.sub(lambda char: f" {char.group()} ", text.lower())
    return frozenset(_WORD.findall(spaced))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared words over all words; 0 for two empty sets."""
    shared = len(one & other)
    union = len(one) + len(other) - shared
    return shared / union if union else 0.0


# Words by which a text denies, also within a CJK run, where one character does it.
_DENYING = frozenset(
    "no not never none nobody nothing neither nor without hardly barely rarely seldom scarcely except unless "
    "nicht nie kein keine keinen keiner ohne kaum "
    "non ne pas jamais sans nunca sin не нет ни без 不 没 沒 無 无 非 未 别 別 莫 勿 ず ぬ 안 못 않 없".split()
)
_ARTICLES = frozenset("a an the".split())
# Verbs that take "n't", with and without its mark: people type "dont" too.
_SHORT_NOT = re.compile(
    r"(ai|are|ca|could|did|does|do|had|has|have|is|might|must|need|should|was|were|wo|would)n['\u2019]?t|cannot"
)
_LONG = {"ca": "can", "wo": "will", "ai": "is", None: "can"}
_TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|(?:(?![\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])[^\W_])+(?:['\u2019][^\W_]+)?"
)


def keeps_all(old: str, new: str) -> bool:
    """Whether a new wording can stand instead of the old one: it has all its words in their order, but for articles,
    and denies neither more nor less.

    Two statements may share nearly all their words and mean opposite things: "the code is 4711", "the code is 4712".
    Every word that is exchanged may be a name, since people write names in small letters too; and the order tells who
    owes whom. So a new wording may only add.
    """
    before, after = _said(old), _said(new)
    if [one for one in before if one in _DENYING] != [one for one in after if one in _DENYING]:
        return False
    left = iter(after)
    return all(one in left for one in before)


def _said(text: str) -> list[str]:
    """The words of a text, in lower case and without articles; "don't" is "do not"."""
    said: list[str] = []
    for token in map(str.casefold, _TOKEN.findall(text)):
        short = _SHORT_NOT.fullmatch(token)
        if short is not None:
            said += [_LONG.get(short[1], short[1]), "not"]
        elif token not in _ARTICLES:
            said.append(token)
    return said


def sketch(text: str, words: frozenset[str], scope: str) -> tuple[int, ...]:
    """The smallest hashes of the words; stop-words are left out, as their lists would be endless.

    A text of few words has the hash of itself as well, so that the same text is found among others that share a word
    with it. Texts of another scope (project and agent) have other hashes: they are never compared, so they must not
    crowd the candidates.
    """
    telling = words - STOP_WORDS or words
    salt = crc32(scope.encode())
    smallest = sorted(map(crc32, map(str.encode, telling), repeat(salt)))[:SKETCH_HASHES]
    if len(smallest) < SKETCH_HASHES:
        smallest.append(crc32(text.encode(), salt ^ 1))
    return tuple(smallest)


# One hash shared by very many memories identifies none of them; the newest are the likely versions.
NEWEST = 200


def most_alike(holders: Sequence[Collection[int]], limit: int) -> list[int]:
    """Of the records that hold each hash of a sketch those with most hashes in common, the newer first of equals."""
    once: set[int] = set()
    several: set[int] = set()
    for one in holders:
        several |= once.intersection(one)
        once.update(one)
    ranked = sorted([(sum([seq in one for one in holders]), seq) for seq in several], reverse=True)
    # Two hashes in common are a hint; one is mostly chance, so only the newest record of those is worth a look.
    chance = max(once - several, default=None)
    best = [seq for _, seq in ranked] if chance is None else [*[seq for _, seq in ranked], chance]
    return best[:limit]
