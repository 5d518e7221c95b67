"""`holdfast connect <agent>`: write the MCP entry and the hooks into an agent's own config files.

Plan first, purely; then write, with backups; and remember enough to take it back exactly.
"""

from __future__ import annotations

from holdfast.cli.connect.agents import AGENTS, Agent
from holdfast.cli.connect.command import AgentStatus, ConnectReport, ReportedChange, connect_all, connect_command
from holdfast.cli.connect.config_plan import FileChange, Plan, diff, plan
from holdfast.cli.connect.environment import ConnectTarget
from holdfast.cli.connect.journal import apply, plan_undo, undo

__all__ = [
    "AGENTS",
    "Agent",
    "AgentStatus",
    "ConnectReport",
    "ConnectTarget",
    "FileChange",
    "Plan",
    "ReportedChange",
    "apply",
    "connect_all",
    "connect_command",
    "diff",
    "plan",
    "plan_undo",
    "undo",
]
