"""What each event of an agent's hooks sends to the server, and what the agent gets to read.

Nothing here raises because of a server: what must not be lost and cannot be delivered goes to the spool.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from holdfast.cli.hook import hook_payload as read

# Long enough for a commit on a busy disk, short enough that an agent whose server hangs stays usable.
# Claude Code ends a SessionEnd hook after 1.5 s: what is not delivered by then must be in the spool.
# The start of a session has longer, since its context is worth the wait; so has the server that a hook started.
QUICK, START, COMPACT, TRANSCRIPT, END = 1.0, 8.0, 3.0, 3.0, 1.0
LEAST = 0.1
MOST_PIECES = 8

MESSAGE_CHARS, TASK_CHARS = 4000, 2000
ANEW = ("compact", "clear")  # starts of a session whose agent has lost what it was told
COMPACT_TOKENS = 1500

_FILE_TOOLS = frozenset({"edit", "write", "create", "read", "view", "glob", "grep"})
_OBSERVE, _PIECE = "/agentmemory/observe", "/agentmemory/session/transcript"


class SendEvent(Protocol):
    def __call__(self, method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
        """The server's answer; None when there was none in time or it refused. Never raises."""
        ...


class SpoolEvent(Protocol):
    def __call__(self, path: str, body: object) -> bool:
        """Put a request into the spool; whether it is safe there. Never raises."""
        ...


class HookCall(NamedTuple):
    """One hook call: the agent's payload, its environment, the way to the server, the time and the data folder."""

    data: dict[str, Any]
    environ: Mapping[str, str]
    send: SendEvent
    now_ms: Callable[[], int]
    keep: SpoolEvent
    folder: str | None = None

    @property
    def session(self) -> str:
        return read.session(self.data)

    @property
    def place(self) -> dict[str, str]:
        """The session's project and working folder, as every request has them."""
        cwd = read.cwd(self.data, self.environ)
        return {"project": read.project(cwd, self.environ), "cwd": cwd}

    @property
    def now(self) -> str:
        ms = self.now_ms()
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03d}Z"

    def field(self, *names: str) -> Any:
        return read.first(self.data, *names)

    def wants(self, name: str) -> str:
        """What the user set a switch of the earlier system to."""
        return self.environ.get(name, "").strip().lower()

    def deliver(self, path: str, body: object, timeout: float) -> dict[str, Any] | None:
        """Deliver what must not be lost: now, or by the spool."""
        answer = self.send("POST", path, body, timeout)
        if not is_taken(answer):
            self.keep(path, body)
        return answer


def session_start(call: HookCall) -> str:
    """Open the session; its context goes to the agent unless the user turned that off."""
    session = read.session(call.data, f"ses_{call.now_ms():x}")
    body = {"sessionId": session, **call.place, "timestamp": call.now}
    source = call.field("source")
    if source in ANEW:
        body["source"] = source
    answer = call.deliver("/agentmemory/session/start", body, START)
    if call.wants("AGENTMEMORY_INJECT_CONTEXT") == "false":
        return ""
    told = (_context(answer) or _readable(call, answer), _missing(answer), _lost(call, answer), _alarm(answer))
    return _shaped(call, "SessionStart", "\n\n".join(filter(None, told)))


def prompt_submit(call: HookCall) -> str:
    """Keep the prompt; what clearly bears on it goes to the agent, unless the user turned that off."""
    prompt = read.prompt(call.data)
    if isinstance(prompt, str) and not prompt.strip():  # Qwen Code reports the results of tools too, as no words
        return ""
    _observe(call, "prompt_submit", {"prompt": prompt})
    if call.wants("AGENTMEMORY_INJECT_CONTEXT") == "false" or read.is_deaf(call.data):
        return ""
    body = {"sessionId": call.session, **call.place, "prompt": prompt}
    named = call.field("hook_event_name")
    event = named if isinstance(named, str) else "UserPromptSubmit"
    return _shaped(call, event, _context(call.send("POST", "/agentmemory/context/prompt", body, QUICK)))


def pre_tool_use(call: HookCall) -> str:
    """Query what is known about the files a tool is going to touch; only when the user wants it."""
    name, given = call.field("tool_name", "toolName"), call.field("tool_input", "toolArgs")
    kind = name.lower() if isinstance(name, str) else ""
    if call.wants("AGENTMEMORY_INJECT_CONTEXT") != "true" or kind not in _FILE_TOOLS or not isinstance(given, dict):
        return ""
    files = read.texts(given, ("path", "file") if kind == "grep" else ("file_path", "path", "file", "pattern"))
    if not files:
        return ""
    terms = read.texts(given, ("pattern",)) if kind in ("grep", "glob") else []
    body = {"sessionId": call.session, "files": files, "terms": terms, "toolName": name}
    return _shaped(call, "PreToolUse", _context(call.send("POST", "/agentmemory/enrich", body, QUICK)))


def post_tool_use(call: HookCall) -> str:
    name = call.field("tool_name", "toolName")
    if isinstance(name, str) and read.is_own_tool(name):
        return ""
    if "clineVersion" in call.data and call.field("error"):  # Cline has one event for both
        return post_tool_failure(call)
    image, output = read.split_image(read.tool_output(call.data))
    given = read.clipped(call.field("tool_input", "toolArgs"))
    data = {"tool_name": name, "tool_input": given, "tool_output": read.cut(output), "image_data": image}
    _observe(call, "post_tool_use", {**data, "tool_use_id": read.call_id(call.data)})
    return ""


def post_tool_failure(call: HookCall) -> str:
    if call.field("is_interrupt", "isInterrupt"):
        return ""  # the user stopped it: nothing failed
    error = read.as_text(call.field("error", "errorMessage", "error_message"))
    data = {
        "tool_name": call.field("tool_name", "toolName"),
        "tool_input": read.as_text(call.field("tool_input", "toolArgs"))[:MESSAGE_CHARS],
        "error": read.shortened(error),
        "tool_use_id": read.call_id(call.data),
    }
    _observe(call, "post_tool_failure", data)
    return ""


def pre_compact(call: HookCall) -> str:
    """The context as plain text: Claude Code hands what PreCompact prints to the model that writes the summary."""
    _said_since(call, time.monotonic() + TRANSCRIPT)
    if call.wants("CLAUDE_MEMORY_BRIDGE") == "true":
        call.send("POST", "/agentmemory/claude-bridge/sync", {}, COMPACT)
    body = {"sessionId": call.session, "project": call.place["project"], "budget": COMPACT_TOKENS}
    return _context(call.send("POST", "/agentmemory/context", body, COMPACT))


def subagent_start(call: HookCall) -> str:
    _observe(call, "subagent_start", _subagent(call))
    return ""


def subagent_stop(call: HookCall) -> str:
    """The subagent's result, from its own transcript; without one, its last message."""
    last, path = read.last_message(call.data), read.transcript(call.data, "agent_transcript_path")
    ends = time.monotonic() + TRANSCRIPT
    sent = path is not None and call.folder is not None and _transcript(call, path, call.folder, last, ends)
    _observe(call, "subagent_stop", {**_subagent(call), "last_message": "" if sent else last})
    return ""


def notification(call: HookCall) -> str:
    kind = call.field("notification_type", "notificationType")
    if kind == "permission_prompt":  # the others report that the agent waits, which is not worth keeping
        data = {"notification_type": kind, "title": call.field("title"), "message": call.field("message")}
        _observe(call, "notification", data)
    return ""


def task_completed(call: HookCall) -> str:
    about = call.field("task_description")
    names = ("task_id", "task_subject", "teammate_name", "team_name")
    data = {name: call.field(name) for name in names}
    data["task_description"] = about[:TASK_CHARS] if isinstance(about, str) else ""
    _observe(call, "task_completed", data)
    return ""


def stop(call: HookCall) -> str:
    """What was said and done since the last time; the session goes on until its own end."""
    _said_since(call, time.monotonic() + TRANSCRIPT)
    return ""


def agent_message(call: HookCall) -> str:
    """What the agent said, where the agent's own event carries it, or the file that it names."""
    message, path = read.last_message(call.data), read.own_transcript(call.data)
    if not message and path is not None:
        from holdfast.cli.hook.last_words import last_words

        message = last_words(path)[: read.SAID_CHARS]
    if message:
        _observe(call, "assistant_message", {"message": message})
    return ""


def session_end(call: HookCall) -> str:
    """Close the session; what the transcript has gained is sent first."""
    ends = time.monotonic() + END
    _said_since(call, ends)
    if call.wants("CLAUDE_MEMORY_BRIDGE") == "true":
        call.send("POST", "/agentmemory/claude-bridge/sync", None, _left(ends))
    call.deliver("/agentmemory/session/end", {"sessionId": call.session, "timestamp": call.now}, _left(ends))
    return ""


def post_commit(call: HookCall) -> str:
    """Link a commit to the session; for .git/hooks/post-commit."""
    from holdfast.cli.hook.git import commit_at  # starts git: only here

    commit = commit_at(call.place["cwd"], call.environ.get("AGENTMEMORY_COMMIT_SHA"))
    if commit is None:
        return ""
    session = read.session(call.data, call.environ.get("AGENTMEMORY_SESSION_ID", ""))
    body = {"sessionId": session, **commit} if session else commit
    call.deliver("/agentmemory/session/commit", body, QUICK)
    return ""


class HookEvent(NamedTuple):
    """An event: what it does, and what `holdfast hook --help` says of it."""

    act: Callable[[HookCall], str]
    help: str


EVENTS: dict[str, HookEvent] = {
    "session-start": HookEvent(session_start, "Opens the session. Prints the context of the project."),
    "prompt-submit": HookEvent(
        prompt_submit, "Stores the user's prompt, and prints memories that are clearly relevant."
    ),
    "pre-tool-use": HookEvent(
        pre_tool_use, "With AGENTMEMORY_INJECT_CONTEXT=true, prints what is known about the files a tool will use."
    ),
    "post-tool-use": HookEvent(post_tool_use, "Stores a summary of a tool call."),
    "post-tool-failure": HookEvent(post_tool_failure, "Stores a failed tool call and its error."),
    "pre-compact": HookEvent(
        pre_compact, "Stores new lines of the transcript. Prints the context for the agent's summary."
    ),
    "subagent-start": HookEvent(subagent_start, "Stores the start of a subagent."),
    "subagent-stop": HookEvent(subagent_stop, "Stores the result of a subagent, and its transcript."),
    "notification": HookEvent(notification, "Stores a permission request."),
    "task-completed": HookEvent(task_completed, "Stores a completed task."),
    "stop": HookEvent(stop, "Stores new lines of the transcript: responses, prompts, tool calls."),
    "agent-message": HookEvent(agent_message, "Stores the agent's message, for agents that send it with the event."),
    "session-end": HookEvent(session_end, "Stores new lines of the transcript, and closes the session."),
    "post-commit": HookEvent(post_commit, "Links the newest commit to the session; for .git/hooks/post-commit."),
}
WITHOUT_PAYLOAD = frozenset({"post-commit"})  # git hands its hooks nothing on standard input


def _observe(call: HookCall, kind: str, data: dict[str, Any], timeout: float = QUICK) -> None:
    body = {
        "hookType": kind,
        "sessionId": call.session,
        **call.place,
        "timestamp": call.now,
        "data": {name: value for name, value in data.items() if value is not None},
    }
    call.deliver(_OBSERVE, body, timeout)


def _left(ends: float) -> float:
    """The seconds until a moment of the steady clock."""
    return max(LEAST, ends - time.monotonic())


def _said_since(call: HookCall, ends: float) -> None:
    """Send what the transcript has gained; without one, what the agent said last."""
    last, path = read.last_message(call.data), read.transcript(call.data)
    sent = path is not None and call.folder is not None and _transcript(call, path, call.folder, last, ends)
    if not sent and last:
        _observe(call, "assistant_message", {"message": last}, _left(ends))


def _transcript(call: HookCall, path: str, folder: str, last: str, ends: float) -> bool:
    """Send the pieces of a transcript that are new, to the spool once the time is up; whether there were any."""
    from holdfast.cli.hook.transcript_position import keep_mark, next_piece

    sent = False
    for _ in range(MOST_PIECES):
        piece = next_piece(path, folder)
        if piece is None:
            break
        body = {
            "sessionId": call.session,
            **call.place,
            "timestamp": call.now,
            "text": piece.text,
            "firstLine": piece.mark.lines + 1,
            "lastMessage": "" if piece.more else last,
        }
        answer = call.send("POST", _PIECE, body, _left(ends)) if time.monotonic() < ends else None
        lines = answer.get("consumedLines") if answer else None
        if not is_taken(answer):
            lines = piece.settled_lines() if call.keep(_PIECE, body) else None
        if not isinstance(lines, int):
            break
        sent = True
        if not lines or not keep_mark(path, folder, piece.after(lines)) or not piece.more:
            break
    return sent


def _context(answer: dict[str, Any] | None) -> str:
    context = answer.get("context") if answer else None
    return context if isinstance(context, str) else ""


def _readable(call: HookCall, answer: dict[str, Any] | None) -> str:
    """The context where the session could not be written: a full disk or a damaged memory can still be read."""
    if answer is None or "unavailable" not in answer:
        return ""
    return _context(call.send("POST", "/agentmemory/context", {"sessionId": call.session, **call.place}, START))


def _missing(answer: dict[str, Any] | None) -> str:
    """Why the agent gets no context, or not all of it, other than because nothing is known."""
    said = answer.get("unavailable") or answer.get("notice") if answer else None
    return f"Holdfast cannot recall everything: {said}" if said else ""


def _alarm(answer: dict[str, Any] | None) -> str:
    said = answer.get("alarm") if answer else None
    return f"Holdfast, for the user: {said}" if isinstance(said, str) else ""


def _lost(call: HookCall, answer: dict[str, Any] | None) -> str:
    """What the user has to know of the spool: events that were lost, and a disk that is full now."""
    if call.folder is None:
        return ""
    from holdfast.local.spool import spool_status
    from holdfast.local.spool_space import FULL_BYTES, free_bytes

    said = []
    free = free_bytes(call.folder) if answer is None else None
    if free is not None and free < FULL_BYTES:
        said.append(f"Holdfast cannot run: the disk of {call.folder} is full. Free disk space.")
    if lost := spool_status(call.folder).dropped:
        said.append(
            f"Holdfast lost {lost} {'event' if lost == 1 else 'events'} of hooks because the disk or the spool "
            "was full. Tell the user to run: holdfast doctor"
        )
    return "\n\n".join(said)


def is_taken(answer: dict[str, Any] | None) -> bool:
    """Whether the server has dealt with the request; otherwise it has to be kept."""
    return answer is not None and "unavailable" not in answer


def _shaped(call: HookCall, event: str, context: str) -> str:
    """The context in the form that the agent reads. Claude Code, Codex, Gemini CLI and most others share one."""
    if not context:
        return ""
    if "clineVersion" in call.data:
        return json.dumps({"context": context})
    if read.is_copilot(call.data):
        return json.dumps({"additionalContext": context})
    if "cursor_version" in call.data or call.field("hook_event_name") == "sessionStart":
        return json.dumps({"additional_context": context}) if event == "SessionStart" else ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})


def _subagent(call: HookCall) -> dict[str, Any]:
    named = call.field("agent_id", "agentName")
    return {"agent_id": named, "agent_type": call.field("agent_type", "agentDisplayName", "agentName")}
