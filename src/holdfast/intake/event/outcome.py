"""How a step ended, read from what the tool returned: exit code, test counts, the line naming the error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from holdfast.intake.event.failures import failing_names, is_runner
from holdfast.intake.event.hook_event import HookEvent
from holdfast.text.excerpt import clip

_EXIT_KEYS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_EXIT_TEXT = re.compile(r"\bexit(?:ed)?(?: with)?(?: code| status)?:? (\d{1,3})\b", re.IGNORECASE)
_COUNT = re.compile(r"(\d{1,7}) (failed|failures?|failing|passed|passing|errors?)\b", re.IGNORECASE)
_UNITTEST = re.compile(r"FAILED \((?:failures=(\d+))?(?:, )?(?:errors=(\d+))?")
_TAP = re.compile(r"^# (pass|fail) +(\d{1,7})$", re.MULTILINE)
_GRADLE = re.compile(r"^(\d{1,7}) tests? completed, (\d{1,7}) failed", re.MULTILINE)
_UNITTEST_OK = re.compile(r"^Ran (\d+) tests? in [^\n]{1,20}\n{1,2}OK", re.MULTILINE)
_SUMMARY = re.compile(
    r"^(?:[=\s]*|\s*Tests?:?\s+|test result: \w+\. ?)"
    r"\d{1,7} (?:failed|passed|passing|failing|failures?|errors?|skipped|examples?|total|ignored|xfailed"
    r"|xpassed|deselected|warnings?)\b",
    re.IGNORECASE,
)
_ERROR_NAME = re.compile(r"^(?:E\s+)?(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Exit|Interrupt)\b")
_ERROR_WORD = re.compile(
    r"\b(?:error|fatal|panic|failed|failure|exception|denied|cannot|can't|not found|no such"
    r"|undefined|refused|timed out)\b",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"^(?:E\s+|(?:error|fatal):\s+)+", re.IGNORECASE)
_KINDS = {
    "failure": "failed",
    "failures": "failed",
    "failing": "failed",
    "passing": "passed",
    "error": "errors",
}
_TAIL = 6_000


@dataclass(frozen=True, slots=True)
class Outcome:
    failed: bool
    exit_code: int | None
    tests: str
    """Counts in words, `3 failed, 10 passed`; empty when no tests ran."""
    error_line: str
    failing: tuple[str, ...] = ()
    """The names of what failed: tests, tasks, resources."""


def outcome_of(happening: HookEvent, command: str = "") -> Outcome:
    text = "\n".join(part for part in (happening.output_text, happening.error) if part)
    code = _exit_code(happening.output, text, happening.failed)
    runs = happening.kind in ("command_run", "error")
    tests = _tests(text) if runs else ""
    failed = happening.failed or bool(code) or "failed" in tests or "errors" in tests
    failing = failing_names(text) if runs and (failed or is_runner(command)) else ()
    failed = failed or (bool(failing) and code is None)
    return Outcome(failed, code, tests, _error_line(happening, text) if failed else "", failing if failed else ())


def _exit_code(output: Any, text: str, failed: bool) -> int | None:
    if isinstance(output, dict):
        for fields in (output, output.get("metadata")):
            codes = [fields.get(key) for key in _EXIT_KEYS] if isinstance(fields, dict) else []
            for code in codes:
                if isinstance(code, int) and not isinstance(code, bool) and abs(code) < 2**31:
                    return code
    head = text[:200]
    match = _EXIT_TEXT.search(head) if failed or head.lower().startswith(("exit", "process exit", "chunk")) else None
    return int(match.group(1)) if match else None


def _tests(text: str) -> str:
    tail = text[-_TAIL:]
    counts: dict[str, int] = {}
    for line in tail.splitlines():
        if _SUMMARY.match(line[:400]):
            found = _COUNT.findall(line[:400])
            counts = {_KINDS.get(word.lower(), word.lower()): int(number) for number, word in found} or counts
    counts = counts or _unittest_counts(tail) or _other_counts(tail)
    order = ("failed", "errors", "passed")
    return ", ".join(f"{counts[word]} {word}" for word in order if counts.get(word))


def _unittest_counts(tail: str) -> dict[str, int]:
    bad, good = _UNITTEST.search(tail), _UNITTEST_OK.search(tail)
    if bad:
        return {"failed": int(bad.group(1) or 0), "errors": int(bad.group(2) or 0)}
    return {"passed": int(good.group(1))} if good else {}


def _other_counts(tail: str) -> dict[str, int]:
    """Those of TAP and of Gradle."""
    tap = {f"{word}ed": int(number) for word, number in _TAP.findall(tail)}
    if tap:
        return tap
    gradle = _GRADLE.search(tail)
    return {"failed": int(gradle.group(2)), "passed": int(gradle.group(1)) - int(gradle.group(2))} if gradle else {}


def _error_line(happening: HookEvent, text: str) -> str:
    """The last line that names an error class; else the last that sounds like one; else the first, or the last where
    the first is the exit code alone."""
    if happening.error and "\n" not in happening.error and len(happening.error) <= 200:
        return _PREFIX.sub("", clip(happening.error, 200))
    lines = [line.strip() for line in text[-_TAIL:].splitlines() if line.strip() and not _SUMMARY.match(line)]
    named = [line for line in lines if _ERROR_NAME.match(line)]
    spoken = [line for line in lines if _ERROR_WORD.search(line[:400])]
    first = happening.error.strip().partition("\n")[0]
    if lines and _EXIT_TEXT.fullmatch(first.strip()):
        first = lines[-1]
    chosen = named[-1] if named else spoken[-1] if spoken else first
    return _PREFIX.sub("", clip(chosen, 200))
