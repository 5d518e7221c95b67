"""Google ADK: a BaseMemoryService that keeps the events of sessions and finds them again.

runner = Runner(agent=agent, app_name="shop", memory_service=HoldfastMemoryService(Holdfast("~/.holdfast")), ...)
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from holdfast.client import Holdfast
from holdfast.core.errors import InvalidRequest
from holdfast.user_memory import Found, UserMemory

NO_SESSION = "none"
MOST = 10  # as the service in memory of the ADK itself


class HoldfastMemoryService(BaseMemoryService):
    """The texts of events, for each application and user apart.

    An event that is added again is not kept twice. Parts that are no text are left out: pictures, calls of functions.
    """

    def __init__(self, memory: Holdfast, *, min_confidence: float | None = None):
        self._memory = memory
        self._min_confidence = min_confidence

    def _of(self, app_name: str, user_id: str, session: str | None = None) -> UserMemory:
        if not app_name:
            raise InvalidRequest("app_name: a name is required")
        return UserMemory(self._memory, user_id, project=app_name, session=session)

    async def add_session_to_memory(self, session: Any) -> None:
        user = self._of(session.app_name, session.user_id, session.id)
        await asyncio.to_thread(_keep_events, user, session.id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Any],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        _refuse_metadata(custom_metadata)
        user = self._of(app_name, user_id, session_id)
        await asyncio.to_thread(_keep_events, user, session_id or NO_SESSION, events)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        _refuse_metadata(custom_metadata, *(one.custom_metadata for one in memories))
        user = self._of(app_name, user_id)
        for one in memories:
            key = ("adk", app_name, "memory", one.id) if one.id else ()
            text = _text(one.content)
            if text:
                await asyncio.to_thread(user.keep, text, key=key, type=_type(one.author), created_at=one.timestamp)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        user = self._of(app_name, user_id)
        found = await asyncio.to_thread(user.find, query, MOST, min_confidence=self._min_confidence)
        return SearchMemoryResponse(memories=[_entry(one) for one in found])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Remove one memory of the user for good; without an id nothing is removed."""
        if not memory_id:
            raise InvalidRequest("memory_id: the id of one memory is required", hint="search_memory names the ids.")
        await asyncio.to_thread(self._of(app_name, user_id).forget, memory_id)


def _refuse_metadata(*given: Mapping[str, object] | None) -> None:
    if any(given):
        raise InvalidRequest("custom_metadata is not supported", hint="Leave it out; only texts are kept.")


def _keep_events(user: UserMemory, session_id: str, events: Iterable[Any]) -> None:
    for event in events:
        text = _text(event.content)
        if text:
            said = datetime.fromtimestamp(event.timestamp, UTC).isoformat()
            key = ("adk", user.project or "", session_id, event.id)
            user.keep(text, key=key, type=_type(event.author), created_at=said)


def _text(content: types.Content | None) -> str:
    parts = (content.parts if content else None) or ()
    return "\n".join(part.text for part in parts if part.text and not part.thought).strip()


def _type(author: str | None) -> str:
    """The author, which is found again in the entry."""
    return author or "user"


def _entry(one: Found) -> MemoryEntry:
    author = one.record["type"]
    content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=one.text)])
    return MemoryEntry(id=one.id, content=content, author=author, timestamp=one.created_at)
