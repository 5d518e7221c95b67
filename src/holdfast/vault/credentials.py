"""Keys and tokens of vaults from a file that no other user can read. The environment takes precedence."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.core.disk import user_path
from holdfast.core.errors import InvalidSettings
from holdfast.settings import SETTINGS, Settings

NAMES = frozenset(
    {
        "vault_key_id",
        "vault_key",
        "vault_session_token",
        "google_account",
        "azure_account",
        "azure_key",
        "azure_sas_token",
        "hub_token",
        "colony_key",
    }
)
_BY_ENV = {env: row.name for row in SETTINGS if row.name in NAMES for env in (row.env, *row.also)}
_LARGEST = 65_536
_WRONG = "HOLDFAST_VAULT_CREDENTIALS"


def with_credentials(settings: Settings) -> Settings:
    """The settings, with what they lack taken from the credentials file if there is one.

    Raises:
        InvalidSettings: the file cannot be read, others can read it too, or it holds something else.
    """
    if not settings.vault_credentials:
        return settings
    found = _parse(_read_private(user_path(settings.vault_credentials, _WRONG, InvalidSettings)))
    lacking: dict[str, Any] = {name: value for name, value in found.items() if not getattr(settings, name)}
    return replace(settings, **lacking)


def with_only(settings: Settings, path: str) -> Settings:
    """The settings with the keys of this file and no others, for work that the usual credential may not do.

    Raises:
        InvalidSettings: as above.
    """
    blank: dict[str, Any] = {row.name: row.parse("") for row in SETTINGS if row.name in NAMES}
    bare = replace(settings, **blank, vault_append_only=False)
    return with_credentials(replace(bare, vault_credentials=path))


def _read_private(path: Path) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidSettings(f"{_WRONG}: the file cannot be opened: {error.strerror}") from None
    try:
        _check_owner(os.fstat(handle))
        data = os.read(handle, _LARGEST + 1)
    finally:
        os.close(handle)
    try:
        if len(data) <= _LARGEST:
            return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise InvalidSettings(f"{_WRONG}: the file is too large or not text")


def _check_owner(seen: os.stat_result) -> None:
    if not stat.S_ISREG(seen.st_mode):
        raise InvalidSettings(f"{_WRONG}: not a file")
    if seen.st_mode & 0o077 or seen.st_uid not in (os.geteuid(), 0):
        raise InvalidSettings(f"{_WRONG}: other users can read or own the file", hint="Run chmod 600 on the file.")


def _parse(text: str) -> dict[str, str]:
    """The values by setting. Errors name the line number only: the line itself may be a secret."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        setting = _BY_ENV.get(name.strip().removeprefix("export ").strip())
        if not equals or setting is None:
            raise InvalidSettings(f"{_WRONG}: line {number} is not NAME=value with the name of a vault's key or token")
        found[setting] = value.strip().strip("\"'")
    return found
