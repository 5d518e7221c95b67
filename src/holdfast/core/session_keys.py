"""Keys made of several names: no name can reach into its neighbour's place."""

from __future__ import annotations

from urllib.parse import quote, unquote


def key_of(*parts: str | None) -> str:
    """The parts, encoded and joined by slashes; None is an empty part."""
    return "/".join(quote(part or "", safe="") for part in parts)


_OWN = "agent/"


def own_session(agent: str | None, name: str) -> str:
    """The key of a session whose plain name is another agent's, or looks like such a key."""
    return _OWN + key_of(agent, name)


def needs_own_key(name: str) -> bool:
    return name.startswith(_OWN)


def session_name(key: str) -> str:
    """What the client calls the session of that key."""
    return unquote(key.rsplit("/", 1)[1]) if key.startswith(_OWN) else key
