"""Slots: small named texts that an agent edits itself and that stand at the head of every context."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import orjson

from holdfast.context import CallContext
from holdfast.core.errors import Conflict, LimitReached, NotFound
from holdfast.core.model import CleanText, Event, Slot
from holdfast.core.session_keys import key_of
from holdfast.core.wire import shape
from holdfast.learn.statements.keywords import normal
from holdfast.projects import project_for_write, project_names
from holdfast.store.port import Reader, Tx, where
from holdfast.store.queries.merge_notes import drop_set_aside
from holdfast.store.tables import NOTES, SLOTS, reflected_key

DEFAULT_SIZE = 2_000


@dataclass(frozen=True, slots=True)
class StandardSlot:
    """A slot every memory has from the start; it is stored at its first write."""

    label: str
    description: str
    scope: str = "global"
    pinned: bool = True


STANDARD_SLOTS = (
    StandardSlot("persona", "Who the agent is: its role, tone and boundaries."),
    StandardSlot("user_preferences", "How the user likes to work: style, tools, language, what to avoid."),
    StandardSlot("tool_guidelines", "Which tools to use for what, and their traps."),
    StandardSlot("project_context", "What this project is: purpose, architecture, conventions.", "project"),
    StandardSlot("guidance", "Standing advice for the next sessions.", "project"),
    StandardSlot("pending_items", "What is unfinished and should be picked up again.", "project"),
    StandardSlot("session_patterns", "What sessions have in common: habits, recurring steps.", "project", False),
    StandardSlot("self_notes", "Free notes of the agent to itself.", "project", False),
)


def slot_id(label: str, scope: str, project: str | None, agent: str | None) -> str:
    return key_of(scope, label, agent, project)


def list_slots(ctx: CallContext, project: str | None) -> list[Slot]:
    """All slots the caller sees, the standard ones included; with a project, its own before global ones."""
    reader = ctx.store.read()
    stored = reader.find(SLOTS, ctx.tenant, *ctx.sees_shared(), order="label")
    if project is not None:
        stored = [slot for slot in stored if slot.project in (None, *project_names(ctx, project))]
    labels = {slot.label for slot in stored}
    standard = [_standard(ctx, one, project) for one in STANDARD_SLOTS if one.label not in labels]
    return sorted([*stored, *standard], key=lambda slot: (slot.label, slot.scope, slot.project or ""))


def pinned_slots(ctx: CallContext, project: str | None) -> list[Slot]:
    """Pinned slots with text, one per label: the project's own hides the global one."""
    best: dict[str, Slot] = {}
    for slot in list_slots(ctx, project):
        if slot.pinned and slot.content.strip():
            known = best.get(slot.label)
            if known is None or _nearness(slot) > _nearness(known):
                best[slot.label] = slot
    return [best[label] for label in sorted(best)]


def _nearness(slot: Slot) -> int:
    return (2 if slot.project else 1) if slot.scope == "project" else 0


def find_slot(ctx: CallContext, reader: Reader, label: str, project: str | None) -> Slot:
    """The slot a label means here: the project's own, else a project one without a project, else global.

    Raises:
        NotFound: nothing has that label.
    """
    found = [
        slot
        for slot in reader.find(SLOTS, ctx.tenant, *ctx.sees_shared(), *where(label=label))
        if slot.project in (None, *project_names(ctx, project))
    ]
    if found:
        return max(found, key=_nearness)
    for one in STANDARD_SLOTS:
        if one.label == label:
            return _standard(ctx, one, project)
    raise NotFound(f"slot: there is no slot {label}")


def _standard(ctx: CallContext, one: StandardSlot, project: str | None) -> Slot:
    agent = ctx.shared_agent()
    project = project_for_write(ctx, project) if project and one.scope == "project" else None
    return Slot(
        tenant=ctx.tenant,
        id=slot_id(one.label, one.scope, project, agent),
        seq=0,
        label=one.label,
        scope=one.scope,
        project=project,
        agent=agent,
        content="",
        description=one.description,
        size_limit=DEFAULT_SIZE,
        pinned=one.pinned,
        read_only=False,
        created_at=0,
        updated_at=0,
    )


@dataclass(frozen=True, slots=True)
class SlotDraft:
    label: str
    content: CleanText
    scope: str
    project: CleanText | None
    size_limit: int
    pinned: bool
    description: CleanText


def create_slot(ctx: CallContext, draft: SlotDraft) -> Slot:
    """A new slot.

    Raises:
        Conflict: one of that label exists in that scope.
        LimitReached: the content is longer than the slot's limit.
    """
    agent = ctx.shared_agent()
    project = draft.project if draft.scope == "project" else None

    def store(tx: Tx) -> Slot:
        id = slot_id(draft.label, draft.scope, project, agent)
        if tx.get(SLOTS, ctx.tenant, id):
            raise Conflict(f"slot: {draft.label} already exists", hint="Use slot replace or slot append.")
        now = ctx.clock.now_ms()
        slot = Slot(
            tenant=ctx.tenant,
            id=id,
            seq=tx.next_seq(ctx.tenant),
            label=draft.label,
            scope=draft.scope,
            project=project,
            agent=agent,
            content=draft.content,
            description=draft.description,
            size_limit=draft.size_limit,
            pinned=draft.pinned,
            read_only=False,
            created_at=now,
            updated_at=now,
        )
        return _put(ctx, tx, slot, "slot_create")

    return ctx.store.write(store)


def write_slot(ctx: CallContext, label: str, text: CleanText, project: str | None, *, append: bool) -> Slot:
    """The slot with the text added as a new line, or in place of what it held.

    Raises:
        NotFound: nothing has that label.
        LimitReached: the result would be longer than the slot's limit.
        Conflict: the slot may not be changed.
    """

    def store(tx: Tx) -> Slot:
        slot = find_slot(ctx, tx, label, project)
        if slot.read_only:
            raise Conflict(f"slot: {label} is read-only")
        joined = f"{slot.content}\n{text}" if append and slot.content else text
        return change_slot(ctx, tx, slot, joined, "slot_append" if append else "slot_replace")

    return ctx.store.write(store)


def change_slot(ctx: CallContext, tx: Tx, slot: Slot, content: str, operation: str) -> Slot:
    """Store a slot's new content; a standard slot gets its row now."""
    now = ctx.clock.now_ms()
    fresh = dataclasses.replace(
        slot,
        content=content,
        seq=slot.seq or tx.next_seq(ctx.tenant),
        created_at=slot.created_at or now,
        updated_at=now,
    )
    return _put(ctx, tx, fresh, operation)


def _put(ctx: CallContext, tx: Tx, slot: Slot, operation: str) -> Slot:
    if len(slot.content) > slot.size_limit:
        raise LimitReached(
            f"slot: {slot.label} holds at most {slot.size_limit} characters",
            hint="Shorten it with slot replace, or create a slot with a larger sizeLimit.",
            details={"currentSize": len(slot.content), "sizeLimit": slot.size_limit},
        )
    tx.replace(SLOTS, slot)
    ctx.audit(tx, operation, (slot.id,), label=slot.label, scope=slot.scope, size=len(slot.content))
    ctx.publish(tx, "slot", slot)
    return slot


def delete_slot(ctx: CallContext, label: str, project: str | None) -> Slot:
    """Remove the slot that the label means here; a standard one becomes empty again.

    Raises:
        NotFound: nothing stored has that label.
    """

    def store(tx: Tx) -> Slot:
        slot = find_slot(ctx, tx, label, project)
        if not tx.delete(SLOTS, ctx.tenant, slot.id):
            raise NotFound(f"slot: there is no stored slot {label}")
        drop_set_aside(tx, ctx.tenant, {slot.id})
        ctx.audit(tx, "slot_delete", (slot.id,), label=label, scope=slot.scope)
        # As JSON: the record is gone for a server that would read it.
        empty = shape(dataclasses.replace(slot, content=""))
        tx.publish(Event(ctx.tenant, "slot", empty, agent=slot.agent))
        return slot

    return ctx.store.write(store)


def drop_reflected_line(ctx: CallContext, tx: Tx, session_id: str, text: str) -> None:
    """Take a sentence that holds no more out of the slots that reflection on its session wrote it into."""
    note = tx.get(NOTES, ctx.tenant, reflected_key(session_id))
    for slot_id, lines in (orjson.loads(note.content) if note else {}).items():
        gone = {line for line in lines if normal(line) == normal(text)}
        slot = tx.get(SLOTS, ctx.tenant, slot_id) if gone else None
        if slot is not None:
            left = "\n".join(line for line in slot.content.split("\n") if line not in gone)
            change_slot(ctx, tx, slot, left, "slot_reflect")
