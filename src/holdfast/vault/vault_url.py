"""From the text that names a vault to the vault: the one place that knows every kind.

Credentials never stand in such a text: they come from the settings. What a kind needs is loaded when it is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from threading import Lock
from urllib.parse import unquote, urlsplit

from holdfast.core.disk import user_path
from holdfast.core.errors import InvalidSettings
from holdfast.core.ports import Clock, Entropy, Vault
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.settings import Settings
from holdfast.vault.credentials import with_credentials
from holdfast.vault.local import LocalVault
from holdfast.vault.named_errors import NamedErrors
from holdfast.vault.names import is_name
from holdfast.vault.quota import Quota, RateLimitedVault, RequestRate
from holdfast.vault.restriction import AppendOnly
from holdfast.vault.retry import RetryingVault

KINDS = "a folder, file:///path, s3://bucket, gs://bucket, az://container, hf://datasets/owner/name or colony:label"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://.*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,221}", re.ASCII)
_DATASET = re.compile(r"datasets/([A-Za-z0-9][A-Za-z0-9._-]{0,95})/([A-Za-z0-9][A-Za-z0-9._-]{0,95})", re.ASCII)

# The hour belongs to the vault, not to the request: naming the same vault again goes on counting.
_paces: dict[tuple[str, int], RequestRate] = {}
_paces_lock = Lock()


def vault_from(
    text: str,
    settings: Settings,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    used: Path | None = None,
) -> Vault:
    """The vault that is named, with the wrappers that the settings define. No request is made yet. `used` is where
    folders that were put into are noted.

    Raises:
        InvalidSettings: it names nothing that is known, a folder that depends on where Holdfast was started, or a
            kind whose package is not installed.
    """
    text = text.strip()
    found = _SCHEME.fullmatch(text)
    scheme = found[1].lower() if found else "file"
    entropy = entropy or SystemEntropy()
    if scheme == "file":
        return _bounded(_limited(_local(text, used), settings, clock), settings)
    open_kind = _REMOTE.get(scheme)
    if open_kind is None:
        # The rest may hold a password.
        raise InvalidSettings(f"vault: unknown scheme {scheme[:20]}://", hint=f"Name {KINDS}.")
    vault = _limited(open_kind(text, with_credentials(settings), entropy), settings, clock)
    return _bounded(NamedErrors(RetryingVault(vault, entropy, settings.vault_attempts)), settings)


def _bounded(vault: Vault, settings: Settings) -> Vault:
    return AppendOnly(vault) if settings.vault_append_only else vault


def _limited(vault: Vault, settings: Settings, clock: Clock | None) -> Vault:
    if calls := settings.vault_calls_per_hour:
        key = (vault.place, calls)
        with _paces_lock:
            pace = _paces.setdefault(key, RequestRate(calls, clock or SystemClock()))
        vault = RateLimitedVault(vault, pace)
    return Quota(vault, settings.vault_quota) if settings.vault_quota else vault


def _local(text: str, used: Path | None) -> Vault:
    path = user_path(_path_in(text), "vault", InvalidSettings)
    if not path.is_absolute():
        if _WORD.match(text):
            raise InvalidSettings("vault: unknown kind of vault", hint=f"Name {KINDS}.")
        raise InvalidSettings(
            "vault: the path of the folder must be absolute", hint="Use a path that begins with / or ~."
        )
    return LocalVault(path, used)


def _path_in(text: str) -> str:
    """The path of file:///path, file:/path and of a plain path."""
    if not text.lower().startswith("file:"):
        return text
    url = urlsplit(text)
    if url.netloc not in ("", "localhost") or url.query or url.fragment:
        raise InvalidSettings("vault: a file: URL must have a path only", hint="Write file:///path/of/folder.")
    return unquote(url.path)


def _objects(text: str, settings: Settings, entropy: Entropy) -> Vault:
    url = urlsplit(text)
    prefix = url.path.strip("/")
    if url.query or url.fragment or not _BUCKET.fullmatch(url.netloc) or (prefix and not is_name(prefix)):
        raise InvalidSettings(
            f"vault: {url.scheme}:// must be followed by a bucket and a path only",
            hint="Keys come from the environment or HOLDFAST_VAULT_CREDENTIALS; see docs/vaults.md.",
        )
    checked_endpoint("HOLDFAST_VAULT_ENDPOINT", settings.vault_endpoint)
    try:
        from holdfast.vault.objects import object_vault
    except ImportError:
        raise _not_installed(f"{url.scheme}://", "objects") from None
    return object_vault(url.scheme.lower(), url.netloc, prefix, settings, entropy)


def _hub(text: str, settings: Settings, entropy: Entropy) -> Vault:
    del entropy
    found = _DATASET.fullmatch(text.partition("://")[2].strip("/"))
    if not found:
        raise InvalidSettings(
            "vault: hf:// must be followed by datasets/owner/name only",
            hint="The token comes from HF_TOKEN or HOLDFAST_VAULT_CREDENTIALS; see docs/vaults.md.",
        )
    checked_endpoint("HOLDFAST_HUB_URL", settings.hub_url)
    try:
        from holdfast.vault.hub import HubVault
    except ImportError:
        raise _not_installed("hf://", "hub") from None
    return HubVault(f"{found[1]}/{found[2]}", settings.hub_url, settings.hub_token)


_REMOTE: dict[str, Callable[[str, Settings, Entropy], Vault]] = {
    "s3": _objects,
    "gs": _objects,
    "az": _objects,
    "hf": _hub,
}


def _not_installed(kind: str, extra: str) -> InvalidSettings:
    return InvalidSettings(
        f"vault: {kind} requires an additional package", hint=f"Run pip install 'holdfast[{extra}]'."
    )


def checked_endpoint(setting: str, endpoint: str) -> None:
    """Refuse an address with credentials in it, and a plain one beyond the own machine and network.

    Raises:
        InvalidSettings: the message names the setting; the address may hold a password.
    """
    if not endpoint:
        return
    url = urlsplit(endpoint)
    if url.scheme not in ("http", "https") or not url.hostname or url.username or url.password or url.query:
        raise InvalidSettings(f"{setting}: must be http:// or https:// with a host, without credentials")
    if url.scheme == "http" and not _is_near(url.hostname):
        raise InvalidSettings(f"{setting}: plain http is allowed only for this machine and private networks")


def _is_near(host: str) -> bool:
    """A private address, or a name that only a private network resolves."""
    try:
        address = ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost"))
    return address.is_loopback or (address.is_private and not address.is_link_local)
