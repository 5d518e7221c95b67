"""Meaning as vectors, made on this machine. This room must not know what is remembered, or how it is searched.

`LocalEmbedder` runs one of the models of `local_models.py` by onnxruntime, from weights whose hash is pinned. Where the
weights may lie is in `weight_sources.py`; the .onnx files are the networks without them, made by tools/bert_graph.py.
`LocalReranker` reads a question and a text together, in the same way.
"""

from holdfast.index.local_embedder import LocalEmbedder
from holdfast.index.local_models import (
    BERTS,
    GTE_SMALL,
    LOCAL_MODELS,
    MINILM,
    MULTILINGUAL,
    RERANKER,
    BertModel,
    CrossEncoder,
    LocalModel,
)
from holdfast.index.local_reranker import LocalReranker
from holdfast.index.weight_sources import Fetch, WeightFolders

__all__ = [
    "BERTS",
    "GTE_SMALL",
    "LOCAL_MODELS",
    "MINILM",
    "MULTILINGUAL",
    "RERANKER",
    "BertModel",
    "CrossEncoder",
    "Fetch",
    "LocalEmbedder",
    "LocalModel",
    "LocalReranker",
    "WeightFolders",
]
