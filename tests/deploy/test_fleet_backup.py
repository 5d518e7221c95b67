"""What docs/fleet.md says of backups: the database back at a moment before a mistake, and a lost one from a snapshot."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import until
from postgres_cluster import Cluster, cluster, restored
from processes import Server, serving, word


@pytest.fixture
def archived() -> Iterator[Cluster]:
    """A server that keeps its log in a folder of its own."""
    with cluster(("archive_mode = on", "archive_command = 'test ! -f log/%f && cp %p log/%f'")) as made:
        folder = made.data / "log"
        folder.mkdir()
        shutil.chown(folder, made.data.owner())
        yield made


@contextmanager
def served(database: Cluster, home: Path, **more: str) -> Iterator[Server]:
    with serving(home, HOLDFAST_STORE=database.url(), **more) as server:
        yield server


def contents(server: Server) -> set[str]:
    return {one["content"] for one in server.get("/memories", limit=500).json()["memories"]}


def remember(server: Server) -> str:
    text = f"the {word()} stands beside the {word()}"
    assert server.remember(text).is_success
    return text


def test_the_database_comes_back_as_it_was_before_a_mistake(archived: Cluster, tmp_path: Path) -> None:
    with served(archived, tmp_path / "one") as server:
        in_backup = remember(server)
        backup = archived.base_backup()
        after_backup = remember(server)
        archived.execute("SELECT pg_create_restore_point('before the mistake')")
        for one in server.get("/memories").json()["memories"]:
            assert server.post("/forget", memoryId=one["id"]).is_success
        assert contents(server) == set()
        archived.execute("SELECT pg_switch_wal()")
        until(lambda: all_archived(archived), "the log is archived")
    with (
        restored(backup, archived.data / "log", "before the mistake") as back,
        served(back, tmp_path / "other") as server,
    ):
        assert contents(server) == {in_backup, after_backup}
        assert server.post("/verify").json()["sound"]
        remember(server)


def all_archived(server: Cluster) -> bool:
    status = server.data / "pg_wal" / "archive_status"
    return not list(status.glob("*.ready")) and bool(list(status.glob("*.done")))


def test_a_lost_database_comes_back_from_the_vault(tmp_path: Path) -> None:
    vault = {"HOLDFAST_VAULT": str(tmp_path / "vault")}
    (tmp_path / "vault").mkdir()
    with cluster() as lost, served(lost, tmp_path / "one", **vault) as server:
        text = remember(server)
        assert server.post("/snapshots").is_success
        assert server.post("/vault/sync").is_success
        remember(server)  # after the snapshot: only the database's own log would have it
    with cluster() as new, served(new, tmp_path / "other", **vault) as server:
        assert contents(server) == {text}
