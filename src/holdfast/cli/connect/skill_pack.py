"""The skills: what an agent is taught of its memory, as folders with a SKILL.md in the open form."""

from __future__ import annotations

from importlib.resources import files

from holdfast.cli.connect.config_entries import WholeFile

SKILLS = ("holdfast-memory", "holdfast-handover", "holdfast-restore")
MARK = "Installed by holdfast connect"


def skill_text(name: str) -> str:
    return files(__package__).joinpath("skills", name, "SKILL.md").read_text(encoding="utf-8")


def skill_entry(name: str) -> WholeFile:
    return WholeFile(f"skill {name}", lambda place: skill_text(name), MARK, "skills")
