"""What a project is about: its concepts and files by frequency, its conventions, its recurring errors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from holdfast.core.model import Memory, Observation
from holdfast.learn.sessions.results import ProfileDigest
from holdfast.learn.sessions.steps import error_of, in_order, prompt_of
from holdfast.learn.statements.keywords import PREFERENCE, matching, normal
from holdfast.text.excerpt import clip

_TOP = 20
_LISTED = 10
_RULES = frozenset({"convention", "preference", "pattern", "architecture"})
_VARYING = (
    (re.compile(r"(?:[A-Za-z]:)?(?:[/\\][\w.@~+-]+){2,}"), "<path>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b|\b(?=[a-f]*\d)[0-9a-f]{7,}\b"), "<hex>"),
    (re.compile(r"\b\d+(?:\.\d+)*\b"), "N"),
)


def profile(observations: Sequence[Observation], memories: Sequence[Memory], sessions_count: int) -> ProfileDigest:
    """At most 20 concepts and files, 10 conventions and errors; the most frequent first."""
    steps = in_order(observations)
    concepts = Counter(name for step in steps for name in dict.fromkeys(step.concepts))
    files = Counter(path for step in steps for path in dict.fromkeys(step.files))
    errors = Counter(line for step in steps if (line := same_error(error_of(step))))
    return ProfileDigest(
        top_concepts=tuple(concepts.most_common(_TOP)),
        top_files=tuple(files.most_common(_TOP)),
        conventions=tuple(_conventions(steps, memories)[:_LISTED]),
        common_errors=tuple(line for line, times in errors.most_common(_LISTED) if times > 1),
        session_count=sessions_count,
    )


def _conventions(steps: Sequence[Observation], memories: Sequence[Memory]) -> list[str]:
    kept = sorted(
        (memory for memory in memories if memory.type in _RULES and memory.latest),
        key=lambda memory: (-memory.strength, -memory.seq),
    )
    lines = [clip(memory.content or memory.title, 200) for memory in kept]
    lines += matching((prompt_of(step) for step in steps), PREFERENCE)
    return list({normal(line): line for line in reversed(lines)}.values())[::-1]


def same_error(line: str) -> str:
    """An error line without what differs from time to time: paths, numbers, addresses."""
    for pattern, name in _VARYING:
        line = pattern.sub(name, line)
    return clip(line, 160)
