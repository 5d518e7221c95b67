"""Writes where each tensor lies in a model's weights: src/holdfast/index/minilm.json and gte_small.json.

    python tools/weight_layout.py minilm model.safetensors
    python tools/weight_layout.py gte-small model.onnx

Run once for each pinned file, whose hash is checked first. Names are those of BERT; in an exported ONNX file the
weights of a linear layer have none, so they get the name of the bias that is added to their product.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from holdfast.index.local_models import BERTS

Layout = dict[str, tuple[int, list[int]]]  # first byte and shape, by name
Span = tuple[int, int]


def safetensors_layout(content: bytes) -> Layout:
    """safetensors: 8 bytes length of a header, the header as JSON, then the tensors one after the other."""
    (length,) = struct.unpack("<Q", content[:8])
    rows = json.loads(content[8 : 8 + length])
    return {
        name: (8 + length + row["data_offsets"][0], row["shape"])
        for name, row in rows.items()
        if row.get("dtype") == "F32" and not name.startswith("pooler.")
    }


def onnx_layout(content: bytes) -> Layout:
    """ONNX: the graph's initializers, as far as they are float32 and of a BERT."""
    (graph,) = (span for field, span, _ in _fields(content, (0, len(content))) if field == 7)
    parts = list(_fields(content, graph))
    found = dict(_tensor(content, span) for field, span, _ in parts if field == 5)
    named = _linear_names(content, [span for field, span, _ in parts if field == 1])
    layout = {named.get(name, name): place for name, place in found.items() if place[1]}
    return {name: place for name, place in layout.items() if name.startswith(("embeddings.", "encoder."))}


def _tensor(content: bytes, span: Span) -> tuple[str, tuple[int, list[int]]]:
    shape: list[int] = []
    name, first = "", 0
    for field, (start, end), number in _fields(content, span):
        if field == 1:
            shape.append(number)
        elif field == 8:
            name = content[start:end].decode()
        elif field == 9:
            first = start
    return name, (first, shape)


def _linear_names(content: bytes, nodes: list[Span]) -> dict[str, str]:
    """The name of each linear layer's weights, by the name they have in the file."""
    weights: dict[str, str] = {}  # by what they make
    named: dict[str, str] = {}
    for span in nodes:
        texts: dict[int, list[str]] = {1: [], 2: [], 4: []}
        for field, (start, end), _ in _fields(content, span):
            if field in texts:
                texts[field].append(content[start:end].decode())
        inputs, outputs, (operator,) = texts[1], texts[2], texts[4]
        if operator == "MatMul":
            weights[outputs[0]] = inputs[1]
        biases = [one for one in inputs if one.endswith(".bias")]
        if operator == "Add" and biases:
            named |= {weights[one]: f"{biases[0][:-5]}.weight" for one in inputs if one in weights}
    return named


def _fields(content: bytes, span: Span) -> Iterator[tuple[int, Span, int]]:
    """The fields of a protobuf message: number, where the content lies, and its value if it is a number."""
    at, end = span
    while at < end:
        key, at = _varint(content, at)
        number, start = 0, at
        if key & 7 == 0:
            number, at = _varint(content, at)
        elif key & 7 == 2:
            length, start = _varint(content, at)
            at = start + length
        else:
            at += {1: 8, 5: 4}[key & 7]
        yield key >> 3, (start, at), number


def _varint(content: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = content[at]
        number, shift, at = number | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return number, at


def main() -> None:
    models = {one.key: one for one in BERTS}
    model, content = models[sys.argv[1]], Path(sys.argv[2]).read_bytes()
    if hashlib.sha256(content).hexdigest() != model.weights.sha256:
        sys.exit(f"{sys.argv[2]} is not the pinned {model.weights.name} of {model.label}")
    found = safetensors_layout(content) if model.weights.name.endswith(".safetensors") else onnx_layout(content)
    rows = (f"{json.dumps(name)}: {json.dumps(place)}" for name, place in sorted(found.items()))
    model.layout.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
