"""The operation that imports a Markdown file of rules."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.model import Json, Memory
from holdfast.intake.addressed.rule_files import RulesFile, import_rules as take_in
from holdfast.ops.framework.fields import CleanBody, CleanName
from holdfast.ops.framework.operation import Operation, Request


class ImportRules(Request):
    file: CleanName = Field(description="Path of the file in its project, such as CLAUDE.md.")
    text: CleanBody = Field(description="Its Markdown.")
    project: CleanName | None = Field(default=None, description="Project of the rules. Default: all projects.")


class ImportRulesAnswer(TypedDict):
    success: bool
    file: str
    project: str | None
    added: int
    changed: int
    unchanged: int
    removed: list[Json]  # the file has them no more; they stay in use until they are forgotten


def import_rules(ctx: CallContext, ask: ImportRules) -> ImportRulesAnswer:
    """Save each rule of a Markdown file (CLAUDE.md, AGENTS.md, notes) as a memory of its project.

    Repeating it adds no duplicates. A reworded rule becomes a new version. A rule that is no longer in the file is
    listed in `removed` and kept until it is forgotten.
    """
    done = take_in(ctx, RulesFile(ask.file, ask.text, ask.project or None), ask.agent_id)
    return {
        "success": True,
        "file": ask.file,
        "project": ask.project or None,
        "added": len(done.added),
        "changed": len(done.changed),
        "unchanged": done.unchanged,
        "removed": [_shown(memory) for memory in done.removed],
    }


def _shown(memory: Memory) -> Json:
    return {"id": memory.id, "title": memory.title}


RULES = (Operation(import_rules, "POST", "/import/rules", effect="write"),)
