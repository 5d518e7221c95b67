"""Snapshots: what they hold, when they are made, how long they stay."""

from __future__ import annotations

from holdfast.settings.row import Setting, boolean, duration, one_of, whole, words_list

ROWS: tuple[Setting, ...] = (
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
    Setting(
        "snapshot_layout",
        "auto",
        "How snapshots lie in the data folder: whole, as chunks that several share, or auto: the large as chunks if "
        "they go to a vault that gets them so.",
        one_of("auto", "whole", "chunks"),
    ),
    Setting(
        "snapshot_keep_last",
        "10",
        "Scheduled snapshots kept whatever their age, and as many of those made before some work.",
        whole(1, 100_000),
    ),
    Setting(
        "snapshot_keep_days", "0", "Automatic snapshots of so many days are kept; 0: no such rule.", whole(0, 36_500)
    ),
    Setting("snapshot_keep_daily", "7", "Days of which the last automatic snapshot is kept.", whole(0, 100_000)),
    Setting("snapshot_keep_weekly", "4", "Weeks of which the last automatic snapshot is kept.", whole(0, 100_000)),
    Setting("snapshot_keep_monthly", "6", "Months of which the last automatic snapshot is kept.", whole(0, 100_000)),
    Setting(
        "snapshot_hand_per_hour",
        "12",
        "Snapshots in any hour that callers without the scope admin may ask for; 0 is none at all.",
        whole(0, 100_000),
    ),
    Setting(
        "snapshot_lock_seconds",
        "60",
        "How long to wait for another process that makes, restores or removes snapshots.",
        whole(0, 86_400),
    ),
)
