"""The library that runs the model tells nobody that it does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EMBED = """
from pathlib import Path
from holdfast.embedder import embedder_from
from holdfast.core.model import CleanText
from holdfast.settings import load
from holdfast.core.system import SystemClock, SystemEntropy
embedder = embedder_from(load({"home": "memory"}), SystemClock(), SystemEntropy())
embedder.prepare()
embedder.embed([CleanText("the pier lamp")])
"""


def test_nothing_is_written_down_for_the_makers_of_the_library(tmp_path: Path) -> None:
    """Where it reports, it first notes what to report in the user's cache."""
    without = {key: value for key, value in os.environ.items() if not key.startswith(("ORT_", "XDG_"))}
    subprocess.run([sys.executable, "-c", EMBED], cwd=tmp_path, env={**without, "HOME": str(tmp_path)}, check=True)
    assert [one for one in tmp_path.rglob("*") if "onnxruntime" in one.name or "Microsoft" in one.name] == []
