"""The numbers that make probabilities, for each embedder: calibration.json, written by bench/confidence.py."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).parent / "calibration.json"
WORDS = "words"  # a search without an embedder
# What an embedder that is not in the table is taken for: the scale of a likeness is this one's (core/ports.py).
USUAL = "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regressions on few numbers. The best match is meaning · likeness + words · covered."""

    meaning: float
    words: float
    memory: tuple[float, float, float]  # constant, of the best match, of the logarithm of how many records there are
    hit: tuple[float, float, float]  # constant, of the distance from the best match, of the logarithm of the place


def calibration_of(model: str | None) -> Calibration:
    """The numbers for an embedder, by its name; for words alone without one."""
    table = _table()
    if model is None:
        return table[WORDS]
    return table.get(model.partition("/")[0]) or table[USUAL]


@cache
def _table() -> dict[str, Calibration]:
    rows = json.loads(TABLE.read_text(encoding="utf-8"))
    return {
        name: Calibration(row["meaning"], row["words"], tuple(row["memory"]), tuple(row["hit"]))
        for name, row in rows.items()
    }
