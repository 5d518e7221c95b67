"""Vaults in object storage through obstore: S3, GCS, Azure and what is compatible with them.

Every write has a condition, which the server decides on. Small bytes are put in one request. Large ones of a known size
go to S3 in one request too, streamed over a signed address. Elsewhere they are sent in parts under a hidden name and
copied to their own by the server, which does so only if that name is free: uploads in parts have no condition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from hashlib import md5
from typing import TYPE_CHECKING, Any, BinaryIO

import obstore
from obstore import exceptions as gone_wrong
from obstore.store import AzureStore, GCSStore, S3Store

from holdfast.core.errors import (
    Conflict,
    Fault,
    LimitReached,
    NotFound,
    VaultBusy,
    VaultDamaged,
    VaultFull,
    VaultRefused,
    VaultUnauthorized,
    VaultUnreachable,
)
from holdfast.core.ports import Capabilities, Entropy, Keeper, Protection, Upload, VaultObject, VaultState
from holdfast.settings import Settings
from holdfast.vault.names import check_name, check_prefix, folder_of, is_name
from holdfast.vault.sequential_put import put_each
from holdfast.vault.signed_request import ConnectionBroken, HostUnreachable, PutResponse, head, put_new
from holdfast.vault.streams import counted_stream, pieces_of, read_whole, stream_of

if TYPE_CHECKING:
    from obstore import ObjectMeta

Store = S3Store | GCSStore | AzureStore

IN_ONE_REQUEST = 32 << 20
# From here on a signed address is quicker than handing all bytes over, and needs no memory for them.
_STREAMED = 8 << 20
# Eight parts of this size are in flight at most, so an upload takes some 80 MB of memory whatever its size.
_PART = 5 << 20
_AT_ONCE = 8
_MOST = 5 << 30  # what S3 takes, and copies, at once
_SIGNED_FOR = timedelta(minutes=15)  # looked at when a request begins
_PAGE = 1_000
_READ = 1 << 20
_HIDDEN = ".incoming/"  # no name of a vault begins with this
_ABANDONED = timedelta(days=2)  # no upload of at most 5 GB takes so long

_STATUS = re.compile(r"status code: (\d{3})")
_NO_BUCKET = re.compile(r"NoSuchBucket|ContainerNotFound|bucket does not exist", re.IGNORECASE)
_BAD_KEY = re.compile(
    r"InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|AuthenticationFailed|TokenRefreshRequired"
)
_DENIED = re.compile(r"AccessDenied|Access Denied")
# A bucket that keeps what is put for some time takes nothing without a checksum. Others may know no checksums.
_WANTS_CHECKSUM = re.compile(r"Content-MD5 OR x-amz-checksum|Content-MD5 HTTP header is required", re.IGNORECASE)
_FULL = re.compile(r"QuotaExceeded|InsufficientCapacity|StorageFull")


def object_vault(kind: str, bucket: str, prefix: str, settings: Settings, entropy: Entropy) -> ObjectVault:
    """The vault in a bucket, with the keys of the settings; without any, those that the machine itself has."""
    store = _STORES[kind](bucket, prefix, settings)
    place = "/".join(part for part in (f"{kind}://{bucket}", prefix) if part)
    if settings.vault_endpoint:
        place = f"{place} at {settings.vault_endpoint}"
    return ObjectVault(store, place, entropy)


def _s3(bucket: str, prefix: str, settings: Settings) -> Store:
    return S3Store(
        bucket,
        prefix=prefix or None,
        **_given(
            endpoint=settings.vault_endpoint,
            region=settings.vault_region or "us-east-1",
            access_key_id=settings.vault_key_id,
            secret_access_key=settings.vault_key,
            session_token=settings.vault_session_token,
        ),
        copy_if_not_exists="multipart",
        **_common(settings),
    )


def _gcs(bucket: str, prefix: str, settings: Settings) -> Store:
    given = _given(application_credentials=settings.google_account, base_url=settings.vault_endpoint)
    return GCSStore(bucket, prefix=prefix or None, **given, **_common(settings))


def _azure(bucket: str, prefix: str, settings: Settings) -> Store:
    given = _given(
        account_name=settings.azure_account,
        account_key=settings.azure_key,
        sas_key=settings.azure_sas_token,
        endpoint=settings.vault_endpoint,
    )
    return AzureStore(bucket, prefix=prefix or None, **given, **_common(settings))


_STORES = {"s3": _s3, "gs": _gcs, "az": _azure}


def _given(**values: str | None) -> Any:
    return {name: value for name, value in values.items() if value}


def _common(settings: Settings) -> Any:
    """A part of a large upload that fails is sent again here, since the stream it came from cannot be brought back;
    whole calls are tried again by the wrapper."""
    return {
        "client_options": {"allow_http": settings.vault_endpoint.startswith("http://"), "timeout": "120s"},
        "retry_config": {"max_retries": 2, "retry_timeout": timedelta(seconds=60)},
    }


class ObjectVault:
    """Named bytes in a bucket, or below a prefix of it."""

    def __init__(self, store: Store, place: str, entropy: Entropy):
        self._store, self._place, self._entropy = store, place, entropy
        self._checksums = False  # whether the store wants them

    @property
    def place(self) -> str:
        return self._place

    @property
    def can(self) -> Capabilities:
        return Capabilities(most_bytes=_MOST, increments=True)

    def put(self, name: str, data: BinaryIO) -> None:
        check_name(name)
        start = read_whole(data, IN_ONE_REQUEST + 1)
        with _faults(f"put {name}"):
            if len(start) <= IN_ONE_REQUEST:
                self._put_at_once(name, start)
                return
            self._refuse_existing(name)
            with self._uploaded(name, start, data) as hidden:
                obstore.copy(self._store, hidden, name, overwrite=False)

    def _put_at_once(self, name: str, data: bytes) -> None:
        try:
            obstore.put(self._store, name, data, mode="create", use_multipart=False)
        except gone_wrong.BaseError as error:
            if not self._begin_checksums(str(error)):
                raise
            obstore.put(self._store, name, data, mode="create", use_multipart=False)

    def _begin_checksums(self, refusal: str) -> bool:
        """Whether a refused put is to be tried again, with a checksum from now on."""
        if self._checksums or not isinstance(self._store, S3Store) or not _WANTS_CHECKSUM.search(refusal):
            return False
        self._checksums = True
        old = self._store
        config: Any = {**old.config, "checksum_algorithm": "sha256"}
        self._store = S3Store(
            prefix=old.prefix, config=config, client_options=old.client_options, retry_config=old.retry_config
        )
        return True

    def put_all(self, parcels: Sequence[Upload]) -> None:
        for parcel in parcels:
            if not self._put_streamed(parcel):
                put_each(self, [parcel])

    def _put_streamed(self, parcel: Upload) -> bool:
        """Whether the parcel was stored in one request; False if it has to go another way, and nothing was sent."""
        if not isinstance(self._store, S3Store) or not _STREAMED <= parcel.size <= _MOST:
            return False
        check_name(parcel.name)
        with _faults(f"put {parcel.name}"):
            self._refuse_existing(parcel.name)
            url = obstore.sign(self._store, "PUT", parcel.name, _SIGNED_FOR)
        answer = self._streamed(url, parcel)
        if answer is not None and answer.status == 400 and self._begin_checksums(answer.text):
            answer = self._streamed(url, parcel)
        if answer is not None and (fault := _refusal(answer, f"vault: put {parcel.name}")):
            raise fault
        return answer is not None

    def _streamed(self, url: str, parcel: Upload) -> PutResponse | None:
        """The store's answer; None if its host cannot be reached this way."""
        digest = md5(usedforsecurity=False)
        if self._checksums:
            with closing(parcel.open()) as data:
                for piece in _exactly(parcel, data):
                    digest.update(piece)
        with closing(parcel.open()) as data:
            try:
                return put_new(url, parcel.size, _exactly(parcel, data), digest.digest() if self._checksums else b"")
            except HostUnreachable:
                return None
            except ConnectionBroken:
                raise VaultUnreachable(f"vault: put {parcel.name}: the connection was lost") from None

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        check_name(name)
        new = read_whole(data, IN_ONE_REQUEST + 1)
        if len(new) > IN_ONE_REQUEST:
            raise LimitReached(f"vault: {name}: only up to {IN_ONE_REQUEST} bytes can be replaced")
        etag, _, version = tag.partition("\n")
        wanted: Any = {"e_tag": etag, "version": version} if version else {"e_tag": etag}
        with _faults(f"replace {name}"):
            try:
                obstore.put(self._store, name, new, mode=wanted, use_multipart=False)
            except FileNotFoundError as error:
                if _NO_BUCKET.search(str(error)):
                    raise
                raise Conflict(f"vault: {name} is missing") from None

    def open(self, name: str) -> BinaryIO:
        check_name(name)
        with _faults(f"open {name}"):
            found = obstore.get(self._store, name)
            size = found.meta["size"]
            return stream_of(_checked_pieces(found.stream(min_chunk_size=_READ), name, size))

    def stat(self, name: str) -> VaultObject:
        check_name(name)
        with _faults(f"look at {name}"):
            try:
                return _named(obstore.head(self._store, name))
            except FileNotFoundError:
                self.state()  # the answer to a HEAD has no body that would name what is missing
                raise

    def list(self, prefix: str = "", after: str = "") -> Iterator[VaultObject]:
        check_prefix(prefix)
        with _faults("list"):
            found = [_named(one) for one in self._below(folder_of(prefix)) if is_name(one["path"])]
        # Not all stores list in the order of names: some list folder by folder.
        yield from sorted(
            (one for one in found if one.name.startswith(prefix) and one.name > after), key=lambda one: one.name
        )

    def _below(self, folder: str) -> Iterator[ObjectMeta]:
        for page in obstore.list(self._store, folder or None, chunk_size=_PAGE):
            yield from page

    def delete(self, name: str) -> None:
        check_name(name)
        with _faults(f"delete {name}"), suppress(NotFound):
            try:
                obstore.delete(self._store, name)
            except FileNotFoundError as error:
                if _NO_BUCKET.search(str(error)):
                    raise

    def state(self) -> VaultState:
        with _faults("state"):
            next(iter(obstore.list(self._store, chunk_size=1)), None)
        return VaultState()

    def protection(self, name: str) -> Protection:
        check_name(name)
        doing = f"look at {name}"
        try:
            with _faults(doing):
                url = obstore.sign(self._store, "HEAD", name, _SIGNED_FOR)
            status, headers = head(url)
        except (VaultRefused, VaultUnauthorized, HostUnreachable):  # this credential cannot sign, or a proxy is used
            return Protection("unknown")
        except ConnectionBroken:
            raise VaultUnreachable(f"vault: {doing}: the connection was lost") from None
        if status == 404:
            raise NotFound(f"vault: {doing}: not found")
        if status != 200:
            raise _by_status(f"status code: {status}", f"vault: {doing}")
        return _kept(headers, unseen="nothing" if isinstance(self._store, S3Store) else "unknown")

    def _refuse_existing(self, name: str) -> None:
        """Called before much is sent for nothing."""
        try:
            obstore.head(self._store, name)
        except FileNotFoundError:
            return
        raise Conflict(f"vault: {name} already exists")

    @contextmanager
    def _uploaded(self, name: str, start: bytes, rest: BinaryIO) -> Iterator[str]:
        """The bytes under a hidden name that is gone after the block."""
        hidden = f"{_HIDDEN}{self._entropy.hex(32)}"
        try:
            # The writer is handed pieces from outside: a stream that obstore reads by itself could not come from
            # another of its stores.
            writer = obstore.open_writer(self._store, hidden, buffer_size=_PART, max_concurrency=_AT_ONCE)
            try:
                for piece in _bounded(name, start, rest):
                    writer.write(piece)
            finally:
                writer.close()
            self._sweep(hidden)
            yield hidden
        finally:
            with suppress(gone_wrong.BaseError, OSError):  # a later upload sweeps it
                obstore.delete(self._store, hidden)

    def _sweep(self, own: str) -> None:
        """Remove what killed uploads left. The store's clock decides what is old, and by it our own is new."""
        now = obstore.head(self._store, own)["last_modified"]
        with suppress(gone_wrong.BaseError):  # a credential that may not delete leaves them
            for one in self._below(_HIDDEN):
                if one["last_modified"] < now - _ABANDONED:
                    obstore.delete(self._store, one["path"])


def _bounded(name: str, begin: bytes, rest: BinaryIO) -> Iterator[bytes]:
    left = _MOST - len(begin)

    def passed(count: int) -> None:
        nonlocal left
        left -= count
        if left < 0:
            raise LimitReached(f"vault: {name} has more than {_MOST} bytes, more than the object store accepts")

    for start in range(0, len(begin), _PART):
        yield begin[start : start + _PART]
    yield from pieces_of(counted_stream(rest, passed), _PART)


def _exactly(parcel: Upload, data: BinaryIO) -> Iterator[bytes]:
    """The parcel's bytes; more or fewer than were announced must not become an object."""
    left = parcel.size
    for piece in pieces_of(data, _READ):
        left -= len(piece)
        if left < 0:
            break
        yield piece
    if left:
        raise VaultDamaged(f"vault: {parcel.name}: size differs from the announced {parcel.size} bytes")


def _refusal(answer: PutResponse, doing: str) -> Fault | None:
    """Why the store did not take a put; None if it did."""
    if 200 <= answer.status < 300:
        return None
    if answer.status == 412:
        return Conflict(f"{doing}: it already exists")
    if answer.status == 409:
        return VaultBusy(f"{doing}: another writer is uploading it")
    if _NO_BUCKET.search(answer.text):
        return VaultRefused(f"{doing}: the bucket does not exist")
    if _BAD_KEY.search(answer.text):
        return VaultUnauthorized(f"{doing}: the object store rejected the key")
    return _by_status(f"status code: {answer.status} {answer.text}", doing)


def _checked_pieces(pieces: Iterator[Any], name: str, size: int) -> Iterator[memoryview]:
    seen = 0
    with _faults(f"read {name}"):
        for piece in pieces:
            view = memoryview(piece)
            seen += len(view)
            yield view
    if seen != size:
        raise VaultDamaged(f"vault: {name} has {seen} bytes instead of {size}")


# By provider: what names the kind of lock, when it ends, and a hold without an end.
_LOCKS = (
    ("x-amz-object-lock-mode", "x-amz-object-lock-retain-until-date", "x-amz-object-lock-legal-hold"),
    ("x-goog-object-lock-mode", "x-goog-object-lock-retain-until-date", "x-goog-temporary-hold"),
    ("x-ms-immutability-policy-mode", "x-ms-immutability-policy-until-date", "x-ms-legal-hold"),
)
_FIRM = ("compliance", "locked")


def _kept(headers: Mapping[str, str], unseen: Keeper) -> Protection:
    """What the headers of an object tell of its lock; a policy of a whole bucket shows on S3 only."""
    for mode, until, hold in _LOCKS:
        if headers.get(hold, "").lower() in ("on", "true"):
            return Protection("hold")
        if (ends := _moment(headers.get(until, ""))) is not None:
            return Protection("lock" if headers.get(mode, "").lower() in _FIRM else "governed", ends)
    return Protection(unseen)


def _moment(text: str) -> int | None:
    """A time of HTTP or of ISO 8601 in milliseconds."""
    try:
        found = parsedate_to_datetime(text) if "," in text else datetime.fromisoformat(text)
    except ValueError:
        return None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def _named(meta: ObjectMeta) -> VaultObject:
    version = meta.get("version")
    tag = f"{meta['e_tag']}\n{version}" if version else meta["e_tag"] or ""
    return VaultObject(meta["path"], meta["size"], tag)


@contextmanager
def _faults(doing: str) -> Iterator[None]:
    """What obstore raises as faults. Its texts hold addresses, which may hold a signature: none is passed on."""
    try:
        yield
    except (gone_wrong.BaseError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of a file that was being read, not of the store
        raise _fault(error, f"vault: {doing}") from None


def _fault(error: BaseException, doing: str) -> Fault:
    text = str(error)
    if isinstance(error, FileNotFoundError):
        if _NO_BUCKET.search(text):
            return VaultRefused(f"{doing}: the bucket does not exist")
        return NotFound(f"{doing}: not found")
    if isinstance(error, gone_wrong.AlreadyExistsError):
        return Conflict(f"{doing}: it already exists")
    if isinstance(error, gone_wrong.PreconditionError):
        return Conflict(f"{doing}: it was changed by another writer")
    if isinstance(error, gone_wrong.UnauthenticatedError) or _BAD_KEY.search(text):
        return VaultUnauthorized(f"{doing}: the object store rejected the key")
    if isinstance(error, gone_wrong.PermissionDeniedError) or _DENIED.search(text):
        return VaultRefused(f"{doing}: the key has no permission for this")
    return _by_status(text, doing)


def _by_status(text: str, doing: str) -> Fault:
    found = _STATUS.search(text)
    status = int(found[1]) if found else 0
    if status == 507 or _FULL.search(text):
        return VaultFull(f"{doing}: the object store is full")
    if status in (429, 503):
        return VaultBusy(f"{doing}: rate limit of the object store reached")
    if status == 401:
        return VaultUnauthorized(f"{doing}: the object store rejected the key")
    if status == 404:  # of a name it is NotFound, so this is about the bucket
        return VaultRefused(f"{doing}: the bucket does not exist")
    if 400 <= status < 500 or status == 501:
        return VaultRefused(f"{doing}: the object store returned status {status}")
    return VaultUnreachable(
        f"{doing}: the object store returned status {status}" if status else f"{doing}: no response"
    )
