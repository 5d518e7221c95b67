"""Which memory a command means: from its options, the environment and the data folder."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.core.errors import Fault
from holdfast.settings import Settings, load, named_by

if TYPE_CHECKING:
    from holdfast.connection import Connection

LOOK_SECONDS = 0.5
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def settings_of(given: argparse.Namespace) -> Settings:
    """The settings with the command's own options over the environment's."""
    daemon = "off" if getattr(given, "no_daemon", False) else None
    return load({"home": getattr(given, "data", None), "url": _url(given), "daemon": daemon})


def _url(given: argparse.Namespace) -> str | None:
    """A named folder wins over the environment's server: it is another memory."""
    url: str | None = getattr(given, "url", None)
    if url is not None:
        return url.rstrip("/")
    return "" if getattr(given, "data", None) else None


@contextmanager
def connection_of(given: argparse.Namespace, settings: Settings | None = None) -> Iterator[Connection]:
    """The way to the memory that a command means, for the length of a block.

    A server that runs, or that can be started, is reached without loading what a server needs.
    """
    settings = settings or settings_of(given)
    connection = _connection(settings)
    try:
        # A program that requests JSON reads its faults from there.
        if not getattr(given, "json", False) and (told := _note(given, settings, connection)):
            sys.stderr.write(f"{told}\n")
        yield connection
    finally:
        connection.close()


def _connection(settings: Settings) -> Connection:
    from holdfast.daemon import running_server, server_connection
    from holdfast.transport import RemoteConnection

    if settings.url:
        return RemoteConnection(settings.url, settings.secret)
    if settings.daemon or running_server(settings):
        try:
            return server_connection(settings)
        except Fault as fault:
            return _folder_connection(settings, fault)
    from holdfast.connection import open_connection

    return open_connection(settings)


def _folder_connection(settings: Settings, fault: Fault) -> Connection:
    """The folder itself, where the server could not open it: what is in it may still be restored."""
    from holdfast.connection import folder_connection
    from holdfast.core.errors import CANNOT_OPEN

    if isinstance(fault, CANNOT_OPEN):
        return folder_connection(settings)
    raise fault


def _note(given: argparse.Namespace, settings: Settings, connection: Connection) -> str | None:
    """What the caller should know of the memory that answers: it may be another one than was meant."""
    from holdfast.transport import RemoteConnection

    if isinstance(connection, RemoteConnection):
        return other_server_notice(given, settings, connection.place)
    return _other_folder(settings)


def other_server_notice(given: argparse.Namespace, settings: Settings, place: str) -> str | None:
    """One line for a caller whose environment names a folder, a port or a setting that is not the server's."""
    from holdfast.daemon import running_server

    if settings.url:
        home, url = named_by("home"), named_by("url")
        if not home or not url or getattr(given, "url", None) is not None:
            return None
        card = running_server(settings)
        if card and _is_same(str(card.get("url")), place):
            return None
        return f"note: {url} is {place}, not the server of {settings.folder} ({home})"
    card = running_server(settings) or {}
    return _other_port(settings, place) or _other_folder(settings, place) or _other_settings(settings, card)


def _other_folder(settings: Settings, place: str = "") -> str | None:
    """For a caller who may expect the server at the usual port, which has another folder open."""
    from urllib.parse import urlsplit

    from holdfast.daemon import answers

    usual = f"http://127.0.0.1:{settings.port}"
    if settings.port in (0, urlsplit(place).port) or not answers(usual, LOOK_SECONDS):
        return None
    return f"note: the server at {usual} has another data folder; this command uses {settings.folder}"


def _other_port(settings: Settings, place: str) -> str | None:
    from urllib.parse import urlsplit

    port = named_by("port")
    if port in (None, "PORT") or settings.port in (0, urlsplit(place).port):
        return None
    return f"note: {port} is {settings.port}, but the server of {settings.folder} listens on {place}"


def _other_settings(settings: Settings, card: Mapping[str, object]) -> str | None:
    from holdfast.settings.fingerprint import differing

    marks = card.get("settings")
    names = differing(settings, marks, str(card.get("token"))) if isinstance(marks, dict) else []
    if not names:
        return None
    said = f"note: the server of {settings.folder} was started with different values of {', '.join(names)}"
    return f"{said}; stop it with holdfast serve --stop, and the next command starts it with the current values"


def _is_same(one: str, other: str) -> bool:
    """Whether two addresses are those of one server."""
    from urllib.parse import urlsplit

    first, second = urlsplit(one), urlsplit(other)
    hosts = {first.hostname, second.hostname}
    return first.port == second.port and (len(hosts) == 1 or hosts <= _LOOPBACK)


def reach(given: argparse.Namespace) -> tuple[str, str | None]:
    """The address and credential of the running server, without opening anything; for hooks.

    The address is empty where none runs: another folder's server, on the usual port, is another memory. Only a port
    that the environment names, and no folder beside it, is taken as it stands.

    Raises:
        InvalidSettings: the environment holds a setting that cannot be read.
    """
    settings = settings_of(given)
    if settings.url:
        return settings.url, settings.secret
    card = _card(settings.folder)
    if card.get("url"):
        return str(card["url"]), settings.secret or str(card.get("token"))
    if named_by("port") and not named_by("home") and not getattr(given, "data", None):
        return f"http://127.0.0.1:{settings.port}", settings.secret
    return "", settings.secret


def _card(folder: Path) -> dict[str, object]:
    try:
        card = json.loads((folder / "server.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return card if isinstance(card, dict) else {}


def empty_notice(given: argparse.Namespace, connection: Connection) -> str | None:
    """One line for a search without results where there is nothing to find: another memory may have been meant."""
    from holdfast.cli.command_table import endpoint

    if getattr(given, "umo", None):  # it may hold what this chat does not see
        return None
    try:
        counts = connection.call(endpoint("overview"), {"days": 1})["counts"]
        indexed = connection.call(endpoint("health"), {})["index"].get("total", 0)  # with those of chats
    except Fault:  # a token that may search need not be allowed to count
        return None
    if not counts or any(counts.values()) or indexed:
        return None
    settings = settings_of(given)
    lost = "A lost one comes back with: holdfast snapshot restore latest --from VAULT --yes"
    return f"This memory is empty: {settings.url or settings.folder}\n{lost}"
