"""The network of all-MiniLM-L6-v2 as an ONNX graph: tokens in, one vector of length 1 out. Standard operators only.

BERT with 6 layers, then the mean over the tokens that are text, then length 1. Linear layers run as Gemm over all
tokens of the batch at once, with the weights as they lie in the file (out, in), so that none is transposed first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.index import wire

DIMS = 384
HEADS = 12
LAYERS = 6
HEAD_DIMS = DIMS // HEADS
EPSILON = 1e-12
# Added to the score of padding before the softmax: e^-10000 is zero in float32 and, unlike -inf, never NaN.
HIDDEN = -10_000.0

IDS, MASK, VECTORS = "ids", "mask", "vectors"

# Present in the file; not part of a sentence's vector.
UNUSED = frozenset({"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"})


def graph(shapes: Mapping[str, Sequence[int]]) -> bytes:
    """The ONNX model for weights of these shapes; the weights themselves are handed to the session."""
    drawing = _GraphBuilder()
    tokens = _embedded(drawing)
    hidden = _padding(drawing)
    for layer in range(LAYERS):
        tokens = _layer(drawing, f"encoder.layer.{layer}", tokens, hidden)
    _pooled(drawing, tokens)
    return wire.model(
        "all-MiniLM-L6-v2",
        drawing.nodes,
        [*drawing.constants.values(), *(wire.handed_in(name, shape) for name, shape in shapes.items())],
        [wire.value(name, wire.INT64, ("texts", "tokens")) for name in (IDS, MASK)],
        [wire.value(VECTORS, wire.FLOAT, ("texts", DIMS))],
    )


class _GraphBuilder:
    """The nodes and constants of a graph while it is drawn."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self.constants: dict[str, bytes] = {}

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: wire.Attribute) -> str:
        """One operator; the name of its output."""
        output = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(wire.node(operator, inputs, output, attributes))
        return output

    def numbers(self, *values: int) -> str:
        return self._constant("_".join(map(str, ("i", *values))), np.array(values, np.int64))

    def scalar(self, value: float) -> str:
        return self._constant(f"f_{value}", np.array(value, np.float32))

    def _constant(self, name: str, value: NDArray[np.float32] | NDArray[np.int64]) -> str:
        self.constants.setdefault(name, wire.constant(name, value))
        return name


def _embedded(draw: _GraphBuilder) -> str:
    """Word + position + segment, normed: (texts * tokens, DIMS)."""
    draw.add("Shape", IDS, name="batch")
    length = draw.add("Gather", "batch", draw.numbers(1))
    draw.add("Concat", "batch", draw.numbers(DIMS), name="by_text", axis=0)
    draw.add("Concat", "batch", draw.numbers(HEADS, HEAD_DIMS), name="by_head", axis=0)
    words = draw.add("Gather", "embeddings.word_embeddings.weight", IDS)
    start = draw.numbers(0)
    places = draw.add("Slice", "embeddings.position_embeddings.weight", start, length, start)
    segment = draw.add("Gather", "embeddings.token_type_embeddings.weight", start)
    summed = draw.add("Add", words, draw.add("Add", places, segment))
    return _norm(draw, "embeddings", _flat(draw, summed))


def _padding(draw: _GraphBuilder) -> str:
    """What is added to attention scores: (texts, 1, 1, tokens), HIDDEN where there is no text."""
    draw.add("Cast", MASK, name="is_text", to=wire.FLOAT)
    empty = draw.add("Sub", draw.scalar(1.0), "is_text")
    return draw.add("Unsqueeze", draw.add("Mul", empty, draw.scalar(HIDDEN)), draw.numbers(1, 2))


def _layer(draw: _GraphBuilder, name: str, tokens: str, hidden: str) -> str:
    context = _attention(draw, f"{name}.attention.self", tokens, hidden)
    said = _linear(draw, f"{name}.attention.output.dense", context)
    attended = _norm(draw, f"{name}.attention.output", draw.add("Add", said, tokens))
    inner = draw.add("Gelu", _linear(draw, f"{name}.intermediate.dense", attended))
    outer = _linear(draw, f"{name}.output.dense", inner)
    return _norm(draw, f"{name}.output", draw.add("Add", outer, attended))


def _attention(draw: _GraphBuilder, name: str, tokens: str, hidden: str) -> str:
    query = _heads(draw, f"{name}.query", tokens, (0, 2, 1, 3))
    key = _heads(draw, f"{name}.key", tokens, (0, 2, 3, 1))
    content = _heads(draw, f"{name}.value", tokens, (0, 2, 1, 3))
    scores = draw.add("Mul", draw.add("MatMul", query, key), draw.scalar(HEAD_DIMS**-0.5))
    shares = draw.add("Softmax", draw.add("Add", scores, hidden), axis=-1)
    mixed = draw.add("MatMul", shares, content)
    return _flat(draw, draw.add("Transpose", mixed, perm=(0, 2, 1, 3)))


def _heads(draw: _GraphBuilder, name: str, tokens: str, order: Sequence[int]) -> str:
    split = draw.add("Reshape", _linear(draw, name, tokens), "by_head")
    return draw.add("Transpose", split, perm=order)


def _pooled(draw: _GraphBuilder, tokens: str) -> None:
    """The sum over the text's tokens, brought to length 1: the mean has the same direction."""
    by_text = draw.add("Reshape", tokens, "by_text")
    row = draw.numbers(1)
    summed = draw.add("MatMul", draw.add("Unsqueeze", "is_text", row), by_text)
    draw.add("LpNormalization", draw.add("Squeeze", summed, row), name=VECTORS, axis=-1, p=2)


def _linear(draw: _GraphBuilder, name: str, tokens: str) -> str:
    return draw.add("Gemm", tokens, f"{name}.weight", f"{name}.bias", transB=1)


def _norm(draw: _GraphBuilder, name: str, tokens: str) -> str:
    weights = (f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias")
    return draw.add("LayerNormalization", tokens, *weights, axis=-1, epsilon=EPSILON)


def _flat(draw: _GraphBuilder, tokens: str) -> str:
    return draw.add("Reshape", tokens, draw.numbers(-1, DIMS))
