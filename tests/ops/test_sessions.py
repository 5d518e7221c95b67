"""What sessions, observations and commits promise."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from world import DAY, World

from holdfast.core.errors import LimitReached, NotFound

pytestmark = pytest.mark.quick


def start(world: World, session: str = "s1", project: str = "proj") -> dict[str, object]:
    answer: dict[str, object] = world.call("session_start", sessionId=session, project=project, cwd="/w")["session"]
    return answer


def test_starting_a_session_never_ends_another(world: World) -> None:
    start(world, "s1")
    start(world, "s2")
    assert [one["status"] for one in world.call("sessions")["sessions"]] == ["active", "active"]


def test_a_repeated_start_resumes(world: World) -> None:
    first = start(world)
    world.observe(tool_name="Bash", tool_input={"command": "ls"})
    world.call("session_end", sessionId="s1")
    world.clock.now += DAY
    again = start(world)
    assert again["observationCount"] == 1
    assert again["startedAt"] == first["startedAt"]
    assert again["status"] == "active"
    assert again["endedAt"] is None


def test_an_event_brings_an_ended_session_back_to_life(world: World) -> None:
    start(world)
    world.call("session_end", sessionId="s1")
    assert world.call("sessions")["sessions"][0]["status"] == "completed"
    world.observe(prompt="go on", hook="prompt_submit")
    assert world.call("sessions")["sessions"][0]["status"] == "active"


def test_ending_can_be_repeated_and_an_unknown_session_is_not_invented(world: World) -> None:
    start(world)
    assert world.call("session_end", sessionId="s1") == {"success": True, "known": True}
    assert world.call("session_end", sessionId="s1") == {"success": True, "known": True}
    assert world.call("session_end", sessionId="never") == {"success": True, "known": False}
    assert world.call("sessions")["total"] == 1


def test_counts_are_right_under_forty_parallel_writers(world: World) -> None:
    def write(number: int) -> None:
        for step in range(5):
            world.observe(tool_name="Bash", tool_input={"command": f"echo {number} {step}"})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert world.call("sessions")["sessions"][0]["observationCount"] == 200
    assert world.call("observations", sessionId="s1")["total"] == 200


def test_the_same_event_within_five_minutes_is_answered_as_the_first(world: World) -> None:
    first = world.observe(tool_name="Bash", tool_input={"command": "make"})
    world.clock.now += 60_000
    again = world.observe(tool_name="Bash", tool_input={"command": "make"})
    assert again == {**first, "deduplicated": True}
    assert world.call("sessions")["sessions"][0]["observationCount"] == 1
    world.clock.now += 300_000
    assert "deduplicated" not in world.observe(tool_name="Bash", tool_input={"command": "make"})


def test_a_session_takes_only_so_many_observations(tmp_path: Path) -> None:
    world = World(tmp_path / "m", max_obs_per_session=3)
    for number in range(3):
        world.observe(prompt=f"prompt {number}", hook="prompt_submit")
    with pytest.raises(LimitReached, match=r"Session observation limit reached \(3\)"):
        world.observe(prompt="one too many", hook="prompt_submit")
    world.observe("s2", prompt="another session goes on", hook="prompt_submit")
    world.close()


def test_an_observation_is_really_compressed(world: World) -> None:
    world.observe(
        tool_name="Bash",
        tool_input={"command": "pytest -q tests/test_auth.py"},
        tool_output={"stdout": "2 failed, 5 passed", "exit_code": 1},
    )
    seen = world.call("observations", sessionId="s1")["observations"][0]
    assert "pytest" in seen["title"]
    assert seen["narrative"]
    assert any("2 failed" in fact for fact in seen["facts"])
    assert "tests/test_auth.py" in seen["files"]
    assert seen["concepts"]
    assert seen["type"] == "command_run"
    assert seen["toolName"] == "Bash"


def test_forgetting_a_session_takes_everything_of_it(world: World) -> None:
    start(world)
    world.observe(prompt="the pineapple incident", hook="prompt_submit")
    world.call("summarize", sessionId="s1")
    answer = world.call("forget", sessionId="s1")
    assert answer["counts"] == {"observations": 1, "insights": 1, "summaries": 1, "sessions": 1}
    assert answer["deleted"] == 4
    assert "pineapple" not in str(world.call("context", project="proj"))
    assert world.found("pineapple") == []


def test_forgetting_some_observations_drops_the_summary_that_quotes_them(world: World) -> None:
    kept = world.observe(prompt="keep this prompt", hook="prompt_submit")["observationId"]
    gone = world.observe(prompt="the pineapple incident", hook="prompt_submit")["observationId"]
    world.call("summarize", sessionId="s1")
    world.call("forget", sessionId="s1", observationIds=f"{gone},obs_of_nobody")  # one of them is there
    assert world.call("sessions")["sessions"][0]["observationCount"] == 1
    assert [one["id"] for one in world.call("observations", sessionId="s1")["observations"]] == [kept]
    assert "pineapple" not in str(world.call("insights"))


def test_an_observation_is_forgotten_by_its_id_alone(world: World) -> None:
    kept = world.observe(prompt="keep this prompt", hook="prompt_submit")["observationId"]
    gone = world.observe(prompt="the pineapple incident", hook="prompt_submit")["observationId"]
    assert world.call("forget", memoryId=gone)["counts"]["observations"] == 1
    assert [one["id"] for one in world.call("observations", sessionId="s1")["observations"]] == [kept]


def test_a_session_of_a_few_observations_is_forgotten_without_a_snapshot(world: World) -> None:
    world.observe(prompt="the pineapple incident", hook="prompt_submit")
    answer = world.call("forget", sessionId="s1")
    assert world.call("snapshot_list")["count"] == 0
    assert "snapshots" not in answer


def test_forgetting_names_the_snapshots_that_still_hold_it(world: World) -> None:
    before = world.call("snapshot_create")["id"]
    world.clock.now += 60_000
    memory = world.call("remember", content="The pineapple is in the cellar.")["memory"]["id"]
    holds = world.call("snapshot_create")["id"]
    answer = world.call("forget", memoryId=memory)
    assert answer["snapshots"] == [holds]
    assert answer["hint"].endswith(f"holdfast snapshot delete {holds}")
    assert "create a new one" not in answer["hint"]
    world.call("snapshot_delete", id=holds)
    assert [one["id"] for one in world.call("snapshot_list")["snapshots"]] == [before]


def test_the_only_snapshot_is_named_with_the_way_to_be_rid_of_it(world: World) -> None:
    for number in range(10):
        world.observe(prompt=f"the pineapple incident {number}", hook="prompt_submit")
    answer = world.call("forget", sessionId="s1")
    assert [one["createdBy"] for one in world.call("snapshot_list")["snapshots"]] == ["before-forget"]
    assert "create a new one first with holdfast snapshot create" in answer["hint"]
    world.call("snapshot_create")
    world.call("snapshot_delete", id=answer["snapshots"][0])


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"memoryId": "mem_of_nobody"}, "forget: no memory or observation has that id"),
        ({"sessionId": "s9"}, "forget: no session has that id"),
        ({"sessionId": "s1", "observationIds": ["obs_of_nobody"]}, "forget: no observation has that id"),
        ({"sessionId": "s9", "observationIds": ["obs_of_nobody"]}, "forget: no observation has that id"),
    ],
)
def test_forgetting_what_is_not_there_is_not_found_and_makes_no_snapshot(
    world: World, named: dict[str, Any], message: str
) -> None:
    world.observe(prompt="keep this prompt", hook="prompt_submit")
    with pytest.raises(NotFound) as refused:
        world.call("forget", **named)
    assert refused.value.message == message
    assert world.call("snapshot_list")["count"] == 0
    assert [one["operation"] for one in world.call("audit")["entries"] if "forget" in one["operation"]] == []


def test_deleting_several_of_which_none_is_there_says_how_many_were(world: World) -> None:
    """The agentmemory shim keeps a copy of its own as soon as this path fails."""
    assert world.call("governance_delete", memoryIds=["mem_of_nobody"])["deleted"] == 0


def test_a_commit_is_linked_to_all_its_sessions(world: World) -> None:
    start(world, "s1")
    start(world, "s2")
    sha = "8ca0587300740461adfdd0da05740468c6d2fa1a"
    world.call("session_commit", sha=sha, sessionId="s1", branch="main", message="add a", files=["a.py"])
    commit = world.call("session_commit", sha=sha, sessionId="s2")["commit"]
    assert commit["sessionIds"] == ["s1", "s2"]
    assert commit["message"] == "add a"
    assert commit["shortSha"] == "8ca0587"
    found = world.call("session_by_commit", sha="8ca05873")
    assert [one["id"] for one in found["sessions"]] == ["s1", "s2"]
    assert world.call("commits", branch="main")["commits"] == [commit]
    with pytest.raises(NotFound):
        world.call("session_by_commit", sha="ffffffff")


def test_the_timeline_shows_what_led_to_an_event_and_what_followed(world: World) -> None:
    ids = []
    for number in range(7):
        world.clock.now += 1000
        ids.append(world.observe(prompt=f"step {number}", hook="prompt_submit")["observationId"])
    window = world.call("timeline", anchor=ids[3], before=2, after=1)
    assert [one["id"] for one in window["observations"]] == ids[1:5]
    assert window["anchorIndex"] == 2
    with pytest.raises(NotFound):
        world.call("timeline", anchor="obs_of_nobody")


def test_a_session_can_be_replayed(world: World) -> None:
    world.observe(prompt="first", hook="prompt_submit")
    world.clock.now += 5000
    world.observe(tool_name="Bash", tool_input={"command": "ls"}, tool_output="a b")
    loaded = world.call("replay_load", sessionId="s1")["timeline"]
    assert loaded["eventCount"] == 2
    assert loaded["totalDurationMs"] == 5000
    assert [event["kind"] for event in loaded["events"]] == ["prompt", "tool"]
    assert loaded["events"][1]["toolInput"] == {"command": "ls"}


def test_old_unimportant_observations_are_swept_and_important_ones_stay(world: World) -> None:
    world.observe(tool_name="Read", tool_input={"file_path": "a.txt"})
    world.observe(prompt="we decided to never use tabs because of the linter", hook="prompt_submit")
    seen = {one["title"]: one["importance"] for one in world.call("observations", sessionId="s1")["observations"]}
    world.clock.now += 400 * DAY
    world.call("auto_forget")
    left = world.call("observations", sessionId="s1")["observations"]
    assert {one["title"] for one in left} == {title for title, weight in seen.items() if weight > 2}
    assert world.call("sessions")["sessions"][0]["observationCount"] == len(left)
