"""Where a hook finds its server, from its options, the environment and the data folder.

The same answer as the settings give, without loading them: that takes longer than all the rest of a hook. A test
compares the names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

HOME = ("HOLDFAST_HOME",)
URL = ("HOLDFAST_URL", "AGENTMEMORY_URL")
PORT = ("HOLDFAST_PORT", "III_REST_PORT", "PORT")
SECRET = ("HOLDFAST_SECRET", "AGENTMEMORY_SECRET")
DAEMON = ("HOLDFAST_DAEMON",)
DEFAULT_HOME = "~/.holdfast"
TOKEN = "hft_"  # noqa: S105 - the public beginning of every token
CARD_BYTES = 10_000
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_NO = frozenset({"0", "false", "no", "off"})


class ServerAddress(NamedTuple):
    """The data folder, the address and credential of the server, and whether that is the folder's own.

    The address is empty where no server is known to run.
    """

    folder: str
    url: str
    secret: str | None
    own: bool
    daemon: bool = True

    def port(self) -> str:
        """The port that the address names."""
        return self.url.rstrip("/").rpartition(":")[2] if self.url else ""


def place_of(words: Sequence[str], environ: Mapping[str, str]) -> ServerAddress:
    """Where the hook's options and the environment lead."""
    data, url = _option(words, "--data"), _option(words, "--url")
    folder = os.path.abspath(os.path.expanduser(data or _named(environ, HOME) or DEFAULT_HOME))
    named = url or ("" if data else _named(environ, URL))
    secret = _named(environ, SECRET) or None
    daemon = _named(environ, DAEMON).lower() not in _NO
    card = card_of(folder)
    at = card.get("url", "")
    if named and not (_is_loopback(named) and (not at or _port(at) == _port(named))):
        return ServerAddress(folder, named.rstrip("/"), secret, False, daemon)
    if at:
        is_token = bool(secret) and str(secret).startswith(TOKEN)
        return ServerAddress(folder, at, secret if is_token else card.get("token") or secret, not is_token, daemon)
    if not named and _named(environ, PORT) and not _named(environ, HOME) and not data:
        named = f"http://127.0.0.1:{_named(environ, PORT)}"
    return ServerAddress(folder, named.rstrip("/"), secret, not (secret or "").startswith(TOKEN), daemon)


def card_of(folder: str) -> dict[str, str]:
    """What the folder's server publishes about itself; empty where there is none."""
    try:
        with open(os.path.join(folder, "server.json"), "rb") as file:
            card = json.loads(file.read(CARD_BYTES))
    except (OSError, ValueError):
        return {}
    texts = card if isinstance(card, dict) else {}
    return {name: str(texts[name]) for name in ("url", "token") if texts.get(name)}


def _option(words: Sequence[str], name: str) -> str:
    for at, word in enumerate(words):
        if word == name and at + 1 < len(words):
            return words[at + 1]
        if word.startswith(f"{name}="):
            return word[len(name) + 1 :]
    return ""


def _named(environ: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := environ.get(name, "").strip())), "")


def _is_loopback(url: str) -> bool:
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return (host if host.endswith("]") else host.rpartition(":")[0] or host) in _LOOPBACK


def _port(url: str) -> str:
    return url.rstrip("/").rpartition(":")[2]
