"""Settings of events and of the log."""

from __future__ import annotations

from holdfast.settings.row import Setting, broker, one_of, subject

ROWS: tuple[Setting, ...] = (
    Setting(
        "nats_url",
        "",
        "NATS servers that receive events about memories and snapshots. Empty: no events are sent.",
        broker,
        (),
        True,
    ),
    Setting("nats_prefix", "holdfast", "Prefix of every NATS subject.", subject),
    Setting(
        "nats_confirm",
        "server",
        "When an event counts as delivered. server: the NATS server has received it; stream: a JetStream "
        "stream has stored it.",
        one_of("server", "stream"),
    ),
    Setting(
        "log_level",
        "warning",
        "Log level of the server, on standard error.",
        one_of("debug", "info", "warning", "error"),
    ),
)
