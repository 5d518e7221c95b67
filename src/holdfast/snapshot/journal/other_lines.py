"""What other hosts write to the same journal: lines that do not lead to this memory, and what of them is not in it.

Each host notices it by itself: what lies in the vault beyond what it knew when its own line began, under another host's
name. Clocks do not matter. Nothing is merged without a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import orjson

from holdfast.core.disk import disk_faults, make_folder, write_durably
from holdfast.core.ports import Vault
from holdfast.core.times import iso
from holdfast.snapshot.journal.journal_layout import JournalObject, list_journal
from holdfast.snapshot.journal.journal_lines import header_in
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.store.port import where
from holdfast.store.tables import AUDIT

_FILE = "known.json"  # in the journal's folder: by line, the last piece that was known when a line began here
MOST_ENTRIES = 1_000


@dataclass(frozen=True, slots=True)
class OtherLine:
    """A line that another host writes, and of which something is not in this memory."""

    line: str
    host: str
    number: int  # at least so many pieces it has
    last_at: int  # when its last object was cut, by its clock; 0 if that cannot be read
    took_over: bool = False  # it goes on from this memory's own line

    def notice(self, place: str) -> str:
        """For people: what it is, and how to bring it in."""
        what = "took this one's place" if self.took_over else "also writes this memory"
        when = f"; its last write is of {iso(self.last_at)}" if self.last_at else ""
        return (
            f"Another host ({self.host}) {what}, and what it wrote is not in this memory{when}. Only one of the two "
            f"should be written to. To bring it in, preview the merge: {self.command(place)} --dry-run"
        )

    def command(self, place: str) -> str:
        return f"holdfast snapshot merge {self.line} now --from {quote(place)}"


def note_known(folder: Path, known: Mapping[str, int]) -> None:
    """Remember up to where other lines are known."""
    with disk_faults("note the lines of the journal"):
        make_folder(folder)
    write_durably(folder / _FILE, orjson.dumps(dict(known)))


def known_lines(folder: Path) -> dict[str, int] | None:
    """None if nothing was noted yet."""
    try:
        value: Any = orjson.loads((folder / _FILE).read_bytes())
        return {str(line): int(number) for line, number in value.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return None


def note_held(folder: Path, line: str, number: int) -> None:
    """What another line has up to there came into this memory. Where nothing was noted yet, that is its past anyway."""
    known = known_lines(folder)
    if known is not None and number > known.get(line, 0):
        note_known(folder, {**known, line: number})


class LineWatch:
    """Looks for what others write to the journal of one memory; what was read of lines is remembered."""

    def __init__(self, context: SnapshotContext, folder: Path, host: str):
        self._context = context
        self._folder = folder
        self._host = host
        self._about: dict[str, tuple[str, str]] = {}  # of each line the host, and the line that it follows

    def look(self, vault: Vault, line: str, after: str) -> list[OtherLine]:
        """What is there now and not in this memory, whose line and the one before it are these."""
        context = self._context
        lines = list_journal(vault, context.tenant, context.agent)
        for id in lines.keys() - self._about.keys():
            if (header := header_in(vault, lines[id])) is not None:
                self._about[id] = header.host, header.after
        held = self._known(lines, line, after)
        for id, number in self._merged().items():
            held[id] = max(number, held.get(id, 0))
        found = []
        for id, objects in lines.items():
            host = self._about[id][0] if id in self._about else self._host
            if host != self._host and last_of(objects) > held.get(id, 0):
                header = header_in(vault, objects[-1:])
                over = line in self._led_by(id)
                found.append(OtherLine(id, host, last_of(objects), header.at if header else 0, over))
        return found

    def _known(self, lines: Mapping[str, list[JournalObject]], line: str, after: str) -> dict[str, int]:
        """Up to where each line is this one's past. What was there when this folder looked first is, but not a line
        that took this one's place; of the lines that led here, what was not noted otherwise."""
        known = known_lines(self._folder)
        past = {one for one in lines if known is None and line not in self._led_by(one)}
        past |= {one for one in (after, *self._led_by(after)) if one in lines and one not in (known or {})}
        if known is None or past:
            known = {**(known or {}), **{one: last_of(lines[one]) for one in past}}
            note_known(self._folder, known)
        return dict(known)

    def _led_by(self, line: str) -> list[str]:
        """The lines that led to that one, the last first."""
        found: list[str] = []
        while (line := self._about.get(line, ("", ""))[1]) and line not in found:
            found.append(line)
        return found

    def _merged(self) -> dict[str, int]:
        """Up to where lines were merged into this memory, by its audit log: that is part of it, wherever it goes."""
        live = self._context.live
        if live is None:
            return {}
        found: dict[str, int] = {}
        entries = live.store.read().find(
            AUDIT, self._context.tenant, *where(operation="snapshot_merge"), limit=MOST_ENTRIES
        )
        for line, number in _lines_of(str(one.details.get("line", "")) for one in entries):
            found[line] = max(number, found.get(line, 0))
        return found


def _lines_of(texts: Iterable[str]) -> Iterable[tuple[str, int]]:
    for one in " ".join(texts).split():
        line, _, number = one.partition(":")
        if number.isdigit():
            yield line, int(number)


def last_of(objects: list[JournalObject]) -> int:
    """The highest number that the names show."""
    return max((one.last or one.first for one in objects), default=0)
