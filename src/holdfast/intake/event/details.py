"""What exactly was done: the command, the query, the address, the files and how they changed."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from holdfast.core.model import Json
from holdfast.intake.event.hook_event import HookEvent
from holdfast.intake.event.outcome import Outcome, outcome_of
from holdfast.intake.event.text_cleanup import cut
from holdfast.intake.event.touched_files import files_of, patch_of
from holdfast.text.excerpt import one_line

_COMMAND_KEYS = ("command", "cmd", "CommandLine", "commandLine", "script", "argv")
_QUERY_KEYS = ("query", "pattern", "q", "Query", "search_term", "searchTerm", "glob_pattern", "regex")
_URL_KEYS = ("url", "Url", "URL", "uri", "link")
_SHELLS = frozenset({"bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "powershell", "pwsh", "cmd"})
_LEADING_CD = re.compile(r"^\s*cd\s+[^\s;&]{1,300}\s*(?:&&|;)\s*")
_PATCH_PART = re.compile(r"^\*\*\* (Add|Update|Delete) File: ([^\n]{1,511})$", re.MULTILINE)
_VERBS = {"Add": "Created", "Update": "Edited", "Delete": "Deleted"}
_PAIRS = (
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("TargetContent", "ReplacementContent"),
)
_CONTENT_KEYS = ("content", "file_text", "contents", "CodeContent", "text")


@dataclass(frozen=True, slots=True)
class DetailChange:
    path: str
    verb: str
    added: int | None = None
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class Details:
    command: str
    query: str
    url: str
    files: tuple[str, ...]
    changes: tuple[DetailChange, ...]
    outcome: Outcome
    cwd: str = ""


def details_of(happening: HookEvent, cwd: str = "") -> Details:
    command = command_of(happening)
    files = files_of(happening, command)
    return Details(
        command=command,
        query=one_line(_text_at(happening.input, _QUERY_KEYS)),
        url=_url_of(happening),
        files=files,
        changes=_changes_of(happening, files),
        outcome=outcome_of(happening, command),
        cwd=cwd,
    )


def command_of(happening: HookEvent) -> str:
    """The command line as a person would type it: without the shell around it and without a leading cd."""
    if happening.hook == "command_executed":
        name, rest = happening.fields.get("name"), happening.fields.get("arguments")
        return one_line(f"/{name} {rest or ''}") if isinstance(name, str) else ""
    given = next((happening.input[key] for key in _COMMAND_KEYS if happening.input.get(key)), None)
    if given is None and happening.kind == "command_run":
        given = happening.input_text or happening.input.get("items")
    if isinstance(given, list):
        words = [str(word) for word in given]
        given = words[-1] if len(words) > 2 and words[0] in _SHELLS else " ".join(words)
    if not isinstance(given, str) or "*** Begin Patch" in given or happening.kind.startswith("file_"):
        return ""
    return _LEADING_CD.sub("", given, count=1).strip()


def _text_at(fields: Json, keys: tuple[str, ...]) -> str:
    return next((cut(item, 400) for key in keys if isinstance(item := fields.get(key), str) and item), "")


def _url_of(happening: HookEvent) -> str:
    url = _text_at(happening.input, _URL_KEYS)
    if not url and happening.input_text.startswith(("http://", "https://")):
        url = happening.input_text.split()[0][:400]
    return url if "://" in url else ""


def _changes_of(happening: HookEvent, files: tuple[str, ...]) -> tuple[DetailChange, ...]:
    if happening.kind not in ("file_edit", "file_write"):
        return ()
    patch = patch_of(happening)
    if "*** Begin Patch" in patch:
        return _patch_changes(_whole_patch(happening) or patch)
    if not files:
        return ()
    if happening.kind == "file_write":
        content = next((item for key in _CONTENT_KEYS if isinstance(item := happening.whole_input.get(key), str)), None)
        return (DetailChange(files[0], "Wrote", None if content is None else line_count(content)),)
    verb = "Deleted" if "delete" in happening.tool.lower() or "remove" in happening.tool.lower() else "Edited"
    if happening.hook in ("session_diff", "patch_applied"):
        return tuple(DetailChange(path, verb) for path in files)
    return (DetailChange(files[0], verb, *_counted(happening.whole_input)),)


def _whole_patch(happening: HookEvent) -> str:
    texts = (happening.whole_input.get(key) for key in ("input", "patch", "patchText", "diff"))
    return next((text for text in texts if isinstance(text, str) and "*** Begin Patch" in text), "")


def _patch_changes(patch: str) -> tuple[DetailChange, ...]:
    heads = list(_PATCH_PART.finditer(patch))[:20]
    ends = [head.start() for head in heads[1:]] + [len(patch)]
    changes = []
    for head, end in zip(heads, ends, strict=True):
        added, removed = patch.count("\n+", head.end(), end), patch.count("\n-", head.end(), end)
        verb = _VERBS[head.group(1)]
        changes.append(
            DetailChange(head.group(2).strip(), verb, *((None, None) if verb == "Deleted" else (added, removed)))
        )
    return tuple(changes)


def _counted(whole: Json) -> tuple[int | None, int | None]:
    """Lines added and removed over all replacements of one call, or nothing when it is unknown."""
    edits = whole.get("edits")
    parts = [part for part in edits if isinstance(part, dict)] if isinstance(edits, list) else [whole]
    added = removed = 0
    known = False
    for part in parts[:1_000]:
        pair = _replacement(part)
        if pair is not None:
            known = True
            old, new = (Counter(text.splitlines()) for text in pair)
            added, removed = added + (new - old).total(), removed + (old - new).total()
    return (added, removed) if known else (None, None)


def _replacement(part: Json) -> tuple[str, str] | None:
    for old_key, new_key in _PAIRS:
        old, new = part.get(old_key), part.get(new_key)
        if isinstance(old, str) and isinstance(new, str):
            return old, new
    return None


def line_count(text: str) -> int:
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def todo_items(happening: HookEvent) -> list[tuple[str, bool]]:
    """The items of a plan or to-do list that the event carries, each with whether it is done."""
    items: list[tuple[str, bool]] = []
    for fields in (happening.input, happening.fields):
        for key, done in (("todos", None), ("plan", None), ("completed", True), ("in_progress", False)):
            listed = fields.get(key)
            for item in listed if isinstance(listed, list) else []:
                text = _item_text(item)
                if text:
                    items.append((text, _is_done(item) if done is None else done))
    return items


def _item_text(item: Any) -> str:
    if isinstance(item, dict):
        item = item.get("content") or item.get("step") or item.get("title")
    return one_line(item) if isinstance(item, str) else ""


def _is_done(item: Any) -> bool:
    return isinstance(item, dict) and item.get("status") in ("completed", "done", "cancelled")
