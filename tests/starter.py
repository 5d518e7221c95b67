"""The process that loads Holdfast once and forks for each command; `warm.py` asks it to.

A child is as if it had been started by itself: its own environment, folder, standard files, signals and end. Run as
`starter.py DESCRIPTOR`, with the socket on which requests come. It ends when the other side of that is closed.
"""

from __future__ import annotations

import gc
import io
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress

import holdfast.cli.command_table
import holdfast.cli.commands.parsers
import holdfast.cli.hook.hook_command
import holdfast.cli.memory_location
import holdfast.cli.options
import holdfast.cli.output.render
import holdfast.serve.run  # noqa: F401
from holdfast.cli.main import main
from holdfast.core.model import Json

MOST_BYTES = 1 << 20


def words_of_a_child(control: socket.socket) -> list[str]:
    """Fork for each request. Returns in the children alone, with the words of their command."""
    children: dict[int, socket.socket] = {}
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([control, woken], [], [])
        if woken in ready:
            woken.recv(4_096)
            _report_ended(children)
        if control not in ready:
            continue
        request, files = _request(control)
        if not files:  # the tests have ended, or were ended: nothing of theirs stays
            for child in children:
                os.kill(child, signal.SIGKILL)
            os._exit(0)
        status = socket.socket(fileno=files.pop())
        if request["words"][:1] == ["mcp"]:
            import holdfast.serve.mcp.stdio  # noqa: F401 - takes as long again, so only where it is wanted
        if pid := os.fork():
            for file in files:
                os.close(file)
            status.sendall(pid.to_bytes(4, "little"))
            children[pid] = status
            continue
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if request["held"]:
            status.recv(1)
        for inherited in (control, woken, wake, status, *children.values()):
            inherited.close()
        _become(request, files)
        return list(request["words"])


def _request(control: socket.socket) -> tuple[Json, list[int]]:
    message, files, _, _ = socket.recv_fds(control, MOST_BYTES, 4)
    return json.loads(message or b"{}"), files


def _report_ended(children: dict[int, socket.socket]) -> None:
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with children.pop(pid) as connection, suppress(OSError):  # the one who asked may be gone
                connection.sendall(status.to_bytes(4, "little"))


def _become(request: Json, files: list[int]) -> None:
    """Take over what a process of its own would have been given."""
    if request["session"]:
        os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    tempfile.tempdir = None
    sys.argv = ["holdfast", *request["words"]]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    gc.freeze()  # pages of what is loaded stay shared with the children
    sys.exit(main(words_of_a_child(socket.socket(fileno=int(sys.argv[1])))))
