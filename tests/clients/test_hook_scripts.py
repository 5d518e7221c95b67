"""The real hook scripts against a real Holdfast: what each recorded run sends arrives, succeeds and takes effect."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from real_clients import AGENTMEMORY, Holdfast, Start, TapOn, environment, run_node
from recorded_calls import HOOK_RUNS, HookRun
from wiretap import Exchange, Wiretap

PROMPT = "fix the bug"
PREFIX = "/agentmemory"


@dataclass
class Developer:
    """A machine on which hooks run: its home is where the recordings have /home/dev."""

    server: Holdfast
    tap: Wiretap
    home: Path

    @property
    def project(self) -> Path:
        return self.home / "proj"

    def here(self, value: Any) -> Any:
        """A recorded value with the paths of this machine."""
        return json.loads(json.dumps(value).replace("/home/dev", str(self.home)))

    def run(self, run: HookRun, **changes: Any) -> subprocess.CompletedProcess[str]:
        stdin = json.dumps({**self.here(run.stdin), **changes})
        return run_node(
            AGENTMEMORY / run.script, *run.arguments, home=self.home, url=self.tap.url, stdin=stdin, env=run.env
        )

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=T", "-c", "user.email=t@e.x", "-c", "init.defaultBranch=master")
        # A GIT_DIR in the environment, as inside a git hook, would have this commit to another repository.
        env = environment(self.home, self.tap.url, {})
        command = ["git", *identity, *arguments]
        done = subprocess.run(command, cwd=self.project, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()


Prepare = Callable[[HookRun], Developer]


@pytest.fixture
def developer(start: Start, tap_on: TapOn, home: Path) -> Prepare:
    """A developer's machine with what the recorded run found there."""

    def prepare(run: HookRun) -> Developer:
        server = start(secret=run.secret)
        machine = Developer(server, tap_on(server), home)
        machine.project.mkdir()
        (machine.project / "a.py").write_text("a\n", encoding="utf-8")
        line = {"role": "user", "message": {"content": [{"type": "text", "text": PROMPT}]}}
        (home / "tr.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
        return machine

    return prepare


def essence(request: dict[str, Any] | Exchange, at: str = "") -> dict[str, Any]:
    """What a request says, but for the moment it was made in."""
    said = request if isinstance(request, dict) else vars(request) | {"body": request.body}
    headers = {name: said["headers"].get(name) for name in ("content-type", "authorization", "accept")}
    body = said["body"]
    if isinstance(body, dict) and "timestamp" in body:
        body = {**body, "timestamp": at}
    return {"method": said["method"], "path": said["path"], "headers": headers, "body": body}


def in_order(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Requests that a script does not wait for may overtake each other."""
    return sorted(requests, key=lambda one: json.dumps(one, sort_keys=True))


@pytest.mark.parametrize("name", [name for name in HOOK_RUNS if name != "post-commit"])
def test_a_recorded_run_sends_what_it_sent_then_and_all_of_it_succeeds(developer: Prepare, name: str) -> None:
    run = HOOK_RUNS[name]
    machine = developer(run)
    done = machine.run(run)
    assert (done.returncode, done.stderr) == (run.exit, "")
    seen = machine.tap.answered(len(run.requests))
    machine.tap.assert_all_succeeded()
    assert in_order([essence(one) for one in seen]) == in_order([essence(machine.here(one)) for one in run.requests])


OBSERVING = {
    "prompt-submit": ("prompt_submit", "conversation"),
    "post-tool-use": ("post_tool_use", "command_run"),
    "post-tool-use-image": ("post_tool_use", "file_read"),
    "post-tool-failure": ("post_tool_failure", "error"),
    "subagent-start": ("subagent_start", "subagent"),
    "subagent-stop": ("subagent_stop", "subagent"),
    "notification": ("notification", "notification"),
    "task-completed": ("task_completed", "subagent"),
    "session-end-transcript-bridge": ("prompt_submit", "conversation"),
    "antigravity-PreInvocation": ("prompt_submit", "conversation"),
    "antigravity-PostToolUse": ("post_tool_use", "file_read"),
}


@pytest.mark.parametrize("name", OBSERVING)
def test_an_observing_hook_leaves_its_observation_in_its_session(developer: Prepare, name: str) -> None:
    run = HOOK_RUNS[name]
    machine = developer(run)
    machine.run(run)
    machine.tap.answered(len(run.requests))
    (sent,) = [one.body for one in machine.tap.exchanges if one.path == f"{PREFIX}/observe"]
    (kept,) = machine.server.observations(sent["sessionId"])
    assert (kept["hookType"], kept["type"]) == OBSERVING[name]
    assert (kept["project"], kept["timestamp"]) == ("proj", sent["timestamp"])
    assert kept["raw"] == sent["data"]
    session = machine.server.session(sent["sessionId"])
    assert (session["project"], session["cwd"], session["observationCount"]) == ("proj", str(machine.project), 1)


def test_every_recorded_run_that_observes_is_checked_for_its_observation() -> None:
    observing = {
        name for name, run in HOOK_RUNS.items() if any(one["path"].endswith("/observe") for one in run.requests)
    }
    assert observing == set(OBSERVING)


@pytest.mark.parametrize(
    "name",
    [
        "session-start",
        "session-start-inject",
        "session-start-secret",
        "session-start-cursor",
        "antigravity-PreInvocation",
    ],
)
def test_a_starting_hook_opens_the_session(developer: Prepare, name: str) -> None:
    run = HOOK_RUNS[name]
    machine = developer(run)
    machine.run(run)
    machine.tap.answered(len(run.requests))
    session = machine.server.session(run.requests[0]["body"]["sessionId"])
    assert (session["status"], session["project"], session["cwd"]) == ("active", "proj", str(machine.project))


@pytest.mark.parametrize("name", ["stop", "session-end", "session-end-transcript-bridge", "antigravity-Stop"])
def test_an_ending_hook_completes_the_session_that_was_active(developer: Prepare, name: str) -> None:
    run = HOOK_RUNS[name]
    machine = developer(run)
    id = run.requests[-1]["body"]["sessionId"]
    machine.server.post("/session/start", sessionId=id, project="proj", cwd=str(machine.project))
    machine.run(run)
    machine.tap.answered(len(run.requests))
    machine.tap.assert_all_succeeded()
    session = machine.server.session(id)
    assert session["status"] == "completed"
    assert session["endedAt"] >= session["startedAt"]


def test_a_session_lives_on_after_the_stop_that_ends_every_turn(developer: Prepare) -> None:
    machine = developer(HOOK_RUNS["stop"])
    for count, name in enumerate(("prompt-submit", "stop", "post-tool-use"), 1):
        machine.run(HOOK_RUNS[name])
        machine.tap.answered(count)
    session = machine.server.session("sess-abc")
    assert (session["status"], session["observationCount"]) == ("active", 2)


def test_the_commit_hook_links_the_commit_to_its_session(developer: Prepare) -> None:
    run = HOOK_RUNS["post-commit"]
    machine = developer(run)
    machine.server.post("/session/start", sessionId="sess-abc", project="proj", cwd=str(machine.project))
    machine.git("init", "--quiet")
    machine.git("commit", "--quiet", "--allow-empty", "--message", "begin")
    machine.git("add", "a.py")
    machine.git("commit", "--quiet", "--message", "add a.py")
    sha = machine.git("rev-parse", "HEAD")
    done = machine.run(run)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    machine.tap.answered(1)
    machine.tap.assert_all_succeeded()

    recorded = run.requests[0]["body"]
    found = machine.server.get("/session/by-commit", sha=sha)
    fields = ("sessionId", "branch", "message", "author", "files")
    kept = {**found["commit"], "sessionId": found["commit"]["sessionIds"][0]}
    assert {name: kept[name] for name in fields} == {name: recorded[name] for name in fields}
    assert found["commit"]["authoredAt"] == machine.git("log", "-1", "--pretty=%aI")
    assert [one["id"] for one in found["sessions"]] == ["sess-abc"]


def known_already(machine: Developer) -> None:
    """What an earlier session left about the project and its file."""
    file = str(machine.project / "a.py")
    machine.server.post("/lessons", content="Run the linter before the tests", project="proj")
    machine.server.post(
        "/remember", content="a.py breaks when foo is renamed", type="bug", project="proj", files=[file]
    )


@pytest.mark.parametrize(
    ("name", "path", "told"),
    [
        ("session-start-inject", "session/start", "linter"),
        ("pre-compact", "context", "linter"),
        ("pre-compact-bridge", "context", "linter"),
        ("pre-tool-use-inject", "enrich", "a.py breaks when foo is renamed"),
        ("pre-tool-use-grep", "enrich", "a.py breaks when foo is renamed"),
    ],
)
def test_a_hook_that_injects_prints_the_context_of_the_server(
    developer: Prepare, name: str, path: str, told: str
) -> None:
    run = HOOK_RUNS[name]
    machine = developer(run)
    known_already(machine)
    done = machine.run(run)
    given = machine.tap.answer_to(f"{PREFIX}/{path}").answer["context"]
    assert told in given
    assert done.stdout == given


def test_cursor_gets_the_context_as_a_field_of_json(developer: Prepare) -> None:
    machine = developer(HOOK_RUNS["session-start-cursor"])
    known_already(machine)
    done = machine.run(HOOK_RUNS["session-start-cursor"])
    given = machine.tap.answer_to(f"{PREFIX}/session/start").answer["context"]
    assert "linter" in given
    assert json.loads(done.stdout) == {"additional_context": given}


def test_devin_gets_the_context_as_the_output_of_its_hook(developer: Prepare) -> None:
    machine = developer(HOOK_RUNS["session-start-inject"])
    known_already(machine)
    done = machine.run(HOOK_RUNS["session-start-inject"], prompt_id="p1")
    given = machine.tap.answer_to(f"{PREFIX}/session/start").answer["context"]
    expected = {"hookEventName": "SessionStart", "additionalContext": given}
    assert json.loads(done.stdout) == {"hookSpecificOutput": expected}


@pytest.mark.parametrize("name", ["session-start", "pre-tool-use-default", "prompt-submit", "stop"])
def test_a_hook_that_does_not_inject_prints_nothing(developer: Prepare, name: str) -> None:
    run = HOOK_RUNS[name]
    machine = developer(run)
    known_already(machine)
    assert machine.run(run).stdout == ""


@pytest.mark.parametrize("name", ["antigravity-PreInvocation", "antigravity-PostToolUse", "antigravity-Stop"])
def test_the_antigravity_bridge_answers_its_host_with_an_empty_object(developer: Prepare, name: str) -> None:
    run = HOOK_RUNS[name]
    assert developer(run).run(run).stdout == "{}"


@pytest.mark.parametrize("name", ["session-start-inject", "prompt-submit", "stop", "pre-compact"])
def test_a_hook_without_the_secret_neither_disturbs_the_agent_nor_reaches_the_memory(
    developer: Prepare, name: str
) -> None:
    run = HOOK_RUNS[name]
    machine = developer(HOOK_RUNS["session-start-secret"])
    known_already(machine)
    done = machine.run(run)
    assert (done.returncode, done.stdout) == (0, "")
    assert [one.status for one in machine.tap.answered(1)] == [401]
    assert machine.server.get("/sessions")["sessions"] == []
