"""What a model should know when a user writes to it in a chat: memories that the chat may see, as one block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.context import CallContext, facts_of
from holdfast.core.model import Json, Memory
from holdfast.core.times import iso
from holdfast.protocol.ids import build_user_id
from holdfast.protocol.injection import Locale, format_memory_for_injection
from holdfast.protocol.memory_list import format_memory_for_user
from holdfast.protocol.ownership import ownership_metadata
from holdfast.recall.context.build import CHARS_PER_TOKEN
from holdfast.recall.context.salience import ranked_memories
from holdfast.recall.links import current, linked


def chat_context(
    ctx: CallContext, project: str | None, said: str, tokens: int, locale: Locale, agent: str | None
) -> tuple[str, int]:
    """The block, and how many scopes it covers; empty if there is nothing to show."""
    reader = ctx.store.read()
    ranked, _ = ranked_memories(ctx, project or None, agent, said)
    seen = current(ctx, reader, [*ranked, *linked(ctx, reader, ranked, agent)], agent)
    viewer = ctx.viewer
    user = build_user_id(viewer.origin.platform_id, viewer.sender_id) if viewer.sender_id else ""
    text = format_memory_for_injection(
        [injected(one) for one in seen], tokens * CHARS_PER_TOKEN, max_tokens=tokens, locale=locale, current_user=user
    )
    ctx.recalls.add(ctx.tenant, (one.seq for one in seen) if text else ())
    return text, len({one.scope for one in seen}) if text else 0


@dataclass(frozen=True, slots=True)
class ListPage:
    """A part of a list: how many come before it, how many it has room for, and how many there are in all."""

    before: int
    size: int
    total: int

    @property
    def number(self) -> int:
        return self.before // self.size + 1


def chat_list(ctx: CallContext, memories: Sequence[Memory], page: ListPage, locale: Locale) -> str:
    """The memories as a numbered list for a person, with how often each was recalled."""
    used = ctx.store.read().last_recalls(ctx.tenant, [one.seq for one in memories])
    listed = [_listed(one, used.get(one.seq, (0, 0))[0]) for one in memories]
    return format_memory_for_user(listed, page.number, page.total, page.size, all_mode=ctx.viewer.admin, locale=locale)


def _listed(memory: Memory, recalls: int) -> Json:
    shown = injected(memory)
    more = {
        "uri": memory.uri or memory.id,
        "disclosure": memory.disclosure,
        "recall_count": recalls,
        "deprecated": memory.state == "deprecated",
    }
    return {**shown, "metadata": {**shown["metadata"], **more}}


def injected(memory: Memory) -> Json:
    """The memory as the protocol's texts read it."""
    about = {
        **ownership_metadata(facts_of(memory)),
        "domain": memory.domain or memory.type,
        "uri": memory.uri,
        "created_at": iso(memory.created_at),
    }
    return {"content": memory.content, "metadata": about}
