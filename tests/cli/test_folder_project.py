"""The project of a command is that of the folder it runs in, as hooks and MCP name it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.hook.hook_payload import project
from holdfast.cli.main import main

REMOTE = '[remote "origin"]\n\turl = git@example.org:borealis/shop.git\n'
KEY = "example.org/borealis/shop"

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A command in the repository `shop`."""
    for name in ("AGENTMEMORY_PROJECT_NAME", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / ".git" / "config").write_text(REMOTE)
    monkeypatch.chdir(tmp_path / "shop")

    def call(*words: str) -> str:
        assert main([*words, "--data", str(tmp_path / "memory")]) == 0
        return capsys.readouterr().out

    return call


def saved(run: Run, *words: str) -> Any:
    return json.loads(run("remember", "The till rounds up.", *words, "--json"))["memory"]["project"]


def test_what_is_remembered_in_a_repository_belongs_to_its_project(run: Run, tmp_path: Path) -> None:
    assert saved(run) == KEY == project(str(tmp_path / "shop"), {})


def test_a_memory_without_a_repository_around_it_belongs_to_all_projects(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert saved(run) is None


@pytest.mark.parametrize("words", [("--everywhere",), ("--project", "")])
def test_a_memory_can_be_kept_for_all_projects(run: Run, words: tuple[str, ...]) -> None:
    assert saved(run, *words) is None


def test_a_folder_can_be_named_for_its_project(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert saved(run, "--project", "./shop") == saved(run, "--project", str(tmp_path / "shop")) == KEY
    assert saved(run, "--project", ".") == str(tmp_path)


def test_a_project_that_is_named_is_taken_as_it_is(run: Run) -> None:
    assert saved(run, "--project", "harbour") == "harbour"


def test_what_is_said_in_a_chat_has_no_folder(run: Run) -> None:
    assert saved(run, "--umo", "qq:group:1", "--sender-id", "5") is None


def test_a_name_in_the_environment_wins_over_the_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTMEMORY_PROJECT_NAME", "harbour")
    assert saved(run) == "harbour"


def test_lessons_actions_and_slots_belong_to_the_project_too(run: Run) -> None:
    assert json.loads(run("lesson", "save", "Run make first.", "--json"))["lesson"]["project"] == KEY
    assert json.loads(run("action", "create", "Mend the till", "--json"))["action"]["project"] == KEY
    assert json.loads(run("slot", "create", "till", "--json"))["slot"]["project"] == KEY


def test_the_command_says_for_which_project_it_saved(run: Run) -> None:
    assert f", for project {KEY}.\n" in run("remember", "The till rounds up.")
    assert ", for all projects.\n" in run("remember", "The harbour is green.", "--everywhere")
    assert run("lesson", "save", "Run make first.").endswith(f", for project {KEY}.\n")


@pytest.mark.parametrize("words", [(), (".",), (KEY,), ("shop",)])
def test_the_context_is_that_of_the_folder(run: Run, words: tuple[str, ...]) -> None:
    run("remember", "The till rounds up.")
    assert "- The till rounds up.\n" in run("context", *words)
    assert "- The till rounds up.\n" in run("show", "context", *words)


def test_a_hit_of_another_project_is_named_and_one_of_the_folders_is_not(run: Run) -> None:
    run("remember", "The till opens with the brass key.", "--project", "harbour")
    run("remember", "The till opens with the steel key.")
    lines = run("recall", "how does the till open with a key").splitlines()
    assert any(", harbour  The till opens with the brass key." in line for line in lines)
    (own,) = [line for line in lines if "steel key" in line]
    assert KEY not in own


def test_a_project_nothing_is_known_of_is_told_so(run: Run) -> None:
    assert run("context").splitlines()[0] == f"No memories for project {KEY}."
    run("remember", "I like short answers.", "--everywhere")
    printed = run("context", "harbour")
    assert printed.startswith("No memories for project harbour. An agent there gets the memories for all projects:\n")
    assert "- I like short answers.\n" in printed


def test_the_profile_is_that_of_the_folder(run: Run) -> None:
    assert json.loads(run("profile", "--json"))["project"] == KEY


def test_the_reasons_of_a_hit_are_printed_with_explain(run: Run) -> None:
    run("remember", "The till rounds up.")
    printed = run("recall", "till", "--explain").splitlines()
    assert printed[2].startswith("   score ")
    assert "words +" in printed[2]
    assert printed[2].endswith("till in title; till in content")
    assert len(run("recall", "till").splitlines()) == 2


def test_a_memory_that_is_saved_twice_is_known_already(run: Run) -> None:
    id = run("remember", "The till rounds up.").split()[1].rstrip(",")
    assert run("remember", "The till rounds up.") == f"Already known: {id}, for project {KEY}.\n"


def test_rules_that_left_the_file_are_not_called_removed(run: Run, tmp_path: Path) -> None:
    rules = tmp_path / "shop" / "CLAUDE.md"
    rules.write_text("# Shop\n\n- Round prices up at the till.\n- Ask before you delete a branch.\n")
    assert run("import", str(rules)) == f"CLAUDE.md, for project {KEY}: 2 added, 0 changed, 0 unchanged.\n"
    rules.write_text("# Shop\n\n- Round prices up at the till.\n")
    first, second, third = run("import", str(rules)).splitlines()
    assert first == f"CLAUDE.md, for project {KEY}: 0 added, 0 changed, 1 unchanged."
    forget = f"holdfast forget ID --data {tmp_path / 'memory'}"
    assert second == f"No longer in the file (1), still recalled; remove one with: {forget}"
    assert third.endswith("  Ask before you delete a branch.")
    assert json.loads(run("import", str(rules), "--json"))["hint"].endswith("holdfast forget ID")
