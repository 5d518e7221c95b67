from __future__ import annotations

import pytest
from rows import each

from holdfast.core.cleanup import OnFailure


def test_nothing_is_undone_when_the_block_ends_well() -> None:
    undone: list[str] = []
    with OnFailure(undone.append, "half a file"):
        pass
    assert undone == []


@each("failure", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_any_failure_is_undone_once_and_goes_on(failure: type[BaseException]) -> None:
    undone: list[str] = []
    with pytest.raises(failure), OnFailure(undone.append, "half a file"):
        raise failure
    assert undone == ["half a file"]
