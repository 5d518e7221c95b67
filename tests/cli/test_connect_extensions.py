"""What Pi, OpenClaw, Hermes and Cline load: each in a stand-in that calls it as the agent does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from connect_homes import make_place
from patience import WAIT_SECONDS
from plugin_host import NODE, hook_command, played, told_hooks

from holdfast.cli.connect import apply, plan
from holdfast.cli.connect.plugins.hermes_provider import provider_module
from holdfast.cli.connect.plugins.openclaw_plugin import plugin_manifest, plugin_package, plugin_script
from holdfast.cli.connect.plugins.pi_extension import extension_text

needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
SESSION = {"session_id": "s1", "cwd": "/home/dev/proj"}

# docs/extensions.md of @earendil-works/pi-coding-agent 1.5.2
PI = """
const handlers = {}
plugin({ on: (event, handler) => (handlers[event] = handler) })
const ctx = { cwd: "/home/dev/proj", sessionManager: { getSessionId: () => "s1" } }
await handlers.session_start({ reason: "startup" }, ctx)
const first = await handlers.before_agent_start({ messageType: "user", prompt: "fix it", systemPrompt: "" }, ctx)
const second = await handlers.before_agent_start({ messageType: "custom", message: {}, systemPrompt: "" }, ctx)
const call = { toolName: "bash", toolCallId: "c1", input: { command: "ls" } }
await handlers.tool_result({ ...call, content: [{ type: "text", text: "a.py" }], isError: false }, ctx)
await handlers.tool_result({ ...call, content: [{ type: "text", text: "exit 1" }], isError: true }, ctx)
const said = { role: "assistant", content: [{ type: "text", text: "It is the cache." }] }
await handlers.agent_end({ messages: [{ role: "user", content: "fix it" }, said] }, ctx)
await handlers.session_shutdown({ reason: "quit" }, ctx)
console.log(JSON.stringify([first, second ?? null]))
"""

# docs/plugins/hooks of openclaw 2026.9.6, and its types PluginHook…Event
OPENCLAW = """
const handlers = {}
plugin.register({ on: (event, handler) => (handlers[event] = handler) })
const ctx = { sessionId: "s1", sessionKey: "agent:main", workspaceDir: "/home/dev/proj" }
await handlers.session_start?.({ sessionId: "s1" }, ctx)
const event = { prompt: "history\\nfix it", currentUserMessage: "fix it", messages: [] }
const built = [await handlers.before_prompt_build(event, ctx), await handlers.before_prompt_build(event, ctx)]
const call = { toolName: "exec", params: { command: "ls" }, toolCallId: "c1" }
await handlers.after_tool_call({ ...call, result: "a.py" }, ctx)
await handlers.after_tool_call({ ...call, error: "exit 1" }, ctx)
const said = { role: "assistant", content: [{ type: "text", text: "It is the cache." }] }
await handlers.agent_end({ messages: [said], success: true }, ctx)
await handlers.session_end({ sessionId: "s1", messageCount: 2 }, ctx)
console.log(JSON.stringify(built))
"""


@needs_node
def test_pi_tells_the_hooks_and_gets_its_context_once(tmp_path: Path) -> None:
    (first, second), told = played(tmp_path, PI, extension_text)
    assert first == {"message": {"customType": "holdfast", "content": "remembered", "display": False}}
    assert second is None
    call = {"tool_name": "bash", "tool_input": {"command": "ls"}, "tool_use_id": "c1"}
    assert told == {
        "session-start": {**SESSION, "source": "startup"},
        "prompt-submit": {**SESSION, "prompt": "fix it"},
        "post-tool-use": {**SESSION, **call, "tool_response": "a.py"},
        "post-tool-failure": {**SESSION, **call, "error": "exit 1"},
        "agent-message": {**SESSION, "last_assistant_message": "It is the cache."},
        "session-end": SESSION,
    }


@needs_node
def test_openclaw_tells_the_hooks_a_prompt_once_and_gets_its_context(tmp_path: Path) -> None:
    built, told = played(tmp_path, OPENCLAW, plugin_script)
    assert built == [{"appendSystemContext": "remembered"}] * 2
    call = {"tool_name": "exec", "tool_input": {"command": "ls"}, "tool_use_id": "c1"}
    assert told == {
        "session-start": SESSION,
        "prompt-submit": {**SESSION, "prompt": "fix it"},
        "post-tool-use": {**SESSION, **call, "tool_response": "a.py"},
        "post-tool-failure": {**SESSION, **call, "error": "exit 1"},
        "agent-message": {**SESSION, "last_assistant_message": "It is the cache."},
        "session-end": SESSION,
    }
    assert [words[1] for words, _ in told_hooks(tmp_path)].count("prompt-submit") == 1


@needs_node
@pytest.mark.parametrize(("script", "text"), [(PI, extension_text), (OPENCLAW, plugin_script)])
def test_a_command_that_is_gone_does_not_disturb_the_agent(tmp_path: Path, script: str, text: Any) -> None:
    (tmp_path / "holdfast.mjs").write_text(text(make_place(tmp_path)), encoding="utf-8")
    (tmp_path / "host.mjs").write_text('import plugin from "./holdfast.mjs"\n' + script, encoding="utf-8")
    run = subprocess.run([str(NODE), "host.mjs"], cwd=tmp_path, capture_output=True, timeout=WAIT_SECONDS, check=True)
    assert b"remembered" not in run.stdout


def test_the_openclaw_manifest_claims_the_memory_slot_for_the_script_beside_it(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    manifest, package = json.loads(plugin_manifest(place)), json.loads(plugin_package(place))
    assert (manifest["id"], manifest["kind"]) == ("holdfast", "memory")
    assert manifest["configSchema"] == {"type": "object", "additionalProperties": False}
    assert (package["type"], package["openclaw"]["extensions"]) == ("module", ["./index.js"])


class Provider:
    """As much of Hermes' MemoryProvider as the module derives from."""


def hermes_provider(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    known = ModuleType("agent.memory_provider")
    known.MemoryProvider = Provider  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "agent", ModuleType("agent"))
    monkeypatch.setitem(sys.modules, "agent.memory_provider", known)
    given: list[Any] = []
    space: dict[str, Any] = {}
    exec(provider_module(make_place(folder, command=hook_command(folder))), space)
    space["register"](type("Context", (), {"register_memory_provider": lambda _, one: given.append(one)})())
    return given[0]


def test_hermes_gets_the_context_once_and_what_bears_on_each_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = hermes_provider(tmp_path, monkeypatch)
    assert (provider.name, provider.is_available(), provider.get_tool_schemas()) == ("holdfast", True, [])
    provider.initialize("s1", hermes_home=str(tmp_path), platform="cli", agent_context="primary")
    assert provider.prefetch("fix it", session_id="s1") == "remembered"
    assert provider.prefetch("fix it", session_id="s1") == ""
    provider.sync_turn("fix it", "It is the cache.", session_id="s1")
    provider.on_session_end([])
    told = told_hooks(tmp_path)
    assert [words[1] for words, _ in told] == ["session-start", "prompt-submit", "agent-message", "session-end"]
    assert {given["session_id"] for _, given in told} == {"s1"}
    assert told[2][1]["last_assistant_message"] == "It is the cache."


def test_hermes_keeps_nothing_of_its_scheduled_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = hermes_provider(tmp_path, monkeypatch)
    provider.initialize("s1", hermes_home=str(tmp_path), platform="cron", agent_context="cron")
    assert provider.prefetch("report the weather") == ""
    provider.sync_turn("report the weather", "Sunny.")
    provider.on_session_end([])
    assert not (tmp_path / "log.jsonl").exists()


def test_a_hook_of_cline_hands_the_payload_on(tmp_path: Path) -> None:
    place = make_place(tmp_path, command=hook_command(tmp_path), url="http://127.0.0.1:4000")
    apply(plan("cline", place))
    script = tmp_path / ".cline/hooks/TaskStart.bash"
    payload = {"clineVersion": "3.0.65", "hookName": "agent_start", "taskId": "t1"}
    run = subprocess.run(
        ["bash", str(script)],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert "remembered" in run.stdout
    assert told_hooks(tmp_path) == [(["hook", "session-start", "--url", "http://127.0.0.1:4000"], payload)]
