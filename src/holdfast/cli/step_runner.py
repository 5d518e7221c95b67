"""Long work in steps: each is a request of its own, so that progress shows, and it can be interrupted and resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli.command_table import Row
from holdfast.cli.output.progress import progress

if TYPE_CHECKING:
    from holdfast.connection import Connection
    from holdfast.core.model import Json


def in_steps(connection: Connection, operation: Row, arguments: Json) -> Json:
    """Call until nothing remains; the last answer, with what all of them did."""
    with progress() as bar:
        task = bar.add_task(operation.summary.rstrip("."), total=None)
        whole: Json = connection.call(operation, {**arguments, "limit": 1})
        while True:
            done = sum(one["size"] for one in whole["sent"])
            bar.update(task, completed=done, total=done + whole["remainingBytes"])
            if not whole["remaining"]:
                return whole
            whole = _added(whole, connection.call(operation, {**arguments, "limit": 1}))


def _added(before: Json, answer: Json) -> Json:
    sent = [*before["sent"], *answer["sent"]]
    return {**answer, "sent": sent, "sentBytes": sum(one["sentBytes"] for one in sent)}
