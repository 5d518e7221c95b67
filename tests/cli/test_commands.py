"""The list of commands, and what is said where there is no such command."""

from __future__ import annotations

import pytest

from holdfast.cli.help_page import GROUPS
from holdfast.cli.main import all_commands, main

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["remeber", "The till."], "Did you mean holdfast remember?"),
        (["snapshots"], "Did you mean holdfast snapshot"),
        (["snapshot", "veryfy"], "Did you mean holdfast snapshot verify"),
        (["undo"], "Did you mean holdfast snapshot undo or holdfast guard undo?"),
        (["prune", "--keep", "3"], "Did you mean holdfast snapshot prune or holdfast vault prune?"),
        (["vault", "zzzzzzzz"], "holdfast vault status"),
        (["qqqqqqqqqq"], "All commands: holdfast --help"),
    ],
)
def test_an_unknown_command_is_answered_with_the_nearest(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert meant in said
    assert "All commands: holdfast --help" in said
    assert len(said) < 600


@pytest.mark.parametrize("option", ["--no-daemon", "--json", "--data"])
def test_an_option_before_the_command_is_told_where_it_belongs(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([option, "recall", "till"]) == 2
    assert f"holdfast COMMAND {option}" in capsys.readouterr().err


def test_every_command_stands_once_on_the_page_of_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    first_words = {words.split()[0] for words, _ in all_commands()}
    assert sorted(listed) == sorted(first_words)
    assert max(map(len, lines)) <= 100


def test_a_group_of_commands_says_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    groups = {words.split()[0] for words, _ in all_commands() if " " in words}
    assert set(GROUPS) == groups
    for name in sorted(groups - {words for words, _ in all_commands()}):  # `drill` is a command itself
        with pytest.raises(SystemExit):
            main([name, "--help"])
        said = capsys.readouterr().out
        assert " ".join(GROUPS[name].split()) in " ".join(said.split())


@pytest.mark.parametrize("command", ["remember", "snapshot create", "serve"])
def test_an_unknown_option_is_answered_with_the_help_of_its_command(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["The till."] if command == "remember" else []
    assert main([*command.split(), *arguments, "--bogus"]) == 2
    assert f"holdfast {command}: unrecognized arguments: --bogus" in (said := capsys.readouterr().err)
    assert f"See holdfast {command} --help." in said


def test_words_that_stand_without_quotes_are_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["remember", "the", "build", "machine"]) == 2
    assert "in quotes" in capsys.readouterr().err

    assert main(["remember", "the till", "--colour", "red"]) == 2
    assert "in quotes" not in capsys.readouterr().err


def test_an_empty_data_folder_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recall", "till", "--data", ""]) == 2
    assert "--data: must not be empty" in capsys.readouterr().err
