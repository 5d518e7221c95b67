"""A model of the same form as the local ones with a few thousand weights, drawn by chance and written to a folder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scripts import load_script
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from holdfast.index import BertModel
from holdfast.index.int8_weights import is_linear
from holdfast.index.likeness_scale import LikenessScale
from holdfast.index.local_models import PinnedFile

GENERATOR = load_script("tools/bert_graph.py")
WORDS = "[PAD] [UNK] [CLS] [SEP] the harbour pier lamp boat rope tide opens closes at six seven green red".split()
GAP = b"what stands between two tensors"


@dataclass(frozen=True)
class SmallModel:
    model: BertModel
    folder: Path
    weights: dict[str, np.ndarray]  # linear layers as (out, in)
    network: Any


def make_small(folder: Path, *, quantized: bool, scale: LikenessScale | None = None) -> SmallModel:
    """Its files in the folder, side by side, and graph and layout beside them."""
    network = GENERATOR.Network("small", 2, quantized, dims=32, heads=4, words=len(WORDS), positions=260)
    chance = np.random.default_rng(7)
    weights = {
        name: (chance.standard_normal(shape) * (0.3 if len(shape) > 1 else 0.1)).astype("<f4")
        for name, shape in GENERATOR.shapes(network).items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    content, layout = GAP, {}
    for name, tensor in weights.items():
        stored = tensor.T if quantized and is_linear(name) else tensor
        layout[name] = (len(content), stored.shape)
        content += stored.tobytes() + GAP
    (folder / "model.onnx").write_bytes(content)
    (folder / "tokenizer.json").write_text(_tokenizer().to_str())
    (folder / "layout.json").write_text(json.dumps(layout))
    (folder / "graph.onnx").write_bytes(GENERATOR.graph(network))
    model = BertModel(
        key="small",
        label="small",
        weights=_pinned(folder / "model.onnx", "onnx/model.onnx"),
        tokenizer=_pinned(folder / "tokenizer.json", ""),
        hub="http://127.0.0.1:9",
        version="1",
        layers=2,
        quantized=quantized,
        graph=folder / "graph.onnx",
        layout=folder / "layout.json",
        by_output=not quantized,
        scale=scale,
        width=32,
    )
    return SmallModel(model, folder, weights, network)


def _tokenizer() -> Tokenizer:
    made = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def _pinned(path: Path, remote: str) -> PinnedFile:
    content = path.read_bytes()
    return PinnedFile(path.name, len(content), hashlib.sha256(content).hexdigest(), remote)
