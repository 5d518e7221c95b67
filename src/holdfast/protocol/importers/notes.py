"""Markdown files as notes: front matter, text, and which files are notes at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from holdfast.core.errors import InvalidRequest
from holdfast.protocol.importers.import_types import MOST_NAMES, ImportReader

FILE_BYTES = 4_000_000
MOST_FILES = 100_000
ENDINGS = (".md", ".markdown")
FRONT_LINES = 400

_KEY = re.compile(r"([A-Za-z_][\w-]{0,63}):(?:[ \t]+(.*))?")
_ITEM = re.compile(r"\s*-[ \t]+(.*)")

Front = dict[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class Note:
    """A file: its path in the folder, its front matter, and the rest."""

    path: str
    body: str
    front: Front = field(default_factory=dict)
    odd_lines: int = 0  # of the front matter, not understood

    @property
    def title(self) -> str:
        """The title in the front matter, or its first heading, or its file name."""
        said = self.front.get("title")
        if isinstance(said, str) and said:
            return said
        heading = re.search(r"^# +(\S.{0,300})$", self.body, re.MULTILINE)
        return heading[1].strip() if heading else PurePosixPath(self.path).stem


def notes(files: Iterable[tuple[str, bytes]], reader: ImportReader) -> Iterator[Note]:
    """The notes of a folder, as relative paths and bytes; what is none is noted with the reader."""
    for number, (path, data) in enumerate(files):
        if number >= MOST_FILES:
            reader.refuse(path, f"more than {MOST_FILES} files; import the folder in parts")
            return
        if not path.lower().endswith(ENDINGS) or any(part.startswith(".") for part in path.split("/")):
            reader.pass_over("other files")
            continue
        try:
            yield _note(path, data)
        except InvalidRequest as fault:
            reader.refuse(path, fault.message)


def _note(path: str, data: bytes) -> Note:
    if path.startswith(("/", "\\")) or ".." in path.replace("\\", "/").split("/"):
        raise InvalidRequest("its path points outside the folder")
    if len(data) > FILE_BYTES:
        raise InvalidRequest(f"it has {len(data)} bytes; the limit is {FILE_BYTES}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequest("it is not UTF-8") from None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    end = _front_end(lines)
    front, odd = _front(lines[1:end]) if end else ({}, 0)
    return Note(path, "\n".join(lines[end + 1 :] if end else lines).strip(), front, odd)


def _front_end(lines: list[str]) -> int:
    """The line that closes the front matter; 0 if there is none."""
    if lines[0].rstrip() != "---":
        return 0
    closing = (at for at, line in enumerate(lines[1 : FRONT_LINES + 1], 1) if line.rstrip() in ("---", "..."))
    return next(closing, 0)


def _front(lines: list[str]) -> tuple[Front, int]:
    """Keys with a text or a list of texts. Of YAML this is what notes use; anything deeper is counted as odd."""
    front: Front = {}
    open_list, odd = "", 0
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, item = _KEY.fullmatch(line.rstrip()), _ITEM.fullmatch(line.rstrip())
        if key:
            open_list = key[1].lower()
            front[open_list] = _value(key[2] or "")
        elif item and open_list and _may_grow(front[open_list]):
            front[open_list] = [*_as_list(front[open_list]), _unquoted(item[1])]
        else:
            odd += 1
    return front, odd


def _may_grow(value: str | list[str]) -> bool:
    return not value or (isinstance(value, list) and len(value) < MOST_NAMES)


def _as_list(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else []


def _value(text: str) -> str | list[str]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [_unquoted(part) for part in text[1:-1].split(",") if part.strip()]
    return _unquoted(text)


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
