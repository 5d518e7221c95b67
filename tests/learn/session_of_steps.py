"""Makes stored observations out of hook events, as intake would."""

from __future__ import annotations

from typing import Any

from holdfast.core.model import Memory, Observation, Slot
from holdfast.intake.event.draft import compress


def step(seq: int, hook: str, data: dict[str, Any], *, session: str = "s1", project: str = "proj") -> Observation:
    made = compress(hook, data)
    return Observation(
        tenant="default",
        id=f"obs_{seq}",
        seq=seq,
        session_id=session,
        project=project,
        agent=None,
        at=1_000 + seq,
        stored_at=1_000 + seq,
        hook=hook,
        type=made.type,
        title=made.title,
        subtitle=made.subtitle,
        narrative=made.narrative,
        facts=made.facts,
        concepts=made.concepts,
        files=made.files,
        importance=made.importance,
        confidence=made.confidence,
        raw=data,
        content_hash=f"h{seq}",
    )


def asked(seq: int, text: str, **where: str) -> Observation:
    return step(seq, "prompt_submit", {"prompt": text}, **where)


def answered(seq: int, text: str, **where: str) -> Observation:
    return step(seq, "assistant_message", {"message": text}, **where)


def ran(seq: int, command: str, output: str = "", code: int = 0, **where: str) -> Observation:
    data = {
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_output": {"stdout": output, "exit_code": code},
    }
    return step(seq, "post_tool_use", data, **where)


def edited(seq: int, path: str, **where: str) -> Observation:
    data = {
        "tool_name": "Edit",
        "tool_input": {"file_path": path, "old_string": "a", "new_string": "b"},
        "tool_output": "ok",
    }
    return step(seq, "post_tool_use", data, **where)


def planned(seq: int, *items: tuple[str, str], **where: str) -> Observation:
    todos = [{"content": text, "status": status} for text, status in items]
    return step(
        seq,
        "post_tool_use",
        {"tool_name": "TodoWrite", "tool_input": {"todos": todos}, "tool_output": "ok"},
        **where,
    )


def slot(label: str, content: str = "", *, limit: int = 2_000, scope: str = "project", read_only: bool = False) -> Slot:
    return Slot(
        tenant="default",
        id=f"{scope}/{label}",
        seq=1,
        label=label,
        scope=scope,
        project=None,
        agent=None,
        content=content,
        description="",
        size_limit=limit,
        pinned=True,
        read_only=read_only,
        created_at=1,
        updated_at=1,
    )


def memory(seq: int, kind: str, content: str, *, latest: bool = True, strength: float = 7.0) -> Memory:
    return Memory(
        tenant="default",
        id=f"mem_{seq}",
        seq=seq,
        root=f"mem_{seq}",
        version=1,
        parent_id=None,
        supersedes=(),
        latest=latest,
        type=kind,
        title=content[:80],
        content=content,
        concepts=(),
        files=(),
        project="proj",
        agent=None,
        session_ids=(),
        source_ids=(),
        strength=strength,
        importance=3,
        created_at=1,
        updated_at=1,
        dated=False,
        valid_from=1,
        valid_to=None,
        forget_after=None,
        content_hash=f"m{seq}",
    )
