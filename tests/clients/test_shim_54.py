"""All 54 tools of agentmemory 0.9.29 through its real shim: each is called, and what it means is looked up in the server.

test_shim.py has the older ones; here are those by which agents share work, and what shows and moves memory.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from real_clients import AGENTMEMORY, NODE, Holdfast
from shim import Shim
from test_shim import COVERED as ELSEWHERE

CATALOGUE: dict[str, Any] = {
    tool["name"]: tool["inputSchema"]
    for tool in json.loads(Path(__file__).with_name("mcp_tools_54.json").read_text(encoding="utf-8"))
}
COVERED: dict[str, frozenset[str]] = {}


def covers(*tools: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare which tools a test calls; the shim fixture checks that it did."""

    def mark(test: Callable[..., None]) -> Callable[..., None]:
        COVERED[test.__name__] = frozenset(tools)
        return test

    return mark


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("joint")


@pytest.fixture(scope="module")
def joint(folder: Path) -> Iterator[tuple[Holdfast, Shim]]:
    """One server and one shim for all tests here, which use names of their own."""
    (folder / "home").mkdir()
    (folder / "pages").mkdir()
    (folder / "vault").mkdir()
    places = {"page_folders": folder / "pages", "claude_memory_file": folder / "claude" / "MEMORY.md"}
    with ExitStack() as stack:
        server = stack.enter_context(closing(Holdfast(folder, **places, vault=str(folder / "vault"))))
        shim = stack.enter_context(closing(Shim(folder / "home", server.url)))
        shim.initialize()
        yield server, shim
        assert "fall" not in shim.stderr.lower(), shim.stderr


@pytest.fixture
def server(joint: tuple[Holdfast, Shim]) -> Holdfast:
    return joint[0]


@pytest.fixture
def shim(joint: tuple[Holdfast, Shim], request: pytest.FixtureRequest) -> Iterator[Shim]:
    joint[1].called.clear()
    yield joint[1]
    assert joint[1].called == COVERED.get(request.node.originalname, frozenset())


def declared() -> dict[str, Any]:
    """What the installed package itself lists."""
    script, dist = Path(__file__).with_name("catalogue.mjs"), AGENTMEMORY / "dist"
    done = subprocess.run([NODE, str(script), str(dist)], capture_output=True, text=True, check=True)
    return {tool["name"]: tool["inputSchema"] for tool in json.loads(done.stdout)}


def test_the_catalogue_is_that_of_the_installed_package() -> None:
    package = declared()
    assert len(package) == 54
    assert {name: sorted(one["properties"]) for name, one in package.items()} == {
        name: sorted(one["properties"]) for name, one in CATALOGUE.items()
    }


def test_the_server_lists_all_54_tools_through_the_shim(shim: Shim) -> None:
    listed = shim.tools()
    assert len(CATALOGUE) == 54
    assert set(CATALOGUE) - set(listed) == set()
    # Arguments without a use here are taken and have no effect.
    unused = {"memory_profile": {"refresh"}, "memory_consolidate": {"tier"}, "memory_diagnose": {"categories"}}
    missing = {
        name: set(schema["properties"]) - set(listed[name]["inputSchema"]["properties"])
        for name, schema in CATALOGUE.items()
    }
    assert {name: lacks for name, lacks in missing.items() if lacks} == unused


def test_every_one_of_the_54_tools_is_called_here_or_in_the_older_tests() -> None:
    called = frozenset().union(*COVERED.values(), *ELSEWHERE.values())
    assert set(CATALOGUE) - called == set()


def action(shim: Shim, title: str, **more: Any) -> str:
    return str(shim.ask("memory_action_create", title=title, **more)["action"]["id"])


def status_of(server: Holdfast, id: str) -> str:
    return str(server.get("/actions/get", actionId=id)["action"]["status"])


@covers("memory_action_create", "memory_action_update", "memory_next", "memory_frontier")
def test_an_action_waits_for_what_it_requires_and_is_suggested_after_it(shim: Shim, server: Holdfast) -> None:
    first = action(shim, "Write the schema", project="ship", priority=3)
    second = action(shim, "Fill the tables", project="ship", priority=9, requires=first, parentId=first)
    assert status_of(server, second) == "blocked"
    assert shim.ask("memory_next", project="ship", agentId="ann")["suggestion"]["actionId"] == first

    shim.ask("memory_action_update", actionId=first, status="done", result="12 tables")
    assert server.get("/actions/get", actionId=first)["action"]["result"] == "12 tables"
    suggested = shim.ask("memory_next", project="ship", agentId="ann")
    assert (suggested["suggestion"]["actionId"], suggested["totalUnblocked"]) == (second, 1)
    assert [one["id"] for one in shim.ask("memory_frontier", project="ship", limit=5)["frontier"]] == [second]


@covers("memory_action_create", "memory_lease", "memory_next")
def test_one_agent_holds_an_action_and_the_other_is_told_who_and_until_when(shim: Shim, server: Holdfast) -> None:
    id = action(shim, "Migrate", project="lease")
    mine = shim.ask("memory_lease", actionId=id, agentId="ann", operation="acquire", ttlMs=60_000)["lease"]
    refused = shim.ask("memory_lease", actionId=id, agentId="ben", operation="acquire")
    assert (refused["success"], refused["heldBy"], refused["expiresAt"]) == (False, "ann", mine["expiresAt"])
    assert shim.ask("memory_next", project="lease", agentId="ben")["suggestion"] is None
    longer = shim.ask("memory_lease", actionId=id, agentId="ann", operation="renew", ttlMs=60_000)["lease"]
    assert longer["expiresAt"] > mine["expiresAt"]
    assert shim.ask("memory_lease", actionId=id, agentId="ann", operation="release", result="done")["released"] is True
    assert status_of(server, id) == "done"


@covers("memory_action_create", "memory_checkpoint", "memory_sentinel_create", "memory_sentinel_trigger")
def test_checkpoints_and_sentinels_hold_an_action_back_until_both_are_passed(shim: Shim, server: Holdfast) -> None:
    id = action(shim, "Deploy", project="gates")
    gate = shim.ask("memory_checkpoint", operation="create", name="CI", type="ci", linkedActionIds=id)["checkpoint"]
    watch = shim.ask("memory_sentinel_create", name="Go", type="approval", config="{}", linkedActionIds=id)["sentinel"]
    assert status_of(server, id) == "blocked"
    passed = shim.ask("memory_checkpoint", operation="resolve", checkpointId=gate["id"], status="passed")
    assert (passed["checkpoint"]["status"], passed["unblockedCount"]) == ("passed", 0)
    opened = shim.ask("memory_sentinel_trigger", sentinelId=watch["id"], result='{"by": "Ada"}')
    assert (opened["sentinel"]["result"], opened["unblockedCount"]) == ({"by": "Ada"}, 1)
    assert status_of(server, id) == "pending"
    listed = shim.ask("memory_checkpoint", operation="list", status="passed")["checkpoints"]
    assert gate["id"] in [one["id"] for one in listed]


@covers("memory_signal_send", "memory_signal_read")
def test_agents_write_to_each_other_in_threads_and_read_each_message_once(shim: Shim) -> None:
    sent = shim.ask("memory_signal_send", **{"from": "cat", "to": "dan", "content": "Take over?", "type": "request"})
    (got,) = shim.ask("memory_signal_read", agentId="dan", unreadOnly="true")["signals"]
    assert (got["content"], got["from"], bool(got["readAt"])) == ("Take over?", "cat", True)
    reply = {"from": "dan", "to": "cat", "content": "Yes.", "replyTo": got["id"]}
    answer = shim.ask("memory_signal_send", **reply)["signal"]
    assert answer["threadId"] == sent["signal"]["threadId"]
    assert shim.ask("memory_signal_read", agentId="dan", unreadOnly="true")["signals"] == []
    thread = shim.ask("memory_signal_read", agentId="cat", threadId=answer["threadId"], limit=5)["signals"]
    assert [one["content"] for one in thread] == ["Yes.", "Take over?"]
    assert shim.ask("memory_signal_read", agentId="eve")["signals"] == []


@covers("memory_sketch_create", "memory_sketch_promote", "memory_routine_run", "memory_heal")
def test_sketches_and_routines_become_actions_that_wait_for_each_other(shim: Shim, server: Holdfast) -> None:
    sketch = shim.ask("memory_sketch_create", title="Try it", project="plan", expiresInMs=60_000)["sketch"]["id"]
    first = server.post("/sketches/add", sketchId=sketch, title="One")["action"]["id"]
    server.post("/sketches/add", sketchId=sketch, title="Two", dependsOn=[first])
    assert server.get("/actions", project="plan")["actions"] == []
    promoted = shim.ask("memory_sketch_promote", sketchId=sketch)["promotedIds"]
    assert promoted[0] == first
    assert [status_of(server, id) for id in promoted] == ["pending", "blocked"]

    steps = [{"title": "Tag"}, {"title": "Publish", "dependsOn": [0]}]
    routine = server.post("/routines", name="Release", steps=steps)["routine"]["id"]
    run = shim.ask("memory_routine_run", routineId=routine, project="plan", initiatedBy="ann")
    assert run["actionsCreated"] == 2
    assert server.get("/routines/status", runId=run["run"]["id"])["progress"]["blocked"] == 1
    healed = shim.ask("memory_heal", categories="actions", dryRun="true")
    assert (healed["success"], healed["dryRun"], healed["fixed"]) == (True, True, 0)


@covers(
    "memory_save",
    "memory_facet_tag",
    "memory_facet_query",
    "memory_team_share",
    "memory_team_feed",
    "memory_verify",
    "memory_relations",
    "memory_graph_query",
)
def test_a_memory_is_tagged_shared_linked_and_traced(shim: Shim, server: Holdfast) -> None:
    server.post("/agent/observe", sessionId="s-src", project="trace", text="Pods restart on Mondays")
    (source,) = server.observations("s-src")
    cited = {"content": "Pods restart every Monday", "sourceObservationIds": [source["id"]], "concepts": ["pods"]}
    memory = server.post("/remember", **cited)["memory"]["id"]
    other = shim.ask("memory_save", content="The scheduler drains a node each week")["memory"]["id"]
    server.post("/relations", sourceId=memory, targetId=other, type="supports")

    for value in ("ops", "night"):
        shim.ask("memory_facet_tag", targetId=memory, targetType="memory", dimension="team", value=value)
    again = shim.ask("memory_facet_tag", targetId=memory, targetType="memory", dimension="team", value="ops")
    assert again["skipped"] is True
    found = shim.ask("memory_facet_query", matchAll="team:ops,team:night", matchAny="team:ops", targetType="memory")
    assert [one["targetId"] for one in found["results"]] == [memory]
    assert shim.ask("memory_facet_query", matchAll="team:ops,team:day")["results"] == []

    shim.ask("memory_team_share", itemId=memory, itemType="memory")
    shared = shim.ask("memory_team_feed", limit=5)["items"]
    assert [one["content"]["content"] for one in shared] == ["Pods restart every Monday"]
    traced = shim.ask("memory_verify", id=memory)
    assert [one["observationId"] for one in traced["citations"]] == [source["id"]]
    assert len(traced["contentHash"]) == 64
    near = shim.ask("memory_relations", memoryId=memory, maxHops=1, minConfidence=0.5)["results"]
    assert [one["memory"]["id"] for one in near] == [other]
    graph = shim.ask("memory_graph_query", startNodeId=memory, nodeType="concept", maxDepth=1, query="pod")
    assert [one["name"] for one in graph["nodes"]] == ["pods"]

    server.post("/forget", memoryId=memory)
    assert shim.ask("memory_team_feed", limit=5)["items"] == []


@covers(
    "memory_file_history",
    "memory_patterns",
    "memory_commits",
    "memory_commit_lookup",
    "memory_vision_search",
    "memory_insight_list",
)
def test_what_was_observed_is_found_by_file_by_commit_and_by_what_recurs(shim: Shim, server: Holdfast) -> None:
    for session in ("p1", "p2", "p3"):
        for file in ("app.py", "db.py"):
            data = {"tool_name": "Edit", "tool_input": {"file_path": f"/w/pat/{file}"}, "tool_output": "ok"}
            about = {"project": "pat", "cwd": "/w/pat", "timestamp": "2026-11-01T10:00:00Z", "data": data}
            server.post("/observe", sessionId=session, hookType="post_tool_use", **about)
    history = shim.ask("memory_file_history", files="pat/app.py", sessionId="p1")
    assert {one["sessionId"] for one in history["files"][0]["observations"]} == {"p2", "p3"}
    (pattern,) = shim.ask("memory_patterns", project="pat")["patterns"]
    assert (pattern["type"], pattern["frequency"]) == ("co_change", 3)
    assert pattern["files"] == ["/w/pat/app.py", "/w/pat/db.py"]

    server.post("/session/commit", sha="abcdef1234", sessionId="p1", branch="main", message="Edit both")
    looked = shim.ask("memory_commit_lookup", sha="abcdef1")
    assert (looked["commit"]["message"], [one["id"] for one in looked["sessions"]]) == ("Edit both", ["p1"])
    assert [one["sha"] for one in shim.ask("memory_commits", branch="main", limit=5)["commits"]] == ["abcdef1234"]

    photo = {"text": "The dashboard shows a red bar", "imageData": "iVBORw0KGgo="}
    server.post("/agent/observe", sessionId="p4", project="pat", **photo)
    server.post("/agent/observe", sessionId="p5", project="pat", text="The dashboard is slow")
    seen = shim.ask("memory_vision_search", queryText="dashboard", topK=5)
    assert [one["sessionId"] for one in seen["results"]] == ["p4"]
    assert "not looked at" in seen["searched"]
    server.post("/summarize", sessionId="p1")
    assert shim.ask("memory_insight_list", project="pat", minConfidence=0.1, limit=5)["insights"]


@covers("memory_crystallize", "memory_reflect", "memory_action_create", "memory_action_update")
def test_actions_that_are_done_become_one_note(shim: Shim, server: Holdfast) -> None:
    ids = [action(shim, title, project="note") for title in ("Find the leak", "Close the leak")]
    for id in ids:
        shim.ask("memory_action_update", actionId=id, status="done", result=f"done {id}")
    crystal = shim.ask("memory_crystallize", actionIds=",".join(ids), project="note")["crystal"]
    assert crystal["content"].startswith("- Find the leak: done act_")
    assert crystal["id"] in [one["id"] for one in server.get("/crystals", project="note")["crystals"]]
    assert shim.ask("memory_reflect", project="note", maxClusters=3)["success"] is True


@covers("memory_lesson_save", "memory_lesson_delete")
def test_a_lesson_is_put_away(shim: Shim, server: Holdfast) -> None:
    lesson = shim.ask("memory_lesson_save", content="Never push on Fridays", project="put")["lesson"]["id"]
    assert shim.ask("memory_lesson_delete", lessonId=lesson)["success"] is True
    assert server.get("/lessons", project="put")["lessons"] == []


@covers("memory_compress_file", "memory_obsidian_export", "memory_claude_bridge_sync", "memory_save")
def test_pages_are_shortened_written_and_read_in_the_folders_that_are_allowed(
    shim: Shim, server: Holdfast, folder: Path
) -> None:
    page = folder / "pages" / "guide.md"
    page.write_text("# Guide\n\nRun `make`. It builds a lot of things in turn.\n", "utf-8")
    done = shim.ask("memory_compress_file", filePath=str(page))
    assert page.read_text("utf-8") == "# Guide\n\nRun `make`.\n"
    assert "in turn" in Path(done["backupPath"]).read_text("utf-8")
    outside = folder / "outside.md"
    outside.write_text("# Other\n\nOne. Two.\n", "utf-8")
    assert shim.call("memory_compress_file", filePath=str(outside)).is_error
    assert outside.read_text("utf-8") == "# Other\n\nOne. Two.\n"

    kept = shim.ask("memory_save", content="Obsidian notes are written by rename")["memory"]["id"]
    shown = shim.ask("memory_obsidian_export", vaultDir=str(folder / "pages" / "vault"), types="memories")
    assert shown["exported"]["memories"] >= 1
    assert "written by rename" in (folder / "pages" / "vault" / "memories" / f"{kept}.md").read_text("utf-8")

    memory = folder / "claude" / "MEMORY.md"
    shim.ask("memory_claude_bridge_sync", direction="write")
    assert "written by rename" in memory.read_text("utf-8")
    memory.write_text(memory.read_text("utf-8") + "\n- Always use tabs in Makefiles\n", "utf-8")
    read = shim.ask("memory_claude_bridge_sync", direction="read")
    assert read["added"] == 1
    assert shim.ask("memory_claude_bridge_sync", direction="read")["added"] == 0
    assert "Always use tabs in Makefiles" in [one["content"] for one in server.memories()]


@covers("memory_mesh_sync", "memory_snapshot_create")
def test_machines_exchange_memory_through_the_vault(shim: Shim, folder: Path) -> None:
    made = shim.ask("memory_snapshot_create", message="before the mesh")
    assert made["snapshot"]["label"] == "before the mesh"
    snapshot = made["id"]
    done = shim.ask("memory_mesh_sync", direction="both")["results"][0]
    assert (done["peerId"], done["errors"]) == (str(folder / "vault"), [])
    assert any(snapshot in path.name for path in (folder / "vault").rglob("*"))
