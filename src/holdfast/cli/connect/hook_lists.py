"""The lists of hooks in agents' configs.

An item is `{"command": …}` by itself, or a group `{"hooks": [{"command": …}]}`; both forms are read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class CommandChange(NamedTuple):
    """A command line and the one to put in its place."""

    old: str
    new: str


def lines(value: Any) -> Iterator[str]:
    """Every command line in the lists, at whatever depth."""
    if isinstance(value, list):
        for item in value:
            yield from lines(item)
    elif isinstance(value, dict):
        if isinstance(value.get("command"), str):
            yield value["command"]
        yield from lines(value.get("hooks"))


def swapped(value: Any, line: CommandChange) -> Any:
    """The lists with one command line changed and everything beside it kept."""
    if isinstance(value, list):
        return [swapped(item, line) for item in value]
    if not isinstance(value, dict):
        return value
    changed = {**value, "hooks": swapped(value["hooks"], line)} if "hooks" in value else value
    return {**changed, "command": line.new} if changed.get("command") == line.old else changed


def without(value: Any, ours: Callable[[object], bool], *, whole: bool) -> Any:
    """The list without our lines: only out of groups shared with others, or `whole` groups as well."""
    if not isinstance(value, list):
        return value
    kept = []
    for item in value:
        own = [ours(line) for line in lines(item)]
        if not own or not any(own):
            kept.append(item)
        elif not all(own) and isinstance(item.get("hooks"), list):
            kept.append({**item, "hooks": without(item["hooks"], ours, whole=True)})
        elif not whole:
            kept.append(item)
    return kept
