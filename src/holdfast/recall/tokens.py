"""How many tokens a text costs a model: an estimate from its shape, without a model's vocabulary."""

from __future__ import annotations

import re

# A word costs about one token per six letters, a CJK character one, a run of signs one per two signs.
_PIECES = re.compile(r"([A-Za-z]+)|(\d+)|([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])|([^\sA-Za-z\d])")


def estimate(text: str) -> int:
    """Tokens of the text; rather a little too many than too few."""
    total = 0.0
    for letters, digits, cjk, _sign in _PIECES.findall(text):
        if letters:
            total += 1 + (len(letters) - 1) // 6
        elif digits:
            total += 1 + (len(digits) - 1) // 3
        elif cjk:
            total += 1
        else:
            total += 0.6
    return int(total) + 1 if total else 0
