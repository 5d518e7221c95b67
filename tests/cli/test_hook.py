"""`holdfast hook`: the same requests as the recorded scripts, and nothing that could stop an agent."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from patience import WAIT_SECONDS
from rows import each

from holdfast.cli.hook.git import commit_at
from holdfast.cli.hook.hook_command import EVENTS, HookOutcome, hook_main, run_hook, server
from holdfast.cli.hook.hook_events import is_taken

RECORDED = json.loads(Path(__file__).with_name("hook_calls.json").read_text(encoding="utf-8"))["runs"]
# Each needs more than its payload: a transcript or a repository on disk, or it is where Holdfast differs.
APART = {"session-end-transcript-bridge", "post-commit", "stop"}
OWN = {"agent-message"}  # events that the recorded scripts do not have
PROMPT_CONTEXT = "/agentmemory/context/prompt"  # nor do they ask for this
NOW = 1_794_775_103_107  # 2026-11-15T20:38:23.107Z


class Server:
    """Takes down the requests and answers each with the same context."""

    def __init__(self, context: str = "", answers: bool = True):
        self.context, self.answers = context, answers
        self.requests: list[dict[str, Any]] = []

    def __call__(self, method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
        self.requests.append({"method": method, "path": path, "body": body})
        return {"context": self.context} if self.answers else None


def ran(event: str, payload: object, server: Server, **environ: str) -> HookOutcome:
    return run_hook(event, json.dumps(payload), environ, server, lambda: NOW)


def timeless(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the time, and with the name of the project's folder: the scripts send no more of it."""
    plain: list[dict[str, Any]] = json.loads(json.dumps(requests))
    for request in plain:
        body = request["body"] or {}
        body.pop("timestamp", None)
        if "project" in body:
            body["project"] = body["project"].rpartition("/")[2]
    return plain


@each("run", [run for run in RECORDED if run["run"] not in APART])
def test_an_event_makes_the_requests_that_were_recorded(run: dict[str, Any]) -> None:
    told = Server()
    name, _, value = run["env"].partition("=")
    ran(run["event"], run["stdin"], told, **{name: value})
    known = [request for request in told.requests if request["path"] != PROMPT_CONTEXT]
    assert timeless(known) == timeless(run["requests"])


@each("source, sent", [("compact", True), ("clear", True), ("resume", False), (7, False)])
def test_a_start_after_which_the_agent_knows_nothing_says_so(source: Any, sent: bool) -> None:
    told = Server()
    ran("session-start", {"session_id": "s", "hook_event_name": "SessionStart", "source": source}, told)
    assert ("source" in told.requests[0]["body"]) is sent


def test_every_recorded_event_is_known() -> None:
    assert {run["event"] for run in RECORDED} | OWN == set(EVENTS)


def test_a_session_end_without_a_transcript_only_ends_the_session() -> None:
    run = next(run for run in RECORDED if run["run"] == "session-end-transcript-bridge")
    told = Server()
    ran("session-end", {**run["stdin"], "transcript_path": "/nowhere.jsonl"}, told, CLAUDE_MEMORY_BRIDGE="true")
    assert timeless(told.requests) == timeless(run["requests"][1:])


def test_stop_does_not_end_the_session() -> None:
    told = Server()
    assert ran("stop", {"session_id": "s", "hook_event_name": "Stop"}, told) == HookOutcome("", 0)
    assert told.requests == []


@each(
    "event, payload",
    [
        ("stop", {"hook_event_name": "Stop", "last_assistant_message": "It is the cache."}),
        ("agent-message", {"hook_event_name": "AfterAgent", "prompt_response": "It is the cache."}),
        ("agent-message", {"hook_event_name": "afterAgentResponse", "text": "It is the cache."}),
        (
            "agent-message",
            {"agent_action_name": "post_cascade_response", "tool_info": {"response": "It is the cache."}},
        ),
    ],
)
def test_what_the_agent_said_last_is_told_where_there_is_no_transcript(event: str, payload: Any) -> None:
    told = Server()
    ran(event, {"session_id": "s", **payload}, told)
    (request,) = told.requests
    assert request["body"]["hookType"] == "assistant_message"
    assert request["body"]["data"] == {"message": "It is the cache."}


def test_the_time_is_that_of_the_clock_in_the_recorded_form() -> None:
    told = Server()
    ran("prompt-submit", {"session_id": "s", "prompt": "p"}, told)
    assert told.requests[0]["body"]["timestamp"] == "2026-11-15T20:38:23.107Z"


@each(
    "payload, shape",
    [
        (
            {"session_id": "s", "hook_event_name": "SessionStart"},
            {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "known «facts»"}},
        ),
        ({"conversation_id": "c", "cursor_version": "1.7"}, {"additional_context": "known «facts»"}),
        ({"session_id": "c", "hook_event_name": "sessionStart"}, {"additional_context": "known «facts»"}),
    ],
)
def test_a_session_starts_with_its_context_in_the_shape_of_the_agent(payload: Any, shape: Any) -> None:
    assert json.loads(ran("session-start", payload, Server("known «facts»")).stdout) == shape


def test_no_context_prints_nothing_at_all() -> None:
    assert ran("session-start", {"session_id": "s"}, Server("")).stdout == ""
    assert ran("session-start", {"session_id": "s"}, Server(answers=False)).stdout == ""


def test_a_memory_that_cannot_be_written_still_gives_its_context() -> None:
    class ReadOnly(Server):
        def __call__(self, method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
            answer = super().__call__(method, path, body, timeout)
            return answer if path == "/agentmemory/context" else {"unavailable": "the disk is full"}

    told = ran("session-start", {"session_id": "s", "cwd": "/work/shop"}, server := ReadOnly("known facts")).stdout
    assert "known facts" in told
    assert "the disk is full" in told
    assert server.requests[-1]["body"]["project"] == server.requests[0]["body"]["project"]


def test_a_session_starts_with_the_alarm_that_its_user_has_to_hear() -> None:
    class Alarmed(Server):
        def __call__(self, method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
            return {"context": "known facts", "alarm": "The last restore drill failed"}

    told = ran("session-start", {"session_id": "s", "cwd": "/work/shop"}, Alarmed("")).stdout
    assert "known facts" in told
    assert "The last restore drill failed" in told


def test_context_can_be_turned_off() -> None:
    told = Server("facts")
    assert ran("session-start", {"session_id": "s"}, told, AGENTMEMORY_INJECT_CONTEXT="false").stdout == ""
    assert len(told.requests) == 1


def test_only_events_that_bring_context_print_anything() -> None:
    payload = {"session_id": "s", "tool_name": "Edit", "tool_input": {"file_path": "a.py"}, "prompt": "p"}
    silent = set(EVENTS) - {"session-start", "prompt-submit", "pre-compact", "pre-tool-use"}
    assert [name for name in silent if ran(name, payload, Server("facts")).stdout] == []


def test_context_that_gemini_puts_before_a_prompt_is_not_remembered_as_the_users() -> None:
    told = Server()
    said = "<hook_context>REMEMBERED-FACT</hook_context>\n\nhello <b>you</b>"  # as Gemini CLI 0.61 sends it
    ran("prompt-submit", {"session_id": "s", "hook_event_name": "BeforeAgent", "prompt": said}, told)
    assert told.requests[0]["body"]["data"] == {"prompt": "hello <b>you</b>"}


@each("event", ["UserPromptSubmit", "BeforeAgent"])
def test_a_prompt_brings_what_bears_on_it_in_the_shape_of_the_agent(event: str) -> None:
    told = Server("The limit is 240.")
    printed = ran("prompt-submit", {"session_id": "s", "hook_event_name": event, "prompt": "which limit?"}, told).stdout
    shape = {"hookEventName": event, "additionalContext": "The limit is 240."}
    assert json.loads(printed) == {"hookSpecificOutput": shape}
    assert [request["path"] for request in told.requests] == ["/agentmemory/observe", PROMPT_CONTEXT]


@each(
    "payload, switch",
    [
        ({"prompt": "which limit?"}, "false"),
        ({"prompt": "which limit?", "cursor_version": "1.7", "hook_event_name": "beforeSubmitPrompt"}, ""),
        ({"agent_action_name": "pre_user_prompt", "tool_info": {"user_prompt": "which limit?"}}, ""),
    ],
)
def test_a_prompt_of_an_agent_that_does_not_read_it_prints_nothing(payload: Any, switch: str) -> None:
    told = Server("The limit is 240.")
    assert ran("prompt-submit", {"session_id": "s", **payload}, told, AGENTMEMORY_INJECT_CONTEXT=switch).stdout == ""


def test_compacting_gets_its_context_as_plain_text() -> None:
    assert ran("pre-compact", {"session_id": "s"}, Server("facts")).stdout == "facts"


def test_files_about_to_be_touched_bring_context_when_asked_for() -> None:
    payload = {"session_id": "s", "tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
    shown = json.loads(ran("pre-tool-use", payload, Server("facts"), AGENTMEMORY_INJECT_CONTEXT="true").stdout)
    assert shown == {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "facts"}}


@each("output", ["z" * 8000, {"small": 1}, 7])
def test_short_tool_output_is_sent_as_it_is(output: Any) -> None:
    assert sent_output(output) == output


def sent_output(output: Any) -> Any:
    told = Server()
    ran("post-tool-use", {"session_id": "s", "tool_name": "Bash", "tool_response": output}, told)
    return told.requests[0]["body"]["data"]["tool_output"]


def test_long_tool_output_keeps_its_beginning_its_end_and_what_failed() -> None:
    green = [f"ok {number} - keeps the order of things" for number in range(1, 2_000)]
    green[1_000] = "not ok 1001 - applies the voucher before tax"
    kept = sent_output("\n".join(["begin", *green, "# fail 1"]))
    assert len(kept) <= 8000
    assert kept.startswith("begin\nok 1 ")
    assert kept.endswith("ok 1999 - keeps the order of things\n# fail 1")
    assert "not ok 1001 - applies the voucher before tax" in kept


def test_a_long_field_of_an_output_is_cut_and_the_fields_stay() -> None:
    kept = sent_output({"stdout": "y" * 9000 + "the end", "interrupted": False})
    assert kept["interrupted"] is False
    assert len(kept["stdout"]) <= 8000
    assert kept["stdout"].endswith("the end")


def test_an_image_inside_an_output_is_moved_and_the_rest_kept() -> None:
    told = Server()
    output = {"file": "/9j/abc", "size": 3, "other": "iVBORw0KGgo"}
    ran("post-tool-use", {"session_id": "s", "tool_name": "Read", "tool_response": output}, told)
    data = told.requests[0]["body"]["data"]
    assert data["image_data"] == "/9j/abc"
    assert data["tool_output"] == {**output, "file": "[image data extracted]"}


def test_a_long_tool_input_is_cut_inside_its_fields() -> None:
    told = Server()
    given = {"file_path": "a.py", "content": "x" * 9000, "edits": [{"new": "y" * 9000}], "n": 1}
    ran("post-tool-use", {"session_id": "s", "tool_name": "Write", "tool_input": given}, told)
    kept = told.requests[0]["body"]["data"]["tool_input"]
    assert (kept["file_path"], kept["n"]) == ("a.py", 1)
    assert len(kept["content"]) <= 8000
    assert len(kept["edits"][0]["new"]) <= 8000


@each("name", ["mcp__holdfast__memory_save", "mcp_holdfast_memory_save", "holdfast_memory_recall"])
def test_the_memorys_own_tools_are_not_remembered(name: str) -> None:
    told = Server()
    ran("post-tool-use", {"session_id": "s", "tool_name": name, "tool_response": "…"}, told)
    assert told.requests == []


def test_an_interrupted_tool_is_no_failure() -> None:
    told = Server()
    ran("post-tool-failure", {"session_id": "s", "tool_name": "Bash", "is_interrupt": True}, told)
    assert told.requests == []


def test_a_notification_that_only_waits_is_not_kept() -> None:
    told = Server()
    ran("notification", {"session_id": "s", "notification_type": "idle_prompt", "message": "m"}, told)
    assert told.requests == []


@each(
    "event, action, info, data",
    [
        ("prompt-submit", "pre_user_prompt", {"user_prompt": "hello"}, {"prompt": "hello"}),
        (
            "post-tool-use",
            "post_run_command",
            {"command_line": "npm i", "cwd": "/home/dev/proj"},
            {"tool_name": "run_command", "tool_input": {"command": "npm i"}},
        ),
        (
            "post-tool-use",
            "post_write_code",
            {"file_path": "/a.py", "edits": [{"old_string": "a", "new_string": "b"}]},
            {
                "tool_name": "write_code",
                "tool_input": {"file_path": "/a.py", "edits": [{"old_string": "a", "new_string": "b"}]},
            },
        ),
        (
            "post-tool-use",
            "post_mcp_tool_use",
            {
                "mcp_server_name": "github",
                "mcp_tool_name": "list",
                "mcp_tool_arguments": {"n": 1},
                "mcp_result": "r",
            },
            {"tool_name": "github_list", "tool_input": {"n": 1}, "tool_output": "r"},
        ),
    ],
)
def test_windsurf_actions_are_told_like_those_of_the_others(event: str, action: str, info: Any, data: Any) -> None:
    told = Server()
    ran(event, {"agent_action_name": action, "trajectory_id": "t-1", "tool_info": info}, told)
    assert told.requests[0]["body"]["sessionId"] == "t-1"
    assert told.requests[0]["body"]["data"] == data


def test_the_project_is_the_repository_above_the_folder(tmp_path: Path) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/src/deep").mkdir(parents=True)
    told = Server()
    ran("session-start", {"session_id": "s", "cwd": str(tmp_path / "repo/src/deep")}, told)
    ran("session-start", {"session_id": "s", "cwd": "/"}, told, AGENTMEMORY_PROJECT_NAME="named")
    assert [request["body"]["project"] for request in told.requests] == [str((tmp_path / "repo").resolve()), "named"]


def test_a_tool_that_wanders_stays_in_the_project_of_its_session(tmp_path: Path) -> None:
    told = Server()
    ran("prompt-submit", {"session_id": "s", "cwd": "/tmp"}, told, CLAUDE_PROJECT_DIR=str(tmp_path))
    assert told.requests[0]["body"]["project"] == str(tmp_path.resolve())


def test_agents_that_the_memory_itself_started_are_not_remembered() -> None:
    told = Server()
    ran("prompt-submit", {"session_id": "s"}, told, AGENTMEMORY_SDK_CHILD="1")
    ran("prompt-submit", {"session_id": "s", "entrypoint": "sdk-ts"}, told)
    assert told.requests == []


def test_nothing_a_server_does_can_fail_the_agent() -> None:
    def broken(method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
        raise RuntimeError("not even this")

    for event in EVENTS:
        assert run_hook(event, '{"session_id": "s"}', {}, broken, lambda: NOW).exit_code == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    "session_id sessionId cwd workspace_roots tool_name tool_input tool_response tool_result prompt error "
    "transcript_path agent_action_name tool_info last_assistant_message task_description notification_type".split()
)


@given(st.sampled_from(sorted(set(EVENTS) - {"post-commit"})), st.dictionaries(FIELDS, JSON, max_size=6))
def test_any_payload_leads_to_requests_that_can_be_sent(event: str, payload: dict[str, Any]) -> None:
    told = Server()
    assert ran(event, payload, told).exit_code == 0
    assert all(json.dumps(request["body"]) for request in told.requests)


@given(st.sampled_from(["session-start", "post-tool-use", "no-such-event"]), st.text(max_size=20))
def test_any_text_on_standard_input_exits_0(event: str, text: str) -> None:
    assert run_hook(event, text, {}, Server(), lambda: NOW).exit_code == 0


def test_blank_input_makes_no_request() -> None:
    told = Server()
    assert run_hook("session-start", "", {}, told, lambda: NOW) == HookOutcome()
    assert told.requests == []


# ── a commit ────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    def git(*words: str) -> None:
        who = ["-c", "user.name=T", "-c", "user.email=t@e.x", "-c", "init.defaultBranch=master"]
        dated = {
            "GIT_AUTHOR_DATE": "2026-11-15T20:38:18+00:00",
            "GIT_COMMITTER_DATE": "2026-11-15T20:38:18+00:00",
        }
        quiet = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "GIT_CONFIG_NOSYSTEM": "1",
            **dated,
        }
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, env=quiet)

    (tmp_path / "a.py").write_text("a\n", encoding="utf-8")
    git("init")
    git("add", "a.py")
    git("commit", "-m", "add a.py")
    git("remote", "add", "origin", "https://user:ghp_private@example.com/t/proj.git")
    return tmp_path


def test_a_commit_is_linked_to_the_session_as_recorded(repository: Path) -> None:
    run = next(run for run in RECORDED if run["run"] == "post-commit")
    told = Server()
    ran("post-commit", {"cwd": str(repository)}, told, AGENTMEMORY_SESSION_ID="sess-abc")
    (request,) = told.requests
    assert (request["method"], request["path"]) == ("POST", "/agentmemory/session/commit")
    expected = {**run["requests"][0]["body"], "sha": request["body"]["sha"]}
    assert request["body"] == {**expected, "repo": "https://example.com/t/proj.git"}
    assert len(request["body"]["sha"]) == 40


def test_a_password_in_the_remote_is_not_remembered(repository: Path) -> None:
    assert "ghp_private" not in json.dumps(commit_at(str(repository)))


def test_without_a_repository_no_commit_is_told(tmp_path: Path) -> None:
    told = Server()
    ran("post-commit", {"cwd": str(tmp_path)}, told)
    assert told.requests == []


# ── the real way to the server ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def listening() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    seen: list[dict[str, Any]] = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append({"path": self.path, "auth": self.headers.get("Authorization"), "body": body})
            codes = {"redirect": 302, "refuse": 401, "invalid": 400}
            code = next((code for word, code in codes.items() if word in self.path), 200)
            self.send_response(code)
            if code == 302:
                self.send_header("Location", "/agentmemory/elsewhere")
            self.end_headers()
            self.wfile.write(b"[1]" if "list" in self.path else b'{"context": "facts"}')

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}", seen
        http.shutdown()
        thread.join()


def test_a_request_carries_the_secret_and_brings_the_answer(
    listening: tuple[str, list[dict[str, Any]]],
) -> None:
    url, seen = listening
    assert server(url, "s3cret")("POST", "/agentmemory/context", {"a": 1}, 5) == {"context": "facts"}
    assert seen == [{"path": "/agentmemory/context", "auth": "Bearer s3cret", "body": b'{"a": 1}'}]


def test_a_request_without_a_body_is_sent_empty(listening: tuple[str, list[dict[str, Any]]]) -> None:
    url, seen = listening
    server(url, None)("POST", "/agentmemory/claude-bridge/sync", None, 5)
    assert (seen[0]["body"], seen[0]["auth"]) == (b"", None)


def test_an_event_that_a_server_does_not_let_in_is_not_taken(listening: tuple[str, list[dict[str, Any]]]) -> None:
    answer = server(listening[0], "no longer one")("POST", "/refuse", {}, 5)
    assert answer is not None
    assert answer["denied"]
    assert not is_taken(answer)


def test_what_the_server_will_never_take_is_answered_as_refused(
    listening: tuple[str, list[dict[str, Any]]],
) -> None:
    assert server(listening[0], None)("POST", "/invalid", {}, 5) == {"refused": 400}


@pytest.mark.parametrize("path", ["/redirect", "/list"])
def test_an_answer_that_is_no_use_counts_as_none(listening: tuple[str, list[dict[str, Any]]], path: str) -> None:
    url, seen = listening
    assert server(url, "s3cret")("POST", path, {}, 5) is None
    assert len(seen) == 1


def test_a_proxy_of_the_environment_does_not_see_loopback(
    listening: tuple[str, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert server(listening[0], None)("POST", "/x", {}, 5) == {"context": "facts"}


@each("url", ["http://127.0.0.1:9", "file:///etc/passwd", "not a url", "http://[bad"])
def test_a_server_that_is_not_there_counts_as_none(url: str) -> None:
    assert server(url, None)("POST", "/x", {}, 1) is None


def test_the_command_prints_the_context_and_exits_0(
    listening: tuple[str, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch, capfdbinary: Any, tmp_path: Path
) -> None:
    text = json.dumps({"session_id": "s", "cwd": "/"})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    environ = {"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_DAEMON": "off"}
    assert hook_main(["pre-compact", "--url", listening[0]], environ) == 0
    assert capfdbinary.readouterr().out == b"facts"


def test_the_command_exits_0_when_its_pipe_is_closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Closed(io.BytesIO):
        def write(self, data: Any) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Closed()))
    environ = {"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_DAEMON": "off"}
    assert hook_main(["stop", "--url", "http://127.0.0.1:9"], environ) == 0


@pytest.mark.parametrize("words", [["--help"], ["-h"], [], ["stop", "--help"]])
def test_help_explains_every_event_and_what_is_printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert hook_main(words, {}) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in EVENTS)
    assert "spool" in printed


def test_the_hook_starts_with_the_standard_library_alone() -> None:
    code = "import sys, holdfast.cli.hook.hook_command; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=WAIT_SECONDS)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    known = sys.stdlib_module_names | {"holdfast", "__main__", "__mp_main__", "certifi", "sitecustomize"}
    assert {name for name in loaded - known if not name.startswith(("_", "~"))} == set()
    assert "holdfast.cli.hook.http" not in run.stdout.split()
