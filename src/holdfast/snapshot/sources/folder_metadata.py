"""What a memory folder is, as JSON beside its files in the bundle: written at capture, not trusted at restore."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from holdfast.core.errors import SnapshotDamaged
from holdfast.snapshot.bundle.types import StagedFile
from holdfast.snapshot.sources.folder_paths import PathCollisions, path_fault
from holdfast.snapshot.sources.folder_walk import read_small
from holdfast.snapshot.sources.git.git_command import OID, is_ref

_SIZE = 64_000_000


@dataclass(frozen=True, slots=True)
class FolderMetadata:
    """A memory folder at the moment of its capture."""

    kind: Literal["plain", "git"]
    head: str | None = None  # None: no commit is checked out
    branch: str | None = None  # None: HEAD is detached
    subject: str | None = None
    files: tuple[str, ...] = ()  # captured as files; of a repository, what differs from HEAD
    deleted: tuple[str, ...] = ()  # in HEAD, and no more in the folder
    executable: tuple[str, ...] = ()  # those of the files that can be run
    shallow: tuple[str, ...] = ()  # commits where the history was cut off when it was fetched


def description_path(name: str) -> str:
    return f"folders/{name}.json"


def write_description(into: Path, name: str, description: FolderMetadata) -> StagedFile:
    path = into / description_path(name)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    value = {
        "name": name,
        "kind": description.kind,
        "head": description.head,
        "branch": description.branch,
        "subject": description.subject,
        "files": description.files,
        "deleted": description.deleted,
        "executable": description.executable,
        "shallow": description.shallow,
    }
    path.write_bytes(orjson.dumps(value, option=orjson.OPT_SORT_KEYS) + b"\n")
    return StagedFile(description_path(name), "folder", path)


def read_description(extracted: Path, name: str) -> FolderMetadata:
    """The description as a bundle gives it.

    Raises:
        SnapshotDamaged: there is none, or it has something that no capture writes.
    """
    data = read_small(extracted / description_path(name), _SIZE)
    try:
        return _checked(orjson.loads(data or b""), name)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SnapshotDamaged(f"snapshot: {description_path(name)} does not describe a memory folder") from error


def _checked(value: dict[str, Any], name: str) -> FolderMetadata:
    description = FolderMetadata(
        value["kind"],
        _word(value["head"]),
        _word(value["branch"]),
        _word(value["subject"]),
        *(_words(value[field]) for field in ("files", "deleted", "executable", "shallow")),
    )
    if not (value["name"] == name and _is_possible(description)):
        raise ValueError
    return description


def _word(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError
    return value


def _words(value: list[str]) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise TypeError
    return tuple(value)


def _is_possible(description: FolderMetadata) -> bool:
    collisions = PathCollisions()
    paths = (*description.files, *description.deleted)
    history = description.head, description.branch, description.deleted, description.shallow
    return (
        description.kind in ("plain", "git")
        and (description.kind == "git" or not any(history))
        and all(path_fault(path) is None for path in paths)
        and all(collisions.takes(path) for path in description.files)
        and set(description.executable) <= set(description.files)
        and not set(description.files) & set(description.deleted)
        and (description.head is None or OID.fullmatch(description.head) is not None)
        and (description.branch is None or is_ref(f"refs/heads/{description.branch}"))
        and all(OID.fullmatch(oid) for oid in description.shallow)
    )
