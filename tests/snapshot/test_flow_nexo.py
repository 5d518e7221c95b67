"""Bundles of the earlier system through the command line: verified, and taken over without doubling anything."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import BinaryIO

import pytest
from flows import OLD, READER, STRANGER, Cli, identity_file, recipient, tree
from nexo_bundles import ID, ROWS, bundle

from holdfast.ops.snapshots import nexo
from holdfast.snapshot.bundle.hashed_copy import copy_new

TEXTS = {row[2] for row in ROWS}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    made = Cli(tmp_path / "memory", HOLDFAST_MEMORY_FOLDERS=f"notes={tmp_path / 'notes'}")
    (tmp_path / "notes").mkdir()
    made.remember(OLD)
    return made


def test_a_whole_bundle_is_sound_and_taken_over_once(cli: Cli, tmp_path: Path) -> None:
    path = str(bundle(tmp_path / "old"))
    assert cli.good("snapshot", "verify", path)["sound"]
    done = cli.good("snapshot", "import", path)

    assert (done["imported"], done["refused"]) == (2, [])
    assert cli.texts() == {OLD, *TEXTS}
    assert tree(tmp_path / "notes")[f"imported-{ID}/MEMORY.md"] == b"# Memory\n"
    assert cli.good("snapshot", "list")["snapshots"][0]["createdBy"] == "before-import"
    cli("snapshot", "import", path)
    assert cli.texts() == {OLD, *TEXTS}
    assert cli.good("verify")["sound"]


def test_a_changed_bundle_is_damaged_and_nothing_of_it_is_taken_over(cli: Cli, tmp_path: Path) -> None:
    path = bundle(tmp_path / "old")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    assert cli("snapshot", "verify", str(path)).code == 40
    assert cli("snapshot", "import", str(path)).code == 40
    assert cli.texts() == {OLD}
    assert tree(tmp_path / "notes") == {}


def test_an_encrypted_bundle_needs_its_identity(cli: Cli, tmp_path: Path) -> None:
    path = str(bundle(tmp_path / "old", recipient=recipient(READER)))
    assert cli("snapshot", "import", path).code == 45
    assert cli("snapshot", "import", path, "--identity", identity_file(tmp_path, STRANGER)).code == 45
    assert cli.texts() == {OLD}
    assert cli.good("snapshot", "verify", path, "--identity", identity_file(tmp_path))["sound"]
    cli.good("snapshot", "import", path, "--identity", identity_file(tmp_path))
    assert cli.texts() == {OLD, *TEXTS}


def test_files_that_could_not_all_be_laid_down_are_taken_over_by_the_next_try(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, laid = str(bundle(tmp_path / "old")), []

    def full_after_one(source: BinaryIO, target: Path) -> None:
        if laid:
            raise OSError(errno.ENOSPC, "no room")
        laid.append(target)
        copy_new(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(nexo, "copy_new", full_after_one)
        assert cli("snapshot", "import", path).fault["code"] == "storage_full"
    assert laid
    assert tree(tmp_path / "notes") == {}

    files = cli.good("snapshot", "import", path)["files"]
    assert len(files) > 1
    assert set(tree(tmp_path / "notes")) == {f"imported-{ID}/{name}" for name in files}
