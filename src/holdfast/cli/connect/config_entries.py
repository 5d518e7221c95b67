"""What connect puts into the config files: the MCP server, hooks, a choice of memory, and files of its own.

Each entry turns the text of one file into the text with it, and into the text without it. It touches
nothing that is not Holdfast's, and it knows no agent: their differences are its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from holdfast.cli.connect.environment import EARLIER_NAME, OWN_ENV, SERVER_NAME, ConnectTarget
from holdfast.cli.connect.formats.jsonc import parse
from holdfast.cli.connect.formats.jsonc_edit import rewrite, same
from holdfast.cli.connect.formats.refusal import Refusal
from holdfast.cli.connect.formats.text_format import JSON, Keys, Object, TextFormat, members, without as without_keys
from holdfast.cli.connect.hook_lists import CommandChange, lines, swapped, without

# A server entry with one of these speaks HTTP: the user set it up by hand; adding a command would break it.
_BY_HAND = ("url", "httpUrl", "serverUrl", "uri")

# The server gives an agent its tools, hooks keep what is said and done, skills teach when to use them.
Part = Literal["server", "hooks", "skills"]


class Entry(Protocol):
    """Something of Holdfast's inside a file of an agent's. Texts in, texts out; Refusal when it cannot."""

    @property
    def part(self) -> Part: ...

    @property
    def what(self) -> str:
        """What it is, for the summary."""
        ...

    def added(self, text: str, place: ConnectTarget) -> str:
        """The text with the entry; the same text when it is there already."""
        ...

    def removed(self, text: str, place: ConnectTarget, original: str) -> str | None:
        """The text without it; None when nothing but the entry was in the file.

        `original` is the text before connect, as far as known: what was empty in it stays, empty.
        """
        ...

    def found(self, text: str, place: ConnectTarget) -> bool:
        """Whether the text has the entry."""
        ...

    def earlier(self, text: str) -> bool:
        """Whether the text also has an entry of the earlier system."""
        ...


@dataclass(frozen=True, slots=True)
class Server:
    """The MCP server in a file; `nested`, where that object exists already, is preferred to `keys`."""

    format: TextFormat
    keys: Keys
    shape: Callable[[ConnectTarget], Object]
    env: str = "env"
    nested: Keys = ()
    what: str = f"MCP server {SERVER_NAME}"
    part: Part = "server"

    def added(self, text: str, place: ConnectTarget) -> str:
        value = self.format.load(text)
        keys = self._keys(value)
        known = members(value, keys, listed=self.format.listed).get(SERVER_NAME)
        return self.format.put(text, (*keys, SERVER_NAME), merged(known, self.shape(place), self.env))

    def removed(self, text: str, place: ConnectTarget, original: str) -> str:
        return self.format.drop(text, (*self._keys(self.format.load(text)), SERVER_NAME), original)

    def found(self, text: str, place: ConnectTarget) -> bool:
        return SERVER_NAME in self._servers(text)

    def earlier(self, text: str) -> bool:
        return EARLIER_NAME in self._servers(text)

    def _servers(self, text: str) -> Object:
        value = self.format.load(text)
        return members(value, self._keys(value), listed=self.format.listed)

    def _keys(self, value: Object) -> Keys:
        here: Any = value
        for key in self.nested:
            here = here.get(key) if isinstance(here, dict) else None
        # In the old form a server may itself be called "servers"; then it has a type and is no map.
        is_map = isinstance(here, dict) and "type" not in here
        return self.nested if self.nested and is_map else self.keys


@dataclass(frozen=True, slots=True)
class Choice:
    """The one memory that an agent uses, named under `keys`; another one that the user chose is not replaced."""

    format: TextFormat
    keys: Keys
    instead_of: tuple[str, ...] = ("",)
    part: ClassVar[Part] = "hooks"

    @property
    def what(self) -> str:
        return f"{SERVER_NAME} as {'.'.join(self.keys)}"

    def added(self, text: str, place: ConnectTarget) -> str:
        known = self._chosen(text)
        if known is not None and known not in (SERVER_NAME, *self.instead_of):
            chosen = f"{'.'.join(self.keys)} already names another memory"
            raise Refusal(f"{chosen} (--no-hooks adds the MCP server beside it)")
        return self.format.put(text, self.keys, SERVER_NAME)

    def removed(self, text: str, place: ConnectTarget, original: str) -> str:
        if self._chosen(text) != SERVER_NAME:
            return text
        was = self._chosen(original)
        return self.format.drop(text, self.keys, original) if was is None else self.format.put(text, self.keys, was)

    def found(self, text: str, place: ConnectTarget) -> bool:
        return bool(self._chosen(text) == SERVER_NAME)

    def earlier(self, text: str) -> bool:
        return bool(self._chosen(text) == EARLIER_NAME)

    def _chosen(self, text: str) -> Any:
        return members(self.format.load(text), self.keys[:-1]).get(self.keys[-1])


@dataclass(frozen=True, slots=True)
class HookRow:
    """One row of an agent's hooks: its event, the `holdfast hook` event, and fields of its own."""

    event: str
    hook: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JsonHooks:
    """Hooks in a JSON file under `hooks`; `shape` writes one of them, `defaults` are root keys it needs.

    `bare` where the file holds nothing but the events: then they stand in its root.
    """

    rows: tuple[HookRow, ...]
    shape: Callable[[HookRow, str], Object]
    defaults: Mapping[str, object] = field(default_factory=dict)
    bare: bool = False
    part: ClassVar[Part] = "hooks"

    @property
    def what(self) -> str:
        return f"hooks for {len(self.rows)} events"

    def added(self, text: str, place: ConnectTarget) -> str:
        value = JSON.load(text)
        hooks = value if self.bare else members(value, ("hooks",))
        for row in self.rows:
            hooks = {**hooks, row.event: self._with_row(hooks.get(row.event, []), row, place)}
        return rewrite(text, {**self.defaults, **(hooks if self.bare else {**value, "hooks": hooks})})

    def removed(self, text: str, place: ConnectTarget, original: str) -> str:
        # Twice: first our lines out of groups shared with others, then whole groups. One step each keeps
        # every other group's text where it stands.
        was = parse(original).value
        for step in (False, True):
            value = JSON.load(text)
            hooks = self._events(value)
            left = {event: self._without_own(own, place, step) for event, own in hooks.items()}
            kept = {name: own for name, own in left.items() if own or not hooks[name] or name in self._events(was)}
            if not same(kept, hooks):
                keep = kept or "hooks" in was
                whole = {**value, "hooks": kept} if keep else without_keys(value, ("hooks",), was)
                text = rewrite(text, kept if self.bare else whole)
        return text

    def found(self, text: str, place: ConnectTarget) -> bool:
        return any(place.own_hook(line) for line in lines(list(self._events(JSON.load(text)).values())))

    def earlier(self, text: str) -> bool:
        return any(EARLIER_NAME in line for line in lines(list(self._events(JSON.load(text)).values())))

    def _events(self, value: Object) -> Object:
        hooks = value if self.bare else value.get("hooks")
        return hooks if isinstance(hooks, dict) else {}

    def _with_row(self, groups: object, row: HookRow, place: ConnectTarget) -> list[Any]:
        if not isinstance(groups, list):
            raise Refusal(f"hooks.{row.event} is not a list")
        wanted = place.hook_line(row.hook)
        known = list(lines(groups))
        stale = next((line for line in known if place.own_hook(line) == row.hook), None)
        if wanted in known:
            return groups
        if stale is not None:
            return [swapped(group, CommandChange(stale, wanted)) for group in groups]
        # At the end: Codex remembers which hooks the user allowed by their position.
        return [*groups, self.shape(row, wanted)]

    def _without_own(self, groups: Any, place: ConnectTarget, whole: bool) -> Any:
        return without(groups, lambda line: place.own_hook(line) is not None, whole=whole)


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file that is Holdfast's alone; `mark` is in every one that connect wrote."""

    what: str
    content: Callable[[ConnectTarget], str]
    mark: str
    part: Part = "hooks"

    def added(self, text: str, place: ConnectTarget) -> str:
        if text.strip() and self.mark not in text:
            raise Refusal("the file already exists and was not written by connect")
        return self.content(place)

    def removed(self, text: str, place: ConnectTarget, original: str) -> str | None:
        return None if self.mark in text else text

    def found(self, text: str, place: ConnectTarget) -> bool:
        return self.mark in text

    def earlier(self, text: str) -> bool:
        return False


def merged(known: object, wanted: Object, env: str) -> Object:
    """The server entry as wanted, with whatever else the user put into it."""
    if not isinstance(known, dict):
        return wanted
    if any(name in known for name in _BY_HAND):
        return known
    result, theirs = {**known, **wanted}, known.get(env)
    if isinstance(theirs, dict):
        other = {name: value for name, value in theirs.items() if name not in OWN_ENV}
        result[env] = {**other, **wanted.get(env, {})}
        if theirs and not result[env]:
            del result[env]
    return result


def snippet(entry: Entry, place: ConnectTarget) -> str:
    """What to paste by hand when the file cannot be edited."""
    return entry.added("", place).strip()
