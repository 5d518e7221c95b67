"""Command-line options from an operation's arguments: one option per argument."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import orjson

from holdfast.cli.command_table import Argument, Row
from holdfast.core.errors import InvalidRequest

if TYPE_CHECKING:
    from holdfast.core.model import Json


def kebab(name: str) -> str:
    """sessionId -> session-id"""
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in name).replace("_", "-")


MOST_INPUT_BYTES = 10_000_000  # of a request; the server refuses a longer text
_COMMON = frozenset({"json", "data", "url"})
COMMON_OPTIONS = frozenset({"--json", "--data", "--url", "--no-daemon"})


def _flag(name: str) -> str:
    """The option of an argument; one that shares its name with a common option gets another."""
    return f"--{name}-json" if name in _COMMON else f"--{kebab(name)}"


def _dest(name: str) -> str:
    return f"argument_{name}"


class Once(argparse.Action):
    """An option that names one thing: of two the last one would win without a word."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option_string} is given twice")
        setattr(namespace, self.dest, values)


def _not_empty(value: str) -> str:
    """What an unset variable of a script leaves is no folder: it would mean the current one."""
    if not value.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    return value


def add_common(parser: argparse.ArgumentParser) -> None:
    """The options that every command takes."""
    parser.add_argument("--json", action="store_true", help="print the response as JSON")
    parser.add_argument(
        "--data", action=Once, type=_not_empty, metavar="DIR", help="data folder (HOLDFAST_HOME, ~/.holdfast)"
    )
    parser.add_argument("--url", action=Once, help="address of a running server (HOLDFAST_URL)")
    parser.add_argument(
        "--no-daemon",
        action="store_true",
        help="do not start a server; open the data folder in this process (HOLDFAST_DAEMON)",
    )


def add_arguments(parser: argparse.ArgumentParser, row: Row, optional: Collection[str] = ()) -> None:
    """Positional words and options of an operation; `optional` ones the command line knows itself."""
    for one in row.arguments:
        if one.positional:
            words: dict[str, Any] = {} if one.required and one.name not in optional else {"nargs": "?"}
            metavar = kebab(one.name).upper().replace("-", "_")
            parser.add_argument(_dest(one.name), metavar=metavar, help=_note(one), **words)
        else:
            parser.add_argument(_flag(one.name), dest=_dest(one.name), **_option(one))


def _note(one: Argument) -> str:
    return one.help.replace("%", "%%")


def _option(one: Argument) -> dict[str, Any]:
    note = _note(one)
    if one.kind == "flag":
        return {"action": argparse.BooleanOptionalAction, "default": None, "help": note}
    if one.kind == "list":
        help_text = f"{note} Repeat the option, or separate values with commas."
        return {"action": "append", "metavar": "X", "help": help_text.strip()}
    return {"metavar": "X", "help": note, "required": one.required}


def arguments_of(row: Row, given: argparse.Namespace) -> Json:
    """What was typed, under the operation's own names; options not given are left out."""
    found: Json = {}
    for one in row.arguments:
        value: Any = getattr(given, _dest(one.name), None)
        if value is None:
            continue
        if one.kind == "list":
            value = [part.strip() for word in value for part in word.split(",") if part.strip()]
        elif one.kind == "object" and isinstance(value, str):
            value = _object(value, one.name)
        elif one.name == "content" and one.positional and value == "-":
            value = _standard_input()
        found[one.name] = value
    return found


def _object(text: str, name: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        raise InvalidRequest(f"{_flag(name)}: must be JSON") from None


def _standard_input() -> str:
    """A text that is too long for an argument, as other commands take it where a file is named -."""
    try:
        return sys.stdin.buffer.read(MOST_INPUT_BYTES).decode()
    except UnicodeDecodeError:
        raise InvalidRequest("standard input is not UTF-8 text") from None
