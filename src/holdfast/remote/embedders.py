"""Embedders behind an API: Gemini, OpenAI, and every server with OpenAI's API."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from holdfast.core.errors import Fault, InvalidSettings, UpstreamFailed
from holdfast.core.model import CleanText
from holdfast.core.ports import Clock, Entropy, Vectors
from holdfast.remote.address_policy import checked_site
from holdfast.remote.budget import HourlyBudget
from holdfast.remote.embed_dialects import GEMINI, OPENAI, EmbedDialect, EmbedRequest, texts_per_request, vectors_in
from holdfast.remote.endpoint import ApiAccess, Endpoint, Pause
from holdfast.remote.exchange import MAX_ANSWER_BYTES
from holdfast.remote.failure import EMBEDDER, Failure
from holdfast.remote.summarizer import OPENAI_URL
from holdfast.settings import Settings

MAX_CHARS = 16_000  # of one text; the models read less than this
# Of one part of a longer text: some 1,000 tokens, which small models read as well.
PART_CHARS = 4_000
# The APIs refuse an empty text, and a memory without words still gets a row.
EMPTY = "-"
# A caller waits for a search, and words alone answer it too.
QUESTION_SECONDS = 5.0
# After a question failed, the next ones use words at once instead of each waiting in vain.
REST_SECONDS = 30.0


class RemoteEmbedder:
    """A model behind an API. Safe to use from many threads."""

    def __init__(
        self, dialect: EmbedDialect, model: str, dims: int, *, texts: Endpoint, question: Endpoint, clock: Clock
    ):
        """`texts` embeds batches, `question` a single query while a caller waits: it gives up sooner."""
        self._dialect = dialect
        self._model = model
        self._dims = dims
        self._texts = texts
        self._question = question
        self._clock = clock
        self._resting: tuple[float, UpstreamFailed] | None = None

    @property
    def name(self) -> str:
        """Provider, model and size, which together define what the numbers mean."""
        return f"{self._texts.provider}/{self._model}/{self._dims}"

    @property
    def dims(self) -> int:
        """Numbers in each vector."""
        return self._dims

    def prepare(self) -> None:
        """Does nothing: a remote model needs no preparation."""

    def parts(self, texts: Sequence[CleanText]) -> list[list[CleanText]]:
        """Each text in parts of nearly the same length."""
        return [_parts(text) for text in texts]

    def embed(self, texts: Sequence[CleanText]) -> Vectors:
        """One row of length 1 for each text.

        Raises:
            UpstreamFailed: no usable answer in time, or the budget is spent.
        """
        step = texts_per_request(self._dialect, self._dims, MAX_ANSWER_BYTES)
        rows = np.empty((len(texts), self._dims), np.float32)
        for first in range(0, len(texts), step):
            part = texts[first : first + step]
            rows[first : first + len(part)] = self._ask(self._texts, self._order(part))
        return rows

    def embed_query(self, text: CleanText) -> Vectors:
        """The vector of one question.

        Raises:
            UpstreamFailed: as above, or the last question failed a moment ago.
        """
        if self._resting is not None:
            since, fault = self._resting
            if self._clock.steady() - since < REST_SECONDS:
                raise UpstreamFailed(fault.message, hint=fault.hint, details=fault.details)
        try:
            vector: Vectors = self._ask(self._question, self._order([text], question=True))[0]
        except UpstreamFailed as fault:
            self._resting = (self._clock.steady(), fault)
            raise
        self._resting = None
        return vector

    def likeness(self, one: Vectors, rows: Vectors) -> Vectors:
        """The cosine of the angles. No scale is known of models that are chosen by name."""
        return rows @ one

    def fault(self) -> Fault | None:
        """Why the last question could not be embedded."""
        resting = self._resting
        return None if resting is None else resting[1]

    def reads(self, text: str) -> float:
        """All of it: most remote models know many scripts, and none lists them."""
        return 1.0

    def _order(self, texts: Sequence[CleanText], question: bool = False) -> EmbedRequest:
        return EmbedRequest(self._model, self._dims, [text[:MAX_CHARS].strip() or EMPTY for text in texts], question)

    def _ask(self, endpoint: Endpoint, order: EmbedRequest) -> Vectors:
        operation = self._dialect.operation
        reply = endpoint.post(self._dialect.path(order), self._dialect.body(order), operation=operation)
        vectors = vectors_in(reply, self._dialect, order)
        if isinstance(vectors, Failure):
            raise vectors.fault(endpoint.provider, operation, EMBEDDER)
        return vectors


def _parts(text: CleanText) -> list[CleanText]:
    count = max(1, -(-len(text) // PART_CHARS))
    cuts = [len(text) * part // count for part in range(count + 1)]
    return [CleanText(text[first:end]) for first, end in pairwise(cuts)]


@dataclass(frozen=True, slots=True)
class _ProviderSettings:
    """A provider as the settings describe it."""

    provider: str
    env: str
    dialect: EmbedDialect
    url: str
    key: str | None = field(repr=False)
    needs_key: bool


def remote_embedder_from(
    settings: Settings, clock: Clock, entropy: Entropy, *, pause: Pause = time.sleep
) -> RemoteEmbedder:
    """The remote embedder that the settings name. Sends nothing yet.

    Raises:
        InvalidSettings: it has no key, its key or URL cannot be used, or the size of its vectors is not known.
    """
    choice = _choice(settings)
    model = settings.embedder_model or choice.dialect.default_model
    budget = HourlyBudget(settings.embedder_calls_per_hour, clock)
    access = _access(choice)

    def endpoint(seconds: float) -> Endpoint:
        return Endpoint(access, seconds=seconds, budget=budget, clock=clock, entropy=entropy, pause=pause)

    return RemoteEmbedder(
        choice.dialect,
        model,
        _dims(settings, choice, model),
        texts=endpoint(settings.embedder_seconds),
        question=endpoint(min(settings.embedder_seconds, QUESTION_SECONDS)),
        clock=clock,
    )


def _choice(settings: Settings) -> _ProviderSettings:
    named = settings.embedder
    dialect = GEMINI if named == "gemini" else OPENAI
    if settings.embedder_url:
        # A server of the operator's choice gets the key that is meant for it, never the provider's.
        return _ProviderSettings(
            named, EMBEDDER, dialect, settings.embedder_url, settings.embedder_key, needs_key=False
        )
    if named == "gemini":
        return _ProviderSettings(
            named, "HOLDFAST_GEMINI", dialect, settings.gemini_url, settings.gemini_key, needs_key=True
        )
    hosted = settings.openai_url.rstrip("/") == OPENAI_URL
    return _ProviderSettings(
        named, "HOLDFAST_OPENAI", dialect, settings.openai_url, settings.openai_key, needs_key=hosted
    )


def _dims(settings: Settings, choice: _ProviderSettings, model: str) -> int:
    dims = settings.embedder_dims or choice.dialect.usual_dims.get(model.removeprefix("models/").split(":")[0], 0)
    if not dims:
        raise InvalidSettings(
            "HOLDFAST_EMBEDDER_DIMS: required for this model",
            hint="Set HOLDFAST_EMBEDDER_DIMS to the vector dimensions of the model.",
        )
    return dims


def _access(choice: _ProviderSettings) -> ApiAccess:
    key = choice.key
    if key is None and choice.needs_key:
        raise InvalidSettings(
            f"HOLDFAST_EMBEDDER: {choice.provider} requires an API key",
            hint=f"Set {choice.env}_KEY, or HOLDFAST_EMBEDDER=local.",
        )
    # Anything else could not stand in a header, and the error would quote it.
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise InvalidSettings(f"{choice.env}_KEY: contains invalid characters")
    site = checked_site(f"{choice.env}_URL", choice.url, keyed=key is not None)
    return ApiAccess(choice.provider, choice.env, site, choice.dialect.headers(key), EMBEDDER)
