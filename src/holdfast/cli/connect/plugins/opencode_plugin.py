"""The plugin file that OpenCode loads; OpenCode has no hooks in its settings, only plugins.

One default export serves both generations: OpenCode 1 calls `server()`, OpenCode 2 calls `setup()`.
"""

from __future__ import annotations

from holdfast.cli.connect.environment import ConnectTarget
from holdfast.cli.connect.plugins.node_script import mark, node_script

MARK = mark("opencode")

_BODY = """\
function recorder(directory) {
  const started = new Map()
  const told = new Set()
  const about = (sessionID, more) => ({ session_id: sessionID, cwd: directory, ...more })
  const start = (sessionID) => {
    const known = started.get(sessionID)
    if (known) return known
    const fresh = hook("session-start", about(sessionID)).then(contextIn)
    started.set(sessionID, fresh)
    return fresh
  }
  return {
    context: start,
    prompt: (sessionID, prompt) => {
      const ready = start(sessionID)
      if (prompt) void ready.then(() => hook("prompt-submit", about(sessionID, { prompt })))
    },
    tool: (sessionID, call) => void hook("post-tool-use", about(sessionID, call)),
    failure: (sessionID, call) => void hook("post-tool-failure", about(sessionID, call)),
    said: (sessionID, message, text) => {
      if (told.has(message)) return
      told.add(message)
      void hook("agent-message", about(sessionID, { last_assistant_message: text }))
    },
    end: (sessionID) => {
      started.delete(sessionID)
      void hook("session-end", about(sessionID))
    },
  }
}

function textOf(parts) {
  const texts = (parts || []).filter((part) => part.type === "text" && !part.synthetic)
  return texts.map((part) => part.text).join("\\n")
}

// What the agent said since the last prompt; earlier turns were told when they ended.
async function answers(client, id) {
  try {
    const { data } = await client.session.messages({ path: { id }, sessionID: id })
    const start = data.findLastIndex((one) => one.info.role === "user") + 1
    return data.slice(start).filter((one) => one.info.role === "assistant")
  } catch {
    return []
  }
}

async function server({ directory, client }) {
  const memory = recorder(directory)
  return {
    event: async ({ event }) => {
      const id = event.properties?.info?.id || event.properties?.sessionID
      if (event.type === "session.deleted" && id) memory.end(id)
      if (event.type !== "session.idle" || !id) return
      for (const one of await answers(client, id)) {
        const text = textOf(one.parts)
        if (text) memory.said(id, one.info.id, text)
      }
    },
    "chat.message": async (input, output) => memory.prompt(input.sessionID, textOf(output.parts)),
    "tool.execute.after": async (input, output) => {
      const call = { tool_name: input.tool, tool_input: input.args, tool_response: output?.output }
      memory.tool(input.sessionID, call)
    },
    "experimental.chat.system.transform": async (input, output) => {
      const text = input.sessionID ? await memory.context(input.sessionID) : ""
      if (text) output.system.push(text)
    },
  }
}

async function setup(ctx) {
  const memory = recorder(ctx.location.directory)
  await ctx.session.hook("prompt", (event) => memory.prompt(event.sessionID, event.prompt?.text))
  await ctx.session.hook("context", async (event) => {
    const text = await memory.context(event.sessionID)
    if (text) event.system.push({ type: "text", text })
  })
  await ctx.tool.hook("execute.after", (event) => {
    const call = { tool_name: event.tool, tool_input: event.input }
    if (event.status === "error") memory.failure(event.sessionID, { ...call, error: event.error })
    else memory.tool(event.sessionID, { ...call, tool_response: event.result?.content })
  })
  const stop = new AbortController()
  void (async () => {
    try {
      for await (const event of ctx.event.subscribe({ signal: stop.signal }))
        if (event.type === "session.deleted") memory.end(event.data.sessionID)
    } catch {
      // the stream ends with the server or with the plugin
    }
  })()
  return () => stop.abort()
}

export default { id: "holdfast", server, setup }
"""


def plugin_text(place: ConnectTarget) -> str:
    """The plugin for this place's command and server."""
    return node_script("opencode", _BODY, place)
