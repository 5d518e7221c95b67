"""Records for tests that need no store."""

from __future__ import annotations

from typing import Any

from world import NOON

from holdfast.core.model import Lesson, Memory, Slot, Statement
from holdfast.recall.context.current_statements import CurrentStatement


def memory(content: str, **changes: Any) -> Memory:
    fields: dict[str, Any] = {
        "tenant": "default", "id": f"mem_{content[:20]}", "seq": 1, "root": "r", "version": 1, "parent_id": None,
        "supersedes": (), "latest": True, "type": "fact", "title": "", "content": content, "concepts": (), "files": (),
        "project": None, "agent": None, "session_ids": (), "source_ids": (), "strength": 7.0, "importance": 3,
        "created_at": NOON, "updated_at": NOON, "dated": False, "valid_from": NOON, "valid_to": None,
        "forget_after": None, "content_hash": "",
    }  # fmt: skip
    return Memory(**{**fields, **changes})


def lesson(content: str, context: str = "", confidence: float = 0.5) -> Lesson:
    return Lesson(
        tenant="default", id=f"lsn_{content[:20]}", seq=1, content=content, context=context, project=None, agent=None,
        confidence=confidence, reinforcements=0, source="", source_ids=(), tags=(), decay_rate=0.05, created_at=NOON,
        updated_at=NOON, last_reinforced_at=None, last_decayed_at=None, deleted=False,
    )  # fmt: skip


def slot(content: str, label: str = "persona") -> Slot:
    return Slot(
        tenant="default", id=label, seq=1, label=label, scope="global", project=None, agent=None, content=content,
        description="", size_limit=10**6, pinned=True, read_only=False, created_at=NOON, updated_at=NOON,
    )  # fmt: skip


def standing(text: str, doubtful: bool = False, newer: str = "", **changes: Any) -> CurrentStatement:
    fields: dict[str, Any] = {
        "tenant": "default", "id": f"stm_{text[:20]}", "seq": 1, "source_id": f"obs_{text[:20]}", "session_id": "s0",
        "project": "proj", "agent": None, "kind": "fact", "text": text, "worth": 0.9, "at": NOON,
    }  # fmt: skip
    since = "something newer" if doubtful or newer else ""
    return CurrentStatement(Statement(**{**fields, **changes}), since, newer, doubtful)
