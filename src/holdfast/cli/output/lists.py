"""The viewer's lists for a terminal: the columns a person looks for, on one line a row, as wide as the terminal is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from holdfast.cli.output.columns import LEAST, ColumnTitle, print_table
from holdfast.cli.output.folder_hints import with_folder
from holdfast.cli.output.render import moment, one_line, size

if TYPE_CHECKING:
    from holdfast.core.model import Json

_LONGEST = 400  # characters of a cell; the terminal shows what it has room for


@dataclass(frozen=True)
class Column:
    title: str
    cell: Callable[[Json], Any]
    whole: bool = False  # an id is there to be copied, and half a date is useless: neither is ever cut
    spare: int = 0  # a narrow terminal goes without it, without the highest number first
    least: int = LEAST


@dataclass(frozen=True)
class Listing:
    rows: str  # the field of the answer that holds them
    columns: tuple[Column, ...]
    nothing: str


def _of(*names: str) -> Callable[[Json], Any]:
    """The first of these that the row has."""
    return lambda row: next((row[name] for name in names if row.get(name) not in (None, "")), "")


def _when(*names: str) -> Column:
    read = _of(*names)
    return Column("when", lambda row: moment(read(row)), whole=True)


def _percent(row: Json) -> str:
    return f"{round(100 * row['confidence'])} %"


def _place(row: Json) -> str:
    return "everywhere" if row["scope"] == "global" else row.get("project") or "no project"


def _fullness(row: Json) -> str:
    return f"{len(row['content']):,} of {row['sizeLimit']:,}"


def _offset(row: Json) -> str:
    seconds = int(row["offsetMs"]) // 1000
    return f"{seconds // 60}:{seconds % 60:02}"


def _outcome(row: Json) -> Any:
    return row.get("toolOutput") or row.get("body") or ""


def _who(row: Json) -> str:
    return " · ".join(str(one) for one in (row.get("caller"), row.get("agentId")) if one)


def _state(row: Json) -> str:
    return "damaged" if row["damaged"] else str(row["status"])


def _receipt(row: Json) -> str:
    return str(row["receipt"]) if row["outcome"] == "restored" else "none"


def _seal(row: Json) -> str:
    signed = "signed" if row.get("signer") else "not signed"
    return f"{signed}, {'encrypted' if row.get('encrypted') else 'not encrypted'}"


_ID = Column("id", _of("id"), whole=True)
_PROJECT = Column("project", _of("project"), spare=1)
_TYPE = Column("type", _of("type"))
_TEXT = 24  # characters of a text that show what it is about

LISTINGS: dict[str, Listing] = {
    "memories": Listing(
        "memories",
        (_when("updatedAt", "createdAt"), _TYPE, _PROJECT, Column("memory", _of("title", "content"), least=_TEXT), _ID),
        "No memories yet. Save one: holdfast remember TEXT",
    ),
    "sessions": Listing(
        "sessions",
        (
            _when("startedAt"),
            Column("state", _of("status"), spare=3),
            _PROJECT,
            Column("steps", lambda row: row["observationCount"], spare=2),
            Column("session", _of("title", "firstPrompt"), least=_TEXT),
            _ID,
        ),
        "No sessions yet. Connect an agent: holdfast connect",
    ),
    "timeline": Listing(
        "observations",
        (_when("timestamp"), _TYPE, _PROJECT, Column("what happened", _of("title"))),
        "No events. Connect an agent: holdfast connect",
    ),
    "lessons": Listing(
        "lessons",
        (
            Column("sure", _percent),
            Column("confirmed", lambda row: row["reinforcements"]),
            _PROJECT,
            Column("lesson", _of("content")),
            _ID,
        ),
        "No lessons yet. Save one: holdfast lesson save TEXT",
    ),
    "slots": Listing(
        "slots",
        (
            Column("slot", _of("label"), whole=True),
            Column("where", _place),
            Column("told", lambda row: "always" if row["pinned"] else "when asked"),
            Column("characters", _fullness),
            Column("text", _of("content")),
        ),
        "No slots.",
    ),
    "actions": Listing(
        "actions",
        (
            Column("state", _of("status")),
            Column("priority", lambda row: row["priority"]),
            _PROJECT,
            Column("action", _of("title")),
            _ID,
        ),
        "No actions yet. Add one: holdfast action create TITLE",
    ),
    "audit": Listing(
        "entries",
        (
            _when("timestamp"),
            Column("operation", _of("operation")),
            Column("who", _who),
            Column("changes", lambda row: ", ".join(row["targetIds"])),
        ),
        "No entries.",
    ),
    "graph": Listing(
        "nodes",
        (
            Column("kind", _of("kind")),
            Column("memories", lambda row: row["memories"]),
            Column("name", _of("name")),
        ),
        "The graph is empty. It shows memories that name concepts or files.",
    ),
    "replay": Listing(
        "frames",
        (
            Column("at", _offset),
            Column("kind", _of("kind")),
            Column("step", _of("label")),
            Column("result", _outcome),
        ),
        "This session has no steps.",
    ),
    "snapshots": Listing(
        "snapshots",
        (
            _when("createdAt"),
            Column("name", _of("label")),
            Column("state", _state),
            Column("seal", _seal, spare=1),
            Column("size", lambda row: size(row["size"])),
            _ID,
        ),
        "No snapshots yet. Create one: holdfast snapshot create",
    ),
    "drills": Listing(
        "drills",
        (
            _when("startedAt"),
            Column("outcome", _of("outcome"), whole=True),
            Column("receipt", _receipt),
            Column("what came of it", _of("summary", "snapshot", "id"), least=_TEXT),
        ),
        "No drill yet. Make one: holdfast drill",
    ),
    "guarded places": Listing(
        "places",
        (
            Column("place", _of("name"), whole=True),
            Column("state", _of("state")),
            Column("files", lambda row: row["files"]),
            Column("removed", lambda row: row["removed"]),
            Column("left out", lambda row: row["leftOut"]),
            Column("versions", lambda row: row["versions"], spare=1),
            Column("size", lambda row: size(row["size"])),
            _when("takenAt"),
            Column("message", _of("message"), spare=2),
        ),
        "Nothing is guarded yet. Begin with: holdfast guard add claude-code",
    ),
    "versions": Listing(
        "files",
        (
            _when("takenAt"),
            Column("change", _of("change"), whole=True),
            Column("size", lambda row: size(row["size"])),
            Column("file", _of("path"), whole=True),
        ),
        "Nothing is kept of it yet.",
    ),
}


# Operations whose answers are such lists.
PAGE_OF = {
    "memories": "memories",
    "sessions": "sessions",
    "snapshot_list": "snapshots",
    "drill_list": "drills",
    "guard_list": "guarded places",
    "guard_history": "versions",
}


def print_listing(page: str, answer: Json, console: Console | None = None, *, narrowed: bool = False) -> None:
    """The rows of a page, and how many there are in all; `narrowed`: only some were requested."""
    out = console or Console(highlight=False)
    listing = LISTINGS[page]
    rows = answer[listing.rows]
    total = answer.get("total", answer.get("count", len(rows)))
    if not rows:
        nothing = answer.get("message") or listing.nothing
        said = f"{total:,} {page}." if total else "None found." if narrowed else nothing
        out.print(Text(with_folder(said)), soft_wrap=True)
        return
    cells = [[one_line(column.cell(row), _LONGEST) for column in listing.columns] for row in rows]
    heads = [ColumnTitle(one.title, one.whole, one.spare, one.least) for one in listing.columns]
    print_table(out, heads, cells)
    if isinstance(total, int) and total > len(rows):
        out.print(Text(f"{len(rows)} of {total:,}", style="dim"))
