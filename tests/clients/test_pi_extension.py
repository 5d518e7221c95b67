"""The real pi extension in a stub host: its events and tools reach Holdfast, and it shows what Holdfast answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from real_clients import PI_EXTENSION, Holdfast, Start, drive
from wiretap import Wiretap

SESSION = "pi-session-1"
FACT = "Tokens are signed with jose because jsonwebtoken does not run on Edge"
Run = Callable[..., Any]
START: Any = ("emit", "session_start", {})


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def pi(tap: Wiretap, home: Path, project: Path) -> Run:
    """Put the extension through steps; every request it makes has to succeed."""

    def run(*steps: Any) -> Any:
        seen = drive("pi_host.mjs", PI_EXTENSION, list(steps), home=home, url=tap.url, cwd=project)
        tap.assert_all_succeeded()
        return seen

    return run


def prompt(project: Path, text: str) -> Any:
    options = {"cwd": str(project)}
    return (
        "emit",
        "before_agent_start",
        {"prompt": text, "systemPrompt": "You are pi.", "systemPromptOptions": options},
    )


def said(result: Any) -> Any:
    (part,) = result["content"]
    return part["text"]


def test_the_start_of_a_session_shows_the_memory_as_on_and_opens_the_session(
    pi: Run, server: Holdfast, project: Path
) -> None:
    seen = pi(START)
    assert seen["shown"]["status"] == [["agentmemory", "🧠 agentmemory"]]
    session = server.session(SESSION)
    assert (session["status"], session["project"], session["cwd"]) == ("active", "shop", str(project))


def test_the_save_tool_keeps_a_memory_of_the_project(pi: Run, server: Holdfast) -> None:
    (_, result) = pi(START, ("tool", "memory_save", {"content": FACT, "type": "architecture"}))["results"]
    assert said(result) == f"Saved memory (architecture): {FACT}"
    (kept,) = server.memories()
    assert kept == result["details"]["memory"]
    assert (kept["content"], kept["type"], kept["project"]) == (FACT, "architecture", "shop")


def test_the_search_tool_shows_the_memories_of_the_project_with_their_story(pi: Run, server: Holdfast) -> None:
    server.post("/remember", content=FACT, title="Signing", type="architecture", project="shop")
    server.post("/remember", content="Tokens of the garden are seeds", project="garden")
    (found,) = pi(("tool", "memory_search", {"query": "how are tokens signed", "limit": 3}))["results"]
    (line,) = said(found).splitlines()
    assert line.startswith("- Signing (architecture) [score=")
    assert line.endswith(f": {FACT}")


def test_a_search_that_finds_nothing_says_so(pi: Run) -> None:
    (found,) = pi(("tool", "memory_search", {"query": "anything"}))["results"]
    assert said(found) == "No relevant memories found."


def test_the_health_tool_and_the_status_command_tell_state_and_version(pi: Run, server: Holdfast) -> None:
    version = server.get("/health")["version"]
    seen = pi(("tool", "memory_health", {}), ("command", "agentmemory-status", ""))
    assert said(seen["results"][0]) == f"agentmemory status: healthy (v{version})"
    assert seen["shown"]["notes"] == [[f"agentmemory healthy v{version}", "info"]]


def test_a_prompt_is_observed_and_gets_what_the_memory_knows_about_it(pi: Run, server: Holdfast, project: Path) -> None:
    server.post("/remember", content=FACT, title="Signing", project="shop")
    (_, started) = pi(START, prompt(project, "How are tokens signed?"))["results"]
    told, guidance, recalled = started["systemPrompt"].split("\n\n")
    assert (told, "memory_search" in guidance) == ("You are pi.", True)
    # The extension sends the prompt while it searches, so the prompt itself may be among what it finds.
    assert recalled.startswith("Relevant long-term memory from agentmemory:\n")
    assert "\n- Signing (fact) [score=" in recalled
    (seen,) = server.observations(SESSION)
    assert (seen["hookType"], seen["userPrompt"], seen["project"]) == (
        "prompt_submit",
        "How are tokens signed?",
        "shop",
    )


def test_tool_results_and_the_last_answer_are_observed(pi: Run, server: Holdfast, project: Path) -> None:
    answer = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "text", "text": "It is fixed."}]},
    ]
    pi(
        START,
        prompt(project, "Fix the login"),
        ("emit", "tool_result", {"toolName": "bash", "input": {"command": "npm test"}, "content": "12 passed"}),
        (
            "emit",
            "tool_result",
            {"toolName": "read", "input": {"path": "a.ts"}, "content": "no such file", "isError": True},
        ),
        ("emit", "agent_end", {"messages": answer}),
    )
    seen = {one.get("toolName", one["hookType"]): one for one in server.observations(SESSION)}
    assert set(seen) == {"prompt_submit", "bash", "read", "conversation"}
    assert {seen[tool]["hookType"] for tool in ("bash", "read", "conversation")} == {"post_tool_use"}
    assert (seen["bash"]["toolInput"], seen["bash"]["toolOutput"]) == ('{"command":"npm test"}', "12 passed")
    assert seen["read"]["raw"]["tool_error"] is True
    assert (seen["conversation"]["toolInput"], seen["conversation"]["toolOutput"]) == ("Fix the login", "It is fixed.")
    assert server.session(SESSION)["observationCount"] == 4


def test_quitting_ends_the_session_and_consolidates(pi: Run, server: Holdfast, project: Path, tap: Wiretap) -> None:
    pi(START, prompt(project, "Fix the login"), ("emit", "session_shutdown", {"reason": "quit"}))
    assert server.session(SESSION)["status"] == "completed"
    assert tap.answer_to("/agentmemory/consolidate").answer["success"] is True


def test_a_new_session_in_the_same_process_does_not_end_the_old_one(pi: Run, server: Holdfast) -> None:
    pi(START, ("emit", "session_shutdown", {"reason": "new"}))
    assert server.session(SESSION)["status"] == "active"


def test_with_the_secret_the_extension_works(start: Start, home: Path, project: Path) -> None:
    server = start(secret="s3cret-of-both")
    where = {"home": home, "url": server.url, "cwd": project, "env": {"AGENTMEMORY_SECRET": "s3cret-of-both"}}
    drive("pi_host.mjs", PI_EXTENSION, [START, ("tool", "memory_save", {"content": FACT})], **where)
    assert [one["content"] for one in server.memories()] == [FACT]


def test_without_the_secret_the_extension_says_that_nothing_was_saved(start: Start, home: Path, project: Path) -> None:
    server = start(secret="the-right-secret")
    steps = [("tool", "memory_save", {"content": FACT}), ("tool", "memory_search", {"query": "tokens"})]
    saved, found = drive("pi_host.mjs", PI_EXTENSION, steps, home=home, url=server.url, cwd=project)["results"]
    assert said(saved) == "Failed to save memory to agentmemory."
    assert said(found) == "No relevant memories found."
    assert server.memories() == []
