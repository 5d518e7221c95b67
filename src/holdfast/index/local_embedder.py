"""A sentence model on this machine: the embedder that needs no network, no key and no torch."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

import numpy as np

from holdfast.core.errors import EmbedderUnavailable, Fault
from holdfast.core.model import CleanText
from holdfast.core.ports import Clock, Vectors
from holdfast.index.batches import batches
from holdfast.index.idle_threads import IdleThreads
from holdfast.index.local_models import LATIN, BertModel
from holdfast.index.multilingual import MultilingualSession
from holdfast.index.onnx_session import Session, Tokens
from holdfast.index.remedies import correct_path
from holdfast.index.weight_sources import WeightFiles, WeightFolders

# Texts tokenized by one thread at a time: some 10 ms of work, of the longest ones a second.
TOKENIZE_TEXTS = 64
# Questions whose vectors are kept: the same one comes again within a session. 384 kB of vectors.
KEPT_QUESTIONS = 256
LONGEST_KEPT = 2_000  # characters; a longer one is hardly repeated
# Seconds after a failure before the model is tried again: else every question would pay for it.
RETRY_SECONDS = 60.0

Made = TypeVar("Made")

_PICTURE = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff]")
_LATIN = re.compile(f"[{LATIN}]")


def readable_share(text: str, letters: re.Pattern[str] = _LATIN) -> float:
    """How much of a text's letters and pictures are such letters; all, if it has none."""
    if text.isascii():
        return 1.0
    signs = sum(map(str.isalpha, text)) + len(_PICTURE.findall(text))
    return min(1.0, len(letters.findall(text)) / signs) if signs else 1.0  # Thai vowels are no letters


class LocalEmbedder:
    """Vectors of one of the local models. Making one loads nothing; `prepare`, or the first use, does."""

    def __init__(self, places: WeightFolders, clock: Clock, threads: int | None = None):
        self._places = places
        self._scale = places.model.scale
        self.name = places.model.name
        self.dims = places.model.dims
        self._clock = clock
        self._background = IdleThreads(threads)
        self._questions = _QueryCache(KEPT_QUESTIONS)
        self._session: Session | MultilingualSession | None = None
        self._loading = Lock()
        self._obtaining = Lock()
        self._failed: _Failed | None = None

    def prepare(self) -> None:
        """Have the model ready, also if it must be downloaded first. For the background: it may take minutes.

        Raises:
            EmbedderUnavailable: there is no model to be had; the message says why.
        """
        if self._session is not None:
            return
        with self._obtaining:
            if self._session is None:
                self._raise_again(only_final=True)
                try:
                    self._places.obtain()
                except EmbedderUnavailable as fault:
                    raise self._remembered(fault, final=True) from fault
                self._loaded(final=True)

    def parts(self, texts: Sequence[CleanText]) -> list[list[CleanText]]:
        """Each text in parts of up to 254 tokens, 32 of them at most.

        Raises:
            EmbedderUnavailable: there is no model to be had; the message says why.
        """
        self.prepare()
        cut = self._in_background(self._loaded().parts, texts)
        return [[CleanText(part) for part in one] for one in cut]

    def embed(self, texts: Sequence[CleanText]) -> Vectors:
        """One row for each text, made at the lowest priority on all processors.

        Raises:
            EmbedderUnavailable: there is no model to be had; the message says why.
        """
        rows = np.empty((len(texts), self.dims), np.float32)
        if not texts:
            return rows
        self.prepare()
        session = self._loaded()
        tokens = self._in_background(session.tokens, texts)

        def vectors(places: list[int]) -> Vectors:
            made = session.vectors([tokens[place] for place in places])
            return made if self._scale is None else self._scale.stored(made)

        together = self._together(tokens)
        for places, made in zip(together, self._background.map(vectors, together), strict=True):
            rows[places] = made
        return rows

    def _together(self, tokens: Sequence[Tokens]) -> list[list[int]]:
        """The places of the texts of each run. Eight bits are of a scale that all tokens of a run share: there each
        text has its own run, or its vector would depend on its neighbours (to a cosine of .997), and more slowly."""
        if self._places.model.quantized:
            return [[place] for place in range(len(tokens))]
        return batches([len(one) for one in tokens])

    def embed_query(self, text: CleanText) -> Vectors:
        """The vector of one question, at the priority of the caller. Never waits for a download.

        Raises:
            EmbedderUnavailable: as above, or the model is not on this machine yet.
        """
        if (kept := self._questions.get(text)) is not None:
            return kept
        session = self._session or self._loaded()
        vector: Vectors = session.vectors(session.tokens([text]))[0]
        if self._scale is not None:
            vector = self._scale.question(vector)
        vector.flags.writeable = False
        self._questions.put(text, vector)
        return vector

    def likeness(self, one: Vectors, rows: Vectors) -> Vectors:
        """The cosine of the angles, on MiniLM's scale."""
        return rows @ one if self._scale is None else self._scale.likeness(one, rows)

    def fault(self) -> Fault | None:
        """Why there is no model; None if there is one, or it was not needed yet."""
        failed = self._failed
        if self._session is not None or failed is None or self._installed_since(failed):
            return None
        return failed.fault

    def reads(self, text: str) -> float:
        """The share of letters of the scripts that the model was trained on: it takes others letter by letter, so that
        all texts in one look alike to it; pictures it does not know at all."""
        return readable_share(text, self._places.model.letters)

    def _in_background(self, work: Callable[[Sequence[str]], list[Made]], texts: Sequence[CleanText]) -> list[Made]:
        some = [texts[first : first + TOKENIZE_TEXTS] for first in range(0, len(texts), TOKENIZE_TEXTS)]
        return [one for made in self._background.map(work, some) for one in made]

    def _loaded(self, final: bool = False) -> Session | MultilingualSession:
        """The session, from files on this machine."""
        with self._loading:
            if self._session is None:
                self._raise_again(only_final=final)
                self._session = self._load(final)
                self._failed = None
            return self._session

    def _load(self, final: bool) -> Session | MultilingualSession:
        files: WeightFiles | None = None
        try:
            files = self._places.find()
            model = files.model
            if isinstance(model, BertModel):
                return Session(model, files.folder)
            return MultilingualSession(model, files.folder)
        except EmbedderUnavailable as fault:
            if files is not None:
                files.discard()
                if files.given:  # to install the weights would be of no use
                    fault = EmbedderUnavailable(fault.message, hint=correct_path(files.model))
            raise self._remembered(fault, final, found=files is not None) from fault

    def _remembered(self, fault: EmbedderUnavailable, final: bool, found: bool = False) -> EmbedderUnavailable:
        self._failed = _Failed(self._clock.steady(), fault, final, found)
        return _anew(fault)

    def _raise_again(self, only_final: bool) -> None:
        failed = self._failed
        if failed is None or (only_final and not failed.final):
            return
        if self._clock.steady() - failed.at < RETRY_SECONDS and not self._installed_since(failed):
            raise _anew(failed.fault)

    def _installed_since(self, failed: _Failed) -> bool:
        """Whether the files that were missing are here now: who followed the hint is not made to wait."""
        return not failed.found and self._places.are_here()


@dataclass(frozen=True, slots=True)
class _Failed:
    """Why there is no model. A question that found none does not show whether a download would succeed."""

    at: float  # by the monotonic clock
    fault: EmbedderUnavailable
    final: bool  # everything was tried
    found: bool  # the files were here, and could not be used


def _anew(fault: EmbedderUnavailable) -> EmbedderUnavailable:
    """A new fault with the same message: one that is raised twice would collect the frames of both."""
    return EmbedderUnavailable(fault.message, hint=fault.hint)


class _QueryCache:
    """The vectors of the latest questions: one that is asked again takes 1.4 times as long without
    (bench/mechanisms.py)."""

    def __init__(self, limit: int):
        self._limit = limit
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = Lock()

    def get(self, text: str) -> Vectors | None:
        with self._lock:
            vector = self._vectors.get(text)
            if vector is not None:
                self._vectors.move_to_end(text)
            return vector

    def put(self, text: str, vector: Vectors) -> None:
        if len(text) > LONGEST_KEPT:
            return
        with self._lock:
            self._vectors[text] = vector
            if len(self._vectors) > self._limit:
                self._vectors.popitem(last=False)
