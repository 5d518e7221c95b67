"""What is restored, what is listed, what is deleted, and what is refused: the promises of the API beyond the format."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import colony_memory
import pytest
from colony_server import KEY, Colony
from mem_vault import MemVault
from planted import ME, OLD, OLDER, STRANGER, change, noise, plant
from rows import each

from holdfast.colony import (
    ColonyConflict,
    ColonyDamaged,
    ColonyInvalid,
    ColonyMemory,
    ColonyMemoryError,
    ColonyRateLimited,
    ColonyUnknown,
    SnapshotInfo,
    SnapshotNotFound,
)

# The API


@each(
    "name",
    ["backup", "restore", "list_snapshots", "latest", "prune", "delete_snapshot", "status", "to_progenly_export"],
)
def test_a_method_takes_what_the_original_takes(name: str) -> None:
    ours = inspect.signature(getattr(ColonyMemory, name)).parameters
    theirs = inspect.signature(getattr(colony_memory.ColonyMemory, name)).parameters

    assert [(one.name, one.default, one.kind) for one in ours.values()] == [
        (one.name, one.default, one.kind) for one in theirs.values()
    ]


def test_a_memory_is_made_as_the_original_is_and_takes_trusted_too() -> None:
    ours = inspect.signature(ColonyMemory).parameters
    theirs = inspect.signature(colony_memory.ColonyMemory).parameters

    assert list(ours)[:5] == [*theirs, "trusted"]
    assert all(ours[name].default == theirs[name].default and ours[name].kind == theirs[name].kind for name in theirs)


def test_exceptions_are_related_as_in_the_original() -> None:
    assert issubclass(ColonyMemoryError, RuntimeError)
    assert issubclass(SnapshotNotFound, ColonyMemoryError)
    assert not issubclass(SnapshotNotFound, ValueError)


def test_without_the_sdk_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "colony_sdk", None)
    monkeypatch.delitem(sys.modules, "holdfast.colony.colony_client", raising=False)

    with pytest.raises(ColonyMemoryError) as caught:
        ColonyMemory(KEY)

    assert "holdfast[colony]" in caught.value.hint


def test_any_object_with_the_five_methods_will_do() -> None:
    class Bare:
        """Names only in its listing, envelopes around its answers, KeyError for what is missing."""

        def __init__(self) -> None:
            self.files: dict[str, str] = {}

        def vault_status(self) -> Any:
            return {"result": {}}

        def vault_list_files(self) -> Any:
            return {"result": {"files": list(self.files)}}

        def vault_get_file(self, filename: str) -> Any:
            return {"result": {"content": self.files[filename]}}

        def vault_upload_file(self, filename: str, content: str) -> Any:
            self.files[filename] = content

        def vault_delete_file(self, filename: str) -> Any:
            del self.files[filename]

    memory = ColonyMemory(backend=Bare())
    for number in range(3):
        memory.backup({"a": str(number)}, prune_keep=2)

    assert memory.restore() == {"a": "2"}
    assert len(memory.list_snapshots()) == 2


@each("answer", [None, [], "files", {"items": "x"}, {"items": [5]}, {"items": [{}]}, {}])
def test_a_listing_that_is_none_is_not_an_empty_one(answer: Any) -> None:
    class Odd(MemVault):
        def vault_list_files(self) -> Any:
            return answer

    memory = ColonyMemory(backend=Odd())
    expected = SnapshotNotFound if answer == [] else ColonyMemoryError

    with pytest.raises(expected) as caught:
        memory.restore()

    assert isinstance(caught.value, SnapshotNotFound) is (answer == [])


# Restore


def test_the_newest_complete_snapshot_is_restored(vault: MemVault) -> None:
    writer = ColonyMemory(backend=vault)
    writer.backup({"a": "1"})
    second = writer.backup({"a": "2"})
    del vault.files[f"cmem.default.{second.snapshot_id}.p0.json"]
    memory = ColonyMemory(backend=vault)

    assert memory.restore() == {"a": "1"}
    latest = memory.latest()
    assert latest is not None
    assert memory.list_snapshots() == [latest]
    [refused] = memory.refused_snapshots()
    assert (refused.snapshot_id, refused.reason) == (second.snapshot_id, "1 of its parts are missing")
    with pytest.raises(ColonyDamaged):
        memory.restore(snapshot_id=second.snapshot_id)


def test_an_unfinished_backup_is_not_a_snapshot(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "1"})
    vault.files["cmem.default.20990101T000000000000Z-aaaaaa.p0.json"] = "{}"

    assert memory.restore() == {"a": "1"}
    with pytest.raises(ColonyDamaged):
        memory.restore(snapshot_id="20990101T000000000000Z-aaaaaa")


def test_a_pointer_to_a_snapshot_that_is_gone_is_damage(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "1"})
    for name in vault.names("Z-"):
        del vault.files[name]

    with pytest.raises(ColonyDamaged):
        memory.restore()
    with pytest.raises(ColonyDamaged):
        memory.latest()


@pytest.mark.parametrize("id", ["", "x", "../../etc/passwd", OLD])
def test_an_id_that_is_not_there_is_an_absence(vault: MemVault, id: str) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "1"})

    with pytest.raises(SnapshotNotFound):
        memory.restore(snapshot_id=id)


def test_a_snapshot_that_is_rotated_away_while_it_is_read_makes_way_for_the_next(vault: MemVault) -> None:
    memory, other = ColonyMemory(backend=vault), ColonyMemory(backend=vault)
    memory.backup({"a": "1"})
    once = iter([True])

    def rotate(step: str, name: str) -> None:
        if step == "get" and ".p0." in name and next(once, False):
            other.backup({"a": "2"}, prune_keep=1)

    vault.hook = rotate

    assert memory.restore() == {"a": "2"}


def test_files_that_go_each_time_they_are_read_are_a_conflict(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "1"})

    def swap(step: str, name: str) -> None:
        if step == "get" and ".manifest." in name:
            vault.files[name.replace("manifest", "p0")] = vault.files.pop(name)
        elif step == "list":
            for part in vault.names(".p0."):
                vault.files[part.replace("p0", "manifest")] = vault.files[part]

    vault.hook = swap

    with pytest.raises(ColonyConflict):
        memory.restore()


def test_a_format_of_a_later_version_is_told_and_kept(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    plant(vault, {"a": "1"}, OLD)
    change(vault, vault.one("manifest"), lambda fields: fields.update(format="colony-memory/2"))

    with pytest.raises(ColonyUnknown):
        memory.restore()
    memory.backup({"a": "2"}, prune_keep=1)
    assert len(vault.names(OLD)) == 2


def test_a_signer_for_one_backup_signs_that_one(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)

    info = memory.backup({"a": "1"}, signer=ME)

    assert (info.signed, info.issuer) == (True, ME.did_key)
    assert ColonyMemory(backend=vault, trusted=[ME.did_key]).restore() == {"a": "1"}


def test_what_is_known_of_a_backup_is_what_is_listed(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault, signer=ME)

    info = memory.backup({"b": "2", "a": "1"}, label="work")

    assert isinstance(info, SnapshotInfo)
    assert [info] == memory.list_snapshots() == memory.list_snapshots(label="work")
    assert memory.latest(label="work") == info
    assert memory.list_snapshots(label="other") == []
    assert info.doc_names == ["a", "b"]


def test_a_pointer_to_what_never_was_does_not_stand_in_the_way(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "1"})
    future = "20990101T000000000000Z-aaaaaa"
    change(vault, "cmem.default.latest.json", lambda fields: fields.update(snapshot_id=future))

    memory.backup({"a": "2"})

    assert colony_memory.ColonyMemory(backend=vault).restore() == {"a": "2"}


# Pruning


def test_pruning_keeps_the_newest_and_counts_what_it_deleted(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    infos = [memory.backup({"a": noise(1_500_000, number)}) for number in range(4)]

    assert memory.prune(label="default", keep=2) == 2

    assert memory.list_snapshots() == [infos[3], infos[2]]
    assert len(vault.files) == 2 * 3 + 1


def test_pruning_leaves_other_labels_and_other_files_alone(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    vault.files["notes.md"] = "mine"
    vault.files["cmem.default.notes.json"] = "mine too"
    for label in ("default", "default-2"):
        for number in range(2):
            memory.backup({"a": str(number)}, label=label)

    assert memory.prune(label="default", keep=1) == 1

    assert len(memory.list_snapshots(label="default-2")) == 2
    assert vault.files["notes.md"] == "mine"
    assert vault.files["cmem.default.notes.json"] == "mine too"


def test_pruning_leaves_what_another_signer_wrote(vault: MemVault) -> None:
    plant(vault, {"a": "theirs"}, OLD, signer=STRANGER)
    plant(vault, {"a": "nobody's"}, OLDER)
    memory = ColonyMemory(backend=vault, signer=ME)
    for number in range(2):
        memory.backup({"a": str(number)}, prune_keep=1)

    assert memory.prune(label="default", keep=1) == 0
    assert len(vault.names(OLD)) == len(vault.names(OLDER)) == 2
    assert memory.restore() == {"a": "1"}


def test_a_forgery_does_not_push_the_own_snapshots_out(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault, signer=ME)
    mine = [memory.backup({"a": str(number)}) for number in range(2)]
    plant(vault, {"a": "EVIL"}, "20990101T000000000000Z-aaaaaa")

    assert memory.prune(label="default", keep=2) == 0

    assert memory.list_snapshots() == [mine[1], mine[0]]


def test_pruning_without_a_complete_snapshot_deletes_none(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": noise(1_500_000)})
    del vault.files[vault.one(".p1.")]

    assert memory.prune(label="default", keep=1) == 0
    assert len(vault.names("Z-")) == 2


def test_broken_snapshots_go_once_there_is_a_newer_complete_one(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    plant(vault, {"a": "1"}, OLD)
    vault.files[vault.one("manifest")] = "{"
    memory.backup({"a": "2"})

    assert memory.prune(label="default", keep=5) == 1
    assert vault.names(OLD) == []


# The hour's limit, used up by somebody else


@pytest.mark.parametrize(("used", "left"), [(60, {"a": "1"}), (61, {"a": "1"}), (62, {"a": "2"})])
def test_a_limit_that_others_used_up_loses_nothing(colony: Colony, used: int, left: dict[str, str]) -> None:
    """The vault takes none, one or two more changes: the part, the manifest, and not the pointer."""
    memory = ColonyMemory(KEY, base_url=colony.url)
    memory.backup({"a": "1"})
    colony.changes, colony.changes_per_hour = 60, used

    with pytest.raises(ColonyRateLimited) as caught:
        memory.backup({"a": "2"})

    assert caught.value.details["retry_after"] == 1800
    assert ("stored" in caught.value.details) is (left == {"a": "2"})
    assert memory.restore() == left
    assert memory.refused_snapshots() == []


def test_two_labels_have_their_own_latest(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "work"}, label="work")
    memory.backup({"a": "home"}, label="home")

    assert memory.restore(label="work") == {"a": "work"}
    assert memory.restore(label="home") == {"a": "home"}
    with pytest.raises(SnapshotNotFound):
        memory.restore()


@pytest.mark.parametrize("label", [5, b"x", "x" * 201])
def test_a_label_must_be_a_text_that_fits_into_a_name(vault: MemVault, label: Any) -> None:
    with pytest.raises(ColonyInvalid):
        ColonyMemory(backend=vault).backup({"a": "1"}, label=label)
