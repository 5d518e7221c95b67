"""A folder as a vault: all that any vault does, and what a disk adds to it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest
from conformance import Conformance, names
from patience import WAIT_SECONDS
from small_disks import disk_of

from holdfast.core.errors import NotFound, VaultFull, VaultRefused
from holdfast.core.ports import Vault
from holdfast.vault.local import LocalVault


class TestLocalVault(Conformance):
    @pytest.fixture
    def vault(self, tmp_path: Path) -> Vault:
        return LocalVault(tmp_path / "vault")


def test_a_folder_that_was_put_into_and_is_gone_is_not_made_again(tmp_path: Path) -> None:
    root, used = tmp_path / "vault", tmp_path / "memory" / "used"
    LocalVault(root, used).put("a", BytesIO(b"1"))
    root.rename(tmp_path / "away")
    vault = LocalVault(root, used)
    for use in (lambda: vault.put("b", BytesIO(b"2")), lambda: list(vault.list()), vault.state):
        with pytest.raises(VaultRefused, match="is gone") as refused:
            use()
        assert "mount its disk." in refused.value.hint
    assert not root.exists()

    (tmp_path / "away").rename(root)
    vault.put("b", BytesIO(b"2"))
    assert names(vault) == ["a", "b"]
    LocalVault(tmp_path / "another", used).put("a", BytesIO(b"1"))  # one that was never used is made


def test_nothing_but_the_bytes_is_left_in_the_folder(tmp_path: Path) -> None:
    vault = LocalVault(tmp_path / "vault")
    vault.put("a/b", BytesIO(b"x"))

    assert [path.name for path in tmp_path.rglob("*")] == ["vault", "a", "b"]
    assert (tmp_path / "vault/a/b").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "vault/a").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("lay", [os.mkfifo, lambda path: os.symlink("/dev/null", path)], ids=["pipe", "link"])
def test_what_others_lay_among_the_leftovers_stops_no_put(tmp_path: Path, lay: Callable[[Path], None]) -> None:
    vault = LocalVault(tmp_path / "vault")
    vault.put("a/first", BytesIO(b"x"))
    lay(tmp_path / "vault/a/.put-1-1")
    putting = threading.Thread(target=vault.put, args=("a/second", BytesIO(b"y")), daemon=True)
    putting.start()
    putting.join(WAIT_SECONDS)
    assert names(vault) == ["a/first", "a/second"]


def test_what_a_killed_put_left_is_not_listed_and_goes_with_the_next(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from holdfast.vault.local import LocalVault\n"
        "LocalVault(Path(sys.argv[1])).put('a/b', sys.stdin.buffer)"
    )
    vault = LocalVault(tmp_path / "vault")
    vault.put("a/first", BytesIO(b"x"))
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "vault")], stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        child.stdin.write(b"x" * 3_000_000)
        child.stdin.flush()
        _wait_for(tmp_path / "vault/a", 2)
        vault.put("a/second", BytesIO(b"y"))
        assert len(os.listdir(tmp_path / "vault/a")) == 3, "one that is being written is left alone"
        child.kill()
    assert names(vault) == ["a/first", "a/second"]
    vault.put("a/third", BytesIO(b"z"))
    assert sorted(os.listdir(tmp_path / "vault/a")) == ["first", "second", "third"]


def _wait_for(folder: Path, entries: int) -> None:
    while len(os.listdir(folder)) < entries:
        os.sched_yield()


def test_files_that_are_no_names_are_passed_over(tmp_path: Path) -> None:
    vault = LocalVault(tmp_path)
    vault.put("a", BytesIO(b"x"))
    (tmp_path / ".DS_Store").write_text("x")
    (tmp_path / "with space").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")

    assert names(vault) == ["a"]
    with pytest.raises(NotFound):
        vault.open("pipe")
    with pytest.raises((NotFound, VaultRefused)):
        vault.open("link")


def test_a_link_does_not_lead_out_of_the_vault(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("theirs")
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "out").symlink_to(tmp_path / "elsewhere")
    vault = LocalVault(tmp_path / "vault")

    with pytest.raises(VaultRefused):
        vault.put("out/new", BytesIO(b"x"))
    with pytest.raises(VaultRefused):
        vault.open("out/file")
    with pytest.raises(VaultRefused):
        vault.delete("out/file")
    assert names(vault) == []
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["file"]


def test_a_folder_that_is_not_mounted_is_no_empty_vault(tmp_path: Path) -> None:
    vault = LocalVault(tmp_path / "mount" / "vault")

    for call in (lambda: list(vault.list()), lambda: vault.open("a"), lambda: vault.put("a", BytesIO(b"x"))):
        with pytest.raises(VaultRefused):
            call()
    (tmp_path / "mount").mkdir()
    assert names(vault) == []


def test_a_file_in_the_place_of_the_folder_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "vault").write_text("x")

    with pytest.raises(VaultRefused):
        LocalVault(tmp_path / "vault").put("a", BytesIO(b"x"))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with disk_of(1 << 20, tmp_path / "disk") as place:
        yield place


def test_a_full_disk_is_a_full_vault_and_one_that_may_not_be_written_refuses(disk: Path) -> None:
    """Neither is a fault of the disk that the memory itself lies on."""
    vault = LocalVault(disk / "vault")
    vault.put("a", BytesIO(b"x"))

    with pytest.raises(VaultFull, match="full"):
        vault.put("b", BytesIO(bytes(2 << 20)))
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(VaultRefused, match="Read-only"):
        vault.put("b", BytesIO(b"x"))
    with pytest.raises(VaultRefused, match="Read-only"):
        vault.delete("a")
    assert names(vault) == ["a"]


def test_replacing_leaves_nothing_but_the_bytes(tmp_path: Path) -> None:
    vault = LocalVault(tmp_path / "vault")
    vault.put("a/b", BytesIO(b"x"))
    vault.replace("a/b", BytesIO(b"y"), vault.stat("a/b").tag)

    assert [path.name for path in tmp_path.rglob("*")] == ["vault", "a", "b"]
    assert (tmp_path / "vault/a/b").stat().st_mode & 0o777 == 0o600


def test_equal_bytes_put_anew_are_other_ones(tmp_path: Path) -> None:
    vault = LocalVault(tmp_path / "vault")
    vault.put("a", BytesIO(b"x"))
    first = vault.stat("a").tag
    vault.delete("a")
    vault.put("b", BytesIO(b"x"))
    vault.put("a", BytesIO(b"x"))

    assert vault.stat("a").tag != first


def test_the_disk_says_how_much_it_takes(tmp_path: Path) -> None:
    disk = os.statvfs(tmp_path)

    free = LocalVault(tmp_path / "vault").state().free
    assert free is not None
    assert 0 <= free <= disk.f_blocks * disk.f_frsize
