"""The list of commands, and what is said where there is no such command."""

from __future__ import annotations

import pytest

from holdfast.cli.main import main

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["remeber", "The till."], "Did you mean holdfast remember?"),
        (["snapshots"], "Did you mean holdfast snapshot"),
        (["snapshot", "veryfy"], "Did you mean holdfast snapshot verify"),
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


def test_the_help_lists_hook_and_status(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("    ")]
    assert {"hook", "status", "remember"} <= set(listed)
