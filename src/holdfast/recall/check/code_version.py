"""Which code answers: the version, and a hash of what ranks, as a version under development has many."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

from holdfast.core.version import VERSION

_PACKAGE = Path(__file__).parents[2]
_ROOMS = ("index", "recall", "store", "text")  # words, vectors, and how both are ranked
_SUFFIXES = (".py", ".json", ".c")


@cache
def code_version() -> str:
    """For example `0.1.0 3fa2b1c0`. Answers of two versions may differ though the memory is the same."""
    digest = sha256()
    for room in _ROOMS:
        for path in sorted((_PACKAGE / room).rglob("*")):
            if path.suffix in _SUFFIXES:
                digest.update(str(path.relative_to(_PACKAGE)).encode() + b"\0" + path.read_bytes())
    return f"{VERSION} {digest.hexdigest()[:8]}"
