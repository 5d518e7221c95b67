"""The files that make a server a service of the user: a systemd unit or a launchd agent, and its settings.

The unit names the folder and the port and holds no secret. All other settings go to a file in the data folder that only
its owner can read.
"""

from __future__ import annotations

import hashlib
import os
import plistlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.core.errors import InvalidRequest
from holdfast.settings import SETTINGS, Settings, background_port, named_by

SETTINGS_FILE = "service.env"
USUAL = "~/.holdfast"
# Those that the unit sets itself, and those that are a caller's and not a server's.
_NOT_KEPT = frozenset({"home", "port", "url", "agent", "daemon", "idle"})

System = Literal["systemd", "launchd"]


@dataclass(frozen=True, slots=True)
class ServiceUnit:
    """A service of one data folder."""

    system: System
    name: str
    path: Path
    text: str
    settings_path: Path
    settings_text: str
    folder: Path
    port: int

    def commands(self, to: Literal["start", "stop"]) -> list[list[str]]:
        """The commands by which the system starts or stops it."""
        if self.system == "launchd":
            target = f"gui/{os.getuid()}"
            if to == "start":
                return [["launchctl", "bootstrap", target, str(self.path)]]
            return [["launchctl", "bootout", f"{target}/{self.name}"]]
        systemctl = ["systemctl", "--user"]
        if to == "start":
            return [[*systemctl, "daemon-reload"], [*systemctl, "enable", "--now", self.name]]
        return [[*systemctl, "disable", "--now", self.name]]


def unit_of(settings: Settings, environ: Mapping[str, str], system: System | None = None) -> ServiceUnit:
    """The service of the settings' folder.

    Raises:
        InvalidRequest: a setting cannot be written into a file.
    """
    system = system or ("launchd" if sys.platform == "darwin" else "systemd")
    folder = settings.folder.absolute()
    port = background_port(settings, environ)
    mark = "" if folder == Path(USUAL).expanduser() else "-" + hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    kept = folder / SETTINGS_FILE
    if system == "launchd":
        name = f"dev.holdfast{mark}"
        path = Path("~/Library/LaunchAgents").expanduser() / f"{name}.plist"
        text = _plist(name, folder, port, kept)
    else:
        name = f"holdfast{mark}.service"
        config = environ.get("XDG_CONFIG_HOME", "").strip() or "~/.config"
        path = Path(config).expanduser() / "systemd" / "user" / name
        text = _systemd(folder, port, kept)
    return ServiceUnit(system, name, path, text, kept, _settings_text(environ), folder, port)


def usual_port() -> int:
    return int(next(row.default for row in SETTINGS if row.name == "port"))


def _command(folder: Path) -> list[str]:
    return [sys.executable, "-P", "-m", "holdfast.cli.main", "serve", "--data", str(folder)]


def _systemd(folder: Path, port: int, kept: Path) -> str:
    words = " ".join(_systemd_word(word) for word in _command(folder))
    home = _systemd_word(f"HOLDFAST_HOME={folder}").replace("$$", "$")  # here a dollar stands for itself
    return f"""[Unit]
Description=Holdfast: memory for AI agents

[Service]
ExecStart={words}
Environment={home} HOLDFAST_PORT={port}
EnvironmentFile=-{str(kept).replace("%", "%%")}
Restart=on-failure
RestartSec=2

[Install]
WantedBy=default.target
"""


def _systemd_word(word: str) -> str:
    """One word of a unit, with what systemd would read as more than itself escaped."""
    _check_line(word)
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _plist(name: str, folder: Path, port: int, kept: Path) -> str:
    # launchd knows no file of settings: the shell reads it, if it is there.
    script = 'set -a; if [ -f "$0" ]; then . "$0"; fi; exec "$@"'
    agent = {
        "Label": name,
        "ProgramArguments": ["/bin/sh", "-c", script, str(kept), *_command(folder)],
        "EnvironmentVariables": {"HOLDFAST_HOME": str(folder), "HOLDFAST_PORT": str(port)},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
    }
    return plistlib.dumps(agent).decode()


def _settings_text(environ: Mapping[str, str]) -> str:
    """The settings that the environment names, as systemd and the shell both read them."""
    lines = []
    for row in SETTINGS:
        named = named_by(row.name, environ)
        if named is not None and row.name not in _NOT_KEPT:
            _check_line(environ[named], row.env)
            escaped = "".join(f"\\{char}" if char in '\\"$`' else char for char in environ[named])
            lines.append(f'{row.env}="{escaped}"\n')
    return "".join(lines)


def _check_line(text: str, what: str = "the path") -> None:
    if not text.isprintable():
        raise InvalidRequest(f"service: {what} contains a character that is not allowed in a unit file")
