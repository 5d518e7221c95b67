"""Proposes lines for the slots in every context of an agent: what is open, what the user wants, what works.

Preferences come from the user's own prompts alone: what a tool returned or a page said must not become
a rule. Lines carry no counts and no times, so that the same insight is the same line every time.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from holdfast.core.model import Observation, Slot, Statement
from holdfast.learn.sessions.recovery_pairs import recoveries
from holdfast.learn.sessions.results import SlotChange, SlotLine, Sources
from holdfast.learn.sessions.steps import (
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
from holdfast.learn.statements.keywords import DECISION, PENDING, PREFERENCE, REASON, matching, normal
from holdfast.text.excerpt import clip

MAX_LINES = 8
SLOT_LINE_CHARS = 600  # a sentence is at most as long: none is cut
_TESTS_FAIL = "Tests fail"
# Slots that all projects share. What a session of a project taught goes into a slot of the project instead.
OWN_LABEL = {"user_preferences": "guidance", "tool_guidelines": "guidance"}


def reflect(
    observations: Sequence[Observation],
    slots: Sequence[Slot],
    statements: Sequence[Statement] | None = None,
    *,
    gone: Collection[str] = (),
    own: bool = False,
) -> list[SlotChange]:
    """One change for each slot with something new to add or something settled to drop.

    `statements` are those of the session that hold; None if none were drawn, then sentences are found by their words.
    Lines that repeat what is `gone` are removed. With `own`, only slots of a project are written.
    """
    steps = in_order(observations)
    proposed: dict[str, list[SlotLine]] = defaultdict(list)
    for label, propose in (_PROPOSALS if statements is None else _OF_STEPS).items():
        proposed[OWN_LABEL.get(label, label) if own else label] += propose(steps)
    for one in statements or ():
        if one.kind in _OF_STATEMENTS:
            label = _OF_STATEMENTS[one.kind]
            proposed[OWN_LABEL.get(label, label) if own else label].append(SlotLine(one.text, ((one.source_id,),)))
    untrue = frozenset(map(normal, gone))
    changes = []
    for label, lines in proposed.items():
        slot = _slot(slots, label)
        if slot is None:
            continue
        settled = untrue | (_settled(steps) if label == "pending_items" else frozenset())
        change = _changed(slot, lines, settled)
        if change is not None:
            changes.append(change)
    return changes


def _slot(slots: Sequence[Slot], label: str) -> Slot | None:
    """The slot of that label that may be written; the project's own before the global one."""
    fitting = [slot for slot in slots if slot.label == label and not slot.read_only]
    return min(fitting, key=lambda slot: (slot.scope != "project", slot.project is None, slot.id), default=None)


def _preferences(steps: Sequence[Observation]) -> list[SlotLine]:
    return _found(((step, prompt_of(step)) for step in steps), PREFERENCE)


def _planned(steps: Sequence[Observation]) -> list[SlotLine]:
    """Open items of the last plan, and tests that failed at the end."""
    plans = [(todos, step) for step in steps if any(todos := todos_of(step))]
    lines = [SlotLine(item, ((plans[-1][1].id,),)) for item in plans[-1][0][0]] if plans else []
    tested = [step for step in steps if tests_of(step)]
    if tested and tests_fail(tests_of(tested[-1])):
        command = command_of(tested[-1])
        told = f"{_TESTS_FAIL}: {tests_of(tested[-1])}" + (f" (`{clip(command, 80)}`)" if command else "")
        lines.append(SlotLine(told, ((tested[-1].id,),)))
    return lines


def _pending(steps: Sequence[Observation]) -> list[SlotLine]:
    spoken = [(step, text) for step in steps if (text := said_of(step))]
    return [*_planned(steps), *_found(spoken[-2:], PENDING)]


def _settled(steps: Sequence[Observation]) -> frozenset[str]:
    """Lines of the slot that this session made untrue."""
    done = {normal(item) for step in steps for item in todos_of(step)[1]}
    still_open = {normal(item) for step in steps[-1:] for item in todos_of(step)[0]}
    tested = [tests for step in steps if (tests := tests_of(step))]
    return frozenset(done - still_open) | (frozenset({_TESTS_FAIL.lower()}) if tested else frozenset())


def _patterns(steps: Sequence[Observation]) -> list[SlotLine]:
    """Commands that this session ran again and again, and those that followed edits."""
    runs: dict[str, list[str]] = defaultdict(list)
    after: dict[str, int] = defaultdict(int)
    edited = False
    for step in steps:
        command = command_of(step)
        if changed_files(step):
            edited = True
        elif command and not only_looks(command) and not command.endswith("…"):
            runs[command].append(step.id)
            after[command] += edited
            edited = False
    often = sorted(runs, key=lambda command: -len(runs[command]))
    often = [command for command in often if len(runs[command]) >= 3 or after[command] >= 2]
    return [
        SlotLine(f"Runs `{one}`" + (" after edits" if after[one] >= 2 else " often"), tuple((id,) for id in runs[one]))
        for one in often[:3]
    ]


def _test_command(steps: Sequence[Observation]) -> list[SlotLine]:
    tested: dict[str, list[str]] = defaultdict(list)
    for step in steps:
        if tests_of(step) and (command := command_of(step)):
            tested[command].append(step.id)
    if not tested:
        return []
    usual = max(tested, key=lambda command: len(tested[command]))
    return [SlotLine(f"Tests run with `{clip(usual, 100)}`", tuple((id,) for id in tested[usual]))]


def _context(steps: Sequence[Observation]) -> list[SlotLine]:
    return [*_test_command(steps), *_found(_spoken(steps), DECISION)[:5]]


def _guidance(steps: Sequence[Observation]) -> list[SlotLine]:
    return _found(_spoken(steps), REASON)[:4]


def _tools(steps: Sequence[Observation]) -> list[SlotLine]:
    return [SlotLine(str(one), (one.steps,)) for one in recoveries(steps)[:4]]


def _spoken(steps: Sequence[Observation]) -> list[tuple[Observation, str]]:
    return [(step, text) for step in steps for text in (prompt_of(step), said_of(step)) if text]


def _found(said: Iterable[tuple[Observation, str]], pattern: re.Pattern[str]) -> list[SlotLine]:
    """Every sentence that the pattern finds, once, with all the steps that said it."""
    texts: dict[str, str] = {}
    sources: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for step, text in said:
        for sentence in matching([text], pattern):
            texts.setdefault(normal(sentence), sentence)
            sources[normal(sentence)].append((step.id,))
    return [SlotLine(text, tuple(sources[key])) for key, text in texts.items()]


_OF_STEPS: dict[str, Callable[[Sequence[Observation]], list[SlotLine]]] = {
    "pending_items": _planned,
    "tool_guidelines": _tools,
    "project_context": _test_command,
    "session_patterns": _patterns,
}
_PROPOSALS: dict[str, Callable[[Sequence[Observation]], list[SlotLine]]] = {
    "user_preferences": _preferences,
    "pending_items": _pending,
    "tool_guidelines": _tools,
    "project_context": _context,
    "guidance": _guidance,
    "session_patterns": _patterns,
}
_OF_STATEMENTS = {"preference": "user_preferences", "open": "pending_items"}


def _changed(slot: Slot, proposed: Sequence[SlotLine], settled: frozenset[str]) -> SlotChange | None:
    old = [line for line in slot.content.splitlines() if line.strip()]
    still = {normal(one.text) for one in proposed}
    kept = [line for line in old if normal(line) in still or not _is_settled(line, settled)]
    known = {normal(line) for line in kept}
    fresh: dict[str, tuple[str, Sources]] = {}
    for one in proposed:
        if normal(one.text) and normal(one.text) not in known:
            line = f"- {clip(one.text, max(2, min(SLOT_LINE_CHARS, slot.size_limit - 2)))}"
            fresh.setdefault(normal(one.text), (line, one.sources))
    new = _fitting([line for line, _ in fresh.values()][:MAX_LINES], slot.size_limit)
    while kept and len("\n".join([*kept, *new])) > slot.size_limit:
        kept.pop(0)
    if not new and len(kept) == len(old):
        return None
    dropped = tuple(line for line in old if line not in kept)
    before = (
        "\n".join(kept) if dropped or len(slot.content) + 1 + len("\n".join(new)) > slot.size_limit else slot.content
    )
    text = "\n".join(new)
    sources = {line: from_ids for line, from_ids in fresh.values() if line in new}
    whole = "\n".join(part for part in (before, text) if part)
    return SlotChange(slot.label, text, whole, slot.id, dropped, sources)


def _is_settled(line: str, settled: frozenset[str]) -> bool:
    text = normal(line)
    return text in settled or (_TESTS_FAIL.lower() in settled and text.startswith(_TESTS_FAIL.lower()))


def _fitting(lines: list[str], limit: int) -> list[str]:
    """The newest of the new lines that fit into an otherwise empty slot."""
    while lines and len("\n".join(lines)) > limit:
        lines.pop(0)
    return lines
