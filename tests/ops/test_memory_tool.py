"""Files of Anthropic's memory tool: each command and each error of its documentation, and what holds for memories."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import orjson
import pytest
from patience import WAIT_SECONDS
from rows import each
from world import World

from holdfast.core.errors import Fault, InvalidRequest, NotFound
from holdfast.core.model import Caller

GITHUB = "ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5"
NOTES = "/memories/notes.md"
LISTING = "Here're the files and directories up to 2 levels deep in {}, excluding hidden items and node_modules:\n"
CONTENT = "Here's the content of {} with line numbers:\n"
ADA = {"umo": "tg:FriendMessage:ada", "senderId": "ada"}
BEN = {"umo": "tg:FriendMessage:ben", "senderId": "ben"}


def run(world: World, command: str, **given: Any) -> str:
    """What a command answers that is carried out."""
    answer = world.call("memory_tool", command=command, **given)
    assert answer["is_error"] is False, answer["content"]
    return str(answer["content"])


def refused(world: World, command: str, **given: Any) -> str:
    answer = world.call("memory_tool", command=command, **given)
    assert answer["is_error"] is True, answer["content"]
    return str(answer["content"])


def create(world: World, path: str, text: str, **whose: Any) -> str:
    return run(world, "create", path=path, file_text=text, **whose)


def text_of(world: World, path: str, **whose: Any) -> str:
    shown = run(world, "view", path=path, **whose).split("\n")[1:]
    return "\n".join(line.split("\t", 1)[1] for line in shown)


# The commands


def test_the_folder_is_there_before_the_first_file(world: World) -> None:
    assert run(world, "view", path="/memories") == LISTING.format("/memories") + "0B\t/memories"


def test_a_file_is_created_and_shown_with_numbered_lines(world: World) -> None:
    assert create(world, NOTES, "Hello\nWorld\n") == f"File created successfully at: {NOTES}"
    assert run(world, "view", path=NOTES) == CONTENT.format(NOTES) + "     1\tHello\n     2\tWorld\n     3\t"


def test_an_empty_file_is_a_file(world: World) -> None:
    create(world, NOTES, "")

    assert run(world, "view", path=NOTES) == CONTENT.format(NOTES) + "     1\t"
    assert run(world, "insert", path=NOTES, insert_line=0, insert_text="now\n")
    assert text_of(world, NOTES) == "now\n"


def test_a_folder_lists_two_levels_with_sizes_and_nothing_hidden(world: World) -> None:
    for path in ("a.md", "work/b.md", "work/deep/c.md", "work/deep/more/d.md", ".hidden", "node_modules/x.js"):
        create(world, f"/memories/{path}", "x" * 1_536)

    assert run(world, "view", path="/memories") == LISTING.format("/memories") + "\n".join(
        ("9.0K\t/memories", "1.5K\t/memories/a.md", "4.5K\t/memories/work/", "1.5K\t/memories/work/b.md",
         "3.0K\t/memories/work/deep/")
    )  # fmt: skip
    assert "/memories/work/deep/more/d.md" in run(world, "view", path="/memories/work/deep/")


@each(
    "view_range, lines",
    [([2, 3], ["2\ttwo", "3\tthree"]), ([3, -1], ["3\tthree", "4\t"]), ([0, 1], ["1\tone"]), ([4, 99], ["4\t"])],
)
def test_a_range_shows_these_lines(world: World, view_range: list[int], lines: list[str]) -> None:
    if world.call("memory_tool", command="view", path=NOTES)["is_error"]:
        create(world, NOTES, "one\ntwo\nthree\n")

    shown = run(world, "view", path=NOTES, view_range=view_range).split("\n")[1:]
    assert [line.strip(" ") for line in shown] == lines


def test_a_long_file_is_cut_unless_a_range_is_asked_for(world: World) -> None:
    create(world, NOTES, "\n".join(f"line {number}" for number in range(1, 5_001)))

    whole = run(world, "view", path=NOTES)
    assert len(whole) < 17_000
    assert whole.endswith("[The file has 5000 lines and is cut here. View the rest with view_range.]")
    assert run(world, "view", path=NOTES, view_range=[1, -1]).endswith("  5000\tline 5000")


def test_text_that_is_there_once_is_replaced(world: World) -> None:
    create(world, NOTES, "one\ntwo\nthree\nfour\nfive\nsix\n")

    told = run(world, "str_replace", path=NOTES, old_str="four", new_str="4\n4.5")
    assert told.startswith("The memory file has been edited. ")
    assert told.split("\n", 1)[1].startswith("     2\ttwo\n     3\tthree\n     4\t4\n     5\t4.5\n")
    assert text_of(world, NOTES) == "one\ntwo\nthree\n4\n4.5\nfive\nsix\n"


def test_without_a_new_text_the_old_one_is_taken_out(world: World) -> None:
    create(world, NOTES, "keep, drop\n")
    run(world, "str_replace", path=NOTES, old_str=", drop")

    assert text_of(world, NOTES) == "keep\n"


@each("line, expected", [(0, "new\none\ntwo\n"), (1, "one\nnew\ntwo\n"), (2, "one\ntwo\nnew\n")])
def test_text_is_inserted_after_a_line(world: World, line: int, expected: str) -> None:
    path = f"/memories/{line}.md"
    create(world, path, "one\ntwo\n")

    assert run(world, "insert", path=path, insert_line=line, insert_text="new\n") == f"The file {path} has been edited."
    assert text_of(world, path) == expected


def test_a_file_and_a_folder_are_deleted(world: World) -> None:
    for path in (NOTES, "/memories/work/a.md", "/memories/work/deep/b.md", "/memories/workshop.md"):
        create(world, path, "x")

    assert run(world, "delete", path=NOTES) == f"Successfully deleted {NOTES}"
    assert run(world, "delete", path="/memories/work") == "Successfully deleted /memories/work"
    assert run(world, "view", path="/memories").split("\n")[1:] == ["1B\t/memories", "1B\t/memories/workshop.md"]


@pytest.mark.engines
def test_a_file_and_a_folder_are_renamed_with_their_versions(world: World) -> None:
    create(world, "/memories/draft/a.md", "first")
    run(world, "str_replace", path="/memories/draft/a.md", old_str="first", new_str="second")

    told = run(world, "rename", old_path="/memories/draft", new_path="/memories/final/v1")
    assert told == "Successfully renamed /memories/draft to /memories/final/v1"
    assert text_of(world, "/memories/final/v1/a.md") == "second"
    versions = world.call("memory", id="memories://final/v1/a.md")["versions"]
    assert [one["content"] for one in versions] == ["second", "first"]
    create(world, "/memories/draft/a.md", "another")  # the old path is free
    assert text_of(world, "/memories/final/v1/a.md") == "second"


# Their errors


MISSING = "/memories/nothing.md"
NO_PATH = f"The path {MISSING} does not exist"
FOLDER = "/memories/folder"


@each(
    "command, given, expected",
    [
        ("view", {"path": MISSING}, f"{NO_PATH}. Please provide a valid path."),
        ("create", {"path": NOTES, "file_text": "x"}, f"Error: File {NOTES} already exists"),
        ("create", {"path": FOLDER, "file_text": "x"}, f"Error: File {FOLDER} already exists"),
        ("create", {"path": "/memories", "file_text": "x"}, "Error: File /memories already exists"),
        ("create", {"path": f"{NOTES}/x.md", "file_text": "x"}, f"Error: {NOTES} is a file, not a directory"),
        ("create", {"path": MISSING}, "Error: create needs file_text"),
        ("str_replace", {"path": MISSING, "old_str": "x"}, f"Error: {NO_PATH}. Please provide a valid path."),
        (
            "str_replace",
            {"path": FOLDER, "old_str": "x"},
            f"Error: The path {FOLDER} does not exist. Please provide a valid path.",
        ),
        (
            "str_replace",
            {"path": NOTES, "old_str": "three"},
            f"No replacement was performed, old_str `three` did not appear verbatim in {NOTES}.",
        ),
        (
            "str_replace",
            {"path": NOTES, "old_str": "o"},
            "No replacement was performed. Multiple occurrences of old_str `o` in lines: 1, 2. "
            "Please ensure it is unique",
        ),
        ("str_replace", {"path": NOTES, "old_str": ""}, "Error: old_str must not be empty"),
        ("insert", {"path": MISSING, "insert_line": 0, "insert_text": "x"}, f"Error: {NO_PATH}"),
        ("insert", {"path": FOLDER, "insert_line": 0, "insert_text": "x"}, f"Error: The path {FOLDER} does not exist"),
        (
            "insert",
            {"path": NOTES, "insert_line": 3, "insert_text": "x"},
            "Error: Invalid `insert_line` parameter: 3. It should be within the range of lines of the file: [0, 2]",
        ),
        ("insert", {"path": NOTES, "insert_line": -1, "insert_text": "x"}, None),
        ("delete", {"path": MISSING}, f"Error: {NO_PATH}"),
        ("delete", {"path": "/memories/"}, "Error: Cannot delete the /memories directory itself"),
        ("rename", {"old_path": MISSING, "new_path": "/memories/x"}, f"Error: {NO_PATH}"),
        ("rename", {"old_path": NOTES, "new_path": f"{FOLDER}/a.md"}, None),
        ("rename", {"old_path": NOTES, "new_path": FOLDER}, f"Error: The destination {FOLDER} already exists"),
        ("rename", {"old_path": FOLDER, "new_path": f"{FOLDER}/in"}, None),
        ("rename", {"old_path": NOTES, "new_path": f"{NOTES}/in"}, None),
        (
            "rename",
            {"old_path": "/memories", "new_path": "/memories/x"},
            "Error: Cannot rename the /memories directory itself",
        ),
        ("view", {"path": NOTES, "view_range": [9, 10]}, None),
        ("view", {"path": NOTES, "view_range": [2]}, None),
    ],
)
def test_a_command_that_cannot_be_carried_out_says_why_and_changes_nothing(
    world: World, command: str, given: dict[str, Any], expected: str | None
) -> None:
    if world.call("memory_tool", command="view", path=NOTES)["is_error"]:
        create(world, NOTES, "one\ntwo\n")
        create(world, f"{FOLDER}/a.md", "x")
    before = world.call("memories", latest=False)

    told = refused(world, command, **given)
    assert expected is None or told == expected
    assert world.call("memories", latest=False) == before


@each(
    "path",
    [
        "/memories/../secrets.env", "/memories/a/../../b", "/memories/.", "/memories/...", "/memories/a/..",
        "/memories/..\\b", "/memories\\..\\b", "/memories/%2e%2e/b", "/memories/%2E%2E%2Fb", "/memories/%252e%252e/b",
        "/memories/a%00b", "/memories/a%41", "/memories/．．/b", "/memories/․․/b", "/memories/a／b", "/memories/a\x00b",
        "/memories/a\nb", "/memories/a\u202eb", "/memories/a\u200bb", "/memories/\ud800", "/etc/passwd", "/memoriesx",
        "memories/a", "", "/", "//memories/a", "file:///memories/a", "C:\\memories\\a", "/memories/a /b", "/memories/ a",
        "/memories/" + "a" * 256, "/memories/" + "a/" * 300,
    ],
)  # fmt: skip
def test_a_path_that_is_no_name_under_memories_is_refused_by_every_command(world: World, path: str) -> None:
    others = {"file_text": "x", "old_str": "x", "insert_line": 0, "insert_text": "x", "new_path": "/memories/new"}
    for command in ("view", "create", "str_replace", "insert", "delete"):
        assert refused(world, command, path=path, **others).startswith("Error: Path")
    assert refused(world, "rename", old_path=path, new_path="/memories/new").startswith("Error: Path")
    assert refused(world, "rename", old_path=NOTES, new_path=path).startswith("Error: Path")
    with pytest.raises(InvalidRequest):
        world.call("memory_tool_undo", path=path)
    assert world.call("memories")["total"] == 0


def test_one_file_has_one_path_however_it_is_spelled(world: World) -> None:
    create(world, "/memories/caf\u00e9//menu.md", "x")

    assert text_of(world, "/memories/cafe\u0301/menu.md/") == "x"


def test_a_file_that_would_be_too_long_is_refused_with_the_limit(world: World) -> None:
    create(world, NOTES, "x" * 999_999)

    limit = "the limit is 1,000,000. Split it into several files."
    assert refused(world, "create", path="/memories/b.md", file_text="x" * 1_000_001).endswith(limit)
    assert refused(world, "insert", path=NOTES, insert_line=1, insert_text="more").endswith(limit)
    assert world.call("memories", latest=False)["total"] == 1


# Secrets


def test_a_secret_is_not_stored_and_the_answer_says_so(world: World) -> None:
    told = create(world, NOTES, f"host: a\ntoken {GITHUB}\n")

    assert "Note: what looked like a secret was removed" in told
    assert "in lines: 2." in told
    assert GITHUB not in str(world.call("memories", latest=False))


def test_text_is_found_as_it_was_written_though_its_secret_was_removed(world: World) -> None:
    create(world, NOTES, f"token {GITHUB}\nhost: a\n")

    run(world, "str_replace", path=NOTES, old_str=f"token {GITHUB}\nhost: a", new_str="host: b")
    assert text_of(world, NOTES) == "host: b\n"


def test_a_secret_whose_name_was_in_the_file_before_is_removed_too(world: World) -> None:
    create(world, NOTES, "password: \nhost: a\n")

    told = run(world, "str_replace", path=NOTES, old_str="password: ", new_str="password: tr0ub4dor&3xyz")
    assert "Note: what looked like a secret was removed" in told
    assert "tr0ub4dor" not in text_of(world, NOTES) + told


def test_no_error_repeats_a_secret(world: World) -> None:
    create(world, NOTES, "x\n")

    assert GITHUB not in refused(world, "str_replace", path=NOTES, old_str=f"token {GITHUB}", new_str="y")
    assert GITHUB not in refused(world, "view", path=f"/memories/{GITHUB}.md")


# What holds for memories


def test_what_a_file_says_is_found_by_search(world: World) -> None:
    create(world, NOTES, "The lighthouse keeper sleeps at noon.\n")
    run(world, "str_replace", path=NOTES, old_str="noon", new_str="dawn")

    [hit] = world.call("search", query="when does the lighthouse keeper sleep")["results"]
    assert hit["title"] == NOTES
    assert world.found("noon") == []


def test_a_fact_that_is_saved_later_never_changes_a_file(world: World) -> None:
    text = "The user prefers dark mode in all editors and terminals"
    create(world, NOTES, text)
    world.call("remember", content=f"{text} too")

    assert text_of(world, NOTES) == text


@pytest.mark.engines
def test_the_last_change_and_a_deletion_are_undone(world: World) -> None:
    create(world, NOTES, "one")
    run(world, "str_replace", path=NOTES, old_str="one", new_str="two")

    world.call("memory_tool_undo", path=NOTES)
    assert text_of(world, NOTES) == "one"
    run(world, "delete", path=NOTES)
    assert world.found("one") == []
    world.call("memory_tool_undo", path=NOTES)
    assert text_of(world, NOTES) == "one"


def test_nothing_is_undone_where_nothing_was_changed(world: World) -> None:
    create(world, NOTES, "one")

    for path in (NOTES, MISSING):
        with pytest.raises(NotFound):
            world.call("memory_tool_undo", path=path)


@pytest.mark.engines
def test_a_deleted_file_whose_path_another_one_took_can_still_be_brought_back(world: World) -> None:
    create(world, NOTES, "old")
    old = world.call("memory", id="memories://notes.md")["memory"]["id"]
    run(world, "delete", path=NOTES)
    create(world, "/memories/b.md", "new")
    run(world, "rename", old_path="/memories/b.md", new_path=NOTES)

    assert text_of(world, NOTES) == "new"
    world.call("memory_tool_undo", path=f"/memories/.deleted/{old}")
    assert text_of(world, f"/memories/.deleted/{old}") == "old"


def test_files_come_back_from_an_export(world: World, tmp_path: Path) -> None:
    create(world, NOTES, "one")
    create(world, "/memories/empty.md", "")
    run(world, "str_replace", path=NOTES, old_str="one", new_str="two")
    document = orjson.loads(b"".join(world.call("export").pieces))

    other = World(tmp_path / "other")
    try:
        other.call("import_", exportData=document)
        assert text_of(other, NOTES) == "two"
        assert text_of(other, "/memories/empty.md") == ""
        assert len(other.call("memory", id="memories://notes.md")["versions"]) == 2
    finally:
        other.close()


def test_a_snapshot_brings_files_back_as_they_were(world: World) -> None:
    create(world, NOTES, "one")
    made = world.call("snapshot_create")["snapshot"]["id"]
    run(world, "str_replace", path=NOTES, old_str="one", new_str="two")
    create(world, "/memories/later.md", "x")

    world.call("snapshot_restore", id=made, yes=True)
    assert text_of(world, NOTES) == "one"
    assert refused(world, "view", path="/memories/later.md").startswith("The path")


def test_what_is_forgotten_is_gone_with_its_versions(world: World) -> None:
    create(world, NOTES, "one")
    run(world, "str_replace", path=NOTES, old_str="one", new_str="two")

    world.call("forget", memoryId="memories://notes.md")
    assert refused(world, "view", path=NOTES).startswith("The path")
    assert world.call("memories", latest=False)["total"] == 0


@pytest.mark.engines
def test_two_users_and_the_agent_have_folders_of_their_own(world: World) -> None:
    create(world, NOTES, "of the agent")
    create(world, NOTES, "of Ada", **ADA)
    create(world, NOTES, "of Ben", **BEN)

    assert [text_of(world, NOTES, **who) for who in ({}, ADA, BEN)] == ["of the agent", "of Ada", "of Ben"]
    run(world, "delete", path=NOTES, **BEN)
    assert refused(world, "view", path=NOTES, **BEN).startswith("The path")
    assert text_of(world, NOTES, **ADA) == "of Ada"
    assert [one["content"] for one in world.call("search", query="of the agent", **ADA)["results"]] != ["of the agent"]


def test_isolated_agents_have_folders_of_their_own(tmp_path: Path) -> None:
    world = World(tmp_path / "isolated", agent_scope="isolated")
    try:
        for agent in ("alpha", "beta"):
            create(world, NOTES, f"of {agent}", agentId=agent)
        assert [text_of(world, NOTES, agentId=agent) for agent in ("alpha", "beta")] == ["of alpha", "of beta"]
        assert "beta" not in str(world.call("memories", agentId="alpha"))
    finally:
        world.close()


def test_a_token_that_may_only_read_changes_no_file(world: World) -> None:
    with pytest.raises(Fault):
        world.call("memory_tool", Caller(scopes=frozenset({"read"})), command="create", path=NOTES, file_text="x")


@pytest.mark.engines
def test_changes_at_once_lose_nothing(world: World) -> None:
    create(world, NOTES, "begin\nend\n")

    def insert(name: str) -> None:
        for number in range(5):
            run(world, "insert", path=NOTES, insert_line=1, insert_text=f"{name}-{number}")

    threads = [threading.Thread(target=insert, args=(name,)) for name in ("a", "b", "c", "d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)

    written = text_of(world, NOTES).split("\n")[1:-2]
    assert sorted(written) == [f"{name}-{number}" for name in "abcd" for number in range(5)]


@pytest.mark.engines
def test_of_two_that_create_a_file_at_once_one_is_told_that_it_exists(world: World) -> None:
    told: list[bool] = []
    both = threading.Barrier(2)

    def one(text: str) -> None:
        both.wait(WAIT_SECONDS)
        told.append(world.call("memory_tool", command="create", path=NOTES, file_text=text)["is_error"])

    threads = [threading.Thread(target=one, args=(text,)) for text in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)

    assert sorted(told) == [False, True]
