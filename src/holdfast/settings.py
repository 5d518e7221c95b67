"""One table of settings. This module is the only reader of the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import InvalidSettings

Parse = Callable[[str], Any]


def text(raw: str) -> str:
    return raw.strip()


def secret(raw: str) -> str | None:
    return raw.strip() or None


def boolean(raw: str) -> bool:
    word = raw.strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"", "0", "false", "no", "off"}:
        return False
    raise ValueError("must be true or false")


def _number(kind: Callable[[str], Any], raw: str, words: str) -> Any:
    try:
        return kind(raw.strip())
    except ValueError:
        raise ValueError(f"must be {words}") from None


def whole(low: int, high: int) -> Parse:
    def parse(raw: str) -> int:
        value: int = _number(int, raw, "a whole number")
        if not low <= value <= high:
            raise ValueError(f"must be between {low} and {high}")
        return value

    return parse


def real(low: float, high: float) -> Parse:
    def parse(raw: str) -> float:
        value: float = _number(float, raw, "a number")
        if not low <= value <= high:
            raise ValueError(f"must be between {low} and {high}")
        return value

    return parse


def one_of(*words: str) -> Parse:
    def parse(raw: str) -> str:
        word = raw.strip().lower()
        if word not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return word

    return parse


def embedder(raw: str) -> str:
    # agentmemory says "local" for the model on this machine.
    return str(one_of("minilm", "none", "gemini", "openai")("minilm" if raw.strip().lower() == "local" else raw))


def words_list(raw: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in raw.split(",") if part.strip())


def broker(raw: str) -> str | None:
    """Addresses of NATS servers; None for none."""
    if not raw.strip():
        return None
    if not all(_BROKER.fullmatch(one) for one in raw.strip().split(",")):
        raise ValueError("must be addresses like nats://host:4222 or tls://host:4222, with commas between")
    return raw.strip()


def subject(raw: str) -> str:
    """The beginning of NATS subjects: no wildcard, no empty word."""
    if not _SUBJECT.fullmatch(raw.strip()) or len(raw) > 100:
        raise ValueError("must be words of letters, digits, _ and -, with dots between")
    return raw.strip()


_BROKER = re.compile(r"(?:nats|tls)://(?:[^\s/@,]+@)?[A-Za-z0-9_.:\[\]-]+/?")
_SUBJECT = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def duration(raw: str) -> int:
    """Seconds of a text like 12h; 0 for off."""
    word = raw.strip().lower()
    if word in {"off", "none", "0"}:
        return 0
    found = re.fullmatch(r"(\d{1,9})([smhd])", word, re.ASCII)
    seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
    if not 0 < seconds <= 366 * 86_400:
        raise ValueError("must be a time like 30m, 12h or 7d, or off")
    return seconds


@dataclass(frozen=True, slots=True)
class Setting:
    """One row: its name gives HOLDFAST_<NAME>; `also` are older names that keep working."""

    name: str
    default: str
    help: str
    parse: Parse = text
    also: tuple[str, ...] = ()
    hidden: bool = False  # the value is a secret and is never shown

    @property
    def env(self) -> str:
        return f"HOLDFAST_{self.name.upper()}"


SETTINGS: tuple[Setting, ...] = (
    Setting("home", "~/.holdfast", "Data folder: the store, keys and snapshots."),
    Setting("host", "127.0.0.1", "Address to listen on. Anything beyond loopback needs a secret."),
    Setting("port", "3111", "TCP port of the server.", whole(0, 65535), ("III_REST_PORT", "PORT")),
    Setting(
        "url",
        "",
        "Address of a running server for the command line and stdio MCP.",
        text,
        ("AGENTMEMORY_URL",),
    ),
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
        "consolidation",
        "false",
        "Consolidate sessions in the background.",
        boolean,
        ("CONSOLIDATION_ENABLED",),
    ),
    Setting(
        "graph_extraction",
        "false",
        "Link sessions to the concepts of their summaries, for the graph.",
        boolean,
        ("GRAPH_EXTRACTION_ENABLED",),
    ),
    Setting(
        "auto_compress",
        "false",
        "Summarize ended sessions in the background.",
        boolean,
        ("AGENTMEMORY_AUTO_COMPRESS",),
    ),
    Setting("anthropic_key", "", "Key of the Anthropic API.", secret, ("ANTHROPIC_API_KEY",), True),
    Setting("openai_key", "", "Key of an OpenAI-compatible API.", secret, ("OPENAI_API_KEY",), True),
    Setting("gemini_key", "", "Key of the Gemini API.", secret, ("GEMINI_API_KEY", "GOOGLE_API_KEY"), True),
    Setting(
        "anthropic_url",
        "https://api.anthropic.com",
        "Base URL of the Anthropic API.",
        text,
        ("ANTHROPIC_BASE_URL",),
    ),
    Setting(
        "openai_url",
        "https://api.openai.com/v1",
        "Base URL of an OpenAI-compatible API; local models too.",
        text,
        ("OPENAI_BASE_URL",),
    ),
    Setting("gemini_url", "https://generativelanguage.googleapis.com/v1beta", "Base URL of the Gemini API."),
    Setting(
        "llm",
        "auto",
        "Summarizer: auto takes the first with a key; none keeps everything on this machine.",
        one_of("auto", "none", "anthropic", "openai", "gemini"),
    ),
    Setting("llm_model", "", "Model name; empty takes the provider's default."),
    Setting("llm_seconds", "30", "Seconds to wait for one answer of the language model.", whole(1, 600)),
    Setting(
        "llm_calls_per_hour",
        "120",
        "Budget of calls to the language model; 0 is none at all.",
        whole(0, 1_000_000),
    ),
    Setting(
        "embedder",
        "minilm",
        "What finds by meaning: minilm on this machine, gemini, openai (any compatible URL), or none: words alone.",
        embedder,
        ("EMBEDDING_PROVIDER",),
    ),
    Setting(
        "embedder_path",
        "",
        "Folder with minilm's model.safetensors and tokenizer.json; empty looks for an installed package.",
    ),
    Setting(
        "embedder_model",
        "",
        "Model of a remote embedder; empty takes the provider's default.",
        text,
        ("OPENAI_EMBEDDING_MODEL",),
    ),
    Setting(
        "embedder_dims",
        "0",
        "Numbers in each vector of a remote embedder; 0 takes the model's usual size.",
        whole(0, 8_192),
        ("OPENAI_EMBEDDING_DIMENSIONS",),
    ),
    Setting(
        "embedder_url",
        "",
        "Base URL of a remote embedder if it is not the provider's, or of minilm's download; none downloads nothing.",
    ),
    Setting(
        "embedder_key",
        "",
        "Key for HOLDFAST_EMBEDDER_URL; the provider's own key is not sent there.",
        secret,
        (),
        True,
    ),
    Setting("embedder_seconds", "30", "Seconds to wait for one answer of a remote embedder.", whole(1, 600)),
    Setting(
        "embedder_calls_per_hour",
        "3600",
        "Budget of calls to a remote embedder; 0 is none at all.",
        whole(0, 1_000_000),
    ),
    Setting(
        "import_roots",
        "~/.claude/projects,~/.codex/sessions",
        "Folders that transcript import may read.",
        words_list,
    ),
    Setting(
        "memory_folders",
        "memory",
        "Folders that snapshots hold besides the store: paths, or name=path; relative ones lie in the data folder.",
        words_list,
    ),
    Setting(
        "snapshot_every",
        "24h",
        "How often the server makes a snapshot if something changed: 30m, 12h, 7d, or off.",
        duration,
    ),
    Setting(
        "snapshot_before",
        "restore,consolidate,import,forget",
        "Work before which a snapshot is made if something changed; none for no such.",
        words_list,
    ),
    Setting("snapshot_sign", "false", "Sign snapshots with this folder's own key.", boolean),
    Setting("snapshot_recipients", "", "age recipients that snapshots are encrypted for.", words_list),
    Setting("snapshot_identity", "", "File with the age identity that opens encrypted snapshots."),
    Setting("snapshot_redact", "true", "Take secrets out of the memory folders' text in snapshots.", boolean),
    Setting(
        "snapshot_file_limit",
        "4194304",
        "Largest file in bytes that a snapshot takes from a memory folder; larger ones are reported.",
        whole(1, 1_000_000_000),
    ),
    Setting("snapshot_keep_last", "10", "Automatic snapshots kept whatever their age.", whole(1, 100_000)),
    Setting(
        "snapshot_keep_days", "0", "Automatic snapshots of so many days are kept; 0: no such rule.", whole(0, 36_500)
    ),
    Setting("snapshot_keep_daily", "7", "Days of which the last automatic snapshot is kept.", whole(0, 100_000)),
    Setting("snapshot_keep_weekly", "4", "Weeks of which the last automatic snapshot is kept.", whole(0, 100_000)),
    Setting("snapshot_keep_monthly", "6", "Months of which the last automatic snapshot is kept.", whole(0, 100_000)),
    Setting(
        "snapshot_lock_seconds",
        "60",
        "How long to wait for another process that makes, restores or removes snapshots.",
        whole(0, 86_400),
    ),
    Setting(
        "vault",
        "",
        "Where snapshots are copied to, and an empty memory is restored from: a folder, file:///…, s3://bucket/…, "
        "gs://bucket/…, az://container/…, hf://datasets/owner/name or colony:label.",
    ),
    Setting(
        "vault_credentials",
        "",
        "File that only its owner can read, with lines NAME=value: keys and tokens of vaults that are not set here.",
    ),
    Setting(
        "vault_endpoint",
        "",
        "Address of a compatible server for s3://, gs:// and az:// if it is not the provider's own.",
        text,
        ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    ),
    Setting("vault_region", "", "Region of an s3:// bucket.", text, ("AWS_REGION", "AWS_DEFAULT_REGION")),
    Setting("vault_attempts", "5", "How often a vault is asked when it fails in passing.", whole(1, 100)),
    Setting("vault_quota", "0", "Bytes that a vault may hold in all; 0 is no limit.", whole(0, 2**60)),
    Setting(
        "vault_calls_per_hour",
        "0",
        "Requests to a vault in any hour; 0 is no limit.",
        whole(0, 10_000_000),
    ),
    Setting("vault_key_id", "", "Id of the key of an s3:// vault.", secret, ("AWS_ACCESS_KEY_ID",), True),
    Setting("vault_key", "", "The key itself.", secret, ("AWS_SECRET_ACCESS_KEY",), True),
    Setting("vault_session_token", "", "Session token of a temporary key.", secret, ("AWS_SESSION_TOKEN",), True),
    Setting(
        "google_account",
        "",
        "File with the service account of a gs:// vault.",
        text,
        ("GOOGLE_APPLICATION_CREDENTIALS",),
    ),
    Setting("azure_account", "", "Storage account of an az:// vault.", text, ("AZURE_STORAGE_ACCOUNT_NAME",)),
    Setting("azure_key", "", "Key of that account.", secret, ("AZURE_STORAGE_ACCOUNT_KEY",), True),
    Setting("azure_sas_token", "", "Shared access signature instead.", secret, ("AZURE_STORAGE_SAS_TOKEN",), True),
    Setting("hub_token", "", "Token of an hf:// vault.", secret, ("HF_TOKEN",), True),
    Setting("hub_url", "https://huggingface.co", "Address of the hub of hf:// vaults.", text, ("HF_ENDPOINT",)),
    Setting(
        "colony_key",
        "",
        "API key of the agent whose Colony vault is used.",
        secret,
        ("COLONY_MEMORY_API_KEY", "COLONY_API_KEY"),
        True,
    ),
    Setting(
        "colony_url",
        "",
        "Address of the Colony's API if it is not its own.",
        text,
        ("COLONY_MEMORY_API_BASE", "COLONY_API_BASE"),
    ),
    Setting("colony_keep", "3", "Compact snapshots that stay in a colony: vault.", whole(1, 1_000)),
    Setting("nats_url", "", "NATS servers for events of memory and snapshots; empty sends none.", broker, (), True),
    Setting("nats_prefix", "holdfast", "How every NATS subject begins.", subject),
    Setting(
        "nats_confirm",
        "server",
        "When an event counts as sent: once the NATS server has it, or once a JetStream stream has stored it.",
        one_of("server", "stream"),
    ),
    Setting(
        "log_level",
        "warning",
        "How much the server says on standard error.",
        one_of("debug", "info", "warning", "error"),
    ),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one process. Fields are the rows of SETTINGS; a test holds the two together."""

    home: str
    host: str
    port: int
    url: str
    secret: str | None
    allowed_hosts: tuple[str, ...]
    agent: str | None
    agent_scope: str
    max_obs_per_session: int
    token_budget: int
    dedup_seconds: int
    max_body: int
    max_import: int
    header_seconds: int
    body_seconds: int
    max_connections: int
    rate: float
    retention_days: int
    maintenance_seconds: int
    expire_days: int
    consolidation: bool
    graph_extraction: bool
    auto_compress: bool
    anthropic_key: str | None
    openai_key: str | None
    gemini_key: str | None
    anthropic_url: str
    openai_url: str
    gemini_url: str
    llm: str
    llm_model: str
    llm_seconds: int
    llm_calls_per_hour: int
    embedder: str
    embedder_path: str
    embedder_model: str
    embedder_dims: int
    embedder_url: str
    embedder_key: str | None
    embedder_seconds: int
    embedder_calls_per_hour: int
    import_roots: tuple[str, ...]
    memory_folders: tuple[str, ...]
    snapshot_every: int
    snapshot_before: tuple[str, ...]
    snapshot_sign: bool
    snapshot_recipients: tuple[str, ...]
    snapshot_identity: str
    snapshot_redact: bool
    snapshot_file_limit: int
    snapshot_keep_last: int
    snapshot_keep_days: int
    snapshot_keep_daily: int
    snapshot_keep_weekly: int
    snapshot_keep_monthly: int
    snapshot_lock_seconds: int
    vault: str
    vault_credentials: str
    vault_endpoint: str
    vault_region: str
    vault_attempts: int
    vault_quota: int
    vault_calls_per_hour: int
    vault_key_id: str | None
    vault_key: str | None
    vault_session_token: str | None
    google_account: str
    azure_account: str
    azure_key: str | None
    azure_sas_token: str | None
    hub_token: str | None
    hub_url: str
    colony_key: str | None
    colony_url: str
    colony_keep: int
    nats_url: str | None
    nats_prefix: str
    nats_confirm: str
    log_level: str

    @property
    def folder(self) -> Path:
        return Path(self.home).expanduser()

    @property
    def isolated(self) -> bool:
        return self.agent_scope == "isolated"


def load(overrides: Mapping[str, object] | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from the environment; `overrides` (command-line options) win.

    Raises:
        InvalidSettings: a value cannot be used; the message names the setting, never a secret value.
    """
    environ = os.environ if environ is None else environ
    values = {row.name: _value(row, environ) for row in SETTINGS}
    for name, given in (overrides or {}).items():
        if given is not None:
            values[name] = _parsed(_row(name), str(given), f"--{name.replace('_', '-')}")
    return Settings(**values)


def environment() -> Mapping[str, str]:
    """The whole environment, for finding other programs' folders; Holdfast's own settings come from `load`."""
    return dict(os.environ)


def _row(name: str) -> Setting:
    return next(row for row in SETTINGS if row.name == name)


def _value(row: Setting, environ: Mapping[str, str]) -> Any:
    for env in (row.env, *row.also):
        if environ.get(env, "").strip():
            return _parsed(row, environ[env], env)
    return _parsed(row, row.default, row.env)


def _parsed(row: Setting, raw: str, where: str) -> Any:
    try:
        return row.parse(raw)
    except ValueError as error:
        reason = "is not valid" if row.hidden else str(error)
        raise InvalidSettings(f"{where}: {reason}") from error
