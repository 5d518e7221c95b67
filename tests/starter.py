"""The process that loads Holdfast once and forks for each command; `warm.py` asks it to.

A child is as if it had been started by itself: its own environment, folder, standard files, signals and end. Run as
`starter.py DESCRIPTOR`, with the socket on which requests come. It ends when the other side of that is closed.

A server that such a command starts in the background is forked here as well: loading it takes four fifths of its start.
"""

from __future__ import annotations

import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, NoReturn, TypeAlias

import holdfast.cli.command_table
import holdfast.cli.commands.parsers
import holdfast.cli.hook.hook_command
import holdfast.cli.memory_location
import holdfast.cli.options
import holdfast.cli.output.render
import holdfast.serve.run  # noqa: F401
from holdfast.cli.main import main
from holdfast.core.model import Json
from holdfast.local import launcher

Main: TypeAlias = Callable[[list[str]], int]

MOST_BYTES = 1 << 20
SHELL = ["/bin/sh", "-c", launcher._DETACH]
PYTHON = 4  # words before those of the command: the interpreter and its options
_run = subprocess.run


def work_of_a_child(control: socket.socket, launches: socket.socket) -> tuple[Main, list[str]]:
    """Fork for each request. Returns in the children alone, with what they run and its words."""
    children: dict[int, socket.socket] = {}
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([control, launches, woken], [], [])
        if woken in ready:
            woken.recv(4_096)
            _report_ended(children)
        if control in ready:
            request, files = _request(control)
            if not files:
                _end(children)
            status = socket.socket(fileno=files.pop())
        elif launches in ready:
            status, _ = launches.accept()
            request, files = _request(status)
            if not files:  # it was killed before it could say what to launch
                continue
        else:
            continue
        if request["words"][:1] == ["mcp"]:
            import holdfast.serve.mcp.stdio  # noqa: F401 - takes as long again, so only where it is wanted
        run = _main_of(request.get("script", ""))
        if pid := os.fork():
            for file in files:
                os.close(file)
            with suppress(OSError):  # the one who asked may be gone
                status.sendall(pid.to_bytes(4, "little"))
            children[pid] = status
            continue
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if request["held"]:
            status.recv(1)
        for inherited in (control, launches, woken, wake, status, *children.values()):
            inherited.close()
        _become(request, files)
        return run, list(request["words"])


@cache
def _main_of(script: str) -> Main:
    """The command, or `main` of a program of the tests. What that imports is loaded here, once."""
    return runpy.run_path(script, run_name="work")["main"] if script else main


def _request(control: socket.socket) -> tuple[Json, list[int]]:
    message, files, _, _ = socket.recv_fds(control, MOST_BYTES, 4)
    return json.loads(message or b"{}"), files


def _end(children: dict[int, socket.socket]) -> NoReturn:
    """The tests have ended, or were ended: nothing of theirs stays."""
    for child in children:
        os.kill(child, signal.SIGKILL)
    os._exit(0)


def _report_ended(children: dict[int, socket.socket]) -> None:
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with children.pop(pid) as connection, suppress(OSError):
                connection.sendall(status.to_bytes(4, "little"))


def launching(address: bytes) -> Any:
    """`subprocess.run` for the children, which has the starter fork what launcher.py would have a shell start."""

    def run(command: list[str], **given: Any) -> subprocess.CompletedProcess[Any]:
        if command[: len(SHELL)] != SHELL:
            return _run(command, **given)
        log, *server = command[len(SHELL) :]
        request = {"words": server[PYTHON:], "folder": given["cwd"], "environ": dict(given["env"]), "session": True}
        request |= {"held": False, "detached": True}
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as status,
            open(os.devnull, "rb") as nothing,
            open(log, "ab") as kept,
        ):
            status.connect(address)
            files = [nothing.fileno(), kept.fileno(), kept.fileno()]
            socket.send_fds(status, [json.dumps(request).encode()], files)
            pid = int.from_bytes(status.recv(4), "little")
        return subprocess.CompletedProcess(command, 0, f"{pid}\n".encode())

    return run


def _become(request: Json, files: list[int]) -> None:
    """Take over what a process of its own would have been given."""
    if request["session"]:
        os.setsid()
    if request.get("detached"):  # as shells do it
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGQUIT, signal.SIG_IGN)
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
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(f"\0holdfast-starter-{os.getpid()}".encode())  # no file: the name ends with this process
    listening.listen()
    subprocess.run = launching(listening.getsockname())
    run, words = work_of_a_child(socket.socket(fileno=int(sys.argv[1])), listening)
    sys.exit(run(words))
