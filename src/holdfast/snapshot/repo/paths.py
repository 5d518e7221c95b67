"""Where a snapshot is: its id, the names of its files (suffixes: core/bundle_names.py), the folder of a memory.

An id is <sequence>-<time>-<random>. The time is for people; the sequence defines the order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from holdfast.core.bundle_names import SUFFIXES
from holdfast.core.errors import InvalidRequest
from holdfast.core.session_keys import key_of

SHELVES = "snapshots"  # in the data folder: the repositories of all memories, laid out as a vault is

_ID = re.compile(r"(0\d{5}|[1-9]\d{5,11})-(\d{8}T\d{6}Z)-([0-9a-f]{6})", re.ASCII)
_PREFIX = re.compile(r"\d{5,12}(-(\d{1,8}(T(\d{0,6}Z?(-[0-9a-f]{0,6})?)?)?)?)?", re.ASCII)
_CHANCE = re.compile(r"[0-9a-f]{6}", re.ASCII)
_HIGHEST = 999_999_999_999
_SIDECAR_LINE = re.compile(rb"([0-9a-f]{64})  ([ -~]{1,200})\n")
_YEAR_10000 = 253_402_300_800_000

# A file name has room for 255 bytes; a folder of a longer name keeps its beginning and a hash of the whole.
_LONGEST_PART = 180


@dataclass(frozen=True, slots=True)
class SnapshotId:
    """The parts of an id."""

    sequence: int
    time: str
    chance: str


NOTHING = "000000"  # the random part of the id of a memory with nothing in it


def new_id(sequence: int, now_ms: int, chance: str) -> str:
    """The id of a new snapshot; its random part is six hexadecimal characters."""
    if not 1 <= sequence <= _HIGHEST:
        raise InvalidRequest(f"snapshot: {sequence} is not a sequence number")
    if not _CHANCE.fullmatch(chance):
        raise InvalidRequest("snapshot: the last part of an id must be six hexadecimal characters")
    when = datetime.fromtimestamp(min(max(now_ms, 0), _YEAR_10000 - 1) // 1000, UTC)
    return f"{sequence:06d}-{when:%Y%m%dT%H%M%SZ}-{chance}"


def is_nothing(id: str) -> bool:
    """Whether it is no snapshot of a repository or vault, but what a journal that begins with nothing is applied to."""
    return id.endswith(f"-{NOTHING}")


def parse_id(id: str) -> SnapshotId:
    """The parts of an id.

    Raises:
        InvalidRequest: it is no id.
    """
    parts = _ID.fullmatch(id)
    if not parts or not int(parts[1]):
        raise InvalidRequest("snapshot: not a snapshot id such as 000042-20261116T053146Z-9f86d0")
    return SnapshotId(int(parts[1]), parts[2], parts[3])


def is_id_prefix(text: str) -> bool:
    """Whether ids may begin with this. A time does not: its year is followed by a dash after four digits."""
    return _PREFIX.fullmatch(text) is not None


def sequence_of(id: str) -> int:
    return parse_id(id).sequence


def split_name(name: str) -> tuple[str, str] | None:
    """Id and suffix of a file of a snapshot, or None if it is something else."""
    for suffix in SUFFIXES:
        id = name.removesuffix(suffix)
        if id != name and _ID.fullmatch(id) and int(id.split("-")[0]):
            return id, suffix
    return None


def sidecar(digest: str, name: str) -> bytes:
    """The content of a sidecar."""
    return f"{digest}  {name}\n".encode()


def read_sidecar(data: bytes, name: str) -> str | None:
    """The hash that a sidecar gives for the file of that name; None if it is not exactly a sidecar of it."""
    line = _SIDECAR_LINE.fullmatch(data)
    return line[1].decode() if line and line[2] == name.encode() else None


def place_of(tenant: str, agent: str) -> tuple[str, str]:
    """The two folder names of a memory, in the repository and in a vault. Different memories, different folders."""
    return _part(tenant), _part(agent)


def _part(name: str) -> str:
    """The name's key as a folder name: never empty, hidden or too long.

    No key has a % without two hexadecimal digits after it, so these cannot be taken for another name's.
    """
    key = key_of(name)
    if len(key) > _LONGEST_PART:
        key = f"{key[: _LONGEST_PART - 66]}%.{sha256(name.encode()).hexdigest()}"
    if not key:
        return "%none"
    return f"%2E{key[1:]}" if key.startswith(".") else key


def repo_folder(home: Path, tenant: str, agent: str) -> Path:
    """The folder of a memory's snapshots."""
    return home.joinpath(SHELVES, *place_of(tenant, agent))
