"""The few pages that are not operations. None holds a secret or a memory."""

from __future__ import annotations

from holdfast.ops.registry import TOOLS


def agent_guide() -> bytes:
    """How an agent uses this memory, in Markdown."""
    tools = "\n".join(f"- `{one.name}`: {one.operation.summary}" for one in TOOLS.values())
    return (
        "# Holdfast for agents\n\n"
        "REST is under `/agentmemory`, MCP at `/mcp`; `GET /openapi.json` describes every path.\n\n"
        "Search before you answer what earlier sessions may have settled; save lasting facts.\n\n"
        f"## MCP tools\n\n{tools}\n"
    ).encode()


def auth_guide() -> bytes:
    """How a client signs in, in Markdown."""
    return (
        b"# Signing in\n\n"
        b"Send `Authorization: Bearer <secret or token>` with every request except `/agentmemory/livez`.\n"
        b"A page offers the WebSocket the sub-protocols `holdfast.live` and `bearer.<base64url of the token>`.\n"
        b"Make tokens with `holdfast token create`.\n"
    )
