"""Backup and restore of 20 MB of text beside colony-memory 0.1.1, in the same run and against the same vault in memory.

    python bench/colony.py [--quick]

Prints a table and, unless --quick, writes docs/benchmarks/colony.md.
"""

from __future__ import annotations

import argparse
import random
import string
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import colony_memory

from holdfast.colony import ColonyMemory

ROOT = Path(__file__).parent.parent
SIZE = 20_000_000
DOCUMENT = 6_400


class Vault:
    """A vault in memory without a limit; it costs both sides the same, and nearly nothing."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def vault_status(self) -> dict[str, Any]:
        return {"quota_bytes": 10**9, "used_bytes": 0, "available_bytes": 10**9, "file_count": len(self.files)}

    def vault_list_files(self) -> dict[str, Any]:
        return {"items": [{"filename": name, "content_size": len(text)} for name, text in self.files.items()]}

    def vault_get_file(self, filename: str) -> dict[str, Any]:
        return {"content": self.files[filename]}

    def vault_upload_file(self, filename: str, content: str) -> dict[str, Any]:
        self.files[filename] = content
        return {}

    def vault_delete_file(self, filename: str) -> dict[str, Any]:
        del self.files[filename]
        return {}


def drawn_words() -> dict[str, str]:
    """Words of a made-up language, as often as Zipf's law says."""
    chance = random.Random(5)
    words = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 10))) for _ in range(30_000)]
    often = [1 / rank for rank in range(1, len(words) + 1)]
    documents: dict[str, str] = {}
    size = 0
    while size < SIZE:
        text = " ".join(chance.choices(words, often, k=DOCUMENT // 6))
        documents[f"notes/{len(documents)}.md"] = text
        size += len(text)
    return documents


def library() -> dict[str, str]:
    """The source of Python's own library: what every machine has of texts by people."""
    documents: dict[str, str] = {}
    size = 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" in path.parts or size >= SIZE:
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        documents[str(len(documents))] = text
        size += len(text)
    return documents


@dataclass
class Side:
    """The best of several rounds, in seconds of processor time."""

    memory: Any
    vault: Vault
    backup: float = float("inf")
    restore: float = float("inf")
    stored: int = 0
    restored: dict[str, str] = field(default_factory=dict)

    def round(self, documents: dict[str, str]) -> None:
        self.vault.files.clear()
        self.backup = min(self.backup, _busy(lambda: self.memory.backup(documents)))
        self.stored = sum(map(len, self.vault.files.values()))
        self.restore = min(self.restore, _busy(self._restore))

    def _restore(self) -> None:
        self.restored = self.memory.restore()


def _busy(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def measure(documents: dict[str, str], rounds: int) -> tuple[Side, Side]:
    vaults = Vault(), Vault()
    ours, theirs = (
        Side(ColonyMemory(backend=vaults[0]), vaults[0]),
        Side(colony_memory.ColonyMemory(backend=vaults[1]), vaults[1]),
    )
    for _ in range(rounds):
        for side in (theirs, ours):
            side.round(documents)
    assert ours.restored == theirs.restored == documents
    return ours, theirs


HEAD = """# Colony snapshots

Written by `python bench/colony.py`. Holdfast beside colony-memory 0.1.1 in one process, in turns, against the same
vault in memory; processor time, the best of {rounds} rounds on a machine that did other work as well. Words are drawn
by Zipf's law; the library is the source of Python's own. The bytes are the same by promise, so that either side can stand
in for the other; the goals are a backup and a restore in no more time.

Where the time goes: gzip at level 9 is nine tenths of a backup, and the same for both. zlib-ng at level {level} took half the
time at 1.007 of the bytes and was used until the bytes had to be the same; encrypted snapshots, which colony-memory does
not read, still are packed by it. Unpacking is two thirds of a restore, and zlib-ng does it. JSON is written and read by
orjson.

"""
COLUMNS = ("text", "MB", "backup, ms", "theirs", "ratio", "stored bytes, ratio", "restore, ms", "theirs", "ratio")


def row(name: str, documents: dict[str, str], rounds: int) -> str:
    ours, theirs = measure(documents, rounds)
    cells = (
        name,
        f"{sum(map(len, documents.values())) / 1e6:.1f}",
        f"{ours.backup * 1000:.0f}",
        f"{theirs.backup * 1000:.0f}",
        f"{ours.backup / theirs.backup:.2f}",
        f"{ours.stored / theirs.stored:.4f}",
        f"{ours.restore * 1000:.0f}",
        f"{theirs.restore * 1000:.0f}",
        f"{ours.restore / theirs.restore:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--quick", action="store_true")
    options = reader.parse_args()
    from holdfast.colony.payload import LEVEL

    rounds = 2 if options.quick else 7
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    print("\n".join(lines))
    for name, made in (("words", drawn_words), ("library", library)):
        lines.append(row(name, made(), rounds))
        print(lines[-1], flush=True)
    if not options.quick:
        page = ROOT / "docs" / "benchmarks" / "colony.md"
        page.write_text(HEAD.format(rounds=rounds, level=LEVEL) + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
