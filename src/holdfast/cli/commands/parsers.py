"""Commands that are not operations: serve, mcp, import, move, connect, hook, status, show, watch, doctor."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from holdfast.cli.options import Once
from holdfast.core.disk import user_path
from holdfast.core.errors import InvalidRequest

if TYPE_CHECKING:
    from holdfast.cli.connect import ConnectReport, ConnectTarget
    from holdfast.core.model import Json
    from holdfast.settings import Settings


@dataclass(frozen=True)
class Command:
    words: str
    summary: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def _show(given: argparse.Namespace, answer: Json, operation: str = "") -> None:
    from holdfast.cli.output.render import print_answer, print_json

    if given.json:
        print_json(answer)
    else:
        print_answer(answer, operation)


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", action=Once, help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", action=Once, help="port to listen on (3111); 0: any free port")
    parser.add_argument("--store", action=Once, help="where records are kept: sqlite, or postgresql://user@host/name")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--background", action="store_true", help="start the server in the background unless one is running, and return"
    )
    ways.add_argument("--stop", action="store_true", help="stop the server of the data folder")
    ways.add_argument(
        "--on-demand",
        action="store_true",
        help="start as commands do: use any free port if the configured one is taken, exit after HOLDFAST_IDLE "
        "without use",
    )


def _add_follow(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "vault", metavar="VAULT", help="vault that the other host writes to: a folder, s3://, gs:// or az://"
    )
    parser.add_argument("--host", action=Once, help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", action=Once, help="port to listen on (3111); 0: any free port")
    parser.add_argument("--identity", action=Once, help="file with the age identity that decrypts the journal")
    parser.add_argument("--background", action="store_true", help="follow in the background, and return")


def _follow(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.follow import follow

    return follow(given)


def _serve(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.serve import serve

    return serve(given)


def _add_migrate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", action=Once, help="address of the database, with the role that owns its tables")
    parser.add_argument("--grant", action=Once, metavar="ROLE", help="let this role serve from the database")


def _migrate(given: argparse.Namespace) -> int:
    from holdfast.settings import load
    from holdfast.store.engines import migrate_store

    _show(given, {"schema": migrate_store(load({"store": given.store}).store, given.grant)})
    return 0


def _add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="preview; change nothing")


def _service_install(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.service import install

    return install(given)


def _service_status(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.service import status

    return status(given)


def _service_remove(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.service import remove

    return remove(given)


def _add_nothing(parser: argparse.ArgumentParser) -> None:
    """No options of its own."""


def _add_mcp(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--umo", help="bind the connection to one chat, platform:type:session")
    parser.add_argument("--sender-id", help="sender in that chat")
    parser.add_argument(
        "--tools", choices=("core", "all", "graph"), help="tools to list (core); unlisted tools can still be called"
    )


def _mcp(given: argparse.Namespace) -> int:
    import asyncio

    from holdfast.cli.hook.hook_payload import project
    from holdfast.cli.memory_location import settings_of
    from holdfast.connection import LazyConnection, OpenConnection
    from holdfast.core.model import Chat
    from holdfast.serve.mcp.stdio import serve_stdio
    from holdfast.settings import environment

    if given.sender_id and not given.umo:
        raise InvalidRequest("mcp: --sender-id needs --umo")
    chat = Chat(given.umo, given.sender_id or "") if given.umo is not None else None
    settings = settings_of(given)
    tools = given.tools or settings.mcp_tools
    here = None if chat else project(os.getcwd(), environment())
    if settings.daemon and not settings.url:
        with closing(LazyConnection(settings, chat)) as late:
            asyncio.run(serve_stdio(late, tools, here))
        return 0
    with OpenConnection(settings, chat) as connection:
        asyncio.run(serve_stdio(connection, tools, here))
    return 0


SYSTEMS = ("plugin", "mem0", "letta", "basic-memory", "markdown")


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="an export as JSON, Markdown rules (CLAUDE.md), a folder or .jsonl of transcripts, memory.json of the MCP "
        "memory server; - reads standard input",
    )
    parser.add_argument(
        "--project", help="project of the rules in a Markdown file (default: the project of its folder)"
    )
    parser.add_argument("--replace", action="store_true", help="replace existing records")
    parser.add_argument("--from", dest="system", choices=SYSTEMS, help="memory system that wrote the export")
    parser.add_argument("--platform", default="", help="with --from: chat platform of the owners' sender ids")
    parser.add_argument("--owner", default="", help="with --from: owner of memories that name none")


def _import(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.graph_import import import_graph, is_graph
    from holdfast.cli.commands.imports import MARKDOWN, import_document, import_rules, import_transcripts
    from holdfast.cli.memory_location import connection_of, settings_of

    settings = settings_of(given)
    path = Path(given.file)
    if given.system:
        from holdfast.cli.commands.foreign_imports import import_foreign

        with connection_of(given, settings) as connection:
            wish = {"platform": given.platform, "owner": given.owner, "replace": given.replace}
            answer = import_foreign(connection, path, given.system, **wish)
        _show(given, answer)
        return 0 if answer["success"] else InvalidRequest.exit_code
    if given.file != "-" and path.is_file() and is_graph(path):
        with connection_of(given, settings) as connection:
            answer = import_graph(connection, path)
        _show(given, answer)
        return 0 if answer["success"] else InvalidRequest.exit_code
    if given.file != "-" and (path.is_dir() or path.suffix == ".jsonl"):
        # A user who can run this command can read the files, so the folder is allowed for this one import.
        roots = (*settings.import_roots, str(path.resolve()))
        with connection_of(given, dataclasses.replace(settings, import_roots=roots)) as connection:
            _show(given, import_transcripts(connection, path))
        return 0
    if path.suffix.lower() in MARKDOWN:
        with connection_of(given, settings) as connection:
            _show(given, import_rules(connection, path, given.project), "import_rules")
        return 0
    document = _read_document(given.file)
    with connection_of(given, settings) as connection:
        answer = import_document(connection, document, "replace" if given.replace else "merge")
    _show(given, answer)
    return 0 if answer["success"] else InvalidRequest.exit_code


def _read_document(file: str) -> Json:
    import orjson

    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InvalidRequest(f"import: {file} cannot be read ({error.strerror})") from error
    try:
        document = orjson.loads(raw)
    except ValueError as error:
        raise InvalidRequest(f"import: {file} is not JSON") from error
    if not isinstance(document, dict):
        raise InvalidRequest(f"import: {file} is not an export")
    return document


def _add_move(parser: argparse.ArgumentParser) -> None:
    store = "a data folder, or postgresql://user@host/name"
    parser.add_argument(
        "--from", dest="source", action=Once, metavar="STORE", required=True, help=f"store to read: {store}"
    )
    parser.add_argument(
        "--to", dest="target", action=Once, metavar="STORE", required=True, help=f"store to fill: {store}"
    )
    parser.add_argument("--yes", action="store_true", help="replace what the target holds")
    _add_dry_run(parser)


def _move(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.move import move

    _show(given, move(given))
    return 0


def _add_connect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", nargs="?", help="name of the agent, such as claude-code; --list shows all")
    parser.add_argument("--all", action="store_true", dest="all_", help="connect every agent found on this machine")
    parser.add_argument(
        "--list", action="store_true", dest="list_", help="show the agents and whether they are connected"
    )
    parser.add_argument("--dry-run", action="store_true", help="preview the change; write nothing")
    parser.add_argument("--undo", action="store_true", help="undo the change")
    parser.add_argument("--yes", action="store_true", help="with --all: do not ask for confirmation")
    parser.add_argument("--no-hooks", action="store_true", help="write the MCP entry only")
    parser.add_argument("--project", metavar="DIR", help="project folder for agents configured per project")


def _connect(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.service import service_hint
    from holdfast.cli.connect import ConnectTarget, connect_command
    from holdfast.cli.memory_location import settings_of
    from holdfast.cli.output.render import print_json, print_report
    from holdfast.settings import environment

    place = ConnectTarget(
        home=Path.home(),
        command=Path(holdfast_command()),
        project=Path(given.project or ".").resolve(),
        hooks=not given.no_hooks,
        environ=environment(),
        **_elsewhere(given),
    )
    if given.all_:
        report = _connect_all(given, place)
    else:
        report = connect_command(
            given.agent,
            place=place,
            dry_run=given.dry_run,
            undo=given.undo,
            list_=given.list_,
            hooks=not given.no_hooks,
        )
    if (given.agent or given.all_) and not given.undo:
        report = dataclasses.replace(report, notes=(*report.notes, service_hint(settings_of(given))))
    if given.json:
        print_json(report.to_dict())
    else:
        print_report(report)
    return 0


def _connect_all(given: argparse.Namespace, place: ConnectTarget) -> ConnectReport:
    """At a terminal the whole plan is shown first, and nothing is written without consent."""
    from holdfast.cli.confirm import agreed, is_interactive
    from holdfast.cli.connect import connect_all
    from holdfast.cli.output.render import print_report

    if given.agent or given.list_:
        raise InvalidRequest("connect: --all is for all agents", hint="Pass either the name of an agent, or --all.")
    if not (given.yes or given.json or given.dry_run) and is_interactive():
        planned = connect_all(place=place, dry_run=True, undo=given.undo)
        if not planned.changes:
            return planned
        print_report(planned)
        if not agreed(f"Change {len(planned.changes)} files? [y/N] "):
            raise InvalidRequest("connect: not confirmed, nothing was written", hint="Answer y, or pass --yes.")
    return connect_all(place=place, dry_run=given.dry_run, undo=given.undo)


def _elsewhere(given: argparse.Namespace) -> Json:
    """The folder and address only where they are not the usual ones. Those of the environment are written down too: an
    agent is often started without it."""
    from holdfast.cli.memory_location import settings_of
    from holdfast.settings import named_by

    named: Json = {}
    if given.url:
        named["url"] = given.url
    if given.data:
        named["data"] = user_path(given.data, "--data").resolve()
    elif named_by("home") and not settings_of(given).url:  # an address would be another memory
        named["data"] = settings_of(given).folder.resolve()
    return named


def _key_words(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.key_backup import key_words
    from holdfast.cli.memory_location import settings_of

    _show(given, key_words(settings_of(given)))
    return 0


def _add_key_backup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("to", help="new file for the encrypted key")
    parser.add_argument("--encrypt", action="append", metavar="AGE", help="age recipient to encrypt for")


def _key_backup(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.key_backup import key_backup
    from holdfast.cli.memory_location import settings_of

    _show(given, key_backup(settings_of(given), Path(given.to), given.encrypt or ()))
    return 0


def _add_key_recover(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="source", help="file written by key backup (default: read the words)")
    parser.add_argument("--identity", help="file with the age identity that decrypts it")
    parser.add_argument("--replace", action="store_true", help="replace an existing key, which stays trusted")


def _key_recover(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.key_backup import key_recover
    from holdfast.cli.memory_location import settings_of

    _show(given, key_recover(settings_of(given), given.source, given.identity, replace=given.replace))
    return 0


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--full", action="store_true", help="Load the model and look at keys here too, not only in the running server."
    )


def _doctor(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.doctor import examine, lines_of
    from holdfast.cli.memory_location import settings_of
    from holdfast.cli.output.render import print_json, print_lines

    checks = examine(settings_of(given), full=given.full)
    if given.json:
        print_json({"checks": [check.shape() for check in checks]})
    else:
        print_lines(lines_of(checks))
    return 0 if all(check.ok for check in checks) else 1


def _status(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.status import status

    return status(given)


def _add_hook(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("event", nargs="?", help="see holdfast hook --help")


def _hook(given: argparse.Namespace) -> int:
    """Only for the list of commands: `main` runs a hook before it makes a parser."""
    from holdfast.cli.hook.hook_command import hook_main

    return hook_main([given.event] if given.event else [])


def _watch(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.watch import EventPrinter, print_event, watch
    from holdfast.cli.memory_location import settings_of
    from holdfast.cli.output.render import print_notice

    url, credential = _server_of(settings_of(given))
    show = print_event if given.json else EventPrinter().show
    signal.signal(signal.SIGINT, _leave)
    watch(url, credential, show, greet=lambda: print_notice(f"Watching {url}. Press Ctrl-C to stop."))
    return 0


def _server_of(settings: Settings) -> tuple[str, str | None]:
    """Address and credential of the server to watch; it is started if none runs."""
    from holdfast.daemon import FolderServer

    if settings.url:
        return settings.url, settings.secret
    found = FolderServer(settings).find()
    return found.url, found.credential


def _leave(*_: object) -> NoReturn:
    """The usual way to end watching: no fault, and the next prompt on a line of its own. At once: Ctrl-C may come while
    the socket's lock is held, and closing the socket in order would wait for it for ever."""
    os.write(sys.stderr.fileno(), b"\n")
    os._exit(0)


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", nargs="?", default="dashboard", help="dashboard, memories, sessions, snapshots, …")
    parser.add_argument("word", nargs="?", help="argument of the page: a project, a session to replay, a time")


def _show_page(given: argparse.Namespace) -> int:
    from holdfast.cli.commands.dashboard import show_page
    from holdfast.cli.memory_location import connection_of

    with connection_of(given) as connection:
        show_page(connection, given.page, given.word, given.json)
    return 0


def holdfast_command() -> str:
    """The absolute path of this command, for agents that start it."""
    return shutil.which("holdfast") or str(Path(sys.argv[0]).resolve())


COMMANDS = (
    Command("serve", "Start the server.", _add_serve, _serve),
    Command(
        "follow",
        "Serve a read-only copy of the memory that another host writes to a vault, seconds behind.",
        _add_follow,
        _follow,
    ),
    Command("service install", "Install the server as a service of this user.", _add_dry_run, _service_install),
    Command("service status", "Show whether the service is installed and running.", _add_nothing, _service_status),
    Command("service remove", "Remove the service. The memory is kept.", _add_dry_run, _service_remove),
    Command(
        "migrate",
        "Bring a PostgreSQL database to the schema of this version, with the role that owns its tables.",
        _add_migrate,
        _migrate,
    ),
    Command("mcp", "Run an MCP server on standard input and output.", _add_mcp, _mcp),
    Command(
        "import", "Import an export, Markdown rules, or transcripts of Claude Code and Codex.", _add_import, _import
    ),
    Command(
        "move",
        "Move all tenants, with their tokens, from one store to another: SQLite to PostgreSQL or back.",
        _add_move,
        _move,
    ),
    Command(
        "connect",
        "Connect an agent: write its MCP entry and hooks. --undo removes them.",
        _add_connect,
        _connect,
    ),
    Command(
        "key words",
        "Show 24 words from which the signing key can be recovered.",
        _add_nothing,
        _key_words,
    ),
    Command("key backup", "Write the signing key to a file, encrypted with age.", _add_key_backup, _key_backup),
    Command(
        "key recover",
        "Recover the signing key from its words (on standard input) or from a backup.",
        _add_key_recover,
        _key_recover,
    ),
    Command("hook", "Record an event of an agent. Called by agents; see holdfast connect.", _add_hook, _hook),
    Command(
        "status", "Show whether the server is running, where the memory is, and any problems.", _add_nothing, _status
    ),
    Command("show", "Print a page of the viewer.", _add_show, _show_page),
    Command("watch", "Show events of the memory as they happen.", _add_nothing, _watch),
    Command("doctor", "Check the installation and explain how to fix problems.", _add_doctor, _doctor),
)
