"""Commands in what is printed name the data folder that the caller named with --data: copied as they stand, they would
be about another memory.

Only our own words are changed, never stored text: faults, notices, and the fields of an answer that say what to do. An
answer that is printed as JSON stays the same as over HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from shlex import quote
from typing import Any

OPTION = "--data"
_named: ContextVar[str | None] = ContextVar("data folder that was named", default=None)

_TOLD = frozenset({"hint", "next", "remove", "notice"})
_LISTS = frozenset({"warnings", "checks", "generations", "damaged"})  # of what has such fields
_ADDRESSED = frozenset({"migrate", "move"})  # about the stores that they name

# What may follow a command's words in a sentence and is no word of the sentence: options, quotes, NAMES, ids and paths.
_ARGUMENT = r"--?[a-z][\w-]*|latest|now|[A-Z][A-Z_]+|'[^']*'|\"[^\"]*\"|[^\s.,;)]*[\d/:](?:\S*[^\s.,;:)])?"
_ENDS = r"(?=[.,;:)]*(?:\s|$))"


def note_folder(words: Sequence[str]) -> None:
    """Keep the folder that the words of a command name, if they name one."""
    found = None
    for word, following in pairwise([*words, ""]):
        if word == OPTION:
            found = following
        elif word.startswith(f"{OPTION}="):
            found = word.removeprefix(f"{OPTION}=")
    _named.set(found or None)


def with_folder(text: str) -> str:
    """A sentence, its commands with the folder."""
    folder = _named.get()
    if folder is None or "holdfast " not in text:
        return text

    def named(found: re.Match[str]) -> str:
        command = found[0]
        apart = found["words"] in _ADDRESSED or f" {OPTION}" in command or command.endswith(" --help")
        return command if apart else f"{command} {OPTION} {quote(folder)}"

    return _commands().sub(named, text)


def answer_with_folder(answer: Any) -> Any:
    """An answer, the commands in what it says to do with the folder."""
    if _named.get() is None or not isinstance(answer, dict):
        return answer
    return {name: _field(name, value) for name, value in answer.items()}


def _field(name: str, value: Any) -> Any:
    if name in _TOLD and isinstance(value, str):
        return with_folder(value)
    if name in _LISTS and isinstance(value, list):
        return [answer_with_folder(one) for one in value]
    return value


@cache
def _commands() -> re.Pattern[str]:
    from holdfast.cli import command_table
    from holdfast.cli.commands import parsers

    names = [*(name for name, _ in command_table.listing()), *(one.words for one in parsers.COMMANDS)]
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"\bholdfast (?P<words>{longest_first})(?![\w-])(?: (?:{_ARGUMENT}){_ENDS})*")
