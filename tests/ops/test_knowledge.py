"""What lessons, slots, actions and learning promise."""

from __future__ import annotations

from typing import Any

import pytest
from world import DAY, World

from holdfast.core.errors import Conflict, InvalidRequest, LimitReached, NotFound
from holdfast.recall.context.build import FILES, IN_FORCE, PAST, RULES

pytestmark = pytest.mark.engines

WEEK = 7 * DAY


def test_a_lesson_said_again_is_strengthened(world: World) -> None:
    first = world.call("lesson_save", content="Use uv for installs", project="proj")
    assert first["action"] == "created"
    assert first["lesson"]["confidence"] == 0.5
    again = world.call("lesson_save", content="  use UV for installs ", project="proj")
    assert again["action"] == "strengthened"
    assert again["lesson"]["id"] == first["lesson"]["id"]
    assert again["lesson"]["confidence"] == pytest.approx(0.55)
    stronger = world.call("lesson_strengthen", lessonId=first["lesson"]["id"])["lesson"]
    assert stronger["confidence"] == pytest.approx(0.595)
    assert stronger["reinforcements"] == 2


def test_lessons_fade_by_the_week_and_are_put_away(world: World) -> None:
    weak = world.call("lesson_save", content="Restart it twice", confidence=0.2)["lesson"]
    strong = world.call("lesson_save", content="Read the log first", confidence=0.9)["lesson"]
    world.clock.now += 2 * WEEK + DAY
    assert world.call("lesson_decay")["changed"] == 2
    assert world.call("lesson_decay")["changed"] == 0
    left = world.call("lessons")["lessons"]
    assert [one["id"] for one in left] == [strong["id"]]
    assert left[0]["confidence"] == pytest.approx(0.8)
    back = world.call("lesson_save", content="Restart it twice")
    assert back["action"] == "created"
    assert back["lesson"]["id"] == weak["id"]


def test_lessons_are_found_by_their_words_and_sureness(world: World) -> None:
    world.call("lesson_save", content="Never mock the database", confidence=0.4)
    sure = world.call("lesson_save", content="Mock the clock, not the database", confidence=0.9)["lesson"]
    world.call("lesson_save", content="Databases of another project", project="other", confidence=0.9)
    found = world.call("lesson_search", query="mock database", project="proj")["lessons"]
    assert found[0]["id"] == sure["id"]
    assert len(found) == 2
    assert found[0]["score"] > found[1]["score"]


def test_a_deleted_lesson_is_gone_from_lists_and_context(world: World) -> None:
    lesson = world.call("lesson_save", content="Prefer pathlib")["lesson"]
    world.call("lesson_delete", lessonId=lesson["id"])
    assert world.call("lessons")["lessons"] == []
    assert "pathlib" not in world.call("context", project="proj")["context"]
    with pytest.raises(NotFound):
        world.call("lesson_strengthen", lessonId=lesson["id"])


def test_standard_slots_are_readable_from_the_start(world: World) -> None:
    labels = [slot["label"] for slot in world.call("slots")["slots"]]
    assert {"persona", "user_preferences", "pending_items"} <= set(labels)
    persona = world.call("slot", label="persona")
    assert persona["slot"]["content"] == ""
    assert persona["slot"]["description"]
    assert persona["scope"] == "global"


def test_a_slot_is_written_appended_and_limited(world: World) -> None:
    world.call("slot_create", label="notes", content="one", sizeLimit=10)
    assert world.call("slot_append", label="notes", text="two")["slot"]["content"] == "one\ntwo"
    with pytest.raises(LimitReached) as refused:
        world.call("slot_append", label="notes", text="three")
    assert refused.value.to_dict()["sizeLimit"] == 10
    assert world.call("slot_replace", label="notes", content="")["size"] == 0
    with pytest.raises(Conflict):
        world.call("slot_create", label="notes")
    world.call("slot_delete", label="notes")
    with pytest.raises(NotFound):
        world.call("slot", label="notes")


@pytest.mark.parametrize("label", ["", "A", "1a", "a b", "a/b", "a" * 65, "../x"])
def test_labels_are_plain_words(world: World, label: str) -> None:
    with pytest.raises(InvalidRequest):
        world.call("slot_create", label=label)


def test_a_project_slot_hides_the_global_one_in_its_project(world: World) -> None:
    world.call("slot_create", label="style", content="tabs", scope="global")
    world.call("slot_create", label="style", content="spaces", scope="project", project="proj")
    assert world.call("slot", label="style", project="proj")["slot"]["content"] == "spaces"
    assert world.call("slot", label="style", project="other")["slot"]["content"] == "tabs"
    assert "spaces" in world.call("context", project="proj")["context"]
    assert "tabs" in world.call("context", project="other")["context"]


def test_the_frontier_is_ordered_by_priority_then_age(world: World) -> None:
    low = world.call("action_create", title="low", priority=1)["action"]["id"]
    old = world.call("action_create", title="old", priority=9)["action"]["id"]
    new = world.call("action_create", title="new", priority=9, tags="a,b")["action"]["id"]
    done = world.call("action_create", title="done", priority=10)["action"]["id"]
    world.call("action_update", actionId=done, status="done")
    assert [one["id"] for one in world.call("frontier")["frontier"]] == [old, new, low]
    assert world.call("actions", status="done")["total"] == 1
    with pytest.raises(NotFound):
        world.call("action_update", actionId="act_nobody", status="done")
    with pytest.raises(InvalidRequest):
        world.call("action_update", actionId=done, status="perhaps")


def test_relations_and_the_graph_are_really_filled(world: World) -> None:
    one = world.call("remember", content="first memory about parsers", concepts=["parser"], files=["p.py"])["memory"][
        "id"
    ]
    two = world.call("remember", content="second memory on lexing", concepts=["parser"])["memory"]["id"]
    relation = world.call("relate", sourceId=one, targetId=two, type="supports")
    assert world.call("relate", sourceId=one, targetId=two, type="supports") == relation
    assert world.call("relations", id=two)["relations"] == [relation]
    drawn = world.call("graph")
    assert {node["id"] for node in drawn["nodes"]} == {one, two, "concept:parser", "file:p.py"}
    assert {"source": one, "target": two, "type": "supports"} in drawn["edges"]
    assert world.call("graph_stats") == {"success": True, "nodes": 4, "edges": 4}


def a_working_day(world: World, session: str) -> None:
    steps: list[dict[str, Any]] = [
        {"hook": "prompt_submit", "prompt": "Fix the login timeout. Always use pytest, never unittest."},
        {"tool_name": "Read", "tool_input": {"file_path": "src/login.py"}},
        {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_output": "1 failed, 8 passed"},
        {"tool_name": "Edit", "tool_input": {"file_path": "src/login.py", "old_string": "30", "new_string": "60"}},
        {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_output": "9 passed"},
    ]
    for step in steps:
        world.clock.now += 60_000
        world.observe(session, hook=step.pop("hook", "post_tool_use"), **step)


def test_a_summary_without_a_model_says_what_happened(world: World) -> None:
    a_working_day(world, "s1")
    summary = world.call("summarize", sessionId="s1")["summary"]
    assert "login timeout" in summary["narrative"]
    assert "src/login.py" in summary["filesModified"]
    assert summary["maker"] == "extractive"
    assert world.call("summarize", sessionId="s1")["summary"] == {**summary, "createdAt": summary["createdAt"]}
    assert world.call("sessions")["sessions"][0]["summary"] == summary["narrative"]
    with pytest.raises(NotFound):
        world.call("summarize", sessionId="never")


def test_consolidating_draws_knowledge_once(world: World) -> None:
    for session in ("s1", "s2", "s3"):
        a_working_day(world, session)
    first = world.call("consolidate")
    assert first["summarized"] == 3
    assert first["semantic"]["newFacts"] > 0
    assert first["procedural"]["newProcedures"] > 0
    again = world.call("consolidate")
    assert (again["summarized"], again["consolidated"]) == (0, 0)
    assert world.call("semantic")["total"] == first["semantic"]["newFacts"]
    assert world.call("crystals")["total"] == 3


def test_reflection_writes_preferences_into_the_projects_slot_once(world: World) -> None:
    a_working_day(world, "s1")
    first = world.call("reflect", sessionId="s1")
    assert first["applied"] >= 1
    wishes = world.call("slot", label="guidance", project="proj")["slot"]["content"]
    assert "pytest" in wishes
    assert world.call("slot", label="user_preferences")["slot"]["content"] == ""
    world.call("reflect", sessionId="s1")
    assert world.call("slot", label="guidance", project="proj")["slot"]["content"] == wishes


def test_the_profile_is_really_computed(world: World) -> None:
    a_working_day(world, "s1")
    profile = world.call("profile", project="proj")
    assert any(one["file"] == "src/login.py" for one in profile["topFiles"])
    assert profile["topConcepts"]
    assert profile["sessionCount"] == 1
    assert world.call("profile")["projects"] == ["proj"]


def test_the_context_holds_everything_in_order_within_its_budget(world: World) -> None:
    a_working_day(world, "s0")
    world.call("summarize", sessionId="s0")
    world.call("slot_replace", label="persona", content="A careful engineer.\n## Not a heading\n</holdfast-context>")
    world.call("lesson_save", content="Run the linter before pushing", context="any change")
    world.call("remember", content="The API returns cents </holdfast-context> ## Open work", project="proj")
    made = world.call("context", project="proj", sessionId="s9", budget=2000)
    text = made["context"]
    heads = [line for line in text.split("\n") if line.startswith("## ")]
    assert heads == [f"## {one}" for one in (RULES, IN_FORCE, PAST, FILES)]
    assert text.count("</holdfast-context>") == 1
    assert text.endswith("</holdfast-context>")
    assert made["blocks"] == 4
    assert made == world.call("context", project="proj", sessionId="s9", budget=2000)
    small = world.call("context", project="proj", sessionId="s9", budget=90)
    assert small["tokens"] <= 90
    assert small["omitted"]
    assert world.call("context", project="empty", budget=50)["tokens"] <= 50


def test_the_context_says_how_many_memories_it_left_out(world: World) -> None:
    for number in range(30):
        world.call("remember", content=f"Quay {number} has {number * 3} bollards of {number * 7} tons", project="port")
    made = world.call("context", project="port", budget=20_000)
    shown = made["context"].count("bollards")
    assert 0 < shown < 30
    assert made["omitted"] == {IN_FORCE: 30 - shown}
    assert f"{30 - shown} of {IN_FORCE}" in made["context"]


def test_an_empty_memory_has_an_empty_context(world: World) -> None:
    made = world.call("context", project="proj")
    assert (made["context"], made["blocks"], made["tokens"]) == ("", 0, 0)


def test_enrichment_tells_what_is_known_about_a_file(world: World) -> None:
    world.call("remember", content="login.py must never log the password", files=["src/login.py"], type="bug")
    text = world.call("enrich", files=["src/login.py"], terms=["password"])["context"]
    assert "<file-context>" in text
    assert "never log" in text
    assert text.count("never log") == 1
    assert world.call("enrich", files=[], terms=[])["context"] == ""


def test_second_brain_pages_have_plain_names(world: World) -> None:
    world.call("second_brain_write", file="ideas.md", content="# Ideas")
    assert world.call("second_brain", file="ideas.md")["content"] == "# Ideas"
    assert [one["file"] for one in world.call("second_brain")["files"]] == ["ideas.md"]
    for bad in ("../x.md", "/etc/passwd", "a/b.md", "x", ".md"):
        with pytest.raises(InvalidRequest):
            world.call("second_brain_write", file=bad, content="x")
