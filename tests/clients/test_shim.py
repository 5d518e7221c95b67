"""The real @agentmemory/mcp shim in front of Holdfast: every tool works, and nothing stays behind in the shim.

On any error from its seven own REST calls the shim says "success" out of a local store. So an answer proves
nothing here; what counts is what the server has, and that the shim's home folder is still empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from real_clients import Holdfast, Start, TapOn, files_in
from shim import Shim

CATALOGUE = {
    tool["name"]: tool["inputSchema"]
    for tool in json.loads(Path(__file__).with_name("mcp_tools.json").read_text(encoding="utf-8"))
}
EVERY_TOOL = {*CATALOGUE, "memory_audit", "memory_governance_delete"}
MISSING = {"type": "missing"}
COVERED: dict[str, frozenset[str]] = {}


def covers(*tools: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare which tools a test calls; the shim fixture checks that it did."""

    def mark(test: Callable[..., None]) -> Callable[..., None]:
        COVERED[test.__name__] = frozenset(tools)
        return test

    return mark


@pytest.fixture
def shim(server: Holdfast, home: Path, request: pytest.FixtureRequest) -> Iterator[Shim]:
    """The shim, connected to the server; at the end it must never have fallen back to itself."""
    with closing(Shim(home, server.url)) as running:
        running.initialize()
        yield running
    assert f"proxying to agentmemory server at {server.url}" in running.stderr
    assert "fall" not in running.stderr.lower(), running.stderr
    assert files_in(home) == []
    assert running.called == COVERED.get(request.node.originalname, running.called)


def kind_of(schema: dict[str, Any]) -> Any:
    """The types an argument may have, without descriptions, bounds and defaults."""
    if "oneOf" in schema:
        return sorted(str(kind_of(one)) for one in schema["oneOf"])
    return [schema["type"], kind_of(schema["items"])] if "items" in schema else schema["type"]


def test_the_shim_opens_a_session_as_itself(server: Holdfast, home: Path) -> None:
    with closing(Shim(home, server.url)) as shim:
        assert shim.initialize()["serverInfo"] == {"name": "agentmemory", "version": "0.9.29"}


def test_the_tools_listed_are_the_31_of_the_catalogue_and_the_two_of_the_shim(shim: Shim) -> None:
    listed = shim.tools()
    assert len(CATALOGUE) == 31
    assert set(listed) >= EVERY_TOOL
    assert all(tool["description"] for tool in listed.values())
    shim.ask("memory_diagnose")


def test_the_tools_take_the_arguments_of_the_catalogue(shim: Shim) -> None:
    listed = {name: tool["inputSchema"] for name, tool in shim.tools().items()}
    taken = {
        name: {
            argument: kind_of(listed[name]["properties"].get(argument, MISSING)) for argument in schema["properties"]
        }
        for name, schema in CATALOGUE.items()
    }
    wanted = {
        name: {argument: kind_of(kind) for argument, kind in schema["properties"].items()}
        for name, schema in CATALOGUE.items()
    }
    assert taken == wanted
    required = {name: sorted(listed[name].get("required", [])) for name in CATALOGUE}
    assert required == {name: sorted(schema.get("required", [])) for name, schema in CATALOGUE.items()}


def test_every_tool_is_called_by_a_test_below() -> None:
    assert frozenset().union(*COVERED.values()) == EVERY_TOOL


@covers("memory_save", "memory_recall", "memory_smart_search", "memory_export")
def test_a_saved_memory_is_in_the_server_and_found_again(shim: Shim, server: Holdfast) -> None:
    saved = shim.ask(
        "memory_save",
        content="JWT auth uses the jose library",
        type="architecture",
        concepts="auth, jwt",
        files=["src/auth.ts"],
        project="shop",
    )
    assert saved["success"] is True
    (kept,) = server.memories()
    assert kept == saved["memory"]
    assert (kept["content"], kept["type"], kept["project"]) == (
        "JWT auth uses the jose library",
        "architecture",
        "shop",
    )
    assert (kept["concepts"], kept["files"]) == (["auth", "jwt"], ["src/auth.ts"])

    recalled = shim.ask("memory_recall", query="which library for auth", limit=5)
    assert [one["observation"]["id"] for one in recalled["results"]] == [kept["id"]]
    smart = shim.ask("memory_smart_search", query="jose", limit=5)
    assert [one["obsId"] for one in smart["results"]] == [kept["id"]]
    assert [one["id"] for one in shim.ask("memory_export")["memories"]] == [kept["id"]]


@covers("memory_recall")
@pytest.mark.parametrize("form", ["full", "compact", "narrative"])
def test_recall_takes_a_format_and_a_budget(shim: Shim, server: Holdfast, form: str) -> None:
    server.post("/remember", content="The staging database is called heron")
    found = shim.ask("memory_recall", query="staging database", format=form, token_budget=500)
    assert found["format"] == form
    assert len(found["results"]) == 1
    assert 0 < found["tokens_used"] <= found["tokens_budget"] == 500


@covers("agent_remember", "memory_forget", "memory_governance_delete", "memory_audit", "memory_save")
def test_what_is_forgotten_is_gone_from_the_server_and_stands_in_its_audit(shim: Shim, server: Holdfast) -> None:
    first = shim.ask("memory_save", content="The office dog is called Bruno")["memory"]["id"]
    second = shim.ask("memory_save", content="Invoices are numbered by quarter")["memory"]["id"]
    kept = shim.ask(
        "agent_remember",
        content="Deploys happen on Tuesdays",
        project="shop",
        agentId="a1",
        concepts=["deploy"],
        files="ci.yml, Makefile",
        type="workflow",
    )["memory"]
    assert (kept["agentId"], kept["files"]) == ("a1", ["ci.yml", "Makefile"])
    assert len(server.memories()) == 3

    assert shim.ask("memory_forget", memoryId=first)["deleted"] == 1
    assert shim.ask("memory_governance_delete", memoryIds=[second], reason="asked to")["deleted"] == 1
    assert [one["id"] for one in server.memories()] == [kept["id"]]
    entries = shim.ask("memory_audit", limit=2)["entries"]
    assert [one["targetIds"] for one in entries] == [[second], [first]]
    assert entries[0]["details"]["reason"] == "asked to"


@covers(
    "agent_observe",
    "memory_sessions",
    "memory_sessions_list",
    "memory_observations",
    "memory_timeline",
    "memory_profile",
    "memory_forget",
)
def test_what_an_agent_observes_is_in_the_server_and_in_every_view_of_the_session(shim: Shim, server: Holdfast) -> None:
    seen = shim.ask(
        "agent_observe",
        sessionId="s1",
        project="shop",
        content="The login test fails on Edge",
        type="bug",
        title="Login test",
        agentId="a1",
        cwd="/work/shop",
    )["observationId"]
    later = shim.ask("agent_observe", sessionId="s1", project="shop", text="It passes on Firefox")["observationId"]
    (first, second) = server.observations("s1")
    assert (first["id"], first["type"], first["title"], first["agentId"]) == (seen, "bug", "Login test", "a1")
    assert second["id"] == later

    for tool in ("memory_sessions", "memory_sessions_list"):
        (session,) = shim.ask(tool)["sessions"]
        assert (session["id"], session["project"], session["observationCount"]) == ("s1", "shop", 2)
    assert [one["id"] for one in shim.ask("memory_observations", sessionId="s1")["observations"]] == [seen, later]
    around = shim.ask("memory_timeline", anchor=later, project="shop", sessionId="s1")
    assert [one["id"] for one in around["observations"]] == [seen, later]
    assert around["anchorIndex"] == 1
    profile = shim.ask("memory_profile", project="shop")
    assert (profile["project"], profile["sessionCount"]) == ("shop", 1)
    assert "login" in [one["concept"] for one in profile["topConcepts"]]

    assert shim.ask("memory_forget", sessionId="s1", observationIds=f"{seen}")["deleted"] == 1
    assert [one["id"] for one in server.observations("s1")] == [later]


@covers("agent_observe", "memory_crystallize", "memory_consolidate", "memory_reflect")
def test_a_session_is_condensed_in_the_server_without_a_language_model(shim: Shim, server: Holdfast) -> None:
    for text in ("Chose sqlite over postgres for the cache", "The cache test is green now"):
        shim.ask("agent_observe", sessionId="s1", project="shop", content=text)
    summary = shim.ask("memory_crystallize", sessionId="s1")["summary"]
    assert (summary["sessionId"], summary["observationCount"]) == ("s1", 2)
    (crystal,) = server.get("/crystals")["crystals"]
    assert {one["id"] for one in server.observations("s1")} <= set(crystal["sourceIds"])

    done = shim.ask("memory_consolidate")
    assert (done["success"], done["totalObservations"], done["semantic"]["totalSummaries"]) == (True, 2, 1)
    reflected = shim.ask("memory_reflect", sessionId="s1", maxObservations=10)
    assert (reflected["success"], reflected["observationsReviewed"]) == (True, 2)


@covers("memory_lesson_save", "memory_lessons", "memory_lesson_recall", "memory_lesson_search")
def test_a_lesson_is_in_the_server_and_grows_stronger_when_learnt_again(shim: Shim, server: Holdfast) -> None:
    lesson = {"content": "Run the linter before the tests", "context": "CI is slow", "project": "shop"}
    assert shim.ask("memory_lesson_save", **lesson)["action"] == "created"
    again = shim.ask("memory_lesson_save", **lesson)
    assert (again["action"], again["lesson"]["confidence"]) == ("strengthened", pytest.approx(0.55))
    (kept,) = server.get("/lessons")["lessons"]
    assert (kept["content"], kept["context"], kept["project"]) == tuple(lesson.values())

    assert [one["id"] for one in shim.ask("memory_lessons", project="shop", limit=3, minConfidence=0.5)["lessons"]] == [
        kept["id"]
    ]
    assert shim.ask("memory_lessons", minConfidence=0.9)["lessons"] == []
    for tool in ("memory_lesson_recall", "memory_lesson_search"):
        (found,) = shim.ask(tool, query="linter tests", project="shop")["lessons"]
        assert found["id"] == kept["id"]
        assert found["score"] > 0


@covers(
    "memory_slot_create",
    "memory_slot_list",
    "memory_slot_get",
    "memory_slot_append",
    "memory_slot_replace",
    "memory_slot_delete",
)
def test_a_slot_lives_in_the_server_from_its_creation_to_its_deletion(shim: Shim, server: Holdfast) -> None:
    def content() -> Any:
        return server.get("/slot", label="tone")["slot"]["content"]

    made = shim.ask("memory_slot_create", label="tone", content="Be terse.", pinned=True, sizeLimit=100)["slot"]
    assert (made["scope"], made["sizeLimit"], made["pinned"]) == ("global", 100, True)
    assert content() == "Be terse."
    assert "tone" in [one["label"] for one in shim.ask("memory_slot_list")["slots"]]
    assert shim.ask("memory_slot_append", label="tone", text="Be kind.")["slot"]["content"] == content()
    assert shim.ask("memory_slot_replace", label="tone", content="Be both.")["size"] == len("Be both.")
    assert shim.ask("memory_slot_get", label="tone")["slot"]["content"] == content() == "Be both."
    assert shim.ask("memory_slot_delete", label="tone")["success"] is True
    assert server.status_of("/slot", label="tone") == 404


@covers("memory_action_create", "memory_action_update", "memory_frontier")
def test_an_action_is_in_the_server_and_leaves_the_frontier_when_it_is_done(shim: Shim, server: Holdfast) -> None:
    urgent = shim.ask(
        "memory_action_create",
        title="Fix the login",
        description="On Edge",
        priority=9,
        status="pending",
        tags="auth, edge",
    )
    assert urgent["success"] is True
    other = shim.ask("memory_action_create", title="Tidy the logs", priority=1, tags=["logs"])["action"]["id"]
    first = urgent["action"]["id"]
    assert {one["id"]: one["tags"] for one in server.get("/actions")["actions"]} == {
        first: ["auth", "edge"],
        other: ["logs"],
    }
    assert [one["id"] for one in shim.ask("memory_frontier")["frontier"]] == [first, other]

    changed = shim.ask("memory_action_update", actionId=first, status="done", description="Fixed")["action"]
    assert (changed["status"], changed["description"], changed["title"]) == ("done", "Fixed", "Fix the login")
    assert [one["id"] for one in shim.ask("memory_frontier")["frontier"]] == [other]


@covers("memory_diagnose", "memory_antigravity_sync", "memory_antigravity_sync_all")
def test_the_server_tells_that_it_is_well_and_what_it_synced(shim: Shim) -> None:
    health = shim.ask("memory_diagnose")
    assert (health["status"], health["databaseStatus"]) == ("healthy", "ok")
    assert isinstance(health["version"], str)
    for tool, mode in (("memory_antigravity_sync", "current"), ("memory_antigravity_sync_all", "all")):
        synced = shim.ask(tool, mode=mode, currentConversationId="c1", currentFolder="shop")
        assert (synced["success"], synced["syncedSessions"], synced["observationsAdded"]) == (True, [], 0)


def test_the_antigravity_tools_take_in_the_transcripts_of_an_allowed_folder(
    start: Start, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "transcripts"
    folder.mkdir()
    line = {
        "type": "user",
        "sessionId": "agy-7",
        "cwd": "/work/shop",
        "timestamp": "2026-11-01T10:00:00.000Z",
        "uuid": "u1",
        "message": {"role": "user", "content": "Rename the invoices table"},
    }
    (folder / "agy-7.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    server = start(import_roots=folder)
    with closing(Shim(home, server.url)) as shim:
        synced = shim.ask("memory_antigravity_sync", mode="current", currentFolder=str(folder))
        again = shim.ask("memory_antigravity_sync_all", mode="all")
    assert (synced["syncedSessions"], synced["observationsAdded"]) == (["agy-7"], 1)
    assert again["observationsAdded"] == 0
    assert [one["userPrompt"] for one in server.observations("agy-7")] == ["Rename the invoices table"]


@pytest.mark.parametrize(
    ("tool", "arguments", "status"),
    [
        ("memory_no_such_tool", {}, 400),
        ("memory_slot_get", {"label": "nowhere"}, 404),
        ("memory_lesson_save", {}, 400),
        ("memory_crystallize", {"sessionId": "nowhere"}, 404),
        ("memory_action_update", {"actionId": "nowhere", "status": "done"}, 404),
    ],
)
def test_a_tool_that_fails_in_the_server_is_an_error_to_the_client(
    server: Holdfast, home: Path, tool: str, arguments: dict[str, Any], status: int
) -> None:
    with closing(Shim(home, server.url)) as shim:
        result = shim.call(tool, **arguments)
        alive = shim.call("memory_diagnose")
    assert result.is_error
    assert f"POST /agentmemory/mcp/call -> {status} " in result.text
    assert not alive.is_error


def test_with_the_same_secret_on_both_sides_the_tools_work(start: Start, home: Path) -> None:
    server = start(secret="s3cret-of-both")
    with closing(Shim(home, server.url, AGENTMEMORY_SECRET="s3cret-of-both")) as shim:
        assert set(shim.tools()) >= EVERY_TOOL
        saved = shim.ask("memory_save", content="The vault is behind the painting")
        assert shim.ask("memory_slot_list")["success"] is True
    assert [one["id"] for one in server.memories()] == [saved["memory"]["id"]]
    assert "fall" not in shim.stderr.lower()
    assert files_in(home) == []


@pytest.mark.parametrize("secret", ["", "not-the-secret"])
def test_with_another_secret_nothing_of_the_server_is_given_or_changed(
    start: Start, tap_on: TapOn, home: Path, secret: str
) -> None:
    server = start(secret="the-right-secret")
    server.post("/remember", content="The vault is behind the painting")
    tap = tap_on(server)
    with closing(Shim(home, tap.url, AGENTMEMORY_SECRET=secret, AGENTMEMORY_FORCE_PROXY="1")) as shim:
        answers = [
            shim.call("memory_save", content="Written without the right to"),
            shim.call("memory_recall", query="vault painting"),
            shim.call("memory_smart_search", query="vault painting"),
            shim.call("memory_export"),
            shim.call("memory_lesson_save", content="Learnt without the right to"),
            shim.call("memory_slot_list"),
        ]
    assert {one.status for one in tap.answered(6)} == {401}
    assert not any("painting" in one.text or '"success":true' in one.text for one in answers)
    assert [one.is_error for one in answers[-2:]] == [True, True]
    assert files_in(home) == [".agentmemory/standalone.json"]  # where the shim keeps what it only claims to have saved
    assert [one["content"] for one in server.memories()] == ["The vault is behind the painting"]
    assert server.get("/lessons")["lessons"] == []
