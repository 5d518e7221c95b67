"""Homes for the connect tests: where each agent's files are, and what a user may have in them already."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.cli.connect import ConnectTarget

COMMAND = Path("/opt/holdfast/bin/holdfast")


def make_place(home: Path, **more: Any) -> ConnectTarget:
    return ConnectTarget(**{"home": home, "command": COMMAND, "platform": "linux", **more})


def everything(home: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below the home with its bytes and its mode."""
    files = (path for path in home.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(home)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in files}


def fill(home: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))


# The MCP file and the hooks file of each agent, relative to the home.
SERVER_FILE = {
    "claude-code": ".claude.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/opencode.json",
    "vscode": ".config/Code/User/mcp.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
}
HOOKS_FILE = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "cursor": ".cursor/hooks.json",
    "gemini": ".gemini/settings.json",
    "windsurf": ".codeium/windsurf/hooks.json",
}

# What a user may have: other servers, other hooks, comments, odd spacing, numbers that json would respell.
USED: dict[str, dict[str, str]] = {
    "claude-code": {
        ".claude.json": """{
  "numStartups": 34,
  "ratio": 1.50,
  "mcpServers": {
    "github": {"type": "stdio", "command": "gh-mcp", "env": {"GITHUB_TOKEN": "ghp_private"}}
  },
  "projects": {"/home/dev/proj": {"mcpServers": {}, "history": ["caf\\u00e9"]}}
}
""",
        ".claude/settings.json": """{
\t"model": "opus",
\t"hooks": {
\t\t"PostToolUse": [
\t\t\t{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "prettier --write"}]}
\t\t],
\t\t"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]
\t}
}
""",
    },
    "codex": {
        ".codex/config.toml": """# my Codex
model = "gpt-5-codex"   # the big one
notify = [
  "python3",  # not a table: [mcp_servers.holdfast]
  "/home/dev/notify.py",
]
instructions = \"\"\"
[mcp_servers.holdfast]
is only text here
\"\"\"

[mcp_servers.docs]
command = "docs-mcp"
env = { KEY = 'value' }

[projects."/home/dev/proj"]
trust_level = "trusted"
""",
        ".codex/hooks.json": '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"beep"}]}]}}',
    },
    "cursor": {
        ".cursor/mcp.json": '{\r\n  "mcpServers": {\r\n    "x": { "url": "http://localhost:1/mcp" }\r\n  }\r\n}\r\n',
        ".cursor/hooks.json": """{
  "version": 1,
  "hooks": {
    "beforeShellExecution": [{ "command": "./guard.sh" }],
    "sessionStart": [{ "command": "./hello.sh" }]
  }
}
""",
    },
    "gemini": {
        ".gemini/settings.json": """// settings of the Gemini CLI
{
  "ui": { "theme": "Dracula" }, // dark
  "mcpServers": {},
  "hooks": {
    "disabled": [],
    "AfterTool": [
      { "matcher": "write_file", "hooks": [{ "type": "command", "command": "lint" }] } /* mine */
    ]
  }
}
""",
    },
    "opencode": {
        ".config/opencode/opencode.json": """{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "jira": {
      "type": "remote",
      "url": "https://jira.example.com/mcp",
      "enabled": false,
    },
  },
  // the last word
}
""",
        ".config/opencode/plugins/mine.js": "export const Mine = async () => ({})\n",
    },
    "vscode": {
        ".config/Code/User/mcp.json": """{
	"servers": {
		// a server of the team
		"team": {
			"type": "http",
			"url": "https://mcp.example.com", /* stays */
		},
	},
	"inputs": [],
}
""",
    },
    "windsurf": {
        ".codeium/windsurf/mcp_config.json": "",
        ".codeium/windsurf/hooks.json": """{
  "hooks": {
    "post_run_command": [{ "command": "log.sh", "show_output": true }]
  }
}
""",
    },
}
