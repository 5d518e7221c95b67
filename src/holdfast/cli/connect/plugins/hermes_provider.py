"""The memory provider that Hermes Agent loads: a description and a module.

The class it derives from: agent/memory_provider.py of hermes-agent 0.19.0.
"""

from __future__ import annotations

from holdfast.cli.connect.environment import ConnectTarget
from holdfast.cli.connect.plugins.node_script import mark

MARK = mark("hermes")

_MODULE = '''\
"""Holdfast as the memory provider of Hermes. @MARK@; holdfast connect hermes --undo removes it.

It starts `holdfast hook` and nothing else. A memory that cannot be reached never stops the agent.
"""

import json
import os
import subprocess
import threading

from agent.memory_provider import MemoryProvider

COMMAND = @COMMAND@
OPTIONS = @OPTIONS@
WAIT_SECONDS = 10


def hook(event, payload):
    """What the hook prints for the agent; "" when it fails or takes too long."""
    try:
        done = subprocess.run(
            [COMMAND, "hook", event, *OPTIONS],
            input=json.dumps(payload).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=WAIT_SECONDS,
        )
        return done.stdout.decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError):
        return ""


def context_in(out):
    try:
        return json.loads(out)["hookSpecificOutput"]["additionalContext"]
    except (ValueError, KeyError, TypeError):
        return ""


class HoldfastProvider(MemoryProvider):
    @property
    def name(self):
        return "holdfast"

    def __init__(self):
        self._session, self._writes, self._start, self._asked, self._threads = "", True, None, ("", ""), []

    def is_available(self):
        return os.access(COMMAND, os.X_OK)

    def initialize(self, session_id, **kwargs):
        self._session = session_id
        self._writes = kwargs.get("agent_context", "primary") == "primary"
        self._start = self._begin("session-start", {}) if self._writes else None

    def system_prompt_block(self):
        return "Holdfast keeps this memory. Its tools are memory_save, memory_recall and others of the server holdfast."

    def prefetch(self, query, *, session_id=""):
        if not self._writes or not query:
            return ""
        first, self._start = self._result(self._start), None
        if query != self._asked[0]:
            self._asked = (query, context_in(hook("prompt-submit", self._about({"prompt": query}))))
        return "\\n\\n".join(filter(None, (first, self._asked[1])))

    def sync_turn(self, user_content, assistant_content, *, session_id="", messages=None):
        if self._writes and assistant_content:
            self._begin("agent-message", {"last_assistant_message": assistant_content})

    def on_session_end(self, messages):
        self.shutdown()
        if self._writes and self._session:
            hook("session-end", self._about({}))

    def on_session_switch(self, new_session_id, *, parent_session_id="", reset=False, rewound=False, **kwargs):
        if new_session_id != self._session:
            self._session = new_session_id
            source = {"source": "clear" if reset else "resume"}
            self._start = self._begin("session-start", source) if self._writes else None

    def get_tool_schemas(self):
        return []

    def shutdown(self):
        for thread, _ in self._threads:
            thread.join(WAIT_SECONDS)
        self._threads = []

    def _about(self, more):
        return {"session_id": self._session, "cwd": os.getcwd(), **more}

    def _begin(self, event, more):
        answer, payload = [], self._about(more)
        thread = threading.Thread(target=lambda: answer.append(hook(event, payload)), daemon=True)
        thread.start()
        self._threads = [row for row in self._threads if row[0].is_alive()] + [(thread, answer)]
        return thread, answer

    def _result(self, started):
        if started is None:
            return ""
        started[0].join(WAIT_SECONDS)
        return context_in(started[1][0]) if started[1] else ""


def register(ctx):
    ctx.register_memory_provider(HoldfastProvider())
'''


def provider_module(place: ConnectTarget) -> str:
    """The module for this place's command and server."""
    filled = _MODULE.replace("@MARK@", MARK).replace("@OPTIONS@", repr(place.hook_options()))
    return filled.replace("@COMMAND@", repr(str(place.command)))


def provider_description(place: ConnectTarget) -> str:
    """What Hermes shows of it."""
    return f'# {MARK}\nname: holdfast\nversion: 1.0.0\ndescription: "Memory for agents that is never lost."\n'
