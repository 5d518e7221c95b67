"""Measure Holdfast on PostgreSQL and write docs/benchmarks/fleet.md.

    python bench/fleet/run.py [--only search,quality] [--quick] [--locomo FILE]

The page is written from what was measured last at full size.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fleet  # noqa: E402
from fleet import captures, failures, page, quality, search, tenants, writes  # noqa: E402
from fleet.database import Cluster, database  # noqa: E402
from fleet.figures import Part  # noqa: E402
from fleet.sizes import QUICK, Sizes  # noqa: E402

Measurement = Callable[[Cluster, Path, Sizes], Part]
MEASUREMENTS: dict[str, Measurement] = {
    "quality": quality.measure,
    "search": search.measure,
    "tenants": tenants.measure,
    "writes": writes.measure,
    "failures": failures.measure,
    "captures": captures.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="names of measurements, separated by commas: " + ", ".join(MEASUREMENTS))
    parser.add_argument("--quick", action="store_true", help="small sizes, and no page")
    parser.add_argument("--locomo", type=Path, help="LoCoMo as JSON; otherwise the sets of this repository")
    given = parser.parse_args()
    sizes = replace(QUICK if given.quick else Sizes(), locomo=given.locomo)
    chosen = given.only.split(",") if given.only else list(MEASUREMENTS)
    for name in chosen:
        began = time.perf_counter()
        # Each has a server and a folder of its own, on a disk that keeps what it is given.
        with database() as server, tempfile.TemporaryDirectory(dir=fleet.work_folder()) as folder:
            part = MEASUREMENTS[name](server, Path(folder), sizes)
        sys.stdout.write(f"{name}, {time.perf_counter() - began:.0f} s\n\n{page.text_of([part])}\n")
        sys.stdout.flush()
        if not given.quick:
            page.keep(name, part)
            page.write(list(MEASUREMENTS))


if __name__ == "__main__":
    main()
