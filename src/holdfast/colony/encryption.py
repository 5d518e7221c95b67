"""age encryption of a snapshot's bytes: for whom it is sealed, and who opens it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from holdfast.core.age import NotIntact, WrongIdentity, decrypt, encrypt, identity_of, recipient_of
from holdfast.core.errors import ColonyDamaged, ColonyInvalid, ColonyLocked


def read_recipients(texts: Iterable[str]) -> list[Any]:
    """The public keys as the library takes them.

    Raises:
        ColonyInvalid: one is neither an age nor an SSH public key.
    """
    return [_recipient(text) for text in texts]


def read_identities(texts: Iterable[str]) -> list[Any]:
    """The private keys as the library takes them; no message ever has their text.

    Raises:
        ColonyInvalid: one is not an age identity.
    """
    return [_identity(text) for text in texts]


def seal(data: bytes, recipients: Sequence[Any]) -> bytes:
    """The bytes, encrypted for all recipients."""
    return encrypt(data, recipients)


def unseal(data: bytes, identities: Sequence[Any]) -> bytes:
    """The decrypted bytes.

    Raises:
        ColonyLocked: no identity opens them.
        ColonyDamaged: they were changed.
    """
    if not identities:
        raise ColonyLocked("restore: the snapshot is encrypted, and no identity was given")
    try:
        return decrypt(data, identities)
    except WrongIdentity:
        raise ColonyLocked(
            "restore: the snapshot is encrypted, and none of the given identities can decrypt it"
        ) from None
    except NotIntact:
        raise ColonyDamaged("restore: the encrypted bytes are damaged") from None


def _recipient(text: str) -> Any:
    if not isinstance(text, str):
        raise ColonyInvalid("recipients: one is not text")
    found = recipient_of(text)
    if found is None:
        raise ColonyInvalid("recipients: one is neither an age key (age1…) nor an SSH public key")
    return found


def _identity(text: str) -> Any:
    found = identity_of(text)
    if found is None:
        raise ColonyInvalid("identities: one is not an age identity")
    return found
