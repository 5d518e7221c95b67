"""Operations on optional features: which are on, and the setting that controls each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.model import Json
from holdfast.core.version import VERSION
from holdfast.ops.framework.operation import Nothing
from holdfast.settings import BY_NAME, Setting, origin

HOW = (
    "Set the variable in the environment of the server, then restart the server. Without a server it takes effect "
    "with the next command."
)


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature that one setting turns on or off; `on` and `off` are values that do."""

    setting: str
    label: str
    on: str = "true"
    off: str = "false"
    affects: tuple[str, ...] = ()
    needs_llm: bool = False
    is_on: Callable[[Any], bool] = bool

    @property
    def row(self) -> Setting:
        return BY_NAME[self.setting]

    def change(self, enabled: bool) -> str:
        """What turns it over; a variable that is empty or not set means the default."""
        value = self.off if enabled else self.on
        return f"{self.row.env}={value}" if value else f"unset {self.row.env}"


FEATURES: tuple[Feature, ...] = (
    Feature("consolidation", "Consolidation", affects=("consolidate",)),
    Feature("graph_extraction", "Graph extraction", affects=("graph",), needs_llm=True),
    Feature("auto_compress", "Digests of ended sessions", affects=("summarize",)),
    Feature("embedder", "Semantic search", "local", "none", ("search",), is_on=lambda value: value != "none"),
    Feature("reranker", "Best hits read again", "local", "none", ("search",), is_on=lambda value: value != "none"),
    Feature("llm", "Language model", "auto", "none", ("summarize",), is_on=lambda value: value != "none"),
    Feature("snapshot_every", "Automatic snapshots", "24h", "off", ("snapshot",)),
    Feature("snapshot_sign", "Signed snapshots", affects=("snapshot",)),
    Feature("snapshot_recipients", "Encrypted snapshots", "age1…", "", ("snapshot",)),
    Feature("vault", "Copies of snapshots in a vault", "s3://bucket/folder", "", ("snapshot",)),
    Feature("secret", "Secret required", "…", "", ("every request",)),
    Feature(
        "agent_scope", "Isolated agents", "isolated", "shared", ("search",), is_on=lambda value: value == "isolated"
    ),
    Feature("expire_days", "Expiry of chat memories", "180", "0", ("chats",)),
    Feature("chats_write_global", "Chats may modify global memories", affects=("chats",)),
    Feature("mcp_tools", "All MCP tools listed", "all", "core", ("mcp",), is_on=lambda value: value == "all"),
    Feature("oauth", "Remote MCP clients", affects=("mcp",)),
    Feature("nats_url", "Events to NATS", "nats://host:4222", "", ("events",)),
)


class FlagsAnswer(TypedDict):
    version: str
    provider: str
    embeddingProvider: str
    flags: list[Json]
    how: str


def flags(ctx: CallContext, ask: Nothing) -> FlagsAnswer:
    """Show which optional features are on, and the setting that controls each."""
    return {
        "version": VERSION,
        "provider": "llm" if ctx.summarizer else "noop",
        "embeddingProvider": ctx.embedder.name if ctx.embedder else "none",
        "flags": [_shape(ctx, one) for one in FEATURES],
        "how": HOW,
    }


def _shape(ctx: CallContext, one: Feature) -> Json:
    row, value = one.row, getattr(ctx.settings, one.setting)
    enabled = one.is_on(value) if one.setting != "llm" else ctx.summarizer is not None
    change, (source, said) = one.change(enabled), origin(ctx.settings, one.setting)
    if one.setting == "llm" and not enabled and one.is_on(value):  # it is allowed, but has no key
        change = "ANTHROPIC_API_KEY=…"
    return {
        "key": (row.also or (row.env,))[0],
        "label": one.label,
        "enabled": enabled,
        "default": one.setting != "llm" and one.is_on(row.parse(row.default)),
        "affects": list(one.affects),
        "needsLlm": one.needs_llm,
        "description": row.help,
        "enableHow": one.change(enabled=False),
        "docsHref": "docs/settings.md",
        "setting": row.env,
        "value": said if not row.hidden else "set" if value else "",  # a secret is never shown
        "source": source,
        "change": change,
    }
