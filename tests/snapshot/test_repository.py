"""The repository: what is put is there whole, what is not whole is shown as damaged, what is held stays."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from patience import WAIT_SECONDS
from repo_samples import (
    BOOKKEEPING,
    files_of,
    names_on,
    put_sample,
    sample_bundle,
    sample_id,
    sample_manifest,
    stage,
)

from holdfast.core.errors import (
    Conflict,
    DataDamaged,
    InvalidRequest,
    NotFound,
    SnapshotDamaged,
    SnapshotsBusy,
    StorageFailed,
)
from holdfast.snapshot.bundle.manifest import manifest_bytes
from holdfast.snapshot.repo.paths import repo_folder
from holdfast.snapshot.repo.repository import SnapshotRepository

pytestmark = pytest.mark.quick


@pytest.fixture
def repo(tmp_path: Path) -> SnapshotRepository:
    return SnapshotRepository(repo_folder(tmp_path, "acme", "quill"))


# Putting and listing


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
def test_what_is_put_is_listed_whole(repo: SnapshotRepository, encrypted: bool) -> None:
    stored = put_sample(repo, 1, encrypted=encrypted)

    (one,) = repo.list()
    assert (one.id, one.damaged, one.size) == (sample_id(1), None, stored.size)
    assert one.path == stored.path
    assert one.path.read_bytes() == sample_bundle(1)
    assert names_on(repo) == files_of(1, encrypted=encrypted) | BOOKKEEPING


def test_sha256sum_reads_the_sidecars(repo: SnapshotRepository) -> None:
    put_sample(repo, 1)

    for sidecar in sorted(repo.root.glob("*.sha256")):
        done = subprocess.run(["sha256sum", "-c", sidecar.name], cwd=repo.root, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_files_and_folders_are_for_their_owner_only(repo: SnapshotRepository, tmp_path: Path) -> None:
    put_sample(repo, 1)

    for path in (tmp_path / "snapshots").rglob("*"):
        wide = path.stat().st_mode & 0o077
        assert not wide or path.suffix in (".zst", ".age"), path  # a bundle has the mode it was packed with


def test_a_repository_that_is_not_there_is_empty(repo: SnapshotRepository) -> None:
    assert (repo.list(), repo.count(), repo.bytes(), repo.sweep()) == ([], 0, 0, [])
    assert not repo.root.exists()


def test_snapshots_are_listed_newest_first_by_sequence(repo: SnapshotRepository) -> None:
    for sequence in (2, 10, 1_000_000, 1, 3):
        put_sample(repo, sequence)

    assert [one.sequence for one in repo.list()] == [1_000_000, 10, 3, 2, 1]


def test_an_id_is_taken_once(repo: SnapshotRepository) -> None:
    put_sample(repo, 1)

    with pytest.raises(Conflict):
        put_sample(repo, 1)
    assert [one.damaged for one in repo.list()] == [None]


def test_a_staged_bundle_of_another_size_is_refused(repo: SnapshotRepository) -> None:
    manifest = sample_manifest(1, b"four")
    with repo.staging() as staging, pytest.raises(SnapshotDamaged):
        repo.put(stage(staging, manifest, b"five!"), manifest, manifest_bytes(manifest))
    assert repo.list() == []


def test_files_that_are_not_snapshots_are_passed_over(repo: SnapshotRepository) -> None:
    put_sample(repo, 1)
    for name in ("notes.txt", "000002.tar.zst", f"{sample_id(2)}.zip", "000000-20260101T000000Z-abcdef.tar.zst"):
        (repo.root / name).write_text("not ours")

    assert [one.id for one in repo.list()] == [sample_id(1)]
    assert repo.count() == 1
    assert repo.sweep() == []
    assert (repo.root / "notes.txt").exists()


def test_usage_is_the_sum_of_all_files(repo: SnapshotRepository) -> None:
    put_sample(repo, 1, size=1000)
    put_sample(repo, 2, size=2000)

    assert repo.count() == 2
    assert repo.bytes() == sum((repo.root / name).stat().st_size for name in files_of(1) | files_of(2))


# Damage


def _spoil(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data)


@pytest.mark.parametrize("suffix", [".tar.zst", ".tar.zst.sha256", ".manifest.json", ".manifest.json.sha256"])
@pytest.mark.parametrize("data", [None, b"", b"something else\n"], ids=["gone", "empty", "other"])
def test_a_spoilt_file_makes_a_snapshot_damaged_and_hides_none(
    repo: SnapshotRepository, suffix: str, data: bytes | None
) -> None:
    put_sample(repo, 1)
    put_sample(repo, 2)
    _spoil(repo.root / f"{sample_id(1)}{suffix}", data)

    newer, older = repo.list()
    assert (newer.id, newer.damaged) == (sample_id(2), None)
    assert older.id == sample_id(1)
    assert older.damaged
    assert suffix in older.damaged or "manifest" in older.damaged
    assert repo.sweep() == []
    assert len(repo.list()) == 2


def test_one_byte_is_enough_to_be_damaged(repo: SnapshotRepository) -> None:
    """Of all that is small: flips in the bundle are for `verify` to find."""
    put_sample(repo, 1)
    for name in sorted(files_of(1)):
        path = repo.root / name
        whole = path.read_bytes()
        for at in range(len(whole)) if not name.endswith(".zst") else ():
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            assert repo.list()[0].damaged, (name, at)
        path.write_bytes(whole + b"\n")
        assert repo.list()[0].damaged, name
        path.write_bytes(whole)
    assert repo.list()[0].damaged is None


def test_a_manifest_under_another_id_is_damage(repo: SnapshotRepository) -> None:
    put_sample(repo, 1)
    put_sample(repo, 2)
    for name in files_of(2):
        (repo.root / name).unlink()
    for name in files_of(1):
        (repo.root / name.replace(sample_id(1), sample_id(2))).write_bytes(
            (repo.root / name).read_bytes().replace(sample_id(1).encode(), sample_id(2).encode())
            if name.endswith("sha256")
            else (repo.root / name).read_bytes()
        )

    newer, older = repo.list()
    assert older.damaged is None
    assert newer.damaged is not None
    assert "another snapshot" in newer.damaged


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_damage_and_is_not_followed(repo: SnapshotRepository, tmp_path: Path, kind: str) -> None:
    put_sample(repo, 1)
    for name in sorted(files_of(1)):
        path, aside = repo.root / name, tmp_path / name
        path.rename(aside)
        if kind == "link":
            path.symlink_to(aside)
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.mkdir()
        assert repo.list()[0].damaged, name
        path.rmdir() if kind == "folder" else path.unlink()
        aside.rename(path)


# Numbers


def test_numbers_count_up_and_are_never_given_twice(repo: SnapshotRepository) -> None:
    assert [repo.next_sequence() for _ in range(3)] == [1, 2, 3]
    put_sample(repo, 3)
    put_sample(repo, 2)
    repo.delete(sample_id(3))
    repo.delete(sample_id(2), last_too=True)
    assert SnapshotRepository(repo.root).next_sequence() == 4


def test_a_number_is_above_every_snapshot_that_came_from_elsewhere(repo: SnapshotRepository) -> None:
    put_sample(repo, 500)
    repo.delete(sample_id(500), last_too=True)
    assert repo.next_sequence() == 501
    (repo.root / f"{sample_id(700)}.manifest.json").write_text("copied here by hand")
    assert repo.next_sequence() == 701
    (repo.root / "sequence").unlink()
    assert repo.next_sequence() == 701  # the counter is lost, but the files still say 700


def test_many_threads_and_processes_get_different_numbers(repo: SnapshotRepository) -> None:
    script = (
        "import sys; from pathlib import Path; from holdfast.snapshot.repo.repository import SnapshotRepository\n"
        "print(*(SnapshotRepository(Path(sys.argv[1])).next_sequence() for _ in range(20)))"
    )
    command = [sys.executable, "-c", script, str(repo.root)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    with ThreadPoolExecutor(4) as pool:
        own = list(pool.map(lambda _: repo.next_sequence(), range(40)))
    theirs = [int(word) for child in children for word in child.communicate(timeout=WAIT_SECONDS)[0].split()]

    assert sorted(own + theirs) == list(range(1, 81))


@pytest.mark.parametrize("content", [b"", b"x\n", b"-1\n", b"12", b"1 2\n", b"9" * 40 + b"\n", "٣\n".encode()])
def test_a_counter_that_is_no_number_is_damage_not_zero(repo: SnapshotRepository, content: bytes) -> None:
    repo.next_sequence()
    (repo.root / "sequence").write_bytes(content)

    with pytest.raises(DataDamaged):
        repo.next_sequence()


def test_a_note_of_the_newest_that_is_no_number_stops_changes_before_they_begin(repo: SnapshotRepository) -> None:
    put_sample(repo, 1)
    put_sample(repo, 2)
    (repo.root / "newest").write_bytes(b"two\n")
    before = names_on(repo)

    with pytest.raises(DataDamaged):
        put_sample(repo, 3)
    with pytest.raises(DataDamaged):
        repo.delete(sample_id(1))
    assert names_on(repo) == before
    assert [one.damaged for one in repo.list()] == [None, None]


def test_the_newest_is_expected_until_it_is_deleted_here(repo: SnapshotRepository) -> None:
    assert repo.newest_expected() == 0
    for sequence in (1, 2, 3):
        put_sample(repo, sequence)
    assert repo.newest_expected() == 3
    repo.delete(sample_id(3))
    assert repo.newest_expected() == 2
    repo.delete(sample_id(1))
    assert repo.newest_expected() == 2


def test_a_newest_whose_put_was_left_halfway_is_not_expected(repo: SnapshotRepository) -> None:
    for sequence in (1, 2, 3):
        put_sample(repo, sequence)
    (repo.root / f".{sample_id(3)}.changing").touch()  # as it stands if a disk takes nothing while a put is undone
    (repo.root / f"{sample_id(3)}.manifest.json").unlink()

    assert repo.newest_expected() == 2
    repo.sweep()
    assert repo.newest_expected() == 2


def test_a_newest_that_somebundle_else_removed_is_missed(repo: SnapshotRepository) -> None:
    for sequence in (1, 2, 3):
        put_sample(repo, sequence)
    for name in files_of(3):
        (repo.root / name).unlink()
    repo.sweep()
    repo.delete(sample_id(1))

    assert repo.newest_expected() == 3
    assert repo.list()[0].sequence == 2


# Finding


def test_a_snapshot_is_found_by_id_by_beginning_and_as_the_latest(repo: SnapshotRepository) -> None:
    for sequence in (1, 2, 20):
        put_sample(repo, sequence)

    assert repo.find(sample_id(2)).sequence == 2
    assert repo.find("000002").sequence == 2
    assert repo.find("latest").sequence == 20
    with pytest.raises(Conflict):
        repo.find("0000")
    for name in ("", "nothing", "000009", f"{sample_id(2)}x", "*", "../acme", "latest~1"):
        with pytest.raises(NotFound):
            repo.find(name)


def test_the_latest_is_the_newest_that_is_whole_and_a_damaged_one_only_where_no_other_is(
    repo: SnapshotRepository,
) -> None:
    first = put_sample(repo, 1)
    put_sample(repo, 2).path.unlink()

    assert repo.find("latest").sequence == 1
    first.path.unlink()
    assert repo.find("latest").sequence == 2
    assert repo.find("latest").damaged


# Holding and deleting


def test_what_is_held_is_not_deleted(repo: SnapshotRepository) -> None:
    put_sample(repo, 1)
    put_sample(repo, 2)
    with repo.hold(sample_id(1)) as one, repo.hold("000001"):
        assert repo.in_use(one.id)
        with pytest.raises(SnapshotsBusy):
            repo.delete(one.id)
    assert not repo.in_use(sample_id(1))
    repo.delete(sample_id(1))
    assert names_on(repo) == files_of(2) | BOOKKEEPING


def test_another_process_that_holds_a_snapshot_keeps_it(repo: SnapshotRepository) -> None:
    put_sample(repo, 1)
    put_sample(repo, 2)
    script = (
        "import sys; from pathlib import Path; from holdfast.snapshot.repo.repository import SnapshotRepository\n"
        "with SnapshotRepository(Path(sys.argv[1])).hold('000001'):\n"
        "    print('held', flush=True); sys.stdin.readline()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", script, str(repo.root)], **pipes) as child:  # type: ignore[call-overload]
        assert child.stdout.readline() == "held\n"
        with pytest.raises(SnapshotsBusy):
            repo.delete(sample_id(1))
        child.kill()
    repo.delete(sample_id(1))
    assert repo.count() == 1


def test_the_last_good_one_is_deleted_only_when_that_is_said(repo: SnapshotRepository) -> None:
    put_sample(repo, 1)
    put_sample(repo, 2).path.unlink()

    with pytest.raises(Conflict):
        repo.delete(sample_id(1))
    repo.delete(sample_id(2))
    with pytest.raises(Conflict):
        repo.delete(sample_id(1))
    repo.delete(sample_id(1), last_too=True)
    assert names_on(repo) == BOOKKEEPING
    with pytest.raises(NotFound):
        repo.delete(sample_id(1))


@pytest.mark.parametrize("suffix", [".tar.zst", ".tar.zst.sha256", ".manifest.json", ".manifest.json.sha256"])
def test_a_damaged_one_can_be_deleted_without_rest(repo: SnapshotRepository, suffix: str) -> None:
    put_sample(repo, 1)
    put_sample(repo, 2)
    (repo.root / f"{sample_id(1)}{suffix}").unlink()

    repo.delete(sample_id(1))
    assert names_on(repo) == files_of(2) | BOOKKEEPING


def test_listing_while_others_put_and_delete_shows_no_damage(repo: SnapshotRepository) -> None:
    put_sample(repo, 1)
    stop = threading.Event()

    def work(first: int) -> None:
        for sequence in range(first, first + 15):
            put_sample(repo, sequence)
            repo.delete(sample_id(sequence))
        stop.set()

    seen = 0
    with ThreadPoolExecutor(2) as pool:
        working = [pool.submit(work, first) for first in (1_000, 2_000)]
        while not stop.is_set():
            found = repo.list()
            seen += len(found)
            assert [one.damaged for one in found if one.damaged] == []
            assert found[-1].id == sample_id(1)
        for one in working:
            one.result()
    assert seen
    assert repo.count() == 1


# Staging and leftovers


def test_a_staging_folder_is_private_and_gone_afterwards(repo: SnapshotRepository) -> None:
    with repo.staging(sample_id(1)) as one, repo.staging() as other:
        assert one != other
        assert one.name == f".staging-{sample_id(1)}"
        assert {one.stat().st_mode & 0o777, other.stat().st_mode & 0o777} == {0o700}
        (one / "deep").mkdir()
        (one / "deep" / "file").write_text("x")
        assert repo.sweep() == []
        assert (one / "deep" / "file").exists()
    assert names_on(repo) == {".lock"}


def test_a_staging_folder_goes_when_its_work_fails(repo: SnapshotRepository) -> None:
    with pytest.raises(ZeroDivisionError), repo.staging() as staging:
        (staging / "x").write_text(str(1 / 0))
    assert names_on(repo) == {".lock"}


@pytest.mark.parametrize("name", ["", "..", "a/b", "../x", "-x", "x" * 200])
def test_a_staging_folder_lies_on_the_repository(repo: SnapshotRepository, name: str) -> None:
    with pytest.raises(InvalidRequest), repo.staging(name):
        pass


def test_what_a_dead_process_left_is_swept_and_what_a_living_one_has_is_not(repo: SnapshotRepository) -> None:
    script = (
        "import sys; from pathlib import Path; from holdfast.snapshot.repo.repository import SnapshotRepository\n"
        "with SnapshotRepository(Path(sys.argv[1])).staging(sys.argv[2]) as folder:\n"
        "    (folder / 'secret').write_text('x'); print('staged', flush=True); sys.stdin.readline()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", script, str(repo.root), "theirs"]
    with subprocess.Popen(command, **pipes) as child:  # type: ignore[call-overload]
        assert child.stdout.readline() == "staged\n"
        assert repo.sweep() == []
        child.kill()
    assert repo.sweep() == [".staging-theirs"]
    assert names_on(repo) == {".lock"}


def test_a_link_that_looks_like_a_staging_folder_leads_nowhere(repo: SnapshotRepository, tmp_path: Path) -> None:
    repo.next_sequence()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("keep")
    (repo.root / ".staging-x").symlink_to(tmp_path / "mine")

    assert repo.sweep() == []
    assert (tmp_path / "mine" / "file").exists()


def test_a_put_that_fails_leaves_nothing(repo: SnapshotRepository) -> None:
    bundle = sample_bundle(1)
    manifest = sample_manifest(1, bundle)
    with repo.staging() as staging:
        path = stage(staging, manifest, bundle)
        repo.sweep()
        (repo.root / f".{sample_id(1)}.manifest.json.new").mkdir()  # in the way of the manifest
        with pytest.raises(StorageFailed):
            repo.put(path, manifest, manifest_bytes(manifest))
    assert repo.list() == []
    assert repo.newest_expected() == 0


# In and out


def test_what_is_exported_is_whole_elsewhere(repo: SnapshotRepository, tmp_path: Path) -> None:
    put_sample(repo, 7, size=3_000_000)
    target = tmp_path / "stick" / "new"

    paths = repo.export(sample_id(7), target)

    assert [path.name for path in paths][-1] == f"{sample_id(7)}.manifest.json"
    assert {path.name for path in target.iterdir()} == files_of(7)
    there = SnapshotRepository(target).find("latest")
    assert there.manifest == repo.find("latest").manifest
    assert there.path.read_bytes() == sample_bundle(7, 3_000_000)


def test_an_export_never_overwrites(repo: SnapshotRepository, tmp_path: Path) -> None:
    put_sample(repo, 1)
    for name in sorted(files_of(1)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_text("somebody's")
        with pytest.raises(Conflict):
            repo.export(sample_id(1), folder)
        assert [path.read_text() for path in folder.iterdir()] == ["somebody's"]


def test_an_export_goes_beside_the_bundles_own_name(repo: SnapshotRepository, tmp_path: Path) -> None:
    put_sample(repo, 1)
    repo.export(sample_id(1), tmp_path / f"{sample_id(1)}.tar.zst")
    assert files_of(1) <= {path.name for path in tmp_path.iterdir()}
    (tmp_path / "a file").write_text("x")
    for name in ("mine.tar.zst", "a file"):
        with pytest.raises(InvalidRequest):
            repo.export(sample_id(1), tmp_path / name)


def test_an_export_after_a_killed_one_takes_its_leftovers_away(repo: SnapshotRepository, tmp_path: Path) -> None:
    put_sample(repo, 1)
    target = tmp_path / "out"
    target.mkdir()
    (target / f".{sample_id(1)}.tar.zst.new").write_text("half")

    repo.export(sample_id(1), target)
    assert {path.name for path in target.iterdir()} == files_of(1)


def test_a_bundle_with_other_bytes_is_not_exported(repo: SnapshotRepository, tmp_path: Path) -> None:
    put_sample(repo, 1)
    bundle = repo.root / f"{sample_id(1)}.tar.zst"
    bundle.write_bytes(b"X" + bundle.read_bytes()[1:])

    with pytest.raises(SnapshotDamaged):
        repo.export(sample_id(1), tmp_path / "again")
    assert list((tmp_path / "again").iterdir()) == []


def test_a_pipe_in_the_place_of_a_bundle_is_not_waited_for(repo: SnapshotRepository, tmp_path: Path) -> None:
    bundle = put_sample(repo, 1).path
    bundle.unlink()
    os.mkfifo(bundle)
    seen: list[object] = []

    def look() -> None:
        seen.append(repo.in_use(sample_id(1)))
        with pytest.raises(SnapshotDamaged):
            repo.export(sample_id(1), tmp_path / "out")
        seen.append("refused")

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(WAIT_SECONDS)
    assert seen == [False, "refused"]


def test_numbers_go_on_after_a_restored_one_and_an_absurd_one_is_not_believed(repo: SnapshotRepository) -> None:
    repo.begin_after(41)
    assert repo.next_sequence() == 42
    repo.begin_after(7)
    repo.begin_after(999_999_999_999)
    assert repo.next_sequence() == 43
