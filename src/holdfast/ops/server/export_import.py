"""Operations that move memory: export, import, transcripts."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.disk import user_path
from holdfast.core.errors import InvalidRequest, InvalidSettings
from holdfast.core.model import Json
from holdfast.core.version import VERSION
from holdfast.intake.importer import import_memory
from holdfast.intake.sessions import end_session
from holdfast.intake.transcripts.reader import find_transcripts, read_transcript
from holdfast.intake.transcripts.transcript_store import take_event
from holdfast.learn.sessions.backlog import IDLE_MS
from holdfast.ops.framework.fields import Name, Offset
from holdfast.ops.framework.operation import ChatRequest, Operation, Request, Stream
from holdfast.ops.snapshots.progenly import is_progenly, read_progenly
from holdfast.recall.views.export import export_pieces
from holdfast.redact import redact_text
from holdfast.snapshot.triggers import before

FILES_UPPER_BOUND = 1_000


class Export(ChatRequest):
    max_sessions: int | None = Field(default=None, ge=1, le=1000)
    offset: Offset = 0


def export(ctx: CallContext, ask: Export) -> Stream:
    """Export everything: sessions, observations, memories with all versions, lessons, slots, audit and more.

    With maxSessions the sessions are returned in pages; everything else is on the first page.
    """
    return Stream(export_pieces(ctx, ctx.sees(), VERSION, ask.max_sessions, ask.offset))


class Import(Request):
    """The export itself, or {"exportData": …, "strategy": …} around it."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow", hide_input_in_errors=True)

    strategy: Literal["merge", "skip", "replace"] = "merge"
    export_data: Json | None = None


class ImportAnswer(TypedDict):
    success: bool
    imported: dict[str, int]
    skipped: dict[str, int]
    refused: list[Json]
    refusedCount: int


def import_(ctx: CallContext, ask: Import) -> ImportAnswer:
    """Import an export of Holdfast, of agentmemory or of Progenly.

    Existing records are skipped, or replaced with the strategy `replace`. Invalid records are reported.
    """
    data: Json = ask.export_data if ask.export_data is not None else dict(ask.__pydantic_extra__ or {})
    if is_progenly(data):
        data = read_progenly(ctx, data)
    before(ctx, "import")
    report = import_memory(ctx, data, replace=ask.strategy == "replace")
    return {
        "success": not report.refusals,
        "imported": report.imported,
        "skipped": report.skipped,
        "refused": report.refused,
        "refusedCount": report.refusals,
    }


class ImportJsonl(Request):
    path: Name | None = None
    max_files: int = Field(default=200, ge=1, le=FILES_UPPER_BOUND)


class ImportJsonlAnswer(TypedDict):
    success: bool
    imported: int
    sessionIds: list[str]
    observations: int
    skippedLines: int
    duplicates: int
    maxFiles: int
    maxFilesUpperBound: int


def import_jsonl(ctx: CallContext, ask: ImportJsonl) -> ImportJsonlAnswer:
    """Import transcripts of Claude Code and Codex. Repeating it adds no duplicates.

    A session whose last event is half an hour old is ended there. The path must be in a folder of
    HOLDFAST_IMPORT_ROOTS. Without a path, all these folders are imported.
    """
    files: list[Path] = []
    for folder in _allowed(ctx, ask.path):
        files += find_transcripts(folder, ask.max_files - len(files))
        if len(files) >= ask.max_files:
            break
    if files:
        before(ctx, "import")
    sessions: dict[str, int] = {}  # with their last event
    stored = duplicates = skipped = 0
    for file in files:
        transcript = read_transcript(file)
        for event in transcript:
            sessions[event.session_id] = max(event.at_ms, sessions.get(event.session_id, 0))
            if take_event(ctx, event):
                stored += 1
            else:
                duplicates += 1
        skipped += transcript.skipped
    for name, last in sessions.items():
        if ctx.clock.now_ms() - last >= IDLE_MS:  # others may go on: their hooks end them
            end_session(ctx, redact_text(name).value, last, unless_later=True)
    return {
        "success": True,
        "imported": len(files),
        "sessionIds": list(sessions),
        "observations": stored,
        "skippedLines": skipped,
        "duplicates": duplicates,
        "maxFiles": ask.max_files,
        "maxFilesUpperBound": FILES_UPPER_BOUND,
    }


def _allowed(ctx: CallContext, path: str | None) -> list[Path]:
    roots = [user_path(root, "HOLDFAST_IMPORT_ROOTS", InvalidSettings).resolve() for root in ctx.settings.import_roots]
    if path is None:
        return [root for root in roots if root.exists()]
    asked = user_path(path, "path").resolve()
    if not ctx.caller.owner and not any(asked == root or root in asked.parents for root in roots):
        raise InvalidRequest(
            "path: not in a folder from which transcripts may be imported",
            hint="Add the folder to HOLDFAST_IMPORT_ROOTS and restart the server.",
        )
    if not asked.exists():
        raise InvalidRequest("path: no such file or folder")
    return [asked]


TRANSFER = (
    Operation(export, "GET", "/export", tool="memory_export", cli="export", long=True),
    Operation(import_, "POST", "/import", effect="write", scope="admin", bulk=True, long=True),
    Operation(
        import_jsonl,
        "POST",
        "/replay/import-jsonl",
        effect="write",
        scope="root",  # it reads files of the user who runs the server
        cli="import-jsonl",
        positional=("path",),
        long=True,
    ),
)
