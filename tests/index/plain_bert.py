"""The model once more, in plain numpy and straight from the file: what the graph is compared with."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np

ERF = np.vectorize(math.erf)


def read(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file by name."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    places = {name: [8 + length + at for at in row.get("data_offsets", ())] for name, row in header.items()}
    return {
        name: np.frombuffer(content[slice(*places[name])], "<f4").reshape(row["shape"])
        for name, row in header.items()
        if row.get("dtype") == "F32"
    }


class PlainBert:
    def __init__(self, weights: dict[str, np.ndarray], layers: int = 6, heads: int = 12):
        self.weights = {name: tensor.astype(np.float64) for name, tensor in weights.items()}
        self.layers, self.heads = layers, heads

    def vector(self, ids: list[int]) -> np.ndarray:
        """Of one text without padding."""
        words = self.weights["embeddings.word_embeddings.weight"][ids]
        places = self.weights["embeddings.position_embeddings.weight"][: len(ids)]
        x = self._norm("embeddings", words + places + self.weights["embeddings.token_type_embeddings.weight"][0])
        for layer in range(self.layers):
            x = self._layer(f"encoder.layer.{layer}.", x)
        mean = x.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _layer(self, at: str, x: np.ndarray) -> np.ndarray:
        q, k, v = (self._linear(f"{at}attention.self.{part}", x) for part in ("query", "key", "value"))
        heads = []
        width = q.shape[1] // self.heads
        for first in range(0, q.shape[1], width):
            part = slice(first, first + width)
            scores = np.exp(q[:, part] @ k[:, part].T / math.sqrt(width))
            heads.append(scores / scores.sum(axis=1, keepdims=True) @ v[:, part])
        said = self._linear(f"{at}attention.output.dense", np.concatenate(heads, axis=1))
        x = self._norm(f"{at}attention.output", said + x)
        inner = self._linear(f"{at}intermediate.dense", x)
        inner = inner * 0.5 * (1 + ERF(inner / math.sqrt(2)))
        return self._norm(f"{at}output", self._linear(f"{at}output.dense", inner) + x)

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-12)
        return centred / spread * self.weights[f"{name}.LayerNorm.weight"] + self.weights[f"{name}.LayerNorm.bias"]
