"""Play the days, ask on the next morning, and print what Holdfast and the plain way are worth.

python bench/agent_day/run.py [--half dev|held-out|strangers|all] [--quick] [--verbose] [--scale] [--page]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agent_day import report  # noqa: E402
from agent_day.days import Morning, measure  # noqa: E402
from agent_day.hooks import Cost  # noqa: E402
from agent_day.machine import CannotPlay  # noqa: E402
from agent_day.scenarios import HALVES, SETS, load  # noqa: E402
from agent_day.selfcheck import problems  # noqa: E402


def main() -> int:
    given = _arguments()
    halves = {"all": HALVES, "none": ()}.get(given.half, (given.half,))
    wrong = [line for half in halves for line in problems(load(half))]
    if wrong:
        sys.stderr.write("The gold does not fit the scenarios:\n" + "\n".join(wrong) + "\n")
        return 1
    measured: dict[str, Morning] = {}
    for half in halves:
        began = time.monotonic()
        scenarios = [one for one in load(half, given.quick) if not given.only or one.name in given.only.split(",")]
        try:
            measured[half] = measure(scenarios, keep=given.keep)
        except CannotPlay as why:
            sys.stderr.write(f"Could not be measured: {why}\n")
            return 2
        verbose = (given.verbose and half == "dev") or given.show_held_out
        sys.stdout.write(report.table(half, measured[half], verbose) + f"\n({time.monotonic() - began:.0f} s)\n\n")
    costs = _at_scale(given.rows) if given.scale else []
    if costs:
        sys.stdout.write(report.costs_at_scale(costs, given.rows) + "\n")
    if given.page:
        report.write_page(measured, costs, given.rows)
    return 0


def _at_scale(rows: int) -> list[Cost]:
    from agent_day.large import measure_large  # needs numpy, which the days do not

    claude = next(one for one in load("dev") if one.client == "claude")
    return measure_large(claude, rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--half",
        choices=[*SETS, "all", "none"],
        default="dev",
        help="all: dev and held-out; none: only what --scale measures",
    )
    parser.add_argument("--quick", action="store_true", help="two scenarios that share a folder name")
    parser.add_argument("--only", help="names of scenarios, separated by commas")
    parser.add_argument("--verbose", action="store_true", help="what was missed, of the dev half")
    parser.add_argument(
        "--show-held-out", action="store_true", help="what was missed, also of the held-out half and the strangers"
    )
    parser.add_argument("--keep", type=Path, help="a folder for the contexts and hits as JSON")
    parser.add_argument("--scale", action="store_true", help="also start sessions on a store of 100,000 memories")
    parser.add_argument("--rows", type=int, default=100_000, help="how many memories --scale takes")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks/agent_day.md")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
