"""The skills: in the open form, with commands that work, and installed where an agent looks for them."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from connect_homes import everything, fill, make_place
from page_commands import steps

from holdfast.cli.connect import AGENTS, apply, connect_command, plan, undo
from holdfast.cli.connect.skill_pack import MARK, SKILLS, skill_text
from holdfast.core.errors import InvalidRequest
from holdfast.ops.registry import TOOLS

sys.path.insert(0, str(Path(__file__).parents[1] / "snapshot"))
from flows import Cli

ROOT = Path(__file__).parents[2]
WITH_SKILLS = [agent.name for agent in AGENTS if agent.skills]


@pytest.mark.parametrize("name", SKILLS)
def test_a_skill_is_in_the_open_form_and_short(name: str) -> None:
    text = skill_text(name)
    _, front, body = text.split("---\n", 2)
    given = yaml.safe_load(front)
    assert set(given) == {"name", "description"}
    assert given["name"] == name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert 40 < len(given["description"]) <= 1024
    assert len(body) < 3000
    assert MARK in body


def test_the_pack_is_what_stands_in_the_repository() -> None:
    assert sorted(path.name for path in (ROOT / "skills").iterdir()) == sorted(SKILLS)
    assert {(ROOT / "skills" / name / "SKILL.md").read_text(encoding="utf-8") for name in SKILLS} == {
        skill_text(name) for name in SKILLS
    }


def test_every_tool_that_a_skill_names_is_there() -> None:
    named = {word for name in SKILLS for word in re.findall(r"`(memory_\w+)`", skill_text(name))}
    assert named
    assert named <= set(TOOLS)


def test_every_command_of_the_skills_works_in_their_order(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    commands = [
        line for name in SKILLS for step in steps(skill_text(name)) for line in step.commands.strip().splitlines()
    ]
    assert len(commands) > 10
    for line in commands:
        program, *words = shlex.split(line)
        assert program == "holdfast"
        cli.good(*words)


@pytest.mark.parametrize("agent", WITH_SKILLS)
def test_connect_installs_the_skills_and_undo_takes_them_back(tmp_path: Path, agent: str) -> None:
    place = make_place(tmp_path)
    report = connect_command(agent, place=place, dry_run=True, undo=False, list_=False, hooks=True)
    planned = [change for change in report.changes if change.path.endswith("SKILL.md")]
    assert [change.summary for change in planned] == [f"create the file with skill {name}" for name in SKILLS]
    before = everything(tmp_path)
    apply(plan(agent, place))
    for change, name in zip(planned, SKILLS, strict=True):
        assert Path(change.path).read_text(encoding="utf-8") == skill_text(name)
    undo(agent, place)
    assert everything(tmp_path) == before
    assert not Path(planned[0].path).parent.exists()


def test_a_skill_of_that_name_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, {".claude/skills/holdfast-memory/SKILL.md": "---\nname: holdfast-memory\n---\nmine\n"})
    before = everything(tmp_path)
    with pytest.raises(InvalidRequest, match="was not written by connect"):
        apply(plan("claude-code", make_place(tmp_path)))
    assert everything(tmp_path) == before


def test_a_skill_that_the_user_changed_is_put_right_and_comes_back(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    apply(plan("claude-code", place))
    path = tmp_path / ".claude/skills/holdfast-memory/SKILL.md"
    path.write_text(path.read_text(encoding="utf-8") + "\nmy own line\n", encoding="utf-8")
    assert [change.path for change in plan("claude-code", place).changes] == [path]
