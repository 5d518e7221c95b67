"""How many tokens a text costs a model: an estimate from its shape, without a model's vocabulary.

Fitted to the dearest of three published byte-pair vocabularies (cl100k, o200k, Claude 2) on 55 kinds of text in
samples of 400 characters: chat, documentation, code, data, 19 languages, emoji, base64, white space, noise. Summed by
kind it gives 1.02 to 1.11 of the dearest for English and most code (1.35 for SQL), 0.96 to 1.32 for other languages,
0.92 or more for noise; only rare Han characters cost twice as much as the estimate. It cannot be near
all three at once: in Greek, Georgian or Hindi one of them needs three times the tokens of another.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from functools import lru_cache

# As the vocabularies split text first: words by their camel-case humps, digits, white space, signs.
_SIGNS = r"\x00-\x08\x0e-\x1b!-/:-@\[-`{-\x7f"
_PIECES = re.compile(
    r"(?P<noise>(?<![A-Za-z0-9])(?=[A-Za-z]*[0-9])(?=[a-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{14,})"
    r"|(?P<word>[A-Z]?[a-z]+)|(?P<capitals>[A-Z]+(?![a-z]))|(?P<digits> ?[0-9]+)|(?P<space>\s+)"
    rf"|(?P<repeated>(?P<sign>[{_SIGNS}])(?P=sign){{2,}})"
    rf"|(?P<signs>[{_SIGNS}]+?(?=[^{_SIGNS}]|(?P<ahead>[{_SIGNS}])(?P=ahead){{2}}|\Z))"
    r"|(?P<latin>[\u00c0-\u024f\u1e00-\u1eff])|(?P<other>[^\x00-\x7f])"
)
_RUN = re.compile(r"(\s)\1*")

_WORD_CHARS = 7  # an English word of this length is usually one token
_REST = 0.28  # tokens per letter beyond it
_FOREIGN = 0.41  # tokens per letter of a word in another language with Latin letters
_CAPITAL = 0.4
_DIGIT = 0.4
_SIGN = 0.66
_NOISE = 0.74  # tokens per character of base64 and the like: no word in it is known
_ACCENT = 0.75  # what an accented letter adds
_STACKED = 2.0  # the same for letters with two marks, as in Vietnamese
# From this share of accented letters on, a text is taken to be in another language. English with names stays below.
_FOREIGN_SHARE = 0.01

# Where a script begins, and its tokens per character.
_SCRIPTS = (
    (0x0080, 1.5),  # Latin signs
    (0x0250, 2.0),  # phonetic letters and combining marks
    (0x0370, 1.35),  # Greek
    (0x0400, 0.66),  # Cyrillic
    (0x0530, 2.0),  # Armenian
    (0x0590, 1.2),  # Hebrew
    (0x0600, 1.15),  # Arabic
    (0x0700, 2.0),
    (0x0900, 1.5),  # Devanagari and its sisters
    (0x0E00, 1.9),  # Thai, Lao
    (0x0F00, 2.1),  # Tibetan, Burmese, Georgian
    (0x1100, 2.9),  # jamo and scripts that hardly occur in any vocabulary
    (0x2010, 1.2),  # dashes, quotes, dots
    (0x2070, 2.0),  # arrows, mathematical signs, boxes
    (0x2600, 2.4),  # pictures of one character
    (0x2C00, 2.9),
    (0x3000, 1.0),  # CJK punctuation, kana
    (0x3400, 2.9),
    (0x4E00, 1.33),  # Han: 0.95 in simplified Chinese, 1.2 in Japanese, 1.45 in traditional Chinese
    (0xA000, 2.9),
    (0xAC00, 1.3),  # Hangul
    (0xD7B0, 2.9),
    (0xFE00, 2.0),  # variation selectors
    (0xFF00, 1.3),  # full-width forms
    (0xFFF0, 2.0),
    (0x10000, 4.0),  # one for each byte
    (0x1F000, 2.8),  # emoji
    (0x1FB00, 4.0),
)
_STARTS = tuple(start for start, _rate in _SCRIPTS)


@lru_cache(maxsize=2_048)  # without it a context takes 1.4 times as long (bench/mechanisms.py)
def estimate(text: str) -> int:
    """Tokens of the text; rather a little too many than too few."""
    foreign = _is_foreign(text)
    return math.ceil(sum(_cost(piece, foreign) for piece in _PIECES.finditer(text)))


def _is_foreign(text: str) -> bool:
    if text.isascii():
        return False
    accented = sum("\u00c0" <= char <= "\u024f" or "\u1e00" <= char <= "\u1eff" for char in text)
    return accented > _FOREIGN_SHARE * len(text)


def _cost(piece: re.Match[str], foreign: bool) -> float:
    kind, found = piece.lastgroup, piece.group()
    size = len(found)
    if kind == "word":  # most pieces are words and single spaces: nothing is called for those
        if foreign:
            return max(1.0, size * _FOREIGN)
        return 1 + (size - _WORD_CHARS) * _REST if size > _WORD_CHARS else 1
    if kind == "space":
        return 0.0 if found == " " else _space(found)
    if kind == "digits":
        return max(1.0, len(found.strip()) * _DIGIT) + found.startswith(" ")
    if kind == "capitals":
        return max(1.0, size * _CAPITAL)
    if kind == "latin":
        return _ACCENT if found < "\u1e00" else _STACKED
    if kind == "other":
        return _SCRIPTS[bisect_right(_STARTS, ord(found)) - 1][1]
    if kind == "noise":
        return size * _NOISE
    return 1 + size / 16 if kind == "repeated" else max(1.0, size * _SIGN)


def _space(found: str) -> float:
    """One space belongs to the word that follows and costs nothing; a longer run is cut where the character changes."""
    runs = [(run.group(1), len(run.group())) for run in _RUN.finditer(found)]
    return sum(size / (80 if char == " " else 12 if char == "\n" else 6) for char, size in runs) + 0.5 + len(runs) * 0.4
