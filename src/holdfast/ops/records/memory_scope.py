"""Operations that change what surrounds a memory's text: pins and scopes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest
from holdfast.core.wire import shape
from holdfast.intake.attributes import AttributeChange, change
from holdfast.ops.framework.operation import Operation
from holdfast.ops.records.lifecycle import MemoryName, MemoryStateAnswer


class MemoryChange(MemoryName):
    pinned: bool | None = Field(default=None, description="Whether it stays until somebody removes it.")
    scope: Literal["global", "personal", "group", "conversation"] | None = Field(
        default=None, description="Whom it concerns: everybody, its owners, the group or the chat it was made in."
    )
    visibility: Literal["private", "group"] | None = Field(
        default=None, description="Of a personal memory: for its owner alone, or for all owners."
    )


def memory_change(ctx: CallContext, ask: MemoryChange) -> MemoryStateAnswer:
    """Pin a memory or let it go again, or say anew whom it concerns; its text and versions stay.

    A scope holds for all versions. In a chat only the owner of a memory changes whom it concerns.
    """
    wanted = AttributeChange(ask.pinned, ask.scope, ask.visibility)
    if wanted == AttributeChange():
        raise InvalidRequest("memory_change: say what to change: pinned, scope or visibility")
    return {"success": True, "memory": shape(change(ctx, ask.id, wanted, ask.agent_id))}


CHANGING = (
    Operation(
        memory_change,
        "POST",
        "/memories/change",
        effect="write",
        tool="memory_change",
        cli="change",
        positional=("id",),
    ),
)
