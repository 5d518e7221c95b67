"""One way to read and change the text of a config file, whatever it is written in: JSON with comments, TOML or YAML.

Keys lead from the root to a value. An edit touches the value and nothing else, or is refused.
"""

from __future__ import annotations

from typing import Any, Protocol

from holdfast.cli.connect.formats import toml_text, yaml_text
from holdfast.cli.connect.formats.jsonc import parse
from holdfast.cli.connect.formats.jsonc_edit import rewrite
from holdfast.cli.connect.formats.refusal import Refusal

Keys = tuple[str, ...]
Object = dict[str, Any]


class TextFormat(Protocol):
    """Texts in, texts out; every method raises Refusal for a text that it cannot read or change safely.

    `listed` where the last key is the name of an item of a list.
    """

    @property
    def listed(self) -> bool: ...

    def load(self, text: str) -> Object: ...

    def put(self, text: str, keys: Keys, value: Any) -> str:
        """The text with the value under the keys; the same text when it is there already."""
        ...

    def drop(self, text: str, keys: Keys, original: str) -> str:
        """The text without what is under the keys, nor what becomes empty by that and was not there in the original."""
        ...


class Json:
    """JSON, with comments and trailing commas where a program allows them."""

    listed = False

    def load(self, text: str) -> Object:
        return as_object(parse(text).value)

    def put(self, text: str, keys: Keys, value: Any) -> str:
        return rewrite(text, _put(self.load(text), keys, value))

    def drop(self, text: str, keys: Keys, original: str) -> str:
        return rewrite(text, without(self.load(text), keys, parse(original).value))


class Toml:
    """TOML; what is put is a table."""

    listed = False

    def load(self, text: str) -> Object:
        return toml_text.load(text)

    def put(self, text: str, keys: Keys, value: Any) -> str:
        return toml_text.set_table(text, keys, value)

    def drop(self, text: str, keys: Keys, original: str) -> str:
        return toml_text.drop_table(text, keys)


class Yaml:
    """YAML; `fresh` is what a new file begins with."""

    def __init__(self, *, listed: bool = False, fresh: str = "") -> None:
        self.listed, self.fresh = listed, fresh

    def load(self, text: str) -> Object:
        """In YAML a key with nothing behind it is an empty map or list."""
        return {key: _filled(value) for key, value in yaml_text.load(text).items() if value is not None}

    def put(self, text: str, keys: Keys, value: Any) -> str:
        return yaml_text.set_entry(text or self.fresh, keys, value, listed=self.listed)

    def drop(self, text: str, keys: Keys, original: str) -> str:
        text, was = yaml_text.drop_entry(text, keys), yaml_text.load(original)
        for above in (keys[:end] for end in range(len(keys) - 1, 0, -1)):
            holder = yaml_text.find(was, above[:-1])
            if yaml_text.find(yaml_text.load(text), above) or (isinstance(holder, dict) and above[-1] in holder):
                break
            text = yaml_text.drop_entry(text, above)
        return text


JSON, TOML, YAML = Json(), Toml(), Yaml()


def as_object(value: Any) -> Object:
    if not isinstance(value, dict):
        raise Refusal("it does not contain a JSON object")
    return value


def members(value: Object, keys: Keys, *, listed: bool = False) -> Object:
    """What is under the keys, by name; nothing where nothing is there.

    Raises:
        Refusal: something else stands there.
    """
    here: Any = value
    for key in keys:
        here = here.get(key, {})
        if listed and isinstance(here, list) and key == keys[-1]:
            here = {str(item["name"]): item for item in here if isinstance(item, dict) and "name" in item}
        if not isinstance(here, dict):
            raise Refusal(f"{key} is not an object")
    return dict(here)


def without(value: Object, keys: Keys, was: object) -> Object:
    """Without the last key; objects that become empty by it go too, unless they were there before connect."""
    if keys[0] not in value:
        return value
    rest = {name: item for name, item in value.items() if name != keys[0]}
    if not keys[1:]:
        return rest
    known = was.get(keys[0]) if isinstance(was, dict) else None
    below = without(value[keys[0]], keys[1:], known)
    return {**value, keys[0]: below} if below or not value[keys[0]] or known is not None else rest


def _put(value: Object, keys: Keys, new: object) -> Object:
    inside = value.get(keys[0], {})
    if keys[1:] and not isinstance(inside, dict):
        raise Refusal(f"{keys[0]} is not an object")
    below = _put(inside, keys[1:], new) if keys[1:] else new
    return {**value, keys[0]: below}


def _filled(value: Any) -> Any:
    """Without the keys that have nothing behind them."""
    if not isinstance(value, dict):
        return value
    return {key: _filled(one) for key, one in value.items() if one is not None}
