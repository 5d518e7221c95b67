"""What happened is stored once, whatever the order of hooks, pieces of the transcript, repeats and imports."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from claude_session import ROWS, SESSION, ClaudeSession, day
from hypothesis import given, settings, strategies as st
from world import World

DAY = day()
TOKEN = "ghp_" + "Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0Lz3XcV"
SAID = ["Why are carts a cent off?", "continue", "continue", "Let me look at the totals first."]
SAID += ["The totals are rounded twice.", "Done.", "Done."]
TOLD = sorted([*SAID, "toolu_1", "toolu_2", "toolu_3"])


def rows(world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.call("observations", sessionId=SESSION)["observations"]
    return found


def told(world: World) -> list[str]:
    """What each row is about, in order of the words."""
    return sorted(one["raw"].get("tool_use_id") or one["narrative"] for one in rows(world))


def in_full(world: World, session: ClaudeSession = DAY) -> dict[str, Any]:
    answer: dict[str, Any] = world.call("session_transcript", **session.piece(0, len(session.lines)))
    return answer


def test_a_transcript_alone_is_stored_whole(world: World) -> None:
    answer = in_full(world)
    assert (answer["stored"], answer["duplicates"], answer["consumedLines"]) == (ROWS, 0, len(DAY.lines))
    assert answer["consumed"] == len("".join(DAY.lines))
    assert told(world) == TOLD


def test_a_transcript_after_its_hooks_adds_what_they_did_not_tell(world: World) -> None:
    for report in DAY.reports:
        world.call("observe", **report)
    in_full(world)
    assert told(world) == TOLD


def test_hooks_after_the_transcript_add_nothing(world: World) -> None:
    in_full(world)
    for report in DAY.reports:
        assert world.call("observe", **report)["deduplicated"] is True
    assert told(world) == TOLD


def test_an_import_of_the_whole_file_afterwards_adds_nothing(tmp_path: Path) -> None:
    world = World(tmp_path / "m", import_roots=str(tmp_path))
    for report in DAY.reports:
        world.call("observe", **report)
    in_full(world)
    file = tmp_path / f"{SESSION}.jsonl"
    file.write_text("".join(DAY.lines))
    for _ in range(2):
        answer = world.call("import_jsonl", path=str(file))
        assert (answer["observations"], answer["duplicates"]) == (0, ROWS)
    assert told(world) == TOLD
    world.close()


def test_each_answer_carries_the_prompt_that_it_answers(world: World) -> None:
    in_full(world)
    answered = {one["narrative"]: one["subtitle"] for one in rows(world) if one["hookType"] == "assistant_message"}
    assert answered == {
        "Let me look at the totals first.": "Why are carts a cent off?",
        "The totals are rounded twice.": "Why are carts a cent off?",
        "Done.": "continue",
    }


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("report"), st.integers(0, len(DAY.reports) - 1), st.just(0)),
        st.tuples(st.just("piece"), st.integers(0, len(DAY.lines) - 1), st.integers(1, len(DAY.lines))),
    ),
    max_size=14,
)


@settings(max_examples=60)
@given(before=STEPS, after=STEPS)
def test_no_order_and_no_repeat_changes_what_is_stored(before: list[Any], after: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for steps in (before, [("piece", 0, len(DAY.lines))], after):
            for kind, start, length in steps:
                if kind == "report":
                    world.call("observe", **DAY.reports[start])
                else:
                    world.call("session_transcript", **DAY.piece(start, start + length))
        seen = rows(world)
        assert told(world) == TOLD
        prompts = {one["narrative"]: one["subtitle"] for one in seen if one["hookType"] == "assistant_message"}
        assert prompts["The totals are rounded twice."] == "Why are carts a cent off?"
        assert prompts["Done."] == "continue"
        world.close()


@settings(max_examples=40)
@given(
    grown=st.lists(st.integers(0, sum(map(len, DAY.lines))), max_size=6),
    killed=st.sets(st.integers(0, 6)),
)
def test_a_hook_that_follows_a_growing_file_loses_nothing(grown: list[int], killed: set[int]) -> None:
    """The file may end anywhere when the hook looks; a hook that is killed after sending sends again."""
    whole = "".join(DAY.lines)
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        lines = 0
        for turn, size in enumerate([*sorted(grown), len(whole)]):
            rest = whole[:size].splitlines(keepends=True)[lines:]
            answer = world.call(
                "session_transcript", **{**DAY.piece(0, 0), "text": "".join(rest), "firstLine": lines + 1}
            )
            if turn not in killed:
                lines += answer["consumedLines"]
        assert told(world) == TOLD
        world.close()


def test_a_call_without_its_result_is_sent_again(world: World) -> None:
    calls = [number for number, line in enumerate(DAY.lines) if '"tool_use"' in line]
    answer = world.call("session_transcript", **DAY.piece(0, calls[1] + 1))
    assert answer["consumedLines"] == calls[1]
    assert answer["consumed"] == len("".join(DAY.lines[: calls[1]]))


def test_a_call_that_was_cut_off_is_not_waited_for_once_the_user_goes_on(world: World) -> None:
    made = ClaudeSession()
    made.prompt("build it")
    made.call("toolu_1", "make")
    made.prompt("never mind")
    answer = in_full(world, made)
    assert answer["consumedLines"] == 3


def test_a_half_written_line_is_sent_again(world: World) -> None:
    body = DAY.piece(0, 2)
    answer = world.call("session_transcript", **{**body, "text": body["text"][:-5]})
    assert (answer["consumedLines"], answer["stored"]) == (1, 1)


def test_the_last_message_is_kept_when_the_file_does_not_have_it_yet(world: World) -> None:
    made = ClaudeSession()
    made.prompt("what is the limit?")
    early = {**made.piece(0, 1), "lastMessage": "The limit is 240 per minute."}
    assert world.call("session_transcript", **early)["stored"] == 2
    made.say("The limit is 240 per minute.")
    world.call("session_transcript", **{**made.piece(0, 2), "lastMessage": "The limit is 240 per minute."})
    assert told(world) == ["The limit is 240 per minute.", "what is the limit?"]


def test_codex_writes_what_is_said_twice_and_it_is_stored_once_however_it_is_cut(world: World) -> None:
    def wrap(kind: str, payload: dict[str, Any]) -> str:
        return json.dumps({"timestamp": "2026-09-21T13:33:20.500Z", "type": kind, "payload": payload}) + "\n"

    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is the cache."}]}
    lines = [
        wrap("session_meta", {"id": SESSION, "cwd": "/home/dev/proj"}),
        wrap("event_msg", {"type": "agent_message", "message": "It is the cache."}),
        wrap("response_item", said),
    ]
    for start, end in ((0, 2), (2, 3), (0, 3)):
        body = {**DAY.piece(0, 0), "firstLine": start + 1, "text": "".join(lines[start:end])}
        world.call("session_transcript", **body)
    assert told(world) == ["It is the cache."]


def test_secrets_in_a_transcript_are_not_stored(world: World) -> None:
    made = ClaudeSession()
    made.prompt(f"the key is {TOKEN}")
    in_full(world, made)
    assert TOKEN not in json.dumps(rows(world))


def test_what_memory_itself_said_is_not_remembered(world: World) -> None:
    made = ClaudeSession()
    block = {"type": "tool_use", "id": "t1", "name": "mcp__holdfast__memory_recall", "input": {"query": "x"}}
    made.line("assistant", {"role": "assistant", "content": [block]})
    made.line("user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "old"}]})
    assert in_full(world, made)["stored"] == 0


@pytest.mark.parametrize("text", ["", "\n\n", "no json\n", '{"a": 1}\n', "\x00\n", '{"type": "user"'])
def test_text_that_is_no_transcript_stores_nothing(world: World, text: str) -> None:
    answer = world.call("session_transcript", **{**DAY.piece(0, 0), "text": text})
    assert (answer["stored"], answer["consumedLines"]) == (0, text.count("\n"))


def test_a_long_answer_is_kept_whole(world: World) -> None:
    made = ClaudeSession()
    made.prompt("explain it all")
    long = "\n".join(f"Point {number}: it is so because of reason {number}." for number in range(1_000))
    made.say(long)
    in_full(world, made)
    (answer,) = [one for one in rows(world) if one["hookType"] == "assistant_message"]
    assert answer["narrative"] == long
    assert len(answer["title"]) <= 80


def cursor(*said: tuple[str, str]) -> str:
    return "".join(
        json.dumps({"role": role, "message": {"content": [{"type": "text", "text": text}]}}) + "\n"
        for role, text in said
    )


def test_lines_without_times_are_matched_with_what_the_hooks_told_long_before(world: World) -> None:
    for text in ("fix the bug", "continue"):
        told_by_hook = {"hookType": "prompt_submit", "sessionId": SESSION, "data": {"prompt": text}}
        world.call("observe", **told_by_hook, timestamp=world.clock.now, project="proj", cwd="/home/dev/proj")
        world.clock.now += 3_600_000
    lines = cursor(
        ("user", "<user_query>\nfix the bug\n</user_query>"),
        ("assistant", "Done."),
        ("user", "<user_query>\ncontinue\n</user_query>"),
        ("assistant", "Done."),
    )
    for _ in range(2):
        world.call("session_transcript", **{**DAY.piece(0, 0), "text": lines})
    assert told(world) == ["Done.", "Done.", "continue", "fix the bug"]


def test_the_older_codex_format_keeps_what_was_said_twice(world: World) -> None:
    head = {"id": SESSION, "timestamp": "2026-05-07T18:24:21.123Z", "instructions": None}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "continue"}]}
    text = "".join(json.dumps(line) + "\n" for line in (head, said, said))
    for _ in range(2):
        world.call("session_transcript", **{**DAY.piece(0, 0), "text": text})
    assert told(world) == ["continue", "continue"]
