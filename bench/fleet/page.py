"""docs/benchmarks/fleet.md."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import fleet
from fleet.figures import Figure, Part, sizing_table, table

PAGE = fleet.ROOT / "docs" / "benchmarks" / "fleet.md"
HEAD = """# Several servers on PostgreSQL

Written by `make bench-fleet`. Each figure is a ratio of one run on one machine, which runs the database, the servers and
their clients, and has {cores} processors. The machine is shared: searches are judged by the processor time of all that
takes part, server and database, and the clock stands beside it. PostgreSQL has fsync on and 1 GB of shared buffers, and
is reached over its socket. Servers make no snapshots on schedule meanwhile.

Texts are made of a vocabulary whose frequencies fall as those of natural text do; vectors are drawn, under the name of
the embedding model, so they tell of cost only. What is relevant is measured by the first row alone, with real texts and
the real model.

"""


KEPT = fleet.ROOT / "build" / "fleet"


def keep(name: str, part: Part) -> None:
    """Note what a measurement found, for the page."""
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{name}.json").write_text(json.dumps(asdict(part)), encoding="utf-8")


def _kept(name: str) -> Part | None:
    path = KEPT / f"{name}.json"
    if not path.exists():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    return Part([Figure(**one) for one in found["figures"]], [tuple(one) for one in found["sizing"]], found["notes"])


def text_of(parts: Sequence[Part]) -> str:
    figures = [one for part in parts for one in part.figures]
    sizing = [one for part in parts for one in part.sizing]
    notes = [one for part in parts for one in part.notes]
    pieces = [table(figures)]
    if notes:
        pieces.append("## How it was measured\n\n" + "\n".join(f"- {one}" for one in notes))
    if sizing:
        pieces.append("## For sizing\n\n" + sizing_table(sizing))
    return "\n\n".join(pieces) + "\n"


def write(names: Sequence[str], page: Path = PAGE) -> None:
    """Write the page from what was measured last, and name what was not."""
    parts = {name: _kept(name) for name in names}
    text = HEAD.format(cores=os.cpu_count()) + text_of([part for part in parts.values() if part is not None])
    missing = [name for name, part in parts.items() if part is None]
    if missing:
        text += f"\nNot measured yet: {', '.join(missing)}. `make bench-fleet ONLY={','.join(missing)}` adds it.\n"
    page.write_text(text, encoding="utf-8")
