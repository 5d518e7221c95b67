"""Made-up secrets of every rule category, in the texts in which agents meet them. The same ones for the same seed.

The rules, the forms of text and the seeds are each split in two: `build` is what rules may be changed for, `held` is
what only figures are taken from.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import string
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from redaction_corpus.contexts import CONTEXTS, Name

LOWER, UPPER, DIGIT = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALPHABETS = {
    "ah": "abcdefgh" + DIGIT,
    "alnum": LOWER + UPPER + DIGIT,
    "alnum%": LOWER + UPPER + DIGIT + "%",
    "alpha": LOWER + UPPER,
    "b32": UPPER + "234567",
    "b64": LOWER + UPPER + DIGIT + "+/",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "dbpass": LOWER + UPPER + DIGIT + "@!$?^",
    "digit": DIGIT,
    "hex": DIGIT + "abcdef",
    "HEX": DIGIT + "ABCDEF",
    "low": LOWER + DIGIT,
    "low-": LOWER + DIGIT + "-",
    "low_": LOWER + DIGIT + "_-",
    "low=": LOWER + DIGIT + "=_-",
    "pass": LOWER + UPPER + DIGIT + "!#%+.",
    "up": UPPER + DIGIT,
    "word": LOWER + UPPER + DIGIT + "_-",
    "word=": LOWER + UPPER + DIGIT + "_-=",
    "word~": LOWER + UPPER + DIGIT + "_~.-",
}
PART = re.compile(r"\{(?:([\w%=~-]+?):(\d+)(?:-(\d+))?|(uuid|UUID))\}")
# So much of a secret in one piece is a leak even if the rest is gone.
PIECE = 12
SUFFIXES = ("api_key", "token", "secret", "key", "access_token", "api_token")
# Names that say nothing: a format that gives itself away must be found beside them.
NEUTRAL = (("value", ""), ("data", ""), ("setting", ""), ("result", "text"), ("field", "a"), ("my", "thing"))
RULES: list[dict[str, Any]] = tomllib.loads((Path(__file__).with_name("rules.toml")).read_text("utf-8"))["rules"]


class Planted(NamedTuple):
    rule: str
    context: str
    form: int
    held: bool  # of the half that only figures are taken from
    text: str
    parts: tuple[str, ...]  # the random parts, none of which may be left

    def leaks(self, clean: str) -> bool:
        """Whether a part of the secret is still there, as it is or written for a URL."""
        return any(
            piece in clean for part in self.parts for one in {part, quote(part, safe="")} for piece in pieces(one)
        )


def pieces(part: str) -> Iterator[str]:
    return (part[at : at + PIECE] for at in range(max(1, len(part) - PIECE + 1)))


def is_held(name: str) -> bool:
    """Half of all names, the same half every time."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def made(template: str, chance: random.Random) -> tuple[str, tuple[str, ...]]:
    """The template with random parts, and those of them that are long enough to tell."""
    parts: list[str] = []

    def part(match: re.Match[str]) -> str:
        if match.group(4):
            alphabet = ALPHABETS["hex" if match.group(4) == "uuid" else "HEX"]
            text = "-".join("".join(chance.choices(alphabet, k=size)) for size in (8, 4, 4, 4, 12))
        else:
            alphabet, least = ALPHABETS[match.group(1)], int(match.group(2))
            text = _random(alphabet, chance.randint(least, int(match.group(3) or least)), chance)
        if len(text) >= 8:
            parts.append(text)
        return text

    return PART.sub(part, template), tuple(parts)


def _random(alphabet: str, size: int, chance: random.Random) -> str:
    """Random characters; the first and last are letters or digits, as issuers of keys have it."""
    text = "".join(chance.choices(alphabet, k=size))
    plain = "".join(char for char in alphabet if char.isalnum())
    text = chance.choice(plain) + text[1:-1] + (chance.choice(plain) if size > 1 else "")
    # Formats of letters and digits without one digit are a word as far as any rule can tell.
    if size >= 8 and set(DIGIT) <= set(alphabet) and not set(DIGIT) & set(text):
        return _random(alphabet, size, chance)
    return text


def planted(rule: dict[str, Any], context: str, form: int, seed: int) -> Planted | None:
    """One secret of the rule in one form of the context; None where the rule has no such text."""
    chance = random.Random(f"{rule['id']} {context} {form} {seed}")
    name, own = rule["id"].partition("#")[0], rule.get("frames")
    if own is not None:
        texts = own.get(context, ())
        if form >= len(texts):
            return None
        text, parts = made(texts[form], chance)
        return Planted(name, context, form, is_held(name), text, parts)
    forms = CONTEXTS[context]
    if form >= len(forms):
        return None
    secret, parts = made(chance.choice(rule["shapes"]), chance)
    text = forms[form](_name(rule, chance), secret, chance)
    if context == "json":
        json.loads(text)
    return Planted(name, context, form, is_held(name) or is_held(f"{context} {form}"), text, parts)


def _name(rule: dict[str, Any], chance: random.Random) -> Name:
    if words := rule.get("words"):
        return Name(chance.choice(words), chance.choice(rule.get("suffixes", SUFFIXES)))
    return Name(*chance.choice(NEUTRAL))


def corpus(seeds: range) -> Iterator[Planted]:
    """Every rule in every form of every context, once for each seed."""
    for rule in RULES:
        for context in CONTEXTS:
            for form in range(len(rule.get("frames", {}).get(context, CONTEXTS[context]))):
                for seed in seeds:
                    if (one := planted(rule, context, form, seed)) is not None:
                        yield one
