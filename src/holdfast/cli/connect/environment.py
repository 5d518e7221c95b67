"""Where connect works: the folders, the command and the server that configs are to name.

A Place holds everything that comes from outside, so that planning reads no environment. It must not
know any agent.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from holdfast.core.errors import InvalidRequest

DEFAULT_URL = "http://127.0.0.1:3111"
DEFAULT_URLS = frozenset({DEFAULT_URL, "http://localhost:3111"})

SERVER_NAME = "holdfast"
EARLIER_NAME = "agentmemory"

# Names of ours inside an entry's env; whatever else stands there is the user's.
HOME_ENV, URL_ENV = "HOLDFAST_HOME", "HOLDFAST_URL"
OWN_ENV = frozenset({HOME_ENV, URL_ENV})

# A hook line of ours, whatever folder an earlier install put the command in.
_HOOK_LINE = re.compile(r"""(?:^|[\\/"'\s])holdfast(?:\.exe|\.cmd)?["']?\s+hook\s+([a-z-]+)""")


@dataclass(frozen=True, slots=True)
class ConnectTarget:
    """The home and project folders, the holdfast command, the server, and whether hooks are wanted."""

    home: Path
    command: Path
    project: Path | None = None
    url: str = DEFAULT_URL
    data: Path | None = None
    hooks: bool = True
    platform: str = sys.platform
    environ: Mapping[str, str] = field(default_factory=dict)

    def checked(self) -> ConnectTarget:
        """This place, once everything that would be written into a config is fit to be there.

        Raises:
            InvalidRequest: the command is not absolute, or the URL carries a password.
        """
        if not self.command.is_absolute():
            raise InvalidRequest(
                f"connect requires the absolute path of the holdfast command, not {self.command}",
                hint="Agents start commands from their own folders. Pass the full path.",
            )
        if "@" in urlsplit(self.url).netloc:
            raise InvalidRequest(
                "connect does not write a URL with a user or password into config files",
                hint="Pass the URL without credentials; holdfast mcp finds the secret in the data folder.",
            )
        return self

    def server_env(self) -> dict[str, str]:
        """The settings that `holdfast mcp` needs besides its defaults; never a secret."""
        env = {}
        if self.data is not None and self.data != self.home / ".holdfast":
            env[HOME_ENV] = str(self.data)
        if self.url not in DEFAULT_URLS:
            env[URL_ENV] = self.url
        return env

    def hook_options(self) -> list[str]:
        """The same as server_env, as options: a hook entry has no env of its own in most agents."""
        env = self.server_env()
        home = ["--data", env[HOME_ENV]] if HOME_ENV in env else []
        url = ["--url", env[URL_ENV]] if URL_ENV in env else []
        return home + url

    def hook_line(self, event: str) -> str:
        """The shell line an agent runs for one hook event."""
        return self._shell([str(self.command), "hook", event, *self.hook_options()])

    def own_hook(self, line: object) -> str | None:
        """The event of a hook line that connect wrote, now or from an earlier place; None for any other."""
        if not isinstance(line, str):
            return None
        start = self._shell([str(self.command), "hook"]) + " "
        if line.startswith(start):
            return line[len(start) :].split(" ", 1)[0]
        match = _HOOK_LINE.search(line)
        return match.group(1) if match else None

    def config_home(self) -> Path:
        """Where programs that follow the XDG rules keep their settings."""
        given = self.environ.get("XDG_CONFIG_HOME", "")
        return Path(given) if given else self.home / ".config"

    def app_data(self) -> Path:
        """Where desktop programs of this platform keep their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            given = self.environ.get("APPDATA", "")
            return Path(given) if given else self.home / "AppData" / "Roaming"
        return self.config_home()

    def _shell(self, words: list[str]) -> str:
        if self.platform != "win32":
            return shlex.join(words)
        # On Windows some agents use cmd and some Git Bash: forward slashes in double quotes suit both.
        forward = [word.replace("\\", "/") for word in words]
        return " ".join(f'"{word}"' if " " in word else word for word in forward)
