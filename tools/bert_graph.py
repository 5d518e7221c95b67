"""Writes the networks of the local models as ONNX graphs without their weights: src/holdfast/index/*.onnx.

    python tools/bert_graph.py

Tokens in, one vector of length 1 out, standard operators only: BERT of some layers, then the mean over the tokens that
are text, then length 1. Linear layers run over all tokens of the batch at once: as Gemm in float32 with the weights as
they lie in the file (out, in), so that none is transposed first, or in int8 with weights (in, out) of a scale for each
output, and tokens quantised by the run. The protobuf messages are written here because the `onnx` package is 20 MB to
install for what is 90 lines; their field numbers are those of onnx.proto.
tests/index/test_bert_graph.py compares the files with what this script makes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.index.int8_weights import ROWS, SCALE, is_linear
from holdfast.index.local_models import BERTS, BertModel
from holdfast.index.onnx_session import IDS, MASK, VECTORS

SEGMENTS = 2
EPSILON = 1e-12
# Added to the score of padding before the softmax: e^-10000 is zero in float32 and, unlike -inf, never NaN.
HIDDEN = -10_000.0


@dataclass(frozen=True, slots=True)
class Network:
    """The sizes of a BERT."""

    name: str
    layers: int
    quantized: bool
    dims: int = 384
    heads: int = 12
    words: int = 30_522
    positions: int = 512

    @property
    def head_dims(self) -> int:
        return self.dims // self.heads

    @property
    def inner(self) -> int:
        return 4 * self.dims


def network(model: BertModel) -> Network:
    return Network(model.label, model.layers, model.quantized)


def graph(net: Network) -> bytes:
    """The ONNX model; the weights themselves are handed to the session."""
    draw = _GraphBuilder(net)
    tokens = _embedded(draw)
    hidden = _padding(draw)
    for layer in range(net.layers):
        tokens = _layer(draw, f"encoder.layer.{layer}", tokens, hidden)
    _pooled(draw, tokens)
    return model(
        net.name,
        draw.nodes,
        [*draw.constants.values(), *(handed_in(name, *one) for name, one in tensors(net).items())],
        [value(name, INT64, ("texts", "tokens")) for name in (IDS, MASK)],
        [value(VECTORS, FLOAT, ("texts", net.dims))],
    )


def shapes(net: Network) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor of the weights' file that the graph needs; those of linear layers as (out, in)."""
    sizes: dict[str, tuple[int, ...]] = {
        f"{ROWS}.weight": (net.words, net.dims),
        "embeddings.position_embeddings.weight": (net.positions, net.dims),
        "embeddings.token_type_embeddings.weight": (SEGMENTS, net.dims),
    }
    linear = {
        "attention.output.dense": (net.dims, net.dims),
        "intermediate.dense": (net.inner, net.dims),
        "output.dense": (net.dims, net.inner),
    }
    linear |= {f"attention.self.{one}": (net.dims, net.dims) for one in ("query", "key", "value")}
    norms = ["embeddings"]
    for layer in (f"encoder.layer.{number}" for number in range(net.layers)):
        norms += [f"{layer}.attention.output", f"{layer}.output"]
        for name, size in linear.items():
            sizes |= {f"{layer}.{name}.weight": size, f"{layer}.{name}.bias": size[:1]}
    for name in norms:
        sizes |= {f"{name}.LayerNorm.{part}": (net.dims,) for part in ("weight", "bias")}
    return sizes


def tensors(net: Network) -> dict[str, tuple[tuple[int, ...], int]]:
    """Shape and type of every tensor that the session is handed."""
    handed: dict[str, tuple[tuple[int, ...], int]] = {name: (shape, FLOAT) for name, shape in shapes(net).items()}
    for name, shape in shapes(net).items() if net.quantized else ():
        if name == f"{ROWS}.weight":
            handed[name] = (shape, FLOAT16)
        elif is_linear(name):
            handed |= {name: (shape[::-1], INT8), f"{name}{SCALE}": (shape[:1], FLOAT)}
    return handed


class _GraphBuilder:
    """The nodes and constants of a graph while it is drawn."""

    def __init__(self, net: Network) -> None:
        self.net = net
        self.nodes: list[bytes] = []
        self.constants: dict[str, bytes] = {}
        self._quantized: dict[str, tuple[str, str, str]] = {}

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Attribute) -> str:
        """One operator; the name of its output."""
        output = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(node(operator, inputs, (output,), attributes))
        return output

    def quantized(self, tokens: str) -> tuple[str, str, str]:
        """Tokens in eight bits, their scale and their zero; made once for all layers that read them."""
        if tokens not in self._quantized:
            made = (f"{tokens}_steps", f"{tokens}_scale", f"{tokens}_zero")
            self.nodes.append(node("DynamicQuantizeLinear", (tokens,), made, {}))
            self._quantized[tokens] = made
        return self._quantized[tokens]

    def numbers(self, *values: int) -> str:
        return self._constant("_".join(map(str, ("i", *values))), np.array(values, np.int64))

    def scalar(self, value: float) -> str:
        return self._constant(f"f_{value}", np.array(value, np.float32))

    def _constant(self, name: str, value: NDArray[np.float32] | NDArray[np.int64]) -> str:
        self.constants.setdefault(name, constant(name, value))
        return name


def _embedded(draw: _GraphBuilder) -> str:
    """Word + position + segment, normed: (texts * tokens, dims)."""
    draw.add("Shape", IDS, name="batch")
    length = draw.add("Gather", "batch", draw.numbers(1))
    draw.add("Concat", "batch", draw.numbers(draw.net.dims), name="by_text", axis=0)
    draw.add("Concat", "batch", draw.numbers(draw.net.heads, draw.net.head_dims), name="by_head", axis=0)
    words = draw.add("Gather", f"{ROWS}.weight", IDS)
    if draw.net.quantized:
        words = draw.add("Cast", words, to=FLOAT)
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
    scores = draw.add("Mul", draw.add("MatMul", query, key), draw.scalar(draw.net.head_dims**-0.5))
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
    if not draw.net.quantized:
        return draw.add("Gemm", tokens, f"{name}.weight", f"{name}.bias", transB=1)
    steps, scale, zero = draw.quantized(tokens)
    # onnxruntime knows these five as one operator of its own.
    whole = draw.add("Cast", draw.add("MatMulInteger", steps, f"{name}.weight", zero), to=FLOAT)
    scaled = draw.add("Mul", whole, draw.add("Mul", scale, f"{name}.weight{SCALE}"))
    return draw.add("Add", scaled, f"{name}.bias")


def _norm(draw: _GraphBuilder, name: str, tokens: str) -> str:
    weights = (f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias")
    return draw.add("LayerNormalization", tokens, *weights, axis=-1, epsilon=EPSILON)


def _flat(draw: _GraphBuilder, tokens: str) -> str:
    return draw.add("Reshape", tokens, draw.numbers(-1, draw.net.dims))


# Protobuf

FLOAT, INT8, INT64, FLOAT16 = 1, 3, 7, 10  # TensorProto.DataType
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


def node(operator: str, inputs: Sequence[str], outputs: Sequence[str], attributes: dict[str, Attribute]) -> bytes:
    """NodeProto: one operator of the standard set."""
    return b"".join(
        [
            *(_bytes(1, name) for name in inputs),
            *(_bytes(2, name) for name in outputs),
            _bytes(4, operator),
            *(_bytes(5, _attribute(name, value)) for name, value in attributes.items()),
        ]
    )


def constant(name: str, value: NDArray[np.float32] | NDArray[np.int64]) -> bytes:
    """TensorProto: a small constant, held in the graph itself."""
    kind = FLOAT if value.dtype == np.float32 else INT64
    dims = b"".join(_number(1, size) for size in value.shape)
    return dims + _number(2, kind) + _bytes(8, name) + _bytes(9, value.tobytes())


def handed_in(name: str, shape: Sequence[int], kind: int) -> bytes:
    """TensorProto: weights that the session is given beside the graph, so that they are never copied into it."""
    dims = b"".join(_number(1, size) for size in shape)
    elsewhere = _bytes(1, "location") + _bytes(2, "memory")
    return dims + _number(2, kind) + _bytes(8, name) + _bytes(13, elsewhere) + _number(14, 1)


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
    for one in BERTS:
        one.graph.write_bytes(graph(network(one)))
