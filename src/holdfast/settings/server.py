"""The server: where it listens, what it takes, how long it keeps."""

from __future__ import annotations

from holdfast.settings.row import Setting, boolean, duration, one_of, real, secret, store, text, whole, words_list

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
    Setting("host", "127.0.0.1", "Address to listen on. Anything beyond loopback needs a secret."),
    Setting("port", "3111", "TCP port of the server.", whole(0, 65535), ("III_REST_PORT", "PORT")),
    Setting(
        "url",
        "",
        "Address of a running server for the command line and stdio MCP.",
        text,
        ("AGENTMEMORY_URL",),
    ),
    Setting(
        "daemon",
        "on",
        "on: commands, stdio MCP and the Python client start the folder's server in the background; off: they open the "
        "folder themselves.",
        boolean,
    ),
    Setting("idle", "8h", "A server started in the background ends after this time without use; off: never.", duration),
    Setting("secret", "", "Bearer secret that every request must carry.", secret, ("AGENTMEMORY_SECRET",), True),
    Setting("allowed_hosts", "", "Further Host names the server answers to, comma-separated.", words_list),
    Setting("agent", "", "Agent that records belong to when the caller names none.", secret, ("AGENT_ID",)),
    Setting(
        "agent_scope",
        "shared",
        "shared: all agents of a tenant read each other; isolated: each only its own.",
        one_of("shared", "isolated"),
        ("AGENTMEMORY_AGENT_SCOPE",),
    ),
    Setting(
        "max_obs_per_session",
        "500",
        "Observations kept per session.",
        whole(1, 1_000_000),
        ("MAX_OBS_PER_SESSION",),
    ),
    Setting("token_budget", "2000", "Size of a context block in tokens.", whole(50, 200_000), ("TOKEN_BUDGET",)),
    Setting(
        "dedup_seconds",
        "300",
        "An equal observation within this window is answered as the first.",
        whole(0, 86_400),
    ),
    Setting("max_body", "10000000", "Largest request body in bytes.", whole(1_000, 1_000_000_000)),
    Setting("max_import", "500000000", "Largest body of an import in bytes.", whole(1_000, 10_000_000_000)),
    Setting("header_seconds", "10", "Seconds a client may take to send its headers.", whole(1, 600)),
    Setting("body_seconds", "30", "Seconds a client may pause while it sends a body.", whole(1, 600)),
    Setting("max_connections", "512", "Connections served at once.", whole(1, 65_535)),
    Setting("rate", "0", "Requests per second and caller; 0 is no limit.", real(0, 1_000_000)),
    Setting(
        "retention_days",
        "180",
        "Unimportant observations (importance 2 or less) are dropped after this.",
        whole(1, 36_500),
    ),
    Setting(
        "maintenance_seconds",
        "3600",
        "How often retention, TTL and decay run in the background.",
        whole(1, 86_400),
    ),
    Setting(
        "expire_days",
        "0",
        "Memories of chats that nobody used for so many days are deprecated, and purged a week later; 0: never.",
        whole(0, 36_500),
    ),
    Setting(
        "chats_write_global",
        "false",
        "Let tokens without the scope admin make, change and remove global memories from chats.",
        boolean,
    ),
    Setting(
        "mcp_tools",
        "core",
        "MCP tools that are listed: core is the few that an agent needs, all is every tool. Each can be called.",
        one_of("core", "all"),
        ("AGENTMEMORY_TOOLS",),
    ),
)
