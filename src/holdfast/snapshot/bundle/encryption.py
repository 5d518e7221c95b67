"""age encryption of a bundle: for several recipients, streamed both ways, with keys from files."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from holdfast.core.age import (
    SSH_BEGIN,
    NotIntact,
    WrongIdentity,
    decrypt,
    decrypt_stream,
    encrypt,
    identity_of,
    is_pair,
    public_of,
    recipient_of,
)
from holdfast.core.disk import user_path
from holdfast.core.errors import Fault, IdentityNeeded, InvalidRequest, InvalidSettings, SnapshotDamaged
from holdfast.snapshot.bundle.zstd_frame import ByteSource

_MOST_IDENTITIES = 64 * 1024
_PIECE = 256 * 1024  # the library writes 8 kB at a time; a pipe costs two system calls for each


def fingerprint(recipient: str) -> str:
    """How a manifest names a recipient."""
    return hashlib.sha256(recipient.encode()).hexdigest()[:16]


def read_recipients(recipients: Sequence[str]) -> list[Any]:
    """The recipients as the library takes them.

    Raises:
        InvalidRequest: one is neither an age nor an SSH public key.
    """
    return [_recipient(one, number) for number, one in enumerate(recipients, 1)]


def check_recipients(recipients: Sequence[str]) -> None:
    """Refuse a setting with which no snapshot could be made.

    Raises:
        InvalidSettings: one is no public key.
    """
    try:
        read_recipients(recipients)
    except InvalidRequest as fault:
        raise InvalidSettings(f"HOLDFAST_SNAPSHOT_RECIPIENTS: {fault.message.removeprefix('snapshot: ')}") from None


def _recipient(text: str, number: int) -> Any:
    found = recipient_of(text)
    if found is None:
        raise InvalidRequest(f"snapshot: recipient {number} is neither an age key (age1…) nor an SSH public key")
    return found


def read_identities(file: str | Path) -> tuple[str, ...]:
    """The identities in a file as age-keygen writes it, or the SSH private key in it.

    Raises:
        InvalidRequest: there is no such file, it holds something else, or a passphrase protects it.
    """
    path = user_path(file, "identity")
    text = _identity_text(path)
    if text.lstrip().startswith(SSH_BEGIN):
        found: tuple[str, ...] = (text.strip() + "\n",)
    else:
        lines = (line.strip() for line in text.splitlines())
        found = tuple(line for line in lines if line and not line.startswith("#"))
    if not found:
        raise InvalidRequest(f"identity file {path.name}: contains no identity")
    _identities(found)
    return found


def recipients_of(identities: Sequence[str]) -> tuple[str, ...]:
    """The age recipients that these identities open; an SSH key does not contain its own."""
    return tuple(public for one in _identities(identities) if (public := public_of(one)) is not None)


def recipient_beside(identity_file: str, identities: Sequence[str]) -> tuple[str, ...]:
    """The SSH public key in <identity file>.pub, if one of the identities opens what is encrypted for it."""
    try:
        with open(f"{user_path(identity_file, 'identity')}.pub", "rb") as file:
            public = " ".join(file.read(_MOST_IDENTITIES).decode("ascii").split()[:2])
    except (OSError, ValueError):
        return ()
    recipient = recipient_of(public) if public.startswith("ssh-") else None
    return (public,) if recipient is not None and is_pair(recipient, _identities(identities)) else ()


def _identity_text(path: Path) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise InvalidRequest(f"identity file {path.name}: not a regular file")
            data = file.read(_MOST_IDENTITIES + 1)
    except OSError as error:
        raise InvalidRequest(f"identity file {path.name}: {error.strerror}") from error
    if len(data) > _MOST_IDENTITIES:
        raise InvalidRequest(f"identity file {path.name}: more than {_MOST_IDENTITIES} bytes")
    if data.startswith((b"age-encryption.org/", b"-----BEGIN AGE ENCRYPTED FILE-----")):
        raise InvalidRequest(
            f"identity file {path.name}: protected by a passphrase",
            hint="Decrypt it first, for example with age -d, into a file that only you can read.",
        )
    if not data.isascii():
        raise InvalidRequest(f"identity file {path.name}: not an age identity")
    return data.decode("ascii")


def _identities(texts: Sequence[str]) -> list[Any]:
    """The identities as the library takes them; no message ever has their text.

    Raises:
        InvalidRequest: one is not an identity, or an SSH key protected by a passphrase.
    """
    return [_identity(text, number) for number, text in enumerate(texts, 1)]


def _identity(text: str, number: int) -> Any:
    found = identity_of(text)
    if found is None:
        raise InvalidRequest(f"identity {number} is neither an age identity nor an SSH key without a passphrase")
    return found


def sealing(recipients: Sequence[str]) -> Callable[[bytes], bytes]:
    """What encrypts a few bytes at a time for all recipients.

    Raises:
        InvalidRequest: one is no recipient.
    """
    keys = read_recipients(recipients)
    return lambda data: encrypt(data, keys)


def opening(identities: Sequence[str]) -> Callable[[bytes], bytes]:
    """A decryptor of a few bytes at a time; it raises IdentityNeeded and SnapshotDamaged as `DecryptingReader` does.

    Raises:
        IdentityNeeded: no identity was given.
        InvalidRequest: one is no identity.
    """
    if not identities:
        raise IdentityNeeded("snapshot: it is encrypted, and no identity was given")
    keys = _identities(identities)

    def open_bytes(data: bytes) -> bytes:
        try:
            return decrypt(data, keys)
        except (WrongIdentity, NotIntact) as error:
            raise _fault(error) from None

    return open_bytes


class DecryptingReader:
    """A source of the plain bytes of an encrypted one; a thread decrypts into a pipe as they are read."""

    def __init__(self, encrypted: ByteSource, identities: Sequence[str]):
        """Take the identities.

        Raises:
            IdentityNeeded: none was given.
            InvalidRequest: one is no identity.
        """
        if not identities:
            raise IdentityNeeded("snapshot: it is encrypted, and no identity was given")
        self._keys = _identities(identities)
        self._encrypted = encrypted
        self._out, self._in = os.pipe()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._decrypt, name="holdfast-decrypt", daemon=True)

    def __enter__(self) -> DecryptingReader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._out)  # the thread's next write fails, should it still be at work
        self._thread.join()

    def read(self, size: int = -1) -> bytes:
        """The next plain bytes.

        Raises:
            IdentityNeeded: no identity given opens it.
            SnapshotDamaged: the encrypted bytes are not those that were written.
        """
        data = os.read(self._out, _PIECE if size < 0 else size)
        if not data:
            self._thread.join()
            if self._error:
                raise self._error
        return data

    def _decrypt(self) -> None:
        waiting = bytearray()

        def write(data: bytes) -> None:
            waiting.extend(data)
            if len(waiting) >= _PIECE:
                _write_all(self._in, waiting)
                waiting.clear()

        pieces = iter(lambda: self._encrypted.read(_PIECE), b"")
        try:
            with contextlib.suppress(BrokenPipeError):
                decrypt_stream(pieces, write, self._keys)
                _write_all(self._in, waiting)
        except (WrongIdentity, NotIntact) as error:
            self._error = _fault(error)
        except (OSError, Fault) as error:  # of the source
            self._error = error
        finally:
            os.close(self._in)


def _write_all(handle: int, data: bytearray) -> None:
    with memoryview(data) as rest:
        at = 0
        while at < len(rest):
            at += os.write(handle, rest[at:])


def _fault(error: Exception) -> Exception:
    if isinstance(error, WrongIdentity):
        return IdentityNeeded("snapshot: none of the given identities can decrypt it")
    return SnapshotDamaged("snapshot: the encrypted data is damaged")
