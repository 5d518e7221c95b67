"""The data folder: one live generation, one owner at a time, closed to others, and clear words when it cannot be."""

from __future__ import annotations

import dataclasses
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from patience import WAIT_SECONDS
from rows import each

from holdfast.context import CallContext
from holdfast.core.disk import disk_fault, write_durably
from holdfast.core.errors import DataDamaged, DataLocked, Fault, StorageFailed, StorageFull
from holdfast.core.model import Caller, CleanText
from holdfast.engine import Engine
from holdfast.intake.remember import MemoryDraft, remember
from holdfast.settings import Settings, load
from holdfast.store.data_folder import DATABASE, DataFolder, FolderLock
from holdfast.store.tables import MEMORIES

pytestmark = pytest.mark.real_disk

NOBODY = 65534


def settings(home: Path) -> Settings:
    return dataclasses.replace(load({}, {}), home=str(home))


@contextmanager
def engine_at(home: Path) -> Iterator[Engine]:
    engine = Engine(settings(home))
    try:
        yield engine
    finally:
        engine.close()


def keep(home: Path, text: str) -> str:
    with engine_at(home) as engine:
        return remember(_ctx(engine), MemoryDraft(CleanText(text), CleanText("fact"))).memory.id


def _ctx(engine: Engine) -> CallContext:
    return engine.context(Caller())


def kept(home: Path) -> list[str]:
    with engine_at(home) as engine:
        return [one.content for one in engine.store.read().find(MEMORIES, "default", order="seq")]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "memory"


# Generations and the pointer


def test_a_fresh_folder_has_one_generation_and_a_pointer_to_it(home: Path) -> None:
    keep(home, "first")
    folder = DataFolder(home)
    assert folder.generations() == ["gen-000001"]
    assert folder.current() == "gen-000001"
    assert folder.database() == home / "gen-000001" / DATABASE
    assert sorted(one.name for one in home.iterdir()) == ["CURRENT", "gen-000001", "lock"]


def test_switching_makes_another_generation_the_live_one_and_back(home: Path) -> None:
    keep(home, "first")
    (home / "gen-000002").mkdir()
    folder = DataFolder(home)
    folder.switch("gen-000002")
    keep(home, "second")
    assert kept(home) == ["second"]
    folder.switch("gen-000001")
    assert kept(home) == ["first"]
    assert folder.generations() == ["gen-000001", "gen-000002"]


def test_generations_are_in_order_past_a_million(home: Path) -> None:
    home.mkdir(parents=True)
    for name in ("gen-000009", "gen-1000000", "gen-000010", "gen-10", "gen-x", "other"):
        (home / name).mkdir()
    assert DataFolder(home).generations() == ["gen-000009", "gen-000010", "gen-1000000"]


def test_a_pointer_is_old_or_new_at_every_moment_of_a_switch(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever file operation fails, the pointer still names a whole generation."""
    keep(home, "first")
    (home / "gen-000002").mkdir()
    folder = DataFolder(home)
    for name in ("open", "fsync", "replace"):
        for fails_at in range(3):
            with monkeypatch.context() as patched:
                _fail(patched, name, fails_at)
                with suppress(Fault):
                    folder.switch("gen-000002")
            assert folder.current() in ("gen-000001", "gen-000002")
            folder.switch("gen-000001")
            assert kept(home) == ["first"]
    assert [one.name for one in home.iterdir() if one.name.endswith(".new")] == []


def _fail(patched: pytest.MonkeyPatch, name: str, fails_at: int) -> None:
    true, calls = getattr(os, name), iter(range(100))

    def failing(*args: object, **more: object) -> object:
        if next(calls) == fails_at:
            raise OSError(5, "Input/output error")
        return true(*args, **more)

    patched.setattr(os, name, failing)


def test_a_write_that_cannot_be_finished_leaves_the_old_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "CURRENT"
    write_durably(path, b"old")
    with monkeypatch.context() as patched:
        _fail(patched, "fsync", 0)
        with pytest.raises(StorageFailed):
            write_durably(path, b"new")
    assert path.read_bytes() == b"old"


@each("number", [28, 122])
def test_a_full_disk_is_told_apart_from_a_failing_one(number: int) -> None:
    assert isinstance(disk_fault(OSError(number, "full"), "write"), StorageFull)
    assert isinstance(disk_fault(OSError(5, "broken"), "write"), StorageFailed)


def test_a_lost_pointer_beside_several_generations_is_refused(home: Path) -> None:
    keep(home, "first")
    (home / "gen-000002").mkdir()
    (home / "CURRENT").unlink()
    with pytest.raises(DataDamaged, match="CURRENT") as told:
        kept(home)
    assert "gen-000001, gen-000002" in told.value.message
    assert str(home / "CURRENT") in told.value.hint
    assert not (home / "CURRENT").exists()


def test_a_lost_pointer_beside_one_generation_finds_it_again(home: Path) -> None:
    keep(home, "first")
    (home / "CURRENT").unlink()
    assert kept(home) == ["first"]


def test_a_lost_pointer_beside_a_later_generation_is_no_fresh_start(home: Path) -> None:
    """After a restore and a prune the only generation is not the first one."""
    keep(home, "first")
    (home / "gen-000001").rename(home / "gen-000002")
    (home / "CURRENT").unlink()
    try:
        found = kept(home)
    except DataDamaged:
        return
    assert found == ["first"]


@pytest.mark.parametrize(
    "pointer",
    [
        b"",
        b"\n",
        b"gen-000009\n",
        b"gen-1\n",
        b"../gen-000001\n",
        b"gen-000001/../../x",
        b"\xff\xfe",
        b"gen-000001\x00",
    ],
)
def test_a_pointer_to_nothing_is_damage_and_makes_no_new_store(home: Path, pointer: bytes) -> None:
    keep(home, "first")
    (home / "CURRENT").write_bytes(pointer)
    with pytest.raises(DataDamaged):
        kept(home)
    assert (home / "CURRENT").read_bytes() == pointer
    assert DataFolder(home).generations() == ["gen-000001"]


def test_a_pointer_that_cannot_be_read_is_a_fault(home: Path) -> None:
    keep(home, "first")
    (home / "CURRENT").unlink()
    (home / "CURRENT").mkdir()
    with pytest.raises(Fault):
        kept(home)


@pytest.mark.parametrize("how", ["removed", "emptied"])
def test_a_database_that_was_there_and_is_gone_is_no_fresh_start(home: Path, how: str) -> None:
    """An empty memory that verifies as sound would hide that everything is lost."""
    keep(home, "first")
    database = DataFolder(home).database()
    if how == "removed":
        database.unlink()
    else:
        database.write_bytes(b"")
    with pytest.raises(DataDamaged):
        kept(home)


def test_a_start_that_ended_before_the_pointer_can_be_repeated(home: Path) -> None:
    (home / "gen-000001").mkdir(parents=True)
    assert keep(home, "first")
    assert kept(home) == ["first"]


def test_the_names_of_new_folders_are_made_durable(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut after the first acknowledged write must not take the whole folder away."""
    synced, true = set(), os.fsync

    def noting(handle: int) -> None:
        synced.add(os.path.realpath(f"/proc/self/fd/{handle}"))
        true(handle)

    monkeypatch.setattr(os, "fsync", noting)
    keep(home, "first")
    assert {str(tmp_path), str(home.parent), str(home)} <= synced


# The lock

HOLD = """
import sys
from pathlib import Path
from holdfast.store.data_folder import FolderLock
with FolderLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has the folder's lock."""
    home.mkdir(parents=True)
    command = [sys.executable, "-c", HOLD, str(home)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_second_process_is_refused_and_told_who_has_the_folder(home: Path, holder: subprocess.Popen[bytes]) -> None:
    with pytest.raises(DataLocked, match=f"process {holder.pid}$"):
        kept(home)
    assert DataFolder(home).is_locked()


def test_looking_at_the_lock_does_not_disturb_its_holder(home: Path, holder: subprocess.Popen[bytes]) -> None:
    for _ in range(3):
        assert DataFolder(home).is_locked()
    assert (home / "lock").read_text() == f"{holder.pid}\n"


def test_a_killed_process_frees_the_lock(home: Path, holder: subprocess.Popen[bytes]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait(WAIT_SECONDS)
    assert not DataFolder(home).is_locked()
    assert keep(home, "first")


def test_a_child_of_the_holder_does_not_keep_the_lock(home: Path) -> None:
    home.mkdir(parents=True)
    with FolderLock(home):
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, close_fds=False
        )
    try:
        assert not DataFolder(home).is_locked()
    finally:
        child.kill()
        child.communicate()


def test_the_lock_can_be_taken_again_after_it_was_given_back(home: Path) -> None:
    home.mkdir(parents=True)
    for _ in range(2):
        with FolderLock(home), pytest.raises(DataLocked, match=str(os.getpid())), FolderLock(home):
            pass


def test_a_folder_that_could_not_be_opened_is_left_unlocked(home: Path) -> None:
    keep(home, "first")
    database = DataFolder(home).database()
    before = database.read_bytes()
    database.write_bytes(b"not a database" * 1_000)
    with pytest.raises(DataDamaged):
        kept(home)
    assert not DataFolder(home).is_locked()
    database.write_bytes(before)
    assert kept(home) == ["first"]


# The card


def test_a_card_counts_only_while_somebody_holds_the_folder(home: Path) -> None:
    home.mkdir(parents=True)
    folder = DataFolder(home)
    folder.announce({"url": "http://127.0.0.1:1", "pid": os.getpid(), "token": "x"})
    assert folder.announced() is None
    with FolderLock(home):
        assert folder.announced() == {"url": "http://127.0.0.1:1", "pid": os.getpid(), "token": "x"}
        folder.withdraw()
        assert folder.announced() is None
    folder.withdraw()


def test_the_card_of_a_killed_server_is_not_taken_for_the_holder_of_now(
    home: Path, holder: subprocess.Popen[bytes]
) -> None:
    """A command holds the folder for a moment while a dead server's card still lies there."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait(WAIT_SECONDS)
    DataFolder(home).announce({"url": "http://127.0.0.1:1", "pid": dead.pid, "token": "x"})
    assert DataFolder(home).announced() is None


def test_a_server_removes_its_own_card_and_no_other(home: Path) -> None:
    """One whose folder was removed ends after another server has made the folder again and announced itself."""
    folder = DataFolder(home)
    folder.make()
    folder.announce({"url": "http://127.0.0.1:1", "pid": os.getpid() + 1, "token": "x"})
    folder.withdraw()
    assert folder.card()
    folder.announce({"url": "http://127.0.0.1:1", "pid": os.getpid(), "token": "x"})
    folder.withdraw()
    assert folder.card() is None


@pytest.mark.parametrize("card", [b"", b"{", b"[]", b"null", b"\xff"])
def test_a_card_that_cannot_be_read_is_no_card(home: Path, card: bytes) -> None:
    home.mkdir(parents=True)
    (home / "server.json").write_bytes(card)
    with FolderLock(home):
        assert DataFolder(home).announced() is None


# Permissions and places


def modes(home: Path) -> dict[str, int]:
    return {str(one.relative_to(home)): stat.S_IMODE(one.stat().st_mode) for one in (home, *home.rglob("*"))}


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_everything_in_the_folder_is_closed_to_others(home: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with engine_at(home) as engine:
            engine.folder.announce({"url": "x"})
            remember(_ctx(engine), MemoryDraft(CleanText("a secret plan"), CleanText("fact")))
            found = modes(home)
    finally:
        os.umask(before)
    wanted = {name: 0o700 if (home / name).is_dir() else 0o600 for name in found}
    assert f"gen-000001/{DATABASE}-wal" in found
    assert found == wanted


def test_a_folder_that_was_open_to_others_is_closed_for_what_is_in_it(home: Path) -> None:
    home.mkdir(parents=True, mode=0o755)
    keep(home, "first")
    assert stat.S_IMODE((home / "gen-000001").stat().st_mode) == 0o700


def test_a_file_in_the_place_of_the_folder_is_named(home: Path) -> None:
    home.parent.mkdir(parents=True)
    home.write_text("in the way")
    with pytest.raises(StorageFailed) as told:
        kept(home)
    assert str(home) in told.value.message
    assert home.read_text() == "in the way"


def test_a_file_on_the_way_to_the_folder_is_a_fault(home: Path) -> None:
    home.parent.parent.mkdir(parents=True, exist_ok=True)
    home.parent.write_text("in the way")
    with pytest.raises(StorageFailed) as told:
        kept(home)
    assert str(home) in told.value.message


def test_a_folder_reached_through_a_link_is_the_same_folder(home: Path, tmp_path: Path) -> None:
    keep(home, "first")
    link = tmp_path / "link"
    link.symlink_to(home)
    assert kept(link) == ["first"]
    with engine_at(home), pytest.raises(DataLocked):
        kept(link)


def test_a_link_to_nothing_is_a_fault(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nothing")
    with pytest.raises(StorageFailed):
        kept(link)


AS_NOBODY = """
import os, sys, tempfile
from pathlib import Path
from test_folder import NOBODY, keep
from holdfast.core.errors import Fault
with tempfile.TemporaryDirectory() as other:  # whatever is imported late is imported while it may be read
    keep(Path(other), "first")
os.setgroups([])
os.setgid(NOBODY)
os.setuid(NOBODY)
try:
    keep(Path(sys.argv[1]), "first")
except Fault as fault:
    print(f"{fault.code}: {fault.message}")
else:
    print("no fault")
"""


def keep_as_nobody(home: Path) -> str:
    """Write as a user without rights; the code and message of the fault that user meets."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[:2]))}
    command = [sys.executable, "-c", AS_NOBODY, str(home)]
    done = subprocess.run(command, env=environ, check=False, capture_output=True, text=True, timeout=WAIT_SECONDS)
    return done.stdout or done.stderr


@pytest.fixture
def without_rights(tmp_path: Path) -> Path:
    if os.getuid() != 0:
        pytest.fail("run as root: only root can become a user without rights")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o055)
    return tmp_path


def test_a_folder_that_may_not_be_written_is_named(without_rights: Path) -> None:
    home = without_rights / "memory"
    home.mkdir(mode=0o755)
    said = keep_as_nobody(home)
    assert said.startswith("storage_failed: ")
    assert str(home) in said
    assert "Permission denied" in said


def test_a_place_where_no_folder_may_be_made_is_named(without_rights: Path) -> None:
    home = without_rights / "memory"
    said = keep_as_nobody(home)
    assert said.startswith("storage_failed: ")
    assert str(home) in said


def test_writing_to_a_database_that_may_only_be_read_is_a_fault(without_rights: Path) -> None:
    home = without_rights / "memory"
    keep(home, "first")
    for one in (home, *home.rglob("*")):
        one.chmod(0o777 if one.is_dir() else 0o666)
    DataFolder(home).database().chmod(0o444)
    said = keep_as_nobody(home)
    assert said.startswith("storage_failed: ")
