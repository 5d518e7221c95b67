"""Vaults, and the keys of their providers."""

from __future__ import annotations

from holdfast.settings.row import Setting, boolean, one_of, secret, text, whole

ROWS: tuple[Setting, ...] = (
    Setting(
        "vault",
        "",
        "Remote location of snapshots. New snapshots are copied there, and an empty data folder is restored "
        "from there. A folder, file:///…, s3://bucket/…, gs://bucket/…, az://container/…, "
        "hf://datasets/owner/name or colony:label. AGENTMEMORY_DATASET_REPO holds owner/name alone.",
        text,
        ("AGENTMEMORY_DATASET_REPO",),
        also_form="hf://datasets/{}",
    ),
    Setting(
        "vault_credentials",
        "",
        "File with keys and tokens of vaults, as lines NAME=value. Only its owner may be able to read it.",
    ),
    Setting(
        "vault_append_only",
        "false",
        "Only add to vaults: nothing in them is removed or replaced by this host. Use it with a credential that may "
        "create and read and not delete; then a stolen machine cannot erase its snapshots. Pruning needs another "
        "credential: holdfast vault prune --credentials FILE.",
        boolean,
    ),
    Setting(
        "vault_endpoint",
        "",
        "Address of a compatible server for s3://, gs:// and az://. Empty: the provider's.",
        text,
        ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    ),
    Setting(
        "vault_layout",
        "auto",
        "Storage layout of snapshots in a vault. whole: one file each; chunks: only new chunks are uploaded; "
        "auto: chunks for large snapshots.",
        one_of("auto", "whole", "chunks"),
    ),
    Setting("vault_region", "", "Region of an s3:// bucket.", text, ("AWS_REGION", "AWS_DEFAULT_REGION")),
    Setting("vault_attempts", "5", "Attempts on transient errors.", whole(1, 100)),
    Setting("vault_quota", "0", "Maximum total size of a vault, in bytes; 0: no limit.", whole(0, 2**60)),
    Setting(
        "vault_calls_per_hour",
        "0",
        "Maximum number of requests to a vault per hour; 0: no limit.",
        whole(0, 10_000_000),
    ),
    Setting("vault_key_id", "", "Access key id of an s3:// vault.", secret, ("AWS_ACCESS_KEY_ID",), True),
    Setting("vault_key", "", "Secret access key of an s3:// vault.", secret, ("AWS_SECRET_ACCESS_KEY",), True),
    Setting("vault_session_token", "", "Session token of a temporary s3:// key.", secret, ("AWS_SESSION_TOKEN",), True),
    Setting(
        "google_account",
        "",
        "File with the service account key of a gs:// vault.",
        text,
        ("GOOGLE_APPLICATION_CREDENTIALS",),
    ),
    Setting("azure_account", "", "Storage account of an az:// vault.", text, ("AZURE_STORAGE_ACCOUNT_NAME",)),
    Setting(
        "azure_key",
        "",
        "Access key of the storage account of an az:// vault.",
        secret,
        ("AZURE_STORAGE_ACCOUNT_KEY",),
        True,
    ),
    Setting(
        "azure_sas_token",
        "",
        "Shared access signature of an az:// vault, instead of an access key.",
        secret,
        ("AZURE_STORAGE_SAS_TOKEN",),
        True,
    ),
    Setting("hub_token", "", "Access token of an hf:// vault.", secret, ("HF_TOKEN",), True),
    Setting("hub_url", "https://huggingface.co", "Address of the hub for hf:// vaults.", text, ("HF_ENDPOINT",)),
    Setting(
        "colony_key",
        "",
        "API key of the agent that owns the Colony vault.",
        secret,
        ("COLONY_MEMORY_API_KEY", "COLONY_API_KEY"),
        True,
    ),
    Setting(
        "colony_url",
        "",
        "Address of the Colony API. Empty: the default.",
        text,
        ("COLONY_MEMORY_API_BASE", "COLONY_API_BASE"),
    ),
    Setting("colony_keep", "3", "Number of compact snapshots to keep in a colony: vault.", whole(1, 1_000)),
)
