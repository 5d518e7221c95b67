"""Rules of a file as memories: nothing twice, reworded rules as versions, removed ones reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from world import World

from holdfast.cli.main import main

pytestmark = pytest.mark.quick

FIRST = "# Shop\n\n## Style\n- Use four spaces in Python files\n- Never use tabs\n\n## Git\n- Rebase before you merge a branch\n"


def taken(world: World, text: str, file: str = "CLAUDE.md", project: str | None = "shop") -> Any:
    return world.call("import_rules", file=file, text=text, project=project)


def kept(world: World) -> dict[str, int]:
    """Content and version of every rule that holds."""
    found = world.call("memories", limit=500)["memories"]
    return {one["content"]: one["version"] for one in found}


def counts(answer: Any) -> tuple[int, int, int, int]:
    return answer["added"], answer["changed"], answer["unchanged"], len(answer["removed"])


def test_each_rule_becomes_a_memory_of_the_project(world: World) -> None:
    assert counts(taken(world, FIRST)) == (3, 0, 0, 0)

    (found,) = world.call("search", query="rebase merge", limit=1)["results"]
    memory = found["observation"]
    assert memory["content"] == "Git: Rebase before you merge a branch"
    assert (memory["project"], memory["type"], memory["files"]) == ("shop", "convention", ["CLAUDE.md"])
    assert memory["topics"] == ["Git"]


def test_taking_the_same_in_again_changes_nothing(world: World) -> None:
    taken(world, FIRST)
    before = world.engine.store.last_seq()

    assert counts(taken(world, FIRST)) == (0, 0, 3, 0)
    assert world.engine.store.last_seq() == before


def test_a_reworded_rule_becomes_a_new_version(world: World) -> None:
    taken(world, FIRST)

    assert counts(taken(world, FIRST.replace("four", "two"))) == (0, 1, 2, 0)
    assert kept(world)["Style: Use two spaces in Python files"] == 2
    assert "Style: Use four spaces in Python files" not in kept(world)
    assert counts(taken(world, FIRST)) == (0, 1, 2, 0)
    assert kept(world)["Style: Use four spaces in Python files"] == 3


def test_the_one_rule_left_under_a_heading_is_followed_though_few_words_stayed(world: World) -> None:
    taken(world, FIRST)

    answer = taken(world, FIRST.replace("Rebase before you merge a branch", "Squash and then merge a branch"))

    assert counts(answer) == (0, 1, 2, 0)


def test_a_rule_that_is_gone_is_reported_each_time_and_stays(world: World) -> None:
    taken(world, FIRST)
    shorter = FIRST.replace("- Never use tabs\n", "")

    for _ in range(2):
        answer = taken(world, shorter)
        assert counts(answer) == (0, 0, 2, 1)
        assert answer["removed"][0]["title"] == "Style: Never use tabs"
    assert "Style: Never use tabs" in kept(world)
    world.call("forget", memoryId=answer["removed"][0]["id"])
    assert counts(taken(world, shorter)) == (0, 0, 2, 0)


def test_another_rule_in_place_of_one_that_is_gone_is_no_version_of_it(world: World) -> None:
    taken(world, FIRST)

    answer = taken(world, FIRST.replace("Never use tabs", "Docstrings say what the caller gets"))

    assert counts(answer) == (1, 0, 2, 1)


def test_rules_that_are_much_alike_stay_apart(world: World) -> None:
    alike = "- Run make test before each commit of code\n- Run make test before each commit of docs\n"

    assert counts(taken(world, alike)) == (2, 0, 0, 0)
    assert counts(taken(world, alike)) == (0, 0, 2, 0)


def test_a_second_file_of_the_project_with_the_same_rules_adds_nothing(world: World) -> None:
    taken(world, FIRST)

    assert counts(taken(world, FIRST + "- Tag releases\n", file="AGENTS.md")) == (1, 0, 3, 0)
    assert counts(taken(world, FIRST)) == (0, 0, 3, 0)


def test_projects_and_files_do_not_mix(world: World) -> None:
    taken(world, FIRST)

    assert counts(taken(world, FIRST, project="other")) == (3, 0, 0, 0)
    assert counts(taken(world, FIRST, project=None)) == (3, 0, 0, 0)
    assert counts(taken(world, "- Quite another thing\n", file="docs/CLAUDE.md")) == (1, 0, 0, 0)


def test_a_secret_in_a_file_is_not_kept(world: World) -> None:
    secret = "ghp_" + "R4nd0mT0kenXyZ9qW8eR7tY6uI5oP4aS3dF2"
    taken(world, f"- Push with {secret} only\n")

    assert secret not in str(kept(world))


def test_the_store_is_sound_afterwards(world: World) -> None:
    for text in (FIRST, FIRST.replace("four", "two"), "- Only this\n", FIRST):
        taken(world, text)

    assert world.engine.store.verify() == []


# From the command line


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a remote, and a memory that commands open themselves."""
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    root = tmp_path / "somewhere"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/Shop.git\n')
    (root / "docs").mkdir()
    return root


def run(home: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main([*words, "--data", str(home), "--no-daemon", "--json"])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("name", ["CLAUDE.md", "docs/AGENTS.md", "GEMINI.md", "docs/notes.markdown", "rules.mdc"])
def test_a_file_is_of_the_project_of_its_folder(
    shop: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (shop / name).write_text(FIRST)

    code, out, _ = run(tmp_path / "m", capsys, "import", str(shop / name))

    assert code == 0
    assert f'"file": "{name}"' in out
    assert '"project": "github.com/acme/shop"' in out
    assert '"added": 3' in out


def test_a_project_can_be_named(shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop / "notes.md").write_text(FIRST)

    assert '"project": "X"' in run(tmp_path / "m", capsys, "import", str(shop / "notes.md"), "--project", "X")[1]


def test_rules_in_the_home_folder_hold_for_all_projects(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "home" / ".claude" / "CLAUDE.md"
    file.write_text(FIRST)

    assert '"project": null' in run(tmp_path / "m", capsys, "import", str(file))[1]


def test_a_file_that_is_not_there_or_no_text_is_an_error(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (shop / "bad.md").write_bytes(b"\xff\xfe\x00")

    assert run(tmp_path / "m", capsys, "import", str(shop / "none.md"))[0] == 2
    assert "is not UTF-8 text" in run(tmp_path / "m", capsys, "import", str(shop / "bad.md"))[2]


def test_rules_of_no_project_are_not_told_in_chats(world: World) -> None:
    taken(world, FIRST, project=None)
    plain = world.call("remember", content="Everybody may rebase a branch")["memory"]["id"]
    asked = {"query": "rebase merge branch", "umo": "qq:GroupMessage:7", "senderId": "4"}
    assert len(world.found("rebase merge branch")) == 2
    assert world.found(**asked) == [plain]
