"""The few ONNX messages that a graph needs, written as protobuf bytes. Knows nothing of any model.

By hand, because the `onnx` package is 20 MB to install and 40 MB in memory for what is 90 lines here: the
weights never pass through these bytes, so they stay below 20 kB. Field numbers are those of onnx.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
