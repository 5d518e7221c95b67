"""Tables that fit the terminal: ids, dates and paths stand whole, other cells are cut, spare columns are left out.

Where even that is too wide, each row becomes a few lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

GAP = 2  # between columns
LEAST = 10  # characters below which a cell that is cut is useless


@dataclass(frozen=True, slots=True)
class ColumnTitle:
    """The title of a column; what is `whole` is never cut or broken: it is there to be copied, or read to its end.

    A cell that is cut keeps `least` characters. Where that does not fit, `spare` columns go, the highest number first.
    """

    title: str
    whole: bool = False
    spare: int = 0
    least: int = LEAST


def print_table(console: Console, heads: Sequence[ColumnTitle], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """The rows as a table, or as a few lines each on a terminal that is too narrow for one."""
    if title:
        console.print(Text(title, style="bold"), soft_wrap=True)
    shown = _fitting(heads, rows, console.width)
    heads, rows = [heads[at] for at in shown], [[row[at] for at in shown] for row in rows]
    widths = fitted(heads, rows, console.width)
    if widths is None:
        _print_lines(console, heads, rows)
        return
    table = Table(box=None, header_style="bold cyan", pad_edge=False, padding=(0, GAP, 0, 0), collapse_padding=True)
    for head, width in zip(heads, widths, strict=True):
        table.add_column(head.title, no_wrap=True, overflow="ellipsis", width=width)
    for row in rows:
        # Text, not markup: stored text must not be able to colour or hide anything.
        table.add_row(*map(Text, row))
    console.print(table, soft_wrap=False, crop=False)


def _fitting(heads: Sequence[ColumnTitle], rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """The places of the columns that stand beside each other; all of them if even the fewest do not."""
    shown = list(range(len(heads)))
    while fitted([heads[at] for at in shown], [[row[at] for at in shown] for row in rows], room) is None:
        spare = max(shown, key=lambda at: heads[at].spare)
        if not heads[spare].spare:
            return list(range(len(heads)))
        shown.remove(spare)
    return shown


def fitted(heads: Sequence[ColumnTitle], rows: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """The width of each column; None if they cannot stand beside each other without cutting what must be whole."""
    wanted = [max([cell_len(head.title), *(cell_len(row[at]) for row in rows)]) for at, head in enumerate(heads)]
    room -= GAP * (len(heads) - 1)
    if sum(wanted) <= room:
        return wanted
    cut = sorted((at for at, head in enumerate(heads) if not head.whole), key=lambda at: wanted[at])
    room -= sum(width for at, width in enumerate(wanted) if heads[at].whole)
    widths = list(wanted)
    for left, at in enumerate(cut):  # the narrow ones first: what they do not need goes to the others
        widths[at] = min(wanted[at], room // (len(cut) - left))
        room -= widths[at]
        if widths[at] < min(wanted[at], heads[at].least):
            return None
    return widths if room >= 0 else None


def _print_lines(console: Console, heads: Sequence[ColumnTitle], rows: Sequence[Sequence[str]]) -> None:
    """Each row as lines of title and text, an empty line between two rows."""
    margin = max(len(head.title) for head in heads) + GAP
    for number, row in enumerate(rows):
        if number:
            console.print()
        for head, text in zip(heads, row, strict=True):
            line = Text.assemble((f"{head.title:<{margin}}", "cyan"), text)
            if not text:
                continue
            if not head.whole:
                line.truncate(console.width, overflow="ellipsis")
            console.print(line, soft_wrap=True)
