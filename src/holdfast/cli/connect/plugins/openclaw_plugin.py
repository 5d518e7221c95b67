"""The plugin that OpenClaw loads into its memory slot: a manifest, a package file and the script.

Manifest and events: docs/plugins of the package openclaw 2026.9.6.
"""

from __future__ import annotations

import json

from holdfast.cli.connect.environment import SERVER_NAME, ConnectTarget
from holdfast.cli.connect.plugins.node_script import mark, node_script

MARK = mark("openclaw")

_BODY = """\
const textOf = (content) =>
  typeof content === "string"
    ? content
    : (content || []).filter((part) => part.type === "text").map((part) => part.text).join("\\n")

const about = (ctx, more) => ({ session_id: ctx.sessionId || ctx.sessionKey, cwd: ctx.workspaceDir, ...more })

export default {
  id: "holdfast",
  name: "Holdfast",
  description: "Keeps what the agent learns, and brings it back.",
  register(api) {
    const starts = new Map()
    const seen = new Map()
    const start = (ctx) => {
      const id = ctx.sessionId || ctx.sessionKey
      if (!starts.has(id)) starts.set(id, hook("session-start", about(ctx)).then(contextIn))
      return starts.get(id)
    }
    api.on("before_prompt_build", async (event, ctx) => {
      const id = ctx.sessionId || ctx.sessionKey
      const context = await start(ctx)
      const prompt = event.currentUserMessage ?? event.prompt
      // A prompt is built again for a retry: it is kept once.
      const known = seen.get(id)
      let near = known && known.prompt === prompt ? known.near : ""
      if (prompt && !(known && known.prompt === prompt)) {
        near = contextIn(await hook("prompt-submit", about(ctx, { prompt })))
        seen.set(id, { prompt, near })
      }
      return { appendSystemContext: context || undefined, prependContext: near || undefined }
    })
    api.on("after_tool_call", (event, ctx) => {
      const call = { tool_name: event.toolName, tool_input: event.params, tool_use_id: event.toolCallId }
      if (event.error) void hook("post-tool-failure", about(ctx, { ...call, error: event.error }))
      else void hook("post-tool-use", about(ctx, { ...call, tool_response: event.result }))
    })
    api.on("agent_end", async (event, ctx) => {
      const last = (event.messages || []).findLast((one) => one.role === "assistant")
      const said = last ? textOf(last.content) : ""
      if (said) await hook("agent-message", about(ctx, { last_assistant_message: said }))
    })
    api.on("session_end", async (event, ctx) => {
      starts.delete(ctx.sessionId || ctx.sessionKey)
      seen.delete(ctx.sessionId || ctx.sessionKey)
      await hook("session-end", about(ctx))
    })
  },
}
"""


def plugin_script(place: ConnectTarget) -> str:
    """The script for this place's command and server."""
    return node_script("openclaw", _BODY, place)


def plugin_manifest(place: ConnectTarget) -> str:
    """What OpenClaw reads before it loads the script."""
    return _json(
        {
            "id": SERVER_NAME,
            "name": "Holdfast",
            "description": f"Memory for agents that is never lost. {MARK}.",
            "categories": ["memory"],
            "kind": "memory",
            "activation": {"onStartup": True},
            "configSchema": {"type": "object", "additionalProperties": False},
        }
    )


def plugin_package(place: ConnectTarget) -> str:
    """Which script it is."""
    body = {"name": "holdfast-openclaw", "version": "1.0.0", "private": True, "description": MARK, "type": "module"}
    return _json({**body, "openclaw": {"extensions": ["./index.js"]}})


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"
