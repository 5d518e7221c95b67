"""How alike two texts are, and small sketches that find the alike ones without reading them all."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import repeat
from zlib import crc32

from holdfast.store.tokenizer import STOP_WORDS

_WORD = re.compile(r"[^\W_]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

# Of ASCII, letters and digits make words. A table and a split find them four times as fast as the expression above.
_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum()}

# Two texts of Jaccard 0.7 share none of their 8 smallest hashes once in 15,000 times (0.3 to the 8th).
SKETCH_HASHES = 8


def distinct_words(text: str) -> frozenset[str]:
    """The text's words, lower-cased; a CJK character counts as a word."""
    lowered = text.lower()
    if lowered.isascii():
        return frozenset(lowered.translate(_BLANKS).split())
    spaced = _CJK.sub(lambda char: f" {char.group()} ", lowered)
    return frozenset(_WORD.findall(spaced))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared words over all words; 0 for two empty sets."""
    shared = len(one & other)
    union = len(one) + len(other) - shared
    return shared / union if union else 0.0


# Words by which a text denies, also within a CJK run, where one character does it.
_DENYING = frozenset(
    "no not never none nobody nothing neither nor without cannot nicht nie kein keine keinen keiner ohne "
    "non ne pas jamais sans nunca sin не нет ни без 不 没 沒 無 无 非 未 别 別 莫 勿 ず ぬ 안 못 않 없".split()
)
_COUNTING = frozenset("two three four five six seven eight nine ten eleven twelve hundred thousand".split())
_TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|(?:(?![\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])[^\W_])+(?:['\u2019][^\W_]+)?"
)


def keeps_all(old: str, new: str) -> bool:
    """Whether a new wording can stand instead of the old one: it has all its names and numbers, in their order, and
    denies neither more nor less. Of CJK text, which marks no names, it has all characters.

    Two statements may share nearly all their words and mean opposite things: "the code is 4711", "the code is 4712".
    """
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    if [one for one in map(_denial, before) if one] != [one for one in map(_denial, after) if one]:
        return False
    left = iter([one.casefold() for one in after])
    return all(one.casefold() in left for one in before if _tells(one))


def _denial(token: str) -> str:
    lowered = token.casefold()
    return "not" if lowered.endswith(("n't", "n\u2019t")) else lowered if lowered in _DENYING else ""


def _tells(token: str) -> bool:
    """Whether it is a number, or may be a name: a text begins with a capital, name or not, so that one counts too."""
    lowered = token.casefold()
    if any(char.isdigit() for char in token) or lowered in _COUNTING or _CJK.match(token):
        return True
    return token[0].isupper() and lowered not in STOP_WORDS


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
