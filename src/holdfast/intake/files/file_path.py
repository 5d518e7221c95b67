"""Paths of the memory tool: which of them are names below /memories. Knows neither files nor who asks.

No path reaches a file system: a path that would leave the folder there is refused all the same, since whoever sends one
expects it to lead somewhere else.
"""

from __future__ import annotations

import unicodedata
from urllib.parse import unquote

ROOT = "/memories"
PATH_CHARS = 400  # with the domain of an address it stays below the limit of addresses
NAME_CHARS = 255
SHOWN_CHARS = 100


class CommandRefused(Exception):
    """A command of the model that cannot be carried out; the text is for the model."""


def relative_path(path: str) -> str:
    """The path below /memories without slashes at its ends, "" for the folder itself; one spelling for each file.

    Raises:
        CommandRefused: it is no such path, or it tries to be another.
    """
    shown = shown_path(path)
    if len(path) > PATH_CHARS:
        raise CommandRefused(f"Error: Path has {len(path)} characters; the limit is {PATH_CHARS}: {shown}")
    if not path.isprintable():
        raise CommandRefused(f"Error: Path has a control or invisible character: {shown}")
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise CommandRefused(f"Error: Path must start with {ROOT}, got: {shown}")
    names = [name for name in unicodedata.normalize("NFC", path.removeprefix(ROOT)).split("/") if name]
    if any(map(_escapes, names)):
        raise CommandRefused(f"Error: Path {shown} would escape {ROOT} directory")
    for name in names:
        if unquote(name) != name:
            raise CommandRefused(f"Error: Path is percent-encoded; write its characters as they are: {shown}")
        if name != name.strip() or len(name) > NAME_CHARS:
            raise CommandRefused(
                f"Error: Path has a name with a space at an end or more than {NAME_CHARS} characters: {shown}"
            )
    return "/".join(names)


def _escapes(name: str) -> bool:
    """Whether any reading of the name is a step elsewhere: decoded, or with its look-alikes as plain signs."""
    readings = {name, unquote(name), unquote(unquote(name))}
    plain = {unicodedata.normalize("NFKC", one) for one in readings}
    return any(not one.strip(". ") or "/" in one or "\\" in one or "\x00" in one for one in plain)


def full_path(relative: str) -> str:
    return f"{ROOT}/{relative}" if relative else ROOT


def shown_path(path: str) -> str:
    """The path for an error: no control characters, no more than can be read."""
    plain = "".join(char if char.isprintable() else "\ufffd" for char in path[:SHOWN_CHARS])
    return plain if len(path) <= SHOWN_CHARS else f"{plain}…"
