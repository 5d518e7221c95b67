"""What a hook sends becomes a filled observation, whatever the client and whatever the data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings, strategies as st
from rows import each

from holdfast.intake.event.draft import EventDraft, compress

RECORDED = json.loads((Path(__file__).parent / "recorded_observes.json").read_text())

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
KNOWN_FIELDS = st.sampled_from(
    "prompt tool_name tool_input tool_output error message text title type files completed image_data todos "
    "agent_type task_subject name arguments description".split()
)
TOOLS = st.sampled_from(
    [
        "Bash",
        "Edit",
        "apply_patch",
        "Read",
        "Grep",
        "WebFetch",
        "Task",
        "TodoWrite",
        "mcp__x__y",
        "shell",
        "conversation",
    ]
)
TOOL_FIELDS = st.sampled_from(
    "command file_path pattern url query old_string new_string content edits input patch".split()
)
DATA = (
    st.none()
    | st.text(max_size=200)
    | st.dictionaries(KNOWN_FIELDS | st.text(max_size=10), JSON_VALUES, max_size=8)
    | st.fixed_dictionaries(
        {
            "tool_name": TOOLS,
            "tool_input": st.dictionaries(TOOL_FIELDS, JSON_VALUES, max_size=5) | JSON_VALUES,
            "tool_output": JSON_VALUES,
        }
    )
)
HOOKS = st.sampled_from(
    ["prompt_submit", "post_tool_use", "post_tool_failure", "subagent_stop", "task_completed", "notification"]
) | st.text(max_size=30)


def used(tool: str, given: Any, output: Any = "ok") -> EventDraft:
    return compress("post_tool_use", {"tool_name": tool, "tool_input": given, "tool_output": output})


@settings(max_examples=300)
@given(HOOKS, DATA)
def test_any_data_is_compressed_within_every_bound(hook: str, data: Any) -> None:
    made = compress(hook, data)
    assert 1 <= len(made.title) <= 80
    assert "\n" not in made.title
    assert len(made.subtitle) <= 120
    assert len(made.narrative) <= 400
    assert len(made.facts) <= 8
    assert all(1 <= len(fact) <= 200 for fact in made.facts)
    assert len(made.concepts) <= 8
    assert len(set(made.concepts)) == len(made.concepts)
    assert all(2 <= len(concept) <= 40 and concept == concept.lower() for concept in made.concepts)
    assert len(made.files) <= 20
    assert all(0 < len(path) < 512 for path in made.files)
    assert 1 <= made.importance <= 10
    assert 0 <= made.confidence <= 1


@settings(max_examples=100)
@given(HOOKS, DATA)
def test_the_same_data_always_gives_the_same_observation(hook: str, data: Any) -> None:
    assert compress(hook, data) == compress(hook, data)


@settings(max_examples=100)
@given(st.text(alphabet="/.:-_a1@#*s{}[]'\" \n的=", max_size=400))
def test_strange_punctuation_is_taken_as_it_is(text: str) -> None:
    for data in ({"prompt": text}, {"tool_name": "Bash", "tool_input": text, "tool_output": text}, text):
        compress("post_tool_use", data)


def test_data_nested_a_thousand_deep_does_not_overflow() -> None:
    deep: Any = "end"
    for _ in range(5_000):
        deep = {"input": [deep]}
    assert used("Edit", deep).type == "file_edit"


@each("call", RECORDED)
def test_every_recorded_client_call_gets_a_title_of_its_own(call: dict[str, Any]) -> None:
    hook, data = call["hookType"], call["data"]
    made = compress(hook, data)
    assert made.title.lower() not in (hook, str(data.get("tool_name", "")).lower())
    assert made.narrative


@each(
    "hook, data, kind, title",
    [
        ("prompt_submit", {"prompt": "Add rate limiting to the API"}, "conversation", "Asked: Add rate limiting to the API"),
        ("post_tool_failure", {"tool_name": "Bash", "tool_input": '{"command":"false"}', "error": "exit 1"}, "error", "Bash failed: exit 1"),
        ("subagent_start", {"agent_id": "ag1", "agent_type": "Explore"}, "subagent", "Subagent Explore started"),
        ("subagent_stop", {"agent_type": "Explore", "last_message": "done"}, "subagent", "Subagent Explore finished: done"),
        ("task_completed", {"task_id": "t1", "task_subject": "Do it"}, "subagent", "Task completed: Do it"),
        ("task_completed", {"completed": [{"content": "a"}], "in_progress": [{"content": "b"}]}, "subagent", "Tasks: 1 of 2 done"),
        ("notification", {"title": "Permission", "message": "Allow Bash?"}, "notification", "Permission: Allow Bash?"),
        ("assistant_message", {"message": "The cache holds 5 minutes."}, "conversation", "Answered: The cache holds 5 minutes."),
        ("session_diff", {"files": ["src/a.ts", "src/b.ts"]}, "file_edit", "Edited src/a.ts and 1 more"),
        ("command_executed", {"name": "review", "arguments": "src"}, "command_run", "Ran /review src"),
        ("PostToolUseFailure", {"tool_name": "Edit", "error": "no match"}, "error", "Edit failed: no match"),
    ],
)  # fmt: skip
def test_a_hook_says_what_happened(hook: str, data: Any, kind: str, title: str) -> None:
    made = compress(hook, data)
    assert (made.type, made.title) == (kind, title)


@each(
    "tool, given, kind, title",
    [
        ("Bash", {"command": "cd /w/proj && make test"}, "command_run", "Ran make test"),
        ("Bash", {"command": "make test 2>&1 | tail -20"}, "command_run", "Ran make test"),
        ("shell", {"command": ["bash", "-lc", "cargo build"]}, "command_run", "Ran cargo build"),
        ("exec_command", {"cmd": "npm ci"}, "command_run", "Ran npm ci"),
        ("run_shell_command", {"command": "go vet ./..."}, "command_run", "Ran go vet ./..."),
        ("run_terminal_cmd", '{"command": "git push"}', "command_run", "Ran git push"),
        ("Edit", {"file_path": "/home/dev/proj/src/auth.py"}, "file_edit", "Edited src/auth.py"),
        ("MultiEdit", {"file_path": "a.py", "edits": []}, "file_edit", "Edited a.py"),
        ("replace", {"file_path": "a.py"}, "file_edit", "Edited a.py"),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a.py"}, "file_read", "Read a.py"),
        ("str_replace_based_edit_tool", {"command": "create", "path": "a.py"}, "file_write", "Wrote a.py"),
        ("apply_patch", "*** Begin Patch\n*** Add File: x/hello.txt\n+Hi\n*** End Patch", "file_edit", "Created x/hello.txt"),
        ("Write", {"file_path": "notes.md", "content": "x"}, "file_write", "Wrote notes.md"),
        ("Read", {"file_path": "src/auth.py"}, "file_read", "Read src/auth.py"),
        ("view_file", {"AbsolutePath": "/p/a.py"}, "file_read", "Read p/a.py"),
        ("list_dir", {"path": "src"}, "file_read", "Listed src"),
        ("Grep", {"pattern": "Limiter", "path": "src"}, "search", "Searched for Limiter in src"),
        ("Glob", {"pattern": "**/*.ts"}, "search", "Searched for **/*.ts"),
        ("WebFetch", {"url": "https://x.org/a"}, "web_fetch", "Fetched https://x.org/a"),
        ("WebSearch", {"query": "jose jwt"}, "web_fetch", "Searched the web for jose jwt"),
        ("Task", {"description": "Explore auth", "subagent_type": "Explore"}, "subagent", "Delegated to Explore: Explore auth"),
        ("TodoWrite", {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]}, "other", "Updated the plan: 1 of 2 done"),
        ("mcp__github__search_issues", {"query": "leak"}, "search", "Searched for leak"),
        ("mcp__github__create_issue", {"title": "x"}, "other", "Used github create_issue"),
        ("conversation", "How does the cache work?", "conversation", "Asked: How does the cache work?"),
        ("frobnicate", {}, "other", "Used frobnicate"),
    ],
)  # fmt: skip
def test_a_tool_of_any_client_says_what_it_did(tool: str, given: Any, kind: str, title: str) -> None:
    made = used(tool, given)
    assert (made.type, made.title) == (kind, title)


@each(
    "output, tests",
    [
        ("E  x\n==== 3 failed, 10 passed in 1.20s ====", "3 failed, 10 passed"),
        ("10 passed in 0.1s", "10 passed"),
        ("Tests:       1 failed, 5 passed, 6 total", "1 failed, 5 passed"),
        (" Tests  1 failed | 5 passed (6)", "1 failed, 5 passed"),
        ("test result: FAILED. 3 passed; 1 failed; 0 ignored", "1 failed, 3 passed"),
        ("10 examples, 2 failures", "2 failed"),
        ("FAILED (failures=1, errors=2)", "1 failed, 2 errors"),
        ("Ran 12 tests in 0.01s\n\nOK", "12 passed"),
    ],
)
def test_the_summary_of_a_test_run_becomes_title_and_fact(output: str, tests: str) -> None:
    made = used("Bash", {"command": "run-tests"}, {"stdout": output, "stderr": ""})
    assert made.title == f"Ran run-tests: {tests}"
    assert f"Tests: {tests}" in made.facts


def test_prose_about_failed_attempts_is_no_test_result() -> None:
    made = used("Bash", {"command": "cat notes"}, "after 3 failed attempts we stopped")
    assert made.title == "Ran cat notes"


def test_a_failed_command_names_its_exit_code_and_its_error() -> None:
    output = {
        "output": "Traceback (most recent call last):\nModuleNotFoundError: No module named 'jose'",
        "metadata": {"exit_code": 1},
    }
    made = used("shell", {"command": ["python", "app.py"]}, json.dumps(output))
    assert made.title == "Ran python app.py: exit 1"
    assert "Exit code 1" in made.facts
    assert "Error: ModuleNotFoundError: No module named 'jose'" in made.facts
    assert made.concepts[0] == "modulenotfounderror"
    assert made.files == ("app.py",)


def test_an_edit_counts_the_lines_it_added_and_removed() -> None:
    made = used("Edit", {"file_path": "a.py", "old_string": "one\ntwo", "new_string": "one\n2\n3"})
    assert made.facts == ("Edited a.py (+2 -1 lines)",)


def test_a_patch_tells_every_file_and_kind_of_change() -> None:
    patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n+y\n*** Update File: b.py\n@@\n-1\n+2\n*** Delete File: c.py\n*** End Patch"
    made = used("apply_patch", {"input": patch})
    assert made.title == "Changed a.txt and 2 more"
    assert made.facts == ("Created a.txt (+2 -0 lines)", "Edited b.py (+1 -1 lines)", "Deleted c.py")
    assert made.files == ("a.txt", "b.py", "c.py")


def test_a_failed_edit_claims_no_change() -> None:
    data = {
        "tool_name": "Edit",
        "tool_input": {"file_path": "a.py", "old_string": "x", "new_string": "y"},
        "error": "no match",
    }
    assert compress("post_tool_failure", data).facts == ("Error: no match",)


def test_input_that_the_client_cut_off_is_still_read() -> None:
    data = {
        "tool_name": "edit",
        "tool_input": '{"filePath":"/a/b/c.ts","oldString":"foo\\nba',
        "tool_output": "not found",
    }
    made = compress("post_tool_failure", data)
    assert made.files == ("/a/b/c.ts",)
    assert made.tool_input == data["tool_input"]


def test_a_decision_in_a_prompt_is_kept_as_a_fact_and_weighs_more() -> None:
    plain = compress("prompt_submit", {"prompt": "Show me the cache module of the server"})
    rule = compress("prompt_submit", {"prompt": "We decided on Redis because it persists. Thanks!"})
    assert rule.facts == ("We decided on Redis because it persists.",)
    assert rule.importance > plain.importance


def test_errors_and_edits_weigh_more_than_looking_around() -> None:
    error = compress("post_tool_failure", {"tool_name": "Bash", "error": "exit 1"}).importance
    edit = used("Edit", {"file_path": "a.py"}).importance
    read = used("Read", {"file_path": "a.py"}).importance
    listing = used("Bash", {"command": "ls -la"}).importance
    assert error > edit > read
    assert listing <= read
    assert compress("step_finish", {"cost": 0}).importance <= 2


@each("prompt", ["yes", "ok", "Continue.", "好的"])
def test_a_nod_weighs_little(prompt: str) -> None:
    assert compress("prompt_submit", {"prompt": prompt}).importance <= 3


def test_concepts_are_the_terms_that_matter() -> None:
    made = compress(
        "prompt_submit",
        {"prompt": "Please fix the TokenBucket in rate_limiter.py, it leaks Redis connections"},
    )
    assert {"tokenbucket", "rate_limiter", "redis", "connections"} <= set(made.concepts)
    assert not {"please", "fix", "the", "it"} & set(made.concepts)


def test_what_was_redacted_is_no_concept() -> None:
    made = compress("prompt_submit", {"prompt": "Rotate the key [REDACTED_SECRET] and [REDACTED:aws key] in vault"})
    assert set(made.concepts) == {"rotate", "vault"}


def test_imported_libraries_and_the_program_become_concepts() -> None:
    assert "fastapi" in used("Write", {"file_path": "x.py", "content": "from fastapi import FastAPI\n"}).concepts
    assert {"pip", "httpx"} <= set(used("Bash", {"command": "pip install httpx"}).concepts)


def test_chinese_text_gives_concepts_of_at_most_eight_characters() -> None:
    made = compress("prompt_submit", {"prompt": "请修复登录页面的速率限制错误，必须使用数据库连接池管理器配置"})
    assert {"修复登录页面", "速率限制错误"} <= set(made.concepts)
    assert all(len(concept) <= 8 for concept in made.concepts)
    assert made.importance >= 8


def test_japanese_and_korean_text_gives_concepts() -> None:
    assert "認証" in compress("prompt_submit", {"prompt": "認証を修正してください"}).concepts
    assert "로그인" in compress("prompt_submit", {"prompt": "로그인 오류 수정"}).concepts


@each(
    "command, files",
    [
        ("pytest -q tests/test_auth.py::test_jwt", ("tests/test_auth.py",)),
        ("sed -i 's/a/b/g' src/x.py && cat ./run", ("src/x.py", "./run")),
        ("git checkout origin/main -- && pip install x==3.11", ()),
        ("cat > notes.md <<'EOF'\nsee other/file.py\nEOF", ("notes.md",)),
        ("curl https://x.org/a.json > /dev/null", ()),
    ],
)
def test_only_real_paths_of_a_command_are_files(command: str, files: tuple[str, ...]) -> None:
    assert used("Bash", {"command": command}).files == files


def test_a_search_pattern_is_a_file_only_when_it_is_a_path() -> None:
    assert used("Glob", {"pattern": "src/app.ts"}).files == ("src/app.ts",)
    assert used("Grep", {"pattern": "foo.*bar/"}).files == ()


def test_mentioned_files_of_a_prompt_are_found() -> None:
    made = compress("prompt_submit", {"prompt": "look at @src/auth.py:12 and README.md."})
    assert made.files == ("src/auth.py", "README.md")


@each(
    "data",
    [
        {"tool_name": "Read", "tool_input": {"file_path": "x.png"}, "tool_output": "[image data extracted]", "image_data": "data:image/png;base64,SECRETPIXELS"},
        {"tool_name": "Read", "tool_input": {"file_path": "x.png"}, "tool_output": "before data:image/png;base64,SECRETPIXELS after"},
        {"tool_name": "Read", "tool_input": {}, "tool_output": [{"type": "image", "source": {"data": "SECRETPIXELS"}}, {"type": "text", "text": "a picture"}]},
        {"prompt": "see data:image/jpeg;base64,SECRETPIXELS"},
        {"tool_name": "x", "tool_input": {"imageData": "SECRETPIXELS"}},
    ],
)  # fmt: skip
def test_an_image_never_enters_the_text(data: Any) -> None:
    made = compress("post_tool_use", data)
    text = " ".join([made.title, made.subtitle, made.narrative, *made.facts, *made.concepts, *made.files])
    assert "SECRETPIXELS".lower() not in text.lower()


def test_the_narrative_gives_every_part_its_share() -> None:
    made = used("Bash", {"command": "x" * 30 + " y" * 600}, "output " * 300)
    given, output = made.narrative.split(" | ")
    assert given.endswith("…")
    assert output.startswith("output")
    assert min(len(given), len(output)) > 150


def test_the_clients_own_values_come_back_untouched() -> None:
    data = {
        "tool_name": "Bash",
        "tool_input": '{"command":"ls"}',
        "tool_output": {"stdout": "a"},
        "prompt": "p",
    }
    made = compress("post_tool_use", data)
    assert (made.prompt, made.tool_name, made.tool_input, made.tool_output) == (
        "p",
        "Bash",
        '{"command":"ls"}',
        {"stdout": "a"},
    )


def test_text_and_type_of_an_agents_own_observation_are_used() -> None:
    made = compress("agent_observe", {"text": "The root cause was a stale WAL in data/store.db", "type": "discovery"})
    assert made.type == "discovery"
    assert made.facts == ("The root cause was a stale WAL in data/store.db",)
    assert made.files == ("data/store.db",)


@each(
    "made",
    [
        lambda: {"tool_name": "Bash", "tool_input": {"command": "x" * 10_000_000}, "tool_output": "error " * 1_600_000},
        lambda: {"tool_name": "Write", "tool_input": {"file_path": "a.py", "content": "a = 1\n" * 1_600_000}},
        lambda: {"tool_name": "Bash", "tool_input": "{}", "tool_output": ["x"] * 2_000_000},
        lambda: "{" * 10_000_000,
        lambda: '{"a":"' + "\\" * 10_000_000,
        lambda: {"prompt": "data:image/png;base64," + "A" * 10_000_000},
        lambda: {"prompt": "a.b-" * 2_500_000},
        lambda: {"prompt": "@" * 5_000_000 + "a/" * 2_500_000},
        lambda: {"prompt": "::" * 5_000_000},
        lambda: {"prompt": "的" * 3_000_000},
        lambda: {"tool_name": "Bash", "tool_input": {"command": "sed s/" + "/a" * 5_000_000}, "tool_output": "= " * 5_000_000},
        lambda: {"error": "\n" * 10_000_000},
    ],
)  # fmt: skip
def test_ten_megabytes_take_time_that_grows_with_them(made: Callable[[], Any]) -> None:
    """With their square it would be hours, and the test would not end in time. Made here: they are large."""
    assert compress("post_tool_use", made())
