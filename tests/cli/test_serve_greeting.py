"""What a person reads who starts the server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
from patience import WAIT_SECONDS


def test_the_greeting_says_where_the_server_and_the_page_are(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "holdfast.cli.main", "serve", "--port", "0", "--data", str(tmp_path / "memory")]
    environment = {**os.environ, "HOLDFAST_EMBEDDER": "none"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as one:
        try:
            assert one.stdout is not None
            said = one.stdout.readline()
            page = re.search(r"http://\S+/viewer", said)
            assert page, said
            assert httpx.get(page[0], timeout=WAIT_SECONDS, trust_env=False).status_code == 200
            assert str(tmp_path / "memory") in said
        finally:
            one.terminate()
