"""A PostgreSQL server of the run's own on this machine's disk, with the settings that a small server has in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from postgres_cluster import _BIN, Cluster, cluster

BIN: Path = _BIN  # where its other programs are
# The disk is written to as in use: fsync, full pages and synchronous commits are on.
SETTINGS = (
    "max_connections = 200",
    "shared_buffers = 1GB",
    "max_wal_size = 4GB",
    "checkpoint_timeout = 15min",
    "work_mem = 16MB",
    "maintenance_work_mem = 256MB",
)
DATABASE = "memory"


@contextmanager
def database(settings: Sequence[str] = ()) -> Iterator[Cluster]:
    with cluster((*SETTINGS, *settings)) as made:
        yield made


def create_database(server: Cluster, name: str) -> str:
    """Another database of the server; its address for the role that serves."""
    server.execute(f"CREATE DATABASE {name} OWNER holdfast", database="postgres")
    return server.url(database=name)


def size_of(server: Cluster, name: str = DATABASE) -> int:
    """Bytes of a database on the disk."""
    with psycopg.connect(server.url("postgres", database=name)) as db:
        row = db.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


class Load:
    """Processor time of the database server: its processes that run, and those that ended."""

    def __init__(self, server: Cluster):
        self._postmaster = int((server.data / "postmaster.pid").read_text().split()[0])

    def seconds(self) -> float:
        children = Path(f"/proc/{self._postmaster}/task/{self._postmaster}/children").read_text().split()
        return processor_seconds(self._postmaster, ended=True) + sum(processor_seconds(int(one)) for one in children)


def processor_seconds(pid: int, *, ended: bool = False) -> float:
    """Processor time of a process; with that of its children that ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    own = fields[11:15] if ended else fields[11:13]
    return sum(int(one) for one in own) / 100
