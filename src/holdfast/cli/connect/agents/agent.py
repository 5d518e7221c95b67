"""What a row of an agent says: where its folder is, its files, and what goes into each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.cli.connect.config_entries import Entry, HookRow
from holdfast.cli.connect.environment import ConnectTarget
from holdfast.cli.connect.skill_pack import SKILLS, skill_entry

Locate = Callable[[ConnectTarget], Path]


def always(place: ConnectTarget) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One file of an agent and what goes into it; it is left out where `when` says so."""

    path: Locate
    entries: tuple[Entry, ...]
    when: Callable[[ConnectTarget], bool] = always


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent: its folder shows whether it is installed.

    `source` says where its format was read, `skills` is its folder of skills, `project` its MCP file inside a project.
    """

    name: str
    title: str
    folder: Locate
    files: tuple[ConfigFile, ...]
    source: str
    also: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hook_notes: tuple[str, ...] = ()
    skills: Locate | None = None
    project: tuple[str, Entry] | None = None

    @property
    def all_files(self) -> tuple[ConfigFile, ...]:
        """The files with those of its skills."""
        folder = self.skills
        if folder is None:
            return self.files
        return (*self.files, *(_skill_file(folder, name) for name in SKILLS))


def _skill_file(folder: Locate, name: str) -> ConfigFile:
    return ConfigFile(lambda place: folder(place) / name / "SKILL.md", (skill_entry(name),))


def rows(events: Mapping[str, str], **fields: object) -> tuple[HookRow, ...]:
    return tuple(HookRow(event, hook, fields) for event, hook in events.items())


def below(folder: Locate, *names: str) -> Locate:
    """The file of that name below a folder."""
    return lambda place: folder(place).joinpath(*names)


def home(*names: str) -> Locate:
    """The folder or file below the user's home."""
    return lambda place: place.home.joinpath(*names)


def named(variable: str, otherwise: Locate) -> Locate:
    """The folder that a variable of the environment names."""

    def folder(place: ConnectTarget) -> Path:
        given = place.environ.get(variable, "").strip()
        return Path(given) if given else otherwise(place)

    return folder
