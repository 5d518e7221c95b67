"""LlamaIndex: a memory block that keeps and recalls what was said, and a retriever.

block = HoldfastMemoryBlock(memory=Holdfast("~/.holdfast"), user="ada")
memory = Memory.from_defaults(session_id="thread-7", memory_blocks=[block])
"""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import Field

from holdfast.client import Holdfast
from holdfast.user_memory import UserMemory, reference_block

_SESSION = "session_id"  # where LlamaIndex notes the session of a message


class HoldfastMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory of one user: messages that leave the short-term memory are kept, and found again later."""

    name: str = "holdfast"
    description: str | None = "What the user said in earlier conversations."
    priority: int = 1
    memory: Holdfast = Field(exclude=True)
    user: str = Field(min_length=1)
    project: str | None = None
    limit: int = Field(default=8, ge=1, le=100)
    tokens: int = Field(default=800, ge=50)
    min_confidence: float = Field(default=0.1, ge=0, le=1)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        """Memories that the last message asks for, as a block that no stored text can leave."""
        asked = next((one.content for one in reversed(messages or []) if one.role == "user" and one.content), "")
        return await asyncio.to_thread(self._block, asked, [one.content for one in messages or []])

    def _block(self, query: str, said: list[str | None]) -> str:
        found = self._of_user().find(query, self.limit, min_confidence=self.min_confidence)
        return reference_block([one for one in found if one.text not in said], self.tokens)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await asyncio.to_thread(self._keep, messages)

    def _keep(self, messages: list[ChatMessage]) -> None:
        for one in messages:
            if one.content and one.content.strip():
                session = one.additional_kwargs.get(_SESSION)
                self._of_user().within(session=session).keep(one.content, type=f"{one.role.value} message")

    def _of_user(self) -> UserMemory:
        return UserMemory(self.memory, self.user, self.project)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """A part of the block would not be a block, so it goes as a whole."""
        return None


class HoldfastRetriever(BaseRetriever):
    """The memories of a user as nodes, best first."""

    def __init__(self, memory: Holdfast, *, user: str, project: str | None = None, limit: int = 5, **more: Any):
        super().__init__(**more)
        self._found_by = UserMemory(memory, user, project)
        self._limit = limit

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._found_by.find(query_bundle.query_str, self._limit)
        return [
            NodeWithScore(
                node=TextNode(id_=one.id, text=one.text, metadata={"created_at": one.created_at}), score=one.score
            )
            for one in found
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
