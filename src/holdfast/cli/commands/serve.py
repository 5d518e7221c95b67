"""holdfast serve: a server at the terminal, in the background, or on demand as other commands start it."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.memory_location import LOOK_SECONDS
from holdfast.cli.output.render import print_json, print_notice
from holdfast.core.errors import DataLocked, Fault, InvalidSettings
from holdfast.daemon import answers, ensure_server, running_server
from holdfast.local.launcher import LOG, LOG_BYTES
from holdfast.settings import Settings, load
from holdfast.store.data_folder import DataFolder

if TYPE_CHECKING:
    from holdfast.core.model import Json

LOG_FORMAT = "%(asctime)s %(levelname)s %(message)s"
STOP_TRIES, STOP_PAUSE_SECONDS = 300, 0.1
TAKE_OVERS = 3


def serve(given: argparse.Namespace) -> int:
    settings = load({"home": given.data, "host": given.host, "port": given.port, "store": given.store})
    if given.stop:
        return _stop(settings, given.json)
    if given.background:
        _greet(settings, str(ensure_server(settings)["url"]), given.json, "holdfast serve --stop")
        return 0
    if given.on_demand:
        return _serve_on_demand(settings)
    return _serve_here(settings, given.json)


def _serve_here(settings: Settings, as_json: bool) -> int:
    """A server at this terminal. One that runs in the background on demand gives way to it."""
    from holdfast.serve.run import RunningServer

    logging.basicConfig(stream=sys.stderr, level=settings.log_level.upper(), format=LOG_FORMAT)

    def ready(url: str) -> None:
        _greet(settings, url, as_json, "Ctrl-C")

    for _ in range(TAKE_OVERS):
        card = running_server(settings)
        if card and card.get("onDemand"):
            end_server(settings, card)
        try:
            gc.freeze()  # as below
            RunningServer(settings, ready, own_process=True).run()
            return 0
        except InvalidSettings as fault:
            raise _port_taken(settings, fault) from fault
        except DataLocked as fault:
            last = fault
            if not (running_server(settings) or {}).get("onDemand"):
                raise
    raise last


def _port_taken(settings: Settings, fault: InvalidSettings) -> InvalidSettings:
    """The same fault, or one that reports that the program on the port is Holdfast with another folder."""
    if "is in use" not in fault.message or not answers(f"http://127.0.0.1:{settings.port}", LOOK_SECONDS):
        return fault
    message = f"port {settings.port} is in use by the Holdfast server of another data folder"
    return InvalidSettings(message, hint=fault.hint)


def _serve_on_demand(settings: Settings) -> int:
    """A server for whichever commands need one; without a word if another one serves the folder already."""
    from holdfast.serve.run import server_on_demand

    if running_server(settings):
        return 0
    DataFolder(settings.folder).make()
    logging.basicConfig(handlers=[_FolderLog(settings.folder)], level=settings.log_level.upper(), format=LOG_FORMAT)
    # What is loaded by now stays: no collection need walk through it, 20 ms amid a question. Not the store, which a
    # restore replaces: it is opened after this.
    gc.freeze()
    server = server_on_demand(settings)
    if server is not None:
        server.run()
    return 0


def _greet(settings: Settings, url: str, as_json: bool, stop: str) -> None:
    if as_json:
        print_json({"url": url, "data": str(settings.folder)})
    else:
        print_notice(
            f"Holdfast listens on {url}, memory in {settings.folder}. See it at {url}/viewer. Stop it with {stop}."
        )


def _stop(settings: Settings, as_json: bool) -> int:
    card = running_server(settings)
    if card:
        end_server(settings, card)
        wait_for_end(int(str(card["pid"])))
    if as_json:
        print_json({"stopped": card is not None, "data": str(settings.folder)})
    else:
        print_notice(
            f"The server of {settings.folder} has stopped." if card else f"No server is running for {settings.folder}."
        )
    return 0


def end_server(settings: Settings, card: Json, pause: Callable[[float], None] = time.sleep) -> None:
    """End the server of the card and wait until it has let the folder go.

    Raises:
        DataLocked: it still has it.
    """
    folder, pid = DataFolder(settings.folder), int(str(card["pid"]))
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError:
        raise Fault(f"process {pid} belongs to another user", hint="That user has to stop it.") from None
    for _ in range(STOP_TRIES):
        if not folder.is_locked() or folder.owner() != str(pid):
            return
        pause(STOP_PAUSE_SECONDS)
    raise DataLocked(
        f"process {pid} is still running and uses data folder {folder.home}",
        hint=f"Stop it: kill -9 {pid}. Acknowledged writes are on disk.",
    )


def wait_for_end(pid: int, pause: Callable[[float], None] = time.sleep) -> None:
    """Wait until the process is gone: it lets the folder go a second or two before it ends."""
    for _ in range(STOP_TRIES):
        if not is_running(pid):
            return
        pause(STOP_PAUSE_SECONDS)


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that ended and that its parent has not reaped yet does not count."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (ProcessLookupError, PermissionError):
        return False
    except OSError:
        return True  # a system without /proc
    return state[:1] != ["Z"]


class _FolderLog(RotatingFileHandler):
    """The log in the data folder: of bounded size, for its owner only, and with whatever else is written to standard
    error, such as the last words of a crash."""

    def __init__(self, home: Path):
        super().__init__(home / LOG, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")

    def _open(self) -> TextIOWrapper:
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        for standard in (1, 2):
            os.dup2(handle, standard)
        return os.fdopen(handle, "a", encoding="utf-8")
