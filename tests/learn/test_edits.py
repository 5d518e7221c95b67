"""Which edits a turn made, as each client's tool reports them."""

from __future__ import annotations

import pytest
from session_of_steps import step

from holdfast.core.model import Json
from holdfast.learn.statements.edits import Edit
from holdfast.learn.statements.session_turns import edits_of

PATCH = "*** Begin Patch\n*** Update File: conf/train.yaml\n@@\n-months: 12\n+months: 18\n*** End Patch"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Edit", {"file_path": "conf/train.yaml", "old_string": "months: 12", "new_string": "months: 18"}),
        ("replace", {"file_path": "conf/train.yaml", "old_string": "months: 12", "new_string": "months: 18"}),
        ("apply_patch", {"command": PATCH}),
        ("apply_patch", {"input": PATCH}),
    ],
)
def test_an_edit_says_what_was_taken_and_what_was_put(tool: str, given: Json) -> None:
    assert edits_of(step(1, "post_tool_use", {"tool_name": tool, "tool_input": given, "tool_output": "ok"})) == [
        Edit("conf/train.yaml", "months: 12", "months: 18")
    ]
