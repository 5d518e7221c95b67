"""How what is live is kept before it is replaced: encrypted, where what replaces it or the newest snapshot is.

Whoever encrypts snapshots does not want the same memory beside them in the clear, only because nobody said for whom.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.core.errors import Conflict, IdentityNeeded
from holdfast.snapshot.bundle.encryption import recipient_beside, recipients_of
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.create import Wish
from holdfast.snapshot.repo.context import Archive
from holdfast.snapshot.resolve import Named, identities_of


def sealed_alike(archive: Archive, wish: Wish, named: Named, manifest: Manifest | None) -> Wish:
    """The wish as the settings say, but encrypted if it has to be, for whoever can open what is encrypted now.

    Raises:
        IdentityNeeded: what is restored is encrypted, and no identity was given that could open it.
        Conflict: nobody is known for whom to encrypt it.
    """
    if manifest is not None and manifest.encrypted and not identities_of(archive, named):
        raise IdentityNeeded("snapshot: it is encrypted, and no identity was given")
    usual = archive.settings.snapshot_recipients
    if usual or named.plain_before or not _must_be_encrypted(archive, manifest):
        return replace(wish, recipients=usual)
    found = _known_recipients(archive, named)
    if not found:
        raise Conflict(
            f"{wish.label}: snapshots of this memory are encrypted, and no recipient is configured",
            hint="Set HOLDFAST_SNAPSHOT_RECIPIENTS, pass an age identity with --identity, or put the public key "
            "next to an SSH identity (id_ed25519.pub). To store it unencrypted, pass --plain-before.",
        )
    return replace(wish, recipients=found)


def _must_be_encrypted(archive: Archive, manifest: Manifest | None) -> bool:
    if manifest is not None and manifest.encrypted:
        return True
    newest = archive.repo.newest()
    return newest is not None and newest.manifest is not None and newest.manifest.encrypted


def _known_recipients(archive: Archive, named: Named) -> tuple[str, ...]:
    """Of the identities at hand; an SSH key does not tell its public one, which then lies beside it."""
    identities = identities_of(archive, named)
    file = named.identity or archive.settings.snapshot_identity
    return recipients_of(identities) or (recipient_beside(file, identities) if file else ())
