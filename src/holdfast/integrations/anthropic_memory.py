"""Anthropic's memory tool on Holdfast: `tools=[HoldfastMemoryTool()]` for the tool runner of the `anthropic` package.

The model's files under /memories are memories with versions: in search and snapshots, redacted, and of one chat or
agent where the tool is made for one. An error is an answer to the model, as the tool's documentation has it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import BetaCacheControlEphemeralParam
from anyio.to_thread import run_sync

from holdfast.client import Holdfast
from holdfast.core.errors import Fault
from holdfast.core.model import Json


class _Commands:
    """Where the commands go, and for whom."""

    def __init__(
        self,
        memory: Holdfast | str | Path | None = None,
        *,
        agent_id: str | None = None,
        umo: str | None = None,
        sender_id: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ):
        """A tool on an open `Holdfast`, a folder or the address of a server; by default on the usual memory.

        Args:
            memory: where the files are. What is opened here is closed with `tool.memory.close()`.
            agent_id: the agent whose files they are, where agents are isolated.
            umo: the chat that they belong to, platform:type:session.
            sender_id: the user in that chat; each has files of their own.
            cache_control: as of the other tools of the package.
        """
        super().__init__(cache_control=cache_control)  # type: ignore[call-arg]  # of the class that comes after this one
        self.memory = memory if isinstance(memory, Holdfast) else Holdfast(memory)
        self._whose: Json = {"agent_id": agent_id, "umo": umo, "sender_id": sender_id}

    def _answer(self, command: Any) -> str:
        """The text for the model.

        Raises:
            ToolError: the command could not be carried out; the runner gives the text to the model as an error.
        """
        given = {name: value for name, value in command.to_dict(warnings=False).items() if value is not None}
        try:
            answer: Json = self.memory.call("memory_tool", **given, **self._whose)
        except Fault as fault:
            raise ToolError(f"Error: {fault.message}. {fault.hint}") from fault
        if answer["is_error"]:
            raise ToolError(answer["content"])
        return str(answer["content"])


class HoldfastMemoryTool(_Commands, BetaAbstractMemoryTool):
    """The memory tool for `client.beta.messages.tool_runner`, and for whatever else takes tools of the package."""

    def _run(self, command: Any) -> str:
        return self._answer(command)

    view = create = str_replace = insert = delete = rename = _run


class AsyncHoldfastMemoryTool(_Commands, BetaAsyncAbstractMemoryTool):
    """The same for the asynchronous client; a command waits in a thread."""

    async def _run(self, command: Any) -> str:
        return await run_sync(self._answer, command)

    view = create = str_replace = insert = delete = rename = _run
