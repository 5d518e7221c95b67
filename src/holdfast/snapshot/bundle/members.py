"""Names of what a bundle holds: which are valid, their order, and their names in the tar."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.types import Kind

STORE = "store/memory.db"
CONTENTS = "contents.json"  # the last member of an encrypted bundle
MOST_MEMBERS = 200_000

# A path is created below a folder of this machine, and the whole must stay under the 4,096 bytes of PATH_MAX.
_MOST_PATH = 2048
_MOST_PART = 255
_MOST_PARTS = 64

# Nearly all names: at most 255 of these letters, no part that begins with a dot.
_ORDINARY = re.compile(r"(?:folders|state|store)(?:/[A-Za-z0-9_-][A-Za-z0-9_. -]*+){1,63}")
_LONG = re.compile(r"long/[0-9a-f]{64}")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")


def refusal(path: str) -> str | None:
    """Why a bundle cannot hold a member of that path; None if it can."""
    if len(path) > _MOST_PART or not _ORDINARY.fullmatch(path):
        reason = _refusal_of_odd(path)
        if reason:
            return reason
    return None if kind_of(path) else "name outside of store, state and folders"


def _refusal_of_odd(path: str) -> str | None:
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "name is not Unicode"
    parts = path.split("/")
    if _UNSAFE.search(path):
        return "name with a control character or backslash"
    if any(part in ("", ".", "..") for part in parts):
        return "name that is not a plain relative path"
    if size > _MOST_PATH or len(parts) > _MOST_PARTS or any(len(part.encode()) > _MOST_PART for part in parts):
        return "name too long"
    return None


def kind_of(path: str) -> Kind | None:
    """The kind of a member, by its path alone, so that no manifest can claim otherwise."""
    if path == STORE:
        return "store"
    if path.startswith("state/"):
        return "state"
    if not path.startswith("folders/"):
        return None
    if path.count("/") > 1:
        return "file"
    if path.endswith(".json"):
        return "folder"
    return "git_bundle" if path.endswith(".bundle") else None


def twin_key(path: str) -> str:
    """Equal for paths that some file system treats as one: they differ in case or in how accents are written."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def place_of(path: str) -> tuple[bool, str]:
    """What members are sorted by: the store first, then by name."""
    return (path != STORE, path)


def check_members(paths: Sequence[str]) -> None:
    """Refuse members of which one is invalid, out of order, or would overwrite another.

    Raises:
        Malformed: there is such a member.
    """
    if len(paths) > MOST_MEMBERS:
        raise Malformed(f"more than {MOST_MEMBERS} members")
    for path in paths:
        if reason := refusal(path):
            raise Malformed(f"a member has a {reason}")
    if any(one >= after for one, after in pairwise(map(place_of, paths))):
        raise Malformed("members are not in order, or one is duplicated")
    _check_twins(paths)


def _check_twins(paths: Sequence[str]) -> None:
    # No name has a NUL, so with it for the slash whatever lies below a path follows it directly.
    keys = sorted(twin_key(path).replace("/", "\0") for path in paths)
    for one, after in pairwise(keys):
        if one == after:
            raise Malformed("two members differ only in case or accents")
        if after.startswith(one + "\0"):
            raise Malformed("a member is inside another member")


def member_name(path: str) -> str:
    """The name in the tar: the path itself, or one made of its hash where a plain header has no room for it."""
    if len(path.encode()) <= 100 or split_name(path) is not None:
        return path
    return f"long/{hashlib.sha256(path.encode()).hexdigest()}"


def is_long(name: str) -> bool:
    return _LONG.fullmatch(name) is not None


def is_member(name: str) -> bool:
    """Whether the tar may have a member of that name."""
    return is_long(name) or refusal(name) is None


def folders_of(path: str) -> Iterator[str]:
    """The folders that a path lies in, the innermost first."""
    while (cut := path.rfind("/")) > 0:
        path = path[:cut]
        yield path


def split_name(name: str) -> tuple[bytes, bytes] | None:
    """Prefix and name for a plain tar header: whole if it fits, otherwise cut at the first slash that serves."""
    raw = name.encode()
    if len(raw) <= 100:
        return b"", raw
    cut = raw.find(b"/", len(raw) - 101)
    if cut < 1 or cut > 155:
        return None
    return raw[:cut], raw[cut + 1 :]
