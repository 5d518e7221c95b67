"""Imports from other memory systems, of which a command loads the readers only when it needs them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.command_table import endpoint
from holdfast.cli.commands.imports import PIECE, add_up
from holdfast.cli.output.progress import progress
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Json
from holdfast.intake.foreign_import import REFUSALS_SHOWN, adopt
from holdfast.protocol.importers import (
    ImportResult,
    read_basic_memory,
    read_letta,
    read_markdown,
    read_mem0,
    read_plugin,
)
from holdfast.protocol.importers.documents import MOST_BYTES
from holdfast.protocol.importers.notes import FILE_BYTES

if TYPE_CHECKING:  # it loads every operation
    from holdfast.connection import Connection


def import_foreign(
    connection: Connection, path: Path, system: str, *, platform: str, owner: str, replace: bool
) -> Json:
    """Import the export of another memory system; what was taken, what was there already, and what was not taken.

    Raises:
        InvalidRequest: nothing is there, or it is no such export.
    """
    reading = _read_foreign(path, system)
    made = adopt(reading, platform=platform, owner=owner)
    strategy = "replace" if replace else "merge"
    total: Json = {"success": True, "imported": {}, "skipped": {}, "refused": [], "refusedCount": 0}
    lists = {"memories": made.memories, "addresses": made.addresses, "relations": made.relations}
    with progress() as bar:
        task = bar.add_task("importing", total=sum(map(len, lists.values())))
        for name, records in lists.items():
            for start in range(0, len(records), PIECE):
                piece = {name: records[start : start + PIECE]}
                add_up(
                    total,
                    connection.call(endpoint("import_"), {"exportData": piece, "strategy": strategy}),
                    repeated=False,
                )
                bar.advance(task, PIECE)
    refused = made.refused + total["refusedCount"]
    told = [{"ref": one["id"], "reason": one["error"]} for one in total["refused"]]
    return {
        "success": not refused,
        "system": reading.system,
        "imported": total["imported"],
        "skipped": total["skipped"],
        "refused": refused,
        "refusals": [*made.refusals, *told][:REFUSALS_SHOWN],
        "passedOver": dict(made.passed_over),
    }


def _read_foreign(path: Path, system: str) -> ImportResult:
    if system in FOLDERS:
        if not path.is_dir():
            raise InvalidRequest(f"import: {path} is not a folder")
        return FOLDERS[system](_files(path))
    try:
        with path.open("rb") as file:
            return FILES[system](file.read(MOST_BYTES + 1))
    except OSError as error:
        raise InvalidRequest(f"import: {path} cannot be read ({error.strerror})") from error


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Files under the folder by their paths in it, as far as one is read; links are not followed."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.is_symlink() and folder.resolve() in file.resolve().parents:
            with file.open("rb") as opened:
                yield file.relative_to(folder).as_posix(), opened.read(FILE_BYTES + 1)


FILES = {"plugin": read_plugin, "mem0": read_mem0, "letta": read_letta}
FOLDERS = {"basic-memory": read_basic_memory, "markdown": read_markdown}
