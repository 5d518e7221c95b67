"""holdfast status: in a few lines whether the server runs, where the memory is, how much it holds and what is wrong.

Starts no server. Without one the folder is opened in this process, if it is there.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from holdfast.cli.command_table import endpoint
from holdfast.cli.commands.dashboard import age, guarded, proven
from holdfast.cli.memory_location import connection_of, settings_of
from holdfast.cli.output.folder_hints import answer_with_folder, with_folder
from holdfast.cli.output.render import print_json, print_lines, size
from holdfast.daemon import running_server
from holdfast.local.spool import spool_status
from holdfast.settings import background_port

if TYPE_CHECKING:
    from holdfast.core.model import Json
    from holdfast.settings import Settings

SAVE = "Save something: holdfast remember TEXT"


def status(given: argparse.Namespace) -> int:
    answer = _status(given, settings_of(given))
    if given.json:
        print_json(answer)
    else:
        print_lines(lines_of(answer))
    return 0


def _status(given: argparse.Namespace, settings: Settings) -> Json:
    card = None if settings.url else running_server(settings)
    server = settings.url or (str(card["url"]) if card else None)
    folder = None if settings.url else str(settings.folder)
    answer: Json = {"server": server, "folder": folder, "port": background_port(settings), "daemon": settings.daemon}
    if not settings.url:
        answer["spool"] = spool_status(str(settings.folder))._asdict()
        if not settings.folder.is_dir():
            return {**answer, "isFile": settings.folder.exists()}
    with connection_of(given, dataclasses.replace(settings, daemon=False)) as connection:
        seen = connection.call(endpoint("overview"), {"days": 1})
    names = ("status", "version", "now", "counts", "snapshots", "warnings", "follow")
    return {**answer, **{name: seen[name] for name in names if name in seen}}


def lines_of(answer: Json) -> list[str]:
    """The status for a person."""
    answer = answer_with_folder(answer)
    starts = "; the next command or hook starts it" if answer["daemon"] else ""
    lines = [f"server: running at {answer['server']}" if answer["server"] else f"server: not running{starts}"]
    if answer["folder"]:
        lines.append(f"folder: {answer['folder']}, port {answer['port']}")
    if "counts" not in answer:
        file = answer["isFile"]
        return [*lines, "memory: none; the folder is a file" if file else f"memory: none yet. {with_folder(SAVE)}"]
    counts = ", ".join(f"{count:,} {name}" for name, count in answer["counts"].items())
    if "follow" in answer:
        lines.append(f"follows: {_follow(answer['follow'])}")
    lines += [f"memory: {counts or 'cannot be read'}", f"snapshots: {_snapshots(answer['snapshots'])}"]
    if answer["snapshots"]["newest"]:
        lines.append(f"restore: {proven(answer['snapshots']['drill'], answer['now'])}")
    if guard := answer["snapshots"].get("guard"):
        lines.append(f"guard: {guarded(guard, answer['now'])}")
    if "spool" in answer:
        lines.append(f"spool: {_spool(answer['spool'])}")
    for one in answer["warnings"]:
        lines += [f"{one['level']}: {one['message']}", f"  {one['hint']}"]
    return lines if answer["warnings"] else [*lines, "warnings: none"]


def _snapshots(state: Json) -> str:
    newest = state["newest"]
    if newest is None:
        return "none on this machine"
    return f"{state['count']}, {size(state['bytes'])}; the last intact one is {age(newest['ageMs'])} old"


def _follow(state: Json) -> str:
    """Whom a copy follows, and how far behind."""
    host = f"host {state['host']} in {state['vault']}" if state["host"] else state["vault"]
    behind = state["behindSeconds"]
    how = f"{behind:g} s behind" if behind is not None else "not reached since it was opened"
    last = f"; its last write: {state['lastWriteAt']}" if state["lastWriteAt"] else ""
    return f"{host}, {how}{last}"


def _spool(waiting: Json) -> str:
    """What hooks could not deliver yet."""
    counts = [f"{waiting[name]:,} {name}" for name in ("waiting", "refused", "dropped") if waiting[name]]
    return ", ".join(counts) or "nothing waits"
