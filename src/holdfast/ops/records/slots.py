"""Operations on slots."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.model import CleanText, Json, Slot
from holdfast.core.wire import shape
from holdfast.learn.slots import (
    DEFAULT_SIZE,
    SlotDraft,
    create_slot,
    delete_slot,
    find_slot,
    list_slots,
    write_slot,
)
from holdfast.ops.framework.answers import SlotShape, Success
from holdfast.ops.framework.fields import CleanBody, CleanLine, CleanLoose, CleanName, Label, Name
from holdfast.ops.framework.operation import Operation, Request
from holdfast.projects import written_project

MOST_CHARS = 20_000


class Slots(Request):
    project: Name | None = None


class SlotsAnswer(TypedDict):
    success: bool
    slots: list[SlotShape]


def slots(ctx: CallContext, ask: Slots) -> SlotsAnswer:
    """List the slots: small named texts such as persona, user_preferences and pending_items.

    Pinned slots come first in every context. Standard slots always exist and are initially empty.
    """
    return {"success": True, "slots": [_shape(one) for one in list_slots(ctx, ask.project)]}


def _shape(found: Slot) -> Json:
    """The slot; a standard one that was never written has no times yet."""
    return shape(found) if found.seq else {**shape(found), "createdAt": None, "updatedAt": None}


class SlotNamed(Request):
    label: Label
    project: Name | None = None


class SlotAnswer(TypedDict):
    success: bool
    slot: SlotShape
    scope: str


def slot(ctx: CallContext, ask: SlotNamed) -> SlotAnswer:
    """Read one slot by its label."""
    found = find_slot(ctx, ctx.store.read(), ask.label, ask.project)
    return {"success": True, "slot": _shape(found), "scope": found.scope}


class SlotCreate(Request):
    label: Label
    content: CleanLoose = CleanText("")
    scope: Literal["project", "global"] = "project"
    size_limit: int = Field(default=DEFAULT_SIZE, ge=1, le=MOST_CHARS)
    pinned: bool = True
    description: CleanLine = CleanText("")
    project: CleanName | None = None


class SlotCreateAnswer(TypedDict):
    success: bool
    slot: SlotShape


def slot_create(ctx: CallContext, ask: SlotCreate) -> SlotCreateAnswer:
    """Create a slot. Its label must not exist in that scope yet.

    Use memory_slot_replace or memory_slot_append to change an existing one.
    """
    draft = SlotDraft(
        label=ask.label,
        content=ask.content,
        scope=ask.scope,
        project=written_project(ctx, ask.project),
        size_limit=ask.size_limit,
        pinned=ask.pinned,
        description=ask.description,
    )
    return {"success": True, "slot": shape(create_slot(ctx, draft))}


class SlotAppend(Request):
    label: Label
    text: CleanBody
    project: Name | None = None


class SlotReplace(Request):
    label: Label
    content: CleanLoose
    project: Name | None = None


class SlotWriteAnswer(TypedDict):
    success: bool
    slot: SlotShape
    size: int


def slot_append(ctx: CallContext, ask: SlotAppend) -> SlotWriteAnswer:
    """Add a line to a slot. Rejected if the slot would exceed its size limit."""
    changed = write_slot(ctx, ask.label, ask.text, ask.project, append=True)
    return {"success": True, "slot": shape(changed), "size": len(changed.content)}


def slot_replace(ctx: CallContext, ask: SlotReplace) -> SlotWriteAnswer:
    """Replace the whole content of a slot."""
    changed = write_slot(ctx, ask.label, ask.content, ask.project, append=False)
    return {"success": True, "slot": shape(changed), "size": len(changed.content)}


def slot_delete(ctx: CallContext, ask: SlotNamed) -> Success:
    """Remove a slot; a standard one becomes empty again."""
    delete_slot(ctx, ask.label, ask.project)
    return {"success": True}


SLOT_OPERATIONS = (
    Operation(slots, "GET", "/slots", tool="memory_slot_list", cli="slots"),
    Operation(slot, "GET", "/slot", tool="memory_slot_get", cli="slot get", positional=("label",)),
    Operation(
        slot_create,
        "POST",
        "/slot",
        effect="write",
        status=201,
        tool="memory_slot_create",
        tool_defaults={"scope": "global"},
        cli="slot create",
        positional=("label", "content"),
    ),
    Operation(
        slot_append,
        "POST",
        "/slot/append",
        effect="write",
        tool="memory_slot_append",
        cli="slot append",
        positional=("label", "text"),
    ),
    Operation(
        slot_replace,
        "POST",
        "/slot/replace",
        effect="write",
        tool="memory_slot_replace",
        cli="slot replace",
        positional=("label", "content"),
    ),
    Operation(
        slot_delete,
        "DELETE",
        "/slot",
        effect="destroy",
        tool="memory_slot_delete",
        cli="slot delete",
        positional=("label",),
    ),
)
