"""Whatever two hosts do, in whatever order: the copy is at every moment what the other host was at one, never goes back,
and in the end has everything."""

from __future__ import annotations

import shutil
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from engines import forget_stores
from follow_steps import HOUR, Copy
from hypothesis import given, settings, strategies as st
from journal_steps import Journaled

from holdfast.core.errors import Fault
from holdfast.snapshot.journal import journal_compaction
from holdfast.snapshot.journal.journal_writer import JournalWriter

pytestmark = pytest.mark.embedded  # on PostgreSQL there is no journal

STEPS = (
    "write",
    "write",
    "forget",
    "cut",
    "send",
    "look",
    "look",
    "restart copy",
    "restart home",
    "snapshot",
    "put together",
    "expire",
    "restore",
    "vault away",
)


class Pair:
    """Two hosts and their vault. Every state that the journal could have had is remembered."""

    def __init__(self, folder: Path, stack: ExitStack):
        self.folder = folder
        self.home = Journaled(folder / "home", folder / "vault")
        stack.callback(lambda: self.home.close())
        self.home.remember("The first fact.")
        self.home.piece()
        self.copy = Copy(folder / "copy", folder / "vault")
        stack.callback(lambda: self.copy.close())
        self.seen = {frozenset(self.home.texts())}
        self.count = 0

    def step(self, kind: str, chance: int) -> None:
        getattr(self, f"_{kind.replace(' ', '_')}")(chance)
        assert frozenset(self.copy.texts()) in self.seen, kind

    def _write(self, chance: int) -> None:
        self.count += 1
        self.home.remember(f"Fact {self.count}.")
        self.seen.add(frozenset(self.home.texts()))

    def _forget(self, chance: int) -> None:
        found = self.home.call("memories", limit=1_000)["memories"]
        if found:
            self.home.call("forget", memoryId=found[chance % len(found)]["id"])
            self.seen.add(frozenset(self.home.texts()))

    def _cut(self, chance: int) -> None:
        self.home.cut()

    def _send(self, chance: int) -> None:
        self.home.send()

    def _look(self, chance: int) -> None:
        before = self.copy.place
        self.copy.look(max(self.home.clock.now, self.copy.clock.now + HOUR))
        after = self.copy.place
        assert after.line >= before.line
        assert after.line != before.line or after.number >= before.number

    def _restart_copy(self, chance: int) -> None:
        self.copy.restart()

    def _restart_home(self, chance: int) -> None:
        now = self.home.clock.now
        self.home.close()
        self.home = Journaled(self.folder / "home", self.folder / "vault", 10_000 + 100 * now % 7_919)
        self.home.clock.now = now + 1_000

    def _snapshot(self, chance: int) -> None:
        self.home.snapshot()
        self.home.call("vault_sync")

    def _put_together(self, chance: int) -> None:
        if self.home.changes.place("default") is not None:  # after a restore no line was begun yet
            self.home.compaction().put_together(self.home.line)

    def _expire(self, chance: int) -> None:
        if self.home.changes.place("default") is not None:
            self.home.compaction().expire(self.home.line, self.home.clock.now, self.home.clock.now)

    def _restore(self, chance: int) -> None:
        with suppress(Fault):  # there may be no snapshot yet
            self.home.clock.now += 1_000
            self.home.call("snapshot_restore", id="latest", yes=True)
        self.home.journal = JournalWriter(self.home.snapshots())
        self.seen.add(frozenset(self.home.texts()))

    def _vault_away(self, chance: int) -> None:
        (self.folder / "vault").rename(self.folder / "away")
        with suppress(Fault):
            self.copy.look()
        with suppress(Fault):
            self.home.send()
        shutil.rmtree(self.folder / "vault", ignore_errors=True)
        (self.folder / "away").rename(self.folder / "vault")

    def settle(self) -> None:
        self.home.remember("The last fact.")  # with which a piece is noticed that went to a disk below the vault's
        for _ in range(3):  # a line may have to begin anew first
            self.home.piece()
            with suppress(Fault):
                self.copy.look(max(self.home.clock.now, self.copy.clock.now + HOUR))
        assert self.copy.texts() == self.home.texts()
        assert self.copy.rows() == self.home.engine.store.read().sizes()
        assert self.copy.engine.own_store.verify() == []
        for text in self.home.texts():
            assert text in {one["content"] for one in self.copy.call("search", query=text, limit=100)["results"]}


@settings(max_examples=25)
@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 9)), min_size=5, max_size=25))
def test_a_copy_is_always_a_moment_of_the_other_host(
    tmp_path_factory,
    steps: list[tuple[str, int]],  # type: ignore[no-untyped-def]
) -> None:
    folder = tmp_path_factory.mktemp("pair")
    journal_compaction.TOGETHER = 3
    try:
        with ExitStack() as stack:
            pair = Pair(folder, stack)
            for kind, chance in steps:
                with suppress(Fault) if kind == "look" else ExitStack():
                    pair.step(kind, chance)
            pair.settle()
    finally:
        journal_compaction.TOGETHER = 64
        forget_stores(folder)
        shutil.rmtree(folder)
