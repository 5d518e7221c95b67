"""Vaults, and the keys of their providers."""

from __future__ import annotations

from holdfast.settings.row import Setting, one_of, secret, text, whole

ROWS: tuple[Setting, ...] = (
    Setting(
        "vault",
        "",
        "Where snapshots are copied to, and an empty memory is restored from: a folder, file:///…, s3://bucket/…, "
        "gs://bucket/…, az://container/…, hf://datasets/owner/name or colony:label. AGENTMEMORY_DATASET_REPO holds "
        "owner/name alone.",
        text,
        ("AGENTMEMORY_DATASET_REPO",),
        also_form="hf://datasets/{}",
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
    Setting(
        "vault_layout",
        "auto",
        "How snapshots lie in a vault: whole, as chunks of which only new ones are sent, or auto: the large as chunks.",
        one_of("auto", "whole", "chunks"),
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
)
