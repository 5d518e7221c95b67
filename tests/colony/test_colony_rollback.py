"""A vault that was set back to an older state is refused by a client that has seen the newer one."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import colony_memory
import pytest
from mem_vault import MemVault

from holdfast.colony import ColonyMemory, Ed25519Signer, SnapshotNotFound
from holdfast.core.errors import ColonyDamaged, ColonyInvalid

ME = Ed25519Signer(bytes(range(32)))


def memory_of(vault: MemVault, state: Path | None = None) -> ColonyMemory:
    return ColonyMemory(backend=vault, signer=ME, state=state)


def set_back(vault: MemVault) -> dict[str, str]:
    """Two snapshots, of which the second is then taken away with its pointer; the files as they were before that."""
    writer = memory_of(vault)
    writer.backup({"a": "1"})
    old = dict(vault.files)
    writer.backup({"a": "2"})
    new = dict(vault.files)
    vault.files = old
    return new


def test_one_process_refuses_a_vault_set_back_under_it(vault: MemVault) -> None:
    new = set_back(vault)
    old, vault.files = vault.files, new
    memory = memory_of(vault)
    assert memory.restore() == {"a": "2"}
    vault.files = old

    with pytest.raises(ColonyDamaged, match="set back"):
        memory.restore()
    with pytest.raises(ColonyDamaged, match="set back"):
        memory.latest()
    vault.files = new
    assert memory.restore() == {"a": "2"}


@pytest.mark.parametrize("seen_by", ["backup", "restore", "latest", "list_snapshots"])
def test_the_next_process_refuses_it_with_a_state_file(vault: MemVault, tmp_path: Path, seen_by: str) -> None:
    state = tmp_path / "state" / "colony.json"
    new = set_back(vault)
    old, vault.files = vault.files, new
    first = memory_of(vault, state)
    if seen_by == "backup":
        first.backup({"a": "3"})
    else:
        getattr(first, seen_by)()
    vault.files = old

    with pytest.raises(ColonyDamaged, match="set back"):
        memory_of(vault, state).restore()
    assert memory_of(vault).restore() == {"a": "1"}, "a client that has seen nothing cannot know"
    assert state.stat().st_mode & 0o077 == 0


def test_an_emptied_vault_is_not_taken_for_a_new_one(vault: MemVault, tmp_path: Path) -> None:
    state = tmp_path / "colony.json"
    memory_of(vault, state).backup({"a": "1"})
    vault.files = {}

    with pytest.raises(ColonyDamaged, match="there is none now"):
        memory_of(vault, state).restore()
    with pytest.raises(SnapshotNotFound):
        memory_of(vault).restore()


def test_an_older_snapshot_can_be_named_and_a_deletion_elsewhere_be_accepted(vault: MemVault, tmp_path: Path) -> None:
    state = tmp_path / "colony.json"
    memory = memory_of(vault, state)
    first, second = memory.backup({"a": "1"}), memory.backup({"a": "2"})
    memory_of(vault).delete_snapshot(label="default", snapshot_id=second.snapshot_id)

    with pytest.raises(ColonyDamaged):
        memory.restore()
    assert memory.restore(snapshot_id=first.snapshot_id) == {"a": "1"}
    assert memory.restore(verify=False) == {"a": "1"}
    memory.forget_newest()
    assert memory_of(vault, state).restore() == {"a": "1"}


def test_what_this_client_deletes_itself_is_no_setting_back(vault: MemVault, tmp_path: Path) -> None:
    memory = memory_of(vault, tmp_path / "colony.json")
    first, second = memory.backup({"a": "1"}), memory.backup({"a": "2"})

    memory.delete_snapshot(label="default", snapshot_id=second.snapshot_id)
    assert memory.restore() == {"a": "1"}

    memory.delete_snapshot(label="default", snapshot_id=first.snapshot_id)
    with pytest.raises(SnapshotNotFound):
        memory.restore()


def test_a_backup_into_a_vault_set_back_comes_after_all_that_was_seen(vault: MemVault, tmp_path: Path) -> None:
    state = tmp_path / "colony.json"
    memory = memory_of(vault, state)
    memory.backup({"a": "1"})
    old = dict(vault.files)
    seen = memory.backup({"a": "2"})
    vault.files = old

    third = memory_of(vault, state).backup({"a": "3"})

    assert third.snapshot_id > seen.snapshot_id
    assert memory_of(vault, state).restore() == {"a": "3"}


def test_snapshots_that_must_not_be_used_do_not_count_as_seen(vault: MemVault) -> None:
    memory = memory_of(vault)
    memory.backup({"a": "1"})
    kept = dict(vault.files)
    colony_memory.ColonyMemory(backend=vault).backup({"a": "forged"})
    memory.list_snapshots()
    vault.files = kept

    assert memory.restore() == {"a": "1"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "other"}', '{"format": "holdfast-colony-state/1"}'])
def test_a_state_file_that_is_none_is_refused_and_left_as_it_is(vault: MemVault, tmp_path: Path, text: str) -> None:
    state = tmp_path / "colony.json"
    state.write_text(text)

    with pytest.raises(ColonyInvalid):
        memory_of(vault, state)
    assert state.read_text() == text


def _see(state: Path, label: str, ids: list[str]) -> None:
    from holdfast.colony.state import ClientState

    for id in ids:
        ClientState(state).saw(label, id)


def test_processes_that_share_a_state_file_lose_nothing_of_it(tmp_path: Path) -> None:
    from holdfast.colony.state import ClientState

    state = tmp_path / "colony.json"
    ids = [f"20260619T0516438942{number:02}Z-74ec50" for number in range(20)]
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_see, args=(state, f"label-{which % 2}", ids[which::4])) for which in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert [worker.exitcode for worker in workers] == [0] * 4
    assert ClientState(state).newest("label-0") == ids[18]
    assert ClientState(state).newest("label-1") == ids[19]
