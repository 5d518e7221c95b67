"""LangChain: a retriever that finds the memories of one user.

retriever = HoldfastRetriever(memory=Holdfast("~/.holdfast"), user="ada")
documents = retriever.invoke("which editor does she use?")
"""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from holdfast.client import Holdfast
from holdfast.user_memory import Found, UserMemory


class HoldfastRetriever(BaseRetriever):
    """The memories of a user as documents, best first; asynchronous calls run in a thread."""

    memory: Holdfast = Field(exclude=True)
    user: str = Field(min_length=1)
    project: str | None = None
    k: int = Field(default=5, ge=1, le=100)
    min_confidence: float | None = Field(default=None, ge=0, le=1)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **_: Any
    ) -> list[Document]:
        found = UserMemory(self.memory, self.user, self.project).find(query, self.k, min_confidence=self.min_confidence)
        return [_document(one) for one in found]


def _document(one: Found) -> Document:
    about = {"type": one.record["type"], "created_at": one.created_at, "score": one.score, "confidence": one.confidence}
    return Document(one.text, id=one.id, metadata=about)
