"""Shortening a Markdown file of the user, who keeps the file as it was beside it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path

from holdfast.core.disk import disk_faults, write_durably, write_new
from holdfast.core.errors import InvalidRequest, NotFound, TooLarge
from holdfast.pages.markdown_extract import shortened

MOST_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class PageCompressed:
    """A file that was shortened; no backup where nothing could be left out."""

    path: Path
    backup: Path | None
    before: int
    after: int


def compress_page(path: Path) -> PageCompressed:
    """Shorten a file. What it held before is in NAME.original.md, or with a number where that exists.

    Raises:
        InvalidRequest: it is no plain Markdown file in UTF-8.
        NotFound: there is none.
        TooLarge: it is larger than a page may be.
    """
    text = read_page(path)
    short = shortened(text)
    if len(short) >= len(text):
        return PageCompressed(path, None, len(text), len(text))
    backup = _free_name(path)
    with disk_faults(f"write {backup.name}"):
        write_new(backup, text.encode())
    write_durably(path, short.encode())
    return PageCompressed(path, backup, len(text), len(short))


def read_page(path: Path) -> str:
    """The text of a Markdown file.

    Raises:
        InvalidRequest, NotFound, TooLarge: as above.
    """
    if path.suffix.lower() != ".md":
        raise InvalidRequest("filePath: must name a Markdown file, such as notes.md")
    if not path.is_file():
        raise NotFound("filePath: there is no such file", hint="Check the path.")
    if path.stat().st_size > MOST_BYTES:
        raise TooLarge(f"filePath: the file is larger than {MOST_BYTES:,} bytes", hint="Split the file.")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest("filePath: the file is not UTF-8 text") from error


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.stem}.original{f'-{number}' if number > 1 else ''}.md") for number in count(1))
    return next(one for one in names if not one.exists())
