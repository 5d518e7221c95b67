"""The OpenCode plugin, run by node with a stand-in for each generation of the host."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from connect_homes import make_place
from patience import WAIT_SECONDS
from plugin_host import NODE, played

from holdfast.cli.connect.plugins.opencode_plugin import MARK, plugin_text

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

FIRST_GENERATION = """
const said = (id, role, text) => ({ info: { id, role }, parts: [{ type: "text", text }] })
const earlier = [said("m1", "user", "old"), said("m2", "assistant", "an older turn")]
const turn = [said("m3", "user", "fix it"), said("m4", "assistant", ""), said("m5", "assistant", "It is the cache.")]
const client = { session: { messages: async ({ path }) => ({ data: path.id === "s1" ? [...earlier, ...turn] : [] }) } }
const hooks = await plugin.server({ directory: "/home/dev/proj", client })
const parts = [{ type: "text", text: "fix it" }, { type: "text", text: "hidden", synthetic: true }]
await hooks["chat.message"]({ sessionID: "s1" }, { parts })
await hooks["tool.execute.after"]({ sessionID: "s1", tool: "bash", args: { command: "ls" } }, { output: "a.py" })
const output = { system: ["base"] }
await hooks["experimental.chat.system.transform"]({ sessionID: "s1" }, output)
await hooks.event({ event: { type: "session.deleted", properties: { info: { id: "s1" } } } })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
console.log(JSON.stringify(output.system))
"""

SECOND_GENERATION = """
const callbacks = {}
const ctx = {
  location: { directory: "/home/dev/proj" },
  session: { hook: async (name, call) => void (callbacks[name] = call) },
  tool: { hook: async (name, call) => void (callbacks[name] = call) },
  event: { subscribe: async function* () { yield { type: "session.deleted", data: { sessionID: "s0" } } } },
}
const stop = await plugin.setup(ctx)
await callbacks.prompt({ sessionID: "s1", prompt: { text: "fix it" } })
const event = { sessionID: "s1", system: [{ type: "text", text: "base" }] }
await callbacks.context(event)
const done = { sessionID: "s1", tool: "shell", input: { command: "ls" } }
await callbacks["execute.after"]({ ...done, status: "completed", result: { content: "a.py" } })
await callbacks["execute.after"]({ ...done, status: "error", error: "exit 1" })
stop()
console.log(JSON.stringify(event.system.map((part) => part.text)))
"""


def test_opencode_1_tells_the_hooks_and_gets_its_context(tmp_path: Path) -> None:
    system, told = played(tmp_path, FIRST_GENERATION, plugin_text)
    session = {"session_id": "s1", "cwd": "/home/dev/proj"}
    assert system == ["base", "remembered"]
    assert told["session-start"] == session
    assert told["prompt-submit"] == {**session, "prompt": "fix it"}
    call = {"tool_name": "bash", "tool_input": {"command": "ls"}, "tool_response": "a.py"}
    assert told["post-tool-use"] == {**session, **call}
    assert told["agent-message"] == {**session, "last_assistant_message": "It is the cache."}
    assert told["session-end"] == session


def test_an_opencode_whose_messages_cannot_be_read_goes_on(tmp_path: Path) -> None:
    system, told = played(tmp_path, FIRST_GENERATION.replace(", client })", " })"), plugin_text)
    assert system == ["base", "remembered"]
    assert "agent-message" not in told


def test_opencode_2_tells_the_hooks_and_gets_its_context(tmp_path: Path) -> None:
    system, told = played(tmp_path, SECOND_GENERATION, plugin_text)
    session = {"session_id": "s1", "cwd": "/home/dev/proj"}
    call = {"tool_name": "shell", "tool_input": {"command": "ls"}}
    assert system == ["base", "remembered"]
    assert told["prompt-submit"] == {**session, "prompt": "fix it"}
    assert told["post-tool-use"] == {**session, **call, "tool_response": "a.py"}
    assert told["post-tool-failure"] == {**session, **call, "error": "exit 1"}
    assert told["session-end"]["session_id"] == "s0"


def test_a_command_that_is_gone_does_not_disturb_opencode(tmp_path: Path) -> None:
    (tmp_path / "holdfast.mjs").write_text(plugin_text(make_place(tmp_path)), encoding="utf-8")
    (tmp_path / "host.mjs").write_text('import plugin from "./holdfast.mjs"\n' + FIRST_GENERATION, encoding="utf-8")
    run = subprocess.run([str(NODE), "host.mjs"], cwd=tmp_path, capture_output=True, timeout=WAIT_SECONDS, check=True)
    assert json.loads(run.stdout) == ["base"]


def test_a_command_with_odd_characters_is_quoted_for_javascript(tmp_path: Path) -> None:
    command = Path('/opt/"a" \\ b/holdfast')
    text = plugin_text(make_place(tmp_path, command=command))
    assert f"const COMMAND = {json.dumps(str(command))}\n" in text
    assert text.startswith(f"// {MARK}")
