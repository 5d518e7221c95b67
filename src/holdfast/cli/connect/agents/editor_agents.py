"""Agents that live in an editor or a terminal program, one row each, with what is written where."""

from __future__ import annotations

from pathlib import Path

from holdfast.cli.connect.agents.agent import Agent, ConfigFile, below, home, rows
from holdfast.cli.connect.agents.shapes import JSON_SERVERS, flat_hook, plain_server, typed_server
from holdfast.cli.connect.config_entries import JsonHooks, Server
from holdfast.cli.connect.environment import ConnectTarget
from holdfast.cli.connect.formats.text_format import JSON

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
# Cascade reports no start and no end; the server opens the session at the first prompt.
WINDSURF_EVENTS = {
    "pre_user_prompt": "prompt-submit",
    "post_write_code": "post-tool-use",
    "post_run_command": "post-tool-use",
    "post_mcp_tool_use": "post-tool-use",
    "post_cascade_response": "agent-message",
}

CURSOR = home(".cursor")
WINDSURF = home(".codeium", "windsurf")
WARP = home(".warp")
ANTIGRAVITY = home(".gemini", "config")


def _devin(place: ConnectTarget) -> Path:
    return (place.app_data() if place.platform == "win32" else place.config_home()) / "devin"


def _vscode(place: ConnectTarget) -> Path:
    return place.app_data() / "Code"


def _zed(place: ConnectTarget) -> Path:
    """On macOS too it is below ~/.config."""
    return place.app_data() / "Zed" if place.platform == "win32" else place.config_home() / "zed"


VSCODE_SERVER = Server(JSON, ("servers",), typed_server)
ZED_SERVER = Server(JSON, ("context_servers",), plain_server)

EDITOR_AGENTS: tuple[Agent, ...] = (
    Agent(
        "cursor",
        "Cursor",
        CURSOR,
        (
            ConfigFile(below(CURSOR, "mcp.json"), (JSON_SERVERS,)),
            ConfigFile(below(CURSOR, "hooks.json"), (JsonHooks(rows(CURSOR_EVENTS), flat_hook, {"version": 1}),)),
        ),
        "Cursor's documentation (hooks) of November 2026",
        notes=("Restart Cursor to load the server and the hooks.",),
        project=(".cursor/mcp.json", JSON_SERVERS),
    ),
    Agent(
        "vscode",
        "VS Code",
        _vscode,
        (ConfigFile(below(_vscode, "User", "mcp.json"), (VSCODE_SERVER,)),),
        "microsoft/vscode-docs (mcp, hooks) of November 2026",
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
        WINDSURF,
        (
            ConfigFile(below(WINDSURF, "mcp_config.json"), (JSON_SERVERS,)),
            # Windsurf became Devin Desktop in June 2026, which reads the servers from a folder of its own.
            ConfigFile(below(_devin, "mcp_config.json"), (JSON_SERVERS,), when=lambda place: _devin(place).is_dir()),
            ConfigFile(
                below(WINDSURF, "hooks.json"), (JsonHooks(rows(WINDSURF_EVENTS, show_output=False), flat_hook),)
            ),
        ),
        "docs.windsurf.com (cascade hooks) and docs.devin.ai of November 2026",
        notes=("Refresh the MCP servers in Windsurf, or restart it.",),
        hook_notes=("Hooks run in the Cascade agent; Devin Local uses the MCP server only.",),
    ),
    Agent(
        "zed",
        "Zed",
        _zed,
        (ConfigFile(below(_zed, "settings.json"), (ZED_SERVER,)),),
        "zed-industries/zed docs/src/ai/mcp.md of November 2026",
        project=(".zed/settings.json", ZED_SERVER),
    ),
    Agent(
        "warp",
        "Warp",
        WARP,
        (ConfigFile(below(WARP, ".mcp.json"), (JSON_SERVERS,)),),
        "warpdotdev/warp, its skill agent-add-mcp of August 2026",
        project=(".warp/.mcp.json", JSON_SERVERS),
    ),
    Agent(
        "antigravity",
        "Antigravity",
        ANTIGRAVITY,
        (ConfigFile(below(ANTIGRAVITY, "mcp_config.json"), (JSON_SERVERS,)),),
        "configurations in public repositories of July 2026 (Antigravity 2, agy 1.1.5)",
        also=("agy",),
        notes=("Restart Antigravity to load the server.",),
    ),
)
