"""A copy that follows a journal step by step, as the thread of a server does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from world import CountingEntropy, StillClock, World, settings

from holdfast.engine import Engine
from holdfast.snapshot.follow.follow_start import begin_following
from holdfast.snapshot.follow.follower import Follower
from holdfast.snapshot.journal.journal_writer import JournalWriter
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.store.journal.journal_port import JournalPlace

HOUR = 3_600_000


class Copy(World):
    """A data folder that follows a vault; once it took over, also the steps of its own journal."""

    def __init__(self, home: Path, vault: Path | str, chance: int = 500_000, now: int = 0, **overrides: Any):
        begin_following(settings(home, **overrides), StillClock(), CountingEntropy(chance), str(vault))
        self.open_again(home, chance, **overrides)
        self.clock.now = now or self.clock.now

    def open_again(self, home: Path, chance: int, **overrides: Any) -> None:
        """Open the folder as it is, whether it follows or took over."""
        World.__init__(self, home, chance, **overrides)
        self.overrides = overrides
        self.chance = chance
        self._follower: tuple[Engine, Follower] | None = None

    def snapshots(self) -> SnapshotContext:
        return snapshot_context(self.context())

    @property
    def follower(self) -> Follower:
        if self._follower is None or self._follower[0] is not self.engine:
            note, progress = self.engine.following, self.engine.follow
            assert note is not None
            assert progress is not None
            self._follower = self.engine, Follower(self.snapshots(), note, progress)
        return self._follower[1]

    def look(self, at: int = 0) -> bool:
        """What the thread does every half second; all that the vault has is listed each time."""
        self.clock.now = max(self.clock.now + 1_000, at)
        self.follower.list_next()
        return self.follower.look()

    @property
    def place(self) -> JournalPlace:
        changes = self.engine.own_store.change_log()
        assert changes is not None
        found = changes.followed("default")
        assert found is not None
        return found

    def restart(self) -> None:
        """Another process opens the folder."""
        now, home = self.clock.now, self.engine.folder.home
        self.engine.close()
        self.open_again(home, self.chance + 10_000, **self.overrides)
        self.clock.now = now

    def texts(self) -> set[str]:
        return {one["content"] for one in self.call("memories", limit=1_000)["memories"]}

    def rows(self) -> dict[str, int]:
        """How many records each table has."""
        return self.engine.store.read().sizes()

    # Once it took over

    def piece(self) -> None:
        """What was written until now is in the vault."""
        changes = self.engine.store.change_log()
        assert changes is not None
        context = self.snapshots()
        writer, vault = JournalWriter(context), context.vault(self.engine.settings.vault)
        self.clock.now += 1_000
        while writer.cut(changes) and not writer.complete_now:
            pass
        while writer.send(vault, changes):
            pass
