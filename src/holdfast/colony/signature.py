"""Who signed a manifest, and whether that counts here."""

from __future__ import annotations

import base64
from typing import Any, Protocol

from holdfast.core.didkey import InvalidDidKey, did_of, public_key, public_of, sign, verify_signature
from holdfast.core.errors import ColonyInvalid, ColonyUntrusted
from holdfast.core.system import SystemEntropy


class Signer(Protocol):
    """Anything with `sign` and a did:key under `did_key` or `key_id` signs."""

    def sign(self, message: bytes) -> bytes: ...


class Ed25519Signer:
    """Signs manifests with an ed25519 key; `did_key` is its name."""

    def __init__(self, seed: bytes):
        if not isinstance(seed, bytes | bytearray) or len(seed) != 32:
            raise ColonyInvalid("Ed25519Signer: the seed must be 32 bytes")
        self._seed = bytes(seed)
        self.did_key = did_of(public_of(self._seed))

    @classmethod
    def generate(cls) -> Ed25519Signer:
        """A new key. Keep its seed: nothing else can make the same signatures again."""
        return cls(bytes.fromhex(SystemEntropy().hex(64)))

    @property
    def seed(self) -> bytes:
        """The 32 bytes that are the key; a holder of them can sign in its name."""
        return self._seed

    def sign(self, message: bytes) -> bytes:
        return _raw(sign(self._seed, message))

    def __repr__(self) -> str:
        return f"Ed25519Signer({self.did_key})"


def did_of_signer(signer: Any) -> str:
    """The did:key that a signer signs as.

    Raises:
        ColonyInvalid: it has none.
    """
    return trusted_did(getattr(signer, "did_key", None) or getattr(signer, "key_id", None))


def trusted_did(did: object) -> str:
    """The did:key, if it is one.

    Raises:
        ColonyInvalid: it is not.
    """
    if not isinstance(did, str):
        raise ColonyInvalid("did:key: not text")
    try:
        public_key(did)
    except InvalidDidKey as error:
        raise ColonyInvalid(f"did:key: {error}") from None
    return did


def signature_by(signer: Signer, message: bytes) -> dict[str, str]:
    """The signature as it stands in a manifest.

    Raises:
        ColonyInvalid: what the signer gave is not valid for its own key; no client could restore the snapshot.
    """
    did = did_of_signer(signer)
    text = base64.urlsafe_b64encode(signer.sign(message)).decode("ascii").rstrip("=")
    if not verify_signature(did, message, text):
        raise ColonyInvalid("signer: its signature is not valid for its did:key")
    return {"alg": "ed25519", "key_id": did, "sig": text}


def check_signature(signature: object, message: bytes, trusted: frozenset[str] | None, name: str) -> None:
    """Pass if the signature is valid and its key trusted; with `trusted` None any key is, and no signature is needed.

    Raises:
        ColonyUntrusted: the signature is invalid or missing, or its key is not trusted.
    """
    if signature is None:
        if trusted is not None:
            raise ColonyUntrusted(
                f"{name}: not signed, and a trusted signature is required",
                hint="If you know where it comes from, restore it with verify=False, or without a signer.",
            )
        return
    if not isinstance(signature, dict) or signature.get("alg") != "ed25519":
        raise ColonyUntrusted(f"{name}: not an ed25519 signature")
    did, text = signature.get("key_id"), signature.get("sig")
    if not isinstance(did, str) or not isinstance(text, str) or not verify_signature(did, message, text):
        raise ColonyUntrusted(f"{name}: invalid signature")
    if trusted is not None and did not in trusted:
        raise ColonyUntrusted(f"{name}: signed by a key that is not trusted here")


def _raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")
