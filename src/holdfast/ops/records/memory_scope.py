"""Operations that change the attributes of a memory: pin and scope."""

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
    pinned: bool | None = Field(default=None, description="Keep the memory until it is removed explicitly.")
    scope: Literal["global", "personal", "group", "conversation"] | None = Field(
        default=None, description="Who may see it: all users, its owners, or the group or chat it was created in."
    )
    visibility: Literal["private", "group"] | None = Field(
        default=None, description="Personal memories only: visible to the owner alone, or to all owners."
    )


def memory_change(ctx: CallContext, ask: MemoryChange) -> MemoryStateAnswer:
    """Pin or unpin a memory, or change who may see it. Its text and versions are not changed.

    A scope applies to all versions. In a chat only the owner of a memory may change it.
    """
    wanted = AttributeChange(ask.pinned, ask.scope, ask.visibility)
    if wanted == AttributeChange():
        raise InvalidRequest("memory_change: pinned, scope or visibility is required")
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
