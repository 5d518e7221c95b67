"""Snapshots planted in a vault in memory, as colony-memory writes them, and then changed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from colony_memory import snapshot as theirs
from mem_vault import MemVault

from holdfast.colony import Ed25519Signer

ME = Ed25519Signer(bytes(range(32)))
STRANGER = Ed25519Signer(bytes(32))
OLD, OLDER = "20260102T000000000000Z-aaaaaa", "20260101T000000000000Z-bbbbbb"


def noise(size: int, seed: int = 1) -> str:
    """Text that hardly compresses: hexadecimal digits shrink to half, and base64 takes a third of that back."""
    return random.Random(seed).randbytes(size // 2).hex()


def plant(vault: MemVault, documents: dict[str, str], id: str, label: str = "default", signer: Any = None) -> None:
    """Store a snapshot as colony-memory writes it, under an id of our choice, and let the pointer name it."""
    built = theirs.build(documents, label=label, snapshot_id=id, created_at="2026-01-01T00:00:00Z", signer=signer)
    vault.files.update(built.files)
    vault.files[theirs.latest_filename(label)] = json.dumps(
        {"format": "colony-memory/latest/1", "label": label, "snapshot_id": id}
    )
    vault.provisioned = True


def change(vault: MemVault, name: str, edit: Callable[[dict[str, Any]], None]) -> None:
    """Edit a stored JSON file."""
    fields = json.loads(vault.files[name])
    edit(fields)
    vault.files[name] = json.dumps(fields)
