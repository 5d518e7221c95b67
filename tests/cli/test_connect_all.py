"""`holdfast connect --all`: every agent that is there, in one plan and with one way back."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from connect_homes import USED, everything, fill, make_place

from holdfast.cli.connect import AGENTS, apply, connect_all, plan
from holdfast.cli.main import main
from holdfast.core.errors import StorageFull

HERE = ("cursor", "goose", "hermes", "zed")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for agent in HERE:
        fill(tmp_path, USED[agent])
    return tmp_path


def test_agents_that_are_there_are_connected_and_nothing_is_written_for_others(home: Path) -> None:
    report = connect_all(place=make_place(home), dry_run=False, undo=False)
    assert report.action == "connected"
    assert set(str(report.agent).split(", ")) == set(HERE)
    assert {path.name for path in home.iterdir()} == {".cursor", ".config", ".hermes", ".holdfast"}
    assert {path.name for path in (home / ".config").iterdir()} == {"goose", "zed"}
    assert report.backups


def test_a_dry_run_shows_the_whole_plan_and_writes_nothing(home: Path) -> None:
    before = everything(home)
    report = connect_all(place=make_place(home), dry_run=True, undo=False)
    assert everything(home) == before
    assert report.action == "would connect"
    assert all(name in report.diff for name in (".cursor/mcp.json", "goose/config.yaml", "zed/settings.json"))


def test_one_undo_brings_back_every_byte_and_folder(home: Path) -> None:
    before = everything(home)
    connect_all(place=make_place(home), dry_run=False, undo=False)
    assert connect_all(place=make_place(home), dry_run=True, undo=True).action == "would undo"
    assert connect_all(place=make_place(home), dry_run=False, undo=True).action == "undone"
    assert everything(home) == before
    assert not (home / ".hermes/plugins/holdfast").exists()
    assert connect_all(place=make_place(home), dry_run=False, undo=True).action == "nothing to undo"


def test_an_agent_whose_file_is_broken_is_left_out_and_named(home: Path) -> None:
    fill(home, {".config/goose/config.yaml": "a: [1\nb: secret-value\n"})
    report = connect_all(place=make_place(home), dry_run=False, undo=False)
    assert "goose" not in str(report.agent)
    (note,) = [note for note in report.notes if note.startswith("Goose is left out")]
    assert "goose/config.yaml: it is not valid YAML (at line 2)" in note
    assert "secret-value" not in note


@pytest.mark.parametrize("connected", [False, True], ids=["nothing was", "one was connected before"])
def test_a_full_disk_in_the_midst_leaves_all_as_it_was(
    home: Path, monkeypatch: pytest.MonkeyPatch, connected: bool
) -> None:
    if connected:
        apply(plan("hermes", make_place(home, command=Path("/old/holdfast"))))
        apply(plan("goose", make_place(home, command=Path("/old/holdfast"))))
    before, real = everything(home), os.replace

    def replace(source: str, target: Path) -> None:
        if str(target).endswith("zed/settings.json"):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(StorageFull):
        connect_all(place=make_place(home), dry_run=False, undo=False)
    assert everything(home) == before


def test_where_no_agent_is_nothing_is_done(tmp_path: Path) -> None:
    report = connect_all(place=make_place(tmp_path), dry_run=False, undo=False)
    assert (report.action, report.changes) == ("nothing to connect", ())
    assert not list(tmp_path.iterdir())


@pytest.fixture
def terminal(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("holdfast.cli.confirm.is_interactive", lambda: True)
    return home


def test_at_a_terminal_the_plan_is_shown_and_a_no_writes_nothing(
    terminal: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = everything(terminal)
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "n")
    assert main(["connect", "--all"]) != 0
    shown = capsys.readouterr()
    assert "goose/config.yaml" in shown.out
    assert asked == ["Change 10 files? [y/N] "]
    assert "nothing was written" in shown.err
    assert everything(terminal) == before


@pytest.mark.parametrize("words", [["--yes"], []], ids=["told", "agreed"])
def test_with_consent_it_is_written(
    terminal: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.setattr("builtins.input", lambda question: "y")
    assert main(["connect", "--all", *words]) == 0
    assert "cursor" in capsys.readouterr().out
    assert "holdfast" in (terminal / ".cursor/mcp.json").read_text(encoding="utf-8")


def test_a_name_beside_all_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["connect", "cursor", "--all"]) == 2
    assert "Pass either the name of an agent, or --all." in capsys.readouterr().err


def test_every_agent_says_where_its_format_was_read() -> None:
    assert all(agent.source for agent in AGENTS)
    names = [name for agent in AGENTS for name in (agent.name, *agent.also)]
    assert len(names) == len(set(names))
