"""Documents as one block of text, and back: canonical JSON, gzip, age on request, base64.

Everything read is untrusted until its sizes and its SHA-256 are those of the manifest.
"""

from __future__ import annotations

import binascii
import gzip
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from zlib_ng import zlib_ng as zlib

from holdfast.colony.encryption import seal, unseal
from holdfast.core.errors import ColonyDamaged, ColonyInvalid

MOST_BYTES = 256 * 1024 * 1024
MOST_DOCUMENTS = 1_000_000

# For encrypted snapshots, which colony-memory does not read: half the time of gzip's level 9 at no more than 1.007 of
# its bytes on five kinds of text. Level 6 takes a third, but 1.02 of the bytes of logs and chats.
LEVEL = 7
_GZIP = 31  # zlib's number for a window of 32 kB with gzip's frame around it

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class PackedDocuments:
    """Documents on their way out."""

    blob: str
    names: list[str]
    byte_size: int
    plaintext_sha256: str
    sealed_sha256: str | None  # of the encrypted bytes, if they are


@dataclass(frozen=True, slots=True)
class ExpectedBlock:
    """What a manifest records about the block."""

    blob_chars: int
    byte_size: int
    plaintext_sha256: str
    sealed_sha256: str | None


def pack(documents: Mapping[str, str], recipients: Sequence[Any]) -> PackedDocuments:
    """The documents as text, encrypted for the recipients if there are any.

    Raises:
        ColonyInvalid: they are not texts by name.
        UnicodeEncodeError: a text holds half a surrogate pair.
    """
    plain = canonical(_checked(documents))
    sealed = None
    if recipients:
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, _GZIP)
        data = seal(packer.compress(plain) + packer.flush(), recipients)
        sealed = sha256(data)
    else:
        # The call that colony-memory makes: the same documents become the same bytes, whichever of the two writes.
        data = gzip.compress(plain, mtime=0)
    blob = binascii.b2a_base64(data, newline=False).decode("ascii")
    return PackedDocuments(blob, sorted(documents), len(plain), sha256(plain), sealed)


def unpack(blob: str, expected: ExpectedBlock, identities: Sequence[Any], most_bytes: int) -> dict[str, str]:
    """The documents in the block, if it is the one that was expected.

    Raises:
        ColonyDamaged: it is not.
        ColonyLocked: it is encrypted, and no identity opens it.
    """
    if expected.byte_size > most_bytes:
        raise ColonyDamaged(
            f"restore: the snapshot has {expected.byte_size} bytes; the limit is {most_bytes}",
            hint="If you trust it, raise most_bytes.",
        )
    data = _decoded(blob, expected.blob_chars)
    if expected.sealed_sha256 is not None:
        data = _opened(data, expected.sealed_sha256, identities)
    plain = _gunzipped(data, expected.byte_size)
    if expected.sealed_sha256 is None and sha256(plain) != expected.plaintext_sha256:
        raise ColonyDamaged("restore: the SHA-256 of the documents differs from the manifest")
    return _documents(plain)


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def canonical(value: object) -> bytes:
    """The canonical JSON that hashes and signatures cover: keys by code point, no spaces, UTF-8 without escapes.

    Raises:
        UnicodeEncodeError: a text holds half a surrogate pair.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        pass
    # A new error: the library's own may hold the text.
    raise UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed")


def _checked(documents: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(documents, dict) or not documents:
        raise ColonyInvalid("documents: must be a dict of texts by name, and not empty")
    if len(documents) > MOST_DOCUMENTS:
        raise ColonyInvalid(f"documents: more than {MOST_DOCUMENTS}")
    if not all(isinstance(name, str) and isinstance(text, str) for name, text in documents.items()):
        raise ColonyInvalid("documents: names and texts must be str")
    # Subclasses of str become str: the JSON writer takes them for values, not for names.
    return {str.__str__(name): str.__str__(text) for name, text in documents.items()}


def _decoded(blob: str, chars: int) -> bytes:
    if len(blob) != chars:
        raise ColonyDamaged("restore: the size of the parts differs from the manifest")
    try:
        return binascii.a2b_base64(blob, strict_mode=True)
    except ValueError:  # binascii.Error, or a character that is not ASCII
        raise ColonyDamaged("restore: the parts are not base64") from None


def _opened(data: bytes, sealed_sha256: str, identities: Sequence[Any]) -> bytes:
    if sha256(data) != sealed_sha256:
        raise ColonyDamaged("restore: the SHA-256 of the encrypted data differs from the manifest")
    return unseal(data, identities)


def _gunzipped(data: bytes, size: int) -> bytes:
    """What the gzip members hold, never unpacking more than one byte beyond the size."""
    pieces: list[bytes] = []
    left = size + 1
    while data:
        unpacker = zlib.decompressobj(_GZIP)
        try:
            pieces.append(unpacker.decompress(data, max(left, 1)))
        except zlib.error:  # type: ignore[misc]  # its stub calls the class an instance
            raise ColonyDamaged("restore: the parts are not gzip") from None
        left -= len(pieces[-1])
        if left <= 0:
            raise ColonyDamaged("restore: the documents are larger than the manifest states")
        if not unpacker.eof:
            raise ColonyDamaged("restore: the data is truncated")
        data = unpacker.unused_data
    if left != 1:
        raise ColonyDamaged("restore: the documents are smaller than the manifest states")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _documents(plain: bytes) -> dict[str, str]:
    if _openings(plain) > 4 * MOST_DOCUMENTS and _openings(_STRING.sub(b'""', plain)) > MOST_DOCUMENTS:
        # Before parsing: a few hundred MB of "[],[]," would become gigabytes of lists.
        raise ColonyDamaged("restore: more values than documents can have")
    try:
        documents = orjson.loads(plain)
    except orjson.JSONDecodeError:
        documents = None  # refused below: the decoder's error holds the whole text and would be chained
    if not isinstance(documents, dict) or not all(isinstance(text, str) for text in documents.values()):
        raise ColonyDamaged("restore: the stored data is not a set of named texts")
    return documents


def _openings(data: bytes) -> int:
    """How many commas and opening brackets there are. A million bytes at a time: they stay in the processor's cache."""
    whole = np.frombuffer(data, np.uint8)
    pieces = (whole[at : at + 1_000_000] for at in range(0, len(whole), 1_000_000))
    return sum(int(np.count_nonzero(piece == sign)) for piece in pieces for sign in b",[{")
