"""Snapshots to a vault and back: whole or not at all, tried again without harm, and nothing foreign taken in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import pytest
from repo_samples import AGENT, TENANT, files_of, names_on, put_sample, sample_bundle, sample_id, sample_manifest, stage

from holdfast.core.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    SnapshotDamaged,
    SnapshotForeign,
    UpstreamFailed,
    VaultRefused,
)
from holdfast.core.ports import Upload
from holdfast.snapshot.bundle.manifest import manifest_bytes
from holdfast.snapshot.remote.transfer import fetch, list_vault, send
from holdfast.snapshot.repo.paths import repo_folder, sidecar
from holdfast.snapshot.repo.repository import SnapshotRepository
from holdfast.vault.local import LocalVault
from holdfast.vault.sequential_put import put_each
from holdfast.vault.wrapper import VaultWrapper

PREFIX = f"{TENANT}/{AGENT}/"


@pytest.fixture
def repo(tmp_path: Path) -> SnapshotRepository:
    return SnapshotRepository(repo_folder(tmp_path / "one", TENANT, AGENT))


@pytest.fixture
def other(tmp_path: Path) -> SnapshotRepository:
    return SnapshotRepository(repo_folder(tmp_path / "two", TENANT, AGENT))


@pytest.fixture
def vault(tmp_path: Path) -> LocalVault:
    return LocalVault(tmp_path / "vault")


class Failing(VaultWrapper):
    """A vault whose network ends after so many puts; it notes their order."""

    def __init__(self, vault: LocalVault, puts: int):
        super().__init__(vault)
        self.puts = puts
        self.order: list[str] = []

    def put(self, name: str, data: BinaryIO) -> None:
        if len(self.order) >= self.puts:
            raise UpstreamFailed("vault: the network is gone")
        super().put(name, data)
        self.order.append(name)

    def put_all(self, parcels: Sequence[Upload]) -> None:
        put_each(self, parcels)


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
def test_what_is_sent_is_fetched_elsewhere(
    repo: SnapshotRepository, other: SnapshotRepository, vault: LocalVault, encrypted: bool
) -> None:
    put_sample(repo, 1, size=3_000_000, encrypted=encrypted)
    send(repo, sample_id(1), vault)

    fetched = fetch(vault, TENANT, AGENT, sample_id(1), other)
    assert fetched.damaged is None
    assert fetched.manifest == repo.find("latest").manifest
    assert fetched.path.read_bytes() == sample_bundle(1, 3_000_000)
    assert {name.removeprefix(PREFIX) for name in _names(vault)} == files_of(1, encrypted=encrypted)
    assert [(one.id, one.damaged, one.size) for one in list_vault(vault, TENANT, AGENT)] == [
        (sample_id(1), None, fetched.size)
    ]


def _names(vault: LocalVault) -> list[str]:
    return [one.name for one in vault.list()]


def test_the_newest_is_fetched_if_no_id_is_given(
    repo: SnapshotRepository, other: SnapshotRepository, vault: LocalVault
) -> None:
    for sequence in (9, 10, 2):
        put_sample(repo, sequence)
        send(repo, sample_id(sequence), vault)

    assert [one.sequence for one in list_vault(vault, TENANT, AGENT)] == [10, 9, 2]
    assert fetch(vault, TENANT, AGENT, None, other).sequence == 10
    assert other.next_sequence() == 11


def test_the_manifest_is_sent_last(repo: SnapshotRepository, vault: LocalVault) -> None:
    put_sample(repo, 1)
    noting = Failing(vault, 4)
    send(repo, sample_id(1), noting)

    assert noting.order[-1] == f"{PREFIX}{sample_id(1)}.manifest.json"
    assert len(noting.order) == 4


@pytest.mark.parametrize("puts", [0, 1, 2, 3])
def test_an_interrupted_send_shows_nothing_and_is_taken_up_again(
    repo: SnapshotRepository, other: SnapshotRepository, vault: LocalVault, puts: int
) -> None:
    put_sample(repo, 1)
    with pytest.raises(UpstreamFailed):
        send(repo, sample_id(1), Failing(vault, puts))
    assert list_vault(vault, TENANT, AGENT) == []
    with pytest.raises(NotFound):
        fetch(vault, TENANT, AGENT, None, other)

    again = Failing(vault, 4)
    send(repo, sample_id(1), again)
    assert len(again.order) == 4 - puts
    assert fetch(vault, TENANT, AGENT, None, other).damaged is None
    send(repo, sample_id(1), Failing(vault, 0))


@pytest.mark.parametrize("suffix", [".tar.zst", ".tar.zst.sha256", ".manifest.json", ".manifest.json.sha256"])
def test_other_bytes_in_the_vault_are_a_conflict(repo: SnapshotRepository, vault: LocalVault, suffix: str) -> None:
    put_sample(repo, 1)
    vault.put(f"{PREFIX}{sample_id(1)}{suffix}", BytesIO(b"somebody's"))

    with pytest.raises(Conflict):
        send(repo, sample_id(1), vault)


def test_a_damaged_snapshot_is_not_sent(repo: SnapshotRepository, vault: LocalVault) -> None:
    stored = put_sample(repo, 1)
    stored.path.write_bytes(b"X" + sample_bundle(1)[1:])

    with pytest.raises(SnapshotDamaged):
        send(repo, sample_id(1), vault)
    assert _names(vault) == []


def _spoil(vault: LocalVault, suffix: str, data: bytes | None) -> None:
    name = f"{PREFIX}{sample_id(1)}{suffix}"
    vault.delete(name)
    if data is not None:
        vault.put(name, BytesIO(data))


@pytest.mark.parametrize("suffix", [".tar.zst", ".tar.zst.sha256", ".manifest.json", ".manifest.json.sha256"])
def test_spoilt_files_in_the_vault_do_not_reach_the_repository(
    repo: SnapshotRepository, other: SnapshotRepository, vault: LocalVault, suffix: str
) -> None:
    put_sample(repo, 1)
    send(repo, sample_id(1), vault)
    name = f"{PREFIX}{sample_id(1)}{suffix}"
    with vault.open(name) as stream:
        whole = stream.read()
    changed = [
        None,
        b"",
        whole[:-1],
        whole + b"\n",
        *(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] for at in (0, len(whole) // 2, len(whole) - 1)),
    ]
    for data in changed:
        _spoil(vault, suffix, data)
        with pytest.raises((SnapshotDamaged, NotFound) if suffix == ".manifest.json" else SnapshotDamaged):
            fetch(vault, TENANT, AGENT, sample_id(1), other)
        assert other.list() == []
    _spoil(vault, suffix, whole)
    assert fetch(vault, TENANT, AGENT, sample_id(1), other).damaged is None


def test_a_bundle_larger_than_its_manifest_says_is_refused_before_it_is_read(
    repo: SnapshotRepository, other: SnapshotRepository, vault: LocalVault
) -> None:
    put_sample(repo, 1)
    send(repo, sample_id(1), vault)
    _spoil(vault, ".tar.zst", bytes(5_000_000))

    with pytest.raises(SnapshotDamaged):
        fetch(vault, TENANT, AGENT, None, other)
    assert not other.root.exists()


def test_what_lies_in_the_wrong_place_is_foreign(other: SnapshotRepository, vault: LocalVault, tmp_path: Path) -> None:
    """Somebody put another memory's snapshot where this one's are looked for."""
    bundle = sample_bundle(1)
    manifest = sample_manifest(1, bundle, agent="somebody")
    data = manifest_bytes(manifest)
    name = f"{sample_id(1)}.manifest.json"
    files = {
        manifest.bundle_name: bundle,
        f"{manifest.bundle_name}.sha256": sidecar(manifest.bundle_sha256, manifest.bundle_name),
        name: data,
        f"{name}.sha256": sidecar(sha256(data).hexdigest(), name),
    }
    for file, content in files.items():
        vault.put(f"{PREFIX}{file}", BytesIO(content))

    with pytest.raises(SnapshotForeign):
        fetch(vault, TENANT, AGENT, None, other)
    assert not other.root.exists()


def test_fetching_again_changes_nothing(repo: SnapshotRepository, other: SnapshotRepository, vault: LocalVault) -> None:
    put_sample(repo, 1)
    send(repo, sample_id(1), vault)
    first = fetch(vault, TENANT, AGENT, None, other)
    before = names_on(other)

    assert fetch(vault, TENANT, AGENT, None, other) == first
    assert names_on(other) == before


def test_another_snapshot_of_the_same_id_is_not_replaced(
    repo: SnapshotRepository, other: SnapshotRepository, vault: LocalVault
) -> None:
    put_sample(repo, 1)
    send(repo, sample_id(1), vault)
    bundle = b"another"
    manifest = replace(sample_manifest(1, bundle), tools=(("holdfast", "9"),))
    with other.staging() as staging:
        other.put(stage(staging, manifest, bundle), manifest, manifest_bytes(manifest))

    with pytest.raises(Conflict):
        fetch(vault, TENANT, AGENT, None, other)
    assert other.find("latest").manifest == manifest


def test_memories_do_not_see_each_others_snapshots(
    repo: SnapshotRepository, other: SnapshotRepository, vault: LocalVault
) -> None:
    put_sample(repo, 1)
    send(repo, sample_id(1), vault)

    for tenant, agent in ((TENANT, ""), (TENANT, "quil"), ("", AGENT), (TENANT, f"{AGENT}/"), ("acme/quill", "")):
        assert list_vault(vault, tenant, agent) == []
        with pytest.raises(NotFound):
            fetch(vault, tenant, agent, None, other)


def test_only_ids_are_fetched(other: SnapshotRepository, vault: LocalVault) -> None:
    for id in ("../../x", "latest", ""):
        with pytest.raises(InvalidRequest):
            fetch(vault, TENANT, AGENT, id, other)


def test_a_vault_that_is_not_reachable_is_a_fault_not_an_empty_one(other: SnapshotRepository, tmp_path: Path) -> None:
    with pytest.raises(VaultRefused):
        fetch(LocalVault(tmp_path / "not" / "mounted"), TENANT, AGENT, None, other)
