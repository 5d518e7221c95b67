"""Record what connect wrote, and undo it.

The journal is written before the files it lists, so that undo knows of a crash between the two.
A file that is unchanged since gets its original bytes back; from any other only our entries are removed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from holdfast.cli.connect.agents import Agent, ConfigFile, find
from holdfast.cli.connect.atomic_write import backup, naming, put, write_all
from holdfast.cli.connect.config_plan import FileChange, Plan, read, wanted_files
from holdfast.cli.connect.environment import SERVER_NAME, ConnectTarget
from holdfast.cli.connect.formats.refusal import Refusal
from holdfast.core.disk import make_folder
from holdfast.core.errors import InvalidRequest

_VERSION = 1


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """One written file: digests of its original (None: there was none) and of what connect wrote.

    `exact` is false when the user edited the file between two connects: then the original lacks those edits.
    """

    path: str
    original: str | None
    backup: str | None
    written: str
    exact: bool = True


def apply(plan: Plan) -> tuple[Path, ...]:
    """Write the plan: backups, then the journal, then the files. Returns the backups.

    Raises:
        Conflict: a file changed since the plan was made.
        InvalidRequest: a file or folder cannot be written; nothing is left half done.
    """
    if not plan.changes:
        return ()
    path = journal_path(plan.agent, plan.place)
    known, copies = records(plan.agent, plan.place), {}
    before = read(path)
    try:
        for change in plan.changes:
            if change.before is not None:
                copies[change.path] = backup(change.path, change.before)
        fresh = {str(change.path): _record(change, known, copies.get(change.path)) for change in plan.changes}
        with naming(path):
            make_folder(path.parent)  # it may be the data folder's first file, and that is for its owner alone
        put(path, _encoded(plan.agent, {**known, **fresh}))
        write_all(plan.changes)
    except BaseException:
        for copy in copies.values():
            with naming(copy):
                copy.unlink(missing_ok=True)
        if read(path) != before:
            put(path, before)
        raise
    return tuple(copies.values())


def apply_all(plans: Sequence[Plan]) -> tuple[Path, ...]:
    """Write several plans, or none of them: when one fails, those before it are put back. Returns the backups.

    Raises:
        Conflict, InvalidRequest: as apply.
    """
    done: list[tuple[Plan, str | None, tuple[Path, ...]]] = []
    try:
        for plan in plans:
            if plan.changes:
                before = read(journal_path(plan.agent, plan.place))
                done.append((plan, before, apply(plan)))
    except BaseException:
        for plan, before, copies in reversed(done):
            for change in reversed(plan.changes):
                put(change.path, change.before)
            put(journal_path(plan.agent, plan.place), before)
            for copy in copies:
                put(copy, None)
        raise
    return tuple(copy for _, _, copies in done for copy in copies)


def plan_undo(agent: str, place: ConnectTarget) -> Plan:
    """What taking the agent's entries back would write; reads only.

    Raises:
        InvalidRequest: the agent is unknown, or a file with our entries cannot be edited safely.
    """
    declared = find(agent)
    known = records(declared.name, place)
    changes: list[FileChange] = []
    notes: list[str] = []
    for path, file in _touched(declared, known, place):
        change = _undone(path, file, known.get(str(path)), place)
        if change is None:
            continue
        changes.append(change)
        if change.summary == _EDITED:
            notes.append(f"{path} was edited since: only the Holdfast entries are removed.")
    return Plan(declared.name, place, tuple(changes), tuple(notes))


def undo(agent: str, place: ConnectTarget) -> Plan:
    """Take the agent's entries back; returns what was done.

    Raises:
        Conflict: a file changed in this moment.
        InvalidRequest: a file cannot be edited or written; nothing is left half done.
    """
    plan = plan_undo(agent, place)
    known = records(plan.agent, place)
    for change in plan.changes:
        if change.summary == _EDITED and change.before is not None:
            backup(change.path, change.before)
    write_all(plan.changes)
    for change in plan.changes:
        record = known.get(str(change.path))
        if record and record.backup and change.after is not None and _digest(change.after) == record.original:
            put(Path(record.backup), None)  # the file itself now holds these bytes
    put(journal_path(plan.agent, place), None)
    return plan


def journal_path(agent: str, place: ConnectTarget) -> Path:
    return place.home / ".holdfast" / "connect" / f"{agent}.json"


def records(agent: str, place: ConnectTarget) -> dict[str, JournalRecord]:
    """What was written for the agent, by path.

    Raises:
        InvalidRequest: the journal is there but cannot be understood.
    """
    path = journal_path(agent, place)
    text = read(path)
    if text is None:
        return {}
    try:
        kept: dict[str, Any] = json.loads(text)
        if kept["version"] != _VERSION:
            raise ValueError
        return {row["path"]: JournalRecord(**row) for row in kept["files"]}
    except (ValueError, KeyError, TypeError):
        raise InvalidRequest(
            f"connect cannot read its journal {path}",
            hint="Move the journal away; --undo then removes only the Holdfast entries.",
        ) from None


_EDITED = "remove the Holdfast entries"


def _undone(
    path: Path, file: ConfigFile | None, record: JournalRecord | None, place: ConnectTarget
) -> FileChange | None:
    text, original = read(path), _original(record)
    if text is None or (record and _digest(text) == record.original):
        return None
    if record and record.exact and _digest(text) == record.written:
        if record.original is None:
            return FileChange(path, text, None, "delete the file that connect created")
        if original is not None:
            return FileChange(path, text, original, "restore the original file")
    after = _without_ours(path, file, text, original or "", place) if file else text
    return FileChange(path, text, after, _EDITED) if after != text else None


def _original(record: JournalRecord | None) -> str | None:
    """The text before connect, from the backup; None when that is gone or no longer the same."""
    copy = read(Path(record.backup)) if record and record.backup else None
    return copy if record and copy is not None and _digest(copy) == record.original else None


def _without_ours(path: Path, file: ConfigFile, text: str, original: str, place: ConnectTarget) -> str | None:
    after: str | None = text
    for entry in file.entries:
        try:
            after = None if after is None else entry.removed(after, place, original)
        except Refusal as why:
            raise InvalidRequest(
                f"connect cannot remove the Holdfast entries of {path}: {why}. Nothing was written.",
                hint=f"Remove {SERVER_NAME} and the lines with `holdfast hook` from the file by hand.",
            ) from None
    return after


def _touched(
    agent: Agent, known: dict[str, JournalRecord], place: ConnectTarget
) -> Iterator[tuple[Path, ConfigFile | None]]:
    """The agent's files as they are now, and those of the journal that have another path by now."""
    files = {file.path(place): file for file in wanted_files(agent, place)}
    yield from files.items()
    for path in known:
        if Path(path) not in files:
            yield Path(path), None


def _record(change: FileChange, known: dict[str, JournalRecord], copy: Path | None) -> JournalRecord:
    earlier, path = known.get(str(change.path)), str(change.path)
    written = _digest(change.after) or ""
    before = _digest(change.before)
    if earlier and before == earlier.written:
        return JournalRecord(path, earlier.original, earlier.backup, written, earlier.exact)
    # Not what connect wrote and not what it found: the user's edits are in it, and ours as well.
    edited = earlier is not None and before not in (None, earlier.original)
    return JournalRecord(path, before, str(copy) if copy else None, written, exact=not edited)


def _encoded(agent: str, rows: dict[str, JournalRecord]) -> str:
    body = {"version": _VERSION, "agent": agent, "files": [asdict(row) for row in rows.values()]}
    return json.dumps(body, indent=2) + "\n"


def _digest(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode("utf-8")).hexdigest()
