"""Finds the sentences worth keeping in what was said: decisions, rules, reasons, things left to do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from holdfast.text.excerpt import clip

SENTENCE_CHARS = 200

_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_BULLET = re.compile(r"^(?:[-*•>#\s]+|\d+[.)]\s+)+")
_CODE = re.compile(r"[{};]\s*$|^\s*(?:```|import |from \w+ import|def |class |//|\$ )|</|=>")

DECISION = re.compile(
    r"\b(?:decided|decision|we(?:'ll| will| should)? (?:go with|use|switch)|agreed|settled on|chose|chosen|"
    r"instead of|root cause|convention is)\b|决定|決定|決めた|采用|採用|根本原因|결정",
    re.IGNORECASE,
)
RULE = re.compile(
    r"\b(?:must(?: not)?|never|always|do not|don't)\b|必须|必須|不要|总是|永远|必ず|絶対|반드시|절대|항상",
    re.IGNORECASE,
)
REASON = re.compile(
    r"\b(?:because|root cause|turns out|the reason|caused by|due to)\b|因为|由于|原因|なぜなら|왜냐하면",
    re.IGNORECASE,
)
PREFERENCE = re.compile(
    r"^(?:(?:please|and|but|also|so|ok|okay)[, ]+)*"
    r"(?:always|never|do not|don't|avoid|prefer|from now on|in (?:the )?future|remember to|make sure)\b"
    r"|\bI (?:always |really |would |'d )?(?:prefer|like|hate|don't like|don't want|want you to)\b"
    r"|\b(?:from now on|please (?:don't|do not|never|always)|always use|never use|we (?:always|never))\b"
    r"|\byou (?:must|should) (?:always|never|not)\b"
    r"|^(?:请|請)?(?:总是|永远|不要|以后|今后|必须)|我(?:喜欢|希望|偏好)"
    r"|今後|しないで|必ず|항상|절대|앞으로",
    re.IGNORECASE,
)
PENDING = re.compile(
    r"\b(?:todo|fixme|next steps?|next,|still (?:need|needs|have|has|missing|open|fails?|failing)|remaining|"
    r"not yet|left to do|follow[- ]up|to be done|unfinished)\b"
    r"|待办|下一步|还需要|还没|残り|次は|未完|다음 단계|아직",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """The sentences of a text, each on one line, without bullets, code and questions."""
    found = []
    for part in _BREAK.split(text[:16_000]):
        line = " ".join(_BULLET.sub("", part[:1_000]).split())
        if 6 <= len(line) <= 400 and not _CODE.search(part) and not line.endswith(("?", "？", ":")):
            found.append(line)
    return found


def matching(texts: Iterable[str], pattern: re.Pattern[str]) -> list[str]:
    """Every sentence that the pattern finds, once, clipped, in order."""
    found: dict[str, str] = {}
    for text in texts:
        if pattern.search(text[:16_000]):
            for sentence in sentences(text):
                if pattern.search(sentence):
                    found.setdefault(normal(sentence), clip(sentence, SENTENCE_CHARS))
    return list(found.values())


def normal(line: str) -> str:
    """What two wordings of the same line share: no bullets, no case, no end mark, single spaces."""
    return " ".join(_BULLET.sub("", line).lower().split()).rstrip(".!。！…")


def joined(parts: Iterable[str], limit: int) -> str:
    """Whole sentences, one after another, as many as fit; the first is clipped if it must be."""
    text = ""
    for part in parts:
        if not part:
            continue
        longer = f"{text} {part}" if text else clip(part, limit)
        if len(longer) <= limit:
            text = longer
    return text


def closed(text: str) -> str:
    """The text with an end mark, unless it has one."""
    return text if text.rstrip("”\"'`)").endswith((".", "!", "?", "…", "。", "！", "？")) else f"{text}."


def counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
