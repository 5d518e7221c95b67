"""Assistants with one memory to choose: Holdfast becomes that memory, and their MCP server beside it."""

from __future__ import annotations

from pathlib import Path

from holdfast.cli.connect.agents.agent import Agent, ConfigFile, below, home, named
from holdfast.cli.connect.agents.shapes import plain_server
from holdfast.cli.connect.config_entries import Choice, Server, WholeFile
from holdfast.cli.connect.environment import ConnectTarget
from holdfast.cli.connect.formats.text_format import JSON, YAML
from holdfast.cli.connect.plugins import hermes_provider, openclaw_plugin


def _windows_or_home(place: ConnectTarget) -> Path:
    local = place.environ.get("LOCALAPPDATA", "").strip() or str(place.home / "AppData" / "Local")
    return Path(local) / "hermes" if place.platform == "win32" else place.home / ".hermes"


HERMES = named("HERMES_HOME", _windows_or_home)
OPENCLAW = named("OPENCLAW_STATE_DIR", home(".openclaw"))


def _enabled(place: ConnectTarget) -> dict[str, object]:
    # Without this OpenClaw gives a plugin that it did not bring itself nothing of a conversation.
    return {"enabled": True, "hooks": {"allowConversationAccess": True}}


MEMORY_AGENTS: tuple[Agent, ...] = (
    Agent(
        "hermes",
        "Hermes Agent",
        HERMES,
        (
            ConfigFile(
                below(HERMES, "config.yaml"),
                (Server(YAML, ("mcp_servers",), plain_server), Choice(YAML, ("memory", "provider"))),
            ),
            ConfigFile(
                below(HERMES, "plugins", "holdfast", "__init__.py"),
                (WholeFile("memory provider", hermes_provider.provider_module, hermes_provider.MARK),),
            ),
            ConfigFile(
                below(HERMES, "plugins", "holdfast", "plugin.yaml"),
                (WholeFile("its description", hermes_provider.provider_description, hermes_provider.MARK),),
            ),
        ),
        "agent/memory_provider.py in hermes-agent 0.19.0; provider tried with its loader",
        also=("hermes-agent",),
        skills=below(HERMES, "skills"),
    ),
    Agent(
        "openclaw",
        "OpenClaw",
        OPENCLAW,
        (
            ConfigFile(
                named("OPENCLAW_CONFIG_PATH", below(OPENCLAW, "openclaw.json")),
                (
                    Server(JSON, ("mcp", "servers"), plain_server),
                    Choice(JSON, ("plugins", "slots", "memory"), ("memory-core",)),
                    Server(JSON, ("plugins", "entries"), _enabled, what="plugin holdfast", part="hooks"),
                ),
            ),
            ConfigFile(
                below(OPENCLAW, "extensions", "holdfast", "openclaw.plugin.json"),
                (WholeFile("manifest", openclaw_plugin.plugin_manifest, openclaw_plugin.MARK),),
            ),
            ConfigFile(
                below(OPENCLAW, "extensions", "holdfast", "package.json"),
                (WholeFile("package file", openclaw_plugin.plugin_package, openclaw_plugin.MARK),),
            ),
            ConfigFile(
                below(OPENCLAW, "extensions", "holdfast", "index.js"),
                (WholeFile("memory plugin", openclaw_plugin.plugin_script, openclaw_plugin.MARK),),
            ),
        ),
        "docs/plugins and docs/cli/mcp in openclaw 2026.9.6",
        notes=("Restart the gateway: openclaw gateway restart.",),
        hook_notes=("If openclaw.json has a list plugins.allow, add holdfast to it: OpenClaw loads no other plugin.",),
        skills=below(OPENCLAW, "skills"),
    ),
)
