"""Keys of a data folder: its own, those that are trusted, and the newest sequence number seen of each signer.

<folder>/own.json        the private key, readable by its owner only
<folder>/trusted.json    trusted did:keys, with a note each
<folder>/chunks.json     a secret that names of encrypted chunks are made with, readable by its owner only
<folder>/marks.json      by signer and place, the highest sequence number seen
<folder>/lines.json      which key followed which, each signed by the one before
<folder>/kept.json       keys that were copied elsewhere, and age recipients whose identity was seen to open something
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hmac
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.core import didkey
from holdfast.core.disk import disk_fault, sync_folder, write_durably
from holdfast.core.errors import Conflict, DataDamaged, InvalidRequest, NotFound
from holdfast.core.ports import Entropy
from holdfast.core.session_keys import key_of
from holdfast.core.system import SystemEntropy
from holdfast.snapshot.bundle import canonical
from holdfast.snapshot.bundle.canonical import Fields, Malformed

_OWN, _TRUSTED, _MARKS, _CHUNKS = "own.json", "trusted.json", "marks.json", "chunks.json"
_LINES, _KEPT = "lines.json", "kept.json"
_VERSION = 1
_MOST_BYTES = 1024 * 1024
_MOST_NOTE = 200
_MOST_STATEMENT = 4_096
_SEED = re.compile(r"[A-Za-z0-9_-]{43}")
UNSIGNED = "unsigned"

_CHANCE = SystemEntropy()


@dataclass(frozen=True, slots=True)
class Succession:
    """The statement that one key follows another, signed by the one before."""

    old: str
    new: str
    at: str
    signature: str

    def shape(self) -> dict[str, str]:
        return {"at": self.at, "new": self.new, "old": self.old, "signature": self.signature}

    @property
    def text(self) -> str:
        """The statement as it is handed on."""
        return canonical.dumps(self.shape()).decode()


def succession_bytes(old: str, new: str, at: str) -> bytes:
    """What the key before signs."""
    return b"holdfast key succession 1\n" + canonical.dumps({"at": at, "new": new, "old": old})


def read_succession(text: str) -> Succession:
    """The statement in a text; `Keyring.follow` checks whether it is valid.

    Raises:
        InvalidRequest: it is none.
    """
    try:
        value = canonical.loads(text.strip().encode(), most_bytes=_MOST_STATEMENT)
        return _succession(Fields(value, "succession"))
    except (Malformed, didkey.InvalidDidKey, UnicodeEncodeError):
        raise InvalidRequest("key: not a valid succession statement") from None


def _succession(fields: Fields) -> Succession:
    made = Succession(*(fields.text(name) for name in ("old", "new", "at", "signature")))
    fields.end()
    for did in (made.old, made.new):
        didkey.public_key(did)
    return made


class Keyring:
    """The keys in one folder. Every call reads the files: another process may have changed them."""

    def __init__(self, folder: Path, entropy: Entropy = _CHANCE):
        self._folder = folder
        self._entropy = entropy

    # The own key

    def new(self, replace: bool = False) -> str:
        """Make the own key and return its did:key. A replaced one stays trusted: what it signed is still ours.

        Raises:
            Conflict: there is one, and it is not to be replaced.
        """
        return self.take(self._fresh(), replace=replace)

    def take(self, seed: bytes, replace: bool = False) -> str:
        """Make these 32 bytes the own key, as when it is recovered; its did:key.

        Raises:
            Conflict: there is another one, and it is not to be replaced.
        """
        did = didkey.did_of(didkey.public_of(seed))
        with self._locked():
            old = self.own()
            if old and old != did and not replace:
                raise Conflict("key: this memory already has a signing key", hint="To replace it, pass --replace.")
            self._put_own(seed, did, old)
        return did

    def rotate(self, at: str) -> Succession:
        """Make a new own key that the old one names as its successor; what the old one signed stays trusted.

        Raises:
            NotFound: there is no own key.
        """
        seed = self._fresh()
        new = didkey.did_of(didkey.public_of(seed))
        with self._locked():
            before = self.seed()
            old = didkey.did_of(didkey.public_of(before))
            made = Succession(old, new, at, didkey.sign(before, succession_bytes(old, new, at)))
            # The statement first: a key of unknown origin is worse than a statement unused.
            self._write(_LINES, {"lines": [one.shape() for one in (*self.successions(), made)]})
            self._put_own(seed, new, old)
        return made

    def _fresh(self) -> bytes:
        return bytes.fromhex(self._entropy.hex(32) + self._entropy.hex(32))

    def _put_own(self, seed: bytes, did: str, old: str | None) -> None:
        if old and old != did:
            self._write_keys({**self.trusted(), old: "own key before"})
        self._write(_OWN, {"did": did, "seed": _base64url(seed)})

    def successions(self) -> tuple[Succession, ...]:
        """Which key of this folder followed which, the first first."""
        fields = self._read(_LINES)
        if fields is None:
            return ()
        with _damage(_LINES):
            found = tuple(_succession(Fields(one, _LINES)) for one in fields.items("lines", most=10_000))
            fields.end()
        return found

    def follow(self, succession: Succession) -> None:
        """Trust the key that a trusted one names as its successor.

        Raises:
            InvalidRequest: the statement does not hold.
            Conflict: the key that made it is not trusted here.
        """
        said = succession_bytes(succession.old, succession.new, succession.at)
        if not didkey.verify_signature(succession.old, said, succession.signature):
            raise InvalidRequest("key: the statement is not signed by the previous key it names")
        if not self.accepts(succession.old):
            raise Conflict(
                "key: the previous key is not trusted", hint="Trust the new key by its did:key: holdfast key trust DID"
            )
        self.trust(succession.new, f"follows {succession.old}")

    # Copies

    def note_kept(self, *names: str) -> None:
        """Remember that a key lies elsewhere too, or that an identity was seen to open something."""
        with self._locked():
            known = self.kept()
            if not known.issuperset(names):
                self._write(_KEPT, {"names": sorted(known | set(names))})

    def kept(self) -> frozenset[str]:
        """did:keys that were copied, and fingerprints of recipients whose identity was tested."""
        fields = self._read(_KEPT)
        if fields is None:
            return frozenset()
        with _damage(_KEPT):
            names = frozenset(fields.texts("names", most=100_000))
            fields.end()
        return names

    def own(self) -> str | None:
        """The own key's did:key, if there is a key."""
        seed = self._seed()
        return None if seed is None else didkey.did_of(didkey.public_of(seed))

    def sign(self, data: bytes) -> str:
        """The own key's signature.

        Raises:
            NotFound: there is no own key.
        """
        return didkey.sign(self.seed(), data)

    def sign_raw(self, data: bytes) -> bytes:
        """The same as the 64 bytes that it is."""
        return base64.urlsafe_b64decode(self.sign(data) + "==")

    def seed(self) -> bytes:
        """The own key itself; a holder of it can sign in its name.

        Raises:
            NotFound: there is no own key.
        """
        seed = self._seed()
        if seed is None:
            raise NotFound("key: this memory has no signing key", hint="Create one: holdfast key new")
        return seed

    def chunk_key(self, *about: str) -> bytes:
        """The key that the ids of encrypted chunks are made with, another one for each purpose; made at first use."""
        with self._locked():
            secret = self._chunk_secret()
            if secret is None:
                secret = bytes.fromhex(self._entropy.hex(32) + self._entropy.hex(32))
                self._write(_CHUNKS, {"secret": _base64url(secret)})
        return hmac.digest(secret, key_of(*about).encode(), "sha256")

    def _chunk_secret(self) -> bytes | None:
        fields = self._read(_CHUNKS, private=True)
        if fields is None:
            return None
        with _damage(_CHUNKS):
            secret = _from_base64url(fields.text("secret", _SEED))
            fields.end()
        return secret

    # Trust

    def trusted(self) -> dict[str, str]:
        """The pinned did:keys and their notes, without the own key."""
        fields = self._read(_TRUSTED)
        if fields is None:
            return {}
        with _damage(_TRUSTED):
            pinned: dict[str, str] = dict(fields.pairs("keys", str, most=10_000))
            fields.end()
            for did in pinned:
                didkey.public_key(did)
        return pinned

    def trust(self, did: str, note: str = "") -> None:
        """Trust snapshots that this key signed.

        Raises:
            InvalidRequest: it is no did:key of an ed25519 key, or the note is too long.
        """
        try:
            didkey.public_key(did)
        except didkey.InvalidDidKey as error:
            raise InvalidRequest(f"key: {error}") from error
        if len(note) > _MOST_NOTE:
            raise InvalidRequest(f"key: a note has at most {_MOST_NOTE} characters")
        with self._locked():
            self._write_keys({**self.trusted(), did: note})

    def untrust(self, did: str) -> None:
        """Trust it no more.

        Raises:
            Conflict: it is the own key, which signs what this folder makes.
            NotFound: it was not trusted.
        """
        with self._locked():
            if did == self.own():
                hint = "Create a new key with holdfast key new --replace, then untrust the old one."
                raise Conflict("key: the signing key in use cannot be untrusted", hint=hint)
            pinned = self.trusted()
            if did not in pinned:
                raise NotFound("key: that key is not trusted")
            del pinned[did]
            self._write_keys(pinned)

    def accepts(self, did: str) -> bool:
        """Whether what this key signed is trusted."""
        return did == self.own() or did in self.trusted()

    def demands(self) -> bool:
        """Whether there is any key: then nothing unsigned is trusted."""
        return self.own() is not None or bool(self.trusted())

    # High-water marks

    def mark(self, signer: str | None, place: str) -> int:
        """The highest sequence number seen of the signer (None: unsigned) at that place; 0 if none was."""
        return self._marks().get(key_of(signer or UNSIGNED, place), 0)

    def raise_mark(self, signer: str | None, place: str, sequence: int) -> None:
        """Remember a sequence number if it is the highest so far."""
        with self._locked():
            if sequence > self.mark(signer, place):
                self._write_mark(signer, place, sequence)

    def _marks(self) -> dict[str, int]:
        fields = self._read(_MARKS)
        if fields is None:
            return {}
        with _damage(_MARKS):
            marks = dict(fields.counts("marks", most=10_000))
            fields.end()
        return marks

    def _write_mark(self, signer: str | None, place: str, sequence: int) -> None:
        self._write(_MARKS, {"marks": {**self._marks(), key_of(signer or UNSIGNED, place): sequence}})

    # Files

    def _seed(self) -> bytes | None:
        fields = self._read(_OWN, private=True)
        if fields is None:
            return None
        with _damage(_OWN):
            did, seed = fields.text("did"), _from_base64url(fields.text("seed", _SEED))
            fields.end()
            if didkey.did_of(didkey.public_of(seed)) != did:
                raise Malformed("its file name belongs to another key")
        return seed

    def _write_keys(self, pinned: dict[str, str]) -> None:
        self._write(_TRUSTED, {"keys": pinned})

    def _read(self, name: str, private: bool = False) -> Fields | None:
        """The fields of a file; None if there is no such file.

        Raises:
            DataDamaged: others can write it, or read it where it is private, or its contents are invalid.
        """
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            with open(os.open(self._folder / name, flags), "rb") as file:
                _check_mode(os.fstat(file.fileno()), name, private)
                data = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise disk_fault(error, f"read keys/{name}") from error
        with _damage(name):
            fields = Fields(canonical.loads(data, newline=True, most_bytes=_MOST_BYTES), name)
            fields.number("version", _VERSION, _VERSION)
        return fields

    def _write(self, name: str, shape: dict[str, Any]) -> None:
        try:
            data = canonical.dumps({"version": _VERSION, **shape}, newline=True)
        except Malformed as error:
            raise InvalidRequest(f"key: {error}") from error
        write_durably(self._folder / name, data)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """A process that changes a file reads it first; in between no other process may change it."""
        try:
            if not self._folder.exists():
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                sync_folder(self._folder.parent)
            handle = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise disk_fault(error, "open the keys") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _check_mode(about: os.stat_result, name: str, private: bool) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise DataDamaged(f"keys/{name} is not a regular file")
    forbidden = 0o077 if private else 0o022
    if about.st_mode & forbidden:
        others = "read" if private else "write"
        raise DataDamaged(
            f"keys/{name}: other users can {others} it, so it is not used",
            hint=f"If no other user has done so, run chmod 600 on {name}. Otherwise create a new key.",
        )


@contextlib.contextmanager
def _damage(name: str) -> Iterator[None]:
    """An invalid file is a fault, never an empty one, which would trust any signer.

    What went wrong in it is not chained to the fault: the text of a key might be in it.
    """
    reason = None
    try:
        yield
    except (Malformed, didkey.InvalidDidKey) as error:
        reason = str(error)
    if reason is not None:
        raise DataDamaged(f"keys/{name} is damaged: {reason}", hint="Restore the file from a backup, or remove it.")


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _from_base64url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=")
