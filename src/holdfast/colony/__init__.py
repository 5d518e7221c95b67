"""The colony-memory API: versioned, verified, optionally signed and encrypted snapshots in an agent's Colony vault.

    from holdfast.colony import ColonyMemory, SnapshotNotFound

    memory = ColonyMemory(api_key="col_…")
    memory.backup({"MEMORY.md": text}, prune_keep=3)
    documents = memory.restore()

Format `colony-memory/1`, read and written by the colony-memory package as well. docs/colony.md describes both.
This package must not import the engine: documents come in as names and texts, and leave as such.
"""

from holdfast.colony.files import VaultBackend
from holdfast.colony.manifest import FORMAT, SnapshotInfo
from holdfast.colony.memory import ColonyMemory
from holdfast.colony.signature import Ed25519Signer
from holdfast.colony.survey import RefusedSnapshot
from holdfast.core.errors import (
    ColonyConflict,
    ColonyDamaged,
    ColonyInvalid,
    ColonyLocked,
    ColonyMemoryError,
    ColonyRateLimited,
    ColonyRefused,
    ColonyUnknown,
    ColonyUnreachable,
    ColonyUntrusted,
    QuotaExceeded,
    SnapshotNotFound,
)

__all__ = [
    "FORMAT",
    "ColonyConflict",
    "ColonyDamaged",
    "ColonyInvalid",
    "ColonyLocked",
    "ColonyMemory",
    "ColonyMemoryError",
    "ColonyRateLimited",
    "ColonyRefused",
    "ColonyUnknown",
    "ColonyUnreachable",
    "ColonyUntrusted",
    "Ed25519Signer",
    "QuotaExceeded",
    "RefusedSnapshot",
    "SnapshotInfo",
    "SnapshotNotFound",
    "VaultBackend",
]
