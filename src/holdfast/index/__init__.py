"""Meaning as vectors, made on this machine. This room must not know what is remembered, or how it is searched.

`MiniLm` is the default embedder: all-MiniLM-L6-v2 run by onnxruntime, from weights whose hash is pinned. Where
the weights may lie is in `weight_sources.py`; `minilm.onnx` is the network without them, made by tools/minilm_graph.py.
"""

from holdfast.index.minilm import MiniLm
from holdfast.index.weight_sources import Fetch, WeightFolders

__all__ = ["Fetch", "MiniLm", "WeightFolders"]
