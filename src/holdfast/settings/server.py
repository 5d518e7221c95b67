"""Settings of the server: address, limits and retention."""

from __future__ import annotations

from holdfast.settings.row import (
    Setting,
    boolean,
    duration,
    one_of,
    public_url,
    real,
    secret,
    store,
    text,
    whole,
    words_list,
)

ROWS: tuple[Setting, ...] = (
    Setting("home", "~/.holdfast", "Data folder: the store, keys and snapshots."),
    Setting(
        "store",
        "sqlite",
        "Where records are kept: sqlite, in the data folder; or the address of a PostgreSQL database with pgvector, "
        "postgresql://user@host/name.",
        store,
        (),
        True,
    ),
    Setting("host", "127.0.0.1", "Address to listen on. Any address other than loopback requires a secret."),
    Setting("port", "3111", "TCP port of the server.", whole(0, 65535), ("III_REST_PORT", "PORT")),
    Setting(
        "url",
        "",
        "Address of a running server, for the command line and MCP over stdio.",
        text,
        ("AGENTMEMORY_URL",),
    ),
    Setting(
        "daemon",
        "on",
        "on: commands, MCP over stdio and the Python client start a server for the data folder in the "
        "background; off: they open the data folder directly.",
        boolean,
    ),
    Setting("idle", "8h", "Idle time after which a server started in the background exits; off: never.", duration),
    Setting("secret", "", "Bearer secret that every request must send.", secret, ("AGENTMEMORY_SECRET",), True),
    Setting("allowed_hosts", "", "Additional Host names that the server accepts, comma-separated.", words_list),
    Setting(
        "oauth",
        "off",
        "on: remote MCP clients such as claude.ai and ChatGPT may register and request access by OAuth, which the "
        "owner approves. Requires a secret, and TLS or loopback: see docs/remote_mcp.md.",
        boolean,
    ),
    Setting(
        "public_url",
        "",
        "Address under which clients reach the server through a proxy or tunnel with TLS, such as "
        "https://memory.example.org.",
        public_url,
    ),
    Setting("agent", "", "Agent that owns new records if the caller names none.", secret, ("AGENT_ID",)),
    Setting(
        "agent_scope",
        "shared",
        "shared: agents of a tenant can read each other's records; isolated: each agent reads only its own.",
        one_of("shared", "isolated"),
        ("AGENTMEMORY_AGENT_SCOPE",),
    ),
    Setting(
        "max_obs_per_session",
        "500",
        "Maximum number of observations per session.",
        whole(1, 1_000_000),
        ("MAX_OBS_PER_SESSION",),
    ),
    Setting(
        "token_budget", "2000", "Maximum size of a context block, in tokens.", whole(50, 200_000), ("TOKEN_BUDGET",)
    ),
    Setting(
        "dedup_seconds",
        "300",
        "Window in seconds in which a repeated observation is a duplicate; the first one is returned.",
        whole(0, 86_400),
    ),
    Setting("max_body", "10000000", "Maximum size of a request body, in bytes.", whole(1_000, 1_000_000_000)),
    Setting("max_import", "500000000", "Maximum size of an import request, in bytes.", whole(1_000, 10_000_000_000)),
    Setting("header_seconds", "10", "Time limit for a client to send its headers, in seconds.", whole(1, 600)),
    Setting("body_seconds", "30", "Longest pause while a client sends a body, in seconds.", whole(1, 600)),
    Setting("max_connections", "512", "Maximum number of concurrent connections.", whole(1, 65_535)),
    Setting("rate", "0", "Maximum requests per second and caller; 0: no limit.", real(0, 1_000_000)),
    Setting(
        "quota_records",
        "0",
        "Maximum number of records in a tenant's memory: memories with all their versions, observations, lessons, "
        "slots, actions and commits. 0: no limit.",
        whole(0, 10**12),
    ),
    Setting(
        "quota_bytes",
        "0",
        "Maximum size of the text of these records, in bytes of UTF-8, for each tenant. 0: no limit.",
        whole(0, 10**15),
    ),
    Setting(
        "quota_writes",
        "0",
        "Maximum number of requests per minute that store or change records, for each tenant at all servers together. "
        "0: no limit.",
        whole(0, 10**9),
    ),
    Setting(
        "retention_days",
        "180",
        "Days after which observations of importance 2 or less are deleted.",
        whole(1, 36_500),
    ),
    Setting(
        "maintenance_seconds",
        "3600",
        "Interval of background maintenance (retention, expiry, decay), in seconds.",
        whole(1, 86_400),
    ),
    Setting(
        "expire_days",
        "0",
        "Days without use after which chat memories are deprecated; they are deleted a week later. 0: never.",
        whole(0, 36_500),
    ),
    Setting(
        "chats_write_global",
        "false",
        "Allow chats to create, change and remove global memories without the scope admin.",
        boolean,
    ),
    Setting(
        "mcp_tools",
        "core",
        "MCP tools to list. core: the few that an agent needs; all: every tool; graph: those of the MCP memory server. "
        "Unlisted tools can still be called.",
        one_of("core", "all", "graph"),
        ("AGENTMEMORY_TOOLS",),
    ),
    Setting(
        "recall_keep",
        "prompts",
        "Questions kept to check recall with later. prompts: which prompts were asked, as ids of their observations, "
        "and ids of their hits; all: other searches too, whose redacted text is kept in the data folder; off: none.",
        one_of("off", "prompts", "all"),
    ),
)
