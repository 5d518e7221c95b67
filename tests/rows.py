"""One test for all rows of a table.

A test of its own for each row costs pytest some milliseconds for every process that runs tests, and there are thousands
of rows: longer than what most of them look at. It is for tests that take nothing but the row, or what they only read.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def each(names: str, rows: Iterable[Any], label: Callable[[Any], object] = repr) -> Callable[[Test], Test]:
    """The test goes through all rows, like those of `pytest.mark.parametrize`; what fails is listed with its row."""
    wanted = [name.strip() for name in names.split(",")]
    given = [(row, row if len(wanted) > 1 else (row,)) for row in rows]
    assert given, "a table without rows tests nothing"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def through_all(**fixtures: Any) -> None:
            failed = [one for row, values in given if (one := _failure(test, row, values, fixtures)) is not None]
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(given)} rows", failed)

        def _failure(test: Test, row: Any, values: tuple[Any, ...], fixtures: dict[str, Any]) -> Exception | None:
            try:
                test(**dict(zip(wanted, values, strict=True)), **fixtures)
            except Exception as error:  # noqa: BLE001 - raised with those of the other rows
                error.add_note(f"row: {label(row)}")
                return error
            return None

        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name not in wanted]
        through_all.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return through_all

    return decorate
