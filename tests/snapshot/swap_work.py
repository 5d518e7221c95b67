"""The exchange of a folder as a program: whoever breaks it at a system call sees what it leaves."""

from __future__ import annotations

from pathlib import Path

from holdfast.snapshot.sources import swap
from holdfast.snapshot.sources.swap import FolderSwap, finish_pending, intend


def main(words: list[str]) -> int:
    home, live, staged, kept = map(Path, words[:4])
    if words[4] == "in two steps":
        swap._rename_exchange = lambda one, other: False
    intend(home, "goal", [FolderSwap(live, staged, kept)])
    finish_pending(home)
    return 0
