"""Which memory a command means: from its options, the environment and the data folder."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from holdfast.settings import Settings, load


def settings_of(given: argparse.Namespace) -> Settings:
    """The settings with the command's own options over the environment's."""
    return load({"home": getattr(given, "data", None), "url": _url(given)})


def _url(given: argparse.Namespace) -> str | None:
    """A named folder wins over the environment's server: it is another memory."""
    url: str | None = getattr(given, "url", None)
    if url is not None:
        return url.rstrip("/")
    return "" if getattr(given, "data", None) else None


def reach(given: argparse.Namespace) -> tuple[str, str | None]:
    """The address and credential of the running server, without opening anything; for hooks.

    Raises:
        InvalidSettings: the environment holds a setting that cannot be read.
    """
    settings = settings_of(given)
    card = _card(settings.folder)
    url = settings.url or str(card.get("url") or f"http://127.0.0.1:{settings.port}")
    token = card.get("token")
    return url, settings.secret or (str(token) if token and not settings.url else None)


def _card(folder: Path) -> dict[str, object]:
    try:
        card = json.loads((folder / "server.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return card if isinstance(card, dict) else {}
