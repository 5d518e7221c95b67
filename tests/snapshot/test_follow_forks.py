"""Two hosts that write the same journal: both notice it, nothing is merged by itself, and one command merges it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from follow_steps import HOUR, Copy
from journal_steps import Journaled
from world import World

from holdfast.snapshot.journal.journal_queue import journal_folder, read_note
from holdfast.snapshot.journal.journal_writer import JournalWriter
from holdfast.snapshot.journal.other_lines import LineWatch, OtherLine

pytestmark = pytest.mark.embedded  # on PostgreSQL there is no journal


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Journaled]:
    with closing(Journaled(tmp_path / "home", tmp_path / "vault")) as world:
        world.remember("Shared fact.")
        world.piece()
        yield world


@pytest.fixture
def copy(home: Journaled, tmp_path: Path) -> Iterator[Copy]:
    with closing(Copy(tmp_path / "copy", tmp_path / "vault")) as world:
        world.look()
        yield world


def others(world: World) -> list[OtherLine]:
    """What the server of this host notices."""
    context = world.context()
    folder = journal_folder(world.engine.folder.home, "default", "default")
    snapshots = __import__("holdfast.snapshot.repo.context", fromlist=["x"]).snapshot_context(context)
    changes = world.engine.store.change_log()
    assert changes is not None
    place = changes.place("default")
    assert place is not None
    watch = LineWatch(snapshots, folder, JournalWriter(snapshots).host)
    return watch.look(snapshots.vault(world.engine.settings.vault), place.line, read_note(folder).after)


def test_the_old_host_and_the_new_one_notice_each_other(home: Journaled, copy: Copy) -> None:
    assert others(home) == []
    copy.clock.now = home.clock.now + HOUR
    copy.call("promote")
    copy.call("remember", content="Written after the promotion.")
    copy.piece()
    assert [one.host for one in others(home)] == [JournalWriter(copy.snapshots()).host]
    assert others(copy) == []

    home.remember("Written by the old host.")
    home.piece()
    assert [one.line for one in others(copy)] == [home.line]


def test_what_the_old_host_wrote_is_merged_by_the_command_of_the_notice(home: Journaled, copy: Copy) -> None:
    copy.clock.now = home.clock.now + HOUR
    copy.call("promote")
    copy.call("remember", content="Written after the promotion.")
    copy.piece()
    home.remember("Written by the old host.")
    home.piece()
    assert "Written by the old host." not in copy.texts()

    notice = others(copy)[0].command(copy.engine.settings.vault).split()
    assert notice[:3] == ["holdfast", "snapshot", "merge"]
    copy.clock.now = max(copy.clock.now, home.clock.now) + 1
    copy.call("snapshot_merge", a=notice[3], b=notice[4], **{"from": notice[6]}, yes=True)
    assert copy.texts() == {"Shared fact.", "Written after the promotion.", "Written by the old host."}
    copy.piece()
    assert others(copy) == []

    home.remember("And once more.")
    home.piece()
    assert [one.line for one in others(copy)] == [home.line]


def test_a_host_that_took_over_without_the_vault_notices_what_it_lacks(
    home: Journaled, copy: Copy, tmp_path: Path
) -> None:
    home.remember("Not copied in time.")
    home.piece()
    (tmp_path / "vault").rename(tmp_path / "away")
    copy.call("promote", yes=True)
    (tmp_path / "away").rename(tmp_path / "vault")
    copy.piece()
    assert [one.line for one in others(copy)] == [home.line]


def test_two_copies_that_take_over_at_once_notice_each_other(home: Journaled, copy: Copy, tmp_path: Path) -> None:
    with closing(Copy(tmp_path / "other", tmp_path / "vault", 900_000)) as other:
        other.look()
        for one in (copy, other):
            one.clock.now = home.clock.now + HOUR
            one.call("promote")
        for number, one in enumerate((copy, other)):
            one.call("remember", content=f"Written by number {number}.")
            one.piece()
        assert len(others(copy)) == len(others(other)) == 1
        assert len(others(home)) == 2


def test_a_clock_that_is_behind_hides_no_other_host(home: Journaled, copy: Copy) -> None:
    copy.clock.now = home.clock.now - 24 * HOUR
    copy.call("promote", yes=True)
    copy.call("remember", content="Written in the past.")
    copy.piece()
    home.remember("Written by the old host.")
    home.piece()
    assert len(others(home)) == 1
    assert len(others(copy)) == 1


def test_two_hosts_restored_from_the_same_vault_notice_each_other(home: Journaled, tmp_path: Path) -> None:
    home.close()
    with (
        closing(Journaled(tmp_path / "one", tmp_path / "vault", 100_000)) as one,
        closing(Journaled(tmp_path / "two", tmp_path / "vault", 200_000)) as two,
    ):
        for number, world in enumerate((one, two)):
            world.clock.now = home.clock.now + HOUR
            world.remember(f"Written by number {number}.")
            world.piece()
        assert len(others(one)) == len(others(two)) == 1
        assert "Written by number 0." not in two.texts()
