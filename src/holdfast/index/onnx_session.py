"""The loaded model: tokens and vectors of a handful of texts. Knows nothing of threads, caches or batches.

onnxruntime and tokenizers are imported when a model is loaded, not before: a server that searches by words only,
or had no query yet, pays neither their 60 ms nor their 23 MB.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.core.errors import EmbedderUnavailable
from holdfast.core.ports import Vectors
from holdfast.index.int8_weights import Tensors
from holdfast.index.local_models import BertModel, LocalModel
from holdfast.index.remedies import install_runtime
from holdfast.index.weights import read_weights, read_whole

# The inputs and the output of the network; tools/bert_graph.py writes the files.
IDS, MASK, VECTORS = "ids", "mask", "vectors"

# As MiniLM was trained for sentences; what is longer is cut, or read in parts. gte-small reads 512, but finds more in
# parts of 254 than of 510 (docs/benchmarks/quality.md).
MAX_TOKENS = 256
FRAME = 2  # tokens that mark where a text begins and ends
MOST_TOKENS_OF_A_SIGN = 3  # a Korean syllable is taken apart
MAX_PARTS = 32  # of one text: a second of one processor
# More than that many parts in English, and a bound for what the tokenizer reads of a huge text.
MAX_CHARS = 40_000

Tokens = NDArray[np.int64]


class Session:
    """A model in memory, about 100 MB. Safe to use from many threads; each run stays on the calling thread."""

    def __init__(self, model: BertModel, folder: Path):
        """Load it, which takes about half a second.

        Raises:
            EmbedderUnavailable: a package is missing or too old, or the files are not the pinned ones.
        """
        self.model = model
        runtime, tokenizers = packages(model)
        # The weights first: what is freed while they load is then used by the tokenizer, 12 MB less in the end.
        self._refusals = refusals(runtime)
        tensors = read_weights(model, folder / model.weights.name)
        self._session = started(runtime, model, model.graph.read_bytes(), tensors)
        words = read_whole(model, model.tokenizer, folder / model.tokenizer.name)
        self._tokenizer = tokenizers.Tokenizer.from_buffer(words)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The token ids of each text, at least two and at most MAX_TOKENS."""
        # The batch form lets other threads run meanwhile; the single one does not.
        encoded = self._tokenizer.encode_batch_fast([readable(text) for text in texts])
        return [framed(np.array(one.ids, np.int64)) for one in encoded]

    def parts(self, texts: Sequence[str]) -> list[list[str]]:
        """Each text in parts of as many tokens as are read at once, all of nearly the same length."""
        return in_parts(self._tokenizer, texts)

    def vectors(self, texts: Sequence[Tokens]) -> Vectors:
        """One row of length 1 per text. Other threads run meanwhile.

        Raises:
            EmbedderUnavailable: onnxruntime failed, for example without memory.
        """
        longest = max(map(len, texts))
        ids = np.zeros((len(texts), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(texts):
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        try:
            out: Vectors = self._session.run([VECTORS], {IDS: ids, MASK: mask})[0]
        except self._refusals as error:
            raise EmbedderUnavailable(f"{self.model.key}: onnxruntime failed ({type(error).__name__})") from error
        return out


def in_parts(tokenizer: Any, texts: Sequence[str]) -> list[list[str]]:
    """Each text in parts of at most MAX_TOKENS with their frame, all of nearly the same length."""
    long = {text: readable(text) for text in texts if len(text) * MOST_TOKENS_OF_A_SIGN > MAX_TOKENS - FRAME}
    encoded = tokenizer.encode_batch(list(long.values()), add_special_tokens=False)
    cut = {
        text: _cut(read, [start for start, _ in one.offsets])
        for (text, read), one in zip(long.items(), encoded, strict=True)
    }
    return [cut.get(text) or [text] for text in texts]


def readable(text: str) -> str:
    """As much of a text as the tokenizer is given. Half a surrogate pair would be an error."""
    return text.lstrip()[:MAX_CHARS].encode("utf-8", "replace").decode()


def framed(ids: Tokens) -> Tokens:
    """At most MAX_TOKENS, of which the last one marks the end of the text."""
    return ids if len(ids) <= MAX_TOKENS else np.append(ids[: MAX_TOKENS - 1], ids[-1])


def _cut(text: str, starts: Sequence[int]) -> list[str]:
    """The text in parts, by where its tokens start; parts of the same length find more than full ones and a rest."""
    count = max(1, min(-(-len(starts) // (MAX_TOKENS - FRAME)), MAX_PARTS))
    tokens = min(len(starts), count * (MAX_TOKENS - FRAME))
    places = [*starts, len(text)]
    cuts = [places[tokens * part // count] for part in range(count + 1)]
    return [text[first:end] for first, end in pairwise(cuts) if first < end]


def packages(model: LocalModel) -> tuple[Any, Any]:
    # Newer builds of onnxruntime report process and machine to their maker, unless this is set before the import.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
        import tokenizers
    except ImportError as error:
        raise EmbedderUnavailable(
            f"{model.key}: the package {error.name} cannot be loaded",
            hint=f"{install_runtime()}.",
        ) from error
    return onnxruntime, tokenizers


def refusals(runtime: Any) -> tuple[type[Exception], ...]:
    """What onnxruntime raises; its classes have nothing in common but their module."""
    kinds = runtime.capi.onnxruntime_pybind11_state
    return (kinds.Fail, kinds.RuntimeException, kinds.InvalidArgument, kinds.InvalidGraph, kinds.NotImplemented)


def started(runtime: Any, model: LocalModel, graph: bytes, tensors: Tensors) -> Any:
    """A session of this graph on these weights, which it uses where they lie and frees where it keeps its own form."""
    options = runtime.SessionOptions()
    # One thread per run, the caller's: it then has the caller's priority, and two batches on two threads are
    # faster than one batch on both.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # plans memory per shape; with ever new shapes that only costs (30 MB)
    options.log_severity_level = 4
    values = [runtime.OrtValue.ortvalue_from_numpy(one) for one in tensors.values()]
    options.add_external_initializers(list(tensors), values)
    try:
        return runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except refusals(runtime) as error:
        raise EmbedderUnavailable(
            f"{model.key}: onnxruntime {runtime.__version__} cannot run the model ({type(error).__name__})",
            hint=f"{install_runtime('-U')}.",
        ) from error
