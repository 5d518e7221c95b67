"""The hierarchy of faults. Every error that a user can see has a code, an HTTP status, an exit code and a hint.

Messages name the operation and the object, never memory text, keys or secrets.
"""

from __future__ import annotations


class Fault(Exception):
    """An expected error. REST, MCP and the command line turn it into a status, an exit code and a hint."""

    code = "fault"
    http_status = 500
    exit_code = 1
    retryable = False
    retry_after: int | None = None  # seconds until a retry makes sense, where that is known
    hint = "Run holdfast doctor."

    def __init__(self, message: str, *, hint: str | None = None, details: dict[str, object] | None = None):
        super().__init__(message)
        self.message = message
        if hint is not None:
            self.hint = hint
        self.details = details or {}

    def to_dict(self) -> dict[str, object]:
        """The one JSON shape of every error."""
        shape = {"error": self.message, "code": self.code, "hint": self.hint, "retryable": self.retryable}
        return {**self.details, **shape}


# In the details of a fault after which it cannot be known whether the write was stored.
OUTCOME, UNKNOWN = "outcome", "unknown"


class InvalidRequest(Fault):
    """A value in the request is invalid."""

    code, http_status, exit_code = "invalid", 400, 2
    hint = "Correct the named value and send the request again."


class InvalidSettings(Fault):
    """A setting has an invalid value."""

    code, http_status, exit_code = "invalid_settings", 500, 3
    hint = "See docs/settings.md for every setting and its values."


class NotFound(Fault):
    """The record does not exist, or the caller may not see it."""

    code, http_status, exit_code = "not_found", 404, 4
    hint = "Check the id. The matching list command shows what exists."


class Conflict(Fault):
    """The record already exists, or it changed after the caller read it."""

    code, http_status, exit_code = "conflict", 409, 5
    hint = "Read the record again, then retry if the change is still needed."


class LimitReached(Fault):
    """The request would exceed a size or count limit."""

    code, http_status, exit_code = "limit_reached", 400, 6
    hint = "Shorten the content or raise the limit."


class TooLarge(Fault):
    """The request is larger than the server accepts."""

    code, http_status, exit_code = "too_large", 413, 7
    hint = "Send a smaller request, or raise HOLDFAST_MAX_BODY."


class UnsupportedMedia(Fault):
    """The request body has an unsupported content type."""

    code, http_status, exit_code = "unsupported_media", 415, 2
    hint = "Send JSON with Content-Type: application/json."


class MethodNotAllowed(Fault):
    """The path exists but does not support this method."""

    code, http_status, exit_code = "method_not_allowed", 405, 2
    hint = "See /openapi.json for the methods of each path."


class Unauthorized(Fault):
    """The request has no credential, or an invalid one."""

    code, http_status, exit_code = "unauthorized", 401, 10
    challenge = "Bearer"  # what the answer's WWW-Authenticate says
    hint = "Send the header Authorization: Bearer <secret or token>. Create a token with holdfast token create."


class Forbidden(Fault):
    """The credential is valid but does not permit this."""

    code, http_status, exit_code = "forbidden", 403, 11
    hint = "Use a token with the scope that the operation requires."


class RateLimited(Fault):
    """Too many requests in a short time."""

    code, http_status, exit_code, retryable = "rate_limited", 429, 12, True
    hint = "Wait a moment and try again, or raise HOLDFAST_RATE."


class QuotaReached(Fault):
    """The tenant's memory has reached its quota. Nothing of this request was stored."""

    code, http_status, exit_code = "quota_reached", 507, 63
    hint = "Forget what is no longer needed, or raise the quota that the message names."


class RequestTimeout(Fault):
    """The client took too long to send its request."""

    code, http_status, exit_code, retryable = "request_timeout", 408, 13, True
    hint = "Send the headers and the body without long pauses."


class DataLocked(Fault):
    """Another process has the data folder open."""

    code, http_status, exit_code, retryable = "data_locked", 409, 20, True
    hint = "Stop the other process, or connect to it with --url."


class StorageFull(Fault):
    """The disk is full. Nothing of this request was stored."""

    code, http_status, exit_code, retryable = "storage_full", 507, 21, True
    hint = "Free disk space; writes then resume automatically. Reads still work."


class StorageFailed(Fault):
    """A write to the disk failed. Nothing of this request was acknowledged, and writes are disabled."""

    code, http_status, exit_code = "storage_failed", 500, 22
    hint = "Check the disk, restart Holdfast, then run: holdfast verify. Reads still work."


class DataDamaged(Fault):
    """Stored data does not match its checksum or cannot be read."""

    code, http_status, exit_code = "data_damaged", 500, 23
    hint = "Run holdfast recover: it verifies all records and brings back what is sound."


class DataTooNew(Fault):
    """The data folder was written by a newer version of Holdfast."""

    code, http_status, exit_code = "data_too_new", 500, 24
    hint = "Upgrade Holdfast. This version would lose data that it does not know."


class DataReadOnly(DataDamaged):
    """The memory is damaged and read-only. Nothing of this request was stored."""

    code, http_status, exit_code = "read_only", 503, 25
    hint = "Run holdfast recover. Undamaged data can still be read."


class RestorePending(Fault):
    """This memory is in the vault and has not been restored yet. It cannot be read or written until then."""

    code, http_status, exit_code, retryable = "restore_pending", 503, 26, True
    hint = "Run holdfast doctor."


class Following(Fault):
    """This memory is a read-only copy that follows another host's. Nothing of this request was stored."""

    code, http_status, exit_code, retryable = "following", 503, 19, True
    hint = "Do it on the host that it follows, or run holdfast promote to let this one take its place."


class StoreUnreachable(Fault):
    """The database server does not respond. Nothing of this request was acknowledged."""

    code, http_status, exit_code, retryable = "store_unreachable", 503, 27, True
    retry_after = 2
    hint = "Check that the database server is running and that HOLDFAST_STORE is correct."


class StoreLoginRefused(Fault):
    """The database server refused the login."""

    code, http_status, exit_code = "store_login_refused", 503, 28
    hint = "Check the role, the password and the database in HOLDFAST_STORE, and pg_hba.conf of the server."


class StoreUnsuited(Fault):
    """The database server lacks something that Holdfast needs."""

    code, http_status, exit_code = "store_unsuited", 500, 29
    hint = "Install pgvector 0.7 or later on the server (docs/postgres.md)."


class StoreForbidden(Fault):
    """The database role lacks a privilege."""

    code, http_status, exit_code = "store_forbidden", 500, 48
    hint = "Grant the role what docs/postgres.md lists, or name the role that owns the tables."


class StoreForeign(Fault):
    """The database holds tables that are not Holdfast's. They were not changed."""

    code, http_status, exit_code = "store_foreign", 500, 49
    hint = "Name an empty database or schema in HOLDFAST_STORE."


class StoreTooNew(Fault):
    """The database was changed by a newer version of Holdfast."""

    code, http_status, exit_code = "store_too_new", 500, 62
    hint = "Upgrade Holdfast. This version would lose data that it does not know."


class StoreAmbiguous(Fault):
    """The data folder and HOLDFAST_STORE name two different memories."""

    code, http_status, exit_code = "store_ambiguous", 500, 61
    hint = "Set HOLDFAST_STORE to the store that holds the memory, or name another data folder with --data."


class UpstreamFailed(Fault):
    """A remote model or service returned no usable response."""

    code, http_status, exit_code, retryable = "upstream_failed", 502, 30, True
    hint = "Check the key and the URL of the remote service, and the network."


class ServerUnreachable(Fault):
    """No Holdfast server responds at this address."""

    code, http_status, exit_code, retryable = "unreachable", 502, 31, True
    hint = "Start the server with holdfast serve, or correct --url or HOLDFAST_URL."


class AnswerLate(Fault):
    """The server accepted the request but did not respond in time. The request may still complete."""

    code, http_status, exit_code, retryable = "answer_late", 504, 39, False
    hint = "Check its status before retrying."


class EmbedderUnavailable(Fault):
    """The embedding model is unavailable. Search uses keywords only."""

    code, http_status, exit_code, retryable = "embedder_unavailable", 503, 32, True
    hint = "Run holdfast doctor. To use keyword search permanently, set HOLDFAST_EMBEDDER=none."


class SnapshotDamaged(Fault):
    """A snapshot is damaged: its bytes differ from those that were sealed."""

    code, http_status, exit_code = "snapshot_damaged", 422, 40
    hint = "Use another snapshot: holdfast snapshot list shows them, holdfast snapshot verify checks them."


class SnapshotUntrusted(Fault):
    """A snapshot is signed with an untrusted key, or a required signature is missing."""

    code, http_status, exit_code = "snapshot_untrusted", 403, 41
    hint = "If you know the signer, trust its key with holdfast key trust DID."


class SnapshotOlder(Fault):
    """The snapshot is older than another that is known to exist."""

    code, http_status, exit_code = "snapshot_older", 409, 42
    hint = "The newer one may have been lost or withheld. To use this one anyway, pass --allow-older."


class SnapshotTooNew(Fault):
    """The snapshot was written by a newer version of Holdfast."""

    code, http_status, exit_code = "snapshot_too_new", 422, 43
    hint = "Upgrade Holdfast. This version would lose data that it does not know."


class SnapshotForeign(Fault):
    """The snapshot belongs to another tenant or agent."""

    code, http_status, exit_code = "snapshot_foreign", 409, 44
    hint = "Restore it in the memory it was made from. To take over another agent's memory, pass --as AGENT."


class IdentityNeeded(Fault):
    """The snapshot is encrypted, and no identity that can decrypt it was given."""

    code, http_status, exit_code = "identity_needed", 422, 45
    hint = "Pass the file with the age identity: --identity FILE, or set HOLDFAST_SNAPSHOT_IDENTITY."


class SnapshotsBusy(Fault):
    """Another process is creating, restoring or removing snapshots."""

    code, http_status, exit_code, retryable = "snapshots_busy", 409, 46, True
    hint = "Retry when it has finished, or raise HOLDFAST_SNAPSHOT_LOCK_SECONDS."


class Restoring(Fault):
    """A restore is replacing the memory. Nothing of this request was stored."""

    code, http_status, exit_code, retryable = "restoring", 503, 47, True
    retry_after = 1
    hint = "Retry in a few seconds."
    out_of_turn = False  # a write that succeeds as the first of its transaction, which waits for the lock


class ColonyMemoryError(Fault, RuntimeError):
    """The Colony vault could not complete the operation."""

    code, http_status, exit_code = "colony_failed", 502, 50
    hint = "See the message for the cause. Data stored earlier is not affected."


class SnapshotNotFound(ColonyMemoryError):
    """The vault responded, but it has no such snapshot."""

    code, http_status, exit_code = "colony_not_found", 404, 51
    hint = "Call list_snapshots() to see what the vault holds."


class QuotaExceeded(ColonyMemoryError):
    """The snapshot does not fit into the vault. Nothing of it was stored."""

    code, http_status, exit_code = "colony_full", 507, 52
    hint = "Delete old snapshots with prune(), pass prune_keep, or store less."


class ColonyDamaged(ColonyMemoryError, ValueError):
    """Data in the vault differs from what was stored."""

    code, http_status, exit_code = "colony_damaged", 422, 53
    hint = "Restore another snapshot by its id. list_snapshots() lists them."


class ColonyUntrusted(ColonyMemoryError, ValueError):
    """The snapshot is not signed with a trusted key."""

    code, http_status, exit_code = "colony_untrusted", 403, 54
    hint = "If you know the signer, add its did:key to the argument trusted."


class ColonyLocked(ColonyMemoryError):
    """The snapshot is encrypted, and no identity that can decrypt it was given."""

    code, http_status, exit_code = "colony_locked", 422, 55
    hint = "Pass the age identity it was encrypted for in the argument identities."


class ColonyUnreachable(ColonyMemoryError):
    """The vault returned no usable response."""

    code, http_status, exit_code, retryable = "colony_unreachable", 502, 56, True
    hint = "Retry later. Stored data may still exist, so do not start with an empty memory."


class ColonyRefused(ColonyMemoryError):
    """The vault does not permit this operation for this agent."""

    code, http_status, exit_code = "colony_refused", 403, 57
    hint = "Check the API key and the agent's karma."


class ColonyRateLimited(ColonyMemoryError):
    """The vault's limit of 60 changes per hour is reached."""

    code, http_status, exit_code, retryable = "colony_rate_limited", 429, 58, True
    hint = "Retry after the time given in retry_after."


class ColonyConflict(ColonyMemoryError):
    """Another writer changed the same snapshots at the same time."""

    code, http_status, exit_code, retryable = "colony_conflict", 409, 59, True
    hint = "Retry. The other writer's data is not affected."


class ColonyUnknown(ColonyMemoryError, ValueError):
    """The snapshot has a format or codec that this version does not support."""

    code, http_status, exit_code = "colony_unknown", 422, 60
    hint = "Upgrade Holdfast. A newer version may support it."


class ColonyInvalid(ColonyMemoryError, ValueError):
    """A value passed to the Colony memory is invalid."""

    code, http_status, exit_code = "colony_invalid", 400, 2
    hint = "Correct the named value."


class VaultUnauthorized(UpstreamFailed):
    """The vault rejected the credential."""

    code, http_status, exit_code, retryable = "vault_unauthorized", 502, 33, False
    hint = "Check the vault's key or token. docs/vaults.md lists where each is read from."


class VaultRefused(UpstreamFailed):
    """The credential does not permit this operation, or the vault does not exist."""

    code, http_status, exit_code, retryable = "vault_refused", 502, 34, False
    hint = "Check the name of the vault and the permissions of its credential."


class VaultBusy(UpstreamFailed):
    """The vault received too many requests in a short time."""

    code, http_status, exit_code, retryable = "vault_busy", 503, 35, True
    hint = "Retry later. Data that was already sent is not sent again."


class VaultUnreachable(UpstreamFailed):
    """The vault returned no usable response."""

    code, http_status, exit_code, retryable = "vault_unreachable", 502, 36, True
    hint = "Check the network and the vault's address, then retry. Data that was already sent is not sent again."


class VaultDamaged(UpstreamFailed):
    """The vault returned data that contradicts its own metadata."""

    code, http_status, exit_code, retryable = "vault_damaged", 502, 37, False
    hint = "Run holdfast vault verify, then restore from another vault or an older snapshot."


class VaultFull(StorageFull):
    """The vault is full. Nothing of this was stored."""

    code, http_status, exit_code, retryable = "vault_full", 507, 38, False
    hint = "Remove old snapshots with holdfast vault prune, or raise the quota of the vault."


# What a restore repairs: a memory that is damaged or too new, or one that is still in the vault.
CANNOT_OPEN: tuple[type[Fault], ...] = (DataDamaged, DataTooNew, RestorePending)
# Codes of warnings about what the state of the store says as well.
STORAGE_WARNINGS = ("storage_failed", "data_damaged", "restore_pending", "follow_behind")


def every_fault() -> list[type[Fault]]:
    """All faults by exit code, for the generated page of errors."""

    def below(cls: type[Fault]) -> list[type[Fault]]:
        return [cls, *(fault for child in cls.__subclasses__() for fault in below(child))]

    return sorted(below(Fault), key=lambda fault: (fault.exit_code, fault.code))
