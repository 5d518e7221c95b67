"""The files of a model: what is read is hashed on the way, and only what matches its pin is used.

Nothing in the weights says where they are to be cut: where each tensor lies is a table in the package, made once of
the pinned file by tools/weight_layout.py. So no format is parsed, whatever a file holds.
"""

from __future__ import annotations

import hashlib
import json
import math
from io import BufferedReader
from pathlib import Path

import numpy as np

from holdfast.core.errors import EmbedderUnavailable
from holdfast.index.int8_weights import Tensors, quantized
from holdfast.index.local_models import BertModel, LocalModel, PinnedFile
from holdfast.index.remedies import install_weights_anew

NUMBER = np.dtype("<f4")
Place = tuple[str, int, tuple[int, ...]]  # name, first byte, shape


def layout(model: BertModel) -> list[Place]:
    """Where each tensor lies in the weights, in the order of the file."""
    table = json.loads(model.layout.read_text(encoding="utf-8"))
    return sorted(((name, at, tuple(shape)) for name, (at, shape) in table.items()), key=lambda place: place[1])


def read_weights(model: BertModel, path: Path) -> Tensors:
    """Every tensor that the network is handed, each in memory of its own: what is hashed is what is run.

    Raises:
        EmbedderUnavailable: it is not the pinned file, or cannot be read.
    """
    try:
        _check_size(model, model.weights, path)
        with path.open("rb") as file, np.errstate(all="ignore"):  # what is no weight may be no number
            return _tensors(model, file, path)
    except OSError as error:
        raise _unreadable(model, path, error) from error


def read_whole(model: LocalModel, pinned: PinnedFile, path: Path) -> bytes:
    """What one of its files holds.

    Raises:
        EmbedderUnavailable: as above.
    """
    try:
        _check_size(model, pinned, path)
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(model, path, error) from error
    if hashlib.sha256(content).hexdigest() != pinned.sha256:
        raise _wrong(model, pinned, path)
    return content


def _tensors(model: BertModel, file: BufferedReader, path: Path) -> Tensors:
    digest, tensors, at = hashlib.sha256(), Tensors(), 0
    for name, first, shape in layout(model):
        digest.update(file.read(first - at))
        tensor = np.empty(shape, NUMBER)
        content = tensor.reshape(-1).data.cast("B")
        if file.readinto(content) != len(content):
            raise _wrong(model, model.weights, path)
        digest.update(content)
        # Before the hash is known, so that the weights are never in memory twice; it is used only if they match.
        tensors |= quantized(name, tensor, model.by_output) if model.quantized else {name: tensor}
        at = first + NUMBER.itemsize * math.prod(shape)
    digest.update(file.read(model.weights.size - at))
    if digest.hexdigest() != model.weights.sha256:
        raise _wrong(model, model.weights, path)
    return tensors


def _check_size(model: LocalModel, pinned: PinnedFile, path: Path) -> None:
    size = path.stat().st_size
    if size != pinned.size:
        raise EmbedderUnavailable(
            f"{model.key}: {path} has {size} bytes instead of the expected {pinned.size}: it is not used",
            hint=f"{install_weights_anew(model)}.",
        )


def _wrong(model: LocalModel, pinned: PinnedFile, path: Path) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"{model.key}: {path} does not match the pinned sha256 {pinned.sha256[:12]}: it is not used",
        hint=f"{install_weights_anew(model)}.",
    )


def _unreadable(model: LocalModel, path: Path, error: OSError) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"{model.key}: {path} cannot be read ({error.strerror or type(error).__name__})",
        hint=f"{install_weights_anew(model)}.",
    )
