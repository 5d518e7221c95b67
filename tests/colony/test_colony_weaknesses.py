"""Weaknesses A to Z that were found in colony-memory 0.1.1: each has tests here that would fail if it came back."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import colony_memory
import pytest
from colony_sdk import ColonyRateLimitError, ColonyServerError
from colony_server import KEY, Colony, hang_up, status
from mem_vault import MemVault
from planted import ME, OLD, OLDER, STRANGER, change, noise, plant
from rows import each
from world import CountingEntropy, StillClock

from holdfast.colony import (
    ColonyDamaged,
    ColonyInvalid,
    ColonyMemory,
    ColonyMemoryError,
    ColonyRateLimited,
    ColonyUnreachable,
    ColonyUntrusted,
    QuotaExceeded,
    SnapshotNotFound,
)
from holdfast.colony.colony_client import VaultClient
from holdfast.core.system import SystemClock


def raising(error: Exception, doing: str, part: str = "") -> Callable[[str, str], None]:
    def hook(step: str, name: str) -> None:
        if step == doing and part in name:
            raise error

    return hook


SERVER_DOWN = ColonyServerError("down", status=500, response={})


# A: every read error was "not found", and the agent began with an empty memory


@pytest.mark.parametrize("step", ["list", "get"])
def test_weakness_a_a_failing_vault_is_not_an_empty_one(vault: MemVault, step: str) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "1"})
    vault.hook = raising(SERVER_DOWN, step)

    with pytest.raises(ColonyUnreachable) as caught:
        memory.restore()

    assert not isinstance(caught.value, SnapshotNotFound)


@pytest.mark.parametrize("error", [KeyError("access_token"), TimeoutError(), ValueError("bad json"), RuntimeError()])
def test_weakness_a_whatever_a_client_raises_is_not_an_absence(vault: MemVault, error: Exception) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "1"})
    vault.hook = raising(error, "get")

    with pytest.raises(ColonyUnreachable):
        memory.restore()


def test_weakness_a_over_http_a_500_is_unreachable_and_a_404_of_a_listed_file_no_absence(colony: Colony) -> None:
    memory = ColonyMemory(KEY, base_url=colony.url)
    memory.backup({"a": "1"})

    colony.fail("GET", "/vault/files", status(500))
    with pytest.raises(ColonyUnreachable):
        memory.restore()

    colony.fail("GET", ".manifest.json", status(404), times=99)
    with pytest.raises(ColonyMemoryError) as caught:
        memory.restore()
    assert not isinstance(caught.value, SnapshotNotFound)


def test_weakness_a_a_dead_host_is_unreachable(colony: Colony) -> None:
    client = VaultClient(KEY, SystemClock(), colony.url, sleep=lambda seconds: None)
    memory = ColonyMemory(backend=client)
    memory.backup({"a": "1"})
    colony.fail("GET", "/vault/files", hang_up, times=99)

    with pytest.raises(ColonyUnreachable):
        memory.restore()


def test_weakness_a_without_a_key_there_is_no_memory_to_ask() -> None:
    with pytest.raises(ColonyInvalid):
        ColonyMemory()


def test_weakness_a_an_empty_vault_is_an_absence(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)

    with pytest.raises(SnapshotNotFound):
        memory.restore()
    assert memory.latest() is None
    assert memory.list_snapshots() == []


# B: an unsigned forgery was taken although a signer was set


@pytest.mark.parametrize("signature", ["absent", None, {}, "", 0, []])
def test_weakness_b_an_unsigned_snapshot_is_refused_where_a_signer_is_set(vault: MemVault, signature: Any) -> None:
    plant(vault, {"a": "EVIL"}, OLD)
    if signature != "absent":
        change(vault, vault.one("manifest"), lambda fields: fields.update(signature=signature))

    with pytest.raises(ColonyUntrusted):
        ColonyMemory(backend=vault, signer=ME).restore()


def test_weakness_b_a_signature_that_is_there_must_hold_even_if_none_is_asked_for(vault: MemVault) -> None:
    plant(vault, {"a": "1"}, OLD, signer=ME)
    change(vault, vault.one("manifest"), lambda fields: fields.update(created_at="2027-01-01T00:00:00Z"))

    with pytest.raises(ColonyUntrusted):
        ColonyMemory(backend=vault).restore()
    assert ColonyMemory(backend=vault).restore(verify=False) == {"a": "1"}


# C: any key was taken


def test_weakness_c_a_foreign_key_is_refused(vault: MemVault) -> None:
    plant(vault, {"a": "EVIL"}, OLD, signer=STRANGER)

    with pytest.raises(ColonyUntrusted):
        ColonyMemory(backend=vault, signer=ME).restore()
    with pytest.raises(ColonyUntrusted):
        ColonyMemory(backend=vault, trusted=[ME.did_key]).restore()
    assert ColonyMemory(backend=vault, trusted=[STRANGER.did_key]).restore() == {"a": "EVIL"}


def test_weakness_c_trusting_nobody_is_not_trusting_everybody(vault: MemVault) -> None:
    plant(vault, {"a": "1"}, OLD, signer=STRANGER)

    with pytest.raises(ColonyUntrusted):
        ColonyMemory(backend=vault, trusted=[]).restore()


@each("did", ["did:key:z111" + ME.did_key[9:], ME.did_key + "\n", "did:web:x", ""])
def test_weakness_c_a_key_has_one_spelling(did: str) -> None:
    with pytest.raises(ColonyInvalid):
        ColonyMemory(backend=MemVault(), trusted=[did])


# D: an old snapshot, or another's, was given for the one asked for


def test_weakness_d_a_pointer_set_back_does_not_bring_back_an_old_snapshot(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    first = memory.backup({"a": "old"})
    memory.backup({"a": "new"})

    change(vault, "cmem.default.latest.json", lambda fields: fields.update(snapshot_id=first.snapshot_id))

    assert memory.restore() == {"a": "new"}


def test_weakness_d_one_snapshot_is_not_given_for_another(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault, signer=ME)
    first, second = memory.backup({"a": "1"}), memory.backup({"a": "2"})
    name = "cmem.default.{}.manifest.json".format
    vault.files[name(second.snapshot_id)] = vault.files[name(first.snapshot_id)]

    with pytest.raises(ColonyDamaged):
        memory.restore(snapshot_id=second.snapshot_id)


def test_weakness_d_one_label_is_not_given_for_another(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault, signer=ME)
    memory.backup({"a": "of a"}, label="a")
    for name, text in list(vault.files.items()):
        vault.files[name.replace("cmem.a.", "cmem.b.")] = text

    with pytest.raises(ColonyDamaged):
        memory.restore(label="b")


# E: parts were joined unseen


@pytest.mark.parametrize(
    "edit",
    [
        {"seq": 1},
        {"seq": "0"},
        {"seq": False},
        {"snapshot_id": OLDER},
        {"format": "colony-memory/2"},
        {"b64": None},
        {"b64": ["a"]},
    ],
)
def test_weakness_e_a_part_that_is_not_the_part_is_refused(vault: MemVault, edit: dict[str, Any]) -> None:
    plant(vault, {"a": "1"}, OLD)
    change(vault, vault.one(".p0."), lambda fields: fields.update(edit))

    with pytest.raises(ColonyDamaged):
        ColonyMemory(backend=vault).restore()


@pytest.mark.parametrize("junk", ["\n", " ", "!", "é", "="])
def test_weakness_e_base64_with_junk_in_it_is_refused(vault: MemVault, junk: str) -> None:
    plant(vault, {"a": "1"}, OLD)
    change(vault, vault.one(".p0."), lambda fields: fields.update(b64=junk + fields["b64"]))
    change(vault, vault.one("manifest"), lambda fields: fields.update(blob_chars=fields["blob_chars"] + 1))

    with pytest.raises(ColonyDamaged):
        ColonyMemory(backend=vault).restore()


# F: what the manifest said was not compared with what was there


@pytest.mark.parametrize(
    "edit",
    [
        {"part_count": 2},
        {"part_count": 0, "part_files": []},
        {"part_count": True},
        {"part_count": 10**9},
        {"byte_size": 12},
        {"byte_size": 10**6},
        {"byte_size": "9"},
        {"byte_size": -1},
        {"blob_chars": 4},
        {"codec": "none"},
        {"codec": None},
        {"doc_names": ["b"]},
        {"doc_names": ["a", "a"]},
        {"doc_names": [1]},
        {"doc_names": "a"},
        {"plaintext_sha256": "sha256:" + "0" * 64},
        {"plaintext_sha256": None},
        {"part_files": ["my-diary.md"]},
        {"created_at": 5},
        {"snapshot_id": OLDER},
        {"label": "other"},
        {"format": "colony-memory/2"},
        {"sealed_sha256": "sha256:" + "0" * 64},
    ],
)
def test_weakness_f_a_manifest_that_lies_is_refused(vault: MemVault, edit: dict[str, Any]) -> None:
    plant(vault, {"a": "1"}, OLD)
    change(vault, vault.one("manifest"), lambda fields: fields.update(edit))

    with pytest.raises(ValueError, match=r"."):
        ColonyMemory(backend=vault).restore()


# G: a small part unpacked to as much as it liked


def _bomb(vault: MemVault, declared: int, actual: int) -> None:
    plain = b'{"a":"' + b"x" * (actual - 8) + b'"}'
    blob = base64.b64encode(gzip.compress(plain)).decode()
    vault.files[f"cmem.default.{OLD}.p0.json"] = json.dumps(
        {"format": "colony-memory/1", "snapshot_id": OLD, "seq": 0, "b64": blob}
    )
    plant_manifest = {
        "format": "colony-memory/1", "snapshot_id": OLD, "label": "default", "created_at": "", "codec": "gzip+base64",
        "doc_names": ["a"], "plaintext_sha256": "sha256:" + hashlib.sha256(plain).hexdigest(), "part_count": 1,
        "part_files": [f"cmem.default.{OLD}.p0.json"], "byte_size": declared, "blob_chars": len(blob),
    }  # fmt: skip
    vault.files[f"cmem.default.{OLD}.manifest.json"] = json.dumps(plant_manifest)


def test_weakness_g_no_more_is_unpacked_than_the_manifest_declares(vault: MemVault) -> None:
    _bomb(vault, declared=12, actual=30_000_000)
    memory = ColonyMemory(backend=vault)

    tracemalloc.start()
    with pytest.raises(ColonyDamaged):
        memory.restore()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 3_000_000


def test_weakness_g_what_is_declared_has_a_limit_too(vault: MemVault) -> None:
    _bomb(vault, declared=2_000_000, actual=2_000_000)

    with pytest.raises(ColonyDamaged):
        ColonyMemory(backend=vault, most_bytes=1_999_999).restore()
    assert len(ColonyMemory(backend=vault, most_bytes=2_000_000).restore()["a"]) == 2_000_000 - 8


def test_weakness_g_the_limit_is_256_mb_unless_set(vault: MemVault) -> None:
    _bomb(vault, declared=256 * 1024 * 1024 + 1, actual=1_000)

    with pytest.raises(ColonyDamaged, match="the limit is 268435456"):
        ColonyMemory(backend=vault).restore()


# H: values that are no texts were handed out


@pytest.mark.parametrize(
    "plain", [b'{"a":2}', b'{"a":null}', b'{"a":["x"]}', b"[]", b'"a"', b"{", b"\xff", b'{"a":"\\ud800"}']
)
def test_weakness_h_only_texts_by_name_are_handed_out(vault: MemVault, plain: bytes) -> None:
    plant(vault, {"a": "1"}, OLD)
    blob = base64.b64encode(gzip.compress(plain)).decode()
    sha = "sha256:" + hashlib.sha256(plain).hexdigest()
    change(vault, vault.one(".p0."), lambda fields: fields.update(b64=blob))
    sizes = {"byte_size": len(plain), "blob_chars": len(blob), "plaintext_sha256": sha}
    change(vault, vault.one("manifest"), lambda fields: fields.update(sizes))

    with pytest.raises(ColonyDamaged):
        ColonyMemory(backend=vault).restore()


# I: damage came out as eight different exceptions


@pytest.mark.parametrize(
    "text", ["", "{", "null", "[]", "5", '"x"', "[" * 100_000, "{}", '{"a":NaN}', "\ud800", "x" * 2_000_000]
)
@pytest.mark.parametrize("file", ["manifest", ".p0."])
def test_weakness_i_damage_is_always_the_same_kind_of_fault(vault: MemVault, file: str, text: str) -> None:
    plant(vault, {"a": "1"}, OLD)
    vault.files[vault.one(file)] = text

    with pytest.raises(ColonyMemoryError) as caught:
        ColonyMemory(backend=vault).restore()

    assert isinstance(caught.value, ValueError)
    assert not isinstance(caught.value, SnapshotNotFound)


# J: one malformed manifest broke listing, pruning and backup


def test_weakness_j_a_malformed_manifest_does_not_hide_the_others(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    plant(vault, {"a": "1"}, OLDER, label="other")
    change(vault, vault.one("manifest"), lambda fields: fields.update(part_count="abc", doc_names=5, signature=7))
    info = memory.backup({"a": "2"}, prune_keep=1)

    assert [one.snapshot_id for one in memory.list_snapshots()] == [info.snapshot_id]
    assert memory.prune(label="default") == 0
    assert [(one.snapshot_id, one.label) for one in memory.refused_snapshots()] == [(OLDER, "other")]


def test_weakness_j_a_malformed_newest_is_told_and_not_passed_over(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    first, second = memory.backup({"a": "1"}), memory.backup({"a": "2"})
    vault.files[f"cmem.default.{second.snapshot_id}.manifest.json"] = "{"

    with pytest.raises(ColonyDamaged):
        memory.restore()
    assert memory.restore(snapshot_id=first.snapshot_id) == {"a": "1"}


# K: orphans were never cleaned


def test_weakness_k_pruning_cleans_what_unfinished_backups_left(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "1"})
    vault.files[f"cmem.default.{OLD}.p0.json"] = "leftover"
    vault.files[f"cmem.default.{OLD}.p1.json"] = "leftover"
    vault.files[f"cmem.other.{OLD}.p0.json"] = "of another label"

    memory.prune(label="default")

    assert vault.names(OLD) == [f"cmem.other.{OLD}.p0.json"]
    assert memory.restore() == {"a": "1"}


def test_weakness_k_a_backup_that_prunes_cleans_what_is_older_than_an_hour(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault, clock=StillClock(), entropy=CountingEntropy())
    vault.files[f"cmem.default.{OLD}.p0.json"] = "leftover"
    fresh = "20260921T133000000000Z-cccccc"  # three minutes ago: another writer may be at it
    vault.files[f"cmem.default.{fresh}.p0.json"] = "being written"

    memory.backup({"a": "1"}, prune_keep=3)

    assert vault.names(OLD) == []
    assert vault.names(fresh) == [f"cmem.default.{fresh}.p0.json"]


def test_weakness_k_a_vault_with_orphans_only_is_freed(vault: MemVault) -> None:
    vault.files[f"cmem.default.{OLD}.p0.json"] = "leftover"
    memory = ColonyMemory(backend=vault)

    with pytest.raises(SnapshotNotFound):
        memory.restore()
    memory.prune(label="default")

    assert vault.files == {}


# L, M: the quota was not looked at first, or not wholly


def test_weakness_l_a_first_backup_that_cannot_fit_writes_nothing(vault: MemVault) -> None:
    with pytest.raises(QuotaExceeded):
        ColonyMemory(backend=vault).backup({"a": noise(16_000_000)})

    assert vault.done == []


def test_weakness_m_the_pointer_is_planned_for(vault: MemVault) -> None:
    """There is room for parts and manifest, to the byte, and none for the pointer."""
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "1"})
    pointer = len(vault.files.pop("cmem.default.latest.json"))
    two_files = vault.used

    for room in (two_files, two_files + pointer - 1):
        tight = MemVault(quota=room)
        tight.provisioned = True
        with pytest.raises(QuotaExceeded):
            ColonyMemory(backend=tight).backup({"a": "1"})
        assert tight.done == []

    just = MemVault(quota=two_files + pointer)
    just.provisioned = True
    ColonyMemory(backend=just).backup({"a": "1"})
    assert just.used == two_files + pointer


# N: a full vault could not be rotated


@pytest.fixture
def small() -> MemVault:
    """A vault of 2 MB: the first backups fill it as 9 MB do the real one."""
    made = MemVault(quota=2_000_000)
    made.provisioned = True
    return made


def test_weakness_n_a_full_vault_rotates(small: MemVault) -> None:
    memory = ColonyMemory(backend=small)
    for day in range(4):
        memory.backup({"day": noise(2_400_000, day)}, prune_keep=1)

        assert memory.restore() == {"day": noise(2_400_000, day)}
        assert len(memory.list_snapshots()) == 1


def test_weakness_n_nothing_goes_before_it_must(small: MemVault) -> None:
    """Two of three fit: the oldest goes first, and the newest stays until the new one is there."""
    memory = ColonyMemory(backend=small)
    for day in range(3):
        memory.backup({"day": noise(1_200_000, day)}, prune_keep=2)

    assert [memory.restore(snapshot_id=one.snapshot_id) for one in memory.list_snapshots()] == [
        {"day": noise(1_200_000, day)} for day in (2, 1)
    ]


def test_weakness_n_without_leave_to_prune_a_full_vault_stays_as_it_is(small: MemVault) -> None:
    memory = ColonyMemory(backend=small)
    memory.backup({"day": noise(2_400_000)})
    before = dict(small.files)

    with pytest.raises(QuotaExceeded):
        memory.backup({"day": noise(2_400_000, 2)})

    assert small.files == before


def test_weakness_n_what_cannot_fit_anyway_deletes_nothing(small: MemVault) -> None:
    memory = ColonyMemory(backend=small)
    memory.backup({"day": "1"})
    before = dict(small.files)

    with pytest.raises(QuotaExceeded):
        memory.backup({"day": noise(4_000_000)}, prune_keep=1)

    assert small.files == before


# O: a manifest could be larger than a file may be


def test_weakness_o_a_manifest_over_1_mb_is_refused_before_anything_is_written(vault: MemVault) -> None:
    documents = {f"{number:040}.md": "" for number in range(30_000)}

    with pytest.raises(QuotaExceeded):
        ColonyMemory(backend=vault).backup(documents)

    assert vault.done == []


# P: pruning with an unreadable pointer deleted the live snapshot


@pytest.mark.parametrize("pointer", ["{", "[]", '{"snapshot_id": 5}', None])
def test_weakness_p_pruning_never_deletes_the_newest_whatever_the_pointer_says(
    vault: MemVault, pointer: str | None
) -> None:
    memory = ColonyMemory(backend=vault)
    for number in range(3):
        memory.backup({"a": str(number)})
    if pointer is None:
        del vault.files["cmem.default.latest.json"]
    else:
        vault.files["cmem.default.latest.json"] = pointer

    assert memory.prune(label="default", keep=1) == 2

    assert memory.restore() == {"a": "2"}


def test_weakness_p_a_pointer_to_what_is_pruned_names_the_newest_then(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    first = memory.backup({"a": "1"})
    memory.backup({"a": "2"})
    change(vault, "cmem.default.latest.json", lambda fields: fields.update(snapshot_id=first.snapshot_id))

    memory.prune(label="default", keep=1)

    assert colony_memory.ColonyMemory(backend=vault).restore() == {"a": "2"}


# Q: deletions that failed were counted


def test_weakness_q_a_deletion_that_fails_is_told(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    infos = [memory.backup({"a": str(number)}) for number in range(3)]
    vault.hook = raising(SERVER_DOWN, "delete")

    with pytest.raises(ColonyUnreachable):
        memory.prune(label="default", keep=1)
    with pytest.raises(ColonyUnreachable):
        memory.delete_snapshot(label="default", snapshot_id=infos[0].snapshot_id)


def test_weakness_q_a_file_that_is_gone_already_is_no_failure(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    first = memory.backup({"a": "1"})
    memory.backup({"a": "2"})

    def gone(step: str, name: str) -> None:
        if step == "delete":
            vault.files.pop(name, None)  # another one was faster

    vault.hook = gone

    memory.delete_snapshot(label="default", snapshot_id=first.snapshot_id)
    memory.delete_snapshot(label="default", snapshot_id="never-was")
    assert vault.names(first.snapshot_id) == []


# R: parts went before their manifest


def test_weakness_r_a_deletion_cut_short_leaves_no_broken_snapshot(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": noise(3_000_000)})
    memory.backup({"a": "2"})
    limit = iter([None, ColonyRateLimitError("slow", status=429, response={}, retry_after=60)])

    def hook(step: str, name: str) -> None:
        if step == "delete" and (error := next(limit)):
            raise error

    vault.hook = hook
    with pytest.raises(ColonyRateLimited):
        memory.prune(label="default", keep=1)

    assert [one.reason for one in memory.refused_snapshots()] == []
    assert len(memory.list_snapshots()) == 1
    vault.hook = lambda step, name: None
    memory.prune(label="default", keep=1)
    assert len(vault.files) == 3, "and the next pruning finds the rest"


def test_weakness_r_changes_are_planned_for_the_hour(colony: Colony) -> None:
    """Two parts: 4 changes to store, 3 to delete. Nine backups are 60, and a tenth would be refused halfway."""
    colony.changes_per_hour = 60
    memory = ColonyMemory(KEY, base_url=colony.url)
    for day in range(9):
        memory.backup({"day": noise(1_500_000, day)}, prune_keep=1)
    with pytest.raises(ColonyRateLimited) as caught:
        memory.backup({"day": noise(1_500_000)}, prune_keep=1)

    assert colony.changes <= 60, "the limit was planned for, and not run into"
    assert "nothing was changed" in str(caught.value)
    assert 0 < caught.value.details["retry_after"] <= 3601  # type: ignore[operator]
    assert memory.refused_snapshots() == []
    assert memory.restore()


def test_weakness_r_changes_count_for_an_hour_only(colony: Colony) -> None:
    clock = StillClock()
    memory = ColonyMemory(backend=VaultClient(KEY, clock, colony.url), clock=clock)
    for _ in range(20):
        memory.backup({"a": "1"})
    with pytest.raises(ColonyRateLimited):
        memory.backup({"a": "1"})
    with pytest.raises(ColonyRateLimited):
        memory.prune(label="default", keep=1)

    clock.now += 3_600_000

    memory.backup({"a": "1"})


# S, T: what to delete was taken from the manifest


@pytest.mark.parametrize("manifest", ["{", "gone"])
def test_weakness_s_a_snapshot_with_an_unreadable_manifest_is_deleted_whole(vault: MemVault, manifest: str) -> None:
    plant(vault, {"a": noise(3_000_000)}, OLD)
    name = vault.one("manifest")
    if manifest == "gone":
        del vault.files[name]
    else:
        vault.files[name] = manifest

    ColonyMemory(backend=vault).delete_snapshot(label="default", snapshot_id=OLD)

    assert vault.files == {}


def test_weakness_t_a_manifest_does_not_say_what_is_deleted(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    plant(vault, {"a": "1"}, OLD)
    vault.files["my-diary.md"] = "dear diary"
    change(vault, vault.one("manifest"), lambda fields: fields["part_files"].append("my-diary.md"))
    memory.backup({"a": "2"}, prune_keep=1)
    memory.delete_snapshot(label="default", snapshot_id=OLD)

    assert vault.names(OLD) == []
    assert vault.files["my-diary.md"] == "dear diary"


# U: writers raced


def test_weakness_u_an_older_writer_that_finishes_last_does_not_become_the_latest(colony: Colony) -> None:
    """B begins first and is overtaken by A between its manifest and its pointer."""
    a, b = (ColonyMemory(KEY, base_url=colony.url) for _ in "ab")

    def overtake(name: str) -> None:
        if name.endswith("latest.json"):
            colony.before_put = lambda name: None
            colony.lock.release()  # the server answers A while B's request waits
            other = threading.Thread(target=lambda: a.backup({"by": "A"}, prune_keep=1))
            other.start()
            other.join()
            colony.lock.acquire()

    colony.before_put = overtake
    b.backup({"by": "B"})

    assert colony_memory.ColonyMemory(KEY, base_url=colony.url).restore() == {"by": "A"}
    assert a.restore() == b.restore() == {"by": "A"}


def test_weakness_u_files_are_never_overwritten_by_another_writer(colony: Colony) -> None:
    ColonyMemory(KEY, base_url=colony.url).backup({"a": "1"})

    conditions = [one.headers.get("if-none-match") for one in colony.asked("PUT")]
    assert conditions == ["*", "*", "*"]
    ColonyMemory(KEY, base_url=colony.url).backup({"a": "2"})
    *files, pointer = colony.asked("PUT")[3:]
    assert [one.headers.get("if-none-match") for one in files] == ["*", "*"]
    assert pointer.headers.get("if-match")


def test_weakness_u_parts_that_a_pruning_took_for_leftovers_are_stored_again(vault: MemVault) -> None:
    memory, other = ColonyMemory(backend=vault), ColonyMemory(backend=vault)
    once = iter([True])

    def prune_elsewhere(step: str, name: str) -> None:
        if step == "put" and name.endswith("manifest.json") and next(once, False):
            other.prune(label="default")

    vault.hook = prune_elsewhere
    memory.backup({"a": "1"})

    assert memory.restore() == {"a": "1"}


# V: the order was that of the hosts' clocks


def test_weakness_v_a_new_snapshot_is_the_newest_even_if_this_clock_is_behind(vault: MemVault) -> None:
    future = "20991231T235959999999Z-ffffff"
    plant(vault, {"a": "from the future"}, future)
    memory = ColonyMemory(backend=vault)

    info = memory.backup({"a": "now"}, prune_keep=1)

    assert info.snapshot_id > future
    assert memory.restore() == {"a": "now"}
    assert vault.names(future) == []


def test_weakness_v_the_last_moment_that_can_be_written_is_told(vault: MemVault) -> None:
    plant(vault, {"a": "1"}, "99991231T235959999999Z-ffffff")

    with pytest.raises(ColonyMemoryError, match="9999"):
        ColonyMemory(backend=vault).backup({"a": "2"})


# W: keep was not checked


@pytest.mark.parametrize("keep", [0, -1, -2, 1.5, "1", True])
def test_weakness_w_keep_must_be_a_number_from_1(vault: MemVault, keep: Any) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "1"})
    before = dict(vault.files)

    with pytest.raises(ColonyInvalid):
        memory.prune(label="default", keep=keep)
    with pytest.raises(ColonyInvalid):
        memory.backup({"a": "2"}, prune_keep=keep)

    assert vault.files == before


# X: a listing in pages was taken for whole after the first


@pytest.mark.parametrize("by", ["cursor", "offset"])
def test_weakness_x_all_pages_of_a_listing_are_read(colony: Colony, by: str) -> None:
    colony.page, colony.paged_by = 2, by
    memory = ColonyMemory(KEY, base_url=colony.url)
    for number in range(4):
        memory.backup({"a": str(number)})

    assert len(memory.list_snapshots()) == 4
    assert memory.restore() == {"a": "3"}


def test_weakness_x_a_backend_that_pages_by_cursor_is_followed() -> None:
    class Paged(MemVault):
        def vault_list_files(self, cursor: str | None = None) -> dict[str, Any]:
            items = super().vault_list_files()["items"]
            start = int(cursor or 0)
            following = str(start + 1) if start + 1 < len(items) else None
            return {"items": items[start : start + 1], "total": len(items), "next_cursor": following}

    memory = ColonyMemory(backend=Paged())
    memory.backup({"a": "1"})
    memory.backup({"a": "2"})

    assert len(memory.list_snapshots()) == 2


@pytest.mark.parametrize("more", [{"has_more": True}, {"next_cursor": "2"}, {"total": 99}])
def test_weakness_x_a_part_of_a_listing_is_not_taken_for_the_whole(vault: MemVault, more: dict[str, Any]) -> None:
    class Cut(MemVault):
        def vault_list_files(self) -> dict[str, Any]:
            return {**super().vault_list_files(), **more}

    with pytest.raises(ColonyUnreachable):
        ColonyMemory(backend=Cut()).restore()


# Y: different labels became one


@pytest.mark.parametrize("label", ["ä", "日本", "-", "!", "…"])
def test_weakness_y_a_label_of_which_nothing_is_left_is_refused(vault: MemVault, label: str) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "of default"})

    with pytest.raises(ColonyInvalid):
        memory.backup({"a": "of another"}, label=label)
    with pytest.raises(ColonyInvalid):
        memory.restore(label=label)
    assert memory.restore() == {"a": "of default"}


@pytest.mark.parametrize(
    ("first", "second"), [("My Label", "my.label"), ("My Label", "my-label"), ("my-label", "My Label")]
)
def test_weakness_y_a_label_does_not_become_another_by_losing_characters(
    vault: MemVault, first: str, second: str
) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": "of the first"}, label=first)

    with pytest.raises(ColonyInvalid):
        memory.backup({"a": "of the second"}, label=second)

    assert memory.restore(label=first) == {"a": "of the first"}


def test_weakness_y_another_process_with_the_same_state_notices_too(vault: MemVault, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    ColonyMemory(backend=vault, state=state).backup({"a": "1"}, label="My Label")

    for use in (
        lambda memory: memory.backup({"a": "2"}, label="my.label"),
        lambda memory: memory.restore(label="my.label"),
        lambda memory: memory.latest(label="my.label"),
        lambda memory: memory.prune(label="my.label"),
        lambda memory: memory.delete_snapshot(label="my.label", snapshot_id=OLD),
    ):
        with pytest.raises(ColonyInvalid):
            use(ColonyMemory(backend=vault, state=state))
    again = ColonyMemory(backend=vault, state=state)
    assert again.restore(label=" MY LABEL ") == again.restore(label="my-label") == {"a": "1"}


def test_weakness_y_the_note_of_earlier_versions_in_a_pointer_still_counts(vault: MemVault) -> None:
    ColonyMemory(backend=vault).backup({"a": "1"}, label="My Label")
    change(vault, "cmem.my-label.latest.json", lambda fields: fields.update(label_given="my label"))

    with pytest.raises(ColonyInvalid):
        ColonyMemory(backend=vault).restore(label="my.label")
    assert ColonyMemory(backend=vault).restore(label="My Label") == {"a": "1"}


# Z: nothing was encrypted, and names were in the clear


def test_weakness_z_an_encrypted_snapshot_shows_neither_texts_nor_names(vault: MemVault) -> None:
    import pyrage

    identity = pyrage.x25519.Identity.generate()
    memory = ColonyMemory(backend=vault, recipients=[str(identity.to_public())], identities=[str(identity)])
    documents = {"secret-name.md": "the secret text"}

    memory.backup(documents)

    stored = "".join(vault.files.values())
    digest = hashlib.sha256(json.dumps(documents, separators=(",", ":")).encode()).hexdigest()
    assert "secret" not in stored
    assert digest not in stored, "a guess could be tried against it"
    assert memory.restore() == documents
