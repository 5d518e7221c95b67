"""Chooses the embedder that the settings name, on this machine or behind an API, and the reranker beside it."""

from __future__ import annotations

import time

from holdfast.core.ports import Clock, Embedder, Entropy
from holdfast.index import (
    GTE_SMALL,
    LOCAL_MODELS,
    MINILM,
    RERANKER,
    Fetch,
    LocalEmbedder,
    LocalModel,
    LocalReranker,
    WeightFolders,
)
from holdfast.remote import Download, remote_embedder_from
from holdfast.remote.endpoint import Pause
from holdfast.settings import Settings


def embedder_from(settings: Settings, clock: Clock, entropy: Entropy, *, pause: Pause = time.sleep) -> Embedder | None:
    """The embedder to use, or None for search by words alone. Loads nothing and sends nothing yet.

    Raises:
        InvalidSettings: a remote embedder has no key, or a URL or size cannot be used.
    """
    if settings.embedder == "none":
        return None
    if settings.embedder == "local":
        return LocalEmbedder(_best_here(settings, clock, entropy), clock)
    if model := LOCAL_MODELS.get(settings.embedder):
        return LocalEmbedder(_places(model, settings, clock, entropy), clock)
    return remote_embedder_from(settings, clock, entropy, pause=pause)


def reranker_from(settings: Settings, clock: Clock) -> LocalReranker | None:
    """The reranker, if it is wanted and its files are on this machine. Loads nothing yet."""
    if settings.reranker == "none" or settings.embedder == "none":
        return None
    places = WeightFolders(RERANKER, settings.reranker_path, settings.folder / "models" / RERANKER.downloads)
    return LocalReranker(RERANKER, places, clock) if settings.reranker_path or places.are_here() else None


def _best_here(settings: Settings, clock: Clock, entropy: Entropy) -> WeightFolders:
    """gte-small where its files are, as it finds more (docs/benchmarks/ranking.md); else MiniLM, which pip installs."""
    found = _places(GTE_SMALL, settings, clock, entropy)
    return found if found.are_here() else _places(MINILM, settings, clock, entropy)


def _places(model: LocalModel, settings: Settings, clock: Clock, entropy: Entropy) -> WeightFolders:
    downloads = settings.folder / "models" / model.downloads
    return WeightFolders(model, settings.embedder_path, downloads, _fetch(model, settings, clock, entropy))


def _fetch(model: LocalModel, settings: Settings, clock: Clock, entropy: Entropy) -> Fetch | None:
    if settings.embedder_url.lower() == "none":
        return None
    return Download("HOLDFAST_EMBEDDER_URL", settings.embedder_url or model.hub, clock, entropy).fetch
