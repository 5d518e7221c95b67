"""Commands that remove by a plan: at a terminal the plan is shown first, and nothing is removed without consent.

A program is not prompted: it means what it calls.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from holdfast.core.errors import InvalidRequest

if TYPE_CHECKING:
    from holdfast.cli.command_table import Row
    from holdfast.connection import Connection
    from holdfast.core.model import Json

_AGREED = frozenset({"y", "yes"})


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def confirmed_call(connection: Connection, operation: Row, arguments: Json, given: argparse.Namespace) -> Json:
    """The operation's answer; at a terminal once the plan was shown and agreed to, or --yes was passed.

    Raises:
        InvalidRequest: the user did not agree; nothing was removed.
    """
    if given.yes or given.json or arguments.get("dryRun") or not is_interactive():
        return _called(connection, operation, arguments)
    plan = _called(connection, operation, {**arguments, "dryRun": True})
    going = len(plan["remove"]) + plan.get("leftovers", 0)
    if not going:
        return {**plan, "dryRun": False}
    from holdfast.cli.output.render import print_answer

    print_answer(plan)
    if not agreed(f"Remove {going}? [y/N] "):
        raise InvalidRequest(f"{operation.words}: not confirmed, nothing was removed", hint="Answer y, or pass --yes.")
    return _called(connection, operation, arguments)


def agreed(question: str) -> bool:
    return input(question).strip().lower() in _AGREED


def is_interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _called(connection: Connection, operation: Row, arguments: Json) -> Json:
    answer: Json = connection.call(operation, arguments)
    return answer
