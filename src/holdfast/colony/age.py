"""age encryption of a snapshot's bytes: for whom it is sealed, and who opens it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyrage

from holdfast.errors import ColonyDamaged, ColonyInvalid, ColonyLocked


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
    return bytes(pyrage.encrypt(data, recipients))


def unseal(data: bytes, identities: Sequence[Any]) -> bytes:
    """The bytes that were encrypted.

    Raises:
        ColonyLocked: no identity opens them.
        ColonyDamaged: they are not what was written.
    """
    if not identities:
        raise ColonyLocked("restore: the snapshot is encrypted, and no identity was given")
    try:
        return bytes(pyrage.decrypt(data, identities))
    except pyrage.DecryptError as error:
        # The library has one exception for all; this is the only one of its texts that is not about damage.
        locked = "No matching keys" in str(error)
    if locked:
        raise ColonyLocked("restore: the snapshot is encrypted, and no identity given opens it")
    raise ColonyDamaged("restore: the encrypted bytes are damaged")


def _recipient(text: str) -> Any:
    if not isinstance(text, str):
        raise ColonyInvalid("recipients: one is not text")
    kind = pyrage.ssh.Recipient if text.startswith("ssh-") else pyrage.x25519.Recipient
    try:
        return kind.from_str(text)
    except pyrage.RecipientError:
        raise ColonyInvalid("recipients: one is neither an age key (age1…) nor an SSH public key") from None


def _identity(text: str) -> Any:
    try:
        return pyrage.x25519.Identity.from_str(text)
    except (pyrage.IdentityError, ValueError, TypeError):
        pass
    # Out here: the library's error may quote the key, and would travel along as the cause.
    raise ColonyInvalid("identities: one is not an age identity")
