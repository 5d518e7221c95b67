"""Turns of a session: the user's prompt, the agent's answer, and the edits it made meanwhile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from holdfast.context import CallContext
from holdfast.core.model import Json, Observation
from holdfast.learn.sessions.steps import prompt_of, said_of, tool_input
from holdfast.learn.statements.edits import Edit
from holdfast.store.port import Reader
from holdfast.store.queries.turns import MESSAGE_HOOK, PROMPT_HOOKS, turn_of

MOST_ROWS = 1_000  # of one turn
MOST_EDITS = 40
EDIT_CHARS = 2_000
_PAIRS = (
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("TargetContent", "ReplacementContent"),
)
_FILE_KEYS = ("file_path", "filePath", "path", "file", "TargetFile")
_PATCH_KEYS = ("input", "patch", "patchText", "diff", "command")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,500})$|^\+\+\+ (?:b/)?(.{1,500})$", re.MULTILINE)


@dataclass(slots=True)
class Turn:
    """A prompt with all that followed until the next one. A session may begin without a prompt."""

    prompt: Observation | None
    said: list[Observation] = field(default_factory=list)
    edited: list[tuple[Observation, Edit]] = field(default_factory=list)

    @property
    def edits(self) -> list[Edit]:
        return [edit for _, edit in self.edited]

    @property
    def ids(self) -> set[str]:
        """Of all that a statement may be drawn from."""
        return self.edit_ids | {one.id for one in (self.prompt, *self.said) if one is not None}

    @property
    def edit_ids(self) -> set[str]:
        return {row.id for row, _ in self.edited}

    @property
    def asked(self) -> str:
        return prompt_of(self.prompt) if self.prompt else self.said[0].subtitle if self.said else ""


def turns_of(rows: Sequence[Observation]) -> list[Turn]:
    """The turns of rows of one session, in the order in which things happened."""
    turns: list[Turn] = []
    for row in sorted(rows, key=lambda one: (one.at, one.seq)):
        if row.hook in PROMPT_HOOKS:
            turns.append(Turn(row))
            continue
        if not turns:
            turns.append(Turn(None))
        if row.hook == MESSAGE_HOOK and said_of(row):
            turns[-1].said.append(row)
        elif row.type == "file_edit" and len(turns[-1].edited) < MOST_EDITS:
            turns[-1].edited += [(row, edit) for edit in edits_of(row)]
    return turns


def turn_around(ctx: CallContext, reader: Reader, row: Observation) -> Turn:
    """The turn that an observation is part of."""
    found = turn_of(reader, ctx.tenant, row, MOST_ROWS)
    rows = [found.prompt, *found.rows] if found.prompt is not None else found.rows
    turns = turns_of(rows)
    return turns[-1] if turns else Turn(None)


def edits_of(row: Observation) -> list[Edit]:
    """The replacements of an edit; those of a patch line by line."""
    given = tool_input(row)
    file = next((given[key] for key in _FILE_KEYS if isinstance(given.get(key), str)), "")
    file = file or (row.files[0] if row.files else "")
    listed = given.get("edits")
    parts = listed if isinstance(listed, list) else [given]
    found = [edit for part in parts[:MOST_EDITS] if isinstance(part, dict) and (edit := _replacement(file, part))]
    patch = next((given[key] for key in _PATCH_KEYS if isinstance(given.get(key), str)), "")
    return [*found, *_patched(file, patch)][:MOST_EDITS]


def _replacement(file: str, part: Json) -> Edit | None:
    for old_key, new_key in _PAIRS:
        old, new = part.get(old_key), part.get(new_key)
        if isinstance(old, str) and isinstance(new, str):
            return Edit(file, old[:EDIT_CHARS], new[:EDIT_CHARS])
    return None


def _patched(file: str, patch: str) -> Iterator[Edit]:
    """Lines that were taken and put side by side in a patch."""
    taken: list[str] = []
    put: list[str] = []
    for line in [*patch[: 20 * EDIT_CHARS].splitlines(), ""]:
        if named := _PATCHED.match(line):
            file = (named.group(1) or named.group(2)).strip()
        elif line.startswith("-") and not line.startswith("---"):
            taken.append(line[1:].strip())
        elif line.startswith("+"):
            put.append(line[1:].strip())
        elif taken or put:
            yield Edit(file, "\n".join(taken)[:EDIT_CHARS], "\n".join(put)[:EDIT_CHARS])
            taken, put = [], []
