"""What a model should know when somebody speaks to it in a chat: memories that may be told there, as one block."""

from __future__ import annotations

from holdfast.desk import Desk, facts_of
from holdfast.model import Json, Memory
from holdfast.protocol.ids import build_user_id
from holdfast.protocol.injection import Locale, format_memory_for_injection
from holdfast.protocol.ownership import ownership_metadata
from holdfast.recall.context import CHARS_PER_TOKEN
from holdfast.recall.links import current, linked
from holdfast.recall.matter import ranked_memories
from holdfast.times import iso


def chat_context(
    desk: Desk, project: str | None, said: str, tokens: int, locale: Locale, agent: str | None
) -> tuple[str, int]:
    """The block, and of how many scopes it tells; empty if there is nothing to tell."""
    reader = desk.store.read()
    ranked = ranked_memories(desk, project or None, agent, said)
    seen = current(desk, reader, [*ranked, *linked(desk, reader, ranked, agent)], agent)
    viewer = desk.viewer
    user = build_user_id(viewer.origin.platform_id, viewer.sender_id) if viewer.sender_id else ""
    text = format_memory_for_injection(
        [injected(one) for one in seen], tokens * CHARS_PER_TOKEN, max_tokens=tokens, locale=locale, current_user=user
    )
    desk.recalls.add(desk.tenant, (one.seq for one in seen) if text else ())
    return text, len({one.scope for one in seen}) if text else 0


def injected(memory: Memory) -> Json:
    """The memory as the protocol's texts read it."""
    about = {
        **ownership_metadata(facts_of(memory)),
        "domain": memory.domain or memory.type,
        "uri": memory.uri,
        "created_at": iso(memory.created_at),
    }
    return {"content": memory.content, "metadata": about}
