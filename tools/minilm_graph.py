"""Writes src/holdfast/index/minilm.onnx: the network of all-MiniLM-L6-v2 as an ONNX graph, without its weights.

    python tools/minilm_graph.py

Tokens in, one vector of length 1 out, standard operators only: BERT with 6 layers, then the mean over the tokens that
are text, then length 1. Linear layers run as Gemm over all tokens of the batch at once, with the weights as they lie in
the file (out, in), so that none is transposed first. The protobuf messages are written here because the `onnx` package
is 20 MB to install for what is 90 lines; their field numbers are those of onnx.proto.
tests/index/test_minilm_graph.py compares the file with what this script makes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.index.onnx_session import DIMS, GRAPH, IDS, MASK, VECTORS

HEADS = 12
LAYERS = 6
INNER = 4 * DIMS
WORDS, POSITIONS, SEGMENTS = 30_522, 512, 2
HEAD_DIMS = DIMS // HEADS
EPSILON = 1e-12
# Added to the score of padding before the softmax: e^-10000 is zero in float32 and, unlike -inf, never NaN.
HIDDEN = -10_000.0


def graph() -> bytes:
    """The ONNX model; the weights themselves are handed to the session."""
    draw = _GraphBuilder()
    tokens = _embedded(draw)
    hidden = _padding(draw)
    for layer in range(LAYERS):
        tokens = _layer(draw, f"encoder.layer.{layer}", tokens, hidden)
    _pooled(draw, tokens)
    return model(
        "all-MiniLM-L6-v2",
        draw.nodes,
        [*draw.constants.values(), *(handed_in(name, shape) for name, shape in shapes().items())],
        [value(name, INT64, ("texts", "tokens")) for name in (IDS, MASK)],
        [value(VECTORS, FLOAT, ("texts", DIMS))],
    )


def shapes() -> dict[str, tuple[int, ...]]:
    """The shape of every tensor that the graph reads from the weights."""
    sizes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (WORDS, DIMS),
        "embeddings.position_embeddings.weight": (POSITIONS, DIMS),
        "embeddings.token_type_embeddings.weight": (SEGMENTS, DIMS),
    }
    linear = {
        "attention.output.dense": (DIMS, DIMS),
        "intermediate.dense": (INNER, DIMS),
        "output.dense": (DIMS, INNER),
    }
    linear |= {f"attention.self.{one}": (DIMS, DIMS) for one in ("query", "key", "value")}
    norms = ["embeddings"]
    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        norms += [f"{layer}.attention.output", f"{layer}.output"]
        for name, size in linear.items():
            sizes |= {f"{layer}.{name}.weight": size, f"{layer}.{name}.bias": size[:1]}
    for name in norms:
        sizes |= {f"{name}.LayerNorm.{part}": (DIMS,) for part in ("weight", "bias")}
    return sizes


class _GraphBuilder:
    """The nodes and constants of a graph while it is drawn."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self.constants: dict[str, bytes] = {}

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Attribute) -> str:
        """One operator; the name of its output."""
        output = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(node(operator, inputs, output, attributes))
        return output

    def numbers(self, *values: int) -> str:
        return self._constant("_".join(map(str, ("i", *values))), np.array(values, np.int64))

    def scalar(self, value: float) -> str:
        return self._constant(f"f_{value}", np.array(value, np.float32))

    def _constant(self, name: str, value: NDArray[np.float32] | NDArray[np.int64]) -> str:
        self.constants.setdefault(name, constant(name, value))
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
    draw.add("Cast", MASK, name="is_text", to=FLOAT)
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


# Protobuf

FLOAT, INT64 = 1, 7  # TensorProto.DataType
IR_VERSION = 9  # the oldest that allows OPSET
OPSET = 20  # the first with Gelu as one operator

Attribute = int | float | Sequence[int]
# A size, or the name of a dimension that each run brings along.
Dimension = int | str


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written as 64-bit two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def _bytes(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(raw)) + raw


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        content = _float(2, value) + _number(20, 1)
    elif isinstance(value, int):
        content = _number(3, value) + _number(20, 2)
    else:
        content = b"".join(_number(8, one) for one in value) + _number(20, 7)
    return _bytes(1, name) + content


def node(operator: str, inputs: Sequence[str], output: str, attributes: dict[str, Attribute]) -> bytes:
    """NodeProto: one operator of the standard set with one output."""
    return b"".join(
        [
            *(_bytes(1, name) for name in inputs),
            _bytes(2, output),
            _bytes(4, operator),
            *(_bytes(5, _attribute(name, value)) for name, value in attributes.items()),
        ]
    )


def constant(name: str, value: NDArray[np.float32] | NDArray[np.int64]) -> bytes:
    """TensorProto: a small constant, held in the graph itself."""
    kind = FLOAT if value.dtype == np.float32 else INT64
    dims = b"".join(_number(1, size) for size in value.shape)
    return dims + _number(2, kind) + _bytes(8, name) + _bytes(9, value.tobytes())


def handed_in(name: str, shape: Sequence[int]) -> bytes:
    """TensorProto: weights that the session is given beside the graph, so that they are never copied into it."""
    dims = b"".join(_number(1, size) for size in shape)
    elsewhere = _bytes(1, "location") + _bytes(2, "memory")
    return dims + _number(2, FLOAT) + _bytes(8, name) + _bytes(13, elsewhere) + _number(14, 1)


def value(name: str, kind: int, dims: Sequence[Dimension]) -> bytes:
    """ValueInfoProto: an input or output of the graph."""
    shape = b"".join(_bytes(1, _number(1, dim) if isinstance(dim, int) else _bytes(2, dim)) for dim in dims)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))


def model(
    name: str, nodes: Sequence[bytes], tensors: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes]
) -> bytes:
    """ModelProto: the whole graph."""
    graph = b"".join(
        [
            *(_bytes(1, one) for one in nodes),
            _bytes(2, name),
            *(_bytes(5, one) for one in tensors),
            *(_bytes(11, one) for one in inputs),
            *(_bytes(12, one) for one in outputs),
        ]
    )
    return _number(1, IR_VERSION) + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _number(2, OPSET))


if __name__ == "__main__":
    GRAPH.write_bytes(graph())
