"""Proposes lines for the slots an agent always has before it: what is open, what the user wants, what works.

Preferences come from the user's own prompts alone: what a tool returned or a page said must not become
a rule. Lines carry no counts and no times, so that the same insight is the same line every time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from holdfast.learn.findings import SlotChange
from holdfast.learn.recovery import recoveries
from holdfast.learn.statements import DECISION, PENDING, PREFERENCE, REASON, clip, matching, normal
from holdfast.learn.steps import (
    changed_files,
    command_of,
    in_order,
    only_looks,
    prompt_of,
    said_of,
    tests_fail,
    tests_of,
    todos_of,
)
from holdfast.model import Observation, Slot

MAX_LINES = 8
_TESTS_FAIL = "Tests fail"


def reflect(observations: Sequence[Observation], slots: Sequence[Slot]) -> list[SlotChange]:
    """One change for each slot that has something new to say or something settled to drop."""
    steps = in_order(observations)
    changes = []
    for label, propose in _PROPOSALS.items():
        slot = _slot(slots, label)
        if slot is None:
            continue
        settled = _settled(steps) if label == "pending_items" else frozenset()
        change = _changed(slot, propose(steps), settled)
        if change is not None:
            changes.append(change)
    return changes


def _slot(slots: Sequence[Slot], label: str) -> Slot | None:
    """The slot of that label that may be written; the project's own before the global one."""
    fitting = [slot for slot in slots if slot.label == label and not slot.read_only]
    return min(fitting, key=lambda slot: (slot.scope != "project", slot.project is None, slot.id), default=None)


def _preferences(steps: Sequence[Observation]) -> list[str]:
    return matching((prompt_of(step) for step in steps), PREFERENCE)


def _pending(steps: Sequence[Observation]) -> list[str]:
    lists = [todos for step in steps if any(todos := todos_of(step))]
    lines = list(lists[-1][0]) if lists else []
    spoken = [text for step in steps if (text := said_of(step))]
    lines += matching(spoken[-2:], PENDING)
    tested = [step for step in steps if tests_of(step)]
    if tested and tests_fail(tests_of(tested[-1])):
        command = command_of(tested[-1])
        lines.append(f"{_TESTS_FAIL}: {tests_of(tested[-1])}" + (f" (`{clip(command, 80)}`)" if command else ""))
    return lines


def _settled(steps: Sequence[Observation]) -> frozenset[str]:
    """Lines of the slot that this session made untrue."""
    done = {normal(item) for step in steps for item in todos_of(step)[1]}
    still_open = {normal(item) for step in steps[-1:] for item in todos_of(step)[0]}
    tested = [tests for step in steps if (tests := tests_of(step))]
    return frozenset(done - still_open) | (frozenset({_TESTS_FAIL.lower()}) if tested else frozenset())


def _patterns(steps: Sequence[Observation]) -> list[str]:
    """Commands that this session ran again and again, and those that followed edits."""
    times: Counter[str] = Counter()
    after: Counter[str] = Counter()
    edited = False
    for step in steps:
        command = command_of(step)
        if changed_files(step):
            edited = True
        elif command and not only_looks(command) and not command.endswith("…"):
            times[command] += 1
            after[command] += edited
            edited = False
    often = [command for command, count in times.most_common() if count >= 3 or after[command] >= 2]
    return [f"Runs `{command}`" + (" after edits" if after[command] >= 2 else " often") for command in often[:3]]


def _context(steps: Sequence[Observation]) -> list[str]:
    tested = [command for step in steps if tests_of(step) and (command := command_of(step))]
    lines = [f"Tests run with `{clip(Counter(tested).most_common(1)[0][0], 100)}`"] if tested else []
    return lines + matching(_spoken(steps), DECISION)[:5]


def _guidance(steps: Sequence[Observation]) -> list[str]:
    return matching(_spoken(steps), REASON)[:4]


def _tools(steps: Sequence[Observation]) -> list[str]:
    return [str(recovery) for recovery in recoveries(steps)[:4]]


def _spoken(steps: Sequence[Observation]) -> list[str]:
    return [text for step in steps for text in (prompt_of(step), said_of(step)) if text]


_PROPOSALS: dict[str, Callable[[Sequence[Observation]], list[str]]] = {
    "user_preferences": _preferences,
    "pending_items": _pending,
    "tool_guidelines": _tools,
    "project_context": _context,
    "guidance": _guidance,
    "session_patterns": _patterns,
}


def _changed(slot: Slot, proposed: Sequence[str], settled: frozenset[str]) -> SlotChange | None:
    old = [line for line in slot.content.splitlines() if line.strip()]
    still = {normal(text) for text in proposed}
    kept = [line for line in old if normal(line) in still or not _is_settled(line, settled)]
    known = {normal(line) for line in kept}
    fresh: dict[str, str] = {}
    for text in proposed:
        if normal(text) and normal(text) not in known:
            fresh.setdefault(normal(text), f"- {clip(text, max(2, min(240, slot.size_limit - 2)))}")
    new = _fitting(list(fresh.values())[:MAX_LINES], slot.size_limit)
    while kept and len("\n".join([*kept, *new])) > slot.size_limit:
        kept.pop(0)
    if not new and len(kept) == len(old):
        return None
    dropped = tuple(line for line in old if line not in kept)
    before = (
        "\n".join(kept) if dropped or len(slot.content) + 1 + len("\n".join(new)) > slot.size_limit else slot.content
    )
    text = "\n".join(new)
    return SlotChange(slot.label, text, "\n".join(part for part in (before, text) if part), slot.id, dropped)


def _is_settled(line: str, settled: frozenset[str]) -> bool:
    text = normal(line)
    return text in settled or (_TESTS_FAIL.lower() in settled and text.startswith(_TESTS_FAIL.lower()))


def _fitting(lines: list[str], limit: int) -> list[str]:
    """The newest of the new lines that fit into an otherwise empty slot."""
    while lines and len("\n".join(lines)) > limit:
        lines.pop(0)
    return lines
