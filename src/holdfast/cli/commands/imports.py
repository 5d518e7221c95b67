"""Imports from the command line: in pieces, so that a person sees them move and no request is too large."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli.command_table import endpoint
from holdfast.cli.output.progress import progress
from holdfast.core.disk import user_path
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Json
from holdfast.local.project_key import project_key

if TYPE_CHECKING:  # it loads every operation
    from holdfast.connection import Connection

PIECE = 500
MOST_FILES = 1_000
MOST_RULES_BYTES = 1_000_000
MARKDOWN = (".md", ".markdown", ".mdc")


def import_document(connection: Connection, document: Json, strategy: str) -> Json:
    """Import an export: sessions, then their observations piece by piece, then all the rest."""
    if "memory_format" in document:  # of Progenly: documents that mean something together only
        answer: Json = connection.call(endpoint("import_"), {"exportData": document, "strategy": strategy})
        return answer
    rest = {name: value for name, value in document.items() if name != "observations"}
    sessions: Json = {"sessions": rest.pop("sessions")} if "sessions" in rest else {}
    parts = ({**sessions, "observations": piece} for piece in _pieces(document.get("observations")))
    # What names no list of an export is sent as it is: the server says that it is none.
    pieces: list[Json] = [one for one in (sessions, *parts, rest) if one] or [document]
    total: Json = {"success": True, "imported": {}, "skipped": {}, "refused": [], "refusedCount": 0}
    with progress() as bar:
        task = bar.add_task("importing", total=len(pieces))
        for place, piece in enumerate(pieces):
            if place and not any(isinstance(value, list | dict) and value for value in piece.values()):
                continue
            answer = connection.call(endpoint("import_"), {"exportData": piece, "strategy": strategy})
            add_up(total, answer, repeated=place > 0 and piece is not rest)
            bar.advance(task)
    return total


def _pieces(observations: object) -> Iterator[Json | list[Any]]:
    """Observations in pieces, by session or in one list as the document has them."""
    if isinstance(observations, list):
        yield from (observations[start : start + PIECE] for start in range(0, len(observations), PIECE))
    if not isinstance(observations, dict):
        return
    pairs = ((id, one) for id, items in observations.items() if isinstance(items, list) for one in items)
    while batch := list(islice(pairs, PIECE)):
        piece: Json = {}
        for id, one in batch:
            piece.setdefault(id, []).append(one)
        yield piece


def add_up(total: Json, answer: Json, *, repeated: bool) -> None:
    """Add up; sessions travel along with every piece of observations and are counted once."""
    for kind in ("imported", "skipped"):
        for name, count in answer[kind].items():
            if not (repeated and name == "sessions"):
                total[kind][name] = total[kind].get(name, 0) + count
    if not repeated or answer["refusedCount"]:
        total["refused"] += answer["refused"]
        total["refusedCount"] += answer["refusedCount"]
    total["success"] = total["success"] and answer["success"]


def import_rules(connection: Connection, path: Path, project: str | None) -> Json:
    """Import a Markdown file of rules; without a project, those of the project that its folder belongs to.

    Raises:
        InvalidRequest: it cannot be read, or is no text.
    """
    real = user_path(path, "import").resolve()
    try:
        with real.open("rb") as file:
            raw = file.read(MOST_RULES_BYTES + 1)
        text = raw.decode()
    except OSError as error:
        raise InvalidRequest(f"import: {path} cannot be read ({error.strerror})") from error
    except UnicodeDecodeError:
        raise InvalidRequest(f"import: {path} is not UTF-8 text") from None
    if not text.strip():
        raise InvalidRequest(f"import: {path} is empty")
    if len(raw) > MOST_RULES_BYTES:
        raise InvalidRequest(f"import: {path} has more than {MOST_RULES_BYTES} bytes", hint="Split the file.")
    arguments: Json = {"file": _in_its_project(real), "text": text}
    if named := _project_of(real) if project is None else project:
        arguments["project"] = named
    answer: Json = connection.call(endpoint("import_rules"), arguments)
    if answer["removed"]:
        answer["hint"] = "These are no longer in the file but still recalled. Remove one with: holdfast forget ID"
    return answer


def _project_of(file: Path) -> str | None:
    """The project of the file's folder; none for rules that an agent keeps in the home folder, as ~/.claude/CLAUDE.md:
    they hold everywhere."""
    folder, home = file.parent, Path.home().resolve()
    if folder == home or (folder.name.startswith(".") and folder.parent in (home, home / ".config")):
        return None
    return project_key(str(folder))


def _in_its_project(file: Path) -> str:
    """The file's path from the root of its repository, so that clones agree on it; its name where there is none."""
    for root in file.parents:
        if (root / ".git").exists():
            return file.relative_to(root).as_posix()
    return file.name


def import_transcripts(connection: Connection, path: Path) -> Json:
    """Import every transcript of a folder, one after the other."""
    from holdfast.intake.transcripts.reader import find_transcripts

    files = find_transcripts(path, MOST_FILES)
    total: Json = {
        "success": True,
        "imported": 0,
        "sessionIds": [],
        "observations": 0,
        "duplicates": 0,
        "skippedLines": 0,
    }
    with progress() as bar:
        for file in bar.track(files, description="reading transcripts"):
            answer = connection.call(endpoint("import_jsonl"), {"path": str(file.resolve())})
            for name in ("imported", "observations", "duplicates", "skippedLines"):
                total[name] += answer[name]
            total["sessionIds"] += [id for id in answer["sessionIds"] if id not in total["sessionIds"]]
    if not total["observations"] + total["duplicates"]:
        total["notice"] = f"Nothing in {path} was recognised as a transcript of Claude Code, Codex or Cursor."
    return total
