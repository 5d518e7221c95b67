"""From settings to a vector with nothing installed: the weights come from the URL that is set, once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from holdfast.core.errors import EmbedderUnavailable
from holdfast.core.ports import Embedder
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.embedder import embedder_from
from holdfast.index import LOCAL_MODELS, MINILM
from holdfast.index.remedies import install_weights
from holdfast.index.weight_sources import WeightFiles
from holdfast.settings import load

asked: list[str] = []


class Hub(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        asked.append(self.path)
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Tests stay quiet."""


@pytest.fixture
def hub(files: WeightFiles, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A hub that has the real files, on a machine that has none."""
    monkeypatch.setitem(LOCAL_MODELS, "minilm", replace(MINILM, packages=("no-such-package-at-all",)))
    asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Hub, directory=str(files.folder)))
    server.daemon_threads = False
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def embedder(home: Path, url: str) -> Embedder:
    made = embedder_from(
        load({"home": str(home), "embedder": "minilm", "embedder_url": url}, {}), SystemClock(), SystemEntropy()
    )
    assert made is not None
    return made


def test_the_weights_are_downloaded_once_and_kept_in_the_data_folder(hub: str, tmp_path: Path) -> None:
    assert embedder(tmp_path, hub).embed(["text"]).shape == (1, 384)
    assert asked == ["/model.safetensors", "/tokenizer.json"]
    (kept,) = (tmp_path / "models").iterdir()
    assert sorted(path.name for path in kept.iterdir()) == ["model.safetensors", "tokenizer.json"]
    assert embedder(tmp_path, hub).embed_query("text").shape == (384,)
    assert len(asked) == 2


def test_a_damaged_download_is_replaced_by_the_next_attempt(hub: str, tmp_path: Path) -> None:
    embedder(tmp_path, hub).prepare()
    (kept,) = (tmp_path / "models").iterdir()
    with (kept / "model.safetensors").open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"damage")
    with pytest.raises(EmbedderUnavailable, match="does not match the pinned sha256"):
        embedder(tmp_path, hub).prepare()
    assert embedder(tmp_path, hub).embed(["text"]).shape == (1, 384)


@pytest.mark.usefixtures("hub")
def test_none_downloads_nothing(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="not installed"):
        embedder(tmp_path, "none").prepare()
    assert asked == []


def test_a_hub_without_the_file_is_named_with_what_to_do(hub: str, tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"not installed; hub download: .* \(HTTP status 404\)") as caught:
        embedder(tmp_path, f"{hub}/nothing/here").prepare()
    assert caught.value.hint == f"{install_weights(MINILM)}."
