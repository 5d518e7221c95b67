"""A full disk is said to be full: no history is called damaged for it, and nothing half is left."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyrage
import pytest
from memory_repositories import capture, repository, write
from nexo_bundles import bundle
from small_disks import disk_of

from holdfast.core.errors import StorageFull
from holdfast.snapshot.nexo.reader import import_nexo
from holdfast.snapshot.sources.folder_restore import stage_folder

SIZE = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with disk_of(SIZE, tmp_path / "disk") as place:
        yield place


def test_files_that_do_not_fit_are_a_fault(tmp_path: Path, disk: Path) -> None:
    write(tmp_path / "m", {"a": os.urandom(SIZE), "b": b"small"})

    with pytest.raises(StorageFull):
        capture(tmp_path / "m", disk / "s")


def test_a_history_that_does_not_fit_is_a_fault(tmp_path: Path, disk: Path) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    write(folder, {"large": os.urandom(SIZE)})
    repository(folder)
    (folder / "large").unlink()

    with pytest.raises(StorageFull):
        capture(folder, disk / "s")


@pytest.mark.parametrize("committed", [True, False])
def test_a_restore_that_does_not_fit_is_a_fault_and_leaves_nothing(tmp_path: Path, disk: Path, committed: bool) -> None:
    folder = repository(tmp_path / "m", a_md="a")
    write(folder, {"large": os.urandom(SIZE)})
    if committed:
        repository(folder)
    capture(folder, tmp_path / "s")

    with pytest.raises(StorageFull):
        stage_folder(tmp_path / "s", "notes", disk / "back")

    assert list(disk.iterdir()) == []


@pytest.mark.parametrize("encrypted", [True, False])
def test_a_bundle_of_the_earlier_system_that_does_not_fit_is_a_fault(
    tmp_path: Path, disk: Path, encrypted: bool
) -> None:
    identity = pyrage.x25519.Identity.generate()
    content = {"memory_files/large": os.urandom(2 * SIZE)}
    path = bundle(tmp_path / "b", content, str(identity.to_public()) if encrypted else None)

    with pytest.raises(StorageFull):
        import_nexo(path, [str(identity)], disk)

    assert list(disk.iterdir()) == []
