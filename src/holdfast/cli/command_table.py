"""The operations as the command line needs them: a table made from their declarations, which is read in a millisecond.

`make docs` writes it. The declarations themselves take most of a second of processor time to load, so that a command
that a running server carries out goes without them (bench/mechanisms.py: 19 times as long to load).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import orjson

TABLE = "commands.json"

Kind = Literal["text", "flag", "list", "object"]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a command."""

    name: str
    kind: Kind
    help: str
    required: bool
    positional: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One operation. `words` are those of its command; some have none."""

    name: str
    words: str
    summary: str
    method: str
    path: str
    effect: str
    paths: tuple[str, ...]
    long: bool
    asks: bool
    steps: bool
    brief: Mapping[str, Any]  # defaults of an answer that a person reads
    arguments: tuple[Argument, ...]

    def read(self, arguments: Mapping[str, Any]) -> Any:
        """Check the arguments as the operation itself does.

        Raises:
            InvalidRequest: one of them cannot be taken.
        """
        from holdfast.ops.registry import BY_NAME

        return BY_NAME[self.name].read(arguments)


@cache
def _raw() -> list[dict[str, Any]]:
    raw: list[dict[str, Any]] = orjson.loads((Path(__file__).parent / TABLE).read_bytes())
    return raw


def rows() -> list[Row]:
    """Every operation, in the order of their declarations."""
    return [_row(one) for one in _raw()]


@cache
def endpoint(name: str) -> Row:
    """The operation of that name."""
    return next(_row(one) for one in _raw() if one["name"] == name)


def command(words: str) -> Row | None:
    """The operation whose command these words are."""
    return next((_row(one) for one in _raw() if words and one["words"] == words), None)


def listing() -> list[tuple[str, str]]:
    """Words and summary of every command."""
    return [(one["words"], one["summary"]) for one in _raw() if one["words"]]


def _row(one: dict[str, Any]) -> Row:
    arguments = tuple(Argument(**argument) for argument in one["arguments"])
    return Row(**{**one, "paths": tuple(one["paths"]), "arguments": arguments})
