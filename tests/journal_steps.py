"""A memory whose journal is written step by step: each second of its clock is one piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from world import World

from holdfast.core.ports import Vault
from holdfast.snapshot.create import CreateOptions, create
from holdfast.snapshot.journal.journal_compaction import JournalCompaction
from holdfast.snapshot.journal.journal_writer import JournalWriter
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.store.journal.journal_port import ChangeLog

SECOND = 1_000


class Journaled(World):
    """A world with a vault, and the steps that the threads of a server take."""

    def __init__(self, home: Path, vault: Path | str, chance: int = 0, **overrides: Any):
        if isinstance(vault, Path):
            vault.mkdir(exist_ok=True)
        super().__init__(home, chance, vault=str(vault), **overrides)
        self.journal = JournalWriter(self.snapshots())

    def snapshots(self) -> SnapshotContext:
        return snapshot_context(self.context())

    @property
    def changes(self) -> ChangeLog:
        found = self.engine.store.change_log()
        assert found is not None
        return found

    @property
    def vault(self) -> Vault:
        return self.snapshots().vault(self.engine.settings.vault)

    def cut(self) -> bool:
        self.clock.now += SECOND
        return self.journal.cut(self.changes, wrote=self.engine.journal.wrote)

    def send(self) -> bool:
        return self.journal.send(self.vault, self.changes)

    def piece(self) -> int:
        """What was written until now is in the vault; the moment of that."""
        while self.cut():
            if self.journal.complete_now:
                break
        while self.send():
            pass
        return self.clock.now

    def remember(self, text: str) -> str:
        return str(self.call("remember", content=text)["memory"]["id"])

    def snapshot(self) -> str:
        self.clock.now += SECOND
        return create(self.snapshots(), CreateOptions()).id

    def compaction(self) -> JournalCompaction:
        context = self.snapshots()
        return JournalCompaction(self.vault, context.repo, context.tenant, context.agent, self.journal.host)

    @property
    def line(self) -> str:
        place = self.changes.place("default")
        assert place is not None
        return place.line

    def texts(self) -> set[str]:
        return {one["content"] for one in self.call("memories", limit=1_000)["memories"]}

    def texts_at(self, moment: int | str) -> set[str]:
        """What a search in the memory of that moment finds."""
        found = self.call("search", query="fact", at=moment, limit=100)
        return {one["content"] for one in found["results"]}

    def close(self) -> None:
        self.engine.close()


def journal_objects(vault: Path) -> list[Path]:
    """The journal in a vault, in the order of its pieces."""
    return sorted(path for path in vault.glob("*/*/journal/*/*") if path.is_file())
