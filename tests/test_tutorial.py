"""docs/tutorial.md does what it says: its commands run in order, in one shell, in an empty home of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from processes import environment

ROOT = Path(__file__).parents[1]
NOT_RUN = "<!-- not run by the test"
END = "---end of step---"
RUN_SECONDS = 100


@dataclass(frozen=True)
class Step:
    """A block of commands, and the lines that the page shows under it."""

    commands: str
    shown: tuple[str, ...]


def steps(page: str) -> Iterator[Step]:
    """The blocks of a page that are to be run, in order."""
    pattern = rf"^(?P<skip>{re.escape(NOT_RUN)}[^\n]*\n)?```sh\n(?P<commands>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?"
    for block in re.finditer(pattern, page, re.MULTILINE | re.DOTALL):
        if not block["skip"]:
            yield Step(block["commands"], tuple((block["shown"] or "").splitlines()))


def unmatched(shown: tuple[str, ...], printed: str) -> str | None:
    """The first line of the page that the output does not have after the lines before it; `…` is any text."""
    lines = iter(printed.splitlines())
    for expected in shown:
        pattern = ".*".join(re.escape(part) for part in re.sub(r"\s*…\s*", "…", expected).split("…"))
        if not any(re.fullmatch(pattern, line) for line in lines):
            return expected
    return None


def run(blocks: list[Step], home: Path) -> list[str]:
    """What each block prints, in a shell that ends at the first command that fails."""
    script = "set -eo pipefail\n" + "".join(f"{block.commands}\necho '{END}'\n" for block in blocks)
    command = home / "bin" / "holdfast"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m holdfast.cli.main "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    settings = environment(
        HOME=str(home), PATH=f"{command.parent}:{os.environ['PATH']}", HOLDFAST_DAEMON="on", COLUMNS="100"
    )
    done = subprocess.run(
        ["bash"], input=script, cwd=home, env=settings, capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout.split(f"{END}\n")[:-1]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """An empty home. Should a step have failed, the server that it left is ended."""
    made = tmp_path / "home"
    made.mkdir()
    yield made
    for card in made.rglob("server.json"):
        with suppress(OSError, ValueError):
            os.kill(int(re.findall(r'"pid":(\d+)', card.read_text())[0]), 9)


def test_every_step_of_the_tutorial_prints_what_the_page_shows(home: Path) -> None:
    blocks = list(steps((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")))

    printed = run(blocks, home)

    assert len(blocks) > 10
    assert len(printed) == len(blocks)
    for block, text in zip(blocks, printed, strict=True):
        assert unmatched(block.shown, text) is None, f"{block.commands}\nprinted:\n{text}"
    assert not (home / "holdfast-tutorial").exists()


def test_lines_are_compared_in_order_and_dots_stand_for_anything() -> None:
    assert unmatched(("a…", "… c"), "x\nabc\nb and c\n") is None
    assert unmatched(("… c", "a…"), "abc\nb and c\n") == "a…"
    assert unmatched(("a",), "abc\n") == "a"


def test_a_block_that_needs_a_network_is_passed_over() -> None:
    page = f"{NOT_RUN}: why -->\n```sh\nfirst\n```\n\n```sh\nsecond\n```\n\n```text\nanswer\n```\n"

    assert list(steps(page)) == [Step("second\n", ("answer",))]
