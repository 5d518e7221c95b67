"""What remember, evolve and forget promise."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings as profile, strategies as st
from world import DAY, NOON, World

from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.core.model import Caller

pytestmark = pytest.mark.quick

LONG = "The deploy script reads its secrets from the vault before it starts the blue green switch"
NEARLY = "The deploy script reads all its secrets from the vault before it starts the blue green switch"
OTHER = "Postgres connections are pooled by pgbouncer with at most twenty clients per node"


def kept(world: World, content: str, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = world.call("remember", content=content, **more)
    return answer


def test_a_memory_is_found_at_once_and_shown_whole(world: World) -> None:
    memory = kept(world, LONG, project="proj", concepts="deploy, vault", files=["deploy.sh"], type="architecture")[
        "memory"
    ]
    assert memory["concepts"] == ["deploy", "vault"]
    assert memory["strength"] == 7
    assert memory["isLatest"] is True
    assert memory["version"] == 1
    assert world.found("vault deploy") == [memory["id"]]
    assert world.call("memory", id=memory["id"])["memory"] == memory


def test_nearly_the_same_again_makes_a_new_version(world: World) -> None:
    first = kept(world, LONG, project="proj")["memory"]
    world.clock.now += DAY
    second = kept(world, NEARLY, project="proj")["memory"]
    assert second["version"] == 2
    assert second["parentId"] == first["id"]
    assert second["supersedes"] == [first["id"]]
    assert world.found("deploy script vault") == [second["id"]]
    versions = world.call("memory", id=first["id"])["versions"]
    assert [one["id"] for one in versions] == [second["id"], first["id"]]
    assert [one["isLatest"] for one in versions] == [True, False]


def test_what_was_known_at_a_moment_is_a_query(world: World) -> None:
    first = kept(world, LONG, project="proj")["memory"]
    world.clock.now += DAY
    second = kept(world, NEARLY, project="proj")["memory"]
    before, after = NOON + DAY // 2, NOON + 2 * DAY
    assert world.found("deploy script vault", asOf=before) == [first["id"]]
    assert world.found("deploy script vault", asOf=after) == [second["id"]]
    assert [one["id"] for one in world.call("memories", asOf=before)["memories"]] == [first["id"]]
    assert world.found("deploy script vault", asOf=NOON - 1) == []


@pytest.mark.parametrize("bounds", [{"project": "other"}, {"agentId": "b"}, {}])
def test_another_project_or_agent_keeps_its_own_memory(world: World, bounds: dict[str, str]) -> None:
    first = kept(world, LONG, project="proj", agentId="a")["memory"]
    second = kept(world, NEARLY, **{"project": "proj", "agentId": "a", **bounds} if bounds else {})["memory"]
    assert second["version"] == 1
    assert second["rootId"] != first["rootId"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the code of the blue bicycle shed is 4711", "the code of the blue bicycle shed is 4712"),
        ("the door of the blue bicycle shed is locked", "the door of the blue bicycle shed is not locked"),
        ("the blue bicycle in the shed belongs to Anna", "the blue bicycle in the shed belongs to Ben"),
        ("蓝色自行车棚的密码是四七一一", "蓝色自行车棚的密码是四七一二"),
        ("the blue bicycle in the shed belongs to anna", "the blue bicycle in the shed belongs to ben"),
        ("the door of the blue bicycle shed is locked", "the door of the blue bicycle shed isnt locked"),
    ],
)
def test_what_differs_in_a_number_a_name_or_a_denial_replaces_nothing(world: World, old: str, new: str) -> None:
    first = kept(world, old)["memory"]
    second = kept(world, new)

    assert second["memory"]["version"] == 1
    assert [one["id"] for one in second["similarTo"]] == [first["id"]]
    assert world.call("memories")["total"] == 2


def test_short_texts_are_versions_only_when_identical(world: World) -> None:
    kept(world, "use tabs")
    assert kept(world, "use tabs now")["memory"]["version"] == 1
    world.clock.now += DAY
    assert kept(world, "use tabs")["memory"]["version"] == 2


def test_dated_statements_of_two_sessions_are_two_statements(world: World) -> None:
    first = kept(world, LONG, sessionId="s1", createdAt="2026-01-01T10:00:00Z")["memory"]
    second = kept(world, LONG, sessionId="s2", createdAt="2026-02-01T10:00:00Z")["memory"]
    assert second["version"] == 1
    assert {first["id"], second["id"]} == {one["id"] for one in world.call("memories")["memories"]}
    hits = world.call("search", query="deploy script")["results"]
    assert [(hit["id"], hit["also"]) for hit in hits] == [(second["id"], [first["id"]])]  # shown once, as a group
    assert first["createdAt"] == "2026-01-01T10:00:00.000Z"
    again = kept(world, NEARLY, sessionId="s2", createdAt="2026-02-01T11:00:00Z")["memory"]
    assert again["version"] == 2


def test_similar_memories_are_named_but_not_replaced(world: World) -> None:
    first = kept(world, "one two three four five six seven eight nine ten")["memory"]
    answer = kept(world, "one two three four five six seven alpha beta gamma delta")
    assert answer["memory"]["version"] == 1
    assert [one["id"] for one in answer["similarTo"]] == [first["id"]]
    assert 0.4 < answer["similarTo"][0]["similarity"] <= 0.7


def test_the_same_request_within_the_window_gets_the_first_answer(world: World) -> None:
    first = kept(world, LONG)
    again = kept(world, LONG)
    assert again["deduplicated"] is True
    assert again["memory"] == first["memory"]
    world.clock.now += 301_000
    assert kept(world, LONG)["memory"]["version"] == 2


def test_evolving_an_old_version_never_leaves_two_latest(world: World) -> None:
    first = kept(world, LONG)["memory"]
    second = world.call("evolve", memoryId=first["id"], newContent=OTHER)["memory"]
    third = world.call("evolve", memoryId=first["id"], newContent="A third wording of the very same thing")["memory"]
    assert third["parentId"] == second["id"]
    latest = [one["id"] for one in world.call("memory", id=first["id"])["versions"] if one["isLatest"]]
    assert latest == [third["id"]]
    assert world.found("pgbouncer pooled") == []


def test_parallel_evolutions_leave_one_latest(world: World) -> None:
    first = kept(world, LONG)["memory"]

    def evolve(number: int) -> None:
        world.call("evolve", memoryId=first["id"], newContent=f"wording number {number} of this memory")

    threads = [threading.Thread(target=evolve, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    versions = world.call("memory", id=first["id"])["versions"]
    assert [one["version"] for one in versions] == list(range(21, 0, -1))
    assert sum(one["isLatest"] for one in versions) == 1


def test_forgetting_takes_the_whole_line_and_counts_truly(world: World) -> None:
    first = kept(world, LONG)["memory"]
    second = world.call("evolve", memoryId=first["id"], newContent=NEARLY)["memory"]
    world.call("relate", sourceId=second["id"], targetId="x", type="supports")
    answer = world.call("forget", memoryId=second["id"])
    assert answer["deleted"] == 3
    assert answer["counts"] == {"memories": 2, "relations": 1}
    assert world.found("deploy script vault") == []
    assert world.call("memories", latest=False)["total"] == 0
    with pytest.raises(NotFound):
        world.call("forget", memoryId=second["id"])
    assert LONG not in str(world.call("context", project=""))


def test_forgetting_an_old_version_keeps_the_latest(world: World) -> None:
    first = kept(world, LONG)["memory"]
    second = world.call("evolve", memoryId=first["id"], newContent=NEARLY)["memory"]
    assert world.call("forget", memoryId=first["id"])["deleted"] == 1
    assert world.found("deploy script vault") == [second["id"]]


def test_a_memory_past_its_time_to_live_is_forgotten(world: World) -> None:
    short = kept(world, LONG, ttlDays=1)["memory"]
    kept(world, OTHER)
    world.clock.now += 2 * DAY
    planned = world.call("auto_forget", dryRun=True)
    assert planned["evictedMemories"] == [short["id"]]
    assert len(world.found("deploy script")) == 1
    assert world.call("auto_forget")["evicted"] == 1
    assert world.found("deploy script") == []
    assert world.found("pgbouncer") != []


def test_a_batch_answers_item_by_item(world: World) -> None:
    items = [{"content": LONG}, {"content": ""}, {"nothing": 1}, {"content": OTHER}]
    answer = world.call("remember_batch", memories=items)
    assert [one["success"] for one in answer["results"]] == [True, False, False, True]
    assert answer["results"][1]["code"] == "invalid"
    assert (answer["saved"], answer["failed"]) == (2, 2)


@pytest.mark.parametrize("content", ["", "   ", "\n\t"])
def test_empty_content_is_refused(world: World, content: str) -> None:
    with pytest.raises(InvalidRequest, match="content"):
        kept(world, content)


def test_missing_memories_are_not_found(world: World) -> None:
    with pytest.raises(NotFound):
        world.call("memory", id="mem_nothing")
    with pytest.raises(NotFound):
        world.call("evolve", memoryId="mem_nothing", newContent="x")


def test_every_write_is_in_the_audit_log_without_its_text(world: World) -> None:
    memory = kept(world, LONG)["memory"]
    world.call("evolve", memoryId=memory["id"], newContent=OTHER)
    world.call("forget", memoryId=memory["id"])
    entries = world.call("audit")["entries"]
    assert [one["operation"] for one in entries] == ["forget", "evolve", "remember"]
    assert "vault" not in str(entries)
    assert entries[2]["targetIds"] == [memory["id"]]


def test_secrets_never_reach_the_store(tmp_path: Path) -> None:
    secret = "ghp_" + hashlib.sha512(b"a made-up token").hexdigest()[:36]
    world = World(tmp_path / "m")
    answer = kept(
        world, f"the token is {secret} for the CI of this repository", concepts=[secret], project=f"p {secret}"
    )
    assert secret not in str(answer)
    assert answer["redacted"]
    assert world.call("audit")["entries"][0]["details"]["redacted"] == answer["redacted"]
    world.close()
    for file in (tmp_path / "m").rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes()


def test_cjk_and_code_names_are_found_by_part(world: World) -> None:
    chinese = kept(world, "数据库连接池的大小是二十")["memory"]["id"]
    camel = kept(world, "call getUserName before render_page runs")["memory"]["id"]
    assert world.found("连接池") == [chinese]
    assert world.found("user name") == [camel]
    assert world.found("getUserName") == [camel]
    assert world.found("render") == [camel]


@given(st.text(max_size=300))
@profile(max_examples=60)
def test_any_text_that_can_be_stored_is_kept_as_it_is(shared_world: World, content: str) -> None:
    try:
        memory = kept(shared_world, content)["memory"]
    except InvalidRequest:
        assert not content.strip() or any(char == "\0" or "\ud800" <= char <= "\udfff" for char in content)
        return
    assert shared_world.call("memory", id=memory["id"])["memory"]["content"] == memory["content"]


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("shared") / "m")


def test_isolated_agents_see_only_their_own(tmp_path: Path) -> None:
    world = World(tmp_path / "m", agent_scope="isolated")
    mine, yours = Caller(agent="a"), Caller(agent="b")
    memory = world.call("remember", mine, content=LONG)["memory"]
    assert world.found("deploy", mine) == [memory["id"]]
    assert world.found("deploy", yours) == []
    assert world.call("memories", yours)["total"] == 0
    with pytest.raises(NotFound):
        world.call("memory", yours, id=memory["id"])
    with pytest.raises(NotFound):
        world.call("forget", yours, memoryId=memory["id"])
    with pytest.raises(InvalidRequest, match="agentId"):
        world.call("search", query="deploy")
    world.close()


def test_pages_of_lessons_and_of_the_audit_log_say_how_many_there_are(world: World) -> None:
    for number in range(5):
        world.call("lesson_save", content=f"Lesson number {number}", confidence=number / 10)

    lessons = world.call("lessons", limit=2, offset=2, minConfidence=0.1)
    log = world.call("audit", limit=2)

    assert (len(lessons["lessons"]), lessons["total"]) == (2, 4)
    assert (len(log["entries"]), log["total"]) == (2, 5)
    assert world.call("lesson_search", query="lesson number", minConfidence=0)["total"] == 5
