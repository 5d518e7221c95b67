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
    "copilot": ".copilot/mcp-config.json",
    "qwen": ".qwen/settings.json",
    "droid": ".factory/mcp.json",
    "cline": ".cline/data/settings/cline_mcp_settings.json",
    "continue": ".continue/config.yaml",
    "amp": ".config/amp/settings.json",
    "goose": ".config/goose/config.yaml",
    "kiro": ".kiro/settings/mcp.json",
    "pi": ".pi/agent/mcp.json",
    "zed": ".config/zed/settings.json",
    "warp": ".warp/.mcp.json",
    "antigravity": ".gemini/config/mcp_config.json",
    "hermes": ".hermes/config.yaml",
    "openclaw": ".openclaw/openclaw.json",
}
# Where in that file the servers are; the root of most files is enough to say "mcpServers".
SERVERS_AT = {
    "codex": ("mcp_servers",),
    "opencode": ("mcp",),
    "vscode": ("servers",),
    "amp": ("amp.mcpServers",),
    "goose": ("extensions",),
    "zed": ("context_servers",),
    "hermes": ("mcp_servers",),
    "openclaw": ("mcp", "servers"),
}
HOOKS_FILE = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "cursor": ".cursor/hooks.json",
    "gemini": ".gemini/settings.json",
    "windsurf": ".codeium/windsurf/hooks.json",
    "copilot": ".copilot/hooks/holdfast.json",
    "qwen": ".qwen/settings.json",
    "droid": ".factory/settings.json",
    "continue": ".continue/settings.json",
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
    # github/docs: add-mcp-servers.md and hooks-reference.md
    "copilot": {
        ".copilot/mcp-config.json": """{
  "mcpServers": {
    "playwright": { "type": "local", "command": "npx", "args": ["@playwright/mcp@latest"], "tools": ["*"] }
  }
}
""",
        ".copilot/hooks/mine.json": '{"version": 1, "hooks": {"sessionStart": [{"type": "command", "bash": "date"}]}}\n',
    },
    # docs/configuration/settings.md and docs/features/hooks.md of @qwen-code/qwen-code 0.24.4
    "qwen": {
        ".qwen/settings.json": """{
  "$version": 3,
  "model": { "name": "qwen3-coder-plus" }, // the big one
  "mcpServers": { "mainServer": { "command": "bin/mcp_server.py", "timeout": 15000 } },
  "hooks": {
    "PreToolUse": [
      { "matcher": "write_file", "hooks": [{ "type": "command", "command": "check.sh", "timeout": 10 }] }
    ]
  }
}
""",
    },
    # The settings that @factory/cli 0.225.2 reads and writes
    "droid": {
        ".factory/mcp.json": '{\n  "mcpServers": {\n    "linear": {\n      "type": "http",\n      "url": "https://mcp.linear.app/mcp",\n      "disabled": false\n    }\n  }\n}',
        ".factory/settings.json": """{
  "model": "claude-opus", // chosen in /model
  "enableHooks": true,
  "hooks": {
    "PostToolUse": [{ "matcher": "Edit", "hooks": [{ "type": "command", "command": "fmt.sh" }] }]
  }
}
""",
    },
    # @cline/cli 3.0.65
    "cline": {
        ".cline/data/settings/cline_mcp_settings.json": """{
  "mcpServers": {
    "github": {
      "command": "gh-mcp",
      "args": [],
      "env": { "GITHUB_TOKEN": "ghp_private" },
      "disabled": false,
      "autoApprove": []
    }
  }
}""",
        ".cline/hooks/PostToolUse.sh": "#!/bin/bash\ncat > /dev/null\n",
    },
    # config.yaml of docs.continue.dev
    "continue": {
        ".continue/config.yaml": """name: Local Assistant
version: 1.0.0
schema: v1

models:
  - name: Sonnet   # for everything
    provider: anthropic
    model: claude-sonnet-4-5
    apiKey: ${{ secrets.ANTHROPIC_API_KEY }}

mcpServers:
  # the team's
  - name: SQLite MCP
    command: npx
    args:
      - "-y"
      - "mcp-sqlite"

rules:
  - Always answer in full sentences.
""",
        ".continue/settings.json": '{"disableAllHooks": false}',
    },
    "amp": {
        ".config/amp/settings.json": """{
  // see ampcode.com/manual
  "amp.showCosts": false,
  "amp.mcpServers": {
    "playwright": { "command": "npx", "args": ["-y", "@playwright/mcp@latest", "--headless"] },
  },
}
""",
    },
    # goose: documentation/docs/guides/config-files.md
    "goose": {
        ".config/goose/config.yaml": """# Model Configuration
active_provider: anthropic
providers:
  anthropic:
    enabled: true
    model: claude-sonnet-4-5-20250929
GOOSE_TEMPERATURE: 0.7

# Extensions Configuration
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  \n  filesystem:
    type: stdio
    cmd: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]
    envs: {}
# the end
slash_commands:
- command: "run-tests"
""",
    },
    "kiro": {
        ".kiro/settings/mcp.json": '{\n\t"mcpServers": {\n\t\t"aws-docs": {"command": "uvx", "args": ["awslabs.aws-documentation-mcp-server@latest"], "env": {"FASTMCP_LOG_LEVEL": "ERROR"}, "disabled": false, "autoApprove": []}\n\t}\n}\n',
    },
    # docs/mcp.md of @earendil-works/pi-coding-agent 1.5.2
    "pi": {
        ".pi/agent/mcp.json": """{
  "mcpServers": {
    "docs": {
      "url": "https://example.com/mcp",
      "headers": { "Authorization": "Bearer ${DOCS_TOKEN}" },
      "description": "Search and read the product documentation"
    }
  }
}
""",
        ".pi/agent/extensions/mine.ts": "export default function () {}\n",
    },
    "zed": {
        ".config/zed/settings.json": """// Zed settings
//
// For information on how to configure Zed, see the Zed
// documentation: https://zed.dev/docs/configuring-zed
{
  "ui_font_size": 16,
  "theme": {
    "mode": "system",
    "light": "One Light", // by day
    "dark": "One Dark",
  },
  "context_servers": {
    "local-mcp-server": {
      "command": "some-command",
      "args": ["arg-1", "arg-2"],
      "env": {},
    },
  },
}
""",
    },
    "warp": {
        ".warp/.mcp.json": '{"mcpServers":{"sentry":{"url":"https://mcp.sentry.dev/mcp"}}}',
    },
    "antigravity": {".gemini/config/mcp_config.json": ""},
    # The defaults of hermes_cli/config.py in hermes-agent 0.19.0
    "hermes": {
        ".hermes/config.yaml": """model:
  default: hermes-4
  provider: nous   # not the memory's
memory:
  memory_enabled: true
  user_profile_enabled: true
  provider: ''
mcp_servers:
  filesystem:
    command: npx
    args:
    - -y
    - '@modelcontextprotocol/server-filesystem'
terminal:
  backend: local
""",
        ".hermes/plugins/mine/__init__.py": "def register(ctx): ...\n",
    },
    # docs/gateway/configuration.md of openclaw 2026.9.6
    "openclaw": {
        ".openclaw/openclaw.json": """{
  "agents": { "defaults": { "workspace": "~/.openclaw/workspace" } }, // one agent
  "channels": { "telegram": { "enabled": true, "botToken": "123:abc" } },
  "plugins": {
    "slots": { "memory": "memory-core" },
    "entries": { "voice-call": { "enabled": true } }
  },
  "mcp": { "servers": { "docs": { "url": "https://mcp.example.com" } } }
}
""",
    },
}
