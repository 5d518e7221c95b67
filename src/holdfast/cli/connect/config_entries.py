"""What connect puts into the config files: the MCP server and the hooks.

Each entry turns the text of one file into the text with it, and into the text without it. It touches
nothing that is not Holdfast's, and it knows no agent: their differences are its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from holdfast.cli.connect import toml_text
from holdfast.cli.connect.environment import EARLIER_NAME, OWN_ENV, SERVER_NAME, ConnectTarget
from holdfast.cli.connect.hook_lists import CommandChange, lines, swapped, without
from holdfast.cli.connect.jsonc import parse
from holdfast.cli.connect.jsonc_edit import rewrite, same
from holdfast.cli.connect.refusal import Refusal

Object = dict[str, Any]

# A server entry with one of these speaks HTTP: the user set it up by hand; adding a command would break it.
_BY_HAND = ("url", "httpUrl", "serverUrl")


class Entry(Protocol):
    """Something of Holdfast's inside a file of an agent's. Texts in, texts out; Refusal when it cannot."""

    @property
    def is_hook(self) -> bool: ...

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
class JsonServer:
    """The MCP server in a JSON file; `nested`, where that object exists already, is preferred to `keys`."""

    keys: tuple[str, ...]
    shape: Callable[[ConnectTarget], Object]
    env: str = "env"
    nested: tuple[str, ...] = ()
    is_hook: ClassVar[bool] = False
    what: ClassVar[str] = f"MCP server {SERVER_NAME}"

    def added(self, text: str, place: ConnectTarget) -> str:
        value = _object(parse(text).value)
        keys = self._keys(value)
        known = _at(value, keys).get(SERVER_NAME)
        return rewrite(text, _put(value, (*keys, SERVER_NAME), merged(known, self.shape(place), self.env)))

    def removed(self, text: str, place: ConnectTarget, original: str) -> str:
        value = _object(parse(text).value)
        return rewrite(text, _drop(value, (*self._keys(value), SERVER_NAME), parse(original).value))

    def found(self, text: str, place: ConnectTarget) -> bool:
        return SERVER_NAME in self._servers(text)

    def earlier(self, text: str) -> bool:
        return EARLIER_NAME in self._servers(text)

    def _servers(self, text: str) -> Object:
        value = _object(parse(text).value)
        return _at(value, self._keys(value))

    def _keys(self, value: Object) -> tuple[str, ...]:
        here: Any = value
        for key in self.nested:
            here = here.get(key) if isinstance(here, dict) else None
        # In the old form a server may itself be called "servers"; then it has a type and is no map.
        is_map = isinstance(here, dict) and "type" not in here
        return self.nested if self.nested and is_map else self.keys


@dataclass(frozen=True, slots=True)
class TomlServer:
    """The MCP server as a table of a TOML file."""

    table: tuple[str, ...]
    shape: Callable[[ConnectTarget], Object]
    is_hook: ClassVar[bool] = False
    what: ClassVar[str] = f"MCP server {SERVER_NAME}"

    def added(self, text: str, place: ConnectTarget) -> str:
        known = self._servers(text).get(SERVER_NAME)
        return toml_text.set_table(text, (*self.table, SERVER_NAME), merged(known, self.shape(place), "env"))

    def removed(self, text: str, place: ConnectTarget, original: str) -> str:
        return toml_text.drop_table(text, (*self.table, SERVER_NAME))

    def found(self, text: str, place: ConnectTarget) -> bool:
        return SERVER_NAME in self._servers(text)

    def earlier(self, text: str) -> bool:
        return EARLIER_NAME in self._servers(text)

    def _servers(self, text: str) -> Object:
        return _at(toml_text.load(text), self.table)


@dataclass(frozen=True, slots=True)
class HookRow:
    """One row of an agent's hooks: its event, the `holdfast hook` event, and fields of its own."""

    event: str
    hook: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JsonHooks:
    """Hooks in a JSON file under `hooks`; `shape` writes one of them, `defaults` are root keys it needs."""

    rows: tuple[HookRow, ...]
    shape: Callable[[HookRow, str], Object]
    defaults: Mapping[str, object] = field(default_factory=dict)
    is_hook: ClassVar[bool] = True

    @property
    def what(self) -> str:
        return f"hooks for {len(self.rows)} events"

    def added(self, text: str, place: ConnectTarget) -> str:
        value = _object(parse(text).value)
        hooks = dict(_at(value, ("hooks",)))
        for row in self.rows:
            hooks[row.event] = self._with_row(hooks.get(row.event, []), row, place)
        return rewrite(text, {**self.defaults, **value, "hooks": hooks})

    def removed(self, text: str, place: ConnectTarget, original: str) -> str:
        # Twice: first our lines out of groups shared with others, then whole groups. One step each keeps
        # every other group's text where it stands.
        was = parse(original).value
        for step in (False, True):
            value = _object(parse(text).value)
            hooks = _hooks(value)
            left = {event: self._without_own(own, place, step) for event, own in hooks.items()}
            kept = {name: own for name, own in left.items() if own or not hooks[name] or name in _hooks(was)}
            if not same(kept, hooks):
                keep = kept or "hooks" in was
                text = rewrite(text, {**value, "hooks": kept} if keep else _drop(value, ("hooks",), was))
        return text

    def found(self, text: str, place: ConnectTarget) -> bool:
        hooks = _hooks(_object(parse(text).value))
        return any(place.own_hook(line) for line in lines(list(hooks.values())))

    def earlier(self, text: str) -> bool:
        hooks = _hooks(_object(parse(text).value))
        return any(EARLIER_NAME in line for line in lines(list(hooks.values())))

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
    is_hook: ClassVar[bool] = True

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


def _object(value: Any) -> Object:
    if not isinstance(value, dict):
        raise Refusal("it does not contain a JSON object")
    return value


def _hooks(value: Object) -> Object:
    hooks = value.get("hooks")
    return hooks if isinstance(hooks, dict) else {}


def _at(value: Object, keys: tuple[str, ...]) -> Object:
    here: Any = value
    for key in keys:
        here = here.get(key, {})
        if not isinstance(here, dict):
            raise Refusal(f"{key} is not an object")
    return dict(here)


def _put(value: Object, keys: tuple[str, ...], new: object) -> Object:
    below = _put(value.get(keys[0], {}), keys[1:], new) if keys[1:] else new
    return {**value, keys[0]: below}


def _drop(value: Object, keys: tuple[str, ...], was: object) -> Object:
    """Without the last key; objects that become empty by it go too, unless they were there before connect."""
    if keys[0] not in value:
        return value
    rest = {name: item for name, item in value.items() if name != keys[0]}
    if not keys[1:]:
        return rest
    known = was.get(keys[0]) if isinstance(was, dict) else None
    below = _drop(value[keys[0]], keys[1:], known)
    return {**value, keys[0]: below} if below or not value[keys[0]] or known is not None else rest
