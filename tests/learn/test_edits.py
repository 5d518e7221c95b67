"""Which edits a turn made, as each client's tool reports them."""

from __future__ import annotations

from rows import each
from session_of_steps import step

from holdfast.core.model import Json
from holdfast.learn.statements.edits import Claim, Edit, edit_signs, setting_text
from holdfast.learn.statements.session_turns import edits_of
from holdfast.learn.statements.stems import stems

PATCH = "*** Begin Patch\n*** Update File: conf/train.yaml\n@@\n-months: 12\n+months: 18\n*** End Patch"


@each(
    "tool, given",
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


def test_an_edit_of_a_date_is_seen_in_a_sentence_that_names_the_day() -> None:
    moved = Edit("notes/call.md", "Due 12 May, 9 pages", "Due 19 May, 10 pages")
    new = Claim("Noted in `notes/call.md`: 19 May, ten pages of main text.", "", (moved,))

    signs = edit_signs(Claim("Due on 12 May, 23:59 anywhere on earth."), new)
    assert (signs.old_named, signs.new_named) == (True, True)
    assert not signs.of_another_thing, "the name of the edited file says nothing about another thing"
    assert not edit_signs(Claim("The workshop is on 14 May."), new).old_named


@each("one, other", [("source", "sources"), ("cache", "cached"), ("retry", "retries")])
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stems(one) == stems(other) != frozenset()


@each(
    "old, new, said",
    [
        ("return_soc: 35", "return_soc: 28", "return_soc: 28 in cfg/energy.yaml"),
        (
            "const FSYNC_BATCH: usize = 64;",
            "const FSYNC_BATCH: usize = 16;",
            "const FSYNC_BATCH: usize = 16 in cfg/energy.yaml",
        ),
        ("south: 22:00", "south: 19:00", "south: 19:00 in cfg/energy.yaml"),
        ('  "php": "7.4",', '  "php": "8.3",', '"php": "8.3" in cfg/energy.yaml'),
        ("let src = pool.pick();", "let src = self.pinned(&envelope);", ""),
        ("return_soc: 35", "charge_soc: 35", ""),
        ("return_soc: 35", "return_soc: 35 ", ""),
        ("return_soc: 35\nfull_soc: 95", "return_soc: 28\nfull_soc: 90", ""),
        ("", "return_soc: 28", ""),
    ],
)
def test_an_edit_of_one_setting_can_be_told_in_a_line(old: str, new: str, said: str) -> None:
    assert setting_text(Edit("/home/ada/agv/cfg/energy.yaml", old, new)) == said


@each("file, apart", [("/w/cfg/limits.yaml", False), ("/w/cfg/sandbox.yaml", True)])
def test_the_file_of_a_setting_tells_of_another_thing_if_it_is_that_of_one_environment(file: str, apart: bool) -> None:
    edit = Edit(file, "approvalLimit: 50000", "approvalLimit: 100")
    new = Claim(setting_text(edit), "", (edit,))
    assert edit_signs(Claim("The approval limit is 50,000."), new).of_another_thing is apart
