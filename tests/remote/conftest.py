from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import pytest
from model_server import KEY, ModelServer
from still_time import NoChance, Pauses, StillClock

from holdfast.core.ports import Summarizer
from holdfast.remote import summarizer_from
from holdfast.settings import Settings, load


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def pauses(clock: StillClock) -> Pauses:
    return Pauses(clock)


@pytest.fixture
def settings_for(server: ModelServer) -> Callable[..., Settings]:
    """Settings with every key, pointing at the local server; keywords change single ones."""

    def make(**changes: object) -> Settings:
        at = server.origin
        everything = {
            "anthropic_key": KEY,
            "openai_key": KEY,
            "gemini_key": KEY,
            "anthropic_url": at,
            "openai_url": f"{at}/v1",
            "gemini_url": f"{at}/v1beta",
        }
        return dataclasses.replace(load({}, {}), **{**everything, **changes})  # type: ignore[arg-type]

    return make


@pytest.fixture
def summarizer_for(
    settings_for: Callable[..., Settings], clock: StillClock, pauses: Pauses
) -> Callable[..., Summarizer]:
    """A summarizer of the local server, on still time and without chance."""

    def make(llm: str = "openai", **changes: object) -> Summarizer:
        made = summarizer_from(settings_for(llm=llm, **changes), clock, NoChance(), pause=pauses)
        assert made is not None
        return made

    return make
