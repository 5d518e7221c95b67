"""The lines people read first: a title that says what happened, the input in brief, the story on one line."""

from __future__ import annotations

import re

from holdfast.intake.event.details import DetailChange, Details, todo_items
from holdfast.intake.event.hook_event import HookEvent
from holdfast.intake.event.text_cleanup import readable
from holdfast.intake.event.tool_kinds import split_tool
from holdfast.intake.event.touched_files import short_path
from holdfast.text.excerpt import clip, one_line

TITLE_CHARS = 80
SUBTITLE_CHARS = 120
NARRATIVE_CHARS = 400
FAILURE_CHARS = 50
SPOKEN_HOOKS = frozenset({"prompt_submit", "assistant_message", "subagent_stop"})
_TAIL_PIPE = re.compile(r"(?: 2>&1| ?\| ?(?:tail|head)\b[^|&;]*)+$")


def title_of(happening: HookEvent, details: Details) -> str:
    """At most 80 characters; never empty."""
    given = happening.fields.get("title")
    make = _TITLES.get(happening.kind, _other)
    title = make(happening, details) or _other(happening, details)
    if isinstance(given, str) and given.strip() and happening.kind not in _TITLES:
        title = given
    return clip(title, TITLE_CHARS) or "Observed"


def _error(happening: HookEvent, details: Details) -> str:
    what = happening.tool or _spoken_hook(happening.hook)
    reason = _failure(details) or details.outcome.tests or details.outcome.error_line
    return f"{_tool_words(what)} failed: {reason}" if reason else f"{_tool_words(what)} failed"


def _command(happening: HookEvent, details: Details) -> str:
    outcome = details.outcome
    end = outcome.tests or (f"exit {outcome.exit_code}" if outcome.exit_code else "failed" if outcome.failed else "")
    failure = _failure(details)
    room = TITLE_CHARS - len("Ran : ") - len(failure or end)
    line = details.command.partition("\n")[0][:400]
    command = clip(_TAIL_PIPE.sub("", line) or line, max(20, room))
    if not command:
        return ""
    if failure:
        return f"{command} failed: {failure}"
    return f"Ran {command}: {end}" if end else f"Ran {command}"


def _failure(details: Details) -> str:
    """What failed, by its name; how many more did."""
    failing = details.outcome.failing
    if not failing:
        return ""
    more = f" and {len(failing) - 1} more" if len(failing) > 1 else ""
    return clip(failing[0], FAILURE_CHARS - len(more)) + more


def _change(happening: HookEvent, details: Details) -> str:
    changes = details.changes or tuple(DetailChange(path, "Edited") for path in details.files)
    if not changes:
        return ""
    verbs = {change.verb for change in changes}
    verb = changes[0].verb if len(verbs) == 1 else "Changed"
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    failed = " (failed)" if details.outcome.failed else ""
    return f"{verb} {short_path(changes[0].path, details.cwd)}{more}{failed}"


def _read(happening: HookEvent, details: Details) -> str:
    listing = "list" in happening.tool.lower() or happening.tool.lower() == "ls"
    verb = "Listed" if listing else "Read"
    if not details.files:
        return f"{verb} the folder" if listing else ""
    more = f" and {len(details.files) - 1} more" if len(details.files) > 1 else ""
    return f"{verb} {short_path(details.files[0], details.cwd)}{more}"


def _search(happening: HookEvent, details: Details) -> str:
    if not details.query:
        return ""
    where = f" in {short_path(details.files[0], details.cwd)}" if details.files else ""
    return f"Searched for {clip(details.query, max(16, 66 - len(where)))}{where}"


def _web(happening: HookEvent, details: Details) -> str:
    if details.url:
        return f"Fetched {details.url}"
    return f"Searched the web for {details.query}" if details.query else ""


def _conversation(happening: HookEvent, details: Details) -> str:
    if happening.prompt:
        return f"Asked: {happening.prompt}"
    if happening.hook == "prompt_submit" and happening.said:
        return f"Asked: {happening.said}"
    verb = "Thought" if happening.hook == "reasoning" else "Answered"
    return f"{verb}: {happening.said}" if happening.said else ""


def _subagent(happening: HookEvent, details: Details) -> str:
    items = todo_items(happening)
    if items:
        return f"Tasks: {sum(done for _, done in items)} of {len(items)} done"
    task = happening.fields.get("task_subject")
    if isinstance(task, str) and task.strip():
        return f"Task completed: {task}"
    name = _agent_name(happening)
    if happening.hook == "subagent_start":
        about = happening.said or happening.prompt
        return f"Subagent {name} started: {about}" if about else f"Subagent {name} started"
    if happening.hook == "subagent_stop":
        return f"Subagent {name} finished: {happening.said}" if happening.said else f"Subagent {name} finished"
    about = happening.input.get("description") or happening.input.get("prompt") or happening.input_text
    return f"Delegated to {name}: {about}" if isinstance(about, str) and about else ""


def _agent_name(happening: HookEvent) -> str:
    names = [
        happening.fields.get("agent_type"),
        happening.fields.get("agent"),
        happening.input.get("subagent_type"),
    ]
    return next((name for name in names if isinstance(name, str) and name), "agent")


def _notification(happening: HookEvent, details: Details) -> str:
    title, said = happening.fields.get("title"), happening.said
    parts = [part for part in (title, said) if isinstance(part, str) and part.strip()]
    return ": ".join(parts)


def _other(happening: HookEvent, details: Details) -> str:
    if happening.tool:
        items = todo_items(happening)
        if items:
            return f"Updated the plan: {sum(done for _, done in items)} of {len(items)} done"
        return f"Used {_tool_words(happening.tool)}"
    spoken = _spoken_hook(happening.hook)
    return f"{spoken}: {happening.said}" if happening.said and spoken else spoken or happening.said


_TITLES = {
    "error": _error,
    "command_run": _command,
    "file_edit": _change,
    "file_write": _change,
    "file_read": _read,
    "search": _search,
    "web_fetch": _web,
    "conversation": _conversation,
    "subagent": _subagent,
    "notification": _notification,
}


def _tool_words(tool: str) -> str:
    server, bare = split_tool(tool)
    return f"{server} {bare}" if server else bare


def _spoken_hook(hook: str) -> str:
    return hook.replace("_", " ").capitalize()


def subtitle_of(happening: HookEvent, details: Details) -> str:
    """The input in brief, at most 120 characters; empty when the title or the narrative has all of it."""
    if happening.hook in SPOKEN_HOOKS:
        return ""
    return clip(details.command or _brief_input(happening), SUBTITLE_CHARS)


def _brief_input(happening: HookEvent) -> str:
    return happening.input_text or readable(happening.input) or happening.prompt


def narrative_of(happening: HookEvent, details: Details) -> str:
    """What was said, whole; else prompt | input | output on one line of at most 400 characters, each its fair share."""
    if happening.hook in SPOKEN_HOOKS and (happening.prompt or happening.said):
        return happening.prompt or happening.said
    outcome = details.outcome
    ended = "; ".join(dict.fromkeys(filter(None, (*outcome.failing[:2], outcome.tests, outcome.error_line))))
    output = happening.output_text or happening.error
    output = f"{ended}; {output}" if ended and ended not in output[:200] else output
    parts = [
        happening.prompt,
        happening.input_text or details.command or readable(happening.input),
        output,
        happening.said,
    ]
    if not any(parts):
        parts = [readable(happening.fields)]
    whole = [one_line(part[: NARRATIVE_CHARS * 4]) for part in parts if part and part.strip()]
    return " | ".join(_fair(list(dict.fromkeys(whole)), NARRATIVE_CHARS))


def _fair(parts: list[str], limit: int) -> list[str]:
    """Each part clipped so that all fit: short parts stay whole, long ones share what is left."""
    room = limit - 3 * (len(parts) - 1)
    shares: dict[int, int] = {}
    for place, at in enumerate(sorted(range(len(parts)), key=lambda index: len(parts[index]))):
        shares[at] = min(len(parts[at]), room // (len(parts) - place))
        room -= shares[at]
    return [clip(part, shares[at]) if len(part) > shares[at] else part for at, part in enumerate(parts)]
