"""docs/benchmarks/fleet.md."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import fleet
from fleet.figures import Part, sizing_table, table

PAGE = fleet.ROOT / "docs" / "benchmarks" / "fleet.md"
HEAD = """# Several servers on PostgreSQL

Written by `make bench-fleet`. All of it is of one run on one machine, which runs the database, the servers and their
clients, and has {cores} processors: ratios say more than numbers. PostgreSQL has fsync on and 1 GB of shared buffers, and is
reached over its socket.

Texts are made of a vocabulary whose frequencies fall as those of natural text do; vectors are drawn, under the name of
the embedding model, so they tell of cost only. What is relevant is measured by the first row alone, with real texts and
the real model.

"""


def text_of(parts: Mapping[str, Part]) -> str:
    figures = [one for part in parts.values() for one in part.figures]
    sizing = [one for part in parts.values() for one in part.sizing]
    notes = [one for part in parts.values() for one in part.notes]
    pieces = [table(figures)]
    if notes:
        pieces.append("## How it was measured\n\n" + "\n".join(f"- {one}" for one in notes))
    if sizing:
        pieces.append("## For sizing\n\n" + sizing_table(sizing))
    return "\n\n".join(pieces) + "\n"


def write(parts: Mapping[str, Part], page: Path = PAGE) -> None:
    page.write_text(HEAD.format(cores=os.cpu_count()) + text_of(parts), encoding="utf-8")
