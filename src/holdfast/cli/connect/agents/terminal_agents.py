"""Agents that work in a terminal, one row each, with what is written where."""

from __future__ import annotations

import shlex
from pathlib import Path

from holdfast.cli.connect.agents.agent import Agent, ConfigFile, below, home, named, rows
from holdfast.cli.connect.agents.shapes import (
    JSON_SERVERS,
    TYPED_SERVERS,
    copilot_server,
    goose_server,
    grouped_hook,
    named_server,
    opencode_server,
    plain_server,
    typed_hook,
)
from holdfast.cli.connect.config_entries import JsonHooks, Server, WholeFile
from holdfast.cli.connect.environment import ConnectTarget
from holdfast.cli.connect.formats.text_format import JSON, TOML, YAML, Yaml
from holdfast.cli.connect.plugins import opencode_plugin, pi_extension
from holdfast.cli.connect.plugins.node_script import mark

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
# Not PreCompress: it brings nothing that AfterAgent has not brought, and may print nothing but JSON.
GEMINI_EVENTS = {
    "SessionStart": "session-start",
    "BeforeAgent": "prompt-submit",
    "AfterTool": "post-tool-use",
    "AfterAgent": "agent-message",
    "SessionEnd": "session-end",
}
# Its transcript has a form of its own; what the agent said comes with Stop.
QWEN_EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "PostToolUse": "post-tool-use",
    "PostToolUseFailure": "post-tool-failure",
    "Stop": "agent-message",
    "SessionEnd": "session-end",
}
CONTINUE_EVENTS = QWEN_EVENTS
DROID_EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "PostToolUse": "post-tool-use",
    "Stop": "agent-message",
    "Notification": "notification",
    "SessionEnd": "session-end",
}
# In camelCase, so that the payload is Copilot's own: there context is read from the root of what a hook prints.
COPILOT_EVENTS = {
    "sessionStart": "session-start",
    "userPromptSubmitted": "prompt-submit",
    "postToolUse": "post-tool-use",
    "postToolUseFailure": "post-tool-failure",
    "agentStop": "agent-message",
    "subagentStop": "subagent-stop",
    "sessionEnd": "session-end",
}
# Cline runs each file of this folder whose name is that of an event.
CLINE_EVENTS = {
    "TaskStart": "session-start",
    "TaskResume": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "PostToolUse": "post-tool-use",
    "TaskComplete": "agent-message",
    "SessionShutdown": "session-end",
}

CLAUDE = named("CLAUDE_CONFIG_DIR", home(".claude"))
CODEX = named("CODEX_HOME", home(".codex"))
GEMINI = home(".gemini")
COPILOT = named("COPILOT_HOME", home(".copilot"))
QWEN = named("QWEN_HOME", home(".qwen"))
DROID = below(named("FACTORY_HOME_OVERRIDE", home()), ".factory")
CLINE = named("CLINE_DIR", home(".cline"))
CLINE_DATA = named("CLINE_DATA_DIR", below(CLINE, "data"))
CONTINUE = named("CONTINUE_GLOBAL_DIR", home(".continue"))
PI = named("PI_CODING_AGENT_DIR", home(".pi", "agent"))
KIRO = home(".kiro")


def _claude_json(place: ConnectTarget) -> Path:
    given = place.environ.get("CLAUDE_CONFIG_DIR", "")
    return (Path(given) if given else place.home) / ".claude.json"


def _opencode(place: ConnectTarget) -> Path:
    return place.config_home() / "opencode"


def _opencode_config(place: ConnectTarget) -> Path:
    """The file that is there; both names are read, and a second one beside it would only confuse."""
    plain, commented = _opencode(place) / "opencode.json", _opencode(place) / "opencode.jsonc"
    return commented if commented.exists() and not plain.exists() else plain


def _amp(place: ConnectTarget) -> Path:
    return place.home / ".config" / "amp"


def _amp_config(place: ConnectTarget) -> Path:
    plain, commented = _amp(place) / "settings.json", _amp(place) / "settings.jsonc"
    return commented if commented.exists() and not plain.exists() else plain


def _goose(place: ConnectTarget) -> Path:
    if place.platform == "win32":
        return place.app_data() / "Block" / "goose" / "config"
    return place.config_home() / "goose"


def _droid_has_hooks(place: ConnectTarget) -> bool:
    """Whether Droid's hooks are in a file of their own; its events then hide those of the same name in the settings."""
    return (DROID(place) / "hooks.json").exists()


def _cline_hook(event: str, hook: str) -> ConfigFile:
    def script(place: ConnectTarget) -> str:
        words = [str(place.command), "hook", hook, *place.hook_options()]
        head = f"#!/bin/bash\n# {mark('cline')}; holdfast connect cline --undo removes it.\n"
        return f"{head}exec {shlex.join(words)}\n"

    entry = WholeFile(f"hook {event}", script, mark("cline"))
    return ConfigFile(below(CLINE, "hooks", f"{event}.bash"), (entry,))


OPENCODE_SERVER = Server(JSON, ("mcp",), opencode_server, env="environment", nested=("mcp", "servers"))
CODEX_SERVER = Server(TOML, ("mcp_servers",), plain_server)
COPILOT_SERVER = Server(JSON, ("mcpServers",), copilot_server)
AMP_SERVER = Server(JSON, ("amp.mcpServers",), plain_server)
GOOSE_SERVER = Server(YAML, ("extensions",), goose_server, env="envs")
CONTINUE_SERVER = Server(
    Yaml(listed=True, fresh="name: Local Config\nversion: 1.0.0\nschema: v1\n"), ("mcpServers",), named_server
)
DROID_HOOKS = rows(DROID_EVENTS, timeout=10)

TERMINAL_AGENTS: tuple[Agent, ...] = (
    Agent(
        "claude-code",
        "Claude Code",
        CLAUDE,
        (
            ConfigFile(_claude_json, (TYPED_SERVERS,)),
            ConfigFile(below(CLAUDE, "settings.json"), (JsonHooks(rows(CLAUDE_EVENTS, timeout=10), grouped_hook),)),
        ),
        "its documentation; tried with 2.1.197",
        also=("claude",),
        notes=("Restart Claude Code, or open /mcp, to load the server.",),
        skills=below(CLAUDE, "skills"),
        project=(".mcp.json", JSON_SERVERS),
    ),
    Agent(
        "codex",
        "Codex",
        CODEX,
        (
            ConfigFile(below(CODEX, "config.toml"), (CODEX_SERVER,)),
            ConfigFile(
                below(CODEX, "hooks.json"),
                # Codex cuts SessionEnd off after 3 seconds and warns about a longer timeout.
                (
                    JsonHooks(
                        (*rows(CODEX_EVENTS, timeout=10), *rows({"SessionEnd": "session-end"}, timeout=3)),
                        grouped_hook,
                    ),
                ),
            ),
        ),
        "openai/codex codex-rs/hooks; tried with 0.166.0, skills with 0.169.0",
        also=("codex-cli",),
        hook_notes=("Codex runs new hooks only after you have allowed them: open /hooks in Codex.",),
        # Not ~/.agents/skills, which others read too: a skill that an agent finds twice is reported as a conflict.
        skills=below(CODEX, "skills"),
        project=(".codex/config.toml", CODEX_SERVER),
    ),
    Agent(
        "gemini",
        "Gemini CLI",
        GEMINI,
        (
            ConfigFile(
                below(GEMINI, "settings.json"),
                # Gemini CLI counts a hook's timeout in milliseconds.
                (JSON_SERVERS, JsonHooks(rows(GEMINI_EVENTS, name="holdfast", timeout=10_000), grouped_hook)),
            ),
        ),
        "google-gemini/gemini-cli docs/hooks; tried with 0.61.0",
        also=("gemini-cli",),
        hook_notes=("Hooks need Gemini CLI 0.26 or newer; older releases ignore them.",),
        skills=below(GEMINI, "skills"),
        project=(".gemini/settings.json", JSON_SERVERS),
    ),
    Agent(
        "opencode",
        "OpenCode",
        _opencode,
        (
            ConfigFile(_opencode_config, (OPENCODE_SERVER,)),
            ConfigFile(
                below(_opencode, "plugins", "holdfast.js"),
                (WholeFile("plugin", opencode_plugin.plugin_text, opencode_plugin.MARK),),
            ),
        ),
        "opencode.ai docs (plugins, V1 and V2); tried with 1.18.33",
        hook_notes=("The plugin needs OpenCode 1.18.29 or newer; older releases use the MCP server only.",),
        skills=below(_opencode, "skills"),
        project=("opencode.json", OPENCODE_SERVER),
    ),
    Agent(
        "copilot",
        "Copilot CLI",
        COPILOT,
        (
            ConfigFile(below(COPILOT, "mcp-config.json"), (COPILOT_SERVER,)),
            ConfigFile(
                below(COPILOT, "hooks", "holdfast.json"),
                (JsonHooks(rows(COPILOT_EVENTS, timeoutSec=10), typed_hook, {"version": 1}),),
            ),
        ),
        "github/docs hooks-reference.md and cli-config-dir-reference.md; server and skills tried with 1.0.102",
        also=("copilot-cli", "github-copilot"),
        skills=below(COPILOT, "skills"),
        project=(".mcp.json", COPILOT_SERVER),
    ),
    Agent(
        "qwen",
        "Qwen Code",
        QWEN,
        (
            ConfigFile(
                below(QWEN, "settings.json"),
                (JSON_SERVERS, JsonHooks(rows(QWEN_EVENTS, name="holdfast", timeout=10), grouped_hook)),
            ),
        ),
        "docs/features/hooks.md and mcp.md in @qwen-code/qwen-code 0.24.4; server tried with it",
        also=("qwen-code",),
        notes=("Restart Qwen Code to load the server and the hooks.",),
        skills=below(QWEN, "skills"),
        project=(".qwen/settings.json", JSON_SERVERS),
    ),
    Agent(
        "droid",
        "Droid",
        DROID,
        (
            ConfigFile(below(DROID, "mcp.json"), (TYPED_SERVERS,)),
            ConfigFile(
                below(DROID, "settings.json"),
                (JsonHooks(DROID_HOOKS, grouped_hook),),
                when=lambda place: not _droid_has_hooks(place),
            ),
            ConfigFile(
                below(DROID, "hooks.json"), (JsonHooks(DROID_HOOKS, grouped_hook, bare=True),), when=_droid_has_hooks
            ),
        ),
        "the settings loader and hook runner of @factory/cli-linux-x64 0.225.2; server tried with it",
        also=("factory",),
        skills=below(DROID, "skills"),
        project=(".factory/mcp.json", TYPED_SERVERS),
    ),
    Agent(
        "cline",
        "Cline",
        CLINE,
        (
            ConfigFile(
                named("CLINE_MCP_SETTINGS_PATH", below(CLINE_DATA, "settings", "cline_mcp_settings.json")),
                (JSON_SERVERS,),
            ),
            *(_cline_hook(event, hook) for event, hook in CLINE_EVENTS.items()),
        ),
        "the paths and hook runner of @cline/cli-linux-x64 3.0.65; server, hooks and skills tried with it",
        skills=below(CLINE, "skills"),
    ),
    Agent(
        "continue",
        "Continue",
        CONTINUE,
        (
            ConfigFile(below(CONTINUE, "config.yaml"), (CONTINUE_SERVER,)),
            ConfigFile(below(CONTINUE, "settings.json"), (JsonHooks(rows(CONTINUE_EVENTS, timeout=10), grouped_hook),)),
        ),
        "src/hooks and config loader of @continuedev/cli 1.5.47",
        also=("cn",),
        hook_notes=("Hooks run in the Continue CLI; the editor extension uses the MCP server only.",),
    ),
    Agent(
        "amp",
        "Amp",
        _amp,
        (ConfigFile(_amp_config, (AMP_SERVER,)),),
        "Amp's settings reference of November 2026; tried with @ampcode/cli 0.0.1790142911",
        project=(".amp/settings.json", AMP_SERVER),
    ),
    Agent(
        "goose",
        "Goose",
        _goose,
        (ConfigFile(below(_goose, "config.yaml"), (GOOSE_SERVER,)),),
        "aaif-goose/goose documentation/docs/guides/config-files.md of November 2026",
    ),
    Agent(
        "kiro",
        "Kiro",
        KIRO,
        (ConfigFile(below(KIRO, "settings", "mcp.json"), (JSON_SERVERS,)),),
        "kiro.dev/docs (MCP, hooks) of November 2026; IDE 1.0 and CLI 2.14",
        also=("kiro-cli",),
        hook_notes=(
            "Kiro's hooks name no session, so what they report could not be kept apart: it uses the MCP server only.",
        ),
        project=(".kiro/settings/mcp.json", JSON_SERVERS),
    ),
    Agent(
        "pi",
        "Pi",
        PI,
        (
            ConfigFile(below(PI, "mcp.json"), (JSON_SERVERS,)),
            ConfigFile(
                below(PI, "extensions", "holdfast.js"),
                (WholeFile("extension", pi_extension.extension_text, pi_extension.MARK),),
            ),
        ),
        "docs/mcp.md and docs/extensions.md in @earendil-works/pi-coding-agent 1.5.2",
        notes=("Run /reload in Pi to load the server and the extension.",),
        skills=below(PI, "skills"),
        project=(".pi/mcp.json", JSON_SERVERS),
    ),
)
