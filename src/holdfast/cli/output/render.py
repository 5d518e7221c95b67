"""Answers on a terminal: tables for lists, lines for the rest; JSON when requested or piped by a program."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson
from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text

from holdfast.cli.output.columns import ColumnTitle, print_table
from holdfast.cli.output.folder_hints import answer_with_folder, with_folder
from holdfast.cli.output.full_hits import full_hits
from holdfast.cli.output.summary import BRIEF, reasons
from holdfast.core.errors import Fault

if TYPE_CHECKING:
    from holdfast.cli.connect import ConnectReport
    from holdfast.core.model import Json

# The columns worth a table's width, in order; the first six that the rows have are shown.
_COLUMNS = (
    "id", "snapshot", "sound", "uri", "sha", "label", "name", "ok", "found", "hint", "connected", "hooks", "folder",
    "did", "note", "code", "key", "table", "change", "added", "removed", "changed", "linesAdded", "linesRemoved",
    "before", "after", "why", "reason", "kind", "migratedTo", "memoryId", "score", "confidence", "priority",
    "status", "layout", "line", "here", "type", "operation", "about", "project", "agentId", "title", "content",
    "concept", "file", "frequency", "observationCount", "version", "scopes", "message", "size", "sentBytes",
    "startedAt", "timestamp", "createdAt", "path",
)  # fmt: skip
_SHOWN = 6
# Lists with columns of their own.
_OWN = {
    "flags": ("label", "enabled", "value", "source", "change"),
    "agents": ("name", "found", "connected", "hooks", "folder", "title"),
    "tenants": ("tenant", "change", "records"),
    "refused": ("kind", "id", "error"),
}
# Columns that a narrow terminal goes without, those of the highest number first.
_SPARE = {"source": 3, "value": 2, "title": 1}
_SIZES = frozenset({"size", "sentBytes"})
_CELL, _WIDE = 200, 1_000
_DATES = frozenset({"timestamp", "createdAt", "startedAt", "updatedAt", "endedAt", "expiresAt", "lastUsedAt"})
# What is there to be copied, or to be read to its end.
_WHOLE = _DATES | {
    "id", "snapshot", "about", "uri", "sha", "did", "memoryId", "found", "hint", "message", "error", "change",
    "path", "folder",
}  # fmt: skip


def print_json(value: Any) -> None:
    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")
    sys.stdout.buffer.flush()


def print_answer(answer: Any, operation: str = "") -> None:
    """The answer of an operation for a person."""
    console = Console(highlight=False)
    if not isinstance(answer, dict):
        console.print(Text(_printable(str(answer))))
        return
    answer = answer_with_folder(answer)
    if operation in BRIEF:
        print_lines(BRIEF[operation](answer))
    elif answer.get("format") == "passages":
        _print_passages(console, answer)
    elif operation == "search" and answer.get("format") == "full":
        print_lines(full_hits(answer))
    elif "context" in answer and isinstance(answer.get("lines"), list):
        _print_context(console, answer)
    else:
        _print_fields(console, answer)
    if answer.get("notice"):
        print_notice(_printable(str(answer["notice"])))


def _print_fields(console: Console, answer: Json) -> None:
    for name, value in answer.items():
        if name in ("exitCode", "notice"):  # the command exits with the one and prints the other apart from the answer
            continue
        if _is_rows(value):
            _print_rows(console, name, value)
        elif isinstance(value, list) and not value:
            console.print(Text(f"{name}: none", style="dim"))
        elif isinstance(value, dict):
            _print_record(console, name, value)
        elif _are_sentences(value):
            _print_line(console, f"{name}:")
            for one in value:
                _print_line(console, f"  {_printable(one)}")
        elif value not in (None, ""):
            _print_line(console, f"{name}: {_shown(value)}")


def _print_passages(console: Console, answer: Json) -> None:
    """Hits as a person reads them: when, the passage, and the id by which the record is shown, forgotten or kept."""
    if answer.get("hint"):
        _print_line(console, _printable(str(answer["hint"])))
    for number, hit in enumerate(answer["results"], 1):
        of = f", {_printable(str(hit['project']))}" if hit.get("project") else ""
        console.print(Text(f"{number}. {hit['when']}{of}  {_printable(str(hit['text']))}"))
        keep = f"; if it still holds: holdfast still-true {hit['marked']}" if hit.get("marked") else ""
        console.print(Text(f"   {hit['id']}{keep}", style="dim"), soft_wrap=True)
        if hit.get("also"):
            _print_line(console, f"   also: {_printable(', '.join(hit['also']))}", "dim")
        if "why" in hit:
            _print_line(console, f"   {_printable(reasons(hit['why']))}", "dim")
    if not answer["results"]:
        console.print(Text("No results.", style="dim"))


def _print_context(console: Console, answer: Json) -> None:
    """An agent's context, line by line; under each line why, and the records it is from."""
    section = ""
    if not answer.get("known", True):
        rest = " An agent there gets the memories for all projects:" if answer["lines"] else ""
        _print_line(console, f"No memories for project {_printable(str(answer['project']))}.{rest}")
    for line in answer["lines"]:
        if line["section"] != section:
            section = line["section"]
            console.print(Text(_printable(section), style="bold"))
        console.print(Text(_printable(str(line["text"]))))
        _print_line(console, "    " + _printable(", ".join([line["reason"], *line["ids"]])), "dim")
    for name, said in (("omitted", "Left out for space"), ("shortened", "Shortened")):
        counts = ", ".join(f"{count} of {head}" for head, count in answer.get(name, {}).items())
        if counts:
            _print_line(console, f"{said}: {counts}.")
    _print_line(console, f"{answer['tokens']} tokens.")


def print_lines(lines: Iterable[str]) -> None:
    """Lines for a person, each as long as it is."""
    console = Console(highlight=False)
    for line in lines:
        _print_line(console, _printable(line))


def _print_line(console: Console, line: str, style: str = "") -> None:
    """As one line, however long and with its tabs: a path or a statement that is cut in two cannot be copied."""
    console.print(Segments([Segment(f"{line}\n", Style.parse(style))]), soft_wrap=True)


def _are_sentences(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, str) and one.endswith(".") for one in value)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return _cell(value, len("yes"))
    return _printable(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _print_rows(console: Console, name: str, rows: list[Json]) -> None:
    """A table, and below it the tables that its rows hold, as the records of each table in a comparison."""
    _print_table(console, name, rows)
    _print_why(console, rows)
    for row in rows:
        called = row.get("table") or row.get("folder") or row.get("snapshot")
        for key, inner in row.items():
            if called and _is_rows(inner):
                _print_table(console, f"{called}: {key}", inner)
            elif called and key == "commits" and inner:
                _print_record(console, f"{called}: commits", inner)


def _print_why(console: Console, rows: list[Json]) -> None:
    """Why each hit is there, where that was requested: the parts of its score that are not zero, largest first."""
    for row in rows:
        if not isinstance(row.get("why"), dict):
            continue
        reasons = dict(row["why"])
        fields = reasons.pop("fields", None) or {}
        numbers = sorted(
            ((name, value) for name, value in reasons.items() if value and name != "score"),
            key=lambda pair: -abs(pair[1]),
        )
        said = [f"{name} {_cell(value, 10)}" for name, value in numbers]
        said += [f"{name}: {' '.join(words)}" for name, words in fields.items()]
        console.print(Text(_printable(f"{row.get('id')}  {', '.join(said)}"), style="dim"))


def _print_record(console: Console, name: str, record: Json) -> None:
    if not record:
        return
    console.print(Text(name, style="bold"))
    for key, value in record.items():
        if _is_rows(value):
            _print_rows(console, key, value)
        elif value not in (None, "", [], {}):
            _print_line(console, f"  {key}: {_cell(value, 400)}")


def _print_table(console: Console, name: str, rows: list[Json]) -> None:
    known = _OWN.get(name, _COLUMNS)
    columns = [column for column in known if any(row.get(column) not in (None, "") for row in rows)]
    if all(_is_titled(row) for row in rows):
        columns = [column for column in columns if column != "content"]
    columns = columns[:_SHOWN]
    cells = [[_in_column(column, row.get(column)) for column in columns] for row in rows]
    # Beside an id an address need not be whole: either leads to the memory.
    spare = _SPARE if name in _OWN else {}
    named = ("label",) if name == "flags" else ()
    heads = [
        ColumnTitle(one, one in named or (one in _WHOLE and not (one == "uri" and "id" in columns)), spare.get(one, 0))
        for one in columns
    ]
    print_table(console, heads, cells, f"{name} ({len(rows)})")


def _is_titled(row: Json) -> bool:
    """Whether the title is how the content begins: side by side they would repeat each other."""
    title = str(row.get("title") or "").removesuffix("…")
    return bool(title) and str(row.get("content") or "").startswith(title)


def _in_column(column: str, value: Any) -> str:
    if column in _DATES and (said := moment(value)):
        return said
    if column in _SIZES and isinstance(value, int):
        return size(value)
    return _cell(value, _WIDE if column in _WHOLE else _CELL)


def size(count: int) -> str:
    """Bytes as people read them."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if value >= 100 or unit == "B" else f"{value:.1f} {unit}"


def moment(said: Any) -> str:
    """A time of an answer by the clock of this machine."""
    try:
        return f"{datetime.fromisoformat(str(said)).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return ""


def _cell(value: Any, width: int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if isinstance(value, dict):
        value = ", ".join(f"{name} {_cell(one, width)}" for name, one in value.items() if one not in (None, ""))
    flat = " ".join(_printable(str("" if value is None else value)).split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def one_line(value: Any, width: int) -> str:
    """Stored text as one line that a terminal shows as it is."""
    return _cell(value, width)


def _printable(text: str) -> str:
    """Without control characters: stored text must not drive the terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)


def print_fault(fault: Fault, as_json: bool) -> None:
    """The fault on standard error: what, and what to do."""
    message, hint = with_folder(fault.message), with_folder(fault.hint)
    if as_json:
        sys.stderr.buffer.write(orjson.dumps({**fault.to_dict(), "error": message, "hint": hint}) + b"\n")
        return
    console = Console(stderr=True, highlight=False)
    # As lines of any length: a command or a path in them is there to be copied.
    console.print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)
    console.print(Text(f"  {hint}", style="dim"), soft_wrap=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A moving sign on a terminal while something takes its time."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(Text(what)):
        yield


def counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def print_notice(message: str) -> None:
    """A line for the person at the terminal, apart from the answer."""
    Console(stderr=True, highlight=False).print(Text(with_folder(message)), soft_wrap=True)


def _from_home(folder: str) -> str:
    """A folder as people write it, which fits beside the rest of a row."""
    home = os.path.expanduser("~")
    return f"~{folder[len(home) :]}" if folder.startswith(f"{home}{os.sep}") else folder


def print_report(report: ConnectReport) -> None:
    """What connect did: the diff, the files, the notes."""
    console = Console(highlight=False)
    if report.agents:
        rows = [asdict(agent) for agent in report.agents]
        _print_table(console, "agents", [{**row, "folder": _from_home(row["folder"])} for row in rows])
        return
    for one in report.diff.splitlines():
        style = "green" if one.startswith("+") else "red" if one.startswith("-") else "dim"
        _print_line(console, _printable(one), style)
    _print_line(console, f"{report.agent}: {report.action}", "bold")
    for change in report.changes:
        _print_line(console, f"  {change.path}: {change.summary}")
    for backup in report.backups:
        _print_line(console, f"  backup: {backup}", "dim")
    for note in report.notes:
        _print_line(console, f"  note: {note}")
