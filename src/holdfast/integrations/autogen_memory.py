"""AutoGen: a Memory that keeps texts of one user and puts what is relevant into the model's context.

agent = AssistantAgent("helper", model_client=client, memory=[HoldfastMemory(Holdfast("~/.holdfast"), user="ada")])
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from autogen_core import CancellationToken
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import UserMessage

from holdfast.client import Holdfast
from holdfast.core.errors import InvalidRequest
from holdfast.user_memory import Found, UserMemory, reference_block

TEXTS = {one.value for one in (MemoryMimeType.TEXT, MemoryMimeType.MARKDOWN, MemoryMimeType.JSON)}


class HoldfastMemory(Memory):
    """Memories of one user. `close` leaves the client open: whoever made it closes it."""

    def __init__(
        self,
        memory: Holdfast,
        *,
        user: str,
        project: str | None = None,
        limit: int = 8,
        tokens: int = 800,
        min_confidence: float | None = None,
    ):
        self._user = UserMemory(memory, user, project)
        self._limit = limit
        self._tokens = tokens
        self._min_confidence = min_confidence

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        if content.metadata:
            raise InvalidRequest("metadata is not supported", hint="Leave it out; only texts are kept.")
        await asyncio.to_thread(self._user.keep, _text(content))

    async def query(
        self, query: str | MemoryContent, cancellation_token: CancellationToken | None = None, **kwargs: Any
    ) -> MemoryQueryResult:
        if kwargs:
            raise InvalidRequest(f"query: unknown arguments {', '.join(sorted(kwargs))}")
        return MemoryQueryResult(results=[_content(one) for one in await self._found(query)])

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add the memories that the last message asks for, unless the context has them already."""
        messages = await model_context.get_messages()
        said = [one.content for one in messages if isinstance(one.content, str)]
        found = await self._found(said[-1]) if said else []
        fresh = [one for one in found if not any(one.text in text for text in said)]
        if block := reference_block(fresh, self._tokens):
            await model_context.add_message(UserMessage(content=block, source="memory"))
        return UpdateContextResult(memories=MemoryQueryResult(results=[_content(one) for one in fresh]))

    async def _found(self, query: str | MemoryContent) -> list[Found]:
        words = query if isinstance(query, str) else _text(query)
        return await asyncio.to_thread(self._user.find, words, self._limit, min_confidence=self._min_confidence)

    async def clear(self) -> None:
        await asyncio.to_thread(self._user.clear)

    async def close(self) -> None:
        """Nothing to do."""


def _text(content: MemoryContent) -> str:
    if getattr(content.mime_type, "value", content.mime_type) not in TEXTS or isinstance(content.content, bytes):
        raise InvalidRequest("content: only text, Markdown and JSON can be kept")
    return content.content if isinstance(content.content, str) else json.dumps(content.content, ensure_ascii=False)


def _content(one: Found) -> MemoryContent:
    about = {"id": one.id, "score": one.score, "created_at": one.created_at}
    return MemoryContent(content=one.text, mime_type=MemoryMimeType.TEXT, metadata=about)
