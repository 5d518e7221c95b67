"""Operations on the files of Anthropic's memory tool: its commands as the model sends them, and undo."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest
from holdfast.core.wire import shape
from holdfast.intake.files.file_commands import CommandName, FileCommand, clean_path, run_command
from holdfast.intake.files.file_path import CommandRefused
from holdfast.intake.files.file_store import MemoryFiles
from holdfast.ops.framework.answers import MemoryShape
from holdfast.ops.framework.fields import CleanAny, storable
from holdfast.ops.framework.operation import ChatRequest, Operation
from holdfast.protocol.ownership import owned

MOST_LINES = 10_000_000
Raw = Annotated[str, AfterValidator(storable)]  # only looked for, never stored


class MemoryTool(ChatRequest):
    """The tool's `input`, as it is."""

    command: CommandName
    path: str | None = Field(default=None, description="A file or folder under /memories.")
    view_range: tuple[int, ...] | None = Field(
        default=None, alias="view_range", max_length=2, description="view: first and last line; -1 is the end."
    )
    file_text: CleanAny | None = Field(default=None, alias="file_text", description="create: the text of the file.")
    old_str: Raw | None = Field(default=None, alias="old_str", description="str_replace: text that is there once.")
    new_str: CleanAny | None = Field(
        default=None, alias="new_str", description="str_replace: text in its place. Default: none."
    )
    insert_line: int | None = Field(
        default=None,
        alias="insert_line",
        ge=-MOST_LINES,
        le=MOST_LINES,
        description="insert: number of the line after which the text is inserted; 0 is the beginning.",
    )
    insert_text: CleanAny | None = Field(default=None, alias="insert_text", description="insert: the text.")
    old_path: str | None = Field(default=None, alias="old_path", description="rename: the file or folder.")
    new_path: str | None = Field(default=None, alias="new_path", description="rename: its new path.")


class MemoryToolAnswer(TypedDict):
    content: str
    is_error: bool


def memory_tool(ctx: CallContext, ask: MemoryTool) -> MemoryToolAnswer:
    """Carry out a command of Anthropic's memory tool (memory_20250818): the `input` of a tool_use block in, `content`
    and `is_error` of the tool_result out.

    Files under /memories are memories with versions: they are searched, in snapshots, and of the chat or agent that
    made them. A command that cannot be carried out, such as on a path outside /memories, is an answer with is_error.
    """
    files = _files(ctx, ask)
    given = {name: getattr(ask, name) for name in FileCommand.__dataclass_fields__}
    try:
        return {"content": run_command(ctx, files, FileCommand(**given)), "is_error": False}
    except CommandRefused as refused:
        return {"content": str(refused), "is_error": True}


class MemoryToolUndo(ChatRequest):
    path: str = Field(max_length=1_000, description="The file, /memories/…")


class MemoryToolUndoAnswer(TypedDict):
    success: bool
    memory: MemoryShape


def memory_tool_undo(ctx: CallContext, ask: MemoryToolUndo) -> MemoryToolUndoAnswer:
    """Put a file of the memory tool back as it was before its last change, or bring a deleted one back.

    Called again, it undoes that. All versions: memory memories://PATH.
    """
    try:
        path = clean_path(ask.path)
    except CommandRefused as refused:
        raise InvalidRequest(f"path: {refused}") from None
    return {"success": True, "memory": shape(_files(ctx, ask).undo(path))}


def _files(ctx: CallContext, ask: ChatRequest) -> MemoryFiles:
    return MemoryFiles(ctx, owned(ask.umo, ask.sender_id), ask.agent_id)


FILE_OPERATIONS = (
    Operation(
        memory_tool,
        "POST",
        "/memory-tool",
        effect="write",
        tool="memory_tool",
        cli="memory-tool",
        positional=("command", "path"),
    ),
    Operation(
        memory_tool_undo,
        "POST",
        "/memory-tool/undo",
        effect="write",
        cli="memory-tool-undo",
        positional=("path",),
    ),
)
