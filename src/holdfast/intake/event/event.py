"""An agent's event once it is clean."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.core.model import CleanText, Json


@dataclass(frozen=True, slots=True)
class CleanEvent:
    """What a hook, a tool or a transcript reported. `key` is given by imports: the id it must have. One that is
    not `dated` happened about then."""

    session_id: CleanText
    hook: CleanText
    data: Json
    at: int
    project: CleanText
    cwd: CleanText
    agent: CleanText | None = None
    type: CleanText | None = None
    title: CleanText | None = None
    key: str | None = None
    dated: bool = True
