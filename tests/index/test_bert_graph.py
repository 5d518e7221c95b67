"""The packaged graphs are what their generator makes, and the packaged layouts fit them and the pinned weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from plain_bert import PlainBert
from scripts import load_script

from holdfast.index import BERTS, MINILM, BertModel
from holdfast.index.int8_weights import is_linear
from holdfast.index.weight_sources import WeightFiles
from holdfast.index.weights import NUMBER, layout, read_weights

GENERATOR = load_script("tools/bert_graph.py")
MAKER = load_script("tools/weight_layout.py")


@pytest.mark.parametrize("model", BERTS, ids=lambda model: model.key)
def test_the_packaged_graph_is_what_the_generator_makes(model: BertModel) -> None:
    assert model.graph.read_bytes() == GENERATOR.graph(GENERATOR.network(model))


@pytest.mark.parametrize("model", BERTS, ids=lambda model: model.key)
def test_the_layout_has_every_tensor_that_the_graph_reads_in_its_shape(model: BertModel) -> None:
    needed = GENERATOR.shapes(GENERATOR.network(model))

    found = {name: shape for name, _, shape in layout(model)}

    turned = {name: shape if model.by_output or not is_linear(name) else shape[::-1] for name, shape in needed.items()}
    assert found == turned


@pytest.mark.parametrize("model", BERTS, ids=lambda model: model.key)
def test_no_tensor_lies_over_another_or_beyond_the_file(model: BertModel) -> None:
    free = 0
    for name, first, shape in layout(model):
        assert first >= free, name
        free = first + NUMBER.itemsize * math.prod(shape)
    assert free <= model.weights.size


def test_the_packaged_layout_is_what_the_file_says(files: WeightFiles) -> None:
    said = MAKER.safetensors_layout(files.weights.read_bytes())

    assert {name: (first, tuple(shape)) for name, (first, shape) in said.items()} == {
        name: (first, shape) for name, first, shape in layout(MINILM)
    }


def test_the_tensors_are_those_of_the_file(files: WeightFiles, plain: PlainBert) -> None:
    for name, tensor in read_weights(MINILM, files.weights).items():
        assert np.array_equal(tensor, plain.weights[name].astype(np.float32)), name
