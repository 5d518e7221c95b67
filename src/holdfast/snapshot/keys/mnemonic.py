"""A key's 32 bytes as 24 words that people can write down, and back: BIP-39, English, with its checksum.

The words are those of the standard (words.txt), so any tool that knows it can turn them into the bytes again.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from hashlib import sha256
from importlib import resources

from holdfast.core.errors import InvalidRequest

WORDS = 24
_BITS = 11
_LEAST = 4  # letters by which a word of the list is known


@cache
def _list() -> tuple[str, ...]:
    return tuple(resources.files("holdfast.snapshot.keys").joinpath("words.txt").read_text("ascii").split())


def words_of(seed: bytes) -> str:
    """The words of 32 bytes."""
    whole = int.from_bytes(seed + sha256(seed).digest()[:1], "big")
    places = [whole >> _BITS * at & (1 << _BITS) - 1 for at in reversed(range(WORDS))]
    return " ".join(_list()[place] for place in places)


def seed_of(text: str) -> bytes:
    """The bytes that the words stand for. Four letters of a word are enough.

    Raises:
        InvalidRequest: they are not 24, one is not in the list, or the checksum is wrong; no word is ever shown.
    """
    given = unicodedata.normalize("NFKD", text).lower().split()
    if len(given) != WORDS:
        raise InvalidRequest(f"key: {WORDS} words are required, {len(given)} were given")
    whole = 0
    for number, word in enumerate(given, 1):
        whole = whole << _BITS | _place(word, number)
    data = whole.to_bytes(33, "big")
    if sha256(data[:32]).digest()[0] != data[32]:
        raise InvalidRequest(
            "key: the checksum of the words does not match",
            hint="A word is wrong, or two words are swapped. Check them again.",
        )
    return data[:32]


def _place(word: str, number: int) -> int:
    found = [at for at, one in enumerate(_list()) if one == word or (len(word) >= _LEAST and one.startswith(word))]
    exact = [at for at in found if _list()[at] == word] or found
    if len(exact) != 1:
        raise InvalidRequest(f"key: word {number} is not in the word list")
    return exact[0]
