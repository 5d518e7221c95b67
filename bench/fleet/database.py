"""A PostgreSQL server of the run's own on this machine's disk, with the settings that a small server has in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from postgres_cluster import BIN, Cluster, cluster

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
        running = sum(processor_seconds(one) for one in _children(self._postmaster))
        return processor_seconds(self._postmaster, ended=True) + running


class Meter:
    """Processor time of processes and of the database's sessions, exact enough for one request. It must not be used
    while sessions begin or end."""

    def __init__(self, pids: Sequence[int], server: Cluster | None = None):
        self._pids = pids
        self._postmaster = int((server.data / "postmaster.pid").read_text().split()[0]) if server else 0

    def milliseconds(self) -> float:
        sessions = _children(self._postmaster) if self._postmaster else []
        tasks = (task for pid in (*self._pids, *sessions) for task in Path(f"/proc/{pid}/task").glob("*/schedstat"))
        return sum(_run_time(task) for task in tasks) / 1e6


def sessions(server: Cluster) -> list[float]:
    """The memory of each session of a Holdfast server that it does not share, in megabytes."""
    sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast'"
    with psycopg.connect(server.url("postgres")) as db:
        found = [pid for (pid,) in db.execute(sql)]
    rollups = (Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() for pid in found)
    return [sum(int(line.split()[1]) for line in one if line.startswith("Private_")) / 1024 for one in rollups]


def _run_time(path: Path) -> int:
    """Nanoseconds; 0 of a thread that has ended."""
    try:
        return int(path.read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def processor_seconds(pid: int, *, ended: bool = False) -> float:
    """Processor time of a process; with that of its children that ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    own = fields[11:15] if ended else fields[11:13]
    return sum(int(one) for one in own) / 100
