"""The real OpenCode plugin in a stub host: every event it captures arrives, and it injects what Holdfast answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from real_clients import OPENCODE_PLUGIN, Holdfast, Start, drive
from wiretap import Wiretap

SESSION = "ses_1"
Run = Callable[..., Any]


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def opencode(tap: Wiretap, home: Path, project: Path) -> Run:
    """Call hooks of the plugin; every request it makes has to succeed."""

    def run(*calls: Any) -> Any:
        given = drive("opencode_host.mjs", OPENCODE_PLUGIN, list(calls), home=home, url=tap.url, cwd=project)
        tap.assert_all_succeeded()
        return given

    return run


def event(type: str, /, **properties: Any) -> Any:
    return ("event", {"event": {"type": type, "properties": properties}})


def part(type: str, /, **fields: Any) -> Any:
    return event("message.part.updated", part={"type": type, "sessionID": SESSION, "messageID": "msg_1", **fields})


def created(project: Path) -> Any:
    info = {"id": SESSION, "title": "Fix the login", "version": "1.0", "directory": str(project)}
    return event("session.created", info=info)


def message(text: str) -> Any:
    return ("chat.message", {"sessionID": SESSION, "agent": "build"}, {"parts": [{"type": "text", "text": text}]})


def transform() -> Any:
    return ("experimental.chat.system.transform", {"sessionID": SESSION}, {"system": []})


def test_a_created_session_is_opened_in_its_own_folder(opencode: Run, server: Holdfast, project: Path) -> None:
    opencode(created(project))
    session = server.session(SESSION)
    assert (session["status"], session["title"]) == ("active", "Fix the login")
    assert (session["project"], session["cwd"]) == ("shop", str(project))


def test_a_message_is_observed_as_a_prompt(opencode: Run, server: Holdfast, project: Path) -> None:
    opencode(created(project), message("Add rate limiting"))
    (seen,) = server.observations(SESSION)
    assert (seen["hookType"], seen["type"], seen["userPrompt"]) == (
        "prompt_submit",
        "conversation",
        "Add rate limiting",
    )


def test_a_tool_that_ran_and_one_that_failed_are_observed_once_each(
    opencode: Run, server: Holdfast, project: Path
) -> None:
    state = {
        "status": "completed",
        "input": {"command": "npm test"},
        "output": "12 passed",
        "time": {"start": 1, "end": 5},
    }
    ran = part("tool", callID="c1", tool="bash", state=state)
    failed = part("tool", callID="c2", tool="edit", state={"status": "error", "input": {}, "error": "no such file"})
    opencode(created(project), ran, ran, failed)
    first, second = server.observations(SESSION)
    assert (first["hookType"], first["toolName"], first["toolOutput"]) == ("post_tool_use", "bash", "12 passed")
    assert first["raw"]["duration_ms"] == 4
    assert (second["hookType"], second["type"], second["toolOutput"]) == ("post_tool_failure", "error", "no such file")


EVENTS = {
    "session_status": event("session.status", sessionID=SESSION, status={"type": "busy"}),
    "session_compacted": event("session.compacted", sessionID=SESSION),
    "session_updated": event("session.updated", info={"id": SESSION, "title": "t", "summary": {"additions": 3}}),
    "session_diff": event("session.diff", sessionID=SESSION, diff=[{"file": "a.ts", "additions": 2, "deletions": 1}]),
    "post_tool_failure": event(
        "session.error", sessionID=SESSION, error={"name": "Aborted", "data": {"message": "stop"}}
    ),
    "assistant_message": event(
        "message.updated",
        info={
            "id": "msg_2",
            "role": "assistant",
            "sessionID": SESSION,
            "cost": 0.01,
            "tokens": {"input": 5, "output": 7},
        },
    ),
    "message_removed": event("message.removed", sessionID=SESSION, messageID="msg_2"),
    "subagent_start": part("subtask", id="prt_1", agent="explore", prompt="Find the tests", description="tests"),
    "step_finish": part("step-finish", reason="stop", cost=0.01, tokens={"input": 5, "output": 7, "reasoning": 0}),
    "reasoning": part("reasoning", text="The login needs a token"),
    "patch_applied": part("patch", hash="abc123", files=["a.ts"]),
    "compaction_event": part("compaction", auto=True),
    "agent_selected": part("agent", name="build"),
    "retry_attempt": part("retry", attempt=2, error={"name": "APIError"}),
    "notification": event("permission.updated", sessionID=SESSION, type="bash", pattern=["npm *"], title="npm test"),
    "permission_replied": event("permission.replied", sessionID=SESSION, permissionID="per_1", response="once"),
    "task_completed": event(
        "todo.updated", sessionID=SESSION, todos=[{"content": "Fix", "status": "completed", "priority": "high"}]
    ),
    "command_executed": event("command.executed", sessionID=SESSION, name="recall", arguments="auth"),
    "llm_params": (
        "chat.params",
        {"sessionID": SESSION, "agent": "build", "model": {"providerID": "local", "id": "m", "limit": {"output": 10}}},
        {"temperature": 0.1, "topP": 1},
    ),
    "config_loaded": ("config", {"theme": "dark", "agent": {"build": {}}, "mcp": {"agentmemory": {}}}),
}


def test_every_event_that_the_plugin_captures_is_observed(opencode: Run, server: Holdfast, project: Path) -> None:
    opencode(created(project), message("Fix the login"), *EVENTS.values())
    seen = server.observations(SESSION)
    assert sorted(one["hookType"] for one in seen) == sorted(["prompt_submit", *EVENTS])
    assert all(one["title"] and one["project"] == "shop" for one in seen)


def test_a_configuration_loaded_before_any_session_is_observed_in_the_first(
    opencode: Run, server: Holdfast, project: Path
) -> None:
    opencode(EVENTS["config_loaded"], created(project))
    (seen,) = server.observations(SESSION)
    assert (seen["hookType"], seen["raw"]["theme"]) == ("config_loaded", "dark")


def test_a_session_that_falls_idle_is_summarized(opencode: Run, server: Holdfast, project: Path, tap: Wiretap) -> None:
    idle = event("session.status", sessionID=SESSION, status={"type": "idle"})
    opencode(created(project), message("Add rate limiting"), event("session.idle", sessionID=SESSION), idle)
    summary = tap.answer_to("/agentmemory/summarize").answer["summary"]
    assert (summary["sessionId"], summary["observationCount"]) == (SESSION, 1)
    assert "rate limiting" in server.session(SESSION)["summary"].lower()


def test_a_deleted_session_is_ended_and_learnt_from(
    opencode: Run, server: Holdfast, project: Path, tap: Wiretap
) -> None:
    opencode(created(project), message("Add rate limiting"), event("session.deleted", info={"id": SESSION}))
    session = server.session(SESSION)
    assert (session["status"], session["observationCount"]) == ("completed", 1)
    for path in ("crystals/auto", "consolidate-pipeline"):
        assert tap.answer_to(f"/agentmemory/{path}").answer["success"] is True
    assert len(server.get("/crystals")["crystals"]) == 1


def test_the_context_of_the_start_stands_in_the_first_system_prompt_and_not_in_the_second(
    opencode: Run, server: Holdfast, project: Path
) -> None:
    server.post("/lessons", content="Run the linter before the tests", project="shop")
    *_, (_, first), (_, second) = opencode(created(project), transform(), transform())
    instructions, context = first["system"]
    assert instructions.startswith("<agentmemory-instructions>")
    assert "Run the linter before the tests" in context
    assert second["system"] == []


def test_a_session_from_before_the_plugin_gets_its_context_all_the_same(
    opencode: Run, server: Holdfast, tap: Wiretap
) -> None:
    server.post("/lessons", content="Run the linter before the tests", project="shop")
    ((_, first),) = opencode(transform())
    assert first["system"][1] == tap.answer_to("/agentmemory/context").answer["context"]
    assert "linter" in first["system"][1]


def test_what_is_known_about_a_file_stands_in_the_system_prompt_once_a_tool_touches_it(
    opencode: Run, server: Holdfast, project: Path, tap: Wiretap
) -> None:
    file = str(project / "auth.ts")
    server.post("/remember", content="auth.ts breaks when the key is rotated", type="bug", files=[file])
    touch = ("tool.execute.before", {"sessionID": SESSION, "tool": "edit"}, {"args": {"filePath": file}})
    *_, (_, prompt) = opencode(created(project), touch, transform())
    enriched = tap.answer_to("/agentmemory/enrich")
    assert enriched.body["files"] == [file]
    assert prompt["system"][-1] == enriched.answer["context"]
    assert "breaks when the key is rotated" in prompt["system"][-1]


def test_a_session_being_compacted_gets_the_context(opencode: Run, server: Holdfast, project: Path) -> None:
    server.post("/lessons", content="Run the linter before the tests", project="shop")
    compact: Any = ("experimental.session.compacting", {"sessionID": SESSION}, {"context": []})
    *_, (_, output) = opencode(created(project), compact)
    assert "linter" in "".join(output["context"])


def test_with_the_secret_the_plugin_works_and_without_it_nothing_arrives(
    start: Start, home: Path, project: Path
) -> None:
    server = start(secret="s3cret-of-both")
    calls = [created(project), message("Add rate limiting")]
    where = {"home": home, "url": server.url, "cwd": project}
    drive("opencode_host.mjs", OPENCODE_PLUGIN, calls, **where)
    assert server.get("/sessions")["sessions"] == []
    drive("opencode_host.mjs", OPENCODE_PLUGIN, calls, **where, env={"AGENTMEMORY_SECRET": "s3cret-of-both"})
    assert [one["hookType"] for one in server.observations(SESSION)] == ["prompt_submit"]
