"""Which project a command means: the one of the folder that it runs in, unless it names another."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.local.project_key import ends_with, project_key, repository_key

if TYPE_CHECKING:
    from holdfast.cli.command_table import Row
    from holdfast.core.model import Json

# What these save belongs to the project of the folder.
SAVES = frozenset({
    "remember", "lesson_save", "action_create", "slot", "slot_create", "slot_append", "slot_replace", "slot_delete",
})  # fmt: skip
# These are about one project. Without a name, that is the folder's, be it a repository or not.
SHOWS = frozenset({"context", "profile"})


def add_everywhere(parser: argparse.ArgumentParser, row: Row) -> None:
    """The option that keeps a command from taking the folder's project."""
    if row.name in SAVES:
        parser.add_argument("--everywhere", action="store_true", help="for all projects, not only the current one")


def placed(row: Row, arguments: Json, everywhere: bool, environ: Mapping[str, str]) -> Json:
    """The arguments with the project that is meant. A chat has no folder."""
    named = arguments.get("project")
    if row.name in SAVES and (everywhere or named == ""):
        return {name: value for name, value in arguments.items() if name != "project"}
    if isinstance(named, str):
        return {**arguments, "project": _project_named(named, environ)}
    if arguments.get("umo") is not None:
        return arguments
    found = project_here(environ) if row.name in SHOWS else repository_here(environ) if row.name in SAVES else None
    return {**arguments, "project": found} if found else arguments


def without_own_project(answer: Json, environ: Mapping[str, str]) -> Json:
    """Hits for a person: a project is named where it is another one than the folder's."""
    here = repository_here(environ)
    hits = [
        {name: value for name, value in hit.items() if (name, value) != ("project", here)} for hit in answer["results"]
    ]
    return {**answer, "results": hits}


def project_here(environ: Mapping[str, str]) -> str:
    """The project of the folder, as hooks and MCP name it."""
    return repository_here(environ) or project_key(_folder(environ))


def repository_here(environ: Mapping[str, str]) -> str | None:
    """The same, where the environment names it or the folder is in a repository."""
    return environ.get("AGENTMEMORY_PROJECT_NAME", "").strip() or repository_key(_folder(environ))


def _folder(environ: Mapping[str, str]) -> str:
    return environ.get("CLAUDE_PROJECT_DIR", "").strip() or os.getcwd()


def _project_named(name: str, environ: Mapping[str, str]) -> str:
    """A folder stands for its project: `.`, `../shop`, `~/work/shop`; so does the name of the folder you are in, which
    other projects may have as well. Any other name is taken as it is."""
    if name in (".", "..") or name.startswith(("./", "../", "~/")):
        return project_key(os.path.expanduser(name))
    if os.path.isabs(name):
        return repository_key(name) or name
    here = repository_here(environ) if name else None
    return here if here and ends_with(here, name) else name
