"""What recurs over sessions: files that are worked on together, and errors that come back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from holdfast.core.model import Observation

TOGETHER, AGAIN = 3, 2  # sessions with both files; times that an error came
MOST = 20
FILES_OF_SESSION = 100  # the pairs of more would take long to count and say little


@dataclass(frozen=True, slots=True)
class Pattern:
    """Something that recurs, how often, and the sessions it was seen in."""

    type: str
    description: str
    files: tuple[str, ...]
    frequency: int
    sessions: tuple[str, ...]


def find_patterns(observations: Sequence[Observation]) -> list[Pattern]:
    """The patterns in these observations, the most frequent first."""
    found = [*_changed_together(observations), *_errors(observations)]
    return sorted(found, key=lambda one: (-one.frequency, one.description))[:MOST]


def _changed_together(observations: Sequence[Observation]) -> list[Pattern]:
    files: dict[str, dict[str, None]] = defaultdict(dict)
    for seen in observations:
        files[seen.session_id].update(dict.fromkeys(seen.files))
    pairs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for session, names in files.items():
        for pair in combinations(sorted(list(names)[:FILES_OF_SESSION]), 2):
            pairs[pair].append(session)
    return [
        Pattern("co_change", f"{one} and {other} are worked on together", (one, other), len(sessions), tuple(sessions))
        for (one, other), sessions in pairs.items()
        if len(sessions) >= TOGETHER
    ]


def _errors(observations: Sequence[Observation]) -> list[Pattern]:
    errors: dict[str, list[Observation]] = defaultdict(list)
    for seen in observations:
        if seen.type == "error" and seen.title:
            errors[seen.title.lower()].append(seen)
    return [
        Pattern(
            "error_repeat", f"Recurring error: {group[0].title}", (), len(group),
            tuple(dict.fromkeys(seen.session_id for seen in group)),
        )
        for group in errors.values()
        if len(group) >= AGAIN
    ]  # fmt: skip
