"""Exports of other memory systems as neutral values and a report. Nothing is stored here, and no file is opened."""

from __future__ import annotations

from holdfast.protocol.importers.basic_memory import read_basic_memory
from holdfast.protocol.importers.import_types import ImportedMemory, ImportResult, RefusedRecord, placed
from holdfast.protocol.importers.letta import read_letta
from holdfast.protocol.importers.markdown import read_markdown
from holdfast.protocol.importers.mem0 import read_mem0
from holdfast.protocol.importers.plugin import read_plugin

__all__ = [
    "ImportResult",
    "ImportedMemory",
    "RefusedRecord",
    "placed",
    "read_basic_memory",
    "read_letta",
    "read_markdown",
    "read_mem0",
    "read_plugin",
]
