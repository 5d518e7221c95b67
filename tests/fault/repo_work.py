"""Work in a repository that stands ready, as a program: whoever breaks it at a system call sees what it leaves."""

from __future__ import annotations

from pathlib import Path

from repo_samples import sample_bundle, sample_id, sample_manifest, stage

from holdfast.core.disk import disk_faults
from holdfast.core.errors import Fault
from holdfast.snapshot.bundle.manifest import manifest_bytes
from holdfast.snapshot.remote.transfer import send
from holdfast.snapshot.repo.repository import SnapshotRepository
from holdfast.vault.local import LocalVault

OLD, NEW = 1, 2
FAULT = 3  # the exit code of work that ended with a fault of ours


def put(repo: SnapshotRepository) -> None:
    body = sample_bundle(NEW)
    manifest = sample_manifest(NEW, body)
    with repo.staging(sample_id(NEW)) as staging:
        with disk_faults("stage"):
            path = stage(staging, manifest, body)
        repo.put(path, manifest, manifest_bytes(manifest))


def delete(repo: SnapshotRepository) -> None:
    repo.delete(sample_id(NEW))


def sweep(repo: SnapshotRepository) -> None:
    repo.sweep()


def number(repo: SnapshotRepository) -> None:
    print(repo.next_sequence())


def send_to_vault(repo: SnapshotRepository) -> None:
    send(repo, sample_id(OLD), LocalVault(repo.root.parent / "vault"))


ACTIONS = {"put": put, "delete": delete, "sweep": sweep, "number": number, "send": send_to_vault}


def main(words: list[str]) -> int:
    try:
        ACTIONS[words[0]](SnapshotRepository(Path(words[1])))
    except Fault:
        return FAULT
    return 0
