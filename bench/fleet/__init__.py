"""Figures of Holdfast on PostgreSQL: beside the embedded store, with several servers, and while things fail."""

import os
import sys
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests")]


def work_folder() -> Path:
    """Where data folders are made: on the disk of this repository."""
    folder = ROOT / "build" / "fleet"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
