"""On a full disk a request is kept all the same, and what is lost is counted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_disks import disk_of

from holdfast.local import spool, spool_space

NOW = 1_790_000_000_000


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only other disk that the spool may use."""
    place = tmp_path / "other"
    place.mkdir()
    monkeypatch.setattr(spool_space, "OTHER_PLACES", (str(place),))
    return place


@pytest.fixture
def disk(tmp_path: Path, other: Path) -> Iterator[Path]:
    with disk_of(2_000_000, tmp_path / "disk") as place:
        yield place


def fill(disk: Path) -> Path:
    """Write to the disk until it takes no more."""
    path = disk / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (65_536, 1):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                continue
    return path


def put(folder: Path, number: int, chars: int = 2_000) -> bool:
    body = {"n": number, "text": "x" * chars}
    return spool.keep(str(folder), "/agentmemory/observe", body, NOW + number, f"{number:04d}")


def numbers(folder: Path) -> list[int]:
    found = [spool.read(str(folder), name) for name in spool.waiting(str(folder))]
    return [entry.body["n"] for entry in found if entry]


def files(folder: Path) -> set[str]:
    return {entry.name for entry in os.scandir(folder / "spool")}


def test_a_full_disk_takes_requests_into_the_space_of_the_reserve(disk: Path, other: Path) -> None:
    spool.tidy(str(disk), NOW)
    fill(disk)
    assert all(put(disk, number) for number in range(3))
    assert numbers(disk) == [0, 1, 2]
    assert list(other.iterdir()) == []


def test_without_a_reserve_requests_wait_on_another_disk_in_their_order(disk: Path, other: Path) -> None:
    put(disk, 1)
    filler = fill(disk)
    assert put(disk, 2)
    filler.unlink()
    put(disk, 3)
    assert spool.spool_status(str(disk)).waiting == 3
    assert numbers(disk) == [1, 2, 3]
    for name in spool.waiting(str(disk)):
        spool.remove(str(disk), name)
    assert numbers(disk) == []
    assert list(other.iterdir()) == []


def test_a_request_on_another_disk_can_be_put_aside(disk: Path, other: Path) -> None:
    filler = fill(disk)
    put(disk, 1)
    filler.unlink()
    (name,) = spool.waiting(str(disk))
    spool.refuse(str(disk), name)
    assert spool.spool_status(str(disk)).refused == 1
    assert list(other.iterdir()) == []


def test_what_finds_no_room_anywhere_is_counted_and_leaves_no_file(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_space, "OTHER_PLACES", ())
    spool.tidy(str(disk), NOW)
    fill(disk)
    assert not put(disk, 1, chars=500_000)
    assert not put(disk, 2, chars=500_000)
    assert spool.spool_status(str(disk)).dropped == 2
    assert files(disk) == {"reserve", "dropped"}


def test_a_loss_is_counted_on_another_disk_if_need_be_and_then_beside_the_data(disk: Path, other: Path) -> None:
    (disk / "spool").mkdir()
    filler = fill(disk)
    assert not put(disk, 1, chars=spool.ENTRY_BYTES)
    assert spool.spool_status(str(disk)).dropped == 1
    filler.unlink()
    spool.tidy(str(disk), NOW)
    assert (disk / "spool/dropped").stat().st_size == 1
    assert spool.spool_status(str(disk)).dropped == 1
    assert list(other.iterdir()) == []


def test_the_reserve_is_made_again_once_there_is_space(disk: Path, other: Path) -> None:
    spool.tidy(str(disk), NOW)
    before = (disk / "spool/reserve").stat().st_size
    filler = fill(disk)
    put(disk, 1, chars=80_000)
    spool.tidy(str(disk), NOW)
    assert (disk / "spool/reserve").stat().st_size < before
    filler.unlink()
    spool.remove(str(disk), spool.waiting(str(disk))[0])
    spool.tidy(str(disk), NOW)
    assert (disk / "spool/reserve").stat().st_size > before - 4_096


def test_what_was_never_written_to_the_end_goes_after_an_hour(tmp_path: Path, other: Path) -> None:
    (tmp_path / "spool").mkdir()
    old, new = (f".{NOW - age:015d}-{age:04d}.json" for age in (7_200_000, 1_000))
    for name in (old, new):
        (tmp_path / "spool" / name).touch()
    spool.tidy(str(tmp_path), NOW)
    assert files(tmp_path) == {new, "reserve"}


def _linked(place: Path) -> None:
    own = place / f"holdfast-{os.geteuid()}"
    own.rename(place / "real")
    own.symlink_to(place / "real")


def _open_to_all(place: Path) -> None:
    (place / f"holdfast-{os.geteuid()}").chmod(0o777)


def _replaceable(place: Path) -> None:
    place.chmod(0o777)


@pytest.mark.parametrize("spoil", [_linked, _open_to_all, _replaceable])
def test_a_folder_on_another_disk_that_others_could_have_made_is_not_read(
    disk: Path, other: Path, spoil: Callable[[Path], None]
) -> None:
    fill(disk)
    assert put(disk, 1)
    assert spool.spool_status(str(disk)).waiting == 1
    spoil(other)
    assert spool.spool_status(str(disk)).waiting == 0
    assert spool.waiting(str(disk)) == []


def test_a_folder_that_the_spool_makes_is_for_its_owner_alone(tmp_path: Path, other: Path) -> None:
    put(tmp_path / "home/data", 1)
    for name in ("home", "home/data", "home/data/spool"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o700
