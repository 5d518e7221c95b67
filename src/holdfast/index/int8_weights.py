"""Weights in eight bits instead of 32: half the time and a third of the memory. Pure.

Each output of a linear layer has its own scale, and its weights lie between -63 and 63: the processor adds products of
two neighbouring numbers in 16 bits (AVX2), which two of 127 times 255 overflow. Measured on all-MiniLM-L6-v2, cosine to
the vector in float32: .987 at least, with one scale for a layer and 127 .925.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 63
ROWS = "embeddings.word_embeddings"  # only looked up, never multiplied: float16 is as good
SCALE = ".scale"

Tensors = dict[str, NDArray[Any]]


def is_linear(name: str) -> bool:
    """Whether these are the weights of a linear layer."""
    return name.startswith("encoder.") and name.endswith(".weight") and ".LayerNorm." not in name


def quantized(name: str, tensor: NDArray[np.float32], by_output: bool) -> Tensors:
    """What the session is handed in place of a tensor of the file; `by_output`: a linear layer's rows are outputs."""
    if name == f"{ROWS}.weight":
        return {name: tensor.astype(np.float16)}
    if not is_linear(name):
        return {name: tensor}
    weights = tensor.T if by_output else tensor
    scale = np.maximum(np.abs(weights).max(axis=0), np.finfo(np.float32).tiny) / np.float32(LARGEST)
    steps = np.ascontiguousarray(np.rint(weights / scale).astype(np.int8))
    return {name: steps, f"{name}{SCALE}": scale}
