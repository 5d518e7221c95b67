"""Which records belong to a project: its key, the names under which its records were stored, and its folders.

Hooks send a project's key (`project_key.py`). Older clients send the name of a folder, which may be that of several
projects; where their working folder is known, it decides. What is known of folders stands in the notes of the store.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import orjson

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import CleanText, Note
from holdfast.core.session_keys import key_of
from holdfast.local.project_key import ends_with, is_key, is_path, last_part, repository_key
from holdfast.store.port import Condition, Reader, Table, Tx, where
from holdfast.store.tables import LESSONS, MEMORIES, NOTES, OBSERVATIONS, SESSIONS, SLOTS

PROJECT, FOLDER = "project", "project-folder"
MOST_SHOWN = 10
_MOST_PROJECTS = 10_000
_MOST_ALIASES = 20
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Project:
    """A project that a hook reported, and the names under which it was known before."""

    key: str
    aliases: tuple[str, ...] = ()


def project_names(ctx: CallContext, project: str | None) -> tuple[str, ...]:
    """All names under which records of a project are stored; none if no project is given.

    A bare name (`shop`) means the one known project that is called so. Records that carry only the name of a folder
    count as those of the project of that name, as long as there is one.

    Raises:
        InvalidRequest: the name is that of several projects.
    """
    if not project:
        return ()
    reader = ctx.store.read()
    known = _known(ctx, reader)
    own = known.get(project)
    if own is None and is_path(project):
        folder = reader.get(NOTES, ctx.tenant, _id(ctx, FOLDER, project))
        own = known.get(folder.content) if folder else None
    if own is None:
        own = _meant(ctx, reader, project, list(known.values()))
    if own is None:
        return (project,)
    bare = last_part(own.key)
    alone = [one.key for one in known.values() if last_part(one.key) == bare] == [own.key]
    names = (own.key, *own.aliases, *((bare,) if alone else ()), *((project,) if alone else ()))
    return tuple(dict.fromkeys(names))


def of_project(ctx: CallContext, project: str | None) -> tuple[Condition, ...]:
    """The condition that records belong to a project; none if no project is given.

    Raises:
        InvalidRequest: the name is that of several projects.
    """
    names = project_names(ctx, project)
    return (Condition("project", "in", names),) if names else ()


def is_known(ctx: CallContext, project: str) -> bool:
    """Whether there are records of the project that the caller sees.

    Raises:
        InvalidRequest: the name is that of several projects.
    """
    reader, bounds = ctx.store.read(), of_project(ctx, project)
    if reader.find(MEMORIES, ctx.tenant, *ctx.sees_memories(), *bounds, *where(latest=True), limit=1):
        return True
    own: tuple[Table[Any], ...] = (SESSIONS, OBSERVATIONS)
    shared: tuple[Table[Any], ...] = (LESSONS, SLOTS)
    return any(reader.find(table, ctx.tenant, *ctx.sees(), *bounds, limit=1) for table in own) or any(
        reader.find(table, ctx.tenant, *ctx.sees_shared(), *bounds, limit=1) for table in shared
    )


def project_for_write(ctx: CallContext, project: str) -> str:
    """The project that a new record without a working folder belongs to: as it was named, unless that is a bare name
    without records which exactly one known project has."""
    if not project or is_key(project):
        return project
    reader = ctx.store.read()
    known = _known(ctx, reader)
    called = [one.key for one in known.values() if ends_with(one.key, project)]
    return called[0] if len(called) == 1 and not _has_records(ctx, reader, project) else project


def written_project(ctx: CallContext, project: CleanText | None) -> CleanText | None:
    """The same for an optional project."""
    return CleanText(project_for_write(ctx, project)) if project else project


def project_of_event(ctx: CallContext, project: str, cwd: str) -> str:
    """The project of an event: the key that its hook sent, or the one that the working folder leads to.

    The server looks into a folder only for a caller that may do everything, and only on its own machine. A folder
    outside of any repository is no more than its name.
    """
    if not cwd or not _is_folder_name(project, cwd):
        return project
    known = _key_of_folder(ctx, ctx.store.read(), project, cwd)
    if known is not None:
        return known
    local = ctx.settings.host in _LOOPBACK and ctx.caller.may("root")
    found = repository_key(cwd) if local and os.path.isabs(cwd) and os.path.isdir(cwd) else None
    return found or project


def note_project(ctx: CallContext, tx: Tx, project: str, cwd: str) -> None:
    """Remember that a folder belongs to a project, and the project; nothing is written if that is known."""
    if not cwd or not is_key(project):
        return
    folder_id = _id(ctx, FOLDER, cwd)
    before = tx.get(NOTES, ctx.tenant, folder_id)
    if before is not None and before.content == project:
        return
    _put(ctx, tx, folder_id, FOLDER, project)
    known = tx.get(NOTES, ctx.tenant, _id(ctx, PROJECT, project))
    aliases = _read(known).aliases if known else ()
    # A repository that got a remote was known by its path until now.
    if before is not None and is_path(before.content) and not is_path(project):
        aliases = tuple(dict.fromkeys((*aliases, before.content)))[:_MOST_ALIASES]
        tx.delete(NOTES, ctx.tenant, _id(ctx, PROJECT, before.content))
    if known is None or aliases != _read(known).aliases:
        content = orjson.dumps({"key": project, "aliases": aliases}).decode()
        _put(ctx, tx, _id(ctx, PROJECT, project), PROJECT, content)


def _is_folder_name(project: str, cwd: str) -> bool:
    """Whether a project's name adds nothing to the working folder: it is empty, a folder in it, or its path."""
    if not project:
        return True
    parts = [part for part in cwd.replace("\\", "/").split("/") if part]
    if not is_key(project):
        return project in parts
    whole = "/" + "/".join(parts)
    return is_path(project) and f"{whole}/".startswith("/" + project.replace("\\", "/").strip("/") + "/")


def _key_of_folder(ctx: CallContext, reader: Reader, project: str, cwd: str) -> str | None:
    """The key of the folder, or of the one above it that has the given name."""
    known = reader.get(NOTES, ctx.tenant, _id(ctx, FOLDER, cwd))
    if known is not None:
        return known.content
    above = os.path.dirname(cwd.rstrip("/"))
    while above and above != os.path.dirname(above):
        if last_part(above) == last_part(project):
            known = reader.get(NOTES, ctx.tenant, _id(ctx, FOLDER, above))
            return known.content if known else None
        above = os.path.dirname(above)
    return None


def _meant(ctx: CallContext, reader: Reader, name: str, known: list[Project]) -> Project | None:
    """The known project that a name or an alias means, or None."""
    for one in known:
        if name in one.aliases:
            return one
    if is_path(name):
        return None
    called = [one for one in known if ends_with(one.key, name)]
    if len(called) < 2:
        return called[0] if called else None
    if _has_records(ctx, reader, name):
        return None
    shown = ", ".join(sorted(one.key for one in called)[:MOST_SHOWN])
    raise InvalidRequest(f"project: {name} matches {len(called)} projects: {shown}.", hint="Use one of these names.")


def _has_records(ctx: CallContext, reader: Reader, project: str) -> bool:
    bounds = where(project=project)
    if reader.find(MEMORIES, ctx.tenant, *bounds, *where(latest=True), limit=1):
        return True
    tables: tuple[Table[Any], ...] = (SESSIONS, OBSERVATIONS, LESSONS, SLOTS)
    return any(reader.find(table, ctx.tenant, *bounds, limit=1) for table in tables)


def _known(ctx: CallContext, reader: Reader) -> dict[str, Project]:
    """Every project that a hook reported, as far as the caller may see it."""
    own = "" if ctx.whole else _id(ctx, PROJECT, "")
    found = reader.find(NOTES, ctx.tenant, *where(kind=PROJECT), order="id", limit=_MOST_PROJECTS)
    projects = [_read(note) for note in found if note.id.startswith(own)]
    return {one.key: one for one in projects if one.key}


def _read(note: Note) -> Project:
    """The project of a note; one without a key where an import brought a note that has none."""
    try:
        content = orjson.loads(note.content)
        return Project(str(content["key"]), tuple(map(str, content["aliases"])))
    except (ValueError, TypeError, KeyError):
        return Project("")


def _put(ctx: CallContext, tx: Tx, id: str, kind: str, content: str) -> None:
    tx.replace(NOTES, Note(ctx.tenant, id, tx.next_seq(ctx.tenant), kind, content, ctx.clock.now_ms()))


def _id(ctx: CallContext, kind: str, name: str) -> str:
    """Isolated agents know their own projects only."""
    return key_of(kind, ctx.shared_agent(), name)
