"""A model of sixteen languages: Universal Sentence Encoder, multilingual (Google, Apache-2.0), in eight bits.

One pinned file holds network and tokenizer: an ONNX graph whose first operator, of another package than onnxruntime's,
cuts texts by SentencePiece. That operator is taken out, and the `tokenizers` package cuts texts by the pieces that it
holds: 4,800 descriptions in six languages got the same tokens. Nothing is parsed before the hash is known to be right.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.core.errors import EmbedderUnavailable
from holdfast.core.ports import Vectors
from holdfast.index.local_models import LocalModel
from holdfast.index.onnx_session import Tokens, framed, in_parts, packages, readable, refusals, started
from holdfast.index.weights import read_whole

OUTPUT = "outputs"
TOKENIZER = b"SentencepieceTokenizer"
CUTTERS = b"ai.onnx.contrib"  # the set of operators that it is of
BEGIN, END = 1, 2  # tokens
UNKNOWN = 2  # type of the piece that stands for all others
# Fields of onnx.proto and sentencepiece_model.proto.
MODEL_GRAPH, MODEL_OPERATORS = 7, 8
GRAPH_NODE, GRAPH_INPUT = 1, 11
NODE_OUTPUT, NODE_TYPE, NODE_ATTRIBUTE = 2, 4, 5
ATTRIBUTE_NAME, ATTRIBUTE_BYTES = 1, 4
PIECES, NORMALIZER, CHARACTERS = 1, 3, 2
INT32, INT64 = 6, 7


class MultilingualSession:
    """The model in memory, about 200 MB. Safe to use from many threads; each run stays on the calling thread."""

    def __init__(self, model: LocalModel, folder: Path):
        """Load it, which takes about a second.

        Raises:
            EmbedderUnavailable: a package is missing or too old, or the file is not the pinned one.
        """
        self.model = model
        runtime, tokenizers = packages(model)
        self._refusals = refusals(runtime)
        parts = split(read_whole(model, model.weights, folder / model.weights.name))
        self._inputs = parts.inputs
        self._session = started(runtime, model, parts.graph, {})
        self._tokenizer = _tokenizer(tokenizers, parts.tokenizer)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The token ids of each text, at least two and at most MAX_TOKENS."""
        encoded = self._tokenizer.encode_batch_fast([readable(text).rstrip() for text in texts])
        return [framed(np.array([BEGIN, *one.ids, END], np.int64)) for one in encoded]

    def parts(self, texts: Sequence[str]) -> list[list[str]]:
        """Each text in parts of as many tokens as are read at once, all of nearly the same length."""
        return in_parts(self._tokenizer, texts)

    def vectors(self, texts: Sequence[Tokens]) -> Vectors:
        """One row of length 1 per text. Other threads run meanwhile.

        Raises:
            EmbedderUnavailable: onnxruntime failed, for example without memory.
        """
        ids, ends = self._inputs
        places = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        try:
            out = self._session.run([OUTPUT], {ids: np.concatenate(texts).astype(np.int32), ends: places})[0]
        except self._refusals as error:
            raise EmbedderUnavailable(f"{self.model.key}: onnxruntime failed ({type(error).__name__})") from error
        rows: Vectors = out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return rows


@dataclass(frozen=True, slots=True)
class ModelParts:
    """The file taken apart."""

    graph: bytes  # without the tokenizer
    inputs: tuple[str, str]  # in its place: token ids one after the other, and where each text begins and ends
    tokenizer: bytes


def split(content: bytes) -> ModelParts:
    """The network and the tokenizer of the pinned file."""
    fields = list(_fields(content, 0, len(content)))
    (graph,) = (one for one in fields if one.number == MODEL_GRAPH)
    inside = list(_fields(content, graph.first, graph.end))
    cutter = next(one for one in inside if one.number == GRAPH_NODE and _is_cutter(content, one))
    inputs, tokenizer = _cutter(content, cutter)
    left = [content[one.start : one.end] for one in inside if one is not cutter and one.number != GRAPH_INPUT]
    left += [_input(inputs[0], INT32), _input(inputs[1], INT64)]
    rest = [
        content[one.start : one.end]
        for one in fields
        if one is not graph and not (one.number == MODEL_OPERATORS and CUTTERS in content[one.start : one.end])
    ]
    return ModelParts(b"".join([*rest, _message(MODEL_GRAPH, b"".join(left))]), inputs, tokenizer)


def _is_cutter(content: bytes, node: _Field) -> bool:
    return any(one.number == NODE_TYPE and one.of(content) == TOKENIZER for one in node.inside(content))


def _cutter(content: bytes, node: _Field) -> tuple[tuple[str, str], bytes]:
    """The names of what it makes, and the pieces that it holds."""
    made, held = [], b""
    for one in node.inside(content):
        if one.number == NODE_OUTPUT:
            made.append(one.of(content).decode())
        elif one.number == NODE_ATTRIBUTE:
            values = {inner.number: inner for inner in one.inside(content)}
            if values[ATTRIBUTE_NAME].of(content) == b"model":
                held = values[ATTRIBUTE_BYTES].of(content)
    return (made[0], made[1]), held


def _tokenizer(tokenizers: Any, held: bytes) -> Any:
    pieces: list[tuple[str, float]] = []
    unknown, characters = 0, b""
    for one in _fields(held, 0, len(held)):
        if one.number == PIECES:
            # A piece, its score, and its type unless it is a usual one: read at once, as there are 128,000.
            length = held[one.first + 1]
            text, at = held[one.first + 2 : one.first + 2 + length].decode(), one.first + 2 + length
            if held[one.end - 2 : one.end] == bytes([0x18, UNKNOWN]) and one.end - at > 5:
                unknown = len(pieces)
            pieces.append((text, struct.unpack_from("<f", held, at + 1)[0]))
        elif one.number == NORMALIZER:
            characters = next(inner.of(held) for inner in one.inside(held) if inner.number == CHARACTERS)
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=unknown, byte_fallback=False))
    blanks = tokenizers.normalizers.Replace(tokenizers.Regex(" {2,}"), " ")
    made.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.Precompiled(characters), blanks])
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always", split=True)
    return made


# Protobuf


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a message: its number, where it starts, and where its content begins and ends."""

    number: int
    start: int
    first: int
    end: int

    def of(self, content: bytes) -> bytes:
        return content[self.first : self.end]

    def inside(self, content: bytes) -> Iterator[_Field]:
        return _fields(content, self.first, self.end)


def _fields(content: bytes, at: int, end: int) -> Iterator[_Field]:
    while at < end:
        start = at
        key, at = _varint(content, at)
        first = at
        if key & 7 == 0:
            _, at = _varint(content, at)
        elif key & 7 == 2:
            length, first = _varint(content, at)
            at = first + length
        else:
            at += {1: 8, 5: 4}[key & 7]
        yield _Field(key >> 3, start, first, at)


def _varint(content: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = content[at]
        number, shift, at = number | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return number, at


def _message(number: int, content: bytes) -> bytes:
    return _written(number << 3 | 2) + _written(len(content)) + content


def _written(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _input(name: str, kind: int) -> bytes:
    """ValueInfoProto: an input of one dimension, as long as each run needs."""
    shape = _message(2, _message(1, _message(2, name.encode())))
    return _message(GRAPH_INPUT, _message(1, name.encode()) + _message(2, _message(1, bytes([0x08, kind]) + shape)))
