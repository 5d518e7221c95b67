"""Operations kept for clients of the earlier system: second-brain pages and syncs with agents' folders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NotRequired
from urllib.parse import unquote

from pydantic import field_validator
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import NotFound
from holdfast.core.model import Json, Note
from holdfast.core.session_keys import key_of
from holdfast.core.times import iso
from holdfast.ops.framework.fields import CleanLoose, CleanName, Name
from holdfast.ops.framework.operation import Operation, Request
from holdfast.ops.server.export_import import ImportJsonl, import_jsonl
from holdfast.store.port import Tx, where
from holdfast.store.tables import NOTES, PAGE

_FILE_NAME = re.compile(r"[\w][\w .\-]{0,120}\.md")


def _page_name(value: str) -> str:
    """A plain file name: pages are rows, not files, and clients must not be able to name a path."""
    if not _FILE_NAME.fullmatch(value):
        raise ValueError("must be a file name such as notes.md")
    return value


class SecondBrainRead(Request):
    file: Name | None = None

    @field_validator("file")
    @classmethod
    def _plain(cls, value: str | None) -> str | None:
        return None if value is None else _page_name(value)


class SecondBrainAnswer(TypedDict):
    success: bool
    files: NotRequired[list[Json]]
    file: NotRequired[str]
    content: NotRequired[str]


def second_brain(ctx: CallContext, ask: SecondBrainRead) -> SecondBrainAnswer:
    """List the second-brain pages, or read one."""
    reader = ctx.store.read()
    if ask.file is None:
        own = _page_id(ctx, "")
        pages = [
            page for page in reader.find(NOTES, ctx.tenant, *where(kind=PAGE), order="id") if page.id.startswith(own)
        ]
        listed: list[Json] = [
            {"file": _name_of(page), "size": len(page.content), "updatedAt": iso(page.updated_at)}
            for page in pages[:1_000]
        ]
        return {"success": True, "files": listed}
    page = reader.get(NOTES, ctx.tenant, _page_id(ctx, ask.file))
    if page is None:
        raise NotFound("second brain: there is no page of that name")
    return {"success": True, "file": ask.file, "content": page.content}


class SecondBrainWrite(Request):
    file: CleanName
    content: CleanLoose

    @field_validator("file")
    @classmethod
    def _plain(cls, value: str) -> str:
        return _page_name(value)


def second_brain_write(ctx: CallContext, ask: SecondBrainWrite) -> SecondBrainAnswer:
    """Write a second-brain page, a Markdown text under a name."""

    def store(tx: Tx) -> None:
        id = _page_id(ctx, ask.file)
        known = tx.get(NOTES, ctx.tenant, id)
        seq = known.seq if known else tx.next_seq(ctx.tenant)
        tx.replace(NOTES, Note(ctx.tenant, id, seq, PAGE, ask.content, ctx.clock.now_ms()))
        ctx.audit(tx, "second_brain_write", (id,), size=len(ask.content))

    ctx.store.write(store)
    return {"success": True, "file": ask.file, "content": ask.content}


def _page_id(ctx: CallContext, file: str) -> str:
    """Pages of isolated agents have their own names."""
    return key_of(PAGE, ctx.shared_agent(), file)


def _name_of(page: Note) -> str:
    return unquote(page.id.rsplit("/", 1)[1])


class AntigravitySync(Request):
    mode: Name
    current_conversation_id: Name | None = None
    current_folder: Name | None = None


class AntigravityAnswer(TypedDict):
    success: bool
    syncedSessions: list[str]
    observationsAdded: int
    crystallizations: NotRequired[Json]
    reflections: NotRequired[Json]


def antigravity_sync(ctx: CallContext, ask: AntigravitySync) -> AntigravityAnswer:
    """Import the transcripts of a folder in HOLDFAST_IMPORT_ROOTS. Repeating it adds no duplicates."""
    path = ask.current_folder if ask.current_folder and Path(ask.current_folder).is_absolute() else None
    if path is None:
        return {"success": True, "syncedSessions": [], "observationsAdded": 0}
    done = import_jsonl(ctx, ImportJsonl(path=path))
    return {"success": True, "syncedSessions": done["sessionIds"], "observationsAdded": done["observations"]}


def antigravity_sync_all(ctx: CallContext, ask: AntigravitySync) -> AntigravityAnswer:
    """Import the transcripts of every folder in HOLDFAST_IMPORT_ROOTS."""
    done = import_jsonl(ctx, ImportJsonl())
    return {
        "success": True,
        "syncedSessions": done["sessionIds"],
        "observationsAdded": done["observations"],
        "crystallizations": {},
        "reflections": {},
    }


NOTE_OPERATIONS = (
    Operation(second_brain, "GET", "/second-brain", cli="second-brain read", positional=("file",)),
    Operation(
        second_brain_write,
        "POST",
        "/second-brain",
        effect="write",
        cli="second-brain write",
        positional=("file", "content"),
    ),
    Operation(
        antigravity_sync,
        "POST",
        "/antigravity/sync",
        effect="write",
        scope="root",
        tool="memory_antigravity_sync",
    ),
    Operation(
        antigravity_sync_all,
        "POST",
        "/antigravity/sync-all",
        effect="write",
        scope="root",
        tool="memory_antigravity_sync_all",
    ),
)
