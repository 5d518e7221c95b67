"""What the memory tool shows of files, and what its commands make of their text. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.intake.files.file_path import CommandRefused

NUMBER_WIDTH = 6
MOST_LINES = 999_999
VIEW_CHARS = 16_000  # the model is told that a longer file is cut when it is viewed without a range
LEVELS = 2
AROUND = 2  # lines shown before and after a change
KILO = 1024


@dataclass(frozen=True, slots=True)
class TextChange:
    """A file's text after a change, and the lines that are new in it."""

    text: str
    line: int
    count: int
    cleaned: bool = False  # a secret was removed from the whole


def numbered(lines: Sequence[str], first: int = 1) -> str:
    return "\n".join(f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def file_view(path: str, content: str, view_range: Sequence[int] | None) -> str:
    """The file with line numbers: the range, or as much from the beginning as one answer holds.

    Raises:
        CommandRefused: it has too many lines, or the range is none of its lines.
    """
    lines = content.split("\n")
    if len(lines) > MOST_LINES:
        raise CommandRefused(f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines.")
    head = f"Here's the content of {path} with line numbers:\n"
    if view_range is not None:
        first, last = _range_in(lines, view_range)
        return head + numbered(lines[first - 1 : last], first)
    whole = numbered(lines)
    if len(content) <= VIEW_CHARS:
        return head + whole
    return (
        f"{head}{whole[:VIEW_CHARS]}\n[The file has {len(lines)} lines and is cut here. View the rest with view_range.]"
    )


def _range_in(lines: Sequence[str], view_range: Sequence[int]) -> tuple[int, int]:
    first, last = view_range if len(view_range) == 2 else (0, 0)
    end = len(lines) if last == -1 else min(last, len(lines))
    if len(view_range) != 2 or max(first, 1) > end:
        raise CommandRefused(
            f"Error: Invalid `view_range` parameter: {list(view_range)}. It should be two lines within "
            f"[1, {len(lines)}], or -1 as the second one for the end of the file."
        )
    return max(first, 1), end


def folder_view(path: str, sizes: Mapping[str, int]) -> str:
    """The listing of a folder; `sizes` has the bytes of each file, by its path below the folder."""
    totals: dict[tuple[str, ...], int] = {}
    for name, size in sizes.items():
        parts = tuple(name.split("/"))
        for depth in range(1, len(parts)):
            totals[*parts[:depth], ""] = totals.get((*parts[:depth], ""), 0) + size
        totals[parts] = size
    shown = sorted(one for one in totals if len([part for part in one if part]) <= LEVELS and not _is_hidden(one))
    head = (
        f"Here're the files and directories up to {LEVELS} levels deep in {path}, excluding hidden items and "
        "node_modules:"
    )
    rows = [
        f"{_size(sum(sizes.values()))}\t{path}",
        *(f"{_size(totals[one])}\t{path}/{'/'.join(one)}" for one in shown),
    ]
    return "\n".join([head, *rows])


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith(".") or part == "node_modules" for part in parts)


def _size(size: float) -> str:
    if size < KILO:
        return f"{size:.0f}B"
    for unit in "KM":
        size /= KILO
        if size < KILO:
            return f"{size:.1f}{unit}"
    return f"{size / KILO:.1f}G"


def replaced(content: str, old: str, new: str, path: str, shown: str) -> TextChange:
    """The content with the one place that has the old text changed; `shown` is the old text for messages.

    Raises:
        CommandRefused: the old text is not there, or not only once.
    """
    found = _places_of(content, old)
    if not found:
        raise CommandRefused(f"No replacement was performed, old_str `{shown}` did not appear verbatim in {path}.")
    if len(found) > 1:
        lines = ", ".join(str(_line_at(content, one)) for one in found)
        raise CommandRefused(
            f"No replacement was performed. Multiple occurrences of old_str `{shown}` in lines: {lines}. "
            "Please ensure it is unique"
        )
    place = found[0]
    text = content[:place] + new + content[place + len(old) :]
    return TextChange(text, _line_at(content, place), new.count("\n") + 1)


def _places_of(text: str, part: str) -> list[int]:
    """Where a part begins in a text, also where it overlaps itself."""
    found, at = [], text.find(part)
    while at >= 0:
        found.append(at)
        at = text.find(part, at + 1)
    return found


def _line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def inserted(content: str, after: int, text: str) -> TextChange:
    """The content with the text as lines of their own after a line.

    Raises:
        CommandRefused: there is no such line.
    """
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not 0 <= after <= len(lines):
        raise CommandRefused(
            f"Error: Invalid `insert_line` parameter: {after}. It should be within the range of lines of the file: "
            f"[0, {len(lines)}]"
        )
    text = text.rstrip("\n")
    return TextChange("\n".join([*lines[:after], text, *lines[after:]]) + "\n", after + 1, text.count("\n") + 1)


def snippet(change: TextChange) -> str:
    """The lines around a change, numbered."""
    first = max(1, change.line - AROUND)
    return numbered(change.text.split("\n")[first - 1 : change.line + change.count - 1 + AROUND], first)


def lines_with(content: str, marks: Sequence[str]) -> list[int]:
    """The numbers of the lines that hold one of the marks."""
    return [number for number, line in enumerate(content.split("\n"), 1) if any(mark in line for mark in marks)]
