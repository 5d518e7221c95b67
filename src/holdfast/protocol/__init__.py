"""The memory protocol: addresses, chats, scopes, who sees what, how memories age, and their texts. Pure throughout."""

from __future__ import annotations

from holdfast.protocol.address import MemoryURI
from holdfast.protocol.ids import build_session_id, build_user_id
from holdfast.protocol.injection import format_memory_for_injection
from holdfast.protocol.memory_list import format_memory_for_user
from holdfast.protocol.metadata import MemoryMetadata
from holdfast.protocol.origin import UMOInfo
from holdfast.protocol.terms import (
    MemoryDomain,
    MemoryScope,
    MemoryType,
    MemoryVisibility,
    normalize_memory_scope,
    normalize_visibility,
)
from holdfast.protocol.text import format_memory_content

__all__ = [
    "MemoryDomain",
    "MemoryMetadata",
    "MemoryScope",
    "MemoryType",
    "MemoryURI",
    "MemoryVisibility",
    "UMOInfo",
    "build_session_id",
    "build_user_id",
    "format_memory_content",
    "format_memory_for_injection",
    "format_memory_for_user",
    "normalize_memory_scope",
    "normalize_visibility",
]
