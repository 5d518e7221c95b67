"""A hint that is copied is about the memory that the command was about."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.cli.output.folder_hints import answer_with_folder, note_folder, with_folder

sys.path.insert(0, str(Path(__file__).parents[1] / "snapshot"))
from flows import Cli


@pytest.fixture(autouse=True)
def folder() -> Iterator[None]:
    note_folder(["verify", "--data", "/m"])
    yield
    note_folder([])


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("End it: holdfast serve --stop. The next one.", "End it: holdfast serve --stop --data /m. The next one."),
        ("holdfast snapshot restore latest --yes", "holdfast snapshot restore latest --yes --data /m"),
        ("Run holdfast verify to see more.", "Run holdfast verify --data /m to see more."),
        ("Remove it: holdfast snapshot discard gen-000001 --yes", None),
        ("Merge: holdfast snapshot merge latest now --from 's3://a b' --yes", None),
        ("Remove one with: holdfast forget ID", None),
        ("or remove old snapshots: holdfast snapshot prune --keep 5", None),
        ("(holdfast doctor)", "(holdfast doctor --data /m)"),
        ("holdfast key new, then holdfast key show", "holdfast key new --data /m, then holdfast key show --data /m"),
    ],
)
def test_each_command_of_a_sentence_gets_the_folder(said: str, meant: str | None) -> None:
    assert with_folder(said) == (meant or f"{said} --data /m")
    assert with_folder(with_folder(said)) == with_folder(said)


@pytest.mark.parametrize(
    "said",
    [
        "See holdfast remember --help.",
        "Stop it first: holdfast serve --stop --data /other",
        "holdfast move --from /a --to /b",
        "the holdfast server",
        "holdfast verifying",
    ],
)
def test_what_needs_no_folder_stays_as_it_is(said: str) -> None:
    assert with_folder(said) == said


def test_without_the_option_nothing_is_added() -> None:
    note_folder(["verify"])
    assert with_folder("holdfast verify") == "holdfast verify"


def test_a_folder_with_a_space_is_quoted() -> None:
    note_folder(["verify", "--data=/my memory"])
    assert shlex.split(with_folder("holdfast verify")) == ["holdfast", "verify", "--data", "/my memory"]


def test_stored_text_is_never_changed() -> None:
    answer = {"content": "holdfast verify", "memories": [{"hint": "holdfast verify"}], "hint": "holdfast verify"}
    assert answer_with_folder(answer) == {**answer, "hint": "holdfast verify --data /m"}


def test_a_fault_and_a_notice_name_the_folder_of_the_command(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "my memory")
    fault = cli("snapshot", "undo", "--yes").fault
    command = shlex.split(fault["hint"].partition(": ")[2])
    assert command == ["holdfast", "snapshot", "list", "--data", str(cli.home)]
    assert cli(*command[1:]).code == 0
    assert f"--data '{cli.home}'" in cli.plain("memories").out
