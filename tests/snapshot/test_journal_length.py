"""A journal that has grown long is followed by a snapshot before its time, so that a restore stays short."""

from __future__ import annotations

from pathlib import Path

import pytest
from journal_steps import SECOND, Journaled

from holdfast.serve.background import journal_length
from holdfast.serve.background.schedule import SnapshotSchedule

pytestmark = pytest.mark.embedded  # on PostgreSQL there is no journal

HOUR = 3_600 * SECOND


@pytest.fixture(autouse=True)
def few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_length, "LEAST_RECORDS", 20)


def begun(folder: Path, chance: int = 0, **settings: object) -> tuple[Journaled, SnapshotSchedule]:
    home = Journaled(folder / "home", folder / "vault", chance, **settings)
    return home, SnapshotSchedule(home.engine)


def write(home: Journaled, count: int, name: str) -> None:
    for number in range(count):
        home.remember(f"{name} fact number {number}.")
        if number % 5 == 4:
            home.piece()
    home.piece()


def snapshots(home: Journaled) -> int:
    return len(home.call("snapshot_list")["snapshots"])


def test_a_long_journal_is_followed_by_a_snapshot_and_a_short_one_is_not(tmp_path: Path) -> None:
    home, schedule = begun(tmp_path)
    write(home, 60, "First")
    schedule.run_once()
    assert snapshots(home) == 1

    write(home, 10, "Second")
    home.clock.now += HOUR
    schedule.run_once()
    assert snapshots(home) == 1, "ten are few"
    write(home, 15, "Third")
    schedule.run_once()
    assert snapshots(home) == 2
    home.clock.now += HOUR
    schedule.run_once()
    assert snapshots(home) == 2, "nothing was written since"
    assert Journaled(tmp_path / "other", tmp_path / "vault", 9_000).texts() == home.texts()


def test_how_long_is_too_long_grows_with_the_memory(tmp_path: Path) -> None:
    home, schedule = begun(tmp_path, journal_share=50)
    write(home, 100, "First")
    schedule.run_once()
    write(home, 45, "Second")
    schedule.run_once()
    assert snapshots(home) == 1
    write(home, 10, "Third")
    schedule.run_once()
    assert snapshots(home) == 2


@pytest.mark.parametrize("settings", [{"journal_share": 0}, {"snapshot_every": "off"}])
def test_it_can_be_turned_off(tmp_path: Path, settings: dict[str, object]) -> None:
    home, schedule = begun(tmp_path, **settings)
    write(home, 30, "First")
    home.snapshot()
    write(home, 60, "Second")
    schedule.run_once()

    assert snapshots(home) == 1


def test_what_an_earlier_process_wrote_counts(tmp_path: Path) -> None:
    home, schedule = begun(tmp_path)
    write(home, 60, "First")
    schedule.run_once()
    write(home, 40, "Second")
    home.close()

    home, schedule = begun(tmp_path, 5_000)
    home.clock.now += HOUR
    schedule.run_once()
    assert snapshots(home) == 2
    schedule.run_once()
    assert snapshots(home) == 2
