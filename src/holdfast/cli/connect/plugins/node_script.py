"""What the JavaScript that connect writes has in common: it starts `holdfast hook …` and reads the context from it.

No address logic and no secret is in it; a callback never fails, because that would fail the agent's own work.
"""

from __future__ import annotations

import json

from holdfast.cli.connect.environment import ConnectTarget

_HEAD = """\
// @MARK@; @UNDO@ --undo removes it.
// Every callback returns at once or soon: a hook that fails here would fail the agent's own work.
import { spawn } from "node:child_process"

const COMMAND = @COMMAND@
const OPTIONS = @OPTIONS@
const WAIT_MS = 10000

function hook(event, payload) {
  return new Promise((resolve) => {
    const child = spawn(COMMAND, ["hook", event, ...OPTIONS], {
      stdio: ["pipe", "pipe", "ignore"],
      windowsHide: true,
    })
    const late = setTimeout(() => child.kill(), WAIT_MS)
    const done = (text) => {
      clearTimeout(late)
      resolve(text)
    }
    let out = ""
    child.stdout.on("data", (part) => (out += part))
    child.stdin.on("error", () => {})
    child.on("error", () => done(""))
    child.on("close", () => done(out))
    child.stdin.end(JSON.stringify(payload))
  }).catch(() => "")
}

function contextIn(out) {
  try {
    return JSON.parse(out).hookSpecificOutput.additionalContext || ""
  } catch {
    return ""
  }
}

"""


def mark(agent: str) -> str:
    """The line by which connect knows a file that it wrote."""
    return f"Written by holdfast connect {agent}"


def node_script(agent: str, body: str, place: ConnectTarget) -> str:
    """The script for this place's command and server."""
    filled = _HEAD.replace("@MARK@", mark(agent)).replace("@UNDO@", f"holdfast connect {agent}")
    filled = filled.replace("@OPTIONS@", json.dumps(place.hook_options()))
    return filled.replace("@COMMAND@", json.dumps(str(place.command))) + body
