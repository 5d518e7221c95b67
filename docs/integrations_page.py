"""The text of docs/integrations.md, read from the tables and modules that it is about; docs/generate.py writes the page."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from holdfast.cli.commands.parsers import COMMANDS
from holdfast.cli.connect import AGENTS, Agent
from holdfast.cli.connect.agents.editor_agents import EDITOR_AGENTS
from holdfast.cli.connect.agents.memory_agents import MEMORY_AGENTS
from holdfast.cli.connect.agents.terminal_agents import TERMINAL_AGENTS
from holdfast.cli.connect.config_entries import JsonHooks
from holdfast.cli.connect.skill_pack import SKILLS, skill_text

ROOT = Path(__file__).parents[1]
DOCS = Path(__file__).parent
SOURCE = ROOT / "src" / "holdfast"
CLIENT = ROOT / "clients" / "typescript" / "package.json"

Table = Callable[[Iterable[str], Iterable[Iterable[str]]], str]

_INTRO = """
What Holdfast plugs into, with the line to type. An agent is connected by one command, which shows the change with
`--dry-run`, keeps a backup and is taken back byte for byte with `--undo`; `holdfast connect --all` does it for every agent on
the machine, and `holdfast connect --list` shows them ([usage.md](usage.md#connect-an-agent)).
"""

_KINDS = (
    ("In a terminal", TERMINAL_AGENTS),
    ("In an editor", EDITOR_AGENTS),
    ("As the memory of an assistant", MEMORY_AGENTS),
)


def parts(table: Table) -> Iterator[str]:
    """The parts of the page, in order."""
    yield _INTRO
    yield "## Agents"
    for title, agents in _KINDS:
        yield f"### {title}"
        yield table(["agent", "line to type", "what it gets", "read in"], map(_agent, agents))
    yield "An agent without hooks has the tools alone: it saves and recalls when it decides to. What hooks keep: [hooks.md](hooks.md)."
    yield "### Skills"
    yield "Folders in the open form of agent skills, in [skills](../skills); `connect` installs them for the agents above."
    yield table(["skill", "teaches"], ([f"`{name}`", _about(name)] for name in SKILLS))
    yield "## MCP clients"
    yield _MCP
    yield table(["line to type", "the model is shown"], _tool_sets())
    yield _ELSEWHERE
    if rows := sorted(_adapters(), key=lambda row: row[0].lower()):
        yield "## Frameworks and wrappers"
        yield _FRAMEWORKS + (" More in [frameworks.md](frameworks.md)." if (DOCS / "frameworks.md").exists() else "")
        yield table(["framework", "what it is", "install", "line to type"], rows)
    if CLIENT.exists():
        yield "## TypeScript"
        yield _typescript()
    yield _REST


_MCP = """
Any client that starts a command: `{"mcpServers": {"holdfast": {"command": "holdfast", "args": ["mcp"]}}}`. Any client that
speaks HTTP: `http://127.0.0.1:3111/mcp`, with the secret or a token as `Authorization: Bearer …`.
"""

_FRAMEWORKS = "Each is an extra, imported by its own module alone."

_ELSEWHERE = """
### From elsewhere, and without MCP

| who | by |
|---|---|
| claude.ai, ChatGPT and editors, as a remote MCP server | `HOLDFAST_OAUTH=on` and `https://memory.example.org/mcp`: [remote_mcp.md](remote_mcp.md) |
| Anthropic's memory tool (`memory_20250818`), from any program | `POST /agentmemory/memory-tool`: [memory_tool.md](memory_tool.md) |
"""

_REST = """
## Everything else

Every operation over REST, MCP, the command line and Python: [operations.md](operations.md). Programs written for agentmemory
need no change: [usage.md](usage.md).
"""


def _agent(agent: Agent) -> list[str]:
    line = f"`holdfast connect {agent.name}`"
    return [agent.title, line, ", ".join(_gets(agent)), agent.source]


def _gets(agent: Agent) -> Iterator[str]:
    entries = [entry for file in agent.files for entry in file.entries]
    if any(entry.part == "server" for entry in entries):
        yield "MCP server"
    hooks = [entry for entry in entries if entry.part == "hooks"]
    if agent in MEMORY_AGENTS:
        yield "the memory that it uses"
    elif any(isinstance(entry, JsonHooks) for entry in hooks):
        yield "hooks"
    elif hooks:
        yield "hooks" if hooks[0].what.startswith("hook ") else f"hooks by {_a(hooks[0].what)}"
    if agent.skills:
        yield "skills"


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _about(name: str) -> str:
    front = skill_text(name).split("---\n")[1]
    return next(line for line in front.splitlines() if line.startswith("description: ")).removeprefix("description: ")


def _tool_sets() -> Iterator[list[str]]:
    parser = ArgumentParser()
    next(command for command in COMMANDS if command.words == "mcp").add(parser)
    option = next(action for action in parser._actions if "--tools" in action.option_strings)
    told = {
        "core": "the eight tools that a coding agent needs (the default)",
        "all": "every tool of [operations.md](operations.md)",
        "graph": "the tools of the reference MCP memory server",
    }
    for name in option.choices or ():
        yield [f"`holdfast mcp --tools {name}`", told.get(str(name), str(name))]


def _adapters() -> Iterator[list[str]]:
    """A row for each module of the room, from its docstring: `Name: what it is.`, and the first line of code."""
    for path in sorted((SOURCE / "integrations").glob("*.py")):
        if path.name != "__init__.py":
            yield _adapter(path)
    if (SOURCE / "wrap").is_dir():
        line = '`client = remembering(OpenAI(), user="ada")`, from `holdfast.wrap`'
        about = "relevant memories come in, what was said goes out, and a server that is down is never in the way"
        yield ["The clients of OpenAI and Anthropic", about, "`pip install 'holdfast[openai]'` or `'holdfast[anthropic]'`", line]


def _adapter(path: Path) -> list[str]:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")), clean=False) or ""
    summary, _, rest = text.partition("\n\n")
    name, colon, about = " ".join(summary.split()).partition(": ")
    quoted = re.search(r"`([^`]+)`", summary)
    code = re.search(r"^\s*(\w+ = \w+\(.*)$", rest, re.MULTILINE)
    line = code.group(1) if code else quoted.group(1) if quoted else ""
    extra = _extra(path.stem)
    return [
        name.rstrip("."),
        about.rstrip(".") if colon else "",
        f"`pip install 'holdfast[{extra}]'`" if extra else "",
        f"`{line}`" if line else "",
    ]


def _extra(module: str) -> str:
    """The extra of pyproject.toml after which the module is named."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    return max((name for name in extras if module.startswith(name.replace("-", "_"))), key=len, default="")


def _typescript() -> str:
    package = json.loads(CLIENT.read_text(encoding="utf-8"))
    return f"`npm install {package['name']}`: {package.get('description', '').rstrip('.')} ([clients/typescript](../clients/typescript))"


assert {agent.name for _, agents in _KINDS for agent in agents} == {agent.name for agent in AGENTS}
