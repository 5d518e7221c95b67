"""Damage as disks do it, on database files that this tree wrote and no process has open."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

PAGE = 4096


def live_database(home: Path) -> Path:
    """The live database of a data folder, with its log written back into it."""
    path = home / (home / "CURRENT").read_text().strip() / "memory.db"
    db = apsw.Connection(str(path))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()
    return path


def leaf_pages(path: Path, tree: str) -> list[int]:
    """The numbers of the leaf pages of a table or an index."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        sql = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno"
        return [number for (number,) in db.execute(sql, (tree,))]
    finally:
        db.close()


def break_page(path: Path, tree: str, place: int = -1) -> None:
    """Zero the beginning of a leaf page."""
    _break(path, [leaf_pages(path, tree)[place]])


def break_pages(path: Path, tree: str) -> None:
    """The same for all leaf pages of a table or an index."""
    _break(path, leaf_pages(path, tree))


def _break(path: Path, numbers: list[int]) -> None:
    for number in numbers:
        overwrite(path, (number - 1) * PAGE, bytes(200))


def change_text(path: Path, text: str) -> None:
    """Flip a bit in the last place where a text stands: the page stays readable, the row is another one."""
    data = path.read_bytes()
    at = data.rindex(text.encode())
    overwrite(path, at, bytes([data[at] ^ 1]))


def flip_bit(path: Path, at: int = -1) -> None:
    """Change one byte, whatever it is: a fixed byte in its place would be the same one in one file of 256."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def break_header(path: Path) -> None:
    overwrite(path, 0, b"\xff" * 40)


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // PAGE * PAGE)


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)
