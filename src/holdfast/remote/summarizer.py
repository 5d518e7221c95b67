"""Chooses the remote language model that the settings name."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from holdfast.core.errors import InvalidSettings
from holdfast.core.model import CleanText
from holdfast.core.ports import Clock, Entropy, Summarizer
from holdfast.remote import anthropic, gemini, openai
from holdfast.remote.address_policy import checked_site
from holdfast.remote.budget import HourlyBudget
from holdfast.remote.dialect import Dialect, Prompt, answer_in
from holdfast.remote.endpoint import ApiAccess, Endpoint, Pause
from holdfast.remote.failure import Failure
from holdfast.settings import SETTINGS, Settings

OPENAI_URL = next(row.default for row in SETTINGS if row.name == "openai_url")


class RemoteSummarizer:
    """A language model behind an API. Safe to use from many threads."""

    def __init__(self, dialect: Dialect, model: str, endpoint: Endpoint):
        self._dialect = dialect
        self._model = model
        self._endpoint = endpoint

    @property
    def name(self) -> str:
        """Provider and model, for provenance."""
        return f"{self._endpoint.provider}/{self._model}"

    def complete(self, instruction: CleanText, text: CleanText, *, max_tokens: int) -> str:
        """The model's answer as text: whole and not empty.

        Raises:
            UpstreamFailed: no usable answer in time, or the budget is spent.
        """
        prompt = Prompt(self._model, instruction, text, max_tokens)
        operation = self._dialect.operation
        reply = self._endpoint.post(self._dialect.path(prompt), self._dialect.body(prompt), operation=operation)
        answer = answer_in(reply, self._dialect)
        if isinstance(answer, Failure):
            raise answer.fault(self._endpoint.provider, operation)
        return answer


@dataclass(frozen=True, slots=True)
class Candidate:
    """A provider as the settings describe it."""

    provider: str
    dialect: Dialect
    url: str
    key: str | None = field(repr=False)
    needs_key: bool = True

    @property
    def env(self) -> str:
        return f"HOLDFAST_{self.provider.upper()}"

    @property
    def ready(self) -> bool:
        return self.key is not None or not self.needs_key


def summarizer_from(
    settings: Settings, clock: Clock, entropy: Entropy, *, pause: Pause = time.sleep
) -> Summarizer | None:
    """The summarizer that the settings name, or None when there is none to use. Sends nothing yet.

    Raises:
        InvalidSettings: the named provider has no key, or its key or URL cannot be used.
    """
    candidate = _chosen(settings)
    if candidate is None:
        return None
    endpoint = Endpoint(
        _access(candidate),
        seconds=settings.llm_seconds,
        budget=HourlyBudget(settings.llm_calls_per_hour, clock),
        clock=clock,
        entropy=entropy,
        pause=pause,
    )
    return RemoteSummarizer(candidate.dialect, settings.llm_model or candidate.dialect.default_model, endpoint)


def _candidates(settings: Settings) -> tuple[Candidate, ...]:
    """All providers, in the order in which `auto` takes the first that is ready."""
    hosted = settings.openai_url.rstrip("/") == OPENAI_URL
    dialect = openai.HOSTED if hosted else openai.COMPATIBLE
    return (
        Candidate("anthropic", anthropic.DIALECT, settings.anthropic_url, settings.anthropic_key),
        Candidate("openai", dialect, settings.openai_url, settings.openai_key, needs_key=hosted),
        Candidate("gemini", gemini.DIALECT, settings.gemini_url, settings.gemini_key),
    )


def _chosen(settings: Settings) -> Candidate | None:
    if settings.llm == "none":
        return None
    candidates = _candidates(settings)
    if settings.llm == "auto":
        return next((candidate for candidate in candidates if candidate.ready), None)
    named = next(candidate for candidate in candidates if candidate.provider == settings.llm)
    if not named.ready:
        raise InvalidSettings(
            f"HOLDFAST_LLM: {named.provider} requires an API key", hint=f"Set {named.env}_KEY, or HOLDFAST_LLM=none."
        )
    return named


def _access(candidate: Candidate) -> ApiAccess:
    key = candidate.key
    # Anything else could not stand in a header, and the error would quote it.
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise InvalidSettings(f"{candidate.env}_KEY: contains invalid characters")
    site = checked_site(f"{candidate.env}_URL", candidate.url, keyed=key is not None)
    return ApiAccess(candidate.provider, candidate.env, site, candidate.dialect.headers(key))
