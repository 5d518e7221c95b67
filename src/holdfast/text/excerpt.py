"""What matters of a long output: its beginning, its end, and the lines between that report failures.

Test runners and builds print hundreds of lines that report success, and one that does not. Standard library
only: hooks shorten what they send.
"""

from __future__ import annotations

import re

_FAILED = re.compile(
    r"^\s*(?:not ok\b|FAIL(?:ED|URE)?\b|✗|✘|×|✖|●\s|--- FAIL|E\s{2,}|panicked at|thread '.*' panicked|Error:|ERROR\b"
    r"|error(?:\[\w+\])?:|fatal:|╷|│ Error|FAILURE:|> Task .* FAILED|\* What went wrong|npm ERR!|Caused by:)"
    r"|\b(?:Assertion|Type|Value|Key|Index|Name|Import|Reference|Runtime|Syntax|Attribute|Timeout|Connection)\w*Error\b"
    r"|\b[A-Z]\w+(?:Exception|Error)\b:|\bFAILED\b|\bpanic:|\bassert(?:ion)? .*failed|CrashLoopBackOff|OOMKilled"
    r"|ImagePullBackOff|\b\d+ (?:failed|failing|failures?|errors?)\b",
    re.IGNORECASE,
)
_NOTHING_FAILED = re.compile(r"\b0 (?:failed|failing|failures?|errors?)\b|\bno errors?\b", re.IGNORECASE)
# Only lines with one of these are matched with the whole pattern: to look for that everywhere takes 2.2 times as long
# (bench/mechanisms.py).
_SIGN = re.compile(
    r"fail|error|not ok|panic|fatal|exception|backoff|oomkilled|wrong|caused by|npm err|[✗✘✖×●╷]", re.IGNORECASE
)
_LINE_CHARS = 400
_SCANNED_CHARS = 500_000


def excerpt(text: str, most: int) -> str:
    """At most so many characters of the text; a text that fits is returned whole."""
    if len(text) <= most:
        return text
    head, tail = most * 3 // 10, most * 4 // 10
    middle = "\n".join(_fitting(failures(text[head:-tail]), most - head - tail - 6))
    between = f"\n…\n{middle}\n…\n" if middle else "\n…\n"
    return text[:head] + between + text[-tail:]


def failures(text: str) -> list[str]:
    """The lines that report failures, in order; of a very long text, those near its end."""
    text = text[-_SCANNED_CHARS:]
    found, at = [], 0
    while sign := _SIGN.search(text, at):
        start = text.rfind("\n", 0, sign.start()) + 1
        end = text.find("\n", sign.start())
        at = len(text) if end < 0 else end + 1
        line = text[start : min(at, start + _LINE_CHARS)].rstrip("\r\n")
        if says_failure(line):
            found.append(line)
    return found


def says_failure(line: str) -> bool:
    """Whether a line of output reports a failure."""
    line = line[:_LINE_CHARS]
    return bool(_FAILED.search(line)) and not _NOTHING_FAILED.search(line)


def _fitting(lines: list[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in dict.fromkeys(lines):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def one_line(text: str) -> str:
    return " ".join(text.split())


def clip(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, with an ellipsis where it was shortened."""
    window = text[: limit * 8]
    line = one_line(window)
    if len(line) <= limit and len(window) == len(text):
        return line
    head = line[: limit - 1]
    space = head.rfind(" ")
    if len(line) >= limit and space > limit * 2 // 3:
        head = head[:space]
    return head.rstrip(" ,;:") + "…"
