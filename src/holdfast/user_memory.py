"""What one user told an application, kept apart from what all others told it.

Each user has a private chat of the platform, so the access rules of chats hold: another user sees nothing of it, and an
agent that asks without a user does not either. What is saved for all chats is found by every user.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.client import Holdfast
from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.core.model import Json
from holdfast.core.session_keys import key_of
from holdfast.protocol.injection import format_memory_for_injection

PLATFORM = "app"
CHARS_PER_TOKEN = 4
PAGE = 500


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that answers a question."""

    id: str
    text: str
    score: float
    confidence: float  # the probability that it answers
    created_at: str
    record: Json


def check_user(user: str) -> None:
    """Refuse a user who cannot be told from others.

    Raises:
        InvalidRequest: there is no name.
    """
    if not isinstance(user, str) or not user.strip():
        raise InvalidRequest("user: a name or id is required", hint="Each user has memories of their own.")


@dataclass(frozen=True)
class UserMemory:
    """The memories of a user, or only those of a project or of a session."""

    memory: Holdfast
    user: str
    project: str | None = None
    session: str | None = None
    platform: str = PLATFORM

    def __post_init__(self) -> None:
        check_user(self.user)

    @property
    def _who(self) -> Json:
        return {"umo": f"{self.platform}:private:{self.user}", "sender_id": self.user}

    @property
    def _where(self) -> Json:
        return {"project": self.project, "session_id": self.session}

    def within(self, *, project: str | None = None, session: str | None = None) -> UserMemory:
        """The same user's memories of a project or session."""
        return dataclasses.replace(self, project=project or self.project, session=session or self.session)

    def keep(self, text: str, *, key: Sequence[str] = (), **details: Any) -> Json:
        """Keep a text; with a key, whatever lay there becomes an earlier version of it."""
        uri = f"user://{key_of(self.platform, self.user, *key)}" if key else None
        return self.memory.remember(text, **self._who, **self._where, uri=uri, **details)

    def find(self, query: str, limit: int = 10, *, min_confidence: float | None = None) -> list[Found]:
        """The memories that answer a question, best first; none for an empty one."""
        if not query.strip():
            return []
        hits = self.memory.search(
            query, kind="memory", limit=limit, min_confidence=min_confidence, **self._who, **self._where
        )
        return [_found(one) for one in hits]

    def each(self) -> Iterator[Json]:
        """All memories of the user that are kept here, without those of everybody, newest first."""
        offset = 0
        while page := self._page(offset):
            offset += len(page)
            yield from (one for one in page if self.user in one.get("owners", ()))

    def _page(self, offset: int) -> list[Json]:
        rows: list[Json] = self.memory.call("memories", limit=PAGE, offset=offset, **self._who, **self._where)[
            "memories"
        ]
        return rows

    def forget(self, memory_id: str) -> bool:
        """Remove a memory for good; whether the user had it."""
        try:
            return self.memory.forget(memory_id, **self._who) > 0
        except NotFound:
            return False

    def clear(self) -> int:
        """Remove all memories of the user that are kept here; how many there were."""
        return sum(self.forget(id) for id in [one["id"] for one in self.each()])


def reference_block(found: Sequence[Found], tokens: int) -> str:
    """The memories as a block for a language model that no stored text can leave; empty if there is nothing to show."""
    shown = [_injected(one) for one in found]
    return format_memory_for_injection(shown, tokens * CHARS_PER_TOKEN, max_tokens=tokens, offers_recall=False)


def _found(hit: Json) -> Found:
    record = hit["observation"]
    return Found(hit["id"], record["content"], hit["score"], hit["confidence"], record["createdAt"], record)


def _injected(one: Found) -> Json:
    record = one.record
    about = {
        "memory_scope": record["scope"],
        "visibility": record.get("visibility", "group"),
        "domain": record.get("domain") or record["type"],
        "created_at": one.created_at,
    }
    return {"content": one.text, "metadata": about}
