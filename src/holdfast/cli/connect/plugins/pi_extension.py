"""The extension that Pi loads from its folder; Pi has MCP servers in a file, and hooks only in extensions.

Events and their fields: docs/extensions.md of @earendil-works/pi-coding-agent 1.5.2.
"""

from __future__ import annotations

from holdfast.cli.connect.environment import ConnectTarget
from holdfast.cli.connect.plugins.node_script import mark, node_script

MARK = mark("pi")

_BODY = """\
const textOf = (content) =>
  typeof content === "string"
    ? content
    : (content || []).filter((part) => part.type === "text").map((part) => part.text).join("\\n")

const about = (ctx, more) => ({ session_id: ctx.sessionManager.getSessionId(), cwd: ctx.cwd, ...more })

export default function (pi) {
  let start = Promise.resolve("")
  pi.on("session_start", (event, ctx) => {
    start = hook("session-start", about(ctx, { source: event.reason })).then(contextIn)
  })
  pi.on("before_agent_start", async (event, ctx) => {
    const first = await start
    start = Promise.resolve("")
    const near = event.prompt ? contextIn(await hook("prompt-submit", about(ctx, { prompt: event.prompt }))) : ""
    const content = [first, near].filter(Boolean).join("\\n\\n")
    return content ? { message: { customType: "holdfast", content, display: false } } : undefined
  })
  pi.on("tool_result", (event, ctx) => {
    const call = { tool_name: event.toolName, tool_input: event.input, tool_use_id: event.toolCallId }
    const said = textOf(event.content)
    if (event.isError) void hook("post-tool-failure", about(ctx, { ...call, error: said }))
    else void hook("post-tool-use", about(ctx, { ...call, tool_response: said }))
  })
  pi.on("agent_end", async (event, ctx) => {
    const last = (event.messages || []).findLast((one) => one.role === "assistant")
    const said = last ? textOf(last.content) : ""
    if (said) await hook("agent-message", about(ctx, { last_assistant_message: said }))
  })
  pi.on("session_shutdown", async (event, ctx) => {
    if (event.reason !== "reload") await hook("session-end", about(ctx))
  })
}
"""


def extension_text(place: ConnectTarget) -> str:
    """The extension for this place's command and server."""
    return node_script("pi", _BODY, place)
