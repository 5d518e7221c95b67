"""Settings of snapshots: contents, schedule and retention."""

from __future__ import annotations

from holdfast.settings.row import Setting, boolean, duration, one_of, whole, words_list

ROWS: tuple[Setting, ...] = (
    Setting(
        "memory_folders",
        "memory",
        "Folders included in snapshots besides the database: path or name=path. Relative paths are resolved "
        "in the data folder.",
        words_list,
    ),
    Setting(
        "snapshot_every",
        "24h",
        "Interval of automatic snapshots, made only after changes: 30m, 12h, 7d, or off.",
        duration,
    ),
    Setting(
        "snapshot_before",
        "restore,consolidate,import,forget",
        "Operations before which a snapshot is made if something changed. `none` disables it.",
        words_list,
    ),
    Setting("snapshot_sign", "false", "Sign snapshots with the signing key of the data folder.", boolean),
    Setting("snapshot_recipients", "", "age recipients to encrypt snapshots for.", words_list),
    Setting("snapshot_identity", "", "File with the age identity that decrypts snapshots."),
    Setting("snapshot_redact", "true", "Redact secrets in text files of memory folders.", boolean),
    Setting(
        "snapshot_file_limit",
        "4194304",
        "Maximum size of a file from a memory folder, in bytes. Larger files are left out and reported.",
        whole(1, 1_000_000_000),
    ),
    Setting(
        "snapshot_layout",
        "auto",
        "Storage layout of snapshots in the data folder. whole: one file each; chunks: deduplicated chunks; "
        "auto: chunks for large snapshots that go to a vault with chunks.",
        one_of("auto", "whole", "chunks"),
    ),
    Setting(
        "snapshot_keep_last",
        "10",
        "Newest snapshots to keep, counted separately for scheduled ones and for those made before an operation.",
        whole(1, 100_000),
    ),
    Setting(
        "snapshot_keep_days",
        "0",
        "Keep all automatic snapshots of this many days; 0 disables the rule.",
        whole(0, 36_500),
    ),
    Setting(
        "snapshot_keep_daily", "7", "Keep the last automatic snapshot of each of this many days.", whole(0, 100_000)
    ),
    Setting(
        "snapshot_keep_weekly", "4", "Keep the last automatic snapshot of each of this many weeks.", whole(0, 100_000)
    ),
    Setting(
        "snapshot_keep_monthly", "6", "Keep the last automatic snapshot of each of this many months.", whole(0, 100_000)
    ),
    Setting(
        "snapshot_hand_per_hour",
        "12",
        "Maximum number of manual snapshots per hour for callers without the scope admin; 0: none allowed.",
        whole(0, 100_000),
    ),
    Setting(
        "journal",
        "true",
        "Write every change to the vault within a second, beside the snapshots, so that any moment can be restored. "
        "Requires a vault that is a folder or object storage.",
        boolean,
    ),
    Setting(
        "journal_keep",
        "24h",
        "How far back any moment can be restored: 30m, 24h, 7d. off: only from the newest snapshot on.",
        duration,
    ),
    Setting(
        "journal_backlog",
        "67108864",
        "Maximum bytes of the journal that wait in the data folder while the vault cannot be reached. Beyond it no "
        "change is lost, but moments in between cannot be restored.",
        whole(0, 2**50),
    ),
    Setting(
        "journal_share",
        "3",
        "Make the next automatic snapshot early once the journal since the last one has this share of the memory's "
        "records, in percent: restoring a journal takes longer than restoring a snapshot. 0: only on schedule.",
        whole(0, 1_000),
    ),
    Setting(
        "snapshot_lock_seconds",
        "60",
        "Seconds to wait for another process that creates, restores or removes snapshots.",
        whole(0, 86_400),
    ),
    Setting(
        "drill_every",
        "7d",
        "Interval of restore drills, in which the server restores a random snapshot into a scratch folder and checks "
        "it: 12h, 7d, or off.",
        duration,
    ),
    Setting(
        "drill_bytes",
        "2000000000",
        "Largest snapshot that a drill restores, in bytes as it is stored. Larger ones are left out.",
        whole(1, 1_000_000_000_000),
    ),
    Setting(
        "drill_seconds",
        "3600",
        "Longest time of a drill, in seconds. One that takes longer is given up and leaves no receipt.",
        whole(1, 86_400),
    ),
)
