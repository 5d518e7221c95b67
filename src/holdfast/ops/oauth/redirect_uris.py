"""Which addresses a client may have its users sent back to, and when two of them are the same."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from holdfast.ops.oauth.oauth_records import OAuthRefused

MAX_URI_CHARS = 2_000
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
# Of native apps. A scheme with a dot is named after a domain (RFC 8252, 7.1); these are editors whose scheme has none.
APP_SCHEMES = frozenset(
    {"cursor", "vscode", "vscode-insiders", "vscodium", "windsurf", "zed", "kiro", "trae", "warp", "raycast", "goose"}
)
_PLAIN = re.compile(r"[!#-;=?-Z\[\]_a-z~%]+")  # what a URI may hold, without quotes, < > \ ^ ` { | } and controls
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?", re.ASCII)
_DOTTED = re.compile(r"[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+", re.ASCII)


def check_redirect_uri(uri: str) -> str:
    """The address, if users may be sent there: https, http on this machine, or a native app.

    Raises:
        OAuthRefused: it is anything else, such as javascript: or http to another machine.
    """
    parts = _parts(uri)
    if parts is None or parts.fragment or "#" in uri or "@" in parts.netloc:
        raise _refused("must be absolute, without a fragment, a user name, spaces or quotes")
    host = parts.hostname or ""
    if parts.scheme == "https" and _HOST.fullmatch(host):
        return uri
    if parts.scheme == "http":
        if host not in LOOPBACK:
            raise _refused("must be https unless it leads to 127.0.0.1, [::1] or localhost")
        return uri
    if parts.scheme in APP_SCHEMES or _DOTTED.fullmatch(parts.scheme):
        return uri
    raise _refused("must be https, http on loopback, or the scheme of a known app or of a reversed domain name")


def is_registered(uri: str, registered: tuple[str, ...]) -> bool:
    """Whether it is one of these, character by character. On loopback the port may differ: a native app takes one that
    is free (RFC 8252, 7.3)."""
    return uri in registered or any(_without_port(uri) == _without_port(one) != "" for one in registered)


def origin_of(uri: str) -> str:
    """Where a user is sent: scheme, host and port; of an app, only its scheme. Safe in a policy and on a page."""
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc.lower()}" if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def _parts(uri: str) -> SplitResult | None:
    if len(uri) > MAX_URI_CHARS or not _PLAIN.fullmatch(uri):
        return None
    try:
        parts = urlsplit(uri)
        _ = parts.port  # raises if it is no number
    except ValueError:
        return None
    return parts if parts.scheme and (parts.netloc or parts.path) else None


def _without_port(uri: str) -> str:
    parts = _parts(uri)
    if parts is None or parts.scheme != "http" or parts.hostname not in LOOPBACK:
        return ""
    return f"{parts.hostname}{parts.path}?{parts.query}"


def _refused(why: str) -> OAuthRefused:
    return OAuthRefused("invalid_redirect_uri", f"redirect_uris: each {why}")
