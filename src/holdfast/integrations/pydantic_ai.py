"""Pydantic AI: a toolset with which an agent saves, finds and forgets what one user told it.

agent = Agent("openai:gpt-5", toolsets=[memory_toolset(Holdfast("~/.holdfast"), user="ada")])
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import ModelRetry
from pydantic_ai.toolsets import FunctionToolset

from holdfast.client import Holdfast
from holdfast.core.errors import InvalidRequest
from holdfast.user_memory import UserMemory, reference_block


def memory_toolset(
    memory: Holdfast, *, user: str, project: str | None = None, tokens: int = 1_000
) -> FunctionToolset[Any]:
    """The tools memory_save, memory_recall and memory_forget, bound to one user: a model cannot name another."""
    tools = _MemoryTools(UserMemory(memory, user, project), tokens)
    return FunctionToolset([tools.memory_save, tools.memory_recall, tools.memory_forget], id="holdfast")


class _MemoryTools:
    def __init__(self, memory: UserMemory, tokens: int):
        self._memory = memory
        self._tokens = tokens

    def memory_save(self, content: str) -> str:
        """Save a fact, decision or preference of the user for later conversations.

        Args:
            content: One fact in a full sentence.
        """
        try:
            return f"Saved as {self._memory.keep(content)['id']}."
        except InvalidRequest as fault:
            raise ModelRetry(fault.message) from fault

    def memory_recall(self, query: str, limit: int = 8) -> str:
        """Find what the user said in earlier conversations.

        Args:
            query: Words that you expect in the answer.
            limit: At most so many memories.
        """
        found = self._memory.find(query, min(max(limit, 1), 100))
        ids = "".join(f"\n{at}. {one.id}" for at, one in enumerate(found, 1))
        block = reference_block(found, self._tokens)
        return f"{block}\nIds in this order, for memory_forget:{ids}" if block else "Nothing was found."

    def memory_forget(self, memory_id: str) -> str:
        """Remove a memory for good, if the user asks for it.

        Args:
            memory_id: The id that memory_recall named.
        """
        if not self._memory.forget(memory_id):
            raise ModelRetry("This user has no memory with that id. Call memory_recall for the ids.")
        return "Forgotten."
