"""Chooses the embedder that the settings name, on this machine or behind an API."""

from __future__ import annotations

import time
from pathlib import Path

from holdfast.core.ports import Clock, Embedder, Entropy
from holdfast.index import Fetch, MiniLm, WeightFolders
from holdfast.index.weights import REVISION
from holdfast.remote import Download, remote_embedder_from
from holdfast.remote.endpoint import Pause
from holdfast.settings import Settings

HUB = f"https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/{REVISION}"


def embedder_from(settings: Settings, clock: Clock, entropy: Entropy, *, pause: Pause = time.sleep) -> Embedder | None:
    """The embedder to use, or None for search by words alone. Loads nothing and sends nothing yet.

    Raises:
        InvalidSettings: a remote embedder has no key, or a URL or size cannot be used.
    """
    if settings.embedder == "none":
        return None
    if settings.embedder == "minilm":
        return MiniLm(_places(settings, clock, entropy), clock)
    return remote_embedder_from(settings, clock, entropy, pause=pause)


def _places(settings: Settings, clock: Clock, entropy: Entropy) -> WeightFolders:
    return WeightFolders(settings.embedder_path, _downloads(settings), _fetch(settings, clock, entropy))


def _downloads(settings: Settings) -> Path:
    return settings.folder / "models" / f"all-MiniLM-L6-v2-{REVISION[:8]}"


def _fetch(settings: Settings, clock: Clock, entropy: Entropy) -> Fetch | None:
    if settings.embedder_url.lower() == "none":
        return None
    return Download("HOLDFAST_EMBEDDER_URL", settings.embedder_url or HUB, clock, entropy).fetch
