"""What lies in the vault of a journal is kept small, and nothing goes that a moment still needs."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from harm import flip_bit
from journal_steps import Journaled, journal_objects

from holdfast.core.errors import NotFound, SnapshotDamaged, VaultRefused
from holdfast.core.times import iso
from holdfast.snapshot.journal import journal_compaction
from holdfast.vault.wrapper import VaultWrapper

pytestmark = pytest.mark.embedded  # on PostgreSQL there is no journal

DAY = 86_400_000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journaled:
    monkeypatch.setattr(journal_compaction, "TOGETHER", 4)
    return Journaled(tmp_path / "home", tmp_path / "vault")


def written(home: Journaled, first: int, last: int) -> list[int]:
    moments = []
    for number in range(first, last):
        home.remember(f"Fact {number}.")
        moments.append(home.piece())
    return moments


def names(tmp_path: Path) -> list[str]:
    return [one.name for one in journal_objects(tmp_path / "vault")]


def facts(count: int) -> set[str]:
    return {f"Fact {number}." for number in range(count)}


def test_every_moment_stays_when_objects_become_one(home: Journaled, tmp_path: Path) -> None:
    moments = written(home, 0, 10)
    assert home.compaction().put_together(home.line) == 8

    assert names(tmp_path) == [
        "000000000001-000000000004",
        "000000000005-000000000008",
        "000000000009",
        "000000000010",
    ]
    for count, moment in enumerate(moments, 1):
        assert home.texts_at(iso(moment)) == facts(count)


def test_what_is_damaged_is_not_put_together(home: Journaled, tmp_path: Path) -> None:
    written(home, 0, 6)
    flip_bit(journal_objects(tmp_path / "vault")[2], 500)

    with pytest.raises(SnapshotDamaged):
        home.compaction().put_together(home.line)
    assert len(names(tmp_path)) == 6


def test_where_nothing_may_be_removed_each_piece_stays(home: Journaled, tmp_path: Path) -> None:
    class CreateOnly(VaultWrapper):
        def delete(self, name: str) -> None:
            raise VaultRefused("vault: this credential may not remove")

    moments = written(home, 0, 6)
    compaction = home.compaction()
    compaction.vault = CreateOnly(home.vault)

    for _ in range(3):
        assert compaction.put_together(home.line) == 0
        assert compaction.all_stays
    assert len(names(tmp_path)) == 7, "six, and four of them once more in a larger object"
    for count, moment in enumerate(moments, 1):
        assert home.texts_at(iso(moment)) == facts(count)


def test_a_name_that_claims_to_cover_others_removes_nothing(home: Journaled, tmp_path: Path) -> None:
    written(home, 0, 3)
    name = f"default/default/journal/{home.line}/{1:012d}-{999_999:012d}"
    home.vault.put(name, BytesIO(b"nothing of it"))

    home.compaction().put_together(home.line)

    assert len(names(tmp_path)) == 4
    other = Journaled(tmp_path / "other", tmp_path / "vault", 9_000)
    assert other.texts() == facts(3)


def test_what_a_snapshot_covers_goes_once_it_is_old_enough(home: Journaled, tmp_path: Path) -> None:
    moments = written(home, 0, 4)
    home.snapshot()
    written(home, 4, 6)
    compaction = home.compaction()
    now = home.clock.now

    assert compaction.expire(home.line, now - DAY, now) == 0, "any moment of the last day can be restored"
    assert home.texts_at(iso(moments[1])) == facts(2)
    assert compaction.expire(home.line, now, now) == 4
    assert names(tmp_path) == ["000000000005", "000000000006"]
    assert Journaled(tmp_path / "other", tmp_path / "vault", 9_000).texts() == facts(6)
    with pytest.raises(NotFound):
        home.call("snapshot_restore", **{"at": iso(moments[1]), "from": str(tmp_path / "vault"), "yes": True})


def test_nothing_goes_for_a_snapshot_that_is_not_whole_in_the_vault(home: Journaled, tmp_path: Path) -> None:
    written(home, 0, 4)
    id = home.snapshot()
    (tmp_path / "vault/default/default" / f"{id}.tar.zst").unlink()

    assert home.compaction().expire(home.line, home.clock.now + DAY, home.clock.now) == 0
    assert len(names(tmp_path)) == 4


def test_nothing_goes_for_a_snapshot_that_was_made_elsewhere(home: Journaled, tmp_path: Path) -> None:
    written(home, 0, 4)
    id = home.snapshot()
    for one in (tmp_path / "home/snapshots/default/default").glob(f"{id}.*"):
        one.unlink()

    assert home.compaction().expire(home.line, home.clock.now + DAY, home.clock.now) == 0
    assert len(names(tmp_path)) == 4


def test_a_clock_that_was_set_back_removes_nothing_that_is_needed(home: Journaled, tmp_path: Path) -> None:
    written(home, 0, 3)
    home.snapshot()
    home.clock.now -= 10 * DAY
    written(home, 3, 5)

    assert home.compaction().expire(home.line, home.clock.now, home.clock.now) == 0
    assert Journaled(tmp_path / "other", tmp_path / "vault", 9_000).texts() == facts(5)


def test_forgotten_text_leaves_the_journal(home: Journaled, tmp_path: Path) -> None:
    gone = home.remember("A fact about the walrus.")
    home.piece()
    home.call("forget", memoryId=gone)
    home.piece()
    home.snapshot()
    home.compaction().expire(home.line, home.clock.now, home.clock.now)

    assert names(tmp_path) == []


def test_lines_of_this_folder_go_with_what_took_their_place(home: Journaled, tmp_path: Path) -> None:
    moments = written(home, 0, 3)
    home.clock.now += 1_000
    home.call("snapshot_restore", at=iso(moments[1]), yes=True)
    home.remember("Another fact.")
    home.piece()
    home.snapshot()
    assert len(names(tmp_path)) >= 4

    home.compaction().expire(home.line, home.clock.now, home.clock.now)

    assert names(tmp_path) == []
    assert Journaled(tmp_path / "other", tmp_path / "vault", 9_000).texts() == {*facts(2), "Another fact."}
