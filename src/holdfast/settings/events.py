"""What is told to others: events and the log."""

from __future__ import annotations

from holdfast.settings.row import Setting, broker, one_of, subject

ROWS: tuple[Setting, ...] = (
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
