"""The agents that connect knows: a row each, in a file for each kind."""

from __future__ import annotations

from holdfast.cli.connect.agents.agent import Agent, ConfigFile
from holdfast.cli.connect.agents.editor_agents import EDITOR_AGENTS
from holdfast.cli.connect.agents.memory_agents import MEMORY_AGENTS
from holdfast.cli.connect.agents.terminal_agents import TERMINAL_AGENTS
from holdfast.core.errors import InvalidRequest

__all__ = ["AGENTS", "Agent", "ConfigFile", "find"]

AGENTS: tuple[Agent, ...] = (*TERMINAL_AGENTS, *EDITOR_AGENTS, *MEMORY_AGENTS)


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
