"""A server that is told to stop ends, whatever its threads are at."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from patience import WAIT_SECONDS, until
from processes import environment, verify

from holdfast.store.data_folder import DataFolder

# A thread of the server that never ends, as one that waits for a vault.
STUCK = """
import sys, threading
from holdfast.serve import app, run
from holdfast.settings import load
run.END_SECONDS = 1.0
app.SpoolIntake.stop = lambda self: threading.Event().wait()
run.RunningServer(load({"home": sys.argv[1], "port": 0}), own_process=True).run()
"""


def test_a_process_whose_thread_does_not_end_ends_all_the_same(tmp_path: Path) -> None:
    home = tmp_path / "m"
    server = subprocess.Popen([sys.executable, "-c", STUCK, str(home)], env=environment())
    try:
        until((home / "server.json").exists, "the server")
        server.send_signal(signal.SIGTERM)
        assert server.wait(WAIT_SECONDS) == 0
    finally:
        server.kill()
        server.wait()
    assert not DataFolder(home).is_locked()
    verify(home)


def test_a_server_that_is_ending_leads_no_caller_to_its_port(tmp_path: Path) -> None:
    home = tmp_path / "m"
    script = STUCK.replace("run.END_SECONDS = 1.0", "run.END_SECONDS = 3600.0")
    server = subprocess.Popen([sys.executable, "-c", script, str(home)], env=environment())
    try:
        until((home / "server.json").exists, "the server")
        assert json.loads((home / "server.json").read_text())["pid"] == server.pid
        os.kill(server.pid, signal.SIGTERM)
        until(lambda: not (home / "server.json").exists(), "the card to go")
        assert server.poll() is None
    finally:
        server.kill()
        server.wait()
