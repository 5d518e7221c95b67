"""Commands that remove by a plan: the plan is shown first, and nothing goes that nobody agreed to."""

from __future__ import annotations

import argparse
import sys

from holdfast.cli.show import print_answer
from holdfast.door import Door
from holdfast.errors import InvalidRequest
from holdfast.model import Json
from holdfast.ops.declare import Operation

_AGREED = frozenset({"y", "yes"})


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do it without asking")


def asked(door: Door, operation: Operation, arguments: Json, given: argparse.Namespace) -> Json:
    """The operation's answer, once the plan was shown and somebody at the terminal agreed, or said --yes before.

    Raises:
        InvalidRequest: nobody agreed; nothing was removed.
    """
    if given.yes or arguments.get("dryRun"):
        return _called(door, operation, arguments)
    plan = _called(door, operation, {**arguments, "dryRun": True})
    going = len(plan["remove"]) + plan.get("leftovers", 0)
    if not going:
        return {**plan, "dryRun": False}
    if given.json or not sys.stdin.isatty():
        raise InvalidRequest(
            f"{operation.cli}: {going} would be removed, and that was not confirmed",
            hint="Look with --dry-run what would go; then say --yes.",
        )
    print_answer(plan)
    if input(f"Remove {going}? [y/N] ").strip().lower() not in _AGREED:
        raise InvalidRequest(f"{operation.cli}: not confirmed, nothing was removed", hint="Answer y, or say --yes.")
    return _called(door, operation, arguments)


def _called(door: Door, operation: Operation, arguments: Json) -> Json:
    answer: Json = door.call(operation, arguments)
    return answer
