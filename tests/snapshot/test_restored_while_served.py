"""A restore while the server runs: what it leaves behind is let go, as a new user would see it from outside."""

from __future__ import annotations

import json
import time
from pathlib import Path

from processes import WAIT_SECONDS, Server, run, serving


def open_files(server: Server) -> str:
    """The paths that the server has open."""
    return "\n".join(str(one.resolve()) for one in Path(f"/proc/{server.pid}/fd").iterdir())


def test_the_files_of_the_generation_before_are_closed(tmp_path: Path) -> None:
    """Otherwise its memory and, once it is dropped, its disk would be lost until the next start."""
    home = tmp_path / "memory"
    with serving(home) as server:
        server.remember("granite of the quarry")
        assert len(server.found("granite")) == 1
        id = json.loads(run(home, "snapshot", "create").stdout)["id"]
        assert run(home, "snapshot", "restore", id, "--yes").returncode == 0
        assert len(server.found("granite")) == 1
        until = time.monotonic() + WAIT_SECONDS
        while "gen-000001" in open_files(server):
            assert time.monotonic() < until, open_files(server)
            time.sleep(0.2)
        assert "gen-000002" in open_files(server)
