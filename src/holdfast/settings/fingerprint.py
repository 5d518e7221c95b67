"""Compares a command's settings with those of the running server without revealing the values."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from holdfast.settings import SETTINGS, Settings, load, named_by

# Which memory is meant, and what concerns the caller alone.
_CALLERS_OWN = frozenset({"home", "host", "port", "url", "secret", "agent", "daemon", "idle", "log_level"})
_MARK_CHARS = 16


def marks_of(settings: Settings, key: str) -> dict[str, str]:
    """A keyed hash of each setting that differs from its default. Comparing a value requires the key."""
    usual = load({}, {})
    changed = (row.name for row in SETTINGS if getattr(settings, row.name) != getattr(usual, row.name))
    return {name: _mark(settings, name, key) for name in changed if name not in _CALLERS_OWN}


def differing(settings: Settings, marks: Mapping[str, object], key: str) -> list[str]:
    """The variables of this process's environment that the server was started without, or with another value."""
    usual = load({}, {})
    found = []
    for row in SETTINGS:
        named = named_by(row.name)
        if named is not None and row.name not in _CALLERS_OWN:
            theirs = marks.get(row.name) or _mark(usual, row.name, key)
            if theirs != _mark(settings, row.name, key):
                found.append(named)
    return found


def _mark(settings: Settings, name: str, key: str) -> str:
    return hmac.digest(key.encode(), f"{name}={getattr(settings, name)!r}".encode(), "sha256").hex()[:_MARK_CHARS]
