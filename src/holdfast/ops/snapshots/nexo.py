"""Operations on bundles of the earlier system (nexo): verify and import."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import disk_faults, make_folder, sync_folder, user_path
from holdfast.core.errors import Conflict, InvalidRequest
from holdfast.core.model import Json
from holdfast.core.times import iso
from holdfast.intake.importer import import_memory
from holdfast.ops.framework.fields import Name
from holdfast.ops.framework.operation import Operation, Request
from holdfast.snapshot.bundle.encryption import read_identities
from holdfast.snapshot.bundle.hashed_copy import copy_new, open_file
from holdfast.snapshot.nexo.reader import NexoFile, NexoReport, import_nexo, verify_nexo
from holdfast.snapshot.nexo.rows import NexoRow
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.sources.capture import folders_of
from holdfast.snapshot.triggers import before

BATCH = 500
_NEXO = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tar\.zst(\.age)?")


def is_nexo(name: str) -> bool:
    """Whether a path has the file name of a bundle of the earlier system."""
    return _NEXO.fullmatch(Path(name).name) is not None


def examine_nexo(ctx: CallContext, path: str, identity: str | None) -> NexoReport:
    """What is to be said of such a bundle."""
    context = snapshot_context(ctx)
    with context.repo.staging() as scratch:
        return verify_nexo(user_path(path, "id"), _identities(context, identity), scratch)


class SnapshotImport(Request):
    path: Name = Field(description="The bundle: <uuid>.tar.zst or <uuid>.tar.zst.age.")
    identity: Name | None = Field(default=None, description="File with the age identity that decrypts it.")


class SnapshotImportAnswer(TypedDict):
    success: bool
    imported: int
    skipped: int
    refused: list[Json]
    files: list[str]


def snapshot_import(ctx: CallContext, ask: SnapshotImport) -> SnapshotImportAnswer:
    """Import the memories and memory files of a bundle of the earlier system (nexo-memory-snapshot-v1).

    Memories are redacted and keep their ids, so repeating it adds no duplicates. Files are written to a separate folder
    in the memory folder.
    """
    if not is_nexo(ask.path):
        raise InvalidRequest("path: the file name must be <uuid>.tar.zst or <uuid>.tar.zst.age")
    context = snapshot_context(ctx)
    before(ctx, "import")
    with context.repo.staging() as scratch:
        path, identities = user_path(ask.path, "path"), _identities(context, ask.identity)
        with import_nexo(path, identities, scratch) as found:
            answer = _memories(ctx, found.memories)
            answer["skipped"] += found.memories.skipped
            answer["files"] = _files(context, found.manifest.id, found.files)
    return answer


def _identities(context: SnapshotContext, identity: str | None) -> tuple[str, ...]:
    file = identity or context.settings.snapshot_identity
    return read_identities(file) if file else ()


def _memories(ctx: CallContext, rows: Iterable[NexoRow]) -> SnapshotImportAnswer:
    answer: SnapshotImportAnswer = {"success": True, "imported": 0, "skipped": 0, "refused": [], "files": []}
    for some in _batches(rows):
        report = import_memory(ctx, {"memories": [_record(row) for row in some]}, replace=False)
        answer["imported"] += report.imported.get("memories", 0)
        answer["skipped"] += report.skipped.get("memories", 0)
        answer["refused"] += report.refused
    answer["success"] = not answer["refused"]
    return answer


def _batches(rows: Iterable[NexoRow]) -> Iterator[list[NexoRow]]:
    left = iter(rows)
    while some := list(islice(left, BATCH)):
        yield some


def _record(row: NexoRow) -> Json:
    record: dict[str, Any] = {
        "id": row.id,
        "content": row.content,
        "type": row.memory_type or "fact",
        "concepts": list(dict.fromkeys((*row.tags, *row.concepts))),
        "agentId": row.agent,
    }
    return record if row.created_at is None else record | {"createdAt": iso(row.created_at)}


def _files(context: SnapshotContext, id: str, files: Iterable[NexoFile]) -> list[str]:
    """The files, copied into a new folder of the first memory folder."""
    folders = folders_of(context)
    listed = list(files)
    if not listed or not folders:
        return []
    place = folders[0].path / f"imported-{id}"
    if place.exists():
        raise Conflict(
            f"import: {place.name} already exists; the memories were imported, the files were imported earlier"
        )
    with disk_faults("import memory files"):
        _lay(listed, place)
    return [one.path for one in listed]


def _lay(files: Iterable[NexoFile], place: Path) -> None:
    """All of them or none: a folder of that name means that they were imported."""
    building = place.with_name(f".{place.name}.new")
    shutil.rmtree(building, ignore_errors=True)
    make_folder(building)
    with OnFailure(shutil.rmtree, building, ignore_errors=True):
        for one in files:
            target = building / one.path
            make_folder(target.parent)
            with open_file(one.source) as source:
                copy_new(source, target)
            sync_folder(target.parent)
        building.rename(place)
        sync_folder(place.parent)


FOREIGN = (
    Operation(
        snapshot_import,
        "POST",
        "/snapshots/import",
        effect="write",
        scope="root",  # it reads files of the user who runs the server
        cli="snapshot import",
        positional=("path",),
        paths=("path", "identity"),
        long=True,
    ),
)
