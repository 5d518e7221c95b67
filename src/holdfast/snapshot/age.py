"""age around a bundle: for several recipients, streamed both ways. Knows nothing of what is inside.

pyrage hands errors of the reader and writer on as text, or swallows them (a failed last write gives no error at all).
So both remember what happened to them, and that is raised.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyrage

from holdfast.errors import Fault, IdentityNeeded, InvalidRequest, SnapshotDamaged
from holdfast.snapshot.frame import Source

_MOST_IDENTITIES = 64 * 1024
_PIECE = 256 * 1024  # pyrage writes 8 kB at a time; a pipe costs two system calls for each
_SSH_BEGIN, _SSH_END = "-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----"


def fingerprint(recipient: str) -> str:
    """How a manifest names who can open a bundle."""
    return hashlib.sha256(recipient.encode()).hexdigest()[:16]


def read_recipients(recipients: Sequence[str]) -> list[Any]:
    """The recipients as pyrage takes them.

    Raises:
        InvalidRequest: one is neither an age nor an SSH public key.
    """
    return [_recipient(one, number) for number, one in enumerate(recipients, 1)]


def _recipient(text: str, number: int) -> Any:
    kind = pyrage.ssh.Recipient if text.startswith("ssh-") else pyrage.x25519.Recipient
    try:
        return kind.from_str(text)
    except pyrage.RecipientError as error:
        message = f"snapshot: recipient {number} is neither an age key (age1…) nor an SSH public key"
        raise InvalidRequest(message) from error


def read_identities(path: Path) -> tuple[str, ...]:
    """The identities in a file as age-keygen writes it, or the SSH private key that it is.

    Raises:
        InvalidRequest: there is no such file, it holds something else, or a passphrase protects it.
    """
    text = _identity_text(path)
    if text.lstrip().startswith(_SSH_BEGIN):
        found: tuple[str, ...] = (text.strip() + "\n",)
    else:
        lines = (line.strip() for line in text.splitlines())
        found = tuple(line for line in lines if line and not line.startswith("#"))
    if not found:
        raise InvalidRequest(f"identity file {path.name}: no identity in it")
    _identities(found)
    return found


def recipients_of(identities: Sequence[str]) -> tuple[str, ...]:
    """The age recipients that these identities open; an SSH key does not tell its own."""
    found = (_identity(text, number) for number, text in enumerate(identities, 1))
    return tuple(str(one.to_public()) for one in found if isinstance(one, pyrage.x25519.Identity))


def recipient_beside(identity_file: Path, identities: Sequence[str]) -> tuple[str, ...]:
    """The SSH public key in <identity file>.pub, if one of the identities opens what is encrypted for it."""
    try:
        with open(f"{identity_file}.pub", "rb") as file:
            words = file.read(_MOST_IDENTITIES).decode("ascii").split()[:2]
        recipient = pyrage.ssh.Recipient.from_str(" ".join(words))
        pyrage.decrypt(pyrage.encrypt(b"", [recipient]), _identities(identities))
    except (OSError, ValueError, pyrage.RecipientError, pyrage.DecryptError, pyrage.EncryptError):
        return ()
    return (" ".join(words),)


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
            hint="Decrypt it first, for example with age -d, into a file only you can read.",
        )
    if not data.isascii():
        raise InvalidRequest(f"identity file {path.name}: not an age identity")
    return data.decode("ascii")


def _identities(texts: Sequence[str]) -> list[Any]:
    """The identities as pyrage takes them; no message ever has their text.

    Raises:
        InvalidRequest: one is not an identity, or an SSH key protected by a passphrase.
    """
    return [_identity(text, number) for number, text in enumerate(texts, 1)]


def _identity(text: str, number: int) -> Any:
    refused = InvalidRequest(f"identity {number} is neither an age identity nor an SSH key without a passphrase")
    try:
        if text.lstrip().startswith(_SSH_BEGIN):
            return pyrage.ssh.Identity.from_buffer(text.encode())
        return pyrage.x25519.Identity.from_str(text)
    except (pyrage.IdentityError, ValueError):
        pass
    raise refused  # out here: the library's error may quote the key, and would travel along as the cause


class Pulled:
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


class Kept:
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


def encrypt(pieces: Iterator[bytes], write: Callable[[bytes], object], recipients: Sequence[Any]) -> None:
    """Encrypt the pieces for all recipients as they come. Whatever making or writing them raises is raised."""
    reader, writer = Pulled(pieces), Kept(write)
    try:
        pyrage.encrypt_io(reader, writer, recipients)
    finally:
        if error := reader.error or writer.error:
            raise error


def sealing(recipients: Sequence[str]) -> Callable[[bytes], bytes]:
    """What encrypts a few bytes at a time for all recipients.

    Raises:
        InvalidRequest: one is no recipient.
    """
    keys = read_recipients(recipients)
    return lambda data: bytes(pyrage.encrypt(data, keys))


def opening(identities: Sequence[str]) -> Callable[[bytes], bytes]:
    """What decrypts a few bytes at a time; it raises IdentityNeeded and SnapshotDamaged as `Decrypting` does.

    Raises:
        IdentityNeeded: no identity was given.
        InvalidRequest: one is none.
    """
    if not identities:
        raise IdentityNeeded("snapshot: it is encrypted, and no identity was given")
    keys = _identities(identities)

    def open_bytes(data: bytes) -> bytes:
        try:
            return bytes(pyrage.decrypt(data, keys))
        except pyrage.DecryptError as error:
            raise _fault(error) from None

    return open_bytes


class Decrypting:
    """A source of the plain bytes of an encrypted one; a thread decrypts into a pipe as they are read."""

    def __init__(self, encrypted: Source, identities: Sequence[str]):
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

    def __enter__(self) -> Decrypting:
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

        reader, writer = Pulled(iter(lambda: self._encrypted.read(_PIECE), b"")), Kept(write)
        try:
            with contextlib.suppress(BrokenPipeError):
                pyrage.decrypt_io(reader, writer, self._keys)
                _write_all(self._in, waiting)
        except (pyrage.DecryptError, OSError, Fault) as error:
            self._error = reader.error or _fault(error)
        finally:
            os.close(self._in)


def _write_all(handle: int, data: bytearray) -> None:
    with memoryview(data) as rest:
        at = 0
        while at < len(rest):
            at += os.write(handle, rest[at:])


def _fault(error: Exception) -> Exception:
    # The library has one exception for all; this is the only one of its texts that is not about damage.
    if "No matching keys" in str(error):
        return IdentityNeeded("snapshot: no identity given opens it")
    return SnapshotDamaged("snapshot: the encrypted bytes are damaged")
