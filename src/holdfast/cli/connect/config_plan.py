"""Plan what connect would write, and show it. Reads config files; writes nothing."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.cli.connect.agents import Agent, ConfigFile, find
from holdfast.cli.connect.config_entries import Entry, snippet
from holdfast.cli.connect.environment import EARLIER_NAME, SERVER_NAME, ConnectTarget
from holdfast.cli.connect.formats.refusal import Refusal
from holdfast.core.errors import Fault, InvalidRequest

# Other servers' keys stand in the same files, and a diff shows the lines around a change.
_SECRET = re.compile(
    r"""((?:key|token|secret|password|passwd|auth|credential)[\w-]*["']?\s*[:=]\s*)(["'])(?:(?!\2).)*\2""",
    re.IGNORECASE,
)
_WIDEST = 20_000  # an entry is shown whole; a settings file of megabytes on one line is not


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file: its text before (None: not there) and after (None: deleted), and what happens to it."""

    path: Path
    before: str | None
    after: str | None
    summary: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be done for one agent; no changes means that everything is there already."""

    agent: str
    place: ConnectTarget
    changes: tuple[FileChange, ...]
    notes: tuple[str, ...]


def plan(agent: str, place: ConnectTarget) -> Plan:
    """What connecting the agent would write.

    Raises:
        InvalidRequest: the agent is unknown, or one of its files cannot be read or edited safely.
    """
    declared, place = find(agent), place.checked()
    changes: list[FileChange] = []
    notes: list[str] = []
    for file in wanted_files(declared, place):
        path = file.path(place)
        before = read(path)
        changes += _change(file, path, before, place)
        notes += _earlier(file, path, before or "")
    notes += _project_notes(declared, place)
    notes += declared.notes if changes else ()
    notes += declared.hook_notes if changes and place.hooks else ()
    return Plan(declared.name, place, tuple(changes), tuple(notes))


def diff(plan: Plan) -> str:
    """The changes as a unified diff, with other programs' secrets masked and long lines cut."""
    return "".join(line for change in plan.changes for line in _diff(change))


def wanted_files(agent: Agent, place: ConnectTarget) -> Iterator[ConfigFile]:
    """The agent's files that have a place on this machine."""
    yield from (file for file in agent.all_files if file.when(place))


def read(path: Path) -> str | None:
    """The text of a config file; None when it is not there.

    Raises:
        InvalidRequest: it is there but cannot be read as text.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InvalidRequest(f"connect cannot edit {path}: it is not UTF-8 text") from None
    except OSError as error:
        raise InvalidRequest(
            f"connect cannot read {path}: {error.strerror}",
            hint="Check the permissions of the file and of the folders above it.",
        ) from error


def refused(path: Path, entries: list[Entry], place: ConnectTarget, why: Refusal) -> InvalidRequest:
    """The fault for a file that cannot be edited: it names the file and shows what to paste instead."""
    paste = "\n".join(snippet(entry, place) for entry in entries)
    return InvalidRequest(
        f"connect cannot edit {path}: {why}. Nothing was written.",
        hint=f"Correct the file and run connect again, or add this to it yourself:\n{paste}",
        details={"path": str(path), "snippet": paste},
    )


def _change(file: ConfigFile, path: Path, before: str | None, place: ConnectTarget) -> list[FileChange]:
    entries = [entry for entry in file.entries if place.hooks or entry.part == "server"]
    after, done = before or "", []
    for entry in entries:
        try:
            text = entry.added(after, place)
        except Refusal as why:
            raise refused(path, entries, place, why) from None
        if text != after:
            done.append(entry.what)
        after = text
    if not done:
        return []
    verb = "create the file with" if before is None else "add"
    return [FileChange(path, before, after, f"{verb} {' and '.join(done)}")]


def _earlier(file: ConfigFile, path: Path, text: str) -> list[str]:
    if not any(entry.earlier(text) for entry in file.entries):
        return []
    return [
        f"{path} also names {EARLIER_NAME}; it was not changed. Both use the same port, so remove it when you "
        "no longer need it."
    ]


def _project_notes(agent: Agent, place: ConnectTarget) -> list[str]:
    """A project's own config wins over the user's: report it when it names one of the two servers."""
    if agent.project is None or place.project is None:
        return []
    name, entry = agent.project
    path = place.project / name
    try:
        text = read(path) or ""
        named = [SERVER_NAME] * entry.found(text, place) + [EARLIER_NAME] * entry.earlier(text)
    except (Fault, Refusal):
        return []  # the project's file is not connect's to judge
    return [f"This project names {server} in {path}; which overrides the user's settings." for server in named]


def _diff(change: FileChange) -> Iterator[str]:
    before, after = (_shown(change.path, text or "") for text in (change.before, change.after))
    source = "/dev/null" if change.before is None else str(change.path)
    target = "/dev/null" if change.after is None else str(change.path)
    for line in difflib.unified_diff(before, after, source, target, lineterm=""):
        masked = _SECRET.sub(r"\1\2…\2", line)
        yield (masked if len(masked) <= _WIDEST else masked[:_WIDEST] + "…") + "\n"


def _shown(path: Path, text: str) -> list[str]:
    """The lines; of a skill, which is the same for every agent, only how many."""
    lines = text.splitlines()
    return [f"({len(lines)} lines, as in skills/{path.parent.name})"] if lines and path.name == "SKILL.md" else lines
