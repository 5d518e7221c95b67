"""The scale of gte-small beside that of MiniLM, on our own sets of bench/quality.py.

    python bench/centre.py

Prints mean and spread of the cosine of random pairs within a set, for both, and writes what gte-small's vectors have in
common to src/holdfast/index/gte_small_centre.json. The factor and the zero are in src/holdfast/index/local_models.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
import coding
import sets

from holdfast.index import GTE_SMALL, MINILM, LocalModel, WeightFolders
from holdfast.index.onnx_session import Session

PAIRS = 4_000
Rows = NDArray[np.float32]


def raw(model: LocalModel) -> list[tuple[Rows, Rows]]:
    """Of each set the vectors of its records' first parts and of its questions, of length 1."""
    session = Session(WeightFolders(model, "", Path("/nowhere")).find())
    groups = [*sets.assistant(), *coding.collections(), sets.library(True), sets.manual()]
    found = []
    for group in groups:
        first = [parts[0] for parts in session.parts([one.text for one in group.documents])]
        texts = (first, [one.text for one in group.queries])
        found.append(tuple(np.concatenate([session.vectors([one]) for one in session.tokens(some)]) for some in texts))
    return found  # type: ignore[return-value]


def pairs(groups: list[tuple[Rows, Rows]]) -> tuple[float, float, float, float]:
    """Mean and spread of the cosines of two records, and of a question and a record; each set counts alike."""
    chance = np.random.default_rng(1)
    rows = []
    for records, questions in groups:
        one, other = (chance.integers(0, len(records), PAIRS) for _ in range(2))
        asked = chance.integers(0, len(questions), PAIRS)
        two = (records[one] * records[other]).sum(axis=1)[one != other]
        near = (questions[asked] * records[other]).sum(axis=1)
        rows.append((two.mean(), two.std(), near.mean(), near.std()))
    return tuple(np.mean(rows, axis=0).tolist())  # type: ignore[return-value]


def main() -> None:
    for model in (MINILM, GTE_SMALL):
        groups = raw(model)
        two, spread, near, near_spread = pairs(groups)
        print(
            f"{model.label}: two records {two:.3f} ± {spread:.3f}, question and record {near:.3f} ± {near_spread:.3f}"
        )
    assert GTE_SMALL.scale is not None
    centre = np.concatenate([records for records, _ in groups]).mean(axis=0)
    GTE_SMALL.scale.centre.write_text(json.dumps([round(float(one), 4) for one in centre]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
