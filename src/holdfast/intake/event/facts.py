"""Short true statements about one event. Nothing is guessed: each repeats a value that the event carries."""

from __future__ import annotations

import re

from holdfast.intake.event.details import DetailChange, Details, todo_items
from holdfast.intake.event.hook_event import HookEvent
from holdfast.text.excerpt import clip, one_line

MAX_FACTS = 8
_FACT_CHARS = 200

WEIGHTY = re.compile(
    r"\b(?:decid(?:ed|es?|ing)|decision|root cause|must(?: not)?|never|always|because|instead of|prefers?|"
    r"agreed|convention|do not|don't|remember that|turns out|important)\b"
    r"|决定|決定|必须|必須|不要|永远|总是|根本原因|因为|必ず|絶対|決めた|결정|반드시|절대|왜냐하면",
    re.IGNORECASE,
)
_BARE_EXIT = re.compile(r"exit(?:ed)?(?: with)?(?: code| status)?:? \d+", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def facts_of(happening: HookEvent, details: Details) -> tuple[str, ...]:
    found = [
        *_done(happening, details),
        *_ended(details),
        *_planned(happening),
        *weighty_sentences(f"{happening.prompt}\n{happening.said}")[:2],
    ]
    return tuple(dict.fromkeys(clip(fact, _FACT_CHARS) for fact in found if fact))[:MAX_FACTS]


def _done(happening: HookEvent, details: Details) -> list[str]:
    facts = [_changed(change) for change in details.changes] if not details.outcome.failed else []
    if details.command:
        facts.append(f"Ran `{clip(details.command, 160)}`")
    if details.url:
        facts.append(f"Fetched {details.url}")
    if details.query and happening.kind in ("search", "web_fetch"):
        where = f" in {details.files[0]}" if details.files else ""
        facts.append(f"Searched for `{clip(details.query, 120)}`{where}")
    agent = happening.fields.get("agent_type") or happening.input.get("subagent_type")
    if isinstance(agent, str) and happening.kind == "subagent":
        facts.append(f"Subagent: {agent}")
    return facts


def _changed(change: DetailChange) -> str:
    if change.verb == "Wrote":
        counts = "" if change.added is None else f" ({_lines(change.added)})"
    else:
        counts = "" if change.added is None else f" (+{change.added} -{change.removed} lines)"
    return f"{change.verb} {change.path}{counts}"


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _ended(details: Details) -> list[str]:
    outcome = details.outcome
    facts = [f"Exit code {outcome.exit_code}"] if outcome.exit_code is not None else []
    if outcome.tests:
        facts.append(f"Tests: {outcome.tests}")
    facts += [f"Failed: {name}" for name in outcome.failing[:3]]
    if outcome.error_line and not _BARE_EXIT.fullmatch(outcome.error_line):
        facts.append(f"Error: {outcome.error_line}")
    return facts


def _planned(happening: HookEvent) -> list[str]:
    items = todo_items(happening)
    if not items:
        return []
    open_items = [text for text, done in items if not done]
    facts = [f"Plan: {len(items) - len(open_items)} of {len(items)} done"]
    return facts + [f"Open: {clip(text, 150)}" for text in open_items[:3]]


def weighty_sentences(text: str) -> list[str]:
    """Sentences that state a decision, a rule or a reason."""
    if not WEIGHTY.search(text):
        return []
    sentences = (one_line(part) for part in _SENTENCE_END.split(text))
    return [part for part in sentences if 12 <= len(part) <= 600 and WEIGHTY.search(part)]
