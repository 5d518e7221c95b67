"""The packaged graph is what its generator makes, and reads every tensor of the pinned weights that a vector needs."""

from __future__ import annotations

from scripts import load_script

from holdfast.index.onnx_session import GRAPH, UNUSED
from holdfast.index.weight_sources import WeightFiles
from holdfast.index.weights import read_weights

GENERATOR = load_script("tools/minilm_graph.py")


def test_the_packaged_graph_is_what_the_generator_makes() -> None:
    assert GRAPH.read_bytes() == GENERATOR.graph()


def test_the_graph_reads_the_tensors_of_the_weights_file(files: WeightFiles) -> None:
    read = {name: tensor.shape for name, tensor in read_weights(files.weights).items() if name not in UNUSED}

    assert GENERATOR.shapes() == read
