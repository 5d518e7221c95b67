"""Whether what a vault has of the journal can be used: every piece is read and checked, as a restore would."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from holdfast.core.errors import Fault
from holdfast.core.ports import Vault
from holdfast.snapshot.journal.journal_lines import JournalLine, read_lines
from holdfast.snapshot.journal.journal_reader import Base, Trust, fetch_line


@dataclass(frozen=True, slots=True)
class LineCheck:
    """One line: how many pieces can be used, up to when, and why no more."""

    line: str
    pieces: int
    upto: int | None
    problem: Fault | None


def check_journal(vault: Vault, trust: Trust, into: Path) -> list[LineCheck]:
    """All lines, from the first piece that is left of each; pieces are fetched into a private folder."""
    found = [_check(vault, trust, line, into) for line in _lines(vault, trust).values()]
    if all(one.problem is None for one in found):
        return found
    lines = _lines(vault, trust)  # a server may just have put pieces together, or removed some: they lie elsewhere
    return [one if one.problem is None else _check(vault, trust, lines[one.line], into) for one in found
            if one.line in lines]  # fmt: skip


def _lines(vault: Vault, trust: Trust) -> dict[str, JournalLine]:
    return read_lines(vault, trust.tenant, trust.agent)


def _check(vault: Vault, trust: Trust, line: JournalLine, into: Path) -> LineCheck:
    first, header = line.objects[0].first, line.header
    before = header.previous if header is not None and header.number == first else ""
    found = fetch_line(vault, line, Base(first - 1, before), None, trust, into)
    return LineCheck(line.id, len(found.pieces), found.upto, found.problem)
