"""`holdfast hook <event>`: tell the server what an agent's hook reports, and hand the agent its context.

Agents run this before and after their own work, so it must start fast (standard library only, and the
rest imported when needed), give up soon, and never fail: it always exits 0 and prints only what the
agent should read. It knows the agents' payloads and the server's requests, nothing else.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from holdfast.cli import hook_payload as read

# Long enough for a commit on a busy disk, short enough that an agent whose server hangs stays usable.
# Claude Code ends a SessionEnd hook after 1.5 s.
QUICK, START, COMPACT, TRANSCRIPT = 1.0, 1.5, 3.0, 3.0
MOST_PIECES = 8

MESSAGE_CHARS, TASK_CHARS = 4000, 2000
COMPACT_TOKENS = 1500

_FILE_TOOLS = frozenset({"edit", "write", "create", "read", "view", "glob", "grep"})
# Holdfast's own tools, as the agents name them: what they say is in the memory already.
_OWN_TOOL = re.compile(r"(?:mcp_{1,2})?holdfast_{1,2}")


class Send(Protocol):
    def __call__(self, method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
        """The server's answer; None when there was none in time or it refused. Never raises."""
        ...


class HookOutcome(NamedTuple):
    """What to print for the agent; the exit code is 0 whatever happened."""

    stdout: str = ""
    exit_code: int = 0


class Call(NamedTuple):
    """One hook call: the agent's payload, its environment, the way to the server, and the time."""

    data: dict[str, Any]
    environ: Mapping[str, str]
    send: Send
    now_ms: Callable[[], int]
    folder: str | None = None

    @property
    def session(self) -> str:
        return read.session(self.data)

    @property
    def cwd(self) -> str:
        return read.cwd(self.data, self.environ)

    def field(self, *names: str) -> Any:
        return read.first(self.data, *names)

    def asks(self, name: str) -> str:
        """What the user set a switch of the earlier system to."""
        return self.environ.get(name, "").strip().lower()


def run_hook(
    event: str,
    stdin_text: str,
    environ: Mapping[str, str],
    send: Send,
    now_ms: Callable[[], int] | None = None,
    folder: str | None = None,
) -> HookOutcome:
    """Send the requests of one event; the outcome holds what the agent should read."""
    try:
        blank = event in WITHOUT_PAYLOAD and not stdin_text.strip()
        data = read.payload("{}" if blank else stdin_text)
        act = EVENTS.get(event)
        if act is None or data is None or _inside_summary(data, environ):
            return HookOutcome()
        return HookOutcome(act(Call(data, environ, send, now_ms or _system_now, folder)))
    except Exception:  # noqa: BLE001 — the edge to the agent: its work must go on whatever is wrong here
        return HookOutcome()


def hook_main(event: str, url: str, secret: str | None, folder: str | None = None) -> int:
    """The command: read the payload from standard input, act, print, and exit 0."""
    try:
        text = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace")
        outcome = run_hook(event, text, os.environ, server(url, secret), folder=folder)
        sys.stdout.buffer.write(outcome.stdout.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except Exception:  # noqa: BLE001 — as above; a closed pipe is no reason to stop the agent
        return 0
    return 0


def server(url: str, secret: str | None) -> Send:
    """The real way to the server, over HTTP."""

    def send(method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
        from holdfast.cli.hook_http import ask  # urllib takes 30 ms to import; unanswered events do without

        return ask(url, secret, method, path, body, timeout)

    return send


def session_start(call: Call) -> str:
    """Open the session; its context goes to the agent unless the user turned that off."""
    cwd = call.cwd
    session = read.session(call.data, f"ses_{call.now_ms():x}")
    body = {"sessionId": session, "project": read.project(cwd, call.environ), "cwd": cwd}
    answer = call.send("POST", "/agentmemory/session/start", body, START)
    if call.asks("AGENTMEMORY_INJECT_CONTEXT") == "false":
        return ""
    return _shaped(call, "SessionStart", _context(answer))


def prompt_submit(call: Call) -> str:
    return _observe(call, "prompt_submit", {"prompt": read.prompt(call.data)})


def pre_tool_use(call: Call) -> str:
    """Ask what is known about the files a tool is going to touch; only when the user wants it."""
    name, given = call.field("tool_name", "toolName"), call.field("tool_input", "toolArgs")
    kind = name.lower() if isinstance(name, str) else ""
    if call.asks("AGENTMEMORY_INJECT_CONTEXT") != "true" or kind not in _FILE_TOOLS or not isinstance(given, dict):
        return ""
    files = read.texts(given, ("path", "file") if kind == "grep" else ("file_path", "path", "file", "pattern"))
    if not files:
        return ""
    terms = read.texts(given, ("pattern",)) if kind in ("grep", "glob") else []
    body = {"sessionId": call.session, "files": files, "terms": terms, "toolName": name}
    return _shaped(call, "PreToolUse", _context(call.send("POST", "/agentmemory/enrich", body, QUICK)))


def post_tool_use(call: Call) -> str:
    name = call.field("tool_name", "toolName")
    if isinstance(name, str) and _OWN_TOOL.match(name):
        return ""
    image, output = read.image_apart(read.tool_output(call.data))
    given = read.clipped(call.field("tool_input", "toolArgs"))
    data = {"tool_name": name, "tool_input": given, "tool_output": read.cut(output), "image_data": image}
    data["tool_use_id"] = read.call_id(call.data)
    return _observe(call, "post_tool_use", data)


def post_tool_failure(call: Call) -> str:
    if call.field("is_interrupt", "isInterrupt"):
        return ""  # the user stopped it: nothing failed
    data = {
        "tool_name": call.field("tool_name", "toolName"),
        "tool_input": read.as_text(call.field("tool_input", "toolArgs"))[:MESSAGE_CHARS],
        "error": read.as_text(call.field("error", "errorMessage", "error_message"))[:MESSAGE_CHARS],
        "tool_use_id": read.call_id(call.data),
    }
    return _observe(call, "post_tool_failure", data)


def pre_compact(call: Call) -> str:
    """The context as plain text: Claude Code hands what PreCompact prints to whoever writes the summary."""
    if call.asks("CLAUDE_MEMORY_BRIDGE") == "true":
        call.send("POST", "/agentmemory/claude-bridge/sync", {}, COMPACT)
    _said_since(call)
    project = read.project(call.cwd, call.environ)
    body = {"sessionId": call.session, "project": project, "budget": COMPACT_TOKENS}
    return _context(call.send("POST", "/agentmemory/context", body, COMPACT))


def subagent_start(call: Call) -> str:
    return _observe(call, "subagent_start", _subagent(call))


def subagent_stop(call: Call) -> str:
    last = call.field("last_assistant_message")
    message = last[:MESSAGE_CHARS] if isinstance(last, str) else ""
    return _observe(call, "subagent_stop", {**_subagent(call), "last_message": message})


def notification(call: Call) -> str:
    kind = call.field("notification_type", "notificationType")
    if kind != "permission_prompt":
        return ""  # the others say that the agent waits, which is no event worth keeping
    data = {"notification_type": kind, "title": call.field("title"), "message": call.field("message")}
    return _observe(call, "notification", data)


def task_completed(call: Call) -> str:
    about = call.field("task_description")
    names = ("task_id", "task_subject", "teammate_name", "team_name")
    data = {name: call.field(name) for name in names}
    data["task_description"] = about[:TASK_CHARS] if isinstance(about, str) else ""
    return _observe(call, "task_completed", data)


def stop(call: Call) -> str:
    """What was said and done since the last time; the session goes on until its own end."""
    _said_since(call)
    return ""


def _said_since(call: Call) -> None:
    """Send what the transcript has gained; without one, what the agent said last."""
    last = read.last_message(call.data)
    path = read.transcript(call.data)
    sent = path is not None and call.folder is not None and _transcript(call, path, call.folder, last)
    if not sent and last:
        _observe(call, "assistant_message", {"message": last})


def _transcript(call: Call, path: str, folder: str, last: str) -> bool:
    """Send the pieces of a transcript that are new; whether there were any."""
    from holdfast.cli.hook_transcript import keep_mark, next_piece

    cwd, sent = call.cwd, False
    for _ in range(MOST_PIECES):
        piece = next_piece(path, folder)
        if piece is None:
            break
        body = {
            "sessionId": call.session,
            "project": read.project(cwd, call.environ),
            "cwd": cwd,
            "timestamp": _iso(call.now_ms()),
            "text": piece.text,
            "firstLine": piece.mark.lines + 1,
            "lastMessage": "" if piece.more else last,
        }
        answer = call.send("POST", "/agentmemory/session/transcript", body, TRANSCRIPT)
        lines = answer.get("consumedLines") if answer else None
        if not isinstance(lines, int):
            break
        sent = True
        if not lines:
            break
        keep_mark(path, folder, piece.after(lines))
    return sent


def session_end(call: Call) -> str:
    """Close the session; prompts that only the transcript knows are sent first."""
    _said_since(call)
    for prompt in read.transcript_prompts(call.data):
        if _sent(call, "prompt_submit", {"prompt": prompt}) is None:
            break  # the server is away: fifty time-outs would keep the agent from exiting
    if call.asks("CLAUDE_MEMORY_BRIDGE") == "true":
        call.send("POST", "/agentmemory/claude-bridge/sync", None, QUICK)
    call.send("POST", "/agentmemory/session/end", {"sessionId": call.session}, QUICK)
    return ""


def post_commit(call: Call) -> str:
    """Link a commit to the session; for .git/hooks/post-commit."""
    from holdfast.cli.hook_git import commit_at  # starts git: only here

    commit = commit_at(call.cwd, call.environ.get("AGENTMEMORY_COMMIT_SHA"))
    if commit is None:
        return ""
    session = read.session(call.data, call.environ.get("AGENTMEMORY_SESSION_ID", ""))
    call.send("POST", "/agentmemory/session/commit", {"sessionId": session, **commit} if session else commit, START)
    return ""


EVENTS: dict[str, Callable[[Call], str]] = {
    "session-start": session_start,
    "prompt-submit": prompt_submit,
    "pre-tool-use": pre_tool_use,
    "post-tool-use": post_tool_use,
    "post-tool-failure": post_tool_failure,
    "pre-compact": pre_compact,
    "subagent-start": subagent_start,
    "subagent-stop": subagent_stop,
    "notification": notification,
    "task-completed": task_completed,
    "stop": stop,
    "session-end": session_end,
    "post-commit": post_commit,
}
WITHOUT_PAYLOAD = frozenset({"post-commit"})  # git hands its hooks nothing on standard input


def _observe(call: Call, kind: str, data: dict[str, Any]) -> str:
    _sent(call, kind, data)
    return ""


def _sent(call: Call, kind: str, data: dict[str, Any]) -> dict[str, Any] | None:
    cwd = call.cwd
    body = {
        "hookType": kind,
        "sessionId": call.session,
        "project": read.project(cwd, call.environ),
        "cwd": cwd,
        "timestamp": _iso(call.now_ms()),
        "data": {name: value for name, value in data.items() if value is not None},
    }
    return call.send("POST", "/agentmemory/observe", body, QUICK)


def _context(answer: dict[str, Any] | None) -> str:
    context = answer.get("context") if answer else None
    return context if isinstance(context, str) else ""


def _shaped(call: Call, event: str, context: str) -> str:
    """The context in the form that the agent reads. Claude Code, Codex, Gemini CLI and VS Code share one."""
    if not context:
        return ""
    if "cursor_version" in call.data or call.field("hook_event_name") == "sessionStart":
        return json.dumps({"additional_context": context}) if event == "SessionStart" else ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})


def _subagent(call: Call) -> dict[str, Any]:
    named = call.field("agent_id", "agentName")
    return {"agent_id": named, "agent_type": call.field("agent_type", "agentDisplayName", "agentName")}


def _inside_summary(data: dict[str, Any], environ: Mapping[str, str]) -> bool:
    """An agent that the memory server itself started must not be remembered."""
    return environ.get("AGENTMEMORY_SDK_CHILD") == "1" or data.get("entrypoint") == "sdk-ts"


def _iso(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03d}Z"


def _system_now() -> int:
    from holdfast.system import SystemClock

    return SystemClock().now_ms()
