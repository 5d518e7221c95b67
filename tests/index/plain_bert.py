"""The model once more, in plain numpy and straight from the file: what the graph is compared with."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np

ERF = np.vectorize(math.erf)


class PlainBert:
    def __init__(self, path: Path):
        content = path.read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        self.weights = {
            name: np.frombuffer(
                content[8 + length + row["data_offsets"][0] : 8 + length + row["data_offsets"][1]], "<f4"
            )
            .reshape(row["shape"])
            .astype(np.float64)
            for name, row in header.items()
            if row.get("dtype") == "F32"
        }

    def vector(self, ids: list[int]) -> np.ndarray:
        """Of one text without padding."""
        words = self.weights["embeddings.word_embeddings.weight"][ids]
        places = self.weights["embeddings.position_embeddings.weight"][: len(ids)]
        x = self._norm("embeddings", words + places + self.weights["embeddings.token_type_embeddings.weight"][0])
        for layer in range(6):
            x = self._layer(f"encoder.layer.{layer}.", x)
        mean = x.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _layer(self, at: str, x: np.ndarray) -> np.ndarray:
        q, k, v = (self._linear(f"{at}attention.self.{part}", x) for part in ("query", "key", "value"))
        heads = []
        for first in range(0, 384, 32):
            part = slice(first, first + 32)
            scores = np.exp(q[:, part] @ k[:, part].T / math.sqrt(32))
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
