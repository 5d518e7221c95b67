"""Start the server of a data folder in the background. Standard library only: hooks import this at every start.

It only starts the process. The lock of the folder decides which of several servers serves; the others end quietly.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress

LOG = "server.log"
OLD_LOG = "server.log.1"
LOG_BYTES = 1_000_000

# Shells in which web applications are developed have it; a server that the user did not start must not take that port.
_OTHERS_PORT = "PORT"

# The shell ends at once and leaves the server to init: no caller has to wait for it or is left with a dead child.
_DETACH = '"$@" >>"$0" 2>&1 </dev/null & echo $!'


def launch_server(home: str | None, environ: Mapping[str, str]) -> int:
    """Start a server for the folder, apart from this process, and return its process id without waiting for it.

    Without `home`, the environment names the folder, or it is the usual one.

    Raises:
        OSError: the folder or its log cannot be written, or no process can be started.
    """
    import subprocess  # 10 ms, and most hooks find a server

    folder = os.path.abspath(os.path.expanduser(home or environ.get("HOLDFAST_HOME", "").strip() or "~/.holdfast"))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    log = _open_log(folder)
    # -P: without it Python would look for modules in the folder that it is started in.
    server = [sys.executable, "-P", "-m", "holdfast.cli.main", "serve", "--on-demand", "--json", "--data", folder]
    done = subprocess.run(
        ["/bin/sh", "-c", _DETACH, log, *server],
        cwd=folder,
        env={name: value for name, value in environ.items() if name != _OTHERS_PORT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        check=False,
    )
    if not done.stdout.strip().isdigit():
        raise OSError("the server could not be started")
    return int(done.stdout)


def log_size(home: str) -> int:
    """How long the log is now: what a server that is started next logs comes after it."""
    try:
        return os.stat(os.path.join(home, LOG)).st_size
    except OSError:
        return 0


def log_since(home: str, start: int) -> str:
    """What was written to the log since it had that length; the end of it, if that is much."""
    try:
        with open(os.path.join(home, LOG), "rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(start if start <= end else 0, end - LOG_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _open_log(folder: str) -> str:
    """The path of the log, which is there, not too long, and readable by its owner only."""
    path = os.path.join(folder, LOG)
    with suppress(FileNotFoundError):
        if os.stat(path).st_size > LOG_BYTES:
            os.replace(path, os.path.join(folder, OLD_LOG))
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.close(handle)
    return path
