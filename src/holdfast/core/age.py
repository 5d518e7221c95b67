"""age encryption of bytes and streams, and its keys from their texts. The only module that knows pyrage; no files here.

pyrage hands errors of the reader and writer on as text, or swallows them (a failed last write gives no error at all).
So both remember what happened to them, and that is raised. It has one exception for all that may be wrong; here a key
that does not fit and damaged bytes are two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyrage

SSH_BEGIN = "-----BEGIN OPENSSH PRIVATE KEY-----"


class WrongIdentity(Exception):
    """No identity given opens it."""


class NotIntact(Exception):
    """The encrypted bytes are not those that were written."""


def recipient_of(text: object) -> Any | None:
    """The public key as the library takes it; None if it is neither an age nor an SSH public key."""
    if not isinstance(text, str):
        return None
    kind = pyrage.ssh.Recipient if text.startswith("ssh-") else pyrage.x25519.Recipient
    try:
        return kind.from_str(text)
    except pyrage.RecipientError:
        return None


def identity_of(text: object) -> Any | None:
    """The private key as the library takes it; None if it is neither an age identity nor an SSH key without passphrase.

    No exception leaves here: the library's own may quote the key.
    """
    if not isinstance(text, str):
        return None
    try:
        if text.lstrip().startswith(SSH_BEGIN):
            return pyrage.ssh.Identity.from_buffer(text.encode())
        return pyrage.x25519.Identity.from_str(text.strip())
    except (pyrage.IdentityError, ValueError):
        return None


def public_of(identity: Any) -> str | None:
    """The recipient of an age identity; an SSH key does not contain its own."""
    return str(identity.to_public()) if isinstance(identity, pyrage.x25519.Identity) else None


def is_pair(recipient: Any, identities: Sequence[Any]) -> bool:
    """Whether one of the identities opens what is encrypted for the recipient."""
    try:
        decrypt(encrypt(b"", [recipient]), identities)
    except (WrongIdentity, NotIntact, pyrage.EncryptError):
        return False
    return True


def encrypt(data: bytes, recipients: Sequence[Any]) -> bytes:
    """The bytes, encrypted for all recipients."""
    return bytes(pyrage.encrypt(data, recipients))


def decrypt(data: bytes, identities: Sequence[Any]) -> bytes:
    """The bytes that were encrypted.

    Raises:
        WrongIdentity, NotIntact
    """
    try:
        return bytes(pyrage.decrypt(data, identities))
    except pyrage.DecryptError as error:
        raise _reason(error) from None


def encrypt_stream(pieces: Iterator[bytes], write: Callable[[bytes], object], recipients: Sequence[Any]) -> None:
    """Encrypt the pieces for all recipients as they come. Whatever making or writing them raises is raised."""
    reader, writer = PullReader(pieces), _PushWriter(write)
    try:
        pyrage.encrypt_io(reader, writer, recipients)
    finally:
        if error := reader.error or writer.error:
            raise error


def decrypt_stream(pieces: Iterator[bytes], write: Callable[[bytes], object], identities: Sequence[Any]) -> None:
    """Decrypt the pieces as they come. Whatever making or writing them raises is raised.

    Raises:
        WrongIdentity, NotIntact
    """
    reader, writer = PullReader(pieces), _PushWriter(write)
    try:
        pyrage.decrypt_io(reader, writer, identities)
    except (pyrage.DecryptError, OSError) as error:
        raise reader.error or writer.error or _reason(error) from None
    if failed := reader.error or writer.error:
        raise failed


def _reason(error: Exception) -> Exception:
    # This is the only one of the library's texts that is not about damage.
    return WrongIdentity() if "No matching keys" in str(error) else NotIntact()


class PullReader:
    """A reader over pieces as they are made. What making them raises is kept in `error`."""

    def __init__(self, pieces: Iterator[bytes | memoryview]):
        self._pieces = pieces
        self._piece = memoryview(b"")
        self.error: BaseException | None = None

    def read(self, size: int = -1) -> bytes:
        try:
            while not self._piece:
                self._piece = memoryview(next(self._pieces))
        except StopIteration:
            return b""
        except BaseException as error:
            self.error = error
            raise
        taken, self._piece = self._piece[:size], self._piece[size:]
        return bytes(taken)


class _PushWriter:
    """A writer around a function. What that raises is kept in `error`."""

    def __init__(self, write: Callable[[bytes], object]):
        self._write = write
        self.error: BaseException | None = None

    def write(self, data: bytes) -> int:
        try:
            self._write(data)
        except BaseException as error:
            self.error = error
            raise
        return len(data)

    def flush(self) -> None:
        """Nothing waits here."""
