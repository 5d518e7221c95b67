"""Operations that exchange a memory with Progenly: documents by name."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from holdfast.colony import FORMAT, ColonyInvalid, ColonyMemory
from holdfast.context import CallContext
from holdfast.core.errors import Fault, InvalidRequest
from holdfast.core.model import Json
from holdfast.intake.foreign_import import adopt
from holdfast.ops.framework.operation import Nothing, Operation
from holdfast.protocol.importers import read_markdown
from holdfast.snapshot.bundle.types import Identity
from holdfast.snapshot.remote.colony_format import documents_of, is_compact, lists_in
from holdfast.snapshot.repo.context import DEFAULT_AGENT
from holdfast.snapshot.repo.paths import new_id

MOST = 256 * 1024 * 1024


class ProgenlyAnswer(TypedDict):
    memory: dict[str, str]
    memory_format: str


def progenly_export(ctx: CallContext, ask: Nothing) -> ProgenlyAnswer:
    """Export the memory as a parent for a Progenly merge: slots, lessons and memories as documents.

    In isolated scope these are the records of one agent.
    """
    now = ctx.clock.now_ms()
    bounds = ctx.sees_shared()
    agent = ctx.agent() or DEFAULT_AGENT
    identity = Identity(new_id(1, now, ctx.entropy.hex(6)), ctx.tenant, agent, "", 1, None, now, "hand")
    with ctx.store.snapshot() as reader:
        found = documents_of(reader, identity, MOST, MOST, bounds)
    return {"memory": found.documents, "memory_format": FORMAT}


def is_progenly(data: Json) -> bool:
    """Whether a document says that it is such an export."""
    return "memory_format" in data


def read_progenly(ctx: CallContext, data: Json) -> Json:
    """The lists of an export, out of what `to_progenly_export` gave. Documents that Holdfast did not write become
    memories, as files of Markdown do.

    Raises:
        InvalidRequest: it is no such export.
    """
    try:
        documents = ColonyMemory.from_progenly_export(data)
        if is_compact(documents):
            return lists_in(documents, ctx.tenant)
    except (ColonyInvalid, Fault) as fault:
        raise InvalidRequest(f"import: {fault.message}") from None
    made = adopt(read_markdown((_named(name), text.encode()) for name, text in documents.items()))
    if made.refused:
        raise InvalidRequest(f"import: {made.refused} documents were rejected", details={"refused": made.refusals})
    lists: dict[str, Any] = {"memories": made.memories, "addresses": made.addresses, "relations": made.relations}
    return lists


def _named(name: str) -> str:
    """The name as a Markdown file name; the writer chooses names, so none is used as a path on disk."""
    plain = "/".join(part.lstrip(".") or "_" for part in name.replace("\\", "/").split("/") if part)
    return plain if plain.lower().endswith((".md", ".markdown")) else f"{plain or 'document'}.md"


PROGENLY = (Operation(progenly_export, "GET", "/progenly", scope="admin", cli="progenly"),)
