"""git, run so that nothing in a repository makes it start a program, prompt, wait for ever or answer without end.

A repository's own config can name programs (fsmonitor, filters, external diffs, remotes), so no command here ever
reads one: each runs in a repository of our own making, which at most borrows another's objects. There are no shells,
no hooks, no settings of user or system, no transports. git's messages are not passed on: they may quote memory.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess  # git is the only program started, without a shell
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import disk_fault
from holdfast.core.errors import StorageFull

SECONDS = 900.0
# A list of 150,000 paths of 400 bytes.
OUTPUT = 64_000_000
_COMPLAINT = 64_000
_FULL = (b"No space left on device", b"Out of diskspace", b"Disk quota exceeded")
OID = re.compile(r"[0-9a-f]{40}")

_OPTIONS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.symlinks": "false",
    "core.autocrlf": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    # Several threads divide the work at random, and the same history would give other bytes.
    "pack.threads": "1",
    # Together they keep git below 200 MB whatever a blob's size.
    "pack.windowMemory": "64m",
    "core.bigFileThreshold": "16m",
    "core.deltaBaseCacheLimit": "32m",
}
_ENVIRONMENT = {
    "PATH": os.defpath,
    "HOME": "/nonexistent",
    "XDG_CONFIG_HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
}
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = {bare}\n"


class GitFailed(Exception):
    """git is missing, took too long, wrote too much or refused; the message names the command only."""


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file in the tree of a commit."""

    path: str
    mode: str  # 100644, 100755; 120000 is a link
    blob: str
    size: int


def is_installed() -> bool:
    return shutil.which("git") is not None


class Git:
    """A repository that Holdfast made. `objects` and `work` may belong to another one."""

    def __init__(self, folder: Path, objects: Path | None = None, work: Path | None = None):
        self.folder = folder
        self._environment = {**_ENVIRONMENT, "GIT_DIR": str(folder)}
        if objects is not None:
            self._environment["GIT_OBJECT_DIRECTORY"] = str(objects)
        if work is not None:
            self._environment["GIT_WORK_TREE"] = str(work)
        self._cwd = folder if work is None else work

    @classmethod
    def make(cls, folder: Path, objects: Path | None = None, work: Path | None = None) -> Git:
        """A new repository in that folder, without branches; bare unless it has a working tree."""
        try:
            for inner in ("refs/heads", "refs/tags", "objects/info", "objects/pack", "info"):
                (folder / inner).mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / "HEAD").write_text("ref: refs/heads/main\n")
            (folder / "config").write_text(_CONFIG.format(bare="true" if work is None else "false"))
        except OSError as error:
            raise disk_fault(error, "make a repository") from error
        return cls(folder, objects, work)

    def run(
        self, *words: str, given: bytes | IO[bytes] = b"", limit: int = OUTPUT, also: tuple[int, ...] = ()
    ) -> bytes:
        """What the command writes. `also`: exit codes besides 0 that are answers.

        Raises:
            GitFailed: it failed, or wrote more than the limit.
            StorageFull: it failed because the disk is full.
        """
        with _input(given) as file, self._started(words, file) as process, _StderrReader(process) as complaints:
            assert process.stdout is not None
            answer = process.stdout.read(limit + 1)
            if len(answer) > limit:
                process.kill()
                raise GitFailed(f"git {words[0]}: its output is too long")
            code = process.wait()
        if code != 0 and code not in also:
            complaints.check(words[0])
            raise GitFailed(f"git {words[0]} failed")
        return answer

    @contextmanager
    def _started(self, words: tuple[str, ...], file: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
        program = shutil.which("git")
        if program is None:
            raise GitFailed("git is not installed")
        options = [part for name, value in _OPTIONS.items() for part in ("-c", f"{name}={value}")]
        try:
            process = subprocess.Popen(
                [program, *options, *words],
                cwd=self._cwd,
                env=self._environment,
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise GitFailed("git cannot be started") from error
        timer = threading.Timer(SECONDS, process.kill)
        timer.daemon = True
        timer.start()
        try:
            with process, OnFailure(process.kill):
                yield process
        finally:
            timer.cancel()

    def objects(self) -> Iterator[tuple[str, int, IO[bytes]]]:
        """Kind, size and bytes of every object there is. The bytes must be read to their end before the next.

        Raises:
            GitFailed: the objects cannot all be read.
        """
        words = ("cat-file", "--batch-all-objects", "--buffer", "--batch=%(objecttype) %(objectsize)")
        with _input(b"") as file, self._started(words, file) as process, _StderrReader(process):
            assert process.stdout is not None
            while head := process.stdout.readline(200):
                kind, _, size = head.strip().partition(b" ")
                if not size.isdigit():
                    raise GitFailed("git cat-file failed")
                yield kind.decode("ascii", "replace"), int(size), process.stdout
                if process.stdout.read(1) != b"\n":
                    raise GitFailed("git cat-file failed")
            if process.wait() != 0:
                raise GitFailed("git cat-file failed")

    def blob(self, oid: str, limit: int) -> bytes:
        return self.run("cat-file", "blob", oid, limit=limit)

    def files(self, commit: str) -> tuple[TreeFile, ...]:
        """The files in the tree of a commit, those of submodules left out.

        Raises:
            GitFailed: there is no such tree, or it has far more files than a memory has.
        """
        listed = self.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        found = []
        for line in listed.split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            mode, kind, oid, size = head.split()
            if kind == b"blob":
                found.append(TreeFile(os.fsdecode(path), mode.decode(), oid.decode(), int(size)))
        return tuple(found)

    def subject(self, commit: str) -> str:
        """The first line of a commit's message."""
        return self.run("log", "-1", "--format=%s", commit).decode("utf-8", "replace").strip()

    def set_refs(self, refs: Mapping[str, str]) -> None:
        lines = "".join(f"create {name}\0{oid}\0" for name, oid in sorted(refs.items()))
        self.run("update-ref", "--no-deref", "-z", "--stdin", given=lines.encode())


class _StderrReader:
    """What git writes to standard error, read in parallel so that git never waits; the beginning is kept."""

    def __init__(self, process: subprocess.Popen[bytes]):
        self._process = process
        self._text = b""
        self._reader = threading.Thread(target=self._read, daemon=True)

    def _read(self) -> None:
        assert self._process.stderr is not None
        while piece := self._process.stderr.read(_COMPLAINT):
            self._text = self._text or piece

    def __enter__(self) -> _StderrReader:
        self._reader.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if failure[0] is not None:
            self._process.kill()
        self._reader.join()

    def check(self, command: str) -> None:
        """Raises StorageFull: git reported a full disk; that is no fault of the history."""
        if any(word in self._text for word in _FULL):
            raise StorageFull(f"git {command}: the disk is full")


@contextmanager
def _input(given: bytes | IO[bytes]) -> Iterator[IO[bytes]]:
    """A file to read from: with a pipe both sides could wait for each other."""
    if not isinstance(given, bytes):
        yield given
        return
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        yield file


_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|\.(/|$)|/$")


def is_ref(name: str) -> bool:
    """Whether git takes this as the full name of a branch, a tag or another ref."""
    return name.startswith("refs/") and len(name) < 1_000 and not _BAD_REF.search(name) and name.isprintable()
