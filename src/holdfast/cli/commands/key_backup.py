"""Copies of the signing key: as words, as an encrypted file, and back. Only here: the key itself never leaves through a
server, and no answer but these holds it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from holdfast.core.age import NotIntact, WrongIdentity, decrypt, encrypt, identity_of
from holdfast.core.disk import disk_faults, user_path, write_durably
from holdfast.core.errors import Conflict, InvalidRequest
from holdfast.core.model import Json
from holdfast.settings import Settings
from holdfast.snapshot.bundle.encryption import read_identities, read_recipients
from holdfast.snapshot.keys.keyring import Keyring
from holdfast.snapshot.keys.mnemonic import seed_of, words_of

_FIRST_LINE = "holdfast signing key 1"
_MOST = 65_536


def key_words(settings: Settings) -> Json:
    """The words of the own key.

    Raises:
        NotFound: there is none.
    """
    keyring = _keyring(settings)
    words, did = words_of(keyring.seed()), keyring.own()
    keyring.note_kept(str(did))
    return {"did": did, "words": words}


def key_backup(settings: Settings, to: Path, recipients: Sequence[str]) -> Json:
    """The own key in a new file that only these recipients can open.

    Raises:
        InvalidRequest: no recipient is named.
        Conflict: the file exists.
    """
    named = tuple(recipients) or settings.snapshot_recipients
    if not named:
        raise InvalidRequest("key backup: no recipient given", hint="Pass --encrypt age1…")
    path = user_path(to, "key backup")
    if path.exists():
        raise Conflict(f"key backup: {path.name} already exists", hint="Choose a new file name.")
    keyring = _keyring(settings)
    text = f"{_FIRST_LINE}\n{words_of(keyring.seed())}\n"
    with disk_faults(f"write {path.name}"):
        write_durably(path, encrypt(text.encode(), read_recipients(named)))
    keyring.note_kept(str(keyring.own()))
    return {"did": keyring.own(), "path": str(path.resolve())}


def key_recover(settings: Settings, source: str | None, identity: str | None, *, replace: bool) -> Json:
    """Make the own key again.

    Raises:
        InvalidRequest: the words or the file are not a key.
        Conflict: there is another key.
    """
    words = _from_file(Path(source), identity or settings.snapshot_identity) if source else _typed()
    keyring = _keyring(settings)
    did = keyring.take(seed_of(words), replace=replace)
    keyring.note_kept(did)
    return {"success": True, "did": did}


def _keyring(settings: Settings) -> Keyring:
    return Keyring(settings.folder / "keys")


def _typed() -> str:
    if sys.stdin.isatty():
        sys.stderr.write("The 24 words, then Enter and Ctrl-D:\n")
    return sys.stdin.read(_MOST)


def _from_file(path: Path, identity: str) -> str:
    if not identity:
        raise InvalidRequest(
            "key recover: the backup is encrypted, and no identity was given", hint="Pass --identity FILE."
        )
    with disk_faults(f"read {path.name}"), user_path(path, "key recover").open("rb") as file:
        data = file.read(_MOST)
    try:
        text = decrypt(data, [identity_of(one) for one in read_identities(identity)]).decode()
    except (WrongIdentity, NotIntact, UnicodeDecodeError):
        raise InvalidRequest("key recover: wrong identity, or the backup is damaged") from None
    first, _, words = text.partition("\n")
    if first != _FIRST_LINE:
        raise InvalidRequest("key recover: the file is not a backup of a signing key")
    return words
