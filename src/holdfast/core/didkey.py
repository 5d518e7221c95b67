"""ed25519 signatures and the names of their keys: did:key, which holds the public key itself.

did:key:z<base58btc of 0xed 0x01 and the 32 bytes of the key>. Such a name beside a signature is a claim; whom to
believe is decided elsewhere.
"""

from __future__ import annotations

import base64
import binascii

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_DID = "did:key:z"
_ED25519 = b"\xed\x01"
_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGIT = {letter: value for value, letter in enumerate(_ALPHABET)}
_MOST_DID = 64

# The field of the curve, and the y of the points of small order. A key of small order signs anything: a signature
# that needs no secret holds for it.
_P = 2**255 - 19
_Y8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_SMALL = {0, 1, _P - 1, _Y8, _P - _Y8}


class InvalidDidKey(ValueError):
    """The text is not the did:key of an ed25519 key."""


def did_of(public: bytes) -> str:
    """The name of a public key."""
    return _DID + _base58(_ED25519 + public)


def public_key(did: str) -> bytes:
    """The public key that a did:key is.

    Raises:
        InvalidDidKey: it is of another type, not spelled the one way, or no point that can be trusted.
    """
    if not did.startswith(_DID) or len(did) > _MOST_DID:
        raise InvalidDidKey("not a did:key")
    raw = _from_base58(did[len(_DID) :])
    if len(raw) != 34 or raw[:2] != _ED25519:
        raise InvalidDidKey("not the did:key of an ed25519 key")
    public = raw[2:]
    y = int.from_bytes(public, "little") & ~(1 << 255)
    if did_of(public) != did or y >= _P or y in _SMALL:
        raise InvalidDidKey("not the did:key of a key that can be trusted")
    return public


def sign(seed: bytes, data: bytes) -> str:
    """The signature, as base64url without padding."""
    signature = Ed25519PrivateKey.from_private_bytes(seed).sign(data)
    return base64.urlsafe_b64encode(signature).decode().rstrip("=")


def public_of(seed: bytes) -> bytes:
    """The public key of a private one."""
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def verify_signature(did: str, data: bytes, signature: str) -> bool:
    """Whether the holder of that key signed exactly this."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key(did)).verify(_signature(signature), data)
    except (InvalidDidKey, InvalidSignature, ValueError):
        return False
    return True


def _signature(text: str) -> bytes:
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not base64url") from error
    # Its last letter has spare bits: only one of the spellings counts.
    if len(raw) != 64 or base64.urlsafe_b64encode(raw).decode().rstrip("=") != text:
        raise ValueError("not a signature")
    return raw


def _base58(data: bytes) -> str:
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = _ALPHABET[digit] + text
    zeros = len(data) - len(data.lstrip(b"\0"))
    return _ALPHABET[0] * zeros + text


def _from_base58(text: str) -> bytes:
    number = 0
    for letter in text:
        if letter not in _DIGIT:
            raise InvalidDidKey("not base58")
        number = number * 58 + _DIGIT[letter]
    zeros = len(text) - len(text.lstrip(_ALPHABET[0]))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")
