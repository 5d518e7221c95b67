"""Every way in which an operation can be called, behind one face: request in, outcome out.

A surface takes (operation, arguments) and gives an Outcome. Nothing here knows what an operation answers.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import httpx
import httpx2
import orjson
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from parity_world import Prepared, environment, settings_for, still_engine, still_folders, still_server
from patience import WAIT_SECONDS
from sample_requests import Sample

from holdfast import Holdfast
from holdfast.cli.main import main
from holdfast.core.errors import Fault, every_fault
from holdfast.core.model import Caller, Json
from holdfast.engine import Engine
from holdfast.ops.framework.operation import Operation, Stream

HERE = Path(__file__).parent
COMMAND = Path(sys.executable).with_name("holdfast")
STILL_COMMAND = [sys.executable, str(HERE / "still_holdfast.py")]
PREFIX = "/agentmemory"
BY_CODE = {fault.code: fault for fault in every_fault()}


@dataclass(frozen=True)
class Outcome:
    """An answer, or a fault as its JSON; and how the surface itself said which (status, exit code, isError)."""

    answer: Any = None
    fault: Json | None = None
    signal: Any = None
    broke: str | None = None  # the surface gave neither

    def __post_init__(self) -> None:
        """The port differs from server to server by its nature; besides the disk it is the one thing that may."""
        if isinstance(self.answer, dict) and "viewerPort" in self.answer:
            assert isinstance(self.answer["viewerPort"], int)
            object.__setattr__(self, "answer", {**self.answer, "viewerPort": 0})
        if isinstance(self.answer, dict) and self.answer.get("disk"):  # so does what is free on the disk right now
            empty = {name: type(value)() for name, value in self.answer["disk"].items()}
            object.__setattr__(self, "answer", {**self.answer, "disk": empty})
        object.__setattr__(self, "answer", anywhere(self.answer))


# What a file weighs depends on when its pages were written, which the surfaces decide for themselves.
WEIGHTS = {"sha256", "size", "bytes", "sentBytes", "remainingBytes", "free"}
_HOME = re.compile(r"/[^\s'\"]*?/(?=(snapshots|exported)/|pages/|vault(-copy|-new)?(?![\w/-])|gen-\d+$)")


def anywhere(value: Any) -> Any:
    """The answer without the place of the copy, and without the weights of its files."""
    if isinstance(value, dict) and value.get("key") == "lastSeq":
        return {**value, "before": 0, "after": 0}  # the command sends an import in parts, and each part is audited
    if isinstance(value, dict) and "setting" in value:
        return {**value, "source": "", "value": ""}  # an option here, a variable there, and written as it was there
    if isinstance(value, dict):
        return {key: type(inner)() if key in WEIGHTS else anywhere(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [anywhere(inner) for inner in value]
    return _HOME.sub("{home}/", value) if isinstance(value, str) else value


class Surface(Protocol):
    def call(self, operation: Operation, arguments: Json) -> Outcome: ...


def plain(value: Any) -> Any:
    """The value as JSON gives it back."""
    return orjson.loads(orjson.dumps(value))


class Direct:
    """operation.call in this process: what all others are measured by."""

    def __init__(self, engine: Engine, caller: Caller | None = None):
        self.engine = engine
        self.caller = caller or Caller()

    def call(self, operation: Operation, arguments: Json) -> Outcome:
        try:
            answer = operation.call(self.engine.context(self.caller), arguments)
        except Fault as fault:
            return Outcome(fault=plain(fault.to_dict()), signal=type(fault))
        return Outcome(orjson.loads(b"".join(answer.pieces)) if isinstance(answer, Stream) else plain(answer))


def http_client(url: str, credential: str | None = None) -> httpx.Client:
    headers = {"Authorization": f"Bearer {credential}"} if credential is not None else {}
    return httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=WAIT_SECONDS)


class Rest:
    """HTTP, written without Holdfast's own client; the signal is the status."""

    def __init__(self, http: httpx.Client):
        self.http = http

    def call(self, operation: Operation, arguments: Json) -> Outcome:
        return self.at(operation.method, operation.path, arguments)

    def at(self, method: str, path: str, arguments: Json) -> Outcome:
        """The same at one of an operation's other paths."""
        rest = dict(arguments)
        for name in re.findall(r"\{(\w+)\}", path):
            path = path.replace(f"{{{name}}}", _segment(str(rest.pop(name, "nothing"))))
        if method == "GET":
            query = {name: _query_word(value) for name, value in rest.items()}
            response = self.http.get(PREFIX + path, params=query)
        else:
            response = self.http.request(method, PREFIX + path, json=rest)
        return _http_outcome(response)


def _segment(text: str) -> str:
    """One segment of a path; dots are written out, as a client that steps up a path would lose them."""
    return quote(text, safe="").replace(".", "%2E")


def _query_word(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(value)
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _http_outcome(response: httpx.Response) -> Outcome:
    body = orjson.loads(response.content)
    if response.is_success:
        return Outcome(body, signal=response.status_code)
    return Outcome(fault=body, signal=response.status_code)


class OldMcp:
    """POST /agentmemory/mcp/call, as clients of the earlier system call tools; the signal is the status."""

    def __init__(self, http: httpx.Client):
        self.http = http

    def call(self, operation: Operation, arguments: Json) -> Outcome:
        return self.tool(operation.tool or "", arguments)

    def tool(self, name: str, arguments: Json) -> Outcome:
        response = self.http.post(f"{PREFIX}/mcp/call", json={"name": name, "arguments": arguments})
        body = orjson.loads(response.content)
        if "content" not in body:  # refused before any tool was called
            return Outcome(fault=body, signal=response.status_code)
        said = json.loads(body["content"][0]["text"])
        if response.is_success:
            return Outcome(said, signal=response.status_code)
        assert body["isError"] is True
        assert body == {**said, "content": body["content"], "isError": True}
        return Outcome(fault=said, signal=response.status_code)


class Mcp:
    """The official MCP client, on any transport; the signal is isError."""

    def __init__(self, portal: BlockingPortal, client: Client):
        self._portal = portal
        self.client = client

    def call(self, operation: Operation, arguments: Json) -> Outcome:
        return self.tool(operation.tool or "", arguments)

    def tool(self, name: str, arguments: Json) -> Outcome:
        result = self._portal.call(self.client.call_tool, name, arguments)
        said = json.loads(result.content[0].text)  # type: ignore[union-attr]
        return Outcome(fault=said, signal=True) if result.is_error else Outcome(said, signal=False)

    def ask(self, question: Callable[[], Any]) -> Any:
        """Await one of the client's other methods."""
        return self._portal.call(question)


@contextmanager
def mcp_http(url: str, credential: str | None = None, path: str = "/mcp") -> Iterator[Mcp]:
    headers = {"Authorization": f"Bearer {credential}"} if credential is not None else {}

    @contextlib.asynccontextmanager
    async def connected() -> Any:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=WAIT_SECONDS, trust_env=False) as http,
            Client(streamable_http_client(url + path, http_client=http)) as client,
        ):
            yield client

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connected()) as client:
        yield Mcp(portal, client)


@contextmanager
def mcp_stdio(command: list[str], env: Mapping[str, str]) -> Iterator[Mcp]:
    # The SDK hands only a few variables on; this one says which code is tested.
    code = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    words = StdioServerParameters(command=command[0], args=command[1:], env={"HOLDFAST_DAEMON": "off", **code, **env})
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(words)) as client:
        yield Mcp(portal, client)


class Cli:
    """Command lines; `run` says how one is carried out. The signal is the exit code."""

    def __init__(self, run: Callable[[list[str]], tuple[int, bytes, bytes]], home: Path):
        self._run = run
        self._home = home

    def call(self, operation: Operation, arguments: Json) -> Outcome:
        code, out, err = self._run([*self._words(operation, arguments), "--json", "--data", str(self._home)])
        if out:
            return Outcome(orjson.loads(out), signal=code)
        return Outcome(fault=orjson.loads(err), signal=code)

    def _words(self, operation: Operation, arguments: Json) -> list[str]:
        if operation.name == "import_":
            return self._import(arguments)
        assert operation.cli
        return [*operation.cli.split(), *command_words(operation, arguments)]

    def _import(self, arguments: Json) -> list[str]:
        file = self._home.with_suffix(".import.json")
        file.write_bytes(orjson.dumps(arguments.get("exportData")))
        return ["import", str(file), *(["--replace"] if arguments.get("strategy") == "replace" else [])]


def command_words(operation: Operation, arguments: Json) -> list[str]:
    """The options and words that say the arguments. Options first: `--` ends them before any text."""
    words: list[str] = []
    for name, value in arguments.items():
        flag = f"--{name}-json" if name in ("data", "json", "url") else f"--{_kebab(name)}"
        if name in operation.positional:
            continue
        if isinstance(value, bool):
            words.append(flag if value else flag.replace("--", "--no-", 1))
        else:
            given = value if isinstance(value, list) else [value]
            words += [f"{flag}={_cli_word(one)}" for one in given]
    texts = [str(arguments[name]) for name in operation.positional if name in arguments]
    return [*words, *texts]


def _kebab(name: str) -> str:
    return re.sub(r"([A-Z])", lambda found: f"-{found[1].lower()}", name).replace("_", "-")


def _cli_word(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict) else str(value)


def cli_outside(command: list[str], env: Mapping[str, str]) -> Callable[[list[str]], tuple[int, bytes, bytes]]:
    """Each command line as a process of its own."""

    def run(words: list[str]) -> tuple[int, bytes, bytes]:
        done = subprocess.run([*command, *words], capture_output=True, env={**os.environ, **env}, timeout=WAIT_SECONDS)
        return done.returncode, done.stdout, done.stderr

    return run


def cli_inside(words: list[str]) -> tuple[int, bytes, bytes]:
    """The command line in this process: the same code, without starting an interpreter."""
    out, err = io.BytesIO(), io.BytesIO()
    with (
        contextlib.redirect_stdout(io.TextIOWrapper(out, write_through=True)) as shown,
        contextlib.redirect_stderr(io.TextIOWrapper(err, write_through=True)) as said,
    ):
        code = main(words)
        shown.flush()
        said.flush()
        return code, out.getvalue(), err.getvalue()


class PythonClient:
    """`holdfast.Holdfast`, with names written as Python writes them; the signal is the fault's class."""

    def __init__(self, memory: Holdfast):
        self._memory = memory

    def call(self, operation: Operation, arguments: Json) -> Outcome:
        given = {re.sub(r"([A-Z])", lambda found: f"_{found[1].lower()}", name): arguments[name] for name in arguments}
        try:
            return Outcome(plain(self._memory.call(operation.name, **given)))
        except Fault as fault:
            return Outcome(fault=plain(fault.to_dict()), signal=type(fault))


def anything(sample: Sample) -> bool:
    return True


def has_tool(sample: Sample) -> bool:
    return sample.operation.tool is not None


def has_command(sample: Sample) -> bool:
    """A command made from the operation; or import, written by hand, which has words for less."""
    return sample.operation.cli is not None or (sample.name == "import_" and _can_be_imported(sample.arguments))


def _can_be_imported(arguments: Json) -> bool:
    return arguments.keys() <= {"exportData", "strategy"} and arguments.get("strategy") in (None, "merge", "replace")


def names_a_path(sample: Sample) -> bool:
    """Over bare HTTP a path with an empty place is another path: such a request cannot be made."""
    return all(sample.arguments.get(name) for name in re.findall(r"\{(\w+)\}", sample.operation.path))


# A process takes most of a second to start: these few stand for the rest, which run in this process.
AS_PROCESSES = frozenset(
    {
        "remember",
        "search-compact",
        "slot",
        "token_create",
        "verify",
        "memory-with an empty id",
        "slot_create-conflict",
        "sessions-with a bad project",
    }
)


def stands_for_the_rest(sample: Sample) -> bool:
    return sample.id in AS_PROCESSES


def by_status(kind: type[Fault]) -> object:
    return kind.http_status


def by_is_error(kind: type[Fault]) -> object:
    return True


def by_exit_code(kind: type[Fault]) -> object:
    return kind.exit_code


def by_class(kind: type[Fault]) -> object:
    return kind


@dataclass(frozen=True)
class Way:
    """A surface to open on a copy of the prepared memory, what it can be asked, and how it says that it failed."""

    open: Callable[[Prepared, Path], Any]
    has: Callable[[Sample], bool]
    signal: Callable[[type[Fault]], object]


@contextmanager
def _direct(prepared: Prepared, home: Path) -> Iterator[Surface]:
    engine = still_engine(settings_for(home))
    try:
        yield Direct(engine)
    finally:
        engine.close()


@contextmanager
def _rest(prepared: Prepared, home: Path) -> Iterator[Surface]:
    with still_server(settings_for(home)) as serving, http_client(serving.url) as http:
        yield Rest(http)


@contextmanager
def _mcp_http(prepared: Prepared, home: Path) -> Iterator[Surface]:
    with still_server(settings_for(home)) as serving, mcp_http(serving.url) as surface:
        yield surface


@contextmanager
def _old_mcp(prepared: Prepared, home: Path) -> Iterator[Surface]:
    with still_server(settings_for(home)) as serving, http_client(serving.url) as http:
        yield OldMcp(http)


@contextmanager
def _stdio_folder(prepared: Prepared, home: Path) -> Iterator[Surface]:
    with mcp_stdio([*STILL_COMMAND, "mcp", "--data", str(home)], environment(home)) as surface:
        yield surface


@contextmanager
def _stdio_server(prepared: Prepared, home: Path) -> Iterator[Surface]:
    with (
        still_server(settings_for(home)),
        mcp_stdio([*STILL_COMMAND, "mcp", "--data", str(home)], environment(home)) as surface,
    ):
        yield surface


@contextmanager
def _environ(home: Path) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(environment(home))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _cli_folder(prepared: Prepared, home: Path) -> Iterator[Surface]:
    with still_folders(), _environ(home):
        yield Cli(cli_inside, home)


@contextmanager
def _cli_server(prepared: Prepared, home: Path) -> Iterator[Surface]:
    with still_server(settings_for(home)), _environ(home):
        yield Cli(cli_inside, home)


@contextmanager
def _cli_process(prepared: Prepared, home: Path) -> Iterator[Surface]:
    with still_server(settings_for(home)):
        yield Cli(cli_outside([str(COMMAND)], environment(home)), home)


@contextmanager
def _client_folder(prepared: Prepared, home: Path) -> Iterator[Surface]:
    with still_folders(), _environ(home), Holdfast(home) as memory:
        yield PythonClient(memory)


@contextmanager
def _client_url(prepared: Prepared, home: Path) -> Iterator[Surface]:
    with still_server(settings_for(home)) as serving, Holdfast(serving.url) as memory:
        yield PythonClient(memory)


WAYS: dict[str, Way] = {
    "rest": Way(_rest, names_a_path, by_status),
    "mcp-http": Way(_mcp_http, has_tool, by_is_error),
    "mcp-old-path": Way(_old_mcp, has_tool, by_status),
    "mcp-stdio-on-a-folder": Way(_stdio_folder, has_tool, by_is_error),
    "mcp-stdio-through-a-server": Way(_stdio_server, has_tool, by_is_error),
    "cli-on-a-folder": Way(_cli_folder, has_command, by_exit_code),
    "cli-through-a-server": Way(_cli_server, has_command, by_exit_code),
    "cli-as-processes": Way(_cli_process, stands_for_the_rest, by_exit_code),
    "client-on-a-folder": Way(_client_folder, anything, by_class),
    "client-through-a-server": Way(_client_url, anything, by_class),
}
DIRECT = Way(_direct, anything, by_class)
