"""Data folders whose commands start servers in the background; all of them are ended with the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import warm
from patience import WAIT_SECONDS, until
from processes import environment

from holdfast.settings import Settings, load
from holdfast.store.data_folder import DataFolder


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class OpenMemory:
    """A data folder and the commands on it."""

    def __init__(self, folder: Path, **environ: str):
        self.folder = folder
        self.environ = environment(
            HOLDFAST_HOME=str(folder), HOLDFAST_PORT="0", HOLDFAST_DAEMON="on", HOLDFAST_IDLE="5m", **environ
        )

    @property
    def settings(self) -> Settings:
        return load({}, self.environ)

    def run(self, *words: str, check: bool = True, **environ: str) -> subprocess.CompletedProcess[str]:
        done = warm.run(words, {**self.environ, **environ}, 2 * WAIT_SECONDS)
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    def json(self, *words: str, **environ: str) -> Any:
        return json.loads(self.run(*words, "--json", check=True, **environ).stdout)

    def remember(self, text: str, **environ: str) -> str:
        return str(self.json("remember", text, **environ)["memory"]["id"])

    def contents(self, **environ: str) -> set[str]:
        return {one["content"] for one in self.json("memories", **environ)["memories"]}

    def start(self, *words: str, **environ: str) -> subprocess.Popen[str]:
        given = {**self.environ, **environ}
        return warm.start(words, given, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    @property
    def card(self) -> dict[str, Any]:
        card = DataFolder(self.folder).announced()
        assert card is not None, "no server runs"
        return card

    @property
    def is_served(self) -> bool:
        return self.folder.is_dir() and DataFolder(self.folder).announced() is not None

    def is_served_by(self, pid: int) -> bool:
        """Whether that process serves it. A server that a command started may come late and serve for a moment."""
        card = DataFolder(self.folder).announced() if self.folder.is_dir() else None
        return card is not None and card["pid"] == pid

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text()

    def signal(self, number: int) -> int:
        """Send it to the server and wait until it is gone; its process id."""
        pid = int(self.card["pid"])
        os.kill(pid, number)
        until(lambda: not is_alive(pid), "the end of the server")
        return pid

    def end(self) -> None:
        """End what still serves the folder."""
        folder = DataFolder(self.folder)
        while self.folder.is_dir() and folder.is_locked():
            with suppress(ValueError, ProcessLookupError):
                os.kill(int(folder.owner()), signal.SIGKILL)
            time.sleep(0.02)


def finish(processes: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    """Exit code and output of each, once all have ended."""
    found = []
    for process in processes:
        out, err = process.communicate(timeout=2 * WAIT_SECONDS)
        found.append((process.returncode, out, err))
    return found
