"""`holdfast move`: all tenants of one store into another one, with their tokens."""

from __future__ import annotations

import argparse
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from holdfast.cli.output.progress import progress
from holdfast.core.disk import disk_faults, user_path
from holdfast.core.errors import Conflict, Fault, InvalidRequest
from holdfast.core.model import Json
from holdfast.store.data_folder import FolderLock
from holdfast.store.engines import is_database, preview_of, source_of, target_of
from holdfast.store.move.move_run import Move, Progress, plan_of
from holdfast.store.move.stage import Staging

STAGE = ".move"


def move(given: argparse.Namespace) -> Json:
    """What was moved, or with --dry-run what would be.

    Raises:
        InvalidRequest: both addresses name one store.
        Conflict: the target is not empty, and --yes was not passed.
    """
    source, target = given.source, given.target
    if _identity(source) == _identity(target):
        raise InvalidRequest("move: --from and --to name the same store")
    ends = {"from": shown(source), "to": shown(target)}
    with _bar() as report:
        if given.dry_run:
            with tempfile.TemporaryDirectory(prefix="holdfast-move-") as scratch:
                return {"dryRun": True, **ends, **_preview(source, target, Path(scratch), report)}
        with _stage(source, target) as stage:
            return {"success": True, **ends, **_moved(source, target, stage, report, replace=given.yes)}


def _preview(source: str, target: str, scratch: Path, report: Progress) -> Json:
    there = scratch / "target"
    there.mkdir()
    with _named("--from"), closing(source_of(source, scratch)) as origin:
        with _named("--to"):
            view = preview_of(target, there)
        with closing(view):
            plan = plan_of(origin, view, Staging(scratch), report)
        tenants = [{"tenant": one.tenant, "change": one.state, "records": origin.records(one.tenant)} for one in plan]
    return {"tenants": tenants}


def _moved(source: str, target: str, stage: Path, report: Progress, *, replace: bool) -> Json:
    with _named("--from"):
        origin = source_of(source, stage)
    with closing(origin):
        with _named("--to"):
            destination = target_of(target, stage)
        with closing(destination):
            done = Move(origin, destination, Staging(stage), report).run(replace=replace)
    return {"tenants": done.tenants, "unchanged": done.unchanged, "records": done.rows, "verified": True}


@contextmanager
def _named(option: str) -> Iterator[None]:
    """Faults name the side that they are about: there are two stores."""
    try:
        yield
    except Fault as fault:
        if not fault.message.startswith("--"):
            fault.message = f"{option}: {fault.message}"
        raise


@contextmanager
def _stage(source: str, target: str) -> Iterator[Path]:
    """A folder for files on the way, which stays if the move can go on later: beside the target's own files, or a
    temporary one that the same two addresses find again."""
    if is_database(target):
        name = blake2b(f"{_identity(source)}\n{_identity(target)}".encode(), digest_size=8).hexdigest()
        folder = Path(tempfile.gettempdir()) / f"holdfast-move-{os.getuid()}-{name}"
    else:
        folder = user_path(target, "--to") / STAGE
    with disk_faults(f"make {folder}"):
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise Conflict(f"move: {folder} exists and is not a private folder of this user", hint="Remove it.")
    with FolderLock(folder):  # one move at a time between the same two stores
        try:
            yield folder
        except Fault as fault:
            if not fault.retryable:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)


def _identity(address: str) -> str:
    """The same for the same store, as far as the address shows. A schema may be named among the options."""
    if not is_database(address):
        return str(user_path(address, "move").resolve())
    options = [pair for pair in parse_qsl(urlsplit(address).query) if "pass" not in pair[0]]
    return f"{shown(address)}?{urlencode(options)}"


def shown(address: str) -> str:
    """An address for people: without the password, and without options, which may hold one too."""
    if not is_database(address):
        return address
    parts = urlsplit(address)
    user, _, hosts = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return f"{parts.scheme}://{f'{name}@' if name else ''}{hosts}{parts.path}"


@contextmanager
def _bar() -> Iterator[Progress]:
    with progress() as bar:
        task = bar.add_task("move", total=None)

        def report(step: str, tenant: str, done: int, count: int) -> None:
            bar.update(task, description=f"{step} {tenant[:40]}", completed=done, total=count)

        yield report
