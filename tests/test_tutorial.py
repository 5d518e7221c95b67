"""docs/tutorial.md does what it says: its commands run, and print what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_commands import NOT_RUN, Step, empty_home, run, steps, unmatched

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"


@pytest.mark.parametrize("embedder", ["none", "minilm"])  # without [embed], and with it
def test_every_step_of_the_tutorial_prints_what_the_page_shows(tmp_path: Path, embedder: str) -> None:
    blocks = list(steps(TUTORIAL.read_text(encoding="utf-8")))
    assert len(blocks) > 10

    with empty_home(tmp_path) as home:
        printed = run(blocks, home, HOLDFAST_EMBEDDER=embedder)

        assert not (home / "holdfast-tutorial").exists()
    assert len(printed) == len(blocks)
    for block, text in zip(blocks, printed, strict=True):
        assert unmatched(block.shown, text) is None, f"{block.commands}\nprinted:\n{text}"


def test_lines_are_compared_in_order_and_dots_stand_for_anything() -> None:
    assert unmatched(("a…", "… c"), "x\nabc\nb and c\n") is None
    assert unmatched(("… c", "a…"), "abc\nb and c\n") == "a…"
    assert unmatched(("a",), "abc\n") == "a"


def test_a_block_that_needs_a_network_is_passed_over() -> None:
    page = f"{NOT_RUN}: why -->\n```sh\nfirst\n```\n\n```sh\nsecond\n```\n\n```text\nanswer\n```\n"

    assert list(steps(page)) == [Step("second\n", ("answer",))]
