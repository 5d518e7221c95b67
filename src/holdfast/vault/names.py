"""What may be a name in a vault, and what may begin one: the same in all, so that any can be copied to any other."""

from __future__ import annotations

import re

from holdfast.core.errors import InvalidRequest

_PART = re.compile(r"[A-Za-z0-9_~%-][A-Za-z0-9._~%-]{0,254}", re.ASCII)
_PREFIX = re.compile(r"([A-Za-z0-9._~%-]+/)*[A-Za-z0-9._~%-]*", re.ASCII)
_LONGEST = 1_000


def is_part(part: str) -> bool:
    """Whether names may have such a part between their slashes."""
    return _PART.fullmatch(part) is not None


def is_name(name: str) -> bool:
    return len(name) <= _LONGEST and all(map(is_part, name.split("/")))


def check_name(name: str) -> None:
    """Refuse what is no name in a vault.

    Raises:
        InvalidRequest: a part is empty, hidden, too long or has unsafe characters.
    """
    if not is_name(name):
        raise InvalidRequest("vault: names may contain letters, digits and . _ ~ % - separated by /")


def check_prefix(prefix: str) -> None:
    """Refuse what no name can begin with.

    Raises:
        InvalidRequest: it has unsafe characters, or parts that mean another folder.
    """
    if len(prefix) > _LONGEST or not _PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/")):
        raise InvalidRequest("vault: not a prefix of a name")


def folder_of(prefix: str) -> str:
    """The whole parts that a prefix begins with: a/b/ of a/b/c."""
    return prefix[: prefix.rfind("/") + 1]
