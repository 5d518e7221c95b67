"""doctor says which embedder is used, or why there is none and what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast import embedder
from holdfast.cli.commands.doctor import Check
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.index import GTE_SMALL, LOCAL_MODELS, MINILM
from holdfast.index.remedies import correct_path, install_weights
from holdfast.ops.server.examination import embedder_checks, loop_checks
from holdfast.settings import load
from holdfast.store import kernel


def examined(home: Path, **settings: str) -> Check:
    (check,) = embedder_checks(load({"home": str(home), **settings}, {}))
    return Check(**check)


def test_a_model_that_can_be_loaded_is_named(tmp_path: Path) -> None:
    assert examined(tmp_path, embedder="minilm") == Check("embedder", True, MINILM.name)


def test_a_model_that_cannot_be_loaded_is_not_well(tmp_path: Path) -> None:
    check = examined(tmp_path, embedder="minilm", embedder_path=str(tmp_path))
    assert not check.ok
    assert "HOLDFAST_EMBEDDER_PATH" in check.found
    assert check.hint == correct_path(MINILM)


def test_weights_that_are_not_installed_are_told_with_the_command_that_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOCAL_MODELS, "minilm", replace(MINILM, packages=("no-such-package-at-all",)))
    check = examined(tmp_path, embedder="minilm", embedder_url="none")
    assert (check.ok, check.found) == (False, "minilm: the weights are not installed; keyword search only")
    assert check.hint == f"{install_weights(MINILM)}."


def test_the_other_local_model_is_told_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOCAL_MODELS, "gte-small", replace(GTE_SMALL, version="of-no-installation"))
    check = examined(tmp_path, embedder="gte-small", embedder_url="none")
    assert (check.ok, check.found) == (False, "gte-small: the weights are not installed; keyword search only")
    assert check.hint == f"{install_weights(GTE_SMALL)}."


@pytest.mark.parametrize("place", ["downloaded", "at a path"])
def test_the_model_of_this_machine_is_gte_small_where_its_files_are(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder, "GTE_SMALL", replace(GTE_SMALL, version="of-no-installation"))
    folder = tmp_path / "given" if place == "at a path" else tmp_path / "models" / "gte-small-of-no-installation"
    path = {"embedder_path": str(folder)} if place == "at a path" else {}
    assert chosen(tmp_path, **path) == MINILM.name
    folder.mkdir(parents=True)
    for file in GTE_SMALL.files:
        assert chosen(tmp_path, **path) == MINILM.name
        (folder / file.name).touch()
    assert chosen(tmp_path, **path) == GTE_SMALL.name
    assert chosen(tmp_path, embedder="minilm", **path) == MINILM.name


def chosen(home: Path, **settings: str) -> str:
    made = embedder.embedder_from(load({"home": str(home), **settings}, {}), SystemClock(), SystemEntropy())
    assert made is not None
    return made.name


def test_a_remote_embedder_is_named_and_not_asked(tmp_path: Path) -> None:
    check = examined(tmp_path, embedder="openai", openai_key="sk-secret", openai_url="http://127.0.0.1:9/v1")
    assert check == Check("embedder", True, "openai/text-embedding-3-small/1536")


def test_settings_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    check = examined(tmp_path, embedder="gemini")
    assert not check.ok
    assert "HOLDFAST_GEMINI_KEY" in check.hint


def test_none_is_well(tmp_path: Path) -> None:
    assert examined(tmp_path, embedder="none").ok


def test_whoever_has_no_compiler_is_told_what_one_would_bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load({"home": str(tmp_path)}, {})
    assert [Check(**one) for one in loop_checks(settings)] == [Check("search by meaning", True, "compiled")]
    monkeypatch.setattr(kernel, "_library", None)
    (check,) = loop_checks(settings)
    assert check["ok"]
    assert "compiler" in check["hint"]
    assert list(loop_checks(load({"home": str(tmp_path), "embedder": "none"}, {}))) == []
