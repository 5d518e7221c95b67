"""The agents that connect knows: one table, one row each, with what is written where.

Sources of the formats: Claude Code docs (hooks, mcp), openai/codex codex-rs/hooks, Cursor docs (hooks),
google-gemini/gemini-cli docs/hooks, opencode.ai docs (plugins, V1 and V2), microsoft/vscode-docs (mcp,
hooks), docs.windsurf.com (cascade hooks) and docs.devin.ai. Tried on the programs themselves: Claude
Code 2.1.197, Codex 0.166.0, Gemini CLI 0.61.0, OpenCode 1.18.33 (server, hooks and context).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.cli.connect.config_entries import Entry, HookRow, JsonHooks, JsonServer, TomlServer, WholeFile
from holdfast.cli.connect.environment import ConnectTarget
from holdfast.cli.connect.opencode_plugin import MARK, plugin_text
from holdfast.core.errors import InvalidRequest

Locate = Callable[[ConnectTarget], Path]


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One file of an agent and what goes into it; `only_with` is a folder without which it is left out."""

    path: Locate
    entries: tuple[Entry, ...]
    only_with: Locate | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent: its folder shows whether it is installed; `project` is its MCP file inside a project."""

    name: str
    title: str
    folder: Locate
    files: tuple[ConfigFile, ...]
    also: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hook_notes: tuple[str, ...] = ()
    project: tuple[str, Entry] | None = None


def plain_server(place: ConnectTarget) -> dict[str, object]:
    env = place.server_env()
    return {"command": str(place.command), "args": ["mcp"], **({"env": env} if env else {})}


def typed_server(place: ConnectTarget) -> dict[str, object]:
    return {"type": "stdio", **plain_server(place)}


def opencode_server(place: ConnectTarget) -> dict[str, object]:
    env = place.server_env()
    command = [str(place.command), "mcp"]
    return {"type": "local", "command": command, **({"environment": env} if env else {})}


def grouped_hook(row: HookRow, line: str) -> dict[str, object]:
    """The shape of Claude Code, which Codex and Gemini CLI took over."""
    return {"hooks": [{"type": "command", "command": line, **row.fields}]}


def flat_hook(row: HookRow, line: str) -> dict[str, object]:
    """The shape of Cursor and Windsurf."""
    return {"command": line, **row.fields}


def rows(events: Mapping[str, str], **fields: object) -> tuple[HookRow, ...]:
    return tuple(HookRow(event, hook, fields) for event, hook in events.items())


# Not PreToolUse: nothing is read before a tool.
CLAUDE_EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "PostToolUse": "post-tool-use",
    "PostToolUseFailure": "post-tool-failure",
    "PreCompact": "pre-compact",
    "Stop": "stop",
    "SubagentStart": "subagent-start",
    "SubagentStop": "subagent-stop",
    "Notification": "notification",
    "TaskCompleted": "task-completed",
    "SessionEnd": "session-end",
}
# Codex ignores events it does not know, so older releases simply skip the last ones. It discards what
# PreCompact prints and starts the session anew after compacting, which brings the context by itself: what is
# about to be summarised is kept, and nothing is printed.
CODEX_EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "PostToolUse": "post-tool-use",
    "Stop": "stop",
    "SubagentStart": "subagent-start",
    "SubagentStop": "subagent-stop",
    "PreCompact": "stop",
}
# Cursor drops the whole file when it holds an event it does not know. The last two are older than the first five,
# so every release that reads those reads these.
CURSOR_EVENTS = {
    "sessionStart": "session-start",
    "beforeSubmitPrompt": "prompt-submit",
    "postToolUse": "post-tool-use",
    "postToolUseFailure": "post-tool-failure",
    "sessionEnd": "session-end",
    "afterAgentResponse": "agent-message",
    "stop": "stop",
}
# Not PreCompress: it brings nothing that AfterAgent has not brought, and may print nothing but JSON.
GEMINI_EVENTS = {
    "SessionStart": "session-start",
    "BeforeAgent": "prompt-submit",
    "AfterTool": "post-tool-use",
    "AfterAgent": "agent-message",
    "SessionEnd": "session-end",
}
# Cascade reports no start and no end; the server opens the session at the first prompt.
WINDSURF_EVENTS = {
    "pre_user_prompt": "prompt-submit",
    "post_write_code": "post-tool-use",
    "post_run_command": "post-tool-use",
    "post_mcp_tool_use": "post-tool-use",
    "post_cascade_response": "agent-message",
}

JSON_SERVERS = JsonServer(("mcpServers",), plain_server)


def _claude(place: ConnectTarget) -> Path:
    given = place.environ.get("CLAUDE_CONFIG_DIR", "")
    return Path(given) if given else place.home / ".claude"


def _claude_json(place: ConnectTarget) -> Path:
    given = place.environ.get("CLAUDE_CONFIG_DIR", "")
    return (Path(given) if given else place.home) / ".claude.json"


def _codex(place: ConnectTarget) -> Path:
    given = place.environ.get("CODEX_HOME", "")
    return Path(given) if given else place.home / ".codex"


def _opencode(place: ConnectTarget) -> Path:
    return place.config_home() / "opencode"


def _opencode_config(place: ConnectTarget) -> Path:
    """The file that is there; both names are read, and a second one beside it would only confuse."""
    plain, commented = _opencode(place) / "opencode.json", _opencode(place) / "opencode.jsonc"
    return commented if commented.exists() and not plain.exists() else plain


def _devin(place: ConnectTarget) -> Path:
    return (place.app_data() if place.platform == "win32" else place.config_home()) / "devin"


OPENCODE_SERVER = JsonServer(("mcp",), opencode_server, env="environment", nested=("mcp", "servers"))
VSCODE_SERVER = JsonServer(("servers",), typed_server)

AGENTS: tuple[Agent, ...] = (
    Agent(
        "claude-code",
        "Claude Code",
        _claude,
        (
            ConfigFile(_claude_json, (JsonServer(("mcpServers",), typed_server),)),
            ConfigFile(
                lambda place: _claude(place) / "settings.json",
                (JsonHooks(rows(CLAUDE_EVENTS, timeout=10), grouped_hook),),
            ),
        ),
        also=("claude",),
        notes=("Restart Claude Code, or open /mcp, to load the server.",),
        project=(".mcp.json", JSON_SERVERS),
    ),
    Agent(
        "codex",
        "Codex",
        _codex,
        (
            ConfigFile(lambda place: _codex(place) / "config.toml", (TomlServer(("mcp_servers",), plain_server),)),
            ConfigFile(
                lambda place: _codex(place) / "hooks.json",
                # Codex cuts SessionEnd off after 3 seconds and warns about a longer timeout.
                (
                    JsonHooks(
                        (*rows(CODEX_EVENTS, timeout=10), *rows({"SessionEnd": "session-end"}, timeout=3)),
                        grouped_hook,
                    ),
                ),
            ),
        ),
        also=("codex-cli",),
        hook_notes=("Codex runs new hooks only after you have allowed them: open /hooks in Codex.",),
        project=(".codex/config.toml", TomlServer(("mcp_servers",), plain_server)),
    ),
    Agent(
        "cursor",
        "Cursor",
        lambda place: place.home / ".cursor",
        (
            ConfigFile(lambda place: place.home / ".cursor" / "mcp.json", (JSON_SERVERS,)),
            ConfigFile(
                lambda place: place.home / ".cursor" / "hooks.json",
                (JsonHooks(rows(CURSOR_EVENTS), flat_hook, {"version": 1}),),
            ),
        ),
        notes=("Restart Cursor to load the server and the hooks.",),
        project=(".cursor/mcp.json", JSON_SERVERS),
    ),
    Agent(
        "gemini",
        "Gemini CLI",
        lambda place: place.home / ".gemini",
        (
            ConfigFile(
                lambda place: place.home / ".gemini" / "settings.json",
                # Gemini CLI counts a hook's timeout in milliseconds.
                (JSON_SERVERS, JsonHooks(rows(GEMINI_EVENTS, name="holdfast", timeout=10_000), grouped_hook)),
            ),
        ),
        also=("gemini-cli",),
        hook_notes=("Hooks need Gemini CLI 0.26 or newer; older releases ignore them.",),
        project=(".gemini/settings.json", JSON_SERVERS),
    ),
    Agent(
        "opencode",
        "OpenCode",
        _opencode,
        (
            ConfigFile(_opencode_config, (OPENCODE_SERVER,)),
            ConfigFile(
                lambda place: _opencode(place) / "plugins" / "holdfast.js",
                (WholeFile("plugin", plugin_text, MARK),),
            ),
        ),
        hook_notes=("The plugin needs OpenCode 1.18.29 or newer; older releases use the MCP server only.",),
        project=("opencode.json", OPENCODE_SERVER),
    ),
    Agent(
        "vscode",
        "VS Code",
        lambda place: place.app_data() / "Code",
        (ConfigFile(lambda place: place.app_data() / "Code" / "User" / "mcp.json", (VSCODE_SERVER,)),),
        also=("vs-code", "code"),
        hook_notes=(
            "VS Code has no stable hooks of its own. It runs those in ~/.claude/settings.json, which holdfast "
            "connect claude-code writes.",
        ),
        project=(".vscode/mcp.json", VSCODE_SERVER),
    ),
    Agent(
        "windsurf",
        "Windsurf",
        lambda place: place.home / ".codeium" / "windsurf",
        (
            ConfigFile(
                lambda place: place.home / ".codeium" / "windsurf" / "mcp_config.json",
                (JSON_SERVERS,),
            ),
            # Windsurf became Devin Desktop in June 2026, which reads the servers from a folder of its own.
            ConfigFile(lambda place: _devin(place) / "mcp_config.json", (JSON_SERVERS,), only_with=_devin),
            ConfigFile(
                lambda place: place.home / ".codeium" / "windsurf" / "hooks.json",
                (JsonHooks(rows(WINDSURF_EVENTS, show_output=False), flat_hook),),
            ),
        ),
        notes=("Refresh the MCP servers in Windsurf, or restart it.",),
        hook_notes=("Hooks run in the Cascade agent; Devin Local uses the MCP server only.",),
    ),
)


def find(name: str) -> Agent:
    """The agent of that name.

    Raises:
        InvalidRequest: there is none.
    """
    for agent in AGENTS:
        if name == agent.name or name in agent.also:
            return agent
    known = ", ".join(agent.name for agent in AGENTS)
    raise InvalidRequest(f"connect: unknown agent {name!r}", hint=f"Choose one of: {known}.")
