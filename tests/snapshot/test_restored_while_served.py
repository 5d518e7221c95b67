"""A restore while the server runs: what it leaves behind is let go, as a new user would see it from outside."""

from __future__ import annotations

import json
from pathlib import Path

from patience import until
from processes import Server, run, serving


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
        until(lambda: "gen-000001" not in open_files(server), "the files of the first generation are closed")
        assert "gen-000002" in open_files(server)
