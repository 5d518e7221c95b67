"""The commands of Anthropic's memory tool (memory_20250818), and the texts that its documentation asks for.

A model edits what it believes is in a file. So an answer says when a secret was removed from what it wrote, and in
which lines; and text that it looks for is also found where the secret in it was removed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from holdfast.context import CallContext
from holdfast.core.model import CleanText
from holdfast.intake.files.file_path import CommandRefused, full_path, relative_path, shown_path
from holdfast.intake.files.file_store import MemoryFiles
from holdfast.intake.files.file_text import (
    TextChange,
    file_view,
    folder_view,
    inserted,
    lines_with,
    replaced,
    snippet,
)
from holdfast.redact import PRIVATE_MARK, SECRET_MARK, redact_text

CommandName = Literal["view", "create", "str_replace", "insert", "delete", "rename"]
MARKS = (SECRET_MARK, PRIVATE_MARK)
MOST_LINES_NAMED = 20


@dataclass(frozen=True, slots=True)
class FileCommand:
    """The input of one use of the tool; each command has some of the fields. What is stored of it is clean."""

    command: CommandName
    path: str | None = None
    view_range: tuple[int, ...] | None = None
    file_text: CleanText | None = None
    old_str: str | None = None
    new_str: CleanText | None = None
    insert_line: int | None = None
    insert_text: CleanText | None = None
    old_path: str | None = None
    new_path: str | None = None


def run_command(ctx: CallContext, files: MemoryFiles, asked: FileCommand) -> str:
    """The text for the tool's result.

    Raises:
        CommandRefused: the command cannot be carried out; its text is for the model.
    """
    missing = [name for name in _NEEDS[asked.command] if getattr(asked, name) is None]
    if missing:
        raise CommandRefused(f"Error: {asked.command} needs {' and '.join(missing)}")
    return _RUN[asked.command](ctx, files, asked)


def clean_path(path: str | None) -> str:
    """The path below /memories.

    Raises:
        CommandRefused: it is none, or holds what looks like a secret: a file is found by the path as it was given.
    """
    relative = relative_path(path or "")
    clean = redact_text(relative)
    if clean.value != relative:
        raise CommandRefused(f"Error: Path holds what looks like a secret: {shown_path(full_path(clean.value))}")
    return relative


def _view(ctx: CallContext, files: MemoryFiles, asked: FileCommand) -> str:
    path = clean_path(asked.path)
    file = files.file(path) if path else None
    if file is not None:
        return file_view(full_path(path), file.content, asked.view_range)
    inside = files.folder(path)
    if path and not inside:
        raise CommandRefused(f"The path {full_path(path)} does not exist. Please provide a valid path.")
    return folder_view(full_path(path), {name: len(one.content.encode()) for name, one in inside.items()})


def _create(ctx: CallContext, files: MemoryFiles, asked: FileCommand) -> str:
    path, text = clean_path(asked.path), asked.file_text or CleanText("")
    files.create(path, text)
    return f"File created successfully at: {full_path(path)}" + _note(ctx, TextChange(text, 1, 1))


def _str_replace(ctx: CallContext, files: MemoryFiles, asked: FileCommand) -> str:
    path, old = clean_path(asked.path), asked.old_str or ""
    if not old:
        raise CommandRefused("Error: old_str must not be empty")
    stored = redact_text(old).value  # what became of it when the model wrote it

    def edit(content: str) -> TextChange:
        wanted = old if old in content else stored
        return replaced(content, wanted, asked.new_str or "", full_path(path), stored)

    missing = f"Error: The path {full_path(path)} does not exist. Please provide a valid path."
    made = files.change(path, edit, missing)
    head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    return f"{head}\n{snippet(made)}" + _note(ctx, made)


def _insert(ctx: CallContext, files: MemoryFiles, asked: FileCommand) -> str:
    path, after, text = clean_path(asked.path), asked.insert_line or 0, asked.insert_text or ""
    missing = f"Error: The path {full_path(path)} does not exist"
    made = files.change(path, lambda content: inserted(content, after, text), missing)
    return f"The file {full_path(path)} has been edited." + _note(ctx, made)


def _delete(ctx: CallContext, files: MemoryFiles, asked: FileCommand) -> str:
    path = clean_path(asked.path)
    files.delete(path)
    return f"Successfully deleted {full_path(path)}"


def _rename(ctx: CallContext, files: MemoryFiles, asked: FileCommand) -> str:
    old, new = clean_path(asked.old_path), clean_path(asked.new_path)
    files.rename(old, new)
    return f"Successfully renamed {full_path(old)} to {full_path(new)}"


def _note(ctx: CallContext, made: TextChange) -> str:
    """That the file differs from what was written, and where; "" if it does not."""
    if not (ctx.redacted or made.cleaned):
        return ""
    lines = lines_with(made.text, MARKS)
    named = ", ".join(map(str, lines[:MOST_LINES_NAMED])) + (", …" if len(lines) > MOST_LINES_NAMED else "")
    return (
        "\nNote: what looked like a secret was removed before the file was stored, so the file differs from what you "
        f"wrote. {SECRET_MARK} or {PRIVATE_MARK} stands in its place, in lines: {named}. View the file before you edit "
        "these lines."
    )


_Run = Callable[[CallContext, MemoryFiles, FileCommand], str]
_RUN: dict[CommandName, _Run] = dict(
    zip(get_args(CommandName), (_view, _create, _str_replace, _insert, _delete, _rename), strict=True)
)
_NEEDS: dict[CommandName, tuple[str, ...]] = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
