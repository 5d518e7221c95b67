"""Reads a question and a text together, and says how well the text answers: a cross-encoder on this machine.

A vector is made of a text before anyone asks; this model sees both, and finds what a paraphrase hides. It reads no more
than a few texts of a question, as each takes as long as embedding it (docs/benchmarks/agent_day.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from holdfast.core.errors import EmbedderUnavailable
from holdfast.core.ports import Clock
from holdfast.index.local_embedder import RETRY_SECONDS, readable_share
from holdfast.index.local_models import CrossEncoder
from holdfast.index.onnx_session import packages, readable, refusals, started
from holdfast.index.weight_sources import WeightFolders
from holdfast.index.weights import read_whole

MAX_PAIR_TOKENS = 96  # of question and text together: a prompt, and what was stated in answer to it
MAX_READ = 1_000  # characters of either that are cut into tokens
READABLE = 0.5  # share of a question's letters
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class LocalReranker:
    """A model of pairs. Making one loads nothing; the first use does. Safe to use from many threads."""

    def __init__(self, model: CrossEncoder, places: WeightFolders, clock: Clock):
        self._model, self._places = model, places
        self.name = f"{model.label}/{model.weights.sha256[:12]}"
        self._clock = clock
        self._session: _PairSession | None = None
        self._loading = Lock()
        self._failed: tuple[float, EmbedderUnavailable] | None = None

    def reads(self, question: str) -> bool:
        """Whether most letters are Latin ones. In German it is of use too."""
        return readable_share(question) >= READABLE

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, about -11 to 11.

        Raises:
            EmbedderUnavailable: there is no model to be had; the message says why.
        """
        session = self._session or self._loaded()
        return [session.score(question, text) for text in texts]

    def _loaded(self) -> _PairSession:
        with self._loading:
            if self._session is None:
                if self._failed is not None and self._clock.steady() - self._failed[0] < RETRY_SECONDS:
                    fault = self._failed[1]  # a new one: one that is raised twice would collect the frames of both
                    raise EmbedderUnavailable(fault.message, hint=fault.hint)
                try:
                    self._session = _PairSession(self._model, self._places.find().folder)
                except EmbedderUnavailable as fault:
                    self._failed = self._clock.steady(), fault
                    raise
            return self._session


class _PairSession:
    """The model in memory, about 100 MB."""

    def __init__(self, model: CrossEncoder, folder: Path):
        self._model = model
        runtime, tokenizers = packages(model)
        self._refusals = refusals(runtime)
        self._session = started(runtime, model, read_whole(model, model.weights, folder / model.weights.name), {})
        words = read_whole(model, model.tokenizer, folder / model.tokenizer.name)
        self._tokenizer: Any = tokenizers.Tokenizer.from_buffer(words)
        self._tokenizer.enable_truncation(MAX_PAIR_TOKENS)
        self._tokenizer.no_padding()

    def score(self, question: str, text: str) -> float:
        """Each pair has its own run: eight bits are of a scale that all tokens of a run share."""
        pair = self._tokenizer.encode(readable(question)[:MAX_READ], readable(text)[:MAX_READ])
        columns = (pair.ids, pair.attention_mask, pair.type_ids)
        given = {name: np.array([numbers], np.int64) for name, numbers in zip(INPUTS, columns, strict=True)}
        try:
            return float(self._session.run(None, given)[0].item())
        except self._refusals as error:
            raise EmbedderUnavailable(f"{self._model.key}: onnxruntime failed ({type(error).__name__})") from error
