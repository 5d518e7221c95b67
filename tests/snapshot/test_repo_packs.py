"""Packs in a repository: which go and when, what interrupted work leaves, and that no sequence of work loses a snapshot."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from chunk_samples import chunk_into_repo, context_at, database, unpacked
from hypothesis import given, settings, strategies as st

from holdfast.core.errors import Conflict, SnapshotDamaged, StorageFull
from holdfast.snapshot.prune import prune
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.packs import needed_packs
from holdfast.snapshot.repo.retention import RetentionPolicy


def packs(context: SnapshotContext) -> set[str]:
    return {path.name for path in (context.repo.root / "packs").iterdir()}


def all_whole(context: SnapshotContext) -> bool:
    """Everything that lies there is needed, and nothing that is needed is missing."""
    return packs(context) == needed_packs(context.repo.root)


def test_a_pack_that_nobody_needs_goes_with_the_next_sweep_and_what_is_not_ours_stays(tmp_path: Path) -> None:
    context = context_at(tmp_path)
    id = chunk_into_repo(context, 1, database())
    root = context.repo.root
    (root / "packs" / ("0" * 32)).write_bytes(b"left by a killed process of an earlier Holdfast")
    (root / "packs" / "note.txt").write_bytes(b"of a person")
    assert context.repo.sweep() == ["0" * 32]
    assert (root / "packs" / "note.txt").exists()
    assert unpacked(context, id) == database()


@pytest.mark.parametrize("harm", ["chunk index", "sidecar", "chunk index gone"])
def test_while_it_cannot_be_told_what_one_needs_no_pack_goes(tmp_path: Path, harm: str) -> None:
    context = context_at(tmp_path)
    one, two = (chunk_into_repo(context, number, database(seed=number)) for number in (1, 2))
    chunk_into_repo(context, 3, database(seed=3))
    root = context.repo.root
    path = root / f"{one}.chunks{'.sha256' if harm == 'sidecar' else ''}"
    good = path.read_bytes()
    if harm == "chunk index gone":
        path.unlink()
    else:
        path.write_bytes(good[:40] + (b"1" if good[40:41] == b"0" else b"0") + good[41:])
    before = packs(context)
    context.repo.delete(two)
    assert packs(context) == before
    with pytest.raises(SnapshotDamaged):
        needed_packs(root)
    path.write_bytes(good)
    context.repo.sweep()
    assert len(packs(context)) == 2
    assert all_whole(context)
    assert unpacked(context, one) == database(seed=1)


def test_one_that_is_damaged_and_deleted_no_longer_keeps_packs(tmp_path: Path) -> None:
    context = context_at(tmp_path)
    one, two = (chunk_into_repo(context, number, database(seed=number)) for number in (1, 2))
    (context.repo.root / f"{two}.chunks").write_bytes(b"nonsense")
    context.repo.delete(two)
    assert all_whole(context)
    assert len(packs(context)) == 1
    assert unpacked(context, one) == database(seed=1)


def test_a_half_deleted_snapshot_that_somebody_reads_keeps_its_packs(tmp_path: Path) -> None:
    context = context_at(tmp_path)
    one, two = (chunk_into_repo(context, number, database(seed=number)) for number in (1, 2))
    root = context.repo.root
    with context.repo.hold(two):
        (root / f".{two}.changing").touch()  # as a process leaves it that was killed between two steps
        (root / f"{two}.manifest.json").unlink()
        context.repo.sweep()
        assert len(packs(context)) == 2
    context.repo.sweep()
    assert len(packs(context)) == 1
    assert [stored.id for stored in context.repo.each()] == [one]


def test_a_pack_is_put_again_if_the_repository_lost_it(tmp_path: Path) -> None:
    context = context_at(tmp_path)
    chunk_into_repo(context, 1, database())
    shutil.rmtree(context.repo.root / "packs")
    id = chunk_into_repo(context, 2, database(changed=(3,)))
    assert unpacked(context, id) == database(changed=(3,))


def test_what_a_killed_process_half_noted_goes_with_the_next_snapshot(tmp_path: Path) -> None:
    context = context_at(tmp_path)
    chunk_into_repo(context, 1, database())
    (folder,) = (tmp_path / "cache" / "chunks").iterdir()
    half = folder / f".{'0' * 32}.new"
    half.write_bytes(b"half")
    chunk_into_repo(context, 2, database(changed=(1,)))
    assert not half.exists()


def test_a_link_in_the_place_of_a_pack_leads_nowhere(tmp_path: Path) -> None:
    context = context_at(tmp_path)
    id = chunk_into_repo(context, 1, database())
    (pack,) = (context.repo.root / "packs").iterdir()
    pack.rename(tmp_path / "elsewhere")
    pack.symlink_to(tmp_path / "elsewhere")
    assert context.repo.find(id).damaged
    context.repo.sweep()
    assert (tmp_path / "elsewhere").exists()


# Any sequence of work

_FACTS = st.lists(st.integers(0, 59), max_size=4, unique=True)
_WORK = st.one_of(
    st.tuples(st.just("chunks"), _FACTS),
    st.tuples(st.just("whole"), _FACTS),
    st.tuples(st.just("delete"), st.integers(0, 9)),
    st.tuples(st.just("prune"), st.integers(1, 3)),
    st.tuples(st.just("forget"), st.just(0)),
    st.tuples(st.just("sweep"), st.just(0)),
)


@settings(max_examples=25)
@given(work=st.lists(_WORK, min_size=3, max_size=9))
def test_after_any_work_every_listed_snapshot_restores(
    tmp_path_factory: pytest.TempPathFactory, work: list[tuple[str, object]]
) -> None:
    context = context_at(tmp_path_factory.mktemp("shelf"))
    made: dict[str, bytes] = {}
    for sequence, (kind, what) in enumerate(work, 1):
        if kind in ("chunks", "whole"):
            data = database(changed=what)  # type: ignore[arg-type]
            made[chunk_into_repo(context, sequence, data, whole=kind == "whole")] = data
        elif kind == "delete" and made:
            id = sorted(made)[int(what) % len(made)]  # type: ignore[call-overload]
            try:
                context.repo.delete(id)
                del made[id]
            except Conflict:
                assert len(made) == 1
        elif kind == "prune":
            for id in prune(context, RetentionPolicy(last=int(what))).removed:  # type: ignore[call-overload]
                del made[id]
        elif kind == "forget":
            shutil.rmtree(context.home / "cache", ignore_errors=True)
        else:
            context.repo.sweep()
        assert {one.id for one in context.repo.each() if not one.damaged} == set(made)
    for id, data in made.items():
        assert unpacked(context, id) == data
    if (context.repo.root / "packs").exists():
        context.repo.sweep()
        assert all_whole(context)


# Interrupted

KILLED = """
import os, signal, sys
sys.path[:0] = sys.argv[1].split(":")
from pathlib import Path
from chunk_samples import context_at, chunk_into_repo, database
from holdfast.snapshot.chunks import writer
from holdfast.vault.local import LocalVault
writer.PACK = 60_000
left = [int(sys.argv[3])]
really = LocalVault.put
def put(self, name, data):
    really(self, name, data)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
LocalVault.put = put
chunk_into_repo(context_at(Path(sys.argv[2])), 2, database(seed=9))
"""


@pytest.mark.parametrize("at", [1, 2])
def test_a_process_killed_while_it_packs_leaves_the_repository_as_it_was(tmp_path: Path, at: int) -> None:
    context = context_at(tmp_path)
    one = chunk_into_repo(context, 1, database())
    before = packs(context)
    paths = ":".join(path for path in sys.path if path)
    ended = subprocess.run([sys.executable, "-c", KILLED, paths, str(tmp_path), str(at)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert packs(context) == before
    assert [stored.id for stored in context.repo.each()] == [one]
    context.repo.sweep()
    assert not list(context.repo.root.glob(".staging-*"))
    two = chunk_into_repo(context, 3, database(seed=9))
    assert unpacked(context, two) == database(seed=9)
    assert all_whole(context)


def test_a_full_disk_leaves_no_half_and_the_repository_goes_on_once_there_is_room(small_disk: Path) -> None:
    context = context_at(small_disk)
    one = chunk_into_repo(context, 1, database())
    before = packs(context)
    filler = small_disk / "filler"
    room = os.statvfs(small_disk)
    filler.write_bytes(bytes(room.f_bavail * room.f_frsize - 350_000))
    with pytest.raises(StorageFull):
        chunk_into_repo(context, 2, database(seed=5))
    assert packs(context) == before
    assert [stored.id for stored in context.repo.each()] == [one]
    filler.unlink()
    two = chunk_into_repo(context, 3, database(seed=5))
    assert unpacked(context, two) == database(seed=5)
    assert unpacked(context, one) == database()
    assert all_whole(context)
