"""Our own client in TypeScript: compiled, and driven by its tests under Node against a real server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from patience import WAIT_SECONDS
from real_clients import HERE, NODE, PACKAGES, Start

HOME = HERE.parents[1] / "clients" / "typescript"
SECRET = "the-lamp-keepers-own-secret"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What would be published, without the README."""
    into = tmp_path_factory.mktemp("typescript")
    (into / "package.json").write_bytes((HOME / "package.json").read_bytes())
    compiler = str(PACKAGES / "typescript" / "bin" / "tsc")
    command = [NODE, compiler, "-p", str(HOME), "--outDir", str(into / "dist")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    return into


def test_it_does_what_its_tests_say(compiled: Path, start: Start) -> None:
    server = start(secret=SECRET)
    environment = {
        "HOLDFAST_URL": server.url,
        "HOLDFAST_SECRET": SECRET,
        "CLIENT": (compiled / "dist" / "index.js").as_uri(),
    }
    # Node has had a WebSocket without this option since version 22.
    command = [NODE, "--experimental-websocket", "--test-reporter=tap", str(HOME / "test" / "client.test.mjs")]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=2 * WAIT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# fail 0" in done.stdout
    assert "# skipped 0" in done.stdout


def test_it_is_published_whole_and_needs_nothing(compiled: Path) -> None:
    manifest = json.loads((HOME / "package.json").read_text(encoding="utf-8"))
    entry = manifest["exports"]["."]
    assert all((compiled / entry[kind]).is_file() for kind in ("types", "default"))
    assert "dependencies" not in manifest
    tests = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
    assert manifest["devDependencies"]["typescript"] == tests["dependencies"]["typescript"]
