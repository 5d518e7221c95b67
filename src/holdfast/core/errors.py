"""One tree of faults. Every error a user can meet has a code, an HTTP status, an exit code and a remedy.

Messages name the operation and the object, never memory text, keys or secrets.
"""

from __future__ import annotations


class Fault(Exception):
    """Something the caller should know about; the edges turn it into a status, an exit code and a hint."""

    code = "fault"
    http_status = 500
    exit_code = 1
    retryable = False
    retry_after: int | None = None  # seconds, where it is known that it passes so soon
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


class InvalidRequest(Fault):
    """A value in the request cannot be accepted as it is."""

    code, http_status, exit_code = "invalid", 400, 2
    hint = "Correct the named value and send the request again."


class InvalidSettings(Fault):
    """A setting has a value that Holdfast cannot run with."""

    code, http_status, exit_code = "invalid_settings", 500, 3
    hint = "See docs/settings.md for every setting and its values."


class NotFound(Fault):
    """No record of that name is visible to the caller."""

    code, http_status, exit_code = "not_found", 404, 4
    hint = "Check the id; list what exists with the matching list operation."


class Conflict(Fault):
    """The record exists already, or changed since the caller read it."""

    code, http_status, exit_code = "conflict", 409, 5
    hint = "Read the record again and decide."


class LimitReached(Fault):
    """A size or count limit would be passed."""

    code, http_status, exit_code = "limit_reached", 400, 6
    hint = "Shorten the content or raise the limit."


class TooLarge(Fault):
    """The request itself is larger than the server takes."""

    code, http_status, exit_code = "too_large", 413, 7
    hint = "Send less at once; see HOLDFAST_MAX_BODY."


class UnsupportedMedia(Fault):
    """The request body is of a type the server does not read."""

    code, http_status, exit_code = "unsupported_media", 415, 2
    hint = "Send JSON with Content-Type: application/json."


class MethodNotAllowed(Fault):
    """The path exists, but not with this method."""

    code, http_status, exit_code = "method_not_allowed", 405, 2
    hint = "See /openapi.json for the methods of each path."


class Unauthorized(Fault):
    """The request carries no credential, or one that is not valid."""

    code, http_status, exit_code = "unauthorized", 401, 10
    hint = "Send Authorization: Bearer <secret or token>; make one with holdfast token create."


class Forbidden(Fault):
    """The credential is valid but does not reach this far."""

    code, http_status, exit_code = "forbidden", 403, 11
    hint = "Use a token with the scope that this operation needs."


class RateLimited(Fault):
    """Too many requests in too short a time."""

    code, http_status, exit_code, retryable = "rate_limited", 429, 12, True
    hint = "Wait a moment and try again, or raise HOLDFAST_RATE."


class RequestTimeout(Fault):
    """The client took too long to send its request."""

    code, http_status, exit_code, retryable = "request_timeout", 408, 13, True
    hint = "Send headers and body without long pauses."


class DataLocked(Fault):
    """Another process has the data folder open."""

    code, http_status, exit_code, retryable = "data_locked", 409, 20, True
    hint = "Stop the other process, or use its address with --url."


class StorageFull(Fault):
    """The disk has no room; nothing of this request was stored."""

    code, http_status, exit_code, retryable = "storage_full", 507, 21, True
    hint = "Free some space; writing goes on by itself once there is room. Reads still work."


class StorageFailed(Fault):
    """The disk failed a write; nothing of this request was acknowledged and writing has stopped."""

    code, http_status, exit_code = "storage_failed", 500, 22
    hint = "Check the disk, then restart Holdfast and run holdfast verify. Reads still work."


class DataDamaged(Fault):
    """Stored data does not match its checksums or cannot be read."""

    code, http_status, exit_code = "data_damaged", 500, 23
    hint = "Run holdfast verify to see what is damaged; restore a snapshot if rows are."


class DataTooNew(Fault):
    """The data folder was written by a newer Holdfast."""

    code, http_status, exit_code = "data_too_new", 500, 24
    hint = "Upgrade Holdfast; this version would lose what it does not know."


class DataReadOnly(DataDamaged):
    """The memory is damaged and takes no writes; nothing of this request was stored."""

    code, http_status, exit_code = "read_only", 503, 25
    hint = "Run holdfast verify --repair-index. Reads go on where the data can be read."


class RestorePending(Fault):
    """This memory is in the vault and was not restored yet; until then nothing is read or written."""

    code, http_status, exit_code, retryable = "restore_pending", 503, 26, True
    hint = "Run holdfast doctor."


class StoreUnreachable(Fault):
    """The database of the memory does not answer; nothing of this request was acknowledged."""

    code, http_status, exit_code, retryable = "store_unreachable", 503, 27, True
    hint = "Check that the database runs and that HOLDFAST_STORE names it."


class UpstreamFailed(Fault):
    """A remote model or service did not give a usable answer."""

    code, http_status, exit_code, retryable = "upstream_failed", 502, 30, True
    hint = "Check the key, the URL and the network of the remote service."


class ServerUnreachable(Fault):
    """The Holdfast server at that address does not answer."""

    code, http_status, exit_code, retryable = "unreachable", 502, 31, True
    hint = "Start it with holdfast serve, or correct --url or AGENTMEMORY_URL."


class AnswerLate(Fault):
    """The server took the request and has not answered in time; it may still be carried out."""

    code, http_status, exit_code, retryable = "answer_late", 504, 39, False
    hint = "Ask what became of it before you ask for it again."


class EmbedderUnavailable(Fault):
    """The model that turns text into vectors cannot be used; search goes by words alone."""

    code, http_status, exit_code, retryable = "embedder_unavailable", 503, 32, True
    hint = "Run holdfast doctor; HOLDFAST_EMBEDDER=none keeps search to words for good."


class SnapshotDamaged(Fault):
    """A snapshot's bytes are not those that were sealed."""

    code, http_status, exit_code = "snapshot_damaged", 422, 40
    hint = "Use another one: holdfast snapshot list shows them, holdfast snapshot verify tells which are whole."


class SnapshotUntrusted(Fault):
    """A snapshot is signed by a key that is not trusted here, or not signed where a signature is required."""

    code, http_status, exit_code = "snapshot_untrusted", 403, 41
    hint = "If you know the signer, trust its key with holdfast key trust DID."


class SnapshotOlder(Fault):
    """A snapshot is older than one that is known to exist."""

    code, http_status, exit_code = "snapshot_older", 409, 42
    hint = "Somebody may be offering old memory as new. If you want this one, say so with --allow-older."


class SnapshotTooNew(Fault):
    """A newer Holdfast wrote the snapshot."""

    code, http_status, exit_code = "snapshot_too_new", 422, 43
    hint = "Upgrade Holdfast; this version would lose what it does not know."


class SnapshotForeign(Fault):
    """The snapshot is of another tenant or another agent."""

    code, http_status, exit_code = "snapshot_foreign", 409, 44
    hint = "Restore it where it belongs; another agent's memory is taken over with --as AGENT only."


class IdentityNeeded(Fault):
    """The snapshot is encrypted, and no identity was given that opens it."""

    code, http_status, exit_code = "identity_needed", 422, 45
    hint = "Give the file with the age identity: --identity FILE or HOLDFAST_SNAPSHOT_IDENTITY."


class SnapshotsBusy(Fault):
    """Another process is making, restoring or removing snapshots."""

    code, http_status, exit_code, retryable = "snapshots_busy", 409, 46, True
    hint = "Wait until it has finished, or raise HOLDFAST_SNAPSHOT_LOCK_SECONDS."


class Restoring(Fault):
    """The memory is being exchanged for a restored one; nothing of this request was stored."""

    code, http_status, exit_code, retryable = "restoring", 503, 47, True
    retry_after = 1
    hint = "Try again in a moment."


class ColonyMemoryError(Fault, RuntimeError):
    """The Colony vault could not do what was asked of it."""

    code, http_status, exit_code = "colony_failed", 502, 50
    hint = "See the message; nothing that was stored before is lost."


class SnapshotNotFound(ColonyMemoryError):
    """The vault has no such snapshot: it answered, and nothing of that name is there."""

    code, http_status, exit_code = "colony_not_found", 404, 51
    hint = "See list_snapshots() for what the vault has."


class QuotaExceeded(ColonyMemoryError):
    """The snapshot does not fit into the vault; nothing of it was stored."""

    code, http_status, exit_code = "colony_full", 507, 52
    hint = "Delete old snapshots with prune(), hand in prune_keep, or keep less."


class ColonyDamaged(ColonyMemoryError, ValueError):
    """What the vault has is not what was stored there."""

    code, http_status, exit_code = "colony_damaged", 422, 53
    hint = "Restore another snapshot by its id; see list_snapshots()."


class ColonyUntrusted(ColonyMemoryError, ValueError):
    """The snapshot is not signed by a key that is trusted here."""

    code, http_status, exit_code = "colony_untrusted", 403, 54
    hint = "If you know the signer, add its did:key to trusted."


class ColonyLocked(ColonyMemoryError):
    """The snapshot is encrypted, and no identity was given that opens it."""

    code, http_status, exit_code = "colony_locked", 422, 55
    hint = "Hand in the age identity it was encrypted for as one of identities."


class ColonyUnreachable(ColonyMemoryError):
    """The vault gave no usable answer."""

    code, http_status, exit_code, retryable = "colony_unreachable", 502, 56, True
    hint = "Try again later. This does not mean that nothing is stored: do not start with an empty memory."


class ColonyRefused(ColonyMemoryError):
    """The vault does not let this caller do that."""

    code, http_status, exit_code = "colony_refused", 403, 57
    hint = "Check the API key and the agent's karma."


class ColonyRateLimited(ColonyMemoryError):
    """The vault takes no more changes for now: 60 in an hour are the limit."""

    code, http_status, exit_code, retryable = "colony_rate_limited", 429, 58, True
    hint = "Wait as long as retry_after says and try again."


class ColonyConflict(ColonyMemoryError):
    """Another writer was at the same snapshots at the same time."""

    code, http_status, exit_code, retryable = "colony_conflict", 409, 59, True
    hint = "Try again; what the other writer stored is untouched."


class ColonyUnknown(ColonyMemoryError, ValueError):
    """The snapshot is of a format or codec that this version does not know."""

    code, http_status, exit_code = "colony_unknown", 422, 60
    hint = "Upgrade Holdfast; a newer version may know it."


class ColonyInvalid(ColonyMemoryError, ValueError):
    """A value handed to the Colony memory cannot be accepted as it is."""

    code, http_status, exit_code = "colony_invalid", 400, 2
    hint = "Correct the named value."


class VaultUnauthorized(UpstreamFailed):
    """The vault does not take the credential."""

    code, http_status, exit_code, retryable = "vault_unauthorized", 502, 33, False
    hint = "Check the vault's key or token; docs/vaults.md says where each is read from."


class VaultRefused(UpstreamFailed):
    """The vault knows the credential and does not allow this, or there is no such vault."""

    code, http_status, exit_code, retryable = "vault_refused", 502, 34, False
    hint = "Check the vault's name and what its credential may do."


class VaultBusy(UpstreamFailed):
    """The vault was asked too much in too short a time."""

    code, http_status, exit_code, retryable = "vault_busy", 503, 35, True
    hint = "Try again later; what was sent already is not sent again."


class VaultUnreachable(UpstreamFailed):
    """The vault gave no answer that can be used."""

    code, http_status, exit_code, retryable = "vault_unreachable", 502, 36, True
    hint = "Check the network and the vault's address, and try again; what was sent already is not sent again."


class VaultDamaged(UpstreamFailed):
    """What the vault gave contradicts what it says of it."""

    code, http_status, exit_code, retryable = "vault_damaged", 502, 37, False
    hint = "Run holdfast vault verify; restore from another vault or an older snapshot."


class VaultFull(StorageFull):
    """The vault takes no more; nothing of this was stored."""

    code, http_status, exit_code, retryable = "vault_full", 507, 38, False
    hint = "Remove old snapshots with holdfast vault prune, or raise the vault's quota."


def every_fault() -> list[type[Fault]]:
    """All faults by exit code, for the generated page of errors."""

    def below(cls: type[Fault]) -> list[type[Fault]]:
        return [cls, *(fault for child in cls.__subclasses__() for fault in below(child))]

    return sorted(below(Fault), key=lambda fault: (fault.exit_code, fault.code))
