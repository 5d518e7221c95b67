"""The names of what failed, out of the output of test runners, builds and tools of operations.

Each pattern is the form in which one tool names one failure, at the start of a line. Nothing is guessed from words.
"""

from __future__ import annotations

import re

MOST_NAMES = 8
_NAME_CHARS = 160
_LINES = 60_000

_NAMED = (
    re.compile(r"not ok \d+ (?:- )?(?P<name>(?!.*# (?:TODO|SKIP)).+)"),  # TAP
    re.compile(r"(?:FAILED|ERROR) (?P<name>[\w./\\-]+\.py(?:::\S+)?)"),  # pytest
    re.compile(r"(?:FAIL|ERROR): (?P<name>test\w* \([\w.]+\))"),  # unittest
    re.compile(r"● (?P<name>\S.* › .+)"),  # jest
    re.compile(r"FAIL +(?P<name>\S+\.\w+ > .+)"),  # vitest
    re.compile(r"[✕✗✘×] (?P<name>.+?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?"),
    re.compile(r"\d{1,4}\) (?P<name>\S.*)"),  # mocha, phpunit; only beside a count of failures
    re.compile(r"--- FAIL: (?P<name>\S+)"),  # go
    re.compile(r"test (?P<name>\S+) \.\.\. FAILED"),  # cargo
    re.compile(r"(?P<name>[\w.$]+ > .+) FAILED"),  # gradle
    re.compile(r"> Task (?P<name>:\S+) FAILED"),
    re.compile(r"Failed (?P<name>[\w.]+\.\w+)(?: \[.*\])?"),  # dotnet
    re.compile(r"rspec (?P<name>\./\S+:\d+ # .+)"),
    re.compile(r"(?:│ )?Error: (?P<name>.+)"),  # terraform, docker, helm
    re.compile(r"(?P<name>Error from server \(\w+\): .+)"),  # kubectl
    re.compile(
        r"(?P<name>\S+\s+\d+/\d+\s+(?:CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled|Error|Evicted)\b).*"
    ),
)
_NUMBERED = 6  # the place of the form that is only one beside a count of failures
_COUNTED = re.compile(r"^\s*\d+ (?:failing|failures?)\b|^There (?:was|were) \d+ failures?", re.MULTILINE)
_RUNNER = re.compile(
    r"\b(?:test|tests|pytest|vitest|jest|mocha|tap|spec|rspec|check|build|compile|verify|gradlew?|cargo|terraform|kubectl"
    r"|helm|make|ctest|phpunit|tox|nox)\b"
)


def failing_names(text: str) -> tuple[str, ...]:
    """What failed, each once, in order; some eight at most."""
    names: dict[str, None] = {}
    counted = bool(_COUNTED.search(text))
    for line in text.splitlines()[:_LINES]:
        name = _name_in(line.strip()[:400], counted)
        if name:
            names.setdefault(name)
        if len(names) == MOST_NAMES:
            break
    return tuple(names)


def is_runner(command: str) -> bool:
    """Whether a command runs tests or builds: what it prints of failures are its own."""
    return bool(_RUNNER.search(command[:400]))


def _name_in(line: str, counted: bool) -> str:
    for place, form in enumerate(_NAMED):
        if place == _NUMBERED and not counted:
            continue
        found = form.fullmatch(line) or (form.match(line) if place in (1, 7) else None)
        if found:
            return " ".join(found.group("name").split())[:_NAME_CHARS]
    return ""
