"""OpenAI Agents SDK: a Session that keeps the items of a conversation in their exact order.

session = HoldfastSession("thread-7", Holdfast("~/.holdfast"), user="ada")
await Runner.run(agent, "Hello", session=session)
"""

from __future__ import annotations

import asyncio
import warnings
from typing import Any, Literal

from agents.memory import SessionABC, SessionSettings

from holdfast.client import Holdfast
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Json

NAMESPACE = "openai-agents"
BATCH = 1_000


class HoldfastSession(SessionABC):
    """A session of the Agents SDK; the same id of two users are two sessions.

    Items come back as they were added, except for secrets in their texts, which are removed before anything is stored;
    a warning names their kinds. With secrets="refuse" such items are refused, and none of them is stored.
    """

    def __init__(
        self,
        session_id: str,
        memory: Holdfast,
        *,
        user: str,
        secrets: Literal["remove", "refuse"] = "remove",
        session_settings: SessionSettings | None = None,
    ):
        if not (session_id and user):
            raise InvalidRequest("session_id and user: both are required")
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._memory = memory
        self._namespace = [NAMESPACE, user, session_id]
        self._secrets = secrets

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The items in the order in which they were added; with a limit the last ones."""
        most = self.session_settings.limit if limit is None and self.session_settings else limit
        return await asyncio.to_thread(self._items, most)

    def _items(self, limit: int | None) -> list[Any]:
        """Read from the end: pages from the start would move while another process adds."""
        if limit is not None and limit <= 0:
            return []
        rows: list[Json] = []
        while limit is None or len(rows) < limit:
            size = BATCH if limit is None else min(BATCH, limit - len(rows))
            page = self._memory.call("items_list", namespace=self._namespace, last=True, limit=size, offset=len(rows))[
                "items"
            ]
            rows += page
            if len(page) < size:
                break
        return [row["value"] for row in reversed(rows)]

    async def add_items(self, items: list[Any]) -> None:
        """Add items after all others, together or not at all, up to 1,000 at once."""
        if items:
            await asyncio.to_thread(self._add, items)

    def _add(self, items: list[Any]) -> None:
        rows = [{"namespace": self._namespace, "value": dict(one), "text": ""} for one in items]
        answer = self._memory.call("items_put", items=rows, secrets=self._secrets)
        if kinds := answer.get("redacted"):
            warnings.warn(
                f"Holdfast removed secrets from items before storing them: {', '.join(kinds)}",
                UserWarning,
                stacklevel=2,
            )

    async def pop_item(self) -> Any | None:
        """Take the last item out; None if there is none."""
        item = (await asyncio.to_thread(self._memory.call, "items_pop", namespace=self._namespace))["item"]
        return item and item["value"]

    async def clear_session(self) -> None:
        """Remove all items of the session."""
        await asyncio.to_thread(self._memory.call, "items_clear", namespace=self._namespace)
