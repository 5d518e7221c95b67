"""Builds the wheel and the sdist of a release into dist/, and tests the wheel where a user would meet it.

The wheel is installed into an empty environment, from the requirement files with hashes, and used from an empty
folder: nothing of the checkout can stand in for a file that the wheel lacks. Run by `make release`; docs/releasing.md
has the steps before and after.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
FACT = "Deploys go through the blue/green switch"


class ReleaseFailed(Exception):
    """What was built is not fit for a release."""


def main() -> int:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    try:
        _check_changelog(version)
        wheel = _build(version)
        _check_files(wheel)
        with tempfile.TemporaryDirectory(prefix="holdfast-release-") as folder:
            _smoke_test(Path(folder), wheel, version)
    except ReleaseFailed as failure:
        print(f"release: {failure}", file=sys.stderr)
        return 1
    for path in sorted(DIST.iterdir()):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size} bytes")
    return 0


def _check_changelog(version: str) -> None:
    if f"\n## [{version}] - " not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        raise ReleaseFailed(f"CHANGELOG.md has no dated section for {version}")


def _build(version: str) -> Path:
    """The wheel; built from the sdist, so that the sdist is known to be whole."""
    shutil.rmtree(DIST, ignore_errors=True)
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST), str(ROOT)], ROOT)
    wheels, sources = list(DIST.glob(f"holdfast-{version}-*.whl")), list(DIST.glob(f"holdfast-{version}.tar.gz"))
    if len(wheels) != 1 or len(sources) != 1:
        raise ReleaseFailed(f"dist/ holds {len(wheels)} wheels and {len(sources)} sdists of {version}, not one each")
    return wheels[0]


def _check_files(wheel: Path) -> None:
    """Every file of the package is in the wheel: rules, migrations, the viewer, the model's graph."""
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in (source / "holdfast").rglob("*") if path.is_file()}
    with zipfile.ZipFile(wheel) as packed:
        missing = {name for name in files if "__pycache__" not in name} - set(packed.namelist())
    if missing:
        raise ReleaseFailed(f"{wheel.name} lacks {', '.join(sorted(missing)[:5])}")


def _smoke_test(folder: Path, wheel: Path, version: str) -> None:
    """Install the wheel and use it: version, save, find, snapshot, verify, serve."""
    print(f"installing {wheel.name} into an empty environment", flush=True)
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*install, "--require-hashes", "-r", str(ROOT / "requirements" / "base.txt")], folder)
    _run([*install, "--no-deps", str(wheel)], folder)
    user = User(folder, python.parent / "holdfast")
    user.expect(f"holdfast {version}", "--version")
    user.expect("Saved", "remember", FACT)
    user.expect(FACT, "recall", "how do we deploy")
    user.expect("id: 000001-", "snapshot", "create", "--label", "release")
    user.expect("sound: yes", "snapshot", "verify", "latest")
    user.expect("sound: yes", "verify")
    user.serve()
    print("the wheel saves, finds, seals, verifies and serves")


class User:
    """Someone who has the wheel and an empty home, and nothing else."""

    def __init__(self, folder: Path, command: Path):
        self._home = folder / "home"
        self._home.mkdir()
        self._command = str(command)
        self._environ = {"HOME": str(self._home), "PATH": os.environ["PATH"], "HOLDFAST_EMBEDDER": "none"}

    def expect(self, text: str, *words: str) -> None:
        """Run a command in the home and look for the text in what it prints."""
        printed = _run([self._command, *words], self._home, {**self._environ, "HOLDFAST_DAEMON": "off"})
        if text not in printed:
            raise ReleaseFailed(f"holdfast {' '.join(words)} did not print {text!r}")

    def serve(self) -> None:
        """Start the server, ask it over HTTP for its health and its viewer, and stop it."""
        _run([self._command, "serve", "--background"], self._home, {**self._environ, "HOLDFAST_PORT": "0"})
        try:
            card = json.loads((self._home / ".holdfast" / "server.json").read_bytes())
            for path, text in (("/agentmemory/health", '"status"'), ("/viewer", "<title>")):
                with urllib.request.urlopen(f"{card['url']}{path}", timeout=30) as answer:
                    if text not in answer.read().decode():
                        raise ReleaseFailed(f"the server's {path} does not hold {text}")
        finally:
            _run([self._command, "serve", "--stop"], self._home, self._environ)


def _run(command: Sequence[str], folder: Path, environ: dict[str, str] | None = None) -> str:
    """What a command prints. A build tells its progress on standard error, which is shown if it fails."""
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        raise ReleaseFailed(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
