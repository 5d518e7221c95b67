"""One table of settings. This module is the only reader of the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.core.disk import user_path
from holdfast.core.errors import InvalidSettings
from holdfast.settings import events, models, server, snapshots, vaults
from holdfast.settings.row import Setting, WrongForm, duration

__all__ = [
    "BY_NAME",
    "SETTINGS",
    "Setting",
    "Settings",
    "background_port",
    "duration",
    "environment",
    "load",
    "named_by",
    "origin",
]

SETTINGS: tuple[Setting, ...] = (*server.ROWS, *models.ROWS, *snapshots.ROWS, *vaults.ROWS, *events.ROWS)
BY_NAME: dict[str, Setting] = {row.name: row for row in SETTINGS}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one process. Fields are the rows of SETTINGS; a test holds the two together."""

    home: str
    store: str
    host: str
    port: int
    url: str
    daemon: bool
    idle: int
    secret: str | None
    allowed_hosts: tuple[str, ...]
    oauth: bool
    public_url: str
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
    quota_records: int
    quota_bytes: int
    quota_writes: int
    retention_days: int
    maintenance_seconds: int
    expire_days: int
    chats_write_global: bool
    mcp_tools: str
    recall_keep: str
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
    reranker: str
    reranker_path: str
    embedder_seconds: int
    embedder_calls_per_hour: int
    import_roots: tuple[str, ...]
    page_folders: tuple[str, ...]
    claude_memory_file: str
    memory_folders: tuple[str, ...]
    snapshot_every: int
    snapshot_before: tuple[str, ...]
    snapshot_sign: bool
    snapshot_recipients: tuple[str, ...]
    snapshot_identity: str
    snapshot_redact: bool
    snapshot_file_limit: int
    snapshot_layout: str
    snapshot_keep_last: int
    snapshot_keep_days: int
    snapshot_keep_daily: int
    snapshot_keep_weekly: int
    snapshot_keep_monthly: int
    snapshot_hand_per_hour: int
    journal: bool
    journal_keep: int
    journal_backlog: int
    journal_share: int
    snapshot_lock_seconds: int
    drill_every: int
    drill_bytes: int
    drill_seconds: int
    guard_file_limit: int
    guard_bytes: int
    vault: str
    vault_credentials: str
    vault_append_only: bool
    vault_endpoint: str
    vault_layout: str
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
        return user_path(self.home, "HOLDFAST_HOME", InvalidSettings)

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
            values[name] = _parsed(BY_NAME[name], str(given), f"--{name.replace('_', '-')}")
    return Settings(**values)


def environment() -> Mapping[str, str]:
    """The whole environment, for finding other programs' folders; Holdfast's own settings come from `load`."""
    return dict(os.environ)


def named_by(name: str, environ: Mapping[str, str] | None = None) -> str | None:
    """The variable of the environment that a setting comes from; None where it is the default."""
    environ, row = os.environ if environ is None else environ, BY_NAME[name]
    return next((env for env in (row.env, *row.also) if environ.get(env, "").strip()), None)


def background_port(settings: Settings, environ: Mapping[str, str] | None = None) -> int:
    """The port of a server that is not started at a terminal. PORT alone does not count: shells in which web
    applications are developed have it, and their port must not be taken."""
    if named_by("port", environ) in (None, "PORT"):
        return int(BY_NAME["port"].default)
    return settings.port


def origin(settings: Settings, name: str, environ: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Where a setting of this process comes from, and how it is written there: the variable that says it, "option" or
    "default"."""
    environ, row = os.environ if environ is None else environ, BY_NAME[name]
    variable = named_by(name, environ)
    said = row.written(variable, environ[variable]) if variable else row.default
    try:
        same = row.parse(said) == getattr(settings, name)
    except ValueError:  # an option stood in for it, or the process would not run
        same = False
    return (variable or "default", said) if same else ("option", str(getattr(settings, name)))


def _value(row: Setting, environ: Mapping[str, str]) -> Any:
    variable = named_by(row.name, environ)
    raw = row.written(variable, environ[variable]) if variable else row.default
    return _parsed(row, raw, variable or row.env)


def _parsed(row: Setting, raw: str, where: str) -> Any:
    try:
        return row.parse(raw)
    except ValueError as error:
        reason = str(error) if isinstance(error, WrongForm) or not row.hidden else "is not valid"
        raise InvalidSettings(f"{where}: {reason}") from error
