"""A vault in memory with the methods of the SDK's client, for what is about stored files and not about the network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from colony_sdk import ColonyNotFoundError, ColonyValidationError

QUOTA = 10 * 1024 * 1024
MOST_FILE = 1_000_000

# Called before each step with what is done and to which file; raising makes the step fail.
Hook = Callable[[str, str], None]


class MemVault:
    """Files by name, with the vault's limits: 10 MB, 1 MB a file, no quota until the first write."""

    def __init__(self, files: dict[str, str] | None = None, quota: int = QUOTA):
        self.files = dict(files or {})
        self.quota = quota
        self.provisioned = bool(files)
        self.hook: Hook = lambda doing, name: None
        self.done: list[tuple[str, str]] = []  # every upload and deletion, in order

    def vault_status(self) -> dict[str, Any]:
        self.hook("status", "")
        quota, used = (self.quota if self.provisioned else 0), self.used
        free = max(quota - used, 0)
        return {
            "quota_bytes": quota,
            "used_bytes": used,
            "available_bytes": free,
            "file_count": len(self.files),
        }

    def vault_list_files(self) -> dict[str, Any]:
        self.hook("list", "")
        items = [
            {"filename": name, "content_size": len(text.encode("utf-8", "replace"))}
            for name, text in sorted(self.files.items())
        ]
        return {"items": items, "total": len(items), "next_cursor": None}

    def vault_get_file(self, filename: str) -> dict[str, Any]:
        self.hook("get", filename)
        if filename not in self.files:
            raise _missing()
        return {"filename": filename, "content": self.files[filename]}

    def vault_upload_file(self, filename: str, content: str) -> dict[str, Any]:
        self.hook("put", filename)
        rest = self.used - len(self.files.get(filename, "").encode())
        if len(content.encode()) > MOST_FILE or rest + len(content.encode()) > self.quota:
            raise ColonyValidationError("full", status=400, response={}, code="QUOTA_EXCEEDED")
        self.done.append(("put", filename))
        self.provisioned = True
        self.files[filename] = content
        return {"filename": filename}

    def vault_delete_file(self, filename: str) -> dict[str, Any]:
        self.hook("delete", filename)
        if filename not in self.files:
            raise _missing()
        self.done.append(("delete", filename))
        del self.files[filename]
        return {}

    @property
    def used(self) -> int:
        return sum(len(text.encode()) for text in self.files.values())

    def names(self, part: str) -> list[str]:
        """The files whose name has that in it."""
        return sorted(name for name in self.files if part in name)

    def one(self, part: str) -> str:
        [name] = self.names(part)
        return name


def _missing() -> ColonyNotFoundError:
    return ColonyNotFoundError("no such file", status=404, response={}, code="NOT_FOUND")


def golden(name: str) -> tuple[MemVault, Path]:
    """The vault of a golden case, and its folder."""
    folder = Path(__file__).parent / "golden" / name
    files = {path.name: path.read_text(encoding="utf-8") for path in (folder / "vault").iterdir()}
    return MemVault(files), folder
