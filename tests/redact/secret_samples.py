"""Made-up secrets of every format. They are put together at run time, so that none stands in the repository."""

from __future__ import annotations

import random
import re
import string
import tomllib
from pathlib import Path
from typing import NamedTuple

LOWER, UPPER, DIGIT = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALPHABETS = {
    "alnum": LOWER + UPPER + DIGIT,
    "alpha": LOWER + UPPER,
    "b32": UPPER + "234567",
    "b32low": LOWER + "234567",
    "b58": (LOWER + UPPER + DIGIT).translate(str.maketrans("", "", "0OIl")),
    "b64": LOWER + UPPER + DIGIT + "+/",
    "digit": DIGIT,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "low": LOWER + DIGIT,
    "lower": LOWER,
    "up": UPPER + DIGIT,
    "upper": UPPER,
    "word": LOWER + UPPER + DIGIT + "_-",
}
PART = re.compile(r"\{(?:(\w+):(\d+)|(uuid))\}")


class Sample(NamedTuple):
    rule: str
    text: str
    secrets: tuple[str, ...]  # the made-up parts that must not be in the text afterwards


def fill(rule: str, template: str, seed: int = 0) -> Sample:
    """The template with random parts, the same ones every time for the same seed."""
    chance = random.Random(f"{rule} {template} {seed}")
    parts: list[str] = []

    def part(match: re.Match[str]) -> str:
        if match.group(3):
            made = "-".join("".join(chance.choices(ALPHABETS["hex"], k=size)) for size in (8, 4, 4, 4, 12))
        else:
            size, alphabet = int(match.group(2)), ALPHABETS[match.group(1)]
            made = "".join(chance.choices(alphabet, k=size))
            # A random key without a digit is so rare that no rule must find it; without this a test would, some day.
            if size > 8 and set(DIGIT) & set(alphabet):
                made = made[:4] + "7" + made[5:-2] + "3" + made[-1]
            made = made.replace("-", "x", 1) if made.startswith("-") else made
        parts.append(made)
        return made

    text = PART.sub(part, template)
    return Sample(rule, text, tuple(made for made in parts if len(made) > 3))


def templates() -> list[tuple[str, str]]:
    """Every rule's id with each of its templates."""
    table = tomllib.loads((Path(__file__).with_name("secret_samples.toml")).read_text("utf-8"))
    return [(rule, template) for rule, texts in table.items() for template in texts]
