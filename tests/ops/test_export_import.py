"""Export and import: nothing is left behind, nothing is taken twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from world import DAY, World

from holdfast.core.errors import InvalidRequest

pytestmark = pytest.mark.quick


def export(world: World, **page: Any) -> dict[str, Any]:
    stream = world.call("export", **page)
    document: dict[str, Any] = orjson.loads(b"".join(stream.pieces))
    return document


def fill(world: World) -> None:
    world.call("session_start", sessionId="s1", project="proj", cwd="/w", agentId="a1")
    for number in range(5):
        world.clock.now += 1000
        world.observe(tool_name="Bash", tool_input={"command": f"make {number}"}, tool_output=f"done {number}")
    first = world.call("remember", content="The cache is warmed by a nightly job at three", project="proj")["memory"]
    world.clock.now += DAY
    world.call("evolve", memoryId=first["id"], newContent="The cache is warmed by a nightly job at four")
    world.call("remember", content="数据库的连接池", ttlDays=3)
    world.call("lesson_save", content="Warm the cache before the load test", tags=["cache"])
    world.call("slot_replace", label="persona", content="careful")
    world.call("slot_create", label="own", content="mine", scope="project", project="proj")
    world.call("action_create", title="write docs")
    world.call("relate", sourceId=first["id"], targetId="s1", type="from")
    world.call("session_commit", sha="8ca0587300740461adfdd0da05740468c6d2fa1a", sessionId="s1", repo="r", message="m")
    world.call("summarize", sessionId="s1")
    world.call("consolidate")
    world.call("second_brain_write", file="a.md", content="page")


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "copy", chance=1_000_000)
    yield made
    made.close()


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    lists = {name: value for name, value in document.items() if name not in ("exportedAt", "audit")}
    return {
        name: sorted(value, key=lambda one: orjson.dumps(one)) if isinstance(value, list) else value
        for name, value in lists.items()
    }


def test_an_export_holds_every_kind_of_record(world: World) -> None:
    fill(world)
    document = export(world)
    for name in ("sessions", "memories", "lessons", "slots", "actions", "relations", "commits", "summaries", "audit"):
        assert document[name], name
    assert len(document["observations"]["s1"]) == 5
    assert [one["isLatest"] for one in document["memories"]] == [False, True, True]


def test_importing_an_export_reproduces_the_memory(world: World, copy: World) -> None:
    fill(world)
    document = export(world)
    answer = copy.call("import_", **document)
    assert answer["success"], answer["refused"]
    again = export(copy)
    assert comparable(again) == comparable(document)
    entries = [one for one in again["audit"] if one["operation"] != "import"]
    assert entries == document["audit"]
    assert copy.found("cache nightly") == world.found("cache nightly")
    assert copy.found("连接池") == world.found("连接池")
    assert copy.engine.store.verify() == []


def test_a_repeated_import_changes_nothing(world: World, copy: World) -> None:
    fill(world)
    document = export(world)
    copy.call("import_", exportData=document)
    before = comparable(export(copy))
    answer = copy.call("import_", exportData=document)
    assert sum(answer["imported"].values()) == 0
    assert comparable(export(copy)) == before


def test_an_import_can_replace_what_is_there(world: World) -> None:
    memory = world.call("remember", content="an old wording of this fact")["memory"]
    changed = {**memory, "content": "a wording from the backup"}
    world.call("import_", exportData={"memories": [changed]})
    assert world.call("memory", id=memory["id"])["memory"]["content"] == "an old wording of this fact"
    world.call("import_", exportData={"memories": [changed]}, strategy="replace")
    assert world.found("backup wording") == [memory["id"]]


def test_an_export_comes_in_pages_of_sessions(world: World) -> None:
    for number in range(5):
        world.call("session_start", sessionId=f"s{number}", project="p", cwd="/")
    first, second = export(world, maxSessions=3), export(world, maxSessions=3, offset=3)
    assert [one["id"] for one in first["sessions"] + second["sessions"]] == [f"s{number}" for number in range(5)]
    assert first["pagination"] == {"offset": 0, "maxSessions": 3, "total": 5, "hasMore": True}
    assert second["pagination"]["hasMore"] is False


ORIGINAL: dict[str, Any] = {
    "version": "0.9.21",
    "exportedAt": "2026-06-01T00:00:00Z",
    "sessions": [
        {"id": "old-1", "project": "proj", "cwd": "/w", "startedAt": "2026-05-01T10:00:00Z", "status": "completed",
         "observationCount": 1, "endedAt": "2026-05-01T11:00:00Z"},
    ],
    "observations": {
        "old-1": [
            {"id": "obs_1", "sessionId": "old-1", "timestamp": "2026-05-01T10:05:00Z", "type": "command_run",
             "title": "Bash", "subtitle": "{}", "facts": [], "narrative": "ran the tests", "concepts": [], "files": [],
             "importance": 5, "confidence": 0.3, "hookType": "post_tool_use", "toolName": "Bash",
             "toolInput": {"command": "pytest"}, "raw": "{'tool_name': 'Bash'}"},
        ],
    },
    "memories": [
        {"id": "mem_1", "createdAt": "2026-05-01T10:10:00Z", "updatedAt": "2026-05-01T10:10:00Z", "type": "fact",
         "title": "t", "content": "the queue is drained by worker one", "concepts": ["queue"], "files": [],
         "sessionIds": ["old-1"], "strength": 7, "version": 1, "parentId": None, "supersedes": [], "isLatest": True},
        {"id": "mem_2", "createdAt": "2026-05-02T10:10:00Z", "updatedAt": "2026-05-02T10:10:00Z", "type": "fact",
         "title": "t", "content": "the queue is drained by worker two", "concepts": [], "files": [], "sessionIds": [],
         "strength": 7, "version": 2, "parentId": "mem_1", "supersedes": ["mem_1"], "isLatest": True},
        {"id": "mem_3", "content": ""},
        {"content": "no id"},
        "not an object",
    ],
    "summaries": [{"sessionId": "old-1", "project": "proj", "createdAt": "2026-05-01T11:00:00Z", "title": "Tests",
                   "narrative": "Ran the tests.", "keyDecisions": [], "filesModified": [], "concepts": [],
                   "observationCount": 1}],
    "lessons": [{"id": "lsn_1", "content": "drain the queue first", "confidence": 0.7, "reinforcements": 2,
                 "createdAt": "2026-05-01T10:00:00Z", "updatedAt": "2026-05-01T10:00:00Z", "decayRate": 0.05}],
    "actions": [{"id": "act_1", "title": "tidy", "status": "pending", "priority": 3, "tags": [],
                 "createdAt": "2026-05-01T10:00:00Z", "updatedAt": "2026-05-01T10:00:00Z"}],
}  # fmt: skip


def test_an_export_of_the_earlier_system_is_taken_in(world: World) -> None:
    answer = world.call("import_", **ORIGINAL)
    assert answer["imported"]["memories"] == 2
    assert answer["refusedCount"] == 3
    assert not answer["success"]
    versions = world.call("memory", id="mem_1")["versions"]
    assert [(one["id"], one["isLatest"]) for one in versions] == [("mem_2", True), ("mem_1", False)]
    assert versions[1]["validTo"] == "2026-05-02T10:10:00.000Z"
    assert world.found("queue drained worker")[0] == "mem_2"
    assert world.call("observations", sessionId="old-1")["observations"][0]["project"] == "proj"
    assert world.call("lessons")["lessons"][0]["confidence"] == 0.7
    assert world.call("sessions")["sessions"][0]["summary"] == "Ran the tests."
    assert world.engine.store.verify() == []


@pytest.mark.parametrize("document", [{}, {"unrelated": 1}, {"exportData": {}}])
def test_a_document_that_is_no_export_is_refused(world: World, document: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        world.call("import_", **document)


def test_imported_text_is_redacted(world: World) -> None:
    secret = "AKIA" + "QZ7TLM2KXWV4BNDR"
    memory = {"id": "mem_9", "content": f"aws_access_key_id = {secret}", "createdAt": "2026-05-01T10:00:00Z"}
    world.call("import_", memories=[memory])
    assert secret not in str(export(world))


def test_parents_in_a_circle_do_not_hang_an_import(world: World) -> None:
    def one(id: str, parent: str) -> dict[str, Any]:
        return {"id": id, "content": f"content of {id}", "parentId": parent, "createdAt": "2026-05-01T10:00:00Z"}

    world.call("import_", memories=[one("a", "b"), one("b", "a"), one("c", "c")])
    assert world.call("memories", latest=False)["total"] == 3
