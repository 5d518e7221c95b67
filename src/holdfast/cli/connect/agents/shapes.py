"""The shapes in which agents write an MCP server and a hook."""

from __future__ import annotations

from holdfast.cli.connect.config_entries import HookRow, Server
from holdfast.cli.connect.environment import SERVER_NAME, ConnectTarget
from holdfast.cli.connect.formats.text_format import JSON

Object = dict[str, object]


def plain_server(place: ConnectTarget) -> Object:
    env = place.server_env()
    return {"command": str(place.command), "args": ["mcp"], **({"env": env} if env else {})}


def typed_server(place: ConnectTarget) -> Object:
    return {"type": "stdio", **plain_server(place)}


def opencode_server(place: ConnectTarget) -> Object:
    env = place.server_env()
    command = [str(place.command), "mcp"]
    return {"type": "local", "command": command, **({"environment": env} if env else {})}


def copilot_server(place: ConnectTarget) -> Object:
    return {"type": "local", **plain_server(place), "tools": ["*"]}


def named_server(place: ConnectTarget) -> Object:
    """Continue keeps its servers in a list."""
    return {"name": SERVER_NAME, **plain_server(place)}


def goose_server(place: ConnectTarget) -> Object:
    server = {"enabled": True, "type": "stdio", "name": SERVER_NAME, "cmd": str(place.command), "args": ["mcp"]}
    return {**server, "envs": dict(place.server_env()), "timeout": 300}


def grouped_hook(row: HookRow, line: str) -> Object:
    """The shape of Claude Code, which most others took over."""
    return {"hooks": [{"type": "command", "command": line, **row.fields}]}


def flat_hook(row: HookRow, line: str) -> Object:
    """The shape of Cursor and Windsurf."""
    return {"command": line, **row.fields}


def typed_hook(row: HookRow, line: str) -> Object:
    """The shape of Copilot CLI."""
    return {"type": "command", "command": line, **row.fields}


JSON_SERVERS = Server(JSON, ("mcpServers",), plain_server)
TYPED_SERVERS = Server(JSON, ("mcpServers",), typed_server)
