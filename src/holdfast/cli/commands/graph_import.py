"""Import of the MCP memory server's file, memory.json or memory.jsonl: an entity or a relation in each line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from holdfast.cli.command_table import endpoint
from holdfast.cli.output.progress import progress
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Json

if TYPE_CHECKING:  # it loads every operation
    from holdfast.connection import Connection

AT_ONCE, MOST_BYTES = 500, 2_000_000  # lines in one request, and about as many bytes
REFUSALS_SHOWN = 50
FIRST_BYTES = 4_000_000  # of a line that is looked at to tell what the file is
BOM = b"\xef\xbb\xbf"
KINDS = ("entities", "observations", "relations")
_FIELDS = {"entity": ("name", "entityType"), "relation": ("from", "to", "relationType")}


@dataclass
class GraphReport:
    """What was taken, what was there already, and which lines were not taken."""

    imported: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    skipped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    refused: list[Json] = field(default_factory=list)
    refusals: int = 0

    def count(self, kind: str, new: int, given: int) -> None:
        self.imported[kind] += new
        self.skipped[kind] += given - new

    def refuse(self, line: int, reason: str) -> None:
        self.refusals += 1
        if len(self.refused) < REFUSALS_SHOWN:
            self.refused.append({"kind": "line", "id": str(line), "error": reason})

    def answer(self) -> Json:
        return {
            "success": not self.refusals,
            "imported": self.imported,
            "skipped": self.skipped,
            "refused": self.refused,
            "refusedCount": self.refusals,
        }


@dataclass(frozen=True)
class GraphLine:
    number: int
    kind: str
    value: Json
    size: int


def is_graph(path: Path) -> bool:
    """Whether the file begins as one of that server does."""
    try:
        with path.open("rb") as file:
            first = next((line for line in iter(lambda: file.readline(FIRST_BYTES), b"") if line.strip()), b"")
        _checked(orjson.loads(first.removeprefix(BOM)))
    except (OSError, ValueError):
        return False
    return True


def import_graph(connection: Connection, path: Path) -> Json:
    """Take in every entity and relation that is not there yet. A damaged line is reported and the others are taken."""
    report = GraphReport()
    try:
        raw = path.read_bytes().removeprefix(BOM)
    except OSError as error:
        raise InvalidRequest(f"import: {path} cannot be read ({error.strerror})") from error
    lines = list(_lines(raw, report))
    entities = [one for one in lines if one.kind == "entity"]
    relations = [one for one in lines if one.kind == "relation"]
    with progress() as bar:
        task = bar.add_task("importing", total=len(lines))
        for some, send in ((entities, _send_entities), (relations, _send_relations)):
            for piece in _pieces(some):
                _each_or_all(connection, piece, send, report)
                bar.advance(task, len(piece))
    return report.answer()


def _lines(raw: bytes, report: GraphReport) -> Iterator[GraphLine]:
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            kind, value = _checked(orjson.loads(line))
        except orjson.JSONDecodeError:
            report.refuse(number, "is not JSON")
        except ValueError as error:
            report.refuse(number, str(error))
        else:
            yield GraphLine(number, kind, value, len(line))


def _checked(value: Any) -> tuple[str, Json]:
    """An entity or a relation, without what else its line holds."""
    kind = value.get("type") if isinstance(value, dict) else None
    if kind not in _FIELDS:
        raise ValueError("is neither an entity nor a relation")
    wrong = [name for name in _FIELDS[kind] if not isinstance(value.get(name), str)]
    texts = value.get("observations", [])
    if kind == "entity" and not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        wrong.append("observations")
    if wrong:
        raise ValueError(f"{', '.join(wrong)}: missing or of the wrong type")
    told: Json = {"observations": texts} if kind == "entity" else {}
    return kind, {**{name: value[name] for name in _FIELDS[kind]}, **told}


def _pieces(lines: list[GraphLine]) -> Iterator[list[GraphLine]]:
    piece: list[GraphLine] = []
    size = 0
    for line in lines:
        if piece and (len(piece) >= AT_ONCE or size + line.size > MOST_BYTES):
            yield piece
            piece, size = [], 0
        piece.append(line)
        size += line.size
    if piece:
        yield piece


_Send = Callable[["Connection", list[GraphLine], GraphReport], None]


def _each_or_all(connection: Connection, piece: list[GraphLine], send: _Send, report: GraphReport) -> None:
    """Send the lines at once; if one of them cannot be taken, each alone, to report which."""
    try:
        send(connection, piece, report)
    except InvalidRequest as fault:
        if len(piece) == 1:
            report.refuse(piece[0].number, fault.message)
            return
        for line in piece:
            _each_or_all(connection, [line], send, report)


def _send_entities(connection: Connection, piece: list[GraphLine], report: GraphReport) -> None:
    made = connection.call(endpoint("create_entities"), {"entities": [one.value for one in piece]})["entities"]
    new = {one["name"] for one in made}
    known = [
        {"entityName": one.value["name"], "contents": one.value["observations"]}
        for one in piece
        if one.value["name"] not in new
    ]
    added = connection.call(endpoint("add_observations"), {"observations": known})["results"] if known else []
    stored = sum(len(one["observations"]) for one in made) + sum(len(one["addedObservations"]) for one in added)
    report.count("entities", len(made), len(piece))
    report.count("observations", stored, sum(len(one.value["observations"]) for one in piece))


def _send_relations(connection: Connection, piece: list[GraphLine], report: GraphReport) -> None:
    made = connection.call(endpoint("create_relations"), {"relations": [one.value for one in piece]})["relations"]
    report.count("relations", len(made), len(piece))
