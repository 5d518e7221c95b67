"""Learning without a model: extractive, deterministic, over stored observations. Its public names."""

from __future__ import annotations

from holdfast.learn.dictation import (
    SESSION_ANSWER_TOKENS,
    SESSION_INSTRUCTION,
    parse_llm_summary,
    session_text,
)
from holdfast.learn.findings import Finding, ProfileDigest, SessionDigest, SlotChange
from holdfast.learn.profile import profile
from holdfast.learn.recurrence import find_facts, find_procedures
from holdfast.learn.reflection import reflect
from holdfast.learn.session import crystallize, summarize_session

__all__ = [
    "SESSION_ANSWER_TOKENS",
    "SESSION_INSTRUCTION",
    "Finding",
    "ProfileDigest",
    "SessionDigest",
    "SlotChange",
    "crystallize",
    "find_facts",
    "find_procedures",
    "parse_llm_summary",
    "profile",
    "reflect",
    "session_text",
    "summarize_session",
]
