"""Transcripts become the events that the hooks would have sent, and nothing in a file can stop the reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from rows import each

from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.intake.event.draft import compress
from holdfast.intake.transcripts.reader import TranscriptEvent, find_transcripts, read_transcript

FOLDER = Path(__file__).parent / "transcripts"
CLAUDE = FOLDER / "claude.jsonl"
CODEX = FOLDER / "rollout-2026-03-02T10-00-00-019bce9f-0a40-79e2-8351-8818e8487fb6.jsonl"
CODEX_OLD = FOLDER / "codex_old.jsonl"
DAMAGED = FOLDER / "damaged.jsonl"
LINES = [line for path in (CLAUDE, CODEX, CODEX_OLD) for line in path.read_bytes().splitlines()]


def told(path: Path) -> list[tuple[str, Any]]:
    return [(event.hook, without_call(event.data)) for event in read_transcript(path)]


def without_call(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "tool_use_id"}


def written(folder: Path, *lines: object) -> Path:
    path = folder / "made.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_claude_session_is_told_as_its_hooks_would() -> None:
    assert told(CLAUDE) == [
        ("prompt_submit", {"prompt": "Add rate limiting to the API"}),
        ("assistant_message", {"message": "I will run the tests first."}),
        (
            "post_tool_failure",
            {
                "tool_name": "Bash",
                "tool_input": {"command": "pytest -q", "description": "Run tests"},
                "error": "Exit code 1\n1 failed, 2 passed in 0.1s",
            },
        ),
        (
            "post_tool_use",
            {"tool_name": "Read", "tool_input": {"file_path": "/home/dev/proj/shot.png"}, "tool_output": "a screenshot\n[image]"},
        ),
        ("post_tool_use", {"tool_name": "Grep", "tool_input": {"pattern": "limiter"}, "tool_output": "src/limiter.py"}),
        ("prompt_submit", {"prompt": "/review src/limiter.py"}),
        ("assistant_message", {"message": "Still working on it."}),
    ]  # fmt: skip


def test_claude_events_carry_session_project_and_time() -> None:
    events = list(read_transcript(CLAUDE))
    assert {event.session_id for event in events} == {"5c1e2a40-1111-4222-8333-444455556666"}
    assert {(event.project, event.cwd) for event in events} == {("proj", "/home/dev/proj")}
    assert events[2].at_ms == 1772445605500
    assert [event.at_ms for event in events] == sorted(event.at_ms for event in events)


def test_a_call_without_its_result_is_counted_and_told_once_it_has_one(tmp_path: Path) -> None:
    first = read_transcript(CLAUDE)
    before = list(first)
    assert (first.unanswered, first.skipped, first.lines) == (1, 0, 14)
    answer = json.loads(CLAUDE.read_text().splitlines()[-1])
    answer |= {"type": "user", "uuid": "00000000-0000-4000-8000-00000000000d"}
    answer["message"] = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_9", "content": "built"}],
    }
    grown = tmp_path / "grown.jsonl"
    grown.write_text(CLAUDE.read_text() + json.dumps(answer) + "\n")
    after = list(read_transcript(grown))
    assert [event.key for event in after[:-1]] == [event.key for event in before]
    assert after[-1].data == {
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
        "tool_output": "built",
        "tool_use_id": "toolu_9",
    }


def test_a_codex_session_is_told_once_although_it_is_written_twice() -> None:
    assert told(CODEX) == [
        ("prompt_submit", {"prompt": "list the files"}),
        (
            "post_tool_use",
            {
                "tool_name": "shell",
                "tool_input": {"command": ["bash", "-lc", "ls"], "workdir": "/home/dev/api"},
                "tool_output": {"output": "a.py\nb.py\n", "metadata": {"exit_code": 0, "duration_seconds": 0.0}},
            },
        ),
        (
            "post_tool_use",
            {
                "tool_name": "apply_patch",
                "tool_input": "*** Begin Patch\n*** Add File: hello.txt\n+Hello\n*** End Patch",
                "tool_output": {"output": "Success. Updated the following files:\nA hello.txt\n", "metadata": {"exit_code": 0}},
            },
        ),
        (
            "post_tool_use",
            {
                "tool_name": "local_shell",
                "tool_input": {"type": "exec", "command": ["git", "status"]},
                "tool_output": "Exit code: 128\nWall time: 0 seconds\nOutput:\nfatal: not a git repository",
            },
        ),
        (
            "post_tool_use",
            {"tool_name": "web_search", "tool_input": {"type": "search", "query": "token bucket"}, "tool_output": ""},
        ),
        ("assistant_message", {"message": "Done: `a.py` and `b.py`."}),
        ("prompt_submit", {"prompt": "list the files"}),
    ]  # fmt: skip


def test_codex_events_carry_session_and_project() -> None:
    transcript = read_transcript(CODEX)
    events = list(transcript)
    assert {(event.session_id, event.project) for event in events} == {("019bce9f-0a40-79e2-8351-8818e8487fb6", "api")}
    assert (transcript.unanswered, transcript.skipped) == (1, 0)


def test_the_older_codex_format_is_read_too() -> None:
    events = list(read_transcript(CODEX_OLD))
    assert [event.hook for event in events] == [
        "prompt_submit",
        "post_tool_use",
        "assistant_message",
        "prompt_submit",
    ]
    assert {(event.session_id, event.project, event.at_ms) for event in events} == {
        ("0a0b0c0d-old", "legacy", 1746638661123)
    }


@each("path", [CLAUDE, CODEX, CODEX_OLD])
def test_reading_again_gives_the_same_events_with_the_same_keys(path: Path) -> None:
    transcript = read_transcript(path)
    first = list(transcript)
    assert list(transcript) == first
    assert len({event.key for event in first}) == len(first)


def test_damaged_lines_are_counted_and_the_rest_is_told() -> None:
    transcript = read_transcript(DAMAGED)
    prompts = [event.data["prompt"] for event in transcript]
    assert prompts == ["Add rate limiting to the API", "cut emoji \ufffd here"]
    assert transcript.skipped == 5


def test_a_line_over_the_limit_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    good = CLAUDE.read_bytes().splitlines()[2] + b"\n"
    path.write_bytes(good + b'{"type":"user","x":"' + b"a" * 3_000_000 + b'"}\n' + good.replace(b"0001", b"0099"))
    transcript = read_transcript(path, max_line_bytes=2_000)
    assert len(list(transcript)) == 2
    assert (transcript.skipped, transcript.lines) == (1, 3)


def test_a_line_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    line = CLAUDE.read_bytes().splitlines()[2]
    for end in (b"\n", b""):
        path = tmp_path / "exact.jsonl"
        path.write_bytes(line + end)
        assert len(list(read_transcript(path, max_line_bytes=len(line)))) == 1


def test_a_file_that_is_no_transcript_is_all_skipped(tmp_path: Path) -> None:
    transcript = read_transcript(written(tmp_path, {"a": 1}, {"type": "user"}, {"payload": {}}))
    assert list(transcript) == []
    assert transcript.skipped == 3


def test_a_result_whose_call_is_lost_is_still_told(tmp_path: Path) -> None:
    block = {"type": "tool_result", "tool_use_id": "gone", "content": "late answer"}
    path = written(
        tmp_path,
        {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": [block]}},
    )
    (event,) = read_transcript(path)
    assert event.data == {
        "tool_name": "unknown",
        "tool_input": {},
        "tool_output": "late answer",
        "tool_use_id": "gone",
    }


def test_a_tool_call_carries_the_id_that_its_hooks_report() -> None:
    events = [event for path in (CLAUDE, CODEX) for event in read_transcript(path)]
    ids = [event.data["tool_use_id"] for event in events if "tool_use_id" in event.data]
    assert ids == ["toolu_1", "toolu_2", "toolu_3", "call_1", "call_2", "call_3"]


@pytest.mark.parametrize(
    "text",
    ["[Request interrupted by user for tool use]", "The user doesn't want to proceed with this tool use. The tool…"],
)
def test_a_call_that_the_user_stopped_is_no_failure(tmp_path: Path, text: str) -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "content": text, "is_error": True}
    line = {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": [block]}}
    assert told(written(tmp_path, line)) == []


def test_a_compaction_summary_is_not_taken_for_the_users_words(tmp_path: Path) -> None:
    line = {
        "type": "user",
        "sessionId": "s",
        "uuid": "u",
        "isCompactSummary": True,
        "message": {"role": "user", "content": "So far we…"},
    }
    assert told(written(tmp_path, line)) == [("assistant_message", {"message": "So far we…"})]


def test_plain_role_lines_are_read(tmp_path: Path) -> None:
    lines = ({"role": "user", "content": "fix the bug"}, {"role": "assistant", "content": "fixed"})
    assert told(written(tmp_path, *lines)) == [
        ("prompt_submit", {"prompt": "fix the bug"}),
        ("assistant_message", {"message": "fixed"}),
    ]


def test_the_same_call_id_in_two_turns_is_two_events(tmp_path: Path) -> None:
    def wrap(payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-03-02T10:00:00Z", "type": "response_item", "payload": payload}

    call = wrap({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "call_0"})
    output = wrap({"type": "function_call_output", "call_id": "call_0", "output": "x"})
    events = list(read_transcript(written(tmp_path, call, output, call, output)))
    assert [event.data["tool_name"] for event in events] == ["shell", "shell"]
    assert len({event.key for event in events}) == 2


def test_what_is_read_is_small_and_free_of_images(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "see"}, {"type": "image", "source": {"data": "PIXELS"}}]
    call = {
        "type": "tool_use",
        "id": "t",
        "name": "Write",
        "input": {"file_path": "a", "content": "x y\n" * 500_000},
    }
    result = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": "data:image/png;base64,PIXELS" + "line\n" * 500_000,
    }
    path = written(
        tmp_path,
        {"type": "user", "sessionId": "s", "uuid": "1", "message": {"content": blocks}},
        {"type": "assistant", "sessionId": "s", "uuid": "2", "message": {"content": [call]}},
        {"type": "user", "sessionId": "s", "uuid": "3", "message": {"content": [result]}},
    )
    text = json.dumps([event.data for event in read_transcript(path)])
    assert "PIXELS" not in text
    assert len(text) < 60_000


def test_every_event_of_a_transcript_can_be_compressed() -> None:
    titles = [compress(event.hook, event.data).title for path in (CLAUDE, CODEX) for event in read_transcript(path)]
    assert "Asked: Add rate limiting to the API" in titles
    assert "Bash failed: 1 failed, 2 passed" in titles
    assert "Created hello.txt" in titles
    assert "Ran git status: exit 128" in titles
    assert "Searched the web for token bucket" in titles


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
ROLES = st.sampled_from(
    ["user", "assistant", "summary", "response_item", "event_msg", "session_meta", "compacted", "message"]
)
BLOCK = st.fixed_dictionaries({"type": st.sampled_from(["text", "tool_use", "tool_result", "image", "thinking"])}, optional={"text": JUNK, "id": JUNK, "tool_use_id": JUNK, "name": JUNK, "input": JUNK, "content": JUNK, "is_error": JUNK})  # fmt: skip
MESSAGE = st.fixed_dictionaries({}, optional={"role": JUNK | ROLES, "content": JUNK | st.lists(BLOCK, max_size=3)})
PAYLOAD = st.fixed_dictionaries({}, optional={"type": st.sampled_from(["message", "function_call", "function_call_output", "local_shell_call", "custom_tool_call", "web_search_call", "user_message", "agent_message"]) | JUNK, "role": ROLES, "content": JUNK | st.lists(BLOCK, max_size=2), "call_id": JUNK, "name": JUNK, "arguments": JUNK, "output": JUNK, "input": JUNK, "action": JUNK, "message": JUNK, "id": JUNK, "cwd": JUNK})  # fmt: skip
LINE = st.fixed_dictionaries({"type": ROLES | JUNK}, optional={"sessionId": JUNK, "uuid": JUNK, "cwd": JUNK, "timestamp": JUNK, "isSidechain": JUNK, "isMeta": JUNK, "message": MESSAGE | JUNK, "payload": PAYLOAD | JUNK, "role": JUNK, "content": JUNK})  # fmt: skip


@settings(max_examples=200)
@given(st.lists(LINE, max_size=6))
def test_no_content_of_well_formed_lines_can_stop_the_reading(tmp_path: Path, lines: list[Any]) -> None:
    path = written(tmp_path, *lines)
    events = list(read_transcript(path))
    assert all(isinstance(event, TranscriptEvent) and event.at_ms > 0 and event.session_id for event in events)
    assert list(read_transcript(path)) == events


@settings(max_examples=200)
@given(st.lists(st.sampled_from(LINES) | st.binary(max_size=40), max_size=8), st.integers(0, 400))
def test_no_bytes_can_stop_the_reading(tmp_path: Path, lines: list[bytes], cut_off: int) -> None:
    path = tmp_path / "bytes.jsonl"
    whole = b"\n".join(lines)
    path.write_bytes(whole[: max(0, len(whole) - cut_off)])
    transcript = read_transcript(path, max_line_bytes=1_000)
    list(transcript)
    assert transcript.skipped <= transcript.lines


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        list(read_transcript(tmp_path / "none.jsonl"))
    with pytest.raises(NotFound):
        find_transcripts(tmp_path / "none", 5)


def test_a_folder_instead_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest):
        list(read_transcript(tmp_path))


def test_a_folder_gives_its_transcripts_sorted_and_no_more_than_asked(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "a/1.jsonl", "c.jsonl", "a/notes.txt", "a/deep/er/3.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = find_transcripts(tmp_path, 10)
    assert [str(path.relative_to(tmp_path)) for path in found] == [
        "a/1.jsonl",
        "a/deep/er/3.jsonl",
        "b/2.jsonl",
        "c.jsonl",
    ]
    assert len(find_transcripts(tmp_path, 2)) == 2
    assert find_transcripts(tmp_path / "c.jsonl", 10) == [tmp_path / "c.jsonl"]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secrets.txt").touch()
    with pytest.raises(InvalidRequest):
        find_transcripts(tmp_path / "secrets.txt", 5)


def test_links_inside_a_folder_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "private.jsonl").touch()
    (inside / "link.jsonl").symlink_to(outside / "private.jsonl")
    (inside / "folder").symlink_to(outside)
    assert find_transcripts(inside, 10) == []
