"""Reads stored observations as the steps of a session: what was requested, run and changed, what failed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from holdfast.core.model import Json, Observation
from holdfast.learn.statements.keywords import DECISION, REASON, RULE, matching
from holdfast.text.excerpt import clip

_PROMPT_HOOKS = frozenset({"prompt_submit", "UserPromptSubmit", "user_prompt_submit"})
_SPEAKING = frozenset({"conversation", "subagent", "decision", "discovery", "other"})
_SAID_KEYS = ("message", "last_message", "last_assistant_message", "text", "content", "task_description")
_TEXT_CHARS = 64_000  # as much as is kept of a message
_RAN = re.compile(r"Ran `(.+)`")
_EXIT = re.compile(r"Exit code (-?\d+)")
_MADE = re.compile(r"(?:Edited|Created|Deleted|Wrote) ")
_NOISE = re.compile(r"(?:\s+2>&1|\s*\|\s*(?:tail|head)\b[^|&;]*)+\s*$")
_LEADING = re.compile(r"^(?:cd\s+\S+\s*(?:&&|;)\s*)+")
_RUNNERS = re.compile(
    r"^(?:\w+=\S+\s+|sudo\s+|env\s+|npx\s+|uvx\s+|(?:uv|poetry|pipenv|pnpm|yarn)\s+run\s+|"
    r"python3?\s+-m\s+)+"
)
_LOOKING = frozenset(
    "ls cat cd pwd echo head tail which wc tree find grep rg sed awk less stat file date sleep true false".split()
)
_NOD = re.compile(
    r"(?:yes|yep|y|no|ok|okay|sure|go on|go ahead|continue|proceed|next|thanks?|hi|hello|好|好的|继续)[.! ]*",
    re.I,
)
# What a client puts in the place of a prompt.
_INSERTED = re.compile(r"<(?:system-reminder|command-|local-command|ide_)|\[Request interrupted|Caveat:")


def in_order(observations: Iterable[Observation]) -> list[Observation]:
    """By the one order of all writes; clocks may jump."""
    return sorted(observations, key=lambda step: (step.seq, step.id))


def prompt_of(step: Observation) -> str:
    """The user's prompt in this step, or nothing."""
    fields = _fields(step)
    if fields.get("tool_name") == "conversation":
        return _text(fields.get("tool_input"))
    if step.hook not in _PROMPT_HOOKS:
        return ""
    asked = next((fields[key] for key in ("prompt", "userPrompt", "user_prompt") if fields.get(key)), None)
    return _text(asked) or (step.narrative if step.title.startswith("Asked: ") else "")


def requests(steps: Sequence[Observation]) -> list[str]:
    """The prompts that ask for something, in order."""
    asked = [text for step in steps if (text := prompt_of(step).strip()) and not _NOD.fullmatch(text)]
    return [text for text in asked if not _INSERTED.match(text)]


def said_of(step: Observation) -> str:
    """What an agent said in this step, or nothing. Tool output is not speech: its author is unknown."""
    fields = _fields(step)
    if fields.get("tool_name") == "conversation":
        return _text(fields.get("tool_output"))
    if step.hook in _PROMPT_HOOKS or step.type not in _SPEAKING or fields.get("tool_name"):
        return ""
    spoken = next((text for key in _SAID_KEYS if (text := _text(fields.get(key)))), "")
    return spoken or (step.narrative if step.type in ("decision", "discovery") else "")


def command_of(step: Observation) -> str:
    """The command of this step in its plain form: without cd, pipes to head or tail, redirected errors."""
    fact = next((match.group(1) for text in step.facts if (match := _RAN.fullmatch(text))), "")
    return plain_command(fact or _raw_command(step))


def plain_command(command: str) -> str:
    line = " ".join(_LEADING.sub("", command.strip()[:400]).split())
    return _NOISE.sub("", line)


def _raw_command(step: Observation) -> str:
    if step.type not in ("command_run", "error"):
        return ""
    given = tool_input(step)
    command = given.get("command") or given.get("cmd") or ""
    if isinstance(command, list):
        command = " ".join(word for word in command if isinstance(word, str))
    return command if isinstance(command, str) else ""


def tool_input(step: Observation) -> Json:
    """What the tool of this step was given, as far as it has fields."""
    given = _object(_fields(step).get("tool_input"))
    return given or ({"input": text} if (text := _text(_fields(step).get("tool_input"))) else {})


def program_of(command: str) -> str:
    """What a command runs, whatever runs it: `pytest` for `.venv/bin/pytest -q` and `python -m pytest`."""
    words = _RUNNERS.sub("", command).split()
    return words[0].rpartition("/")[2].rstrip("0123456789.") if words else ""


def only_looks(command: str) -> bool:
    return program_of(command) in _LOOKING or command.startswith(("git status", "git log", "git diff", "git show"))


def tests_of(step: Observation) -> str:
    return _fact(step, "Tests: ")


def error_of(step: Observation) -> str:
    """The line that names what went wrong, or nothing."""
    line = _fact(step, "Error: ")
    if line or step.type != "error":
        return line
    return step.title.partition("failed: ")[2]


def failed(step: Observation) -> bool:
    if step.type == "error" or _fact(step, "Error: "):
        return True
    exits = [match.group(1) for text in step.facts if (match := _EXIT.fullmatch(text))]
    return any(code != "0" for code in exits) or tests_fail(tests_of(step))


def tests_fail(tests: str) -> bool:
    return "failed" in tests or "errors" in tests


def changed_files(step: Observation) -> tuple[str, ...]:
    if step.type not in ("file_edit", "file_write") or failed(step):
        return ()
    return step.files or tuple(_MADE.sub("", fact).split(" (")[0] for fact in step.facts if _MADE.match(fact))


def modified_files(steps: Sequence[Observation]) -> Counter[str]:
    return Counter(path for step in steps for path in changed_files(step))


def todos_of(step: Observation) -> tuple[list[str], list[str]]:
    """The open and the done items of a plan that this step wrote down."""
    fields = _fields(step)
    given = _object(fields.get("tool_input"))
    open_items, done_items = _items(fields.get("in_progress")), _items(fields.get("completed"))
    for listed in (given.get("todos"), given.get("plan"), fields.get("todos")):
        for item in listed if isinstance(listed, list) else []:
            finished = isinstance(item, dict) and item.get("status") in ("completed", "done", "cancelled")
            (done_items if finished else open_items).extend(_items([item]))
    return open_items, done_items


def decisions_of(steps: Sequence[Observation]) -> list[str]:
    """What was decided, ruled or explained: decisions first, then rules, then reasons."""
    texts = [text for step in steps for text in (prompt_of(step), said_of(step)) if text]
    texts += [fact for step in steps if step.type in _SPEAKING for fact in step.facts]
    found = [*matching(texts, DECISION), *matching(texts, RULE), *matching(texts, REASON)]
    named = [clip(step.title, 200) for step in steps if step.type == "decision"]
    return list(dict.fromkeys([*named, *found]))


def weighed_concepts(steps: Sequence[Observation]) -> list[str]:
    """Concepts by the weight of the steps that have them; equal ones in order of appearance."""
    weights: Counter[str] = Counter()
    for step in steps:
        for concept in dict.fromkeys(step.concepts):
            weights[concept] += max(1, step.importance)
    return [concept for concept, _ in weights.most_common()]


def _items(listed: Any) -> list[str]:
    texts = []
    for item in listed if isinstance(listed, list) else []:
        text = item.get("content") or item.get("step") or item.get("title") if isinstance(item, dict) else item
        if isinstance(text, str) and text.strip():
            texts.append(clip(text, 180))
    return texts


def _fact(step: Observation, prefix: str) -> str:
    return next((fact[len(prefix) :] for fact in step.facts if fact.startswith(prefix)), "")


def _fields(step: Observation) -> Json:
    inner = step.raw.get("data")
    return inner if isinstance(inner, dict) else step.raw


def _object(value: Any) -> Json:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = orjson.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value[:_TEXT_CHARS] if isinstance(value, str) else ""
