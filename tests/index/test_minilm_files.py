"""The model is used only from the pinned files, found in a known order; without them there is one clear message."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.core.errors import EmbedderUnavailable, UpstreamFailed
from holdfast.index import MINILM, LocalEmbedder, LocalModel, WeightFolders
from holdfast.index.remedies import correct_path, install_runtime, install_weights
from holdfast.index.weight_sources import WeightFiles
from holdfast.index.weights import read_weights, read_whole

WEIGHTS, TOKENIZER = MINILM.files
NOTHING_INSTALLED = replace(MINILM, packages=("no-such-package-at-all",))


class Clock:
    at = 0.0

    def now_ms(self) -> int:
        return 0

    def steady(self) -> float:
        return self.at


@pytest.fixture
def copied(tmp_path: Path, files: WeightFiles) -> Path:
    """The two files in a folder of their own; the weights as a link, which no test writes through."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / WEIGHTS.name).symlink_to(files.weights)
    shutil.copy(files.folder / TOKENIZER.name, folder / TOKENIZER.name)
    return folder


def minilm(
    given: Path | str = "", downloads: Path = Path("/nowhere"), model: LocalModel = MINILM, **more: object
) -> LocalEmbedder:
    return LocalEmbedder(WeightFolders(model, str(given), downloads, **more), Clock())  # type: ignore[arg-type]


def refused(model: LocalEmbedder) -> EmbedderUnavailable:
    """The fault, which is the same for everything that needs the model."""
    faults = []
    for use in (model.prepare, lambda: model.embed(["text"]), lambda: model.embed_query("text")):
        with pytest.raises(EmbedderUnavailable) as caught:
            use()
        faults.append(str(caught.value))
    assert len(set(faults)) == 1
    assert caught.value.hint
    return caught.value


def spoil(path: Path, change: Callable[[bytearray], None], source: Path) -> None:
    content = bytearray(source.read_bytes())
    change(content)
    path.unlink(missing_ok=True)
    path.write_bytes(content)


# Where it is found


def test_the_path_of_the_operator_comes_first(copied: Path) -> None:
    assert WeightFolders(MINILM, str(copied), Path("/nowhere")).find() == WeightFiles(MINILM, copied, given=True)
    assert WeightFolders(MINILM, str(copied / WEIGHTS.name), Path("/nowhere")).find() == WeightFiles(
        MINILM, copied, given=True
    )
    assert minilm(copied).embed(["text"]).shape == (1, 384)


def test_an_installed_package_comes_before_a_download(copied: Path, files: WeightFiles) -> None:
    assert WeightFolders(MINILM, "", copied).find() == files
    assert not files.downloaded


def test_what_was_downloaded_before_is_used_again(copied: Path) -> None:
    assert minilm("", copied, NOTHING_INSTALLED, fetch=None).embed(["text"]).shape == (1, 384)


def test_without_any_weights_the_message_says_how_to_get_them() -> None:
    fault = refused(minilm(model=NOTHING_INSTALLED))
    assert "not installed" in str(fault)
    assert fault.hint == f"{install_weights(NOTHING_INSTALLED)}."


@pytest.mark.parametrize("given", ["/no/such/folder", "/etc/passwd", "/tmp"])
def test_a_path_without_the_files_is_refused_and_nothing_else_is_tried(given: str) -> None:
    fault = refused(minilm(given))
    assert "HOLDFAST_EMBEDDER_PATH" in str(fault)
    assert fault.hint == correct_path(MINILM)


def test_making_an_embedder_looks_for_nothing() -> None:
    made = minilm("/no/such/folder")
    assert made.dims == 384
    assert WEIGHTS.sha256[:12] in made.name


# What is not the pinned file


def _flip(content: bytearray) -> None:
    content[50_000_000] ^= 1


def _flip_head(content: bytearray) -> None:
    content[100] ^= 1


def _cut(content: bytearray) -> None:
    del content[-1:]


def _empty(content: bytearray) -> None:
    content.clear()


def _zero(content: bytearray) -> None:
    content[:] = bytes(len(content))


@pytest.mark.parametrize("change", [_flip, _flip_head, _cut, _empty, _zero])
def test_weights_that_differ_in_any_way_are_refused(
    change: Callable[[bytearray], None], copied: Path, files: WeightFiles
) -> None:
    spoil(copied / WEIGHTS.name, change, files.weights)

    fault = refused(minilm(copied))

    assert "model.safetensors" in str(fault)
    assert "it is not used" in str(fault)


@pytest.mark.parametrize("change", [_flip_head, _cut, _empty, _zero])
def test_a_tokenizer_that_differs_in_any_way_is_refused(
    change: Callable[[bytearray], None], copied: Path, files: WeightFiles
) -> None:
    spoil(copied / TOKENIZER.name, change, files.folder / TOKENIZER.name)

    assert "tokenizer.json" in str(refused(minilm(copied)))


def test_a_file_that_cannot_be_read_is_named(copied: Path) -> None:
    (copied / WEIGHTS.name).unlink()
    (copied / WEIGHTS.name).mkdir()
    with pytest.raises(EmbedderUnavailable, match=r"bytes instead of the expected|cannot be read"):
        read_weights(MINILM, copied / WEIGHTS.name)
    with pytest.raises(EmbedderUnavailable, match="cannot be read"):
        read_whole(MINILM, TOKENIZER, copied / "no-such-file")


# Trying again


def test_weights_that_were_missing_are_used_as_soon_as_they_are_installed(tmp_path: Path, copied: Path) -> None:
    late = tmp_path / "late"
    model = minilm(late)
    assert model.fault() is None
    message = refused(model).message
    assert (fault := model.fault()) is not None
    assert fault.message == message
    copied.rename(late)
    assert model.fault() is None
    assert model.embed_query("text").shape == (384,)
    assert model.fault() is None


def test_weights_that_cannot_be_used_are_not_read_again_at_once_but_later(copied: Path, files: WeightFiles) -> None:
    spoil(copied / WEIGHTS.name, lambda content: content.reverse(), files.weights)
    model = minilm(copied)
    refused(model)
    (copied / WEIGHTS.name).unlink()
    (copied / WEIGHTS.name).symlink_to(files.weights)
    refused(model)
    assert model.fault() is not None
    model._clock.at += 61  # type: ignore[attr-defined]
    assert model.embed_query("text").shape == (384,)
    assert model.fault() is None


# Fetching


def test_what_is_missing_is_fetched_by_prepare_and_never_by_a_question(tmp_path: Path, files: WeightFiles) -> None:
    fetched: list[tuple[str, int]] = []

    def fetch(name: str, size: int, target: Path) -> None:
        fetched.append((name, size))
        target.parent.mkdir(exist_ok=True)
        shutil.copy(files.folder / name, target)

    model = minilm("", tmp_path / "models", NOTHING_INSTALLED, fetch=fetch)
    with pytest.raises(EmbedderUnavailable, match="not installed"):
        model.embed_query("text")
    assert fetched == []
    model.prepare()
    assert fetched == [(WEIGHTS.name, WEIGHTS.size), (TOKENIZER.name, TOKENIZER.size)]
    assert model.embed_query("text").shape == (384,)


def test_a_download_that_failed_is_not_repeated_at_once_but_later(tmp_path: Path) -> None:
    tried: list[str] = []

    def fetch(name: str, size: int, target: Path) -> None:
        tried.append(name)
        raise UpstreamFailed("hub download: could not connect")

    model = minilm("", tmp_path / "models", NOTHING_INSTALLED, fetch=fetch)
    assert "could not connect" in str(refused(model))
    assert tried == [WEIGHTS.name]
    model._clock.at += 61  # type: ignore[attr-defined]
    assert "could not connect" in str(refused(model))
    assert tried == [WEIGHTS.name] * 2


def test_a_download_that_is_not_the_pinned_file_is_refused_and_removed(tmp_path: Path, files: WeightFiles) -> None:
    def fetch(name: str, size: int, target: Path) -> None:
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(bytes(size))

    model = minilm("", tmp_path / "models", NOTHING_INSTALLED, fetch=fetch)
    assert "does not match the pinned sha256" in str(refused(model))
    assert list((tmp_path / "models").iterdir()) == []


# Packages and the price of starting


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_a_missing_package_is_named_with_what_installs_it(package: str) -> None:
    said = _python(
        f"import sys; sys.modules[{package!r}] = None\n"
        "from pathlib import Path\n"
        "from holdfast.core.errors import EmbedderUnavailable\n"
        "from holdfast.index import MINILM, LocalEmbedder, WeightFolders\n"
        "from holdfast.core.system import SystemClock\n"
        "try:\n    LocalEmbedder(WeightFolders(MINILM, '', Path('/nowhere')), SystemClock()).embed_query('text')\n"
        "except EmbedderUnavailable as fault:\n    print(fault, '|', fault.hint)"
    )
    assert package in said
    assert install_runtime() in said


def test_an_embedder_that_was_not_used_has_loaded_neither_runtime_nor_tokenizer() -> None:
    said = _python(
        "import sys\n"
        "from holdfast.embedder import embedder_from\n"
        "from holdfast.settings import load\n"
        "from holdfast.core.system import SystemClock, SystemEntropy\n"
        "made = embedder_from(load({'embedder': 'minilm'}, {}), SystemClock(), SystemEntropy())\n"
        "print(made.dims, sorted({'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    )
    assert said == "384 []"
