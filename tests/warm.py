"""Commands of Holdfast as processes of their own that need not load it first.

Loading takes 0.6 s of processor time, nine tenths of most commands, and a whole run starts hundreds. So each test process
has one process that loads it once and forks for each command (`starter.py`). The command still has a process of its own,
with its own environment, folder, standard files, signals and exit code; so has a server that it starts in the background. How Holdfast is loaded is the matter of
`tests/cli`; processes behind a tracer, or with variables that Python reads at its start, begin from nothing.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

STARTER = Path(__file__).with_name("starter.py")
COLD = (sys.executable, "-m", "holdfast.cli.main")
# Of what Python and its libraries read when they are loaded.
READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "OMP_", "OPENBLAS_")


class WarmProcess(subprocess.Popen[str]):
    """`subprocess.Popen` of the command with these words, or of `main` of a script. One that is `held` begins with `go`."""

    # Of Popen, which keeps them to itself.
    _close_pipe_fds: Any
    _handle_exitstatus: Any
    _waitpid_lock: Any

    def __init__(self, words: Sequence[str], *, script: Path | None = None, held: bool = False, **given: Any):
        self._script, self._held = script, held
        super().__init__(words, text=True, **given)

    # Their places among the arguments of Popen._execute_child.
    _CWD, _ENVIRON, _PIPES, _SESSION = 5, 6, slice(10, 16), 21

    def _execute_child(self, *given: Any) -> None:
        pipes = given[self._PIPES]
        request = {
            "words": list(given[0]),
            "folder": str(given[self._CWD] or os.getcwd()),
            "environ": dict(os.environ if given[self._ENVIRON] is None else given[self._ENVIRON]),
            "session": given[self._SESSION],
            "held": self._held,
            "script": str(self._script or ""),
        }
        self._status, theirs = socket.socketpair()
        with theirs:
            standard = [ours if end == -1 else end for ours, end in enumerate((pipes[0], pipes[3], pipes[5]))]
            socket.send_fds(_starter(), [json.dumps(request).encode()], [*standard, theirs.fileno()])
        self._close_pipe_fds(*pipes)
        self._child_created = True
        self.pid = int.from_bytes(self._status.recv(4), "little")

    def go(self) -> None:
        self._status.send(b"!")

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        """As os.waitpid: (0, 0) while it runs, then its id and how it ended."""
        if wait_flags & os.WNOHANG and not select.select([self._status], [], [], 0)[0]:
            return 0, 0
        with self._status:
            return self.pid, int.from_bytes(self._status.recv(4), "little")

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(False):
            try:
                if self.returncode is None and (ended := self._try_wait(os.WNOHANG))[0]:
                    self._handle_exitstatus(ended[1])
            finally:
                self._waitpid_lock.release()
        return self.returncode


def start(
    words: Sequence[str], environ: Mapping[str, str], *, prefix: Sequence[str] = (), **pipes: Any
) -> subprocess.Popen[str]:
    """`holdfast` with these words as a process of its own; text goes through its pipes."""
    if prefix or _is_read_at_start(environ):
        return subprocess.Popen([*prefix, *COLD, *words], env=environ, text=True, **pipes)
    return WarmProcess(words, env=environ, **pipes)


def run(
    words: Sequence[str], environ: Mapping[str, str], timeout: float, *, input: str | None = None, **given: Any
) -> subprocess.CompletedProcess[str]:
    """The same once it has ended, with what it wrote."""
    if input is not None:
        given["stdin"] = subprocess.PIPE
    with start(words, environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **given) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def _is_read_at_start(environ: Mapping[str, str]) -> bool:
    """Whether it has variables that make a difference before the command begins."""
    names = {name for name in {*environ, *os.environ} if name.startswith(READ_AT_START)}
    return any(environ.get(name) != os.environ.get(name) for name in names)


@cache
def _starter() -> socket.socket:
    """The way to the starter of this test process, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, str(STARTER), str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
    atexit.register(_end, ours, process)
    return ours


def _end(way: socket.socket, process: subprocess.Popen[bytes]) -> None:
    way.close()
    process.wait()
