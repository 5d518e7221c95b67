"""Operations on Markdown files of the user who runs the server."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NotRequired

from pydantic import Field, field_validator
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.disk import user_path
from holdfast.core.errors import InvalidRequest, InvalidSettings
from holdfast.core.model import CleanText
from holdfast.intake.addressed.rule_files import RulesFile, import_rules
from holdfast.ops.framework.fields import CleanName, Name, Names
from holdfast.ops.framework.operation import Operation, Request
from holdfast.pages.compress_page import compress_page
from holdfast.pages.memory_page import LINES, own_lines, user_text, write_page
from holdfast.pages.obsidian import KINDS, export_pages
from holdfast.pages.page_folders import SETTING, allowed_path, page_folders
from holdfast.projects import of_project
from holdfast.redact import redact_text
from holdfast.store.port import where
from holdfast.store.tables import MEMORIES
from holdfast.text.text_checks import check_text

MEMORY_FILE = "HOLDFAST_CLAUDE_MEMORY_FILE"


class CompressFile(Request):
    file_path: Name = Field(description=f"A Markdown file in a folder of {SETTING}.")


class CompressFileAnswer(TypedDict):
    success: bool
    filePath: str
    originalChars: int
    compressedChars: int
    backupPath: NotRequired[str]
    skipped: NotRequired[bool]
    reason: NotRequired[str]


def compress_file(ctx: CallContext, ask: CompressFile) -> CompressFileAnswer:
    """Shorten a Markdown file: headings, code, tables, links and first sentences stay, what only explains is left out.

    The file as it was is kept beside it as NAME.original.md. Only files in a folder of HOLDFAST_PAGE_FOLDERS.
    """
    done = compress_page(allowed_path(ctx, ask.file_path, "filePath"))
    answer: CompressFileAnswer = {
        "success": True,
        "filePath": str(done.path),
        "originalChars": done.before,
        "compressedChars": done.after,
    }
    if done.backup is None:
        return {**answer, "skipped": True, "reason": "nothing could be left out"}
    ctx.store.write(lambda tx: ctx.audit(tx, "compress_file", (), before=done.before, after=done.after))
    return {**answer, "backupPath": str(done.backup)}


class ObsidianExport(Request):
    vault_dir: Name | None = Field(default=None, description=f"Folder of the notes, in {SETTING}. Default: its first.")
    types: Names = Field(default=(), description=f"Of {', '.join(KINDS)}. Default: all.")

    @field_validator("types")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not set(value) <= set(KINDS):
            raise ValueError(f"must be of {', '.join(KINDS)}")
        return value


class ObsidianExportAnswer(TypedDict):
    success: bool
    exported: dict[str, int]
    vaultDir: str


def obsidian_export(ctx: CallContext, ask: ObsidianExport) -> ObsidianExportAnswer:
    """Write memories, lessons, crystals and sessions as Markdown notes with front matter and links, for Obsidian.

    Only into a folder of HOLDFAST_PAGE_FOLDERS. Repeating it replaces the notes; those of records that are gone stay.
    """
    folder = _folder(ctx) if ask.vault_dir is None else allowed_path(ctx, ask.vault_dir, "vaultDir")
    counts = export_pages(ctx, folder, ask.types or KINDS)
    ctx.store.write(lambda tx: ctx.audit(tx, "obsidian_export", (), counts=counts))
    return {"success": True, "exported": counts, "vaultDir": str(folder)}


def _folder(ctx: CallContext) -> Path:
    folders = page_folders(ctx)
    if not folders:
        raise InvalidRequest(
            "vaultDir: no folder is named in which notes may be written", hint=f"Set {SETTING} and restart the server."
        )
    return folders[0]


class Bridge(Request):
    direction: Literal["write", "read"] = Field(
        default="write", description="write: memories into MEMORY.md. read: what it says, as memories."
    )
    project: CleanName | None = Field(default=None, description="Project of what is read or written.")


class BridgeAnswer(TypedDict):
    success: bool
    memories: int
    markdown: str
    path: NotRequired[str]
    lines: NotRequired[int]
    added: NotRequired[int]
    changed: NotRequired[int]


def claude_bridge_sync(ctx: CallContext, ask: Bridge) -> BridgeAnswer:
    """Return the newest memories as a MEMORY.md page, or bring a MEMORY.md and this memory in line.

    With HOLDFAST_CLAUDE_MEMORY_FILE, writing replaces Holdfast's own part of that file, between two marks, and leaves
    the rest; reading saves the rest as memories, and repeating it adds no duplicates.
    """
    path = _memory_file(ctx)
    if ask.direction == "read":
        return _read_memory_file(ctx, path, ask)
    bounds = (*ctx.sees_memories(), *of_project(ctx, ask.project), *where(latest=True))
    kept = [one for one in ctx.store.read().find(MEMORIES, ctx.tenant, *bounds, limit=LINES) if ctx.may_see(one)]
    page = "\n".join(["# Memory", "", *own_lines(kept), ""])
    answer: BridgeAnswer = {"success": True, "memories": len(kept), "markdown": page}
    return {**answer, "path": str(path), "lines": write_page(path, kept)} if path else answer


def _memory_file(ctx: CallContext) -> Path | None:
    """The file of the user who runs the server: other callers neither read nor write it."""
    named = ctx.settings.claude_memory_file
    return user_path(named, MEMORY_FILE, InvalidSettings) if named and ctx.caller.may("root") else None


def _read_memory_file(ctx: CallContext, path: Path | None, ask: Bridge) -> BridgeAnswer:
    if path is None:
        raise InvalidRequest(
            "direction: no MEMORY.md is named that this credential may read",
            hint=f"Set {MEMORY_FILE} and restart the server.",
        )
    text = redact_text(check_text(user_text(path))).value
    done = import_rules(ctx, RulesFile(CleanText(path.name), text, ask.project), None)
    counts = {"added": len(done.added), "changed": len(done.changed), "memories": len(done.added) + len(done.changed)}
    return {"success": True, "markdown": text, "path": str(path), **counts}  # type: ignore[typeddict-item]


PAGES = (
    Operation(
        claude_bridge_sync,
        "POST",
        "/claude-bridge/sync",
        effect="write",
        tool="memory_claude_bridge_sync",
        cli="bridge",
        on_copy=True,  # the hooks of an agent call it wherever they are; on a copy it writes no record
    ),
    Operation(
        compress_file,
        "POST",
        "/compress-file",
        effect="write",
        scope="root",
        tool="memory_compress_file",
        cli="compress-file",
        positional=("filePath",),
        paths=("filePath",),
    ),
    Operation(
        obsidian_export,
        "POST",
        "/obsidian/export",
        effect="write",
        scope="root",
        tool="memory_obsidian_export",
        cli="obsidian-export",
        positional=("vaultDir",),
        paths=("vaultDir",),
        long=True,
    ),
)
